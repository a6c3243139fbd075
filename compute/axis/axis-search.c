/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis-search.h"

#include <math.h>
#include <stdlib.h>

#include "axis-spectrum.h"
#include "compute/device/host.h"
#include "dataset/sort.h"

/* Cycles a pixel below which rows are whitened. */
#define CORNER 0.06
/* Columns at either end that the filter's edges reach. */
#define EDGE 2
/* Bands of frequencies that tell the error of a centre, and what their being few and pulled alike
   adds to it. */
#define BANDS 6
#define FEW_BANDS 1.6

/* The highest value that is not on the slopes of the hill at @best. */
static double
second_hill (const double *merit, guint n, guint best)
{
  guint left = best, right = best;
  double second = -INFINITY;

  while (left > 0 && merit[left - 1] <= merit[left])
    left--;
  while (right + 1 < n && merit[right + 1] <= merit[right])
    right++;
  for (guint i = 0; i < n; i++)
    if (i < left || i > right)
      second = MAX (second, merit[i]);
  return second;
}

gboolean
td_axis_curve_peak (const TdAxisCurve *curve, TdAxisEstimate *estimate)
{
  const double *merit = curve->merit;
  guint best = 0;

  *estimate = (TdAxisEstimate) { NAN, 0, NAN, NULL };
  for (guint i = 1; i < curve->n; i++)
    if (merit[i] > merit[best])
      best = i;
  g_autofree double *sorted = g_memdup2 (merit, curve->n * sizeof *merit);
  qsort (sorted, curve->n, sizeof *sorted, td_compare_doubles);
  double height = merit[best] - sorted[curve->n / 2];
  if (!(height > 1e-9 * fabs (merit[best])) || !isfinite (merit[best])) {
    estimate->reason = "no centre is better than another";
    return FALSE;
  }
  if (best == 0 || best == curve->n - 1) {
    estimate->reason = "the best lies at an end of the range searched";
    return FALSE;
  }
  double second = second_hill (merit, curve->n, best);
  /* The peak's place by three neighbouring values. */
  double left = merit[best - 1], right = merit[best + 1], bend = left - 2 * merit[best] + right;
  double part = bend < 0 ? CLAMP (0.5 * (left - right) / bend, -0.5, 0.5) : 0;
  estimate->centre_px = curve->first_px + curve->step_px * (best + part);
  estimate->confidence = isfinite (second) ? CLAMP ((merit[best] - second) / height, 0, 1) : 1;
  return TRUE;
}

double
td_axis_scatter (const double *parts, guint n, double step_px)
{
  const double *left = parts, *here = left + n, *right = here + n;
  double bend = 0, seen = 0, slope = 0, squares = 0;
  guint band = 1;

  for (guint i = 0; i < n; i++)
    bend += left[i] - 2 * here[i] + right[i];
  if (!(bend > 0))
    return NAN;
  for (guint i = 0; i < n; i++) {
    slope += (right[i] - left[i]) / 2;
    seen += left[i] - 2 * here[i] + right[i];
    if (seen < bend * band / BANDS && i + 1 < n)
      continue;
    squares += slope * slope;
    slope = 0;
    while (band < BANDS && seen >= bend * band / BANDS)
      band++;
  }
  return FEW_BANDS * sqrt (squares) / bend * step_px;
}

double
td_axis_taper (gint t, guint reach)
{
  double x = (fabs ((double) t) / (reach + 1) - 0.6) / 0.4;

  return x <= 0 ? 1 : 0.5 * (1 + cos (G_PI * MIN (x, 1)));
}

typedef struct {
  const float *sinogram;
  float *binned;
  gsize stride;
  guint columns, by_views, by_columns;
} Bins;

static void
bin_view (guint index, gpointer user)
{
  const Bins *bins = user;
  float *out = bins->binned + (gsize) index * bins->columns;

  for (guint v = 0; v < bins->by_views; v++) {
    const float *in = bins->sinogram + ((gsize) index * bins->by_views + v) * bins->stride;
    for (guint i = 0; i < bins->columns; i++)
      for (guint k = 0; k < bins->by_columns; k++)
        out[i] += in[i * bins->by_columns + k];
  }
}

float *
td_axis_bin (const float *sinogram, guint n_views, gsize stride, guint n_columns, guint by_views,
             guint by_columns)
{
  const guint views = n_views / by_views, columns = n_columns / by_columns;
  Bins bins = { sinogram,  g_try_new0 (float, (gsize) views *columns), stride, columns, by_views,
                by_columns };

  if (bins.binned)
    td_parallel_for (views, bin_view, &bins);
  return bins.binned;
}

double
td_axis_to_binned (guint by_columns, double column)
{
  return (column + 0.5) / by_columns - 0.5;
}

void
td_axis_remove_mean (float *rows, guint n_rows, guint n_columns, const gboolean *counted)
{
  g_autofree double *mean = g_new0 (double, n_columns);

  guint count = 0;

  for (guint row = 0; row < n_rows; row++) {
    if (counted && !counted[row])
      continue;
    for (guint u = 0; u < n_columns; u++)
      mean[u] += rows[(gsize) row * n_columns + u];
    count++;
  }
  for (guint row = 0; row < n_rows; row++)
    for (guint u = 0; u < n_columns && count; u++)
      rows[(gsize) row * n_columns + u] -= (float) (mean[u] / count);
}

static double *
make_response (const TdAxisSpectrum *spectrum, guint n_views)
{
  guint n = td_axis_spectrum_length (spectrum), half = n / 2, tail = half - half / 16;
  g_autofree double *power = g_new0 (double, half + 1);
  double *response = g_new0 (double, half + 1), noise = 0;

  for (guint v = 0; v < n_views; v++) {
    const float *bin = td_axis_spectrum_bins (spectrum, v);
    for (guint i = 0; i <= half; i++)
      power[i] += (double) bin[2 * i] * bin[2 * i] + (double) bin[2 * i + 1] * bin[2 * i + 1];
  }
  for (guint i = tail; i <= half; i++)
    noise += power[i] / (half + 1 - tail);
  for (guint i = 1; i <= half; i++) {
    double f = (double) i / n, mean = 0;
    guint reach = i / 4 + 1, from = i > reach ? i - reach : 1, to = MIN (i + reach, half);
    for (guint j = from; j <= to; j++)
      mean += power[j] / (to - from + 1);
    double signal = mean > 0 ? MAX (1 - noise / mean, 0) : 0;
    response[i] = f / hypot (f, CORNER) * signal * 0.5 * (1 + cos (G_PI * i / half));
  }
  return response;
}

double *
td_axis_response (const float *sinogram, guint n_views, guint n_columns)
{
  g_autoptr (TdAxisSpectrum) spectrum = td_axis_spectrum_new (sinogram, n_views, n_columns, TRUE);

  return spectrum ? make_response (spectrum, n_views) : NULL;
}

float *
td_axis_whiten (const float *sinogram, guint n_views, guint n_columns)
{
  g_autoptr (TdAxisSpectrum) spectrum = td_axis_spectrum_new (sinogram, n_views, n_columns, TRUE);
  if (!spectrum)
    return NULL;
  g_autofree double *response = make_response (spectrum, n_views);
  float *rows = response ? g_try_new (float, (gsize) n_views *n_columns) : NULL;

  if (!rows)
    return NULL;
  td_axis_spectrum_filter (spectrum, response);
  td_axis_spectrum_rows (spectrum, 0, n_views, 0, n_columns, rows);
  for (guint v = 0; v < n_views; v++)
    for (guint u = 0; u < MIN (EDGE, n_columns); u++)
      rows[(gsize) v * n_columns + u] = rows[((gsize) v + 1) * n_columns - 1 - u] = 0;
  return rows;
}
