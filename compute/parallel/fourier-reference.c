/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fourier-shape.h"

#include <math.h>

/* The transform of @n values @stride apart, by the smallest factor of @n. @roots holds exp (-2 pi i
   j / all) for j = 0 … all - 1, real and imaginary parts in turn. */
static void
fourier_reference_transform (const double *values, guint n, guint stride, const double *roots,
                             guint all, double *out)
{
  guint factor = 2;

  while (factor < n && n % factor)
    factor++;
  if (n == 1) {
    out[0] = values[0];
    out[1] = 0;
    return;
  }
  const guint part = n / factor;
  g_autofree double *parts = g_new (double, 2 * (gsize) n);
  for (guint f = 0; f < factor; f++)
    fourier_reference_transform (values + (gsize) f * stride, part, stride * factor, roots, all,
                                 parts + 2 * (gsize) f * part);
  for (guint k = 0; k < n; k++) {
    double re = 0, im = 0;
    for (guint f = 0; f < factor; f++) {
      const double *root = roots + 2 * ((guint64) f * k % n * (all / n));
      const double *term = parts + 2 * ((gsize) f * part + k % part);
      re += root[0] * term[0] - root[1] * term[1];
      im += root[0] * term[1] + root[1] * term[0];
    }
    out[2 * k] = re;
    out[2 * k + 1] = im;
  }
}

static double *
make_roots (guint n)
{
  double *roots = g_new (double, 2 * (gsize) n);

  for (guint j = 0; j < n; j++) {
    roots[2 * j] = cos (2 * G_PI * j / n);
    roots[2 * j + 1] = -sin (2 * G_PI * j / n);
  }
  return roots;
}

/* A (k) Q (k) / P of one padded row for k = 0 … P/2 - 1. */
static void
row_spectrum (const TdBackprojectTask *task, const float *row, guint padded, const double *roots,
              double *spectrum)
{
  g_autofree double *values = g_new0 (double, padded);

  for (guint n = 0; n < task->n_columns; n++)
    values[n] = row[n];
  fourier_reference_transform (values, padded, 1, roots, padded, spectrum);
  for (guint k = 0; k < padded / 2; k++) {
    const double x = G_PI * k / padded, sinc = k ? sin (x) / x : 1;
    const double response = task->interpolation == TD_INTERPOLATION_LINEAR ? sinc * sinc : sinc;
    spectrum[2 * k] *= response / padded;
    spectrum[2 * k + 1] *= response / padded;
  }
}

#define LANES 8 /* each waits for its own sums: so many are summed at once */

/* The real row's values at @u are twice the real parts of the positive frequencies. Clenshaw's
   recurrence gives sum a_k cos (k w) - b_k sin (k w). */
static void
row_values (const double *spectrum, guint padded, const double u[LANES], double values[LANES])
{
  double cosine[LANES], sine[LANES], a1[LANES] = { 0 }, a2[LANES] = { 0 }, b1[LANES] = { 0 };
  double b2[LANES] = { 0 };

  for (guint i = 0; i < LANES; i++) {
    cosine[i] = cos (2 * G_PI * u[i] / padded);
    sine[i] = sin (2 * G_PI * u[i] / padded);
  }
  for (guint k = padded / 2 - 1; k > 0; k--)
    for (guint i = 0; i < LANES; i++) {
      const double a = spectrum[2 * k] + 2 * cosine[i] * a1[i] - a2[i];
      const double b = spectrum[2 * k + 1] + 2 * cosine[i] * b1[i] - b2[i];
      a2[i] = a1[i];
      a1[i] = a;
      b2[i] = b1[i];
      b1[i] = b;
    }
  for (guint i = 0; i < LANES; i++)
    values[i] = spectrum[0] + 2 * (a1[i] * cosine[i] - a2[i]) - 2 * b1[i] * sine[i];
}

void
td_fourier_reference (const TdBackprojectTask *task, const float *sinogram, double *out)
{
  const guint padded = td_fourier_padded (task);
  g_autofree double *spectrum = g_new (double, 2 * (gsize) padded), *roots = make_roots (padded);

  for (gsize i = 0; i < (gsize) task->nx * task->ny; i++)
    out[i] = 0;
  for (guint v = 0; v < task->n_views; v++) {
    const double cosine = cos (task->angles_rad[v]), sine = sin (task->angles_rad[v]);
    const double centre = task->centre_px + (task->axis_px ? task->axis_px[v] : 0);
    const double weight = task->scale * (task->weights ? task->weights[v] : 1);
    row_spectrum (task, sinogram + (gsize) v * task->n_columns, padded, roots, spectrum);
    for (guint j = 0; j < task->ny; j++)
      for (guint first = 0; first < task->nx; first += LANES) {
        double u[LANES], values[LANES];
        for (guint i = 0; i < LANES; i++)
          u[i] = centre + (task->x0 + first + i) * cosine + (task->y0 - (double) j) * sine;
        row_values (spectrum, padded, u, values);
        for (guint i = 0; i < LANES && first + i < task->nx; i++)
          out[(gsize) j * task->nx + first + i] += weight * values[i];
      }
  }
}
