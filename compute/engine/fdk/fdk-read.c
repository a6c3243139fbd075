/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "fdk-run.h"
#include "compute/prepare/prepared-rows.h"

gboolean
td_fdk_read (TdFdkRun *run, guint device, guint row0, guint n, float *out, GError **error)
{
  const TdPlan *plan = run->plan;
  const gint64 start = g_get_monotonic_time ();
  const gboolean ok
      = run->fdk->n_chunks == 1 /* a preview: the engine remembers such */
            ? td_engine_read_rows (plan->engine, plan->scan, row0, n, out, run->cancellable, error)
            : td_rows_read_scan (plan->scan, (TdRowRange) { row0, n }, out, run->cancellable, error);

  td_job_add_stage (run->job, "read", (g_get_monotonic_time () - start) * 1e-6);
  td_job_add_span (run->job, "read", device, start, g_get_monotonic_time ());
  return ok;
}

gboolean
td_fdk_hold (TdFdkRun *run, guint device, TdFdkHeld *held, guint row0, guint n, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (run->plan->scan);
  const gsize row = (gsize) facts->n_views * facts->n_columns;
  const guint end = row0 + n;
  guint first = MAX (row0, held->row0), last = MIN (end, held->row0 + held->n);

  if (held->n == 0 || first >= last)
    first = last = row0;
  else
    memmove (held->rows + (first - row0) * row, held->rows + (first - held->row0) * row,
             (last - first) * row * sizeof *held->rows);
  held->n = 0;
  if ((first > row0 && !td_fdk_read (run, device, row0, first - row0, held->rows, error))
      || (end > last
          && !td_fdk_read (run, device, last, end - last, held->rows + (last - row0) * row, error)))
    return FALSE;
  held->row0 = row0;
  held->n = n;
  return TRUE;
}
