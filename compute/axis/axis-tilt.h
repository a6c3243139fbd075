/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "axis.h"
#include "axis-consensus.h"

/**
 * The axis and its tilt from whole projections half a turn apart. A tilted axis shows another
 * height of the sample to the opposite view, the more so the farther from the axis: rows alone
 * cannot tell that from a centre that moves. Here both views are sheared into the axis' own frame,
 * columns about it and rows along it,
 *
 *     a (t, z) = A (row z - slope t, column centre (z) + t),   centre (z) = centre + slope (z -
 * middle)
 *
 * and compared row by row (axis-likeness.h) for the centre and its slope; until the slope that
 * shears is the slope that is found.
 *
 * @line: where to begin; what was found on success. @centre_error, at the line's middle, in
 * columns;
 * @slope_error: columns a row. *@found FALSE: the scan
 * has no views exactly half a turn apart, too few rows, or the views do not match; @line stays.
 * Blocks. FALSE with @error: cancelled, or the scan cannot be read.
 */
gboolean td_axis_tilt (TdDevice *device, TdScan *scan, const TdStep *steps, guint n_steps,
                       TdAxisLine *line, double *centre_error, double *slope_error, gboolean *found,
                       GCancellable *cancellable, GError **error);
