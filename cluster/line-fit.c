/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "line-fit.h"

#include <math.h>
#include <stdlib.h>

#include "dataset/sort.h"

/* A sample that is so many times as far from the line as half of them are has been disturbed. */
#define OUTLIER 3
/* Fits of a line, each without the last one's outliers. */
#define FITS 3

/* Least squares of relative errors; c is not negative. */
static TdModelCost
line_fit (const TdLineSample *samples, guint n)
{
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;

  for (guint i = 0; i < n; i++) {
    const double weight = 1 / (samples[i].seconds * samples[i].seconds);
    w += weight;
    wx += weight * samples[i].n;
    wy += weight * samples[i].seconds;
    wxx += weight * samples[i].n * samples[i].n;
    wxy += weight * samples[i].n * samples[i].seconds;
  }
  const double spread = w * wxx - wx * wx;
  const double m = spread > 1e-9 * w * wxx ? (w * wxy - wx * wy) / spread : 0;
  const double c = (wy - m * wx) / w;
  if (m > 0 && c >= 0)
    return (TdModelCost) { c, m };
  return (TdModelCost) { 0, wxy / wxx };
}

static double
line_error (const TdModelCost *line, const TdLineSample *sample)
{
  return fabs (line->c + line->m * sample->n - sample->seconds) / sample->seconds;
}

double
td_line_median (double *values, guint n)
{
  qsort (values, n, sizeof *values, td_compare_doubles);
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

TdModelCost
td_line_through (TdLineSample *samples, guint n)
{
  TdModelCost line = line_fit (samples, n);
  g_autofree double *errors = g_new (double, n);

  for (guint fit = 1; fit < FITS; fit++) {
    guint kept = 0;
    for (guint i = 0; i < n; i++)
      errors[i] = line_error (&line, &samples[i]);
    const double most = OUTLIER * td_line_median (errors, n);
    for (guint i = 0; i < n; i++)
      if (line_error (&line, &samples[i]) <= most)
        samples[kept++] = samples[i];
    n = kept;
    line = line_fit (samples, n);
  }
  return line;
}
