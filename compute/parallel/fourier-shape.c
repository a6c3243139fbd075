/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fourier-shape.h"

#include <math.h>

/* The grid is so many times as large as the slice; what the window's width then leaves of aliases:
   td_fourier_alias_error(). */
#define OVERSAMPLING 1.5
#define WIDTH_SINGLE 6
#define WIDTH_HALF 4
#define MOST_OVERSAMPLING                                                                          \
  2.0 /* that beta follows: with small regions on the smallest grid it would                       \
         pass what the polynomial can follow */

/* The distance of the farthest corner from the axis, of the region and of a slice as wide as a
   row. So a region comes out as it does in the whole slice. */
static double
fourier_shape_reach (const TdBackprojectTask *task)
{
  const double whole = (task->n_columns - 1) / G_SQRT2;
  const double x = MAX (fabs (task->x0), fabs (task->x0 + task->nx - 1));
  const double y = MAX (fabs (task->y0), fabs (task->y0 - (task->ny - 1.0)));

  return MAX (hypot (x, y), whole);
}

guint
td_fourier_padded (const TdBackprojectTask *task)
{
  double low = task->centre_px, high = low;

  for (guint v = 0; task->axis_px && v < task->n_views; v++) {
    low = MIN (low, task->centre_px + task->axis_px[v]);
    high = MAX (high, task->centre_px + task->axis_px[v]);
  }
  const double beyond = MAX (high + fourier_shape_reach (task),
                             task->n_columns - 1 - low + fourier_shape_reach (task))
                        + 2;
  const double least = MAX (beyond, MAX (task->n_columns, 8));
  return least > TD_FOURIER_MOST_PADDED ? 0 : td_fft_good_size ((guint) ceil (least));
}

/* ── The window ── */

/* The modified Bessel function of the first kind, order 0. */
static double
bessel_i0 (double x)
{
  double term = 1, sum = 1;

  for (guint n = 1; term > 1e-17 * sum; n++) {
    term *= x * x / (4.0 * n * n);
    sum += term;
  }
  return sum;
}

/* I0 (beta sqrt (q)) / I0 (beta) has a power series in q that converges everywhere. The
   polynomial takes its values at Chebyshev's points of 0 … 1, in Newton's form first. */
static void
fit_window (double beta, float *coefficients)
{
  enum { N = TD_FOURIER_TERMS };
  double at[N], newton[N], power[N] = { 0 };

  for (guint i = 0; i < N; i++) {
    at[i] = 0.5 + 0.5 * cos (G_PI * (i + 0.5) / N);
    newton[i] = bessel_i0 (beta * sqrt (at[i])) / bessel_i0 (beta);
  }
  for (guint order = 1; order < N; order++)
    for (guint i = N - 1; i >= order; i--)
      newton[i] = (newton[i] - newton[i - 1]) / (at[i] - at[i - order]);
  for (gint i = N - 1; i >= 0; i--) {
    for (guint j = N - 1; j > 0; j--)
      power[j] = power[j - 1] - at[i] * power[j];
    power[0] = newton[i] - at[i] * power[0];
  }
  for (guint i = 0; i < N; i++)
    coefficients[i] = (float) power[i];
}

#define WAVE_STEPS 48 /* of a quarter turn */

/* What of phi's transform depends on the window alone. With t = width / 2 sin (a) the integrand is
   smooth and falls to nearly nothing at both ends. */
typedef struct {
  double half;              /* of the window's width */
  double share[WAVE_STEPS]; /* phi cos (a) */
  double place[WAVE_STEPS]; /* sin (a) */
} Wave;

static void
wave_init (Wave *wave, const TdFourierShape *shape)
{
  wave->half = 0.5 * shape->width;
  for (guint i = 0; i < WAVE_STEPS; i++) {
    const double a = G_PI / 2 * (i + 0.5) / WAVE_STEPS, q = cos (a) * cos (a);
    double value = 0;
    for (gint j = TD_FOURIER_TERMS - 1; j >= 0; j--)
      value = value * q + shape->window[j];
    wave->share[i] = value * cos (a);
    wave->place[i] = sin (a);
  }
}

/* phi's transform at @frequency cycles a grid point. */
static double
window_transform (const Wave *wave, double frequency)
{
  double sum = 0;

  for (guint i = 0; i < WAVE_STEPS; i++)
    sum += wave->share[i] * cos (2 * G_PI * frequency * wave->half * wave->place[i]);
  return sum * G_PI / WAVE_STEPS * wave->half;
}

void
td_fourier_deapodise (const TdFourierShape *shape, guint n, guint centre, guint grid,
                      float *factors)
{
  Wave wave;

  wave_init (&wave, shape);
  for (guint i = 0; i < n; i++) {
    const int m = (int) i - (int) centre;
    const double factor = 1 / window_transform (&wave, (double) m / grid);
    factors[i] = (float) (m % 2 ? -factor : factor);
  }
}

/* Aliases of a pixel are those whole grids away; white noise has as much of each. */
static double
side_error (const Wave *wave, guint n, guint centre, guint grid)
{
  enum { MOST = 64, ALIASES = 4 };
  const guint step = (n + MOST - 1) / MOST;
  double sum = 0;
  guint count = 0;

  for (guint i = 0; i < n; i += step, count++) {
    const double at = ((double) i - centre) / grid, own = window_transform (wave, at);
    for (int p = -ALIASES; p <= ALIASES; p++) {
      const double alias = p ? window_transform (wave, at + p) / own : 0;
      sum += alias * alias;
    }
  }
  return sum / count;
}

double
td_fourier_alias_error (const TdFourierShape *shape)
{
  Wave wave;

  wave_init (&wave, shape);
  const double across = side_error (&wave, shape->nx, shape->centre_x, shape->gx);
  const double down = shape->ny == shape->nx
                          ? across /* as its centre and grid are */
                          : side_error (&wave, shape->ny, shape->centre_y, shape->gy);
  return sqrt (across + down);
}

/* ── The shape ── */

static guint
grid_size (guint n)
{
  return td_fft_good_size (MAX ((guint) ceil (OVERSAMPLING * n), 4 * TD_FOURIER_MOST_WIDTH));
}

static guint
window_width (TdPrecision precision)
{
  return precision == TD_PRECISION_SINGLE ? WIDTH_SINGLE : WIDTH_HALF;
}

gboolean
td_fourier_shape_init (TdFourierShape *shape, const TdBackprojectTask *task)
{
  *shape = (TdFourierShape) {
    .n_columns = task->n_columns,
    .n_views = task->n_views,
    .nx = task->nx,
    .ny = task->ny,
    .padded = td_fourier_padded (task),
    .gx = grid_size (task->nx),
    .gy = grid_size (task->ny),
    .width = window_width (task->precision),
    .centre_x = task->nx / 2,
    .centre_y = task->ny / 2,
  };
  const double sigma
      = MIN (MIN ((double) shape->gx / task->nx, (double) shape->gy / task->ny), MOST_OVERSAMPLING);
  const double w = shape->width / sigma * (sigma - 0.5);

  fit_window (G_PI * sqrt (w * w - 0.8), shape->window);
  return shape->padded > 0;
}

gboolean
td_fourier_shape_fits (const TdFourierShape *shape, const TdBackprojectTask *task)
{
  const guint padded = td_fourier_padded (task);

  return task->n_columns == shape->n_columns && task->n_views == shape->n_views
         && task->nx == shape->nx && task->ny == shape->ny && padded == shape->padded
         && window_width (task->precision) == shape->width;
}

void
td_fourier_views (const TdFourierShape *shape, const TdBackprojectTask *task, TdFourierView *views)
{
  const double x = task->x0 + shape->centre_x, y = task->y0 - shape->centre_y, p = shape->padded;

  for (guint v = 0; v < task->n_views; v++) {
    const double cosine = cos (task->angles_rad[v]), sine = sin (task->angles_rad[v]);
    const double centre = task->centre_px + (task->axis_px ? task->axis_px[v] : 0);
    views[v].dx = shape->gx * cosine / p;
    views[v].dy = -(shape->gy * sine / p);
    views[v].turns = (centre + x * cosine + y * sine) / p;
    views[v].weight = task->scale / p * (task->weights ? task->weights[v] : 1);
  }
}

double
td_fourier_cost (const TdBackprojectTask *task)
{
  TdFourierShape shape;

  td_fourier_shape_init (&shape, task);
  const double samples = (double) shape.n_views * shape.padded / 2 * shape.width * shape.width;
  const double grid = (double) shape.gx * shape.gy;
  return 5 * samples + 3.3 * grid * log2 (grid);
}

static double
fourier_shape_sinc (double x)
{
  return x == 0 ? 1 : sin (G_PI * x) / (G_PI * x);
}

void
td_fourier_response (const TdFourierShape *shape, TdInterpolation interpolation, float *response)
{
  for (guint k = 0; k < shape->padded / 2; k++) {
    const double side = fourier_shape_sinc ((double) k / shape->padded);
    response[k] = (float) (interpolation == TD_INTERPOLATION_LINEAR ? side * side : side);
  }
}
