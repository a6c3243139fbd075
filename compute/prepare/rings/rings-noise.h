/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * What noise a row has, and so how its columns' second differences are best told. A median leaves
 * edges alone, but where noise is all there is it is worse than the mean, and worse than that: what
 * the medians of neighbours are wrong by does not fit together as second differences do, so that it
 * spreads over many columns. Huber's location goes from one to the other by its bound, a few
 * standard deviations of the noise. Pure; any thread.
 */
#define TD_RINGS_ROUGHNESS 3 /* views that a view is compared with the mean of */

/* @sums, @roughness: over the views, of the row and of |p - its mean over TD_RINGS_ROUGHNESS
   views|. @bounds: of second differences; 0 where there is no noise. */
void td_rings_noise_bounds (const float *sums, const float *roughness, guint n_columns,
                            guint n_views, float *bounds);
