/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lab-frc.h"

#include <fftw3.h>
#include <math.h>
#include <string.h>

#include "compute/device/host-fft.h"
#include "compute/device/host.h"

#define LEAST_SIDE 16
#define EDGE 0.1 /* of the radius */
#define LINES_AT_ONCE 8

/* Both pictures are one complex plane: a + i b. */
typedef struct {
  guint n;
  fftw_plan plan;
  TdHostScratch *scratch;
  fftw_complex *plane; /* [n][n] */
  gsize apart, step;   /* from one line to be transformed to the next, and within it */
} Plane;

static void
frc_plane_clear (Plane *plane)
{
  td_fftw_plan_double_free (plane->plan);
  td_host_scratch_free (plane->scratch);
  fftw_free (plane->plane);
}

/* A few neighbouring lines, which share cache lines where they are columns. */
static void
frc_transform_lines (guint index, gpointer user)
{
  const Plane *plane = user;
  const guint n = plane->n, end = MIN ((index + 1) * LINES_AT_ONCE, n);
  const TdHostPieces pieces = td_host_scratch_take (plane->scratch);
  fftw_complex *from = pieces.from, *to = pieces.to;

  for (guint line = index * LINES_AT_ONCE; line < end; line++) {
    fftw_complex *values = plane->plane + line * plane->apart;
    for (guint i = 0; i < n; i++)
      memcpy (from[i], values[i * plane->step], sizeof *from);
    fftw_execute_dft (plane->plan, from, to);
    for (guint i = 0; i < n; i++)
      memcpy (values[i * plane->step], to[i], sizeof *to);
  }
  td_host_scratch_give (plane->scratch, &pieces);
}

static double
frc_window (guint n, guint x, guint y)
{
  const double radius = n / 2.0, r = hypot (x - (n - 1) / 2.0, y - (n - 1) / 2.0) / radius;

  return r >= 1 ? 0 : r <= 1 - EDGE ? 1 : 0.5 + 0.5 * cos (G_PI * (r - (1 - EDGE)) / EDGE);
}

/* The mean under the window; what is not finite counts as none. */
static double
frc_mean (const float *from, guint nx, guint n)
{
  double sum = 0, weights = 0;

  for (guint y = 0; y < n; y++)
    for (guint x = 0; x < n; x++) {
      const double value = from[(gsize) y * nx + x], weight = frc_window (n, x, y);
      if (isfinite (value)) {
        sum += weight * value;
        weights += weight;
      }
    }
  return weights > 0 ? sum / weights : 0;
}

static void
frc_fill (Plane *plane, const float *a, const float *b, guint nx, gsize first)
{
  const guint n = plane->n;
  const float *const from[] = { a + first, b + first };
  const double means[] = { frc_mean (from[0], nx, n), frc_mean (from[1], nx, n) };

  for (guint y = 0; y < n; y++)
    for (guint x = 0; x < n; x++)
      for (guint k = 0; k < 2; k++) {
        const double value = from[k][(gsize) y * nx + x];
        plane->plane[(gsize) y * n + x][k]
            = isfinite (value) ? frc_window (n, x, y) * (value - means[k]) : 0;
      }
}

/* Of the plane's transform Z: F1 = (Z (k) + conj Z (-k)) / 2 and F2 = (Z (k) - conj Z (-k)) / 2i.
 */
static void
frc_add_rings (const Plane *plane, TdLabFrc *frc, double *first, double *second, guint *counts)
{
  const guint n = plane->n;

  for (guint y = 0; y < n; y++)
    for (guint x = 0; x < n; x++) {
      const double fx = x <= n / 2 ? x : (double) x - n, fy = y <= n / 2 ? y : (double) y - n;
      const guint ring = (guint) (hypot (fx, fy) + 0.5);
      const double *z = plane->plane[(gsize) y * n + x];
      const double *w = plane->plane[(gsize) ((n - y) % n) * n + (n - x) % n];
      const double re1 = (z[0] + w[0]) / 2, im1 = (z[1] - w[1]) / 2;
      const double re2 = (z[1] + w[1]) / 2, im2 = (w[0] - z[0]) / 2;

      if (ring >= frc->n)
        continue;
      counts[ring]++;
      frc->correlation[ring] += re1 * re2 + im1 * im2;
      first[ring] += re1 * re1 + im1 * im1;
      second[ring] += re2 * re2 + im2 * im2;
    }
}

/* Where the curve falls below @threshold, between two rings. */
static double
frc_resolution (const TdLabFrc *frc, gboolean half_bit)
{
  for (guint r = 1; r < frc->n; r++) {
    const double t0 = half_bit ? frc->half_bit[r - 1] : 1.0 / 7;
    const double t1 = half_bit ? frc->half_bit[r] : 1.0 / 7;
    const double d0 = frc->correlation[r - 1] - t0, d1 = frc->correlation[r] - t1;
    const double after = r + 1 < frc->n
                             ? frc->correlation[r + 1] - (half_bit ? frc->half_bit[r + 1] : 1.0 / 7)
                             : -1;
    if (d1 >= 0 || after >= 0)
      continue;
    const double part = d0 > 0 ? d0 / (d0 - d1) : 0;
    const double at = frc->frequency[r - 1] + part * (frc->frequency[r] - frc->frequency[r - 1]);
    return 1 / fmax (at, frc->frequency[1]);
  }
  return 0;
}

static void
frc_finish (TdLabFrc *frc, const double *first, const double *second, const guint *counts)
{
  for (guint r = 0; r < frc->n; r++) {
    const double power = sqrt (first[r] * second[r]), root = sqrt (MAX (counts[r] / 2.0, 1));

    frc->frequency[r] = (double) r / frc->side;
    /* A ring without power in one of them has nothing in common. */
    frc->correlation[r] = power > 0 ? frc->correlation[r] / power : 0;
    frc->half_bit[r] = (0.2071 + 1.9102 / root) / (1.2071 + 0.9102 / root);
  }
  /* The mean was taken away: what is left of ring 0 says nothing. */
  frc->correlation[0] = 1;
  frc->half_bit_px = frc_resolution (frc, TRUE);
  frc->seventh_px = frc_resolution (frc, FALSE);
}

TdLabFrc *
td_lab_frc_new (const float *a, const float *b, guint nx, guint ny)
{
  Plane plane = { .n = MIN (nx, ny) };
  const guint n = plane.n;

  if (n < LEAST_SIDE)
    return NULL;
  plane.plan = td_fftw_plan_double (n);
  plane.plane = fftw_alloc_complex ((gsize) n * n);
  plane.scratch = td_host_scratch_new (n * sizeof (fftw_complex), n * sizeof (fftw_complex), NULL);
  if (!plane.plan || !plane.plane || !plane.scratch) {
    frc_plane_clear (&plane);
    return NULL;
  }
  frc_fill (&plane, a, b, nx, (gsize) ((ny - n) / 2) * nx + (nx - n) / 2);
  for (guint columns = 0; columns < 2; columns++) {
    plane.apart = columns ? 1 : n;
    plane.step = columns ? n : 1;
    td_parallel_for ((n + LINES_AT_ONCE - 1) / LINES_AT_ONCE, frc_transform_lines, &plane);
  }

  TdLabFrc *frc = g_new0 (TdLabFrc, 1);
  g_atomic_ref_count_init (&frc->references);
  frc->side = n;
  frc->n = n / 2 + 1;
  frc->frequency = g_new0 (double, frc->n);
  frc->correlation = g_new0 (double, frc->n);
  frc->half_bit = g_new0 (double, frc->n);
  g_autofree double *first = g_new0 (double, frc->n), *second = g_new0 (double, frc->n);
  g_autofree guint *counts = g_new0 (guint, frc->n);
  frc_add_rings (&plane, frc, first, second, counts);
  frc_finish (frc, first, second, counts);
  frc_plane_clear (&plane);
  return frc;
}

TdLabFrc *
td_lab_frc_ref (TdLabFrc *frc)
{
  g_atomic_ref_count_inc (&frc->references);
  return frc;
}

void
td_lab_frc_unref (TdLabFrc *frc)
{
  if (!frc || !g_atomic_ref_count_dec (&frc->references))
    return;
  g_free (frc->frequency);
  g_free (frc->correlation);
  g_free (frc->half_bit);
  g_free (frc);
}
