/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * The host's inner loops of the Fourier method, compiled once for each instruction set.
 *
 * A sample goes to width² points. A vector holds a row of them, real and imaginary parts in turn,
 * so that a row takes one multiply-add. The window's values come out of one polynomial for all
 * points of a row.
 */
#include "fourier-host-pass.h"

#include <math.h>
#include <string.h>

/* Wider vectors than the processor's are passed only among functions that are inlined. */
#pragma GCC diagnostic ignored "-Wpsabi"

#define INLINE static inline __attribute__ ((always_inline))

enum { POINTS = TD_FOURIER_MOST_WIDTH };

typedef float Wide __attribute__ ((vector_size (8 * POINTS)));
typedef double WideBits __attribute__ ((vector_size (8 * POINTS)));
typedef gint32 WideMask __attribute__ ((vector_size (8 * POINTS)));
typedef float Narrow __attribute__ ((vector_size (4 * POINTS)));

INLINE Wide
wide_load (const float *from)
{
  Wide value;
  memcpy (&value, from, sizeof value);
  return value;
}

INLINE void
wide_store (float *to, Wide value)
{
  memcpy (to, &value, sizeof value);
}

/* The first half has the window at @across, @across + 1, …, the second half at @down, @down + 1,
   … One polynomial gives all values. Beyond the width they are 0. */
INLINE Wide
fourier_windows (const TdFourierShape *shape, int width, float across, float down)
{
  const Wide place = { 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7 };
  const Wide first = { 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0 };
  const Wide u = (place + first * across + (1.0f - first) * down) * (2.0f / width);
  const Wide q = 1.0f - u * u;
  Wide value = q * shape->window[TD_FOURIER_TERMS - 1] + shape->window[TD_FOURIER_TERMS - 2];

  for (int i = TD_FOURIER_TERMS - 3; i >= 0; i--)
    value = value * q + shape->window[i];
  return (Wide) ((WideMask) value & (place < (float) width));
}

/* The first point that the window about @x reaches. */
INLINE int
first_point (double x, int width)
{
  return (int) ceil (x - 0.5 * width);
}

/* One complex number all along a row: from memory as the 64 bits that it is. */
INLINE Wide
wide_repeat (const float *complex)
{
  double both;
  memcpy (&both, complex, sizeof both);
  const WideBits bits = { both, both, both, both, both, both, both, both };
  return (Wide) bits;
}

INLINE void
spread_sample (const TdFourierBand *band, int width, double x, double y, const float *value)
{
  const int column = first_point (x, width), row = first_point (y, width);
  const Wide both = fourier_windows (band->shape, width, (float) (column - x), (float) (row - y));
  const Wide across
      = __builtin_shufflevector (both, both, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7)
        * wide_repeat (value);
  const Narrow down = __builtin_shufflevector (both, both, 8, 9, 10, 11, 12, 13, 14, 15);
  const gssize pitch = 2 * (gssize) band->pitch;
  float *at = band->rows + row * pitch + 2 * column;
  float factors[POINTS];

  memcpy (factors, &down, sizeof factors);
  if (row >= 0 && row + width <= band->n_rows) {
    for (int j = 0; j < width; j++)
      wide_store (at + j * pitch, wide_load (at + j * pitch) + across * factors[j]);
    return;
  }
  for (int j = MAX (0, -row); j < MIN (width, band->n_rows - row); j++)
    wide_store (at + j * pitch, wide_load (at + j * pitch) + across * factors[j]);
}

/* The samples of one view whose windows reach the band when they are moved by @shift rows. */
INLINE void
spread_view (const TdFourierBand *band, int width, guint index, int shift)
{
  const TdFourierShape *shape = band->shape;
  const TdFourierView *view = &band->views[index];
  const int most = (int) shape->padded / 2 - 1;
  const double middle = (double) (shape->gy / 2) - band->first + shift;
  const double low = -0.5 * width - middle, high = band->n_rows - 1 + 0.5 * width - middle;
  const float *spectrum = band->spectra + 2 * ((gsize) index * shape->padded + shape->padded / 2);
  double first = -most, last = most;

  if (fabs (view->dy) * most > 1e-6) {
    first = MAX (first, ceil (MIN (low / view->dy, high / view->dy)));
    last = MIN (last, floor (MAX (low / view->dy, high / view->dy)));
  } else if (low > 0 || high < 0) {
    return;
  }
  /* A view almost along the rows meets a band that it does not cross far beyond its last sample. */
  if (!(first <= last))
    return;
  for (int k = (int) first; k <= (int) last; k++)
    spread_sample (band, width, k * view->dx + (shape->gx / 2 + TD_FOURIER_PAD),
                   k * view->dy + middle, spectrum + 2 * k);
}

INLINE void
spread_views (const TdFourierBand *band, int width)
{
  const int gy = (int) band->shape->gy;

  for (guint v = 0; v < band->shape->n_views; v++) {
    spread_view (band, width, v, 0);
    /* The grid goes round: what lies beyond one edge is near the other. */
    if (band->first < width)
      spread_view (band, width, v, -gy);
    if (band->first + band->n_rows > gy - width)
      spread_view (band, width, v, gy);
  }
}

static void
fold_pads (const TdFourierBand *band)
{
  const gsize gx = band->shape->gx;

  for (int y = 0; y < band->n_rows; y++) {
    float *row = band->rows + 2 * band->pitch * y;
    for (gsize i = 0; i < 2 * TD_FOURIER_PAD; i++) {
      row[2 * gx + i] += row[i];
      row[2 * TD_FOURIER_PAD + i] += row[2 * (TD_FOURIER_PAD + gx) + i];
    }
  }
}

static void
fourier_spread (const TdFourierBand *band)
{
  if (band->shape->width == 4)
    spread_views (band, 4);
  else
    spread_views (band, 6);
  fold_pads (band);
}

/* ── Rows ── */

/* exp (2 pi i k turns) weight A (k) for k = 0 … P/2 - 1, real parts and then imaginary ones.
   Steps of BLOCK are in double precision; a table has the values within a step. */
static void
make_phases (const TdFourierShape *shape, const TdFourierView *view, const float *response,
             float *re, float *im)
{
  enum { BLOCK = 16 };
  const guint n = shape->padded / 2;
  const double step = 2 * G_PI * (view->turns - floor (view->turns));
  const double step_re = cos (BLOCK * step), step_im = sin (BLOCK * step);
  double base_re = view->weight, base_im = 0;
  float table_re[BLOCK], table_im[BLOCK];

  for (guint i = 0; i < BLOCK; i++) {
    table_re[i] = (float) cos (i * step);
    table_im[i] = (float) sin (i * step);
  }
  for (guint k = 0; k < n; k += BLOCK) {
    const float r = (float) base_re, s = (float) base_im;
    for (guint i = 0; i < BLOCK; i++) {
      const float a = k + i < n ? response[k + i] : 0;
      re[k + i] = a * (r * table_re[i] - s * table_im[i]);
      im[k + i] = a * (r * table_im[i] + s * table_re[i]);
    }
    const double next = base_re * step_re - base_im * step_im;
    base_im = base_re * step_im + base_im * step_re;
    base_re = next;
  }
}

static void
fourier_turn (const TdFourierShape *shape, const TdFourierView *view, const float *response,
              const float *line, float *phases, float *spectrum)
{
  const guint n = shape->padded / 2;
  float *re = phases, *im = phases + n + 16;
  float *middle = spectrum + 2 * (gsize) n;

  make_phases (shape, view, response, re, im);
  for (guint k = 0; k < n; k++) {
    const float a = line[2 * k], b = line[2 * k + 1];
    middle[2 * k] = a * re[k] - b * im[k];
    middle[2 * k + 1] = a * im[k] + b * re[k];
  }
  spectrum[0] = spectrum[1] = 0;
  for (guint i = 1; i < n; i++) { /* frequency i - n, whose phase is the opposite of n - i's */
    const float a = line[2 * (n + i)], b = line[2 * (n + i) + 1], c = re[n - i], d = im[n - i];
    spectrum[2 * i] = a * c + b * d;
    spectrum[2 * i + 1] = b * c - a * d;
  }
}

const TdFourierKernels TD_ISA_NAME (td_fourier_kernels)
    = { .spread = fourier_spread, .turn = fourier_turn };
