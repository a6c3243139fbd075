/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lab-measure.h"

#include <math.h>

/* Of @single, or of @wide where that is NULL. */
static void
lab_measure_differ (const float *single, const double *wide, const double *b, gsize n,
                    TdLabDifference *difference)
{
  double squares = 0, reference = 0, low = INFINITY, high = -INFINITY;

  *difference = (TdLabDifference) { 0 };
  for (gsize i = 0; i < n; i++) {
    const double d = (single ? single[i] : wide[i]) - b[i];
    if (!isfinite (d))
      continue;
    difference->n++;
    difference->max_abs = fmax (difference->max_abs, fabs (d));
    squares += d * d;
    reference += b[i] * b[i];
    low = fmin (low, b[i]);
    high = fmax (high, b[i]);
  }
  difference->rms = difference->n ? sqrt (squares / difference->n) : NAN;
  difference->relative_rms = reference > 0 ? sqrt (squares / reference) : NAN;
  difference->psnr_db = difference->rms == 0 ? INFINITY
                        : high > low         ? 20 * log10 ((high - low) / difference->rms)
                                             : NAN;
}

void
td_lab_difference (const float *a, const double *b, gsize n, TdLabDifference *difference)
{
  lab_measure_differ (a, NULL, b, n, difference);
}

void
td_lab_difference_double (const double *a, const double *b, gsize n, TdLabDifference *difference)
{
  lab_measure_differ (NULL, a, b, n, difference);
}

double
td_lab_noise (const float *even, const float *odd, gsize n)
{
  double sum = 0, squares = 0;
  gsize count = 0;

  for (gsize i = 0; i < n; i++) {
    const double half = 0.5 * ((double) even[i] - odd[i]);
    if (!isfinite (half))
      continue;
    sum += half;
    squares += half * half;
    count++;
  }
  return count ? sqrt (fmax (squares / count - sum / count * (sum / count), 0)) : NAN;
}

guint
td_lab_profile_length (const TdLabLine *line)
{
  const double length = hypot (line->x1 - line->x0, line->y1 - line->y0);

  return (guint) CLAMP (ceil (length) + 1, 2, 1e6);
}

void
td_lab_profile (const float *pixels, guint nx, guint ny, const TdLabLine *line, guint n,
                double *out)
{
  for (guint i = 0; i < n; i++) {
    const double t = n > 1 ? (double) i / (n - 1) : 0;
    const double x = line->x0 + t * (line->x1 - line->x0);
    const double y = line->y0 + t * (line->y1 - line->y0);

    if (!(x >= 0 && y >= 0 && x <= nx - 1.0 && y <= ny - 1.0)) {
      out[i] = NAN;
      continue;
    }
    const guint left = MIN ((guint) x, nx > 1 ? nx - 2 : 0);
    const guint top = MIN ((guint) y, ny > 1 ? ny - 2 : 0);
    const guint right = MIN (left + 1, nx - 1), below = MIN (top + 1, ny - 1);
    const double fx = x - left, fy = y - top;
    const float *a = pixels + (gsize) top * nx, *b = pixels + (gsize) below * nx;
    out[i] = (1 - fy) * ((1 - fx) * a[left] + fx * a[right])
             + fy * ((1 - fx) * b[left] + fx * b[right]);
  }
}

/* Total variation of the running means of three along a line of @n pixels, @stride apart. */
static double
lab_measure_variation (const float *pixels, guint n, gsize stride)
{
  double sum = 0;

  for (guint i = 3; i < n; i++) {
    const double step = ((double) pixels[i * stride] - pixels[(i - 3) * stride]) / 3;
    if (isfinite (step))
      sum += fabs (step);
  }
  return sum;
}

TdLabLine
td_lab_busiest_line (const float *pixels, guint nx, guint ny)
{
  const double radius = MIN (nx, ny) / 2.0, cx = (nx - 1) / 2.0, cy = (ny - 1) / 2.0;
  TdLabLine best = { 0, floor (cy), nx - 1.0, floor (cy) };
  double most = -1;

  for (guint k = 0; k < ny + nx; k++) {
    const gboolean down = k >= ny;
    const double off = fabs (down ? k - ny - cx : k - cy);
    if (off >= radius)
      continue;
    const double half = sqrt (radius * radius - off * off);
    const guint first = (guint) ceil (MAX ((down ? cy : cx) - half, 0));
    const guint last = (guint) MIN ((down ? cy : cx) + half, (down ? ny : nx) - 1.0);
    const float *start
        = down ? pixels + (gsize) first * nx + (k - ny) : pixels + (gsize) k * nx + first;
    const double sum
        = last > first ? lab_measure_variation (start, last - first + 1, down ? nx : 1) : 0;
    if (sum <= most)
      continue;
    most = sum;
    best = down ? (TdLabLine) { k - ny, first, k - ny, last } : (TdLabLine) { first, k, last, k };
  }
  return best;
}
