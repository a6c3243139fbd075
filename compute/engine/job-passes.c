/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What iterative methods tell of their passes, and are told. */
#include <math.h>

#include "job-private.h"

void
td_job_add_pass (TdJob *job, double residual)
{
  g_mutex_lock (&job->lock);
  if (!job->ended_us) {
    const TdJobPass pass = { (g_get_monotonic_time () - job->started_us) * 1e-6, residual };
    g_array_append_val (job->passes, pass);
  }
  g_mutex_unlock (&job->lock);
}

const TdJobPass *
td_job_passes (TdJob *job, guint *n)
{
  *n = job->passes->len;
  return (const TdJobPass *) job->passes->data;
}

void
td_job_pass_progress (TdJob *job, TdJobProgress *progress)
{
  const guint n = job->passes->len;
  const TdPlan *plan = job->plan;

  progress->pass = n;
  progress->n_passes = td_method_iterates (plan->recipe.method)
                           ? plan->facts.n_slabs * plan->recipe.iterations
                           : 0;
  progress->residual = n > 0 ? g_array_index (job->passes, TdJobPass, n - 1).residual : NAN;
}

void
td_job_keep_momentum (TdJob *job)
{
  job->keep_momentum = TRUE;
}

void
td_job_finish_early (TdJob *job)
{
  g_mutex_lock (&job->lock);
  job->ends_early = TRUE;
  g_mutex_unlock (&job->lock);
}

gboolean
td_job_ends_early (TdJob *job)
{
  g_mutex_lock (&job->lock);
  const gboolean ends = job->ends_early;
  g_mutex_unlock (&job->lock);
  return ends;
}
