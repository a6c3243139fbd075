/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * The noise of a row, and the estimate of second differences that suits it. A median leaves edges
 * alone, but among pure noise it is worse than the mean. Worse still, the errors of neighbouring
 * medians do not fit together as second differences do, so that they spread over many columns.
 * Huber's location lies between mean and median by its bound, here a few standard deviations of the
 * noise. Pure; any thread.
 */
#define TD_RINGS_ROUGHNESS 3 /* views that a view is compared with the mean of */

/* @sums, @roughness: over the views, of the row and of |p - its mean over TD_RINGS_ROUGHNESS
   views|. @bounds: of second differences; 0 where there is no noise. */
void td_rings_noise_bounds (const float *sums, const float *roughness, guint n_columns,
                            guint n_views, float *bounds);
