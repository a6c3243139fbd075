/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "axis.h"

/**
 * The axis and its tilt from whole projections half a turn apart. About a tilted axis the opposite
 * view shows another height of the sample, the more so the farther from the axis. A row alone
 * cannot tell this from a centre that moves. So both views are sheared into the frame of the axis,
 * with columns about it and rows along it:
 *
 *     a (t, z) = A (row z - slope t, column centre (z) + t)
 *     centre (z) = centre + slope (z - middle)
 *
 * They are compared row by row (axis-likeness.h) for the centre and its slope. This is repeated
 * until the slope that shears is the slope that is found.
 */
typedef struct {
  gboolean found; /* FALSE: the rest means nothing */
  TdAxisLine line;
  double centre_error; /* at the line's middle row, in columns */
  double slope_error;  /* columns a row */
} TdAxisTilt;

/* @begin: where to begin. Nothing is found where no views are exactly half a turn apart, rows are
   too few, or the views do not match. Blocks. FALSE with @error: cancelled, or the scan cannot be
   read. */
gboolean td_axis_tilt (const TdRowSource *source, const TdAxisLine *begin, TdAxisTilt *tilt,
                       GCancellable *cancellable, GError **error);
