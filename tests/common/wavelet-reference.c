/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rings-reference.h"

#include <complex.h>
#include <math.h>
#include <string.h>

/* The two-dimensional transform, level by level and band by band, as a textbook has it. Images are
   [y][x] with y along the angle. */
typedef struct {
  guint ny, nx;
  double *values;
} Image;

static Image
image_new (guint ny, guint nx)
{
  return (Image) { ny, nx, g_new0 (double, (gsize) ny *nx) };
}

static guint
mirrored (gint64 i, guint n)
{
  while (i < 0 || i >= n)
    i = i < 0 ? -1 - i : 2 * (gint64) n - 1 - i;
  return (guint) i;
}

static Image
down_x (const Image *in, const double *filter, guint taps)
{
  Image out = image_new (in->ny, (in->nx + taps - 1) / 2);

  for (guint y = 0; y < out.ny; y++)
    for (guint k = 0; k < out.nx; k++)
      for (guint i = 0; i < taps; i++)
        out.values[(gsize) y * out.nx + k]
            += filter[i]
               * in->values[(gsize) y * in->nx + mirrored (2 * (gint64) k - taps + 2 + i, in->nx)];
  return out;
}

/* Adds what @in gives back to @out. */
static void
up_x (const Image *in, const double *filter, guint taps, Image *out)
{
  for (guint y = 0; y < out->ny; y++)
    for (guint k = 0; k < in->nx; k++)
      for (guint i = 0; i < taps; i++) {
        gint64 m = 2 * (gint64) k - taps + 2 + i;
        if (m >= 0 && m < out->nx)
          out->values[(gsize) y * out->nx + m] += filter[i] * in->values[(gsize) y * in->nx + k];
      }
}

static Image
turned (const Image *in)
{
  Image out = image_new (in->nx, in->ny);

  for (guint y = 0; y < in->ny; y++)
    for (guint x = 0; x < in->nx; x++)
      out.values[(gsize) x * in->ny + y] = in->values[(gsize) y * in->nx + x];
  return out;
}

static Image
down_y (const Image *in, const double *filter, guint taps)
{
  Image side = turned (in), half = down_x (&side, filter, taps), out = turned (&half);

  g_free (side.values);
  g_free (half.values);
  return out;
}

static Image
up_y (const Image *low, const double *low_filter, const Image *high, const double *high_filter,
      guint taps, guint ny)
{
  Image sides[] = { turned (low), turned (high) }, whole = image_new (low->nx, ny);

  up_x (&sides[0], low_filter, taps, &whole);
  up_x (&sides[1], high_filter, taps, &whole);
  Image out = turned (&whole);
  g_free (sides[0].values);
  g_free (sides[1].values);
  g_free (whole.values);
  return out;
}

/* Columns' Fourier coefficients times 1 - exp (-k^2 / 2 sigma^2), by the definition. */
static void
damp (Image *image, double sigma)
{
  guint n = image->ny;
  g_autofree double complex *spectrum = g_new (double complex, n);

  for (guint x = 0; x < image->nx; x++) {
    for (guint k = 0; k < n; k++) {
      double frequency = MIN (k, n - k);
      spectrum[k] = 0;
      for (guint y = 0; y < n; y++)
        spectrum[k] += image->values[(gsize) y * image->nx + x]
                       * cexp (-2 * G_PI * I * ((guint64) k * y % n) / n);
      spectrum[k] *= 1 - exp (-0.5 * frequency * frequency / (sigma * sigma));
    }
    for (guint y = 0; y < n; y++) {
      double complex sum = 0;
      for (guint k = 0; k < n; k++)
        sum += spectrum[k] * cexp (2 * G_PI * I * ((guint64) k * y % n) / n);
      image->values[(gsize) y * image->nx + x] = creal (sum) / n;
    }
  }
}

static Image
without_stripes (const Image *in, const double *low, const double *high, guint taps, guint n_levels,
                 double sigma)
{
  Image lx = down_x (in, low, taps), hx = down_x (in, high, taps);
  Image approximation = down_y (&lx, low, taps), across_y = down_y (&lx, high, taps);
  Image across_x = down_y (&hx, low, taps), diagonal = down_y (&hx, high, taps);
  Image out = image_new (in->ny, in->nx);

  damp (&across_x, sigma);
  if (n_levels > 1) {
    Image better = without_stripes (&approximation, low, high, taps, n_levels - 1, sigma);
    g_free (approximation.values);
    approximation = better;
  }
  Image new_lx = up_y (&approximation, low, &across_y, high, taps, in->ny);
  Image new_hx = up_y (&across_x, low, &diagonal, high, taps, in->ny);
  up_x (&new_lx, low, taps, &out);
  up_x (&new_hx, high, taps, &out);
  Image *const done[]
      = { &lx, &hx, &approximation, &across_y, &across_x, &diagonal, &new_lx, &new_hx };
  for (guint i = 0; i < G_N_ELEMENTS (done); i++)
    g_free (done[i]->values);
  return out;
}

void
td_reference_rings_wavelet (TdSinogram *sinogram, const double *low, guint taps, guint n_levels,
                            double sigma)
{
  Image in = { sinogram->n_views, sinogram->n_columns, sinogram->values };
  g_autofree double *high = g_new (double, taps);

  for (guint i = 0; i < taps; i++)
    high[i] = (i % 2 ? -1 : 1) * low[taps - 1 - i];
  Image out = without_stripes (&in, low, high, taps, n_levels, sigma);
  memcpy (sinogram->values, out.values, (gsize) in.ny * in.nx * sizeof (double));
  g_free (out.values);
}
