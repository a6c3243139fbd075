/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compute/device/host.h"
#include "fdk-run.h"

#define PIECE_BYTES (256u << 10) /* that a thread copies at once */

typedef struct {
  TdFdkRun *run;
  guint row0, n_rows;
  guint step, steps; /* views of a piece, pieces of a row */
  float *out;        /* [row][view][column] */
  GError *error;     /* the first, by exchange */
} Read;

/* Some views of a row. */
static void
read_piece (guint index, gpointer user)
{
  Read *read = user;
  const TdScanFacts *facts = td_scan_facts (read->run->plan->scan);
  const guint row = index / read->steps, first = index % read->steps * read->step;
  const guint n = MIN (read->step, facts->n_views - first);
  float *out = read->out + ((gsize) row * facts->n_views + first) * facts->n_columns;
  GError *error = NULL;

  if (!g_atomic_pointer_get (&read->error)
      && !td_scan_read_sinograms (read->run->plan->scan, first, n, read->row0 + row, 1, out,
                                  read->run->cancellable, &error)
      && !g_atomic_pointer_compare_and_exchange (&read->error, NULL, error))
    g_error_free (error);
}

gboolean
td_fdk_read (TdFdkRun *run, guint row0, guint n, float *out, GError **error)
{
  const TdPlan *plan = run->plan;
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  const gint64 start = g_get_monotonic_time ();
  gboolean ok = TRUE;

  if (run->fdk->n_chunks == 1) { /* a preview: the engine remembers such */
    ok = td_engine_read_rows (plan->engine, plan->scan, row0, n, out, run->cancellable, error);
  } else if (facts->in_memory) {
    const guint step = MAX (1, PIECE_BYTES / (facts->n_columns * (guint) sizeof (float)));
    Read read = { run, row0, n, step, (facts->n_views + step - 1) / step, out, NULL };
    td_parallel_for (n * read.steps, read_piece, &read);
    ok = read.error == NULL;
    if (!ok)
      g_propagate_error (error, read.error);
  } else {
    ok = td_scan_read_sinograms (plan->scan, 0, facts->n_views, row0, n, out, run->cancellable, error);
  }
  td_job_add_stage (run->job, "read", (g_get_monotonic_time () - start) * 1e-6);
  return ok;
}
