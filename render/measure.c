/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "measure.h"

#include <math.h>

guint
td_measure_points (TdMeasureKind kind)
{
  return kind == TD_MEASURE_ANGLE ? 3 : 2;
}

static double
measure_length (const TdMeasure *m)
{
  return hypot (m->points[1][0] - m->points[0][0], m->points[1][1] - m->points[0][1]);
}

static double
measure_angle (const TdMeasure *m)
{
  const double ax = m->points[0][0] - m->points[1][0], ay = m->points[0][1] - m->points[1][1];
  const double bx = m->points[2][0] - m->points[1][0], by = m->points[2][1] - m->points[1][1];

  /* By both products: exact at 0° and 180°, where the cosine alone has no digits. */
  return atan2 (fabs (ax * by - ay * bx), ax * bx + ay * by) * 180 / G_PI;
}

/* Between the four samples around it; NAN if one of them is missing or not finite. */
static float
measure_sample (const TdImage *image, double column, double row)
{
  const double x = (column + 0.5) * image->width / image->extent_width - 0.5;
  const double y = (row + 0.5) * image->height / image->extent_height - 0.5;
  double sum = 0;

  if (!(x >= 0 && y >= 0 && x <= image->width - 1.0 && y <= image->height - 1.0))
    return NAN;
  const guint i = (guint) MIN (floor (x), image->width - 1.0);
  const guint j = (guint) MIN (floor (y), image->height - 1.0);
  const double fx = x - i, fy = y - j;
  for (guint k = 0; k < 4; k++) {
    const double w = (k & 1 ? fx : 1 - fx) * (k >> 1 ? fy : 1 - fy);
    /* Beyond the last sample nothing has a share. */
    if (w > 0)
      sum += w * image->pixels[(gsize) (j + (k >> 1)) * image->width + i + (k & 1)];
  }
  return isfinite (sum) ? (float) sum : NAN;
}

float *
td_measure_profile (const TdMeasure *m, const TdImage *image, guint *n)
{
  const guint steps = (guint) CLAMP (ceil (measure_length (m)), 1, 1 << 20);
  float *values = g_new (float, steps + 1);

  for (guint i = 0; i <= steps; i++) {
    const double t = (double) i / steps;
    values[i] = measure_sample (image, m->points[0][0] + t * (m->points[1][0] - m->points[0][0]),
                                m->points[0][1] + t * (m->points[1][1] - m->points[0][1]));
  }
  *n = steps + 1;
  return values;
}

static void
measure_region (const TdMeasure *m, const TdImage *image, TdMeasured *measured)
{
  double from[2], size[2];
  const double extent[2] = { image->extent_width, image->extent_height };

  for (guint i = 0; i < 2; i++) {
    from[i] = MAX (round (MIN (m->points[0][i], m->points[1][i])), 0);
    size[i] = MIN (round (MAX (m->points[0][i], m->points[1][i])), extent[i] - 1) - from[i] + 1;
  }
  measured->width_px = MAX (size[0], 0);
  measured->height_px = MAX (size[1], 0);
  measured->has_values
      = size[0] > 0 && size[1] > 0
        && td_image_statistics (image, from[0], from[1], size[0], size[1], &measured->statistics);
}

void
td_measure_take (const TdMeasure *m, const TdImage *image, TdMeasured *measured)
{
  *measured = (TdMeasured) { NAN, NAN, NAN, NAN, FALSE, { 0 } };
  switch (m->kind) {
  case TD_MEASURE_DISTANCE: measured->length_px = measure_length (m); break;
  case TD_MEASURE_ANGLE: measured->angle_deg = measure_angle (m); break;
  case TD_MEASURE_LINE: {
    guint n;
    g_autofree float *values = td_measure_profile (m, image, &n);
    measured->length_px = measure_length (m);
    measured->has_values = td_image_statistics_of (values, n, 1, n, &measured->statistics);
    break;
  }
  case TD_MEASURE_REGION: measure_region (m, image, measured); break;
  }
}
