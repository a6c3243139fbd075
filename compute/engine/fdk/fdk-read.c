/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fdk-run.h"

gboolean
td_fdk_read (gpointer user, TdRowRange range, float *out, GCancellable *cancellable, GError **error)
{
  const TdFdkReader *reader = user;
  const TdFdkPlan *fdk = reader->run->fdk;
  TdJob *job = reader->run->job;
  const gint64 start = g_get_monotonic_time ();
  const gboolean ok = fdk->fit.n_chunks == 1 /* a preview: the engine remembers such */
                          ? td_engine_read_rows (reader->run->plan->engine, fdk->scan, range.first,
                                                 range.count, out, cancellable, error)
                          : td_rows_read_scan (fdk->scan, range, out, cancellable, error);

  td_job_add_stage (job, "read", (g_get_monotonic_time () - start) * 1e-6);
  td_job_add_span (job, "read", reader->device, start, g_get_monotonic_time ());
  return ok;
}
