/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/row-range.h"
#include "lab-truth.h"

/**
 * FDK in double precision: the task that td_fdk_plan() made, summed as td_cone_reference() sums.
 * Rows of a tilted detector are resampled as kernels/cone-rectify.cl does, weighted as
 * td_cone_cosine() and td_cone_redundancy_weight() say, and filtered.
 */

/* The rows of the plan's scan, as frames are turned, that its slices are made of. */
TdRowRange td_lab_cone_rows (const TdPlan *plan);
/* td_lab_truth() of a plan of FDK, by its first @most_views views. */
double *td_lab_truth_cone (const TdPlan *plan, const float *rows, const TdLabShortcuts *shortcuts,
                           guint most_views, GCancellable *cancellable, GError **error);
