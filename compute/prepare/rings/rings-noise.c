/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rings-noise.h"

#include <math.h>
#include <stdlib.h>

#include "dataset/sort.h"

#define BOUND 2.0    /* standard deviations */
#define QUIETEST 0.2 /* of the columns have noise and little else */
#define LEAST 2e-4   /* in -log; whole counts of a camera make less */

/* Of the roughness of noise: |x - (x + y + z) / 3| is sqrt (2/3) sqrt (2/pi) standard deviations.
 */
static double
deviation_of (double roughness, guint n_views)
{
  return roughness / (sqrt (2.0 / 3) * sqrt (2 / G_PI) * n_views);
}

/* Photons' noise grows with what they pass through, as exp (p / 2). */
static double
photons_noise (const float *sums, guint c, guint n_views)
{
  return exp (0.5 * CLAMP (sums[c] / n_views, -1, 20));
}

void
td_rings_noise_bounds (const float *sums, const float *roughness, guint n_columns, guint n_views,
                       float *bounds)
{
  g_autofree double *noises = g_new (double, n_columns);

  for (guint c = 0; c < n_columns; c++)
    noises[c] = deviation_of (roughness[c], n_views) / photons_noise (sums, c, n_views);
  qsort (noises, n_columns, sizeof *noises, td_compare_doubles);
  double noise = noises[(guint) (QUIETEST * (n_columns - 1))];
  for (guint c = 0; c < n_columns; c++) {
    double left = photons_noise (sums, c > 0 ? c - 1 : 0, n_views),
           own = photons_noise (sums, c, n_views);
    double right = photons_noise (sums, MIN (c + 1, n_columns - 1), n_views);
    bounds[c] = noise > LEAST
                    ? (float) (BOUND * noise * sqrt (4 * own * own + left * left + right * right))
                    : 0;
  }
}
