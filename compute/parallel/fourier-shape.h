/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "backproject.h"

/**
 * Back-projection by the Fourier slice theorem ("Fourier" in DESIGN.md, Papers: O'Sullivan; Fessler
 * and Sutton; gridrec, Dowd et al.). A row's spectrum is the slice's along the view's direction.
 * With band-limited interpolation between columns a slice therefore is
 *
 *     slice (x, y) = scale sum_v weight_v q_v (u)
 *                u = centre_v + x cos (angle_v) + y sin (angle_v)
 *          q_v (u) = 1/P sum_{|k| < P/2} A (k) Q_v (k) exp (2 pi i k u / P)
 *
 * Q_v is the discrete transform of the row, padded with zeros to P. A is the response of the
 * recipe's interpolation within the band: sinc (k/P)^2 of linear, sinc (k/P) of nearest. Images
 * look as those of the other families, without the aliases that those fold back into the band.
 *
 * The double sum is a transform from points on a polar raster to a Cartesian one. The samples go to
 * the grid of a padded plane, each with the window phi of `width` points across. One inverse 2-D
 * FFT follows, and the slice is divided by phi's transform. Two slices are one complex slice. phi
 * is Kaiser and Bessel's window with Beatty's beta (IEEE Trans. Med. Imaging 24 (2005) 799). It is
 * a polynomial in q = 1 - (2 t / width)^2, so that every device computes the same by additions and
 * products alone.
 *
 * The sum leaves k = P/2 out, where columns do not tell the phase. That is at most A (P/2) / P
 * times the sum of |row|. Of white noise it is A (P/2) sqrt (n_columns) / P deviations. A (P/2) is
 * 0.405 for linear.
 *
 * P is such that no pixel sees a periodic copy of a row. Outside the detector a projection is 0, as
 * for the other families, but for the ringing of a band-limited edge.
 */
enum {
  TD_FOURIER_TERMS = 10, /* of phi's polynomial */
  TD_FOURIER_MOST_WIDTH = 8,
};

typedef struct {
  guint n_columns, n_views, nx, ny;
  guint padded; /* P, even */
  guint gx, gy; /* of the grid, even */
  guint width;
  guint centre_x, centre_y;       /* the pixel of the region that phases count from */
  float window[TD_FOURIER_TERMS]; /* phi = sum of window[i] q^i */
} TdFourierShape;

/* One view. Sample k lies at grid point k dx right and k dy down of the middle, and has turned by k
 * turns. */
typedef struct {
  double dx, dy, turns, weight; /* weight: with scale and 1/P */
} TdFourierView;

/* P for the task, at least; 0: more than TD_FOURIER_MOST_PADDED. */
#define TD_FOURIER_MOST_PADDED (1u << 18)
guint td_fourier_padded (const TdBackprojectTask *task);

/* FALSE: td_fourier_padded() is 0. */
gboolean td_fourier_shape_init (TdFourierShape *shape, const TdBackprojectTask *task);
/* Whether the shape suits @task too. Views, response and so on are then made anew, the rest
 * stays. */
gboolean td_fourier_shape_fits (const TdFourierShape *shape, const TdBackprojectTask *task);
/* n_views of them. */
void td_fourier_views (const TdFourierShape *shape, const TdBackprojectTask *task,
                       TdFourierView *views);
/* A (k) for k = 0 … P/2 - 1. */
void td_fourier_response (const TdFourierShape *shape, TdInterpolation interpolation,
                          float *response);
/* One over phi's transform at the n pixels of a side about pixel @centre, on a grid of @grid
   points. It has the sign of a spectrum in ascending order of frequency. */
void td_fourier_deapodise (const TdFourierShape *shape, guint n, guint centre, guint grid,
                           float *factors);
/* What a slice costs, in updates of a filtered back-projection on the same device: samples that are
   spread over windows, and FFTs of the grid. The factors are from slices of 1024² and 2048² on CPUs
   and graphics cards (docs/benchmarks.md). */
double td_fourier_cost (const TdBackprojectTask *task);
/* Relative L2 error of the gridding for random data: of its aliases, over the slice. */
double td_fourier_alias_error (const TdFourierShape *shape);

/* The two sums above in double precision, as they stand: what everything else is compared to. Slow.
 */
void td_fourier_reference (const TdBackprojectTask *task, const float *sinogram, double *out);
