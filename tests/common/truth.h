/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/parallel/backproject.h"
#include "compute/filter.h"
#include "dataset/phantom-scan.h"

/**
 * What the truth tests compare with: filtered back-projection on one thread in double precision. It
 * shares with the product only td_filter_response() and td_backproject_reference(), which have
 * tests of their own.
 */

/* Whole square slice of n_columns pixels, centre in the middle, n_views angles over @range_deg
   without the end point; scale pi / n_views. Angles are allocated: td_truth_task_clear(). */
void td_truth_task_init (TdBackprojectTask *task, guint n_columns, guint n_views, double range_deg);
void td_truth_task_clear (TdBackprojectTask *task);

/* One row's line integrals, [view][column], for a unit of n_columns / 2 pixels. */
float *td_truth_sinogram (const TdPhantom *phantom, const TdBackprojectTask *task, guint n_rows,
                          guint row);

/* Rows of n_columns, filtered in double; the result rounded to float. */
float *td_truth_filter (const TdFilter *filter, const float *rows, guint n_rows, guint n_columns);
/* Filtered back-projection of [view][column] into [ny][nx]. */
double *td_truth_fbp (const TdFilter *filter, const TdBackprojectTask *task, const float *sinogram);

/* sqrt (sum (a - b)^2 / sum b^2); the difference itself where b is 0 throughout; INFINITY if
   anything is not finite. */
double td_truth_relative_rms (const float *a, const double *b, gsize n);

/* A disc of a known value; pixels from the axis, y up. */
typedef struct {
  double x, y, radius_px, value;
} TdTruthDisc;

/* Mean and largest deviation from the disc's value within it. */
void td_truth_inside (const TdBackprojectTask *task, const double *slice, const TdTruthDisc *disc,
                      double *mean_error, double *largest_error);
