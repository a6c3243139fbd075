/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "compute/engine/engine-private.h"
#include "fbp-run-private.h"

/* Of a preview: the engine remembers such rows. */
static gboolean
fbp_reader_read_kept (gpointer user, TdRowRange range, float *out, GCancellable *cancellable,
                      GError **error)
{
  const TdPlan *plan = user;

  return td_engine_read_rows (plan->engine, plan->scan, range.first, range.count, out, cancellable,
                              error);
}

gboolean
td_fbp_read_slab (TdFbpRun *run, TdFbpSlab *slab, float *to, TdHeldRows *carry, GError **error)
{
  static const TdHeldRows none = { 0 };
  const TdFbpWork *work = &slab->work;
  float *rows = to ? to : work->in->host;
  TdScan *scan = run->plan->scan;
  const TdRowsOrigin origin = {
    .read = run->fbp->keep ? fbp_reader_read_kept : td_rows_read_scan,
    .user = run->fbp->keep ? (gpointer) run->plan : scan,
    .row_floats = td_fbp_row_bytes (run->fbp) / sizeof (float),
  };
  gint64 start = g_get_monotonic_time ();

  if (!td_rows_read_beside (&origin, carry ? carry : &none,
                            (TdRowRange) { work->row0, work->n_rows }, rows, run->job->cancellable,
                            error))
    return FALSE;
  if (carry && run->fbp->halo) {
    const guint n = MIN (2 * run->fbp->halo, work->n_rows);
    carry->range = (TdRowRange) { work->row0 + work->n_rows - n, n };
    memcpy (carry->rows, rows + (work->n_rows - n) * origin.row_floats,
            n * origin.row_floats * sizeof *rows);
  }
  g_autoptr (TdFlats) flats = td_engine_flats (run->plan->engine, scan);
  if (!td_preparation_fetch (flats, run->plan->recipe.steps, run->plan->recipe.n_steps, work->row0,
                             work->n_rows, run->job->cancellable, error))
    return FALSE;
  td_job_add_stage (run->job, "read", (g_get_monotonic_time () - start) * 1e-6);
  slab->read = !to; /* what a device has is lost with it */
  return TRUE;
}

static void
keep_read_rate (TdFbpRun *run, gint64 busy_us)
{
  const TdScanFacts *facts = td_scan_facts (run->plan->scan);
  g_autofree char *key = g_strconcat ("read ", facts->format, NULL);

  if (busy_us > 200 * 1000)
    td_engine_set_rate (run->plan->engine, key, run->plan->facts.read_bytes / (busy_us * 1e-6));
}

void
td_fbp_read (TdFbpRun *run, gpointer unused)
{
  TdHeldRows carry
      = { .rows = g_malloc (MAX (2 * run->fbp->halo * td_fbp_row_bytes (run->fbp), 1)) };
  GError *error = NULL;
  gint64 busy_us = 0;

  for (guint i = 0; i < run->n_slabs && !error; i++) {
    TdFbpSlab *slab = &run->slabs[i];
    slab->work.in = td_fbp_run_get (run, &run->free_in);
    if (!slab->work.in)
      break;
    gint64 start = g_get_monotonic_time ();
    if (td_fbp_read_slab (run, slab, NULL, &carry, &error)) {
      busy_us += g_get_monotonic_time () - start;
      td_fbp_run_put (run, &run->ready, slab);
      if (i + 1 == run->n_slabs)
        keep_read_rate (run, busy_us);
    }
  }
  if (error)
    td_job_fail (run->job, error);
  g_free (carry.rows);
}
