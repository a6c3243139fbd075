/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "axis-methods.h"

/**
 * What the methods share in looking for the best of many centres.
 */

/* A figure of merit at evenly spaced centres, the higher the better: first_px + i * step_px. */
typedef struct {
  double first_px, step_px;
  guint n;
  double *merit; /* [n] */
} TdAxisCurve;

/* The highest place of the curve by the parabola through it and its neighbours, and how far it
   stands out: (best - second) / (best - median), second being the highest other hill. Nothing if
   the curve is flat or rises to an end of the range: FALSE, with the reason in @estimate. */
gboolean td_axis_curve_peak (const TdAxisCurve *curve, TdAxisEstimate *estimate);

/* An odd number of neighbouring values, smoothed by their weights. */
double td_axis_parabola (double left, double middle,
                         double right); /* the peak's place, -0.5 … 0.5 */

/* A window of 2 reach + 1 columns: 1, over the outer 40 % falling to 0. @t: columns from its
 * middle. */
double td_axis_fade (gint t, guint reach);

/* Sums @by_columns columns and @by_views rows, which begin @stride floats apart, to one: (transfer
   full), float [n_views / by_views][n_columns / by_columns]. What is left over at the ends is
   dropped. Column i of the result lies at (i + 1/2) * by_columns - 1/2. */
float *td_axis_bin (const float *sinogram, guint n_views, gsize stride, guint n_columns,
                    guint by_views, guint by_columns);

/* Takes its mean over the rows from each column: all that stands still while the sample turns.
   About the axis the mean of opposite views is symmetric, so that those stay each other's mirror
   image. @counted: [n_rows] those that make the mean; NULL: all. */
void td_axis_remove_mean (float *rows, guint n_rows, guint n_columns, const gboolean *counted);

/* What tells views apart: where in the spectrum the rows stand out of their noise. Low frequencies,
   which carry the drifting beam and what lies outside the field, are whitened below 0.06 cycles a
   pixel:

     r (f) = f / sqrt (f^2 + 0.06^2) * max (1 - noise / power (f), 0) * cos^2 (pi f)

   power being the mean over all views, smoothed over half an octave, and noise what the highest
   sixteenth holds. (transfer full): bins 0 … length / 2 of td_axis_spectrum_length() for so many
   columns. NULL: no memory. */
double *td_axis_response (const float *sinogram, guint n_views, guint n_columns);
/* Rows filtered by it: (transfer full), [n_views][n_columns], 0 in the outermost columns, which the
   filter's edges reach. NULL: no memory. */
float *td_axis_whiten (const float *sinogram, guint n_views, guint n_columns);
