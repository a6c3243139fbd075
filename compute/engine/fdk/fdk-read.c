/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fdk-run.h"

gboolean
td_fdk_read (gpointer user, TdRowRange range, float *out, GCancellable *cancellable, GError **error)
{
  const TdFdkReader *reader = user;
  const TdFdkPlan *fdk = reader->run->fdk;
  TdJob *job = reader->run->job;
  const gint64 start = g_get_monotonic_time ();
  const TdFrameRange part = { TD_FRAME_PROJECTION, fdk->input->view0, fdk->input->task.n_views,
                              range.first, range.count };
  gboolean ok;

  if (part.count < td_scan_facts (fdk->scan)->n_views)
    ok = td_scan_read_sinograms (fdk->scan, &part, out, cancellable, error);
  else if (fdk->fit.n_chunks == 1) /* a preview: the engine remembers such */
    ok = td_engine_read_rows (reader->run->plan->engine, fdk->scan, range.first, range.count, out,
                              cancellable, error);
  else
    ok = td_rows_read_scan (fdk->scan, range, out, cancellable, error);

  td_job_add_stage (job, "read", (g_get_monotonic_time () - start) * 1e-6);
  td_job_add_span (job, "read", reader->device, start, g_get_monotonic_time ());
  return ok;
}
