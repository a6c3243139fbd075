/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cone.h"

/**
 * FDK filters along rows, and is right where these are parallel to the plane of the orbit. (Whether
 * the detector stands square to the beam does not matter: the ramp's kernel, 1 / u^2, keeps its
 * form when a row is projected to another one from the source, and the weights make up for the
 * rest.) Where they lean, projections are resampled to those of the level detector: seen from the
 * same source, upright, square to the ray through the axis, in the plane through that, its pixels
 * as large as the detector's are there, and large enough for all views' images of the detector.
 * Pixel (u, v) of it lies on the ray of the detector's pixel H (u, v, 1)', H a 3x3 matrix a view.
 *
 * Interpolation is Lanczos' with three lobes, weights normalised: 36 samples. Its gain is within 3
 * % of 1 up to half the Nyquist frequency, 0.65 at four fifths (a straight line between two
 * samples: 0.71 and 0.31). Beyond the detector's ends in a row there is nothing, as on every
 * detector. Above its first row and below its last, where a level row is measured in part only, the
 * nearest sample straight below or above is taken: what is long in z goes on, what has ended stays
 * ended.
 *
 * Pure; any thread.
 */

/* How much the detector's rows lean against the plane of the orbit, radians: the most of any view's
   first and last row, as they are seen on a level detector. 0, too, if a row is not before the
   source. */
double td_cone_lean (const TdConeTask *task);
/* Whether resampling is worth while. Where rows lean by more than a tenth of a degree it makes
   slices better: there the lean's error is 0.03 % of the peak with an offset detector, less
   otherwise, and what interpolation takes of the sharpness no more (docs/guide-cone.md). On a
   circular orbit any tilt is worth it: all views are resampled alike, the middle's pixels are
   copied, and upright detectors have faster kernels. Detectors of a few rows are left alone. */
gboolean td_cone_level_helps (const TdConeTask *task, const TdGeometry *geometry, double lean_rad);

/* Makes of a task as td_cone_task_init() leaves it that of the level detector: matrices, sizes,
   weights and task->level. The volume stays. Before td_cone_task_widen(). FALSE, and nothing is
   changed, if a corner of the detector is not before the source. */
gboolean td_cone_task_level (TdConeTask *task);

/* The detector's rows [*first, *end) that level rows [row0, row0 + n) are made of. */
void td_cone_level_rows (const TdConeTask *task, guint row0, guint n, guint *first, guint *end);

/* What the kernel takes of each view, floats: H between pixels counted from the middle of either
   detector, row by row; a, b of the two lines y = a x + b beyond which the nearest sample is taken;
   1 if these are the detector's first and last row, 0 if its columns. */
#define TD_CONE_LEVEL_FORM 14
void td_cone_level_form (const TdConeTask *task, guint view, double form[TD_CONE_LEVEL_FORM]);
