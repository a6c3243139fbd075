/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "iterative.h"

#include <math.h>

TdScan *
td_test_phantom_scan (TdPhantomScan *spec, guint n, guint n_rows, guint n_views, double range_deg,
                      gboolean cone)
{
  g_autoptr (GError) error = NULL;

  td_phantom_scan_init (spec, "ellipsoids", n, n_rows, n_views);
  spec->range_deg = range_deg;
  spec->logged = TRUE;
  if (cone)
    spec->geometry = (TdGeometry) { .beam = n_rows == 1 ? TD_BEAM_FAN : TD_BEAM_CONE,
                                    .pixel_width_mm = 0.4,
                                    .pixel_height_mm = 0.4,
                                    .source_axis_mm = 200,
                                    .source_detector_mm = 300 };
  TdScan *scan = td_phantom_scan_new (spec, &error);
  g_assert_no_error (error);
  return scan;
}

void
td_test_recipe (TdRecipe *recipe, const char *method, const char *device)
{
  g_autoptr (GError) error = NULL;

  td_recipe_init (recipe);
  td_recipe_set (recipe, "method", method, &error);
  td_recipe_set (recipe, "device", device, &error);
  g_assert_no_error (error);
}

void
td_test_reconstruct_well (TdEngine *engine, TdScan *scan, const TdRecipe *recipe,
                          TdTestVolume *volume)
{
  g_autoptr (GError) error = NULL;

  td_test_reconstruct (engine, scan, recipe, volume, &error);
  g_assert_no_error (error);
}

double
td_test_phantom_error (const TdPhantomScan *spec, const TdTestVolume *volume)
{
  const guint nx = volume->nx, ny = volume->ny, n = volume->n_slices;
  g_autofree float *truth = g_new (float, (gsize) nx *ny);
  double off = 0, norm = 0;

  for (guint slice = n / 4; slice < MAX (n - n / 4, n / 4 + 1); slice++) {
    td_phantom_scan_truth (spec, slice, nx, ny, 4, truth);
    for (guint i = 0; i < nx * ny; i++) {
      const double x = i % nx - (nx - 1) / 2.0, y = i / nx - (ny - 1) / 2.0;
      if (hypot (x, y) > 0.48 * nx)
        continue;
      off += pow (volume->slices[(gsize) slice * nx * ny + i] - truth[i], 2);
      norm += (double) truth[i] * truth[i];
    }
  }
  return sqrt (off / norm);
}

double
td_test_difference (const TdTestVolume *volume, const TdTestVolume *truth)
{
  double off = 0, norm = 0;

  for (gsize i = 0; i < (gsize) truth->nx * truth->ny * truth->n_slices; i++) {
    off += pow (volume->slices[i] - truth->slices[i], 2);
    norm += pow (truth->slices[i], 2);
  }
  return sqrt (off / norm);
}
