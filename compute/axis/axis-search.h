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

/* The highest place of the curve, by the parabola through it and its neighbours. Its confidence is
   (best - second) / (best - median), where second is the highest other hill. FALSE, with the reason
   in @estimate: the curve is flat, or rises to an end of the range. */
gboolean td_axis_curve_peak (const TdAxisCurve *curve, TdAxisEstimate *estimate);

/* The standard error of the centre where a sum over frequencies is least. @parts: [3][n] what each
   frequency adds at centres @step_px before it, at it and after it. Bands of frequencies that know
   the centre equally well tell how far they pull it apart. Noise is independent between them, and
   edges that the columns undersample pull the high ones towards whole and half columns. NAN: it is
   least nowhere. */
double td_axis_scatter (const double *parts, guint n, double step_px);

/* A taper over 2 reach + 1 columns: 1, and falling to 0 over the outer 40 %. @t: columns from its
   middle. */
double td_axis_taper (gint t, guint reach);

/* Sums @by_columns columns and @by_views rows, which begin @stride floats apart, into one. Returns:
   (transfer full): float [n_views / by_views][n_columns / by_columns]; incomplete groups at the
   ends are dropped. Column i of the result lies at (i + 1/2) * by_columns - 1/2. NULL: no memory.
 */
float *td_axis_bin (const float *sinogram, guint n_views, gsize stride, guint n_columns,
                    guint by_views, guint by_columns);
/* Where a column of the detector lies among the result's. */
double td_axis_to_binned (guint by_columns, double column);

/* Subtracts from each column its mean over the rows, which holds all that stands still while the
   sample turns. The mean of opposite views is symmetric about the axis, so that these stay mirror
   images of each other. @counted: [n_rows] rows that make the mean; NULL: all. */
void td_axis_remove_mean (float *rows, guint n_rows, guint n_columns, const gboolean *counted);

/* The weight of each frequency: high where the rows exceed their noise. Below 0.06 cycles a pixel
   rows are whitened, for low frequencies carry the drifting beam and what lies outside the field:

     r (f) = f / sqrt (f^2 + 0.06^2) * max (1 - noise / power (f), 0) * cos^2 (pi f)

   Here power is the mean over all views, smoothed over half an octave, and noise is the mean of the
   highest sixteenth. Returns: (transfer full): bins 0 … length / 2, with td_axis_spectrum_length()
   for so many columns. NULL: no memory. */
double *td_axis_response (const float *sinogram, guint n_views, guint n_columns);
/* Rows filtered by td_axis_response(): (transfer full), [n_views][n_columns]. The outermost
   columns, which the filter's edges reach, are 0. NULL: no memory. */
float *td_axis_whiten (const float *sinogram, guint n_views, guint n_columns);
