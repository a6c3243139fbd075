/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone-camera.h"

#include <math.h>

#include "compute/engine/cone-scan.h"
#include "dataset/tiff-save.h"

float *
td_cone_camera_expose (const TdConeCamera *camera)
{
  const TdPhantom *phantom = td_phantom_find (TD_CAMERA_PHANTOM, NULL);
  float *views = g_new (float, (gsize) camera->n_views * camera->n_rows * camera->n_columns);
  float *out = views;

  for (guint view = 0; view < camera->n_views; view++)
    for (guint row = 0; row < camera->n_rows; row++)
      for (guint column = 0; column < camera->n_columns; column++) {
        double source[3], pixel[3];

        camera->ray (camera->setup, view, column, row, source, pixel);
        for (guint k = 0; k < 3; k++) {
          pixel[k] = (source[k] + 4 * (pixel[k] - source[k])) / camera->unit_mm; /* all the way */
          source[k] /= camera->unit_mm;
        }
        *out++ = (float) (td_phantom_ray (phantom, source, pixel) * camera->unit_mm
                          * TD_CAMERA_PER_MM);
      }
  return views;
}

void
td_cone_camera_save (const TdConeCamera *camera, const float *views, const char *folder,
                     const char *name, guint first, double white)
{
  const gsize pixels = (gsize) camera->n_rows * camera->n_columns;
  g_autofree guint16 *counts = g_new (guint16, pixels);
  const TdTiffImage image = { camera->n_columns, camera->n_rows,
                              white > 0 ? TD_SAMPLE_UINT16 : TD_SAMPLE_FLOAT32, 0, NULL };
  g_autoptr (GError) error = NULL;

  for (guint view = 0; view < camera->n_views; view++) {
    const float *from = views + view * pixels;
    g_autofree char *path = g_strdup_printf ("%s/%s%04u.tif", folder, name, first + view);

    for (gsize i = 0; i < pixels; i++)
      counts[i] = (guint16) floor (white * exp (-from[i]) + 0.5);
    td_tiff_save_single (path, path, &image, white > 0 ? (const void *) counts : from, &error);
    g_assert_no_error (error);
  }
}

double
td_cone_camera_error (const TdConeCamera *camera, TdEngine *engine, TdScan *scan, double voxel_mm)
{
  const TdPhantom *phantom = td_phantom_find (TD_CAMERA_PHANTOM, NULL);
  g_autoptr (GError) error = NULL;
  double raised;
  if (!td_cone_scan_raised (td_scan_facts (scan), &raised, NULL))
    g_error ("the geometry is not taken");
  TdTestVolume volume;
  TdRecipe recipe;
  double off = 0, norm = 0;

  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
  td_test_reconstruct (engine, scan, &recipe, &volume, &error);
  g_assert_no_error (error);

  g_autofree float *truth = g_new (float, (gsize) volume.nx *volume.ny);
  for (guint slice = volume.n_slices / 4; slice < volume.n_slices - volume.n_slices / 4; slice++) {
    const float *got = volume.slices + (gsize) slice * volume.nx * volume.ny;
    const double z = ((volume.n_slices - 1) / 2.0 - slice + raised) * voxel_mm;

    td_phantom_slice_at (phantom, volume.nx, volume.ny, camera->unit_mm / voxel_mm,
                         z / camera->unit_mm, 2, truth);
    for (guint j = 0; j < volume.ny; j++)
      for (guint i = 0; i < volume.nx; i++) {
        const double value = truth[j * volume.nx + i] * TD_CAMERA_PER_MM;

        if (hypot (i - (volume.nx - 1) / 2.0, j - (volume.ny - 1) / 2.0)
            > 0.9 * camera->unit_mm / voxel_mm)
          continue;
        off += pow (got[j * volume.nx + i] - value, 2);
        norm += value * value;
      }
  }
  td_test_volume_clear (&volume);
  g_assert_cmpfloat (norm, >, 0);
  return sqrt (off / norm);
}

double
td_camera_middle (guint n)
{
  return (n - 1) / 2.0;
}

void
td_camera_turn (double p[3], guint a, guint b, double degrees)
{
  const double c = cos (degrees * G_PI / 180), s = sin (degrees * G_PI / 180), pa = p[a], pb = p[b];

  p[a] = c * pa - s * pb;
  p[b] = s * pa + c * pb;
}

void
td_camera_write (const char *folder, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

TdScan *
td_camera_open (const char *folder, const char *name, const char *geometry, double pixel_mm)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_autofree char *file = geometry ? g_build_filename (folder, geometry, NULL) : NULL;
  const TdScanOptions options = { .geometry = file, .pixel_mm = pixel_mm };
  g_autoptr (GError) error = NULL;
  TdScan *scan = td_scan_open (path, &options, NULL, &error);

  g_assert_no_error (error);
  return scan;
}
