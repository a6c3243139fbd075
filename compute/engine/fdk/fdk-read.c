/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fdk-run.h"

gboolean
td_fdk_read (gpointer user, TdRowRange range, float *out, GCancellable *cancellable, GError **error)
{
  const TdFdkReader *reader = user;
  const TdPlan *plan = reader->run->plan;
  TdJob *job = reader->run->job;
  const gint64 start = g_get_monotonic_time ();
  const gboolean ok = reader->run->fdk->n_chunks == 1 /* a preview: the engine remembers such */
                          ? td_engine_read_rows (plan->engine, plan->scan, range.first, range.count,
                                                 out, cancellable, error)
                          : td_rows_read_scan (plan->scan, range, out, cancellable, error);

  td_job_add_stage (job, "read", (g_get_monotonic_time () - start) * 1e-6);
  td_job_add_span (job, "read", reader->device, start, g_get_monotonic_time ());
  return ok;
}
