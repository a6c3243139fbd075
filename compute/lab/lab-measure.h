/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * What pictures of one slice say of one another. Pictures are [ny][nx]. Pure arithmetic in double
 * precision; any thread. Pixels that are not finite in either picture are left out.
 */
typedef struct {
  double rms, relative_rms; /* of a - b; over the root mean square of b */
  double max_abs;
  double psnr_db; /* the range of b over rms; INFINITY: no difference; NAN: b has no range */
  gsize n;        /* pixels compared */
} TdLabDifference;

/* Of pictures of n pixels. */
void td_lab_difference (const float *a, const double *b, gsize n, TdLabDifference *difference);
/* The same of two pictures in double precision. */
void td_lab_difference_double (const double *a, const double *b, gsize n,
                               TdLabDifference *difference);
/* The noise of the picture that both halves of the views make together: the standard deviation of
   (even - odd) / 2. The even and odd views' noise is independent, and the whole picture is the mean
   of the two, so that either has the same variance. What few views do to edges counts as noise. */
double td_lab_noise (const float *even, const float *odd, gsize n);

/* ── Along a line ── */

/* From pixel (x0, y0) to (x1, y1), both ends included, pixel centres at integers. */
typedef struct {
  double x0, y0, x1, y1;
} TdLabLine;

typedef struct {
  const float *pixels;
  guint nx, ny;
} TdLabPicture;

/* Samples a pixel's width apart, 2 at least. */
guint td_lab_profile_length (const TdLabLine *line);
/* Values at n samples, evenly from end to end, interpolated linearly between pixels; NAN outside
   the picture. */
void td_lab_profile (const float *pixels, guint nx, guint ny, const TdLabLine *line, guint n,
                     double *out);
/* The row or column with the largest total variation: it crosses the most features. The pictures'
   noise is averaged over three pixels first. Within the circle that fits into the picture. */
TdLabLine td_lab_busiest_line (const float *pixels, guint nx, guint ny);
