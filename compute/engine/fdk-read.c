/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fdk-run.h"
#include "scan-rows.h"

gboolean
td_fdk_read (TdFdkRun *run, guint device, guint row0, guint n, float *out, GError **error)
{
  const TdPlan *plan = run->plan;
  const gint64 start = g_get_monotonic_time ();
  const gboolean ok
      = run->fdk->n_chunks == 1 /* a preview: the engine remembers such */
            ? td_engine_read_rows (plan->engine, plan->scan, row0, n, out, run->cancellable, error)
            : td_scan_rows (plan->scan, row0, n, out, run->cancellable, error);

  td_job_add_stage (run->job, "read", (g_get_monotonic_time () - start) * 1e-6);
  td_job_add_span (run->job, "read", device, start, g_get_monotonic_time ());
  return ok;
}
