/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis-quality.h"

#include <math.h>

#include "axis-pairs.h"

/* A sample is cut off if the outermost columns' mean exceeds this part of the largest one's. */
#define CUT_OFF 0.1
#define WHOLE_TURN_RAD (1.6 * G_PI)

typedef struct {
  double sum, sum_squares;
  guint64 n;
} Sums;

static void
add_pixel (TdAxisQuality quality, const float *p, guint side, Sums *sums)
{
  gssize down = side;
  double value = 0;

  switch (quality) {
  case TD_AXIS_QUALITY_NEGATIVITY: value = MIN (p[0], 0); break;
  case TD_AXIS_QUALITY_FLATNESS:
  case TD_AXIS_QUALITY_STEEPNESS: {
    double dx = (double) p[1] - p[-1], dy = (double) p[down] - p[-down];
    value = dx * dx + dy * dy;
    if (quality == TD_AXIS_QUALITY_FLATNESS)
      value = -sqrt (sqrt (value));
    break;
  }
  }
  sums->sum += value;
  sums->sum_squares += value * value;
  sums->n++;
}

double
td_axis_quality (TdAxisQuality quality, const float *slice, guint side, double radius)
{
  double middle = (side - 1) / 2.0;
  Sums sums = { 0 };

  for (guint y = 1; y + 1 < side; y++) {
    double dy = y - middle, half = radius * radius - dy * dy;
    if (half <= 0)
      continue;
    guint first = (guint) MAX (ceil (middle - sqrt (half)), 1);
    guint last = (guint) MIN (floor (middle + sqrt (half)), side - 2.0);
    for (guint x = first; x <= last; x++)
      add_pixel (quality, slice + (gsize) y * side + x, side, &sums);
  }
  if (sums.n == 0)
    return 0;
  if (quality == TD_AXIS_QUALITY_STEEPNESS)
    return sums.sum > 0 ? sums.n * sums.sum_squares / (sums.sum * sums.sum) : 0;
  return sums.sum / sums.n;
}

gboolean
td_axis_cut_off (const float *sinogram, guint n_views, guint n_columns)
{
  const guint edge = MAX (1, n_columns / 64), n = n_columns / edge;
  g_autofree double *sums = g_new0 (double, n);
  double most = 0;

  for (guint v = 0; v < n_views; v++)
    for (guint u = 0; u < n * edge; u++)
      sums[u / edge] += sinogram[(gsize) v * n_columns + u];
  for (guint i = 0; i < n; i++)
    most = MAX (most, sums[i]);
  return MAX (sums[0], sums[n - 1]) > CUT_OFF * most;
}

TdAxisQuality
td_axis_quality_for (const float *sinogram, guint n_views, guint n_columns,
                     const double *angles_rad)
{
  double range = 0;

  td_axis_step (angles_rad, n_views, &range);
  if (range > WHOLE_TURN_RAD)
    return TD_AXIS_QUALITY_STEEPNESS;
  return td_axis_cut_off (sinogram, n_views, n_columns) ? TD_AXIS_QUALITY_FLATNESS
                                                        : TD_AXIS_QUALITY_NEGATIVITY;
}
