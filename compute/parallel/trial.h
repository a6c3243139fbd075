/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "backproject.h"

/**
 * A back-projection of random sinograms, to be timed and judged: what the tuner, the self-test and
 * the bench have in common. One thread.
 */
typedef struct TdTrial TdTrial;

/* Copies @task with its arrays; fills @n_slices sinograms with white noise from @seed. Blocks. */
TdTrial *td_trial_new (TdDevice *device, const TdBackprojectTask *task, guint n_slices,
                       guint32 seed, GError **error);
/* The same in place of *@trial, which is kept where it is of that kind already. NULL: none yet. */
gboolean td_trial_serve (TdTrial **trial, TdDevice *device, const TdBackprojectTask *task,
                         guint n_slices, guint32 seed, GError **error);
void td_trial_free (TdTrial *trial);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdTrial, td_trial_free)

const TdBackprojectTask *td_trial_task (const TdTrial *trial);
double td_trial_updates (const TdTrial *trial); /* in one run: slices x pixels x views */

/* Takes @family and @variant (may be NULL) for the runs that follow. Builds; blocks. */
gboolean td_trial_prepare (TdTrial *trial, const TdBackprojectFamily *family,
                           const TdBackprojectVariant *variant, GError **error);
const char *td_trial_description (const TdTrial *trial); /* of what was prepared */
/* One run over all slices; device time. The slices hold garbage before, so that a pixel that nobody
   writes shows. */
gboolean td_trial_run (TdTrial *trial, double *seconds, GError **error);
/* Device time of the last run's summing kernels alone; 0 where the family does not tell. */
double td_trial_kernel_seconds (const TdTrial *trial);
void td_trial_release (TdTrial *trial);

/* All slices of the last run. (transfer full): n_slices * ny * nx floats. */
float *td_trial_slices (TdTrial *trial, GError **error);
/* Relative L2 error of the last run against the double-precision reference, over the first and
   last slice. Small slices count whole, large ones by three squares (middle, side, corner). */
gboolean td_trial_error (TdTrial *trial, double *relative, GError **error);

/* ||a - b|| / ||b||; NaN or infinite values make it infinite. */
double td_relative_l2 (const float *a, const float *b, guint64 n);

/* A scan for trials: @n_columns columns, @n_views views over half a turn, a centre a little off
   the middle. The slice has @n x @n pixels around the axis. Free task->angles_rad. */
void td_trial_task_init (TdBackprojectTask *task, guint n_columns, guint n_views, guint n,
                         TdInterpolation interpolation, TdPrecision precision);
