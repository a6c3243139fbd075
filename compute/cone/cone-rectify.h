/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cone.h"

/**
 * FDK filters along detector rows, which is exact where the rows are parallel to the plane of the
 * orbit. The detector need not stand square to the beam. The ramp's kernel, 1 / u^2, keeps its form
 * when a row is projected onto another row from the source, and the weights correct the rest.
 *
 * Where the rows slope, projections are resampled to those of a rectified detector. Each view has
 * one, seen from the same source: upright, square to the ray through the axis, and in the plane
 * through the axis. Its pixels are as large as the detector's pixels are there. It is large enough
 * for the detector's image in every view. Its pixel (u, v) lies on the ray of the detector's pixel
 * H (u, v, 1)', where H is a 3x3 matrix a view.
 *
 * Samples are interpolated with Lanczos' kernel of three lobes, whose 36 weights add up to 1. Its
 * gain is within 3 % of 1 up to half the Nyquist frequency, and 0.65 at four fifths of it. (Linear
 * interpolation has 0.71 and 0.31.) Beyond the ends of a row there is nothing, as on every
 * detector. A rectified row may lie partly above the detector's first row or below its last. There
 * the nearest sample straight below or above is taken: what is long in z continues, and what has
 * ended stays ended.
 *
 * All functions are pure; any thread may call them.
 */

/* The steepest slope of the detector's rows against the plane of the orbit, radians. Every view's
   first and last row count, as a rectified detector sees them. The slope is also 0 if a row is not
   in front of the source. */
double td_cone_row_slope (const TdConeTask *task);
/* Whether rectifying is worth its cost. Rows that slope by more than a tenth of a degree make
   slices worse than resampling does. The error is 0.03 % of the peak with an offset detector,
   and less otherwise (docs/guide-cone.md). On a circular orbit any tilt is worth rectifying. All
   views are then resampled alike, pixels in the middle are copied, and upright detectors have
   faster kernels. Detectors of a few rows are left alone. */
gboolean td_cone_rectify_helps (const TdConeTask *task, const TdGeometry *geometry,
                                double slope_rad);

/* Makes @task, as td_cone_task_init() leaves it, the task of the rectified detector. Matrices,
   sizes, weights and task->tilted change, the volume stays. Comes before td_cone_task_widen().
   FALSE leaves the task unchanged: a corner of the detector is not in front of the source. */
gboolean td_cone_task_rectify (TdConeTask *task);

/* The detector's rows that rectified rows @rows are made of. */
TdRowRange td_cone_rectify_rows (const TdConeTask *task, TdRowRange rows);

/* What the kernel takes of each view, as floats. First H, row by row, between pixels counted from
   the middle of either detector. Then a and b of the two lines y = a x + b beyond which the nearest
   sample is taken. Last, 1 if these lines are the detector's first and last row, 0 if they are its
   columns. */
#define TD_CONE_RECTIFY_FORM 14
void td_cone_rectify_form (const TdConeTask *task, guint view, double form[TD_CONE_RECTIFY_FORM]);
