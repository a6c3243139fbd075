/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "compute/device/host.h"
#include "fdk-run.h"

#define PIECE_BYTES (96u << 10) /* of a thread: stays in its caches */

typedef struct {
  TdFdkRun *run;
  guint row0, n_rows;
  guint step;       /* views of a piece */
  float *out;       /* [row][view][column] */
  GError *error;    /* the first, by exchange */
} Read;

/* Some views' rows from projection order to sinogram order. */
static void
read_piece (guint index, gpointer user)
{
  Read *read = user;
  const TdScanFacts *facts = td_scan_facts (read->run->plan->scan);
  const gsize columns = facts->n_columns, frame = read->n_rows * columns;
  const guint first = index * read->step, n = MIN (read->step, facts->n_views - first);
  g_autofree float *frames = g_new (float, n * frame);
  GError *error = NULL;

  if (g_atomic_pointer_get (&read->error))
    return;
  if (!td_scan_read (read->run->plan->scan, TD_FRAME_PROJECTION, first, n, read->row0, read->n_rows,
                     frames, read->run->cancellable, &error)) {
    if (!g_atomic_pointer_compare_and_exchange (&read->error, NULL, error))
      g_error_free (error);
    return;
  }
  for (gsize row = 0; row < read->n_rows; row++)
    for (gsize view = 0; view < n; view++)
      memcpy (read->out + (row * facts->n_views + first + view) * columns,
              frames + view * frame + row * columns, columns * sizeof *frames);
}

gboolean
td_fdk_read (TdFdkRun *run, guint row0, guint n, float *out, GError **error)
{
  const TdPlan *plan = run->plan;
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  const gint64 start = g_get_monotonic_time ();
  const guint64 view_bytes = (guint64) n * facts->n_columns * sizeof (float);
  gboolean ok = TRUE;

  if (run->fdk->n_chunks == 1) { /* a preview: the engine remembers such */
    ok = td_engine_read_rows (plan->engine, plan->scan, row0, n, out, run->cancellable, error);
  } else if (facts->in_memory) {
    Read read = { run, row0, n, (guint) MAX (1, PIECE_BYTES / view_bytes), out, NULL };
    td_parallel_for ((facts->n_views + read.step - 1) / read.step, read_piece, &read);
    ok = read.error == NULL;
    if (!ok)
      g_propagate_error (error, read.error);
  } else {
    ok = td_scan_read_sinograms (plan->scan, 0, facts->n_views, row0, n, out, run->cancellable, error);
  }
  td_job_add_stage (run->job, "read", (g_get_monotonic_time () - start) * 1e-6);
  return ok;
}
