/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What needs no display: pictures and their statistics, views, the slices of a running job, the
   coarse stand-in, the comparison's figures, undoing. */
#include <glib/gstdio.h>
#include <gtk/gtk.h>
#include <math.h>
#include <string.h>

#include "app/session.h"
#include "dataset/volume.h"
#include "render/image.h"
#include "render/view.h"
#include "compute/engine/preview.h"
#include "compute/methods/methods.h"
#include "ui/picture-save.h"
#include "ui/slice-store.h"

static void
test_statistics (void)
{
  float *pixels = g_new (float, 1000);

  for (guint i = 0; i < 1000; i++)
    pixels[i] = (float) ((i * 7919) % 1000);
  pixels[3] = NAN;
  pixels[900] = -INFINITY;
  g_autoptr (TdImage) image = td_image_new_take (pixels, 50, 20);
  g_assert_cmpuint (image->n_bad, ==, 2);
  g_assert_cmpfloat (image->minimum, >=, 0);
  g_assert_cmpfloat (image->maximum, <=, 999);
  g_assert_cmpfloat (fabs (td_image_quantile (image, 0.5) - 500), <, 5);
  guint64 counted = 0;
  for (guint i = 0; i < TD_IMAGE_BINS; i++)
    counted += image->bins[i];
  g_assert_cmpuint (counted, ==, 998);
}

/* Several threads look at a large one, each at a part. */
static void
test_large (void)
{
  const guint width = 1501, height = 1400, n = width * height;
  float *pixels = g_new (float, n);
  guint64 counted = 0;

  for (guint i = 0; i < n; i++)
    pixels[i] = (float) (i % 1000);
  pixels[0] = 2000;
  pixels[n - 1] = -5;
  pixels[n / 2] = pixels[1] = NAN;
  g_autoptr (TdImage) image = td_image_new_take (pixels, width, height);
  g_assert_cmpuint (image->n_bad, ==, 2);
  g_assert_cmpfloat (image->minimum, ==, -5);
  g_assert_cmpfloat (image->maximum, ==, 2000);
  g_assert_cmpfloat (fabs (td_image_quantile (image, 0.5) - 500), <, 5);
  for (guint i = 0; i < TD_IMAGE_BINS; i++)
    counted += image->bins[i];
  g_assert_cmpuint (counted, ==, n - 2);
}

/* Nothing to divide by: constant, and all bad. */
static void
test_degenerate (void)
{
  for (guint k = 0; k < 2; k++) {
    float *pixels = g_new (float, 12);
    for (guint i = 0; i < 12; i++)
      pixels[i] = k ? NAN : 4.5f;
    g_autoptr (TdImage) image = td_image_new_take (pixels, 3, 4);
    double low, high;
    td_image_range (image, 0.005, &low, &high);
    g_assert_true (isfinite (low) && isfinite (high) && high > low);
  }
}

static void
test_value (void)
{
  float *pixels = g_new (float, 4);
  float value;

  for (guint i = 0; i < 4; i++)
    pixels[i] = (float) i;
  /* A 2 x 2 picture that stands for 8 x 8 pixels. */
  g_autoptr (TdImage) image = td_image_new_coarse_take (pixels, 2, 2, 8, 8);
  g_assert_true (td_image_value (image, 3.4, 4, &value));
  g_assert_cmpfloat (value, ==, 2);
  g_assert_true (td_image_value (image, 7.4, 7.4, &value));
  g_assert_cmpfloat (value, ==, 3);
  g_assert_false (td_image_value (image, 7.6, 0, &value));
  g_assert_false (td_image_value (image, -0.6, 0, &value));
}

static void
test_zoom_about (void)
{
  TdView view = { 0.7, 12, -5, 2.5 };
  double x, y, x2, y2;

  td_view_to_picture (&view, 640, 480, 100, 333, &x, &y);
  td_view_zoom_about (&view, 640, 480, 100, 333, 1.7);
  td_view_to_picture (&view, 640, 480, 100, 333, &x2, &y2);
  g_assert_cmpfloat (fabs (x - x2) + fabs (y - y2), <, 1e-9);
  td_view_from_picture (&view, 640, 480, x, y, &x2, &y2);
  g_assert_cmpfloat (fabs (x2 - 100) + fabs (y2 - 333), <, 1e-9);
}

/* A sinogram of few columns and very many views, and one of few views: both take all the room. */
static void
test_fill (void)
{
  static const double sizes[][2] = { { 26, 3001 }, { 900, 21 }, { 384, 604 } };
  TdView view = { 1, 3, 4, 0 };
  double x0, y0, x1, y1;

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    const double w = sizes[i][0], h = sizes[i][1];
    td_view_fill (&view, 320, 240, w, h);
    td_view_from_picture (&view, 320, 240, -w / 2, -h / 2, &x0, &y0);
    td_view_from_picture (&view, 320, 240, w / 2, h / 2, &x1, &y1);
    g_assert_cmpfloat (fabs (x0 + x1 - 320) + fabs (y0 + y1 - 240), <, 1e-9);
    g_assert_cmpfloat (x1 - x0, >, 0.95 * 320);
    g_assert_cmpfloat (y1 - y0, >, 0.95 * 240);
    g_assert_cmpfloat (x1 - x0, <=, 320);
    g_assert_cmpfloat (y1 - y0, <=, 240);
  }
  td_view_fit (&view, 320, 240, 26, 3001);
  g_assert_cmpfloat (td_view_zoom_down (&view), ==, view.zoom);
}

static void
test_store (void)
{
  guint n = 8 * 8;
  g_autofree float *slices = g_new (float, 3 * n);

  for (guint i = 0; i < 3 * n; i++)
    slices[i] = (float) g_test_rand_double ();
  TdSliceStore *whole = td_slice_store_new (8, 8, 5, 5 * n * sizeof (float));
  TdSliceStore *reduced = td_slice_store_new (8, 8, 5, 5 * n * sizeof (float) / 4);
  g_assert_cmpuint (td_slice_store_factor (whole), ==, 1);
  g_assert_cmpuint (td_slice_store_factor (reduced), ==, 2);
  td_slice_store_put (whole, 1, 3, slices);
  td_slice_store_put (reduced, 1, 3, slices);
  g_assert_false (td_slice_store_has (whole, 0));
  g_assert_true (td_slice_store_has (whole, 3));
  g_assert_null (td_slice_store_image (whole, 4));
  g_autoptr (TdImage) image = td_slice_store_image (whole, 2);
  g_assert_cmpmem (image->pixels, n * sizeof (float), slices + n, n * sizeof (float));
  g_autoptr (TdImage) coarse = td_slice_store_image (reduced, 1);
  g_assert_cmpuint (coarse->width, ==, 4);
  g_assert_cmpfloat (coarse->extent_width, ==, 8);
  float mean = (slices[0] + slices[1] + slices[8] + slices[9]) / 4;
  g_assert_cmpfloat (fabsf (coarse->pixels[0] - mean), <, 1e-6f);
  td_slice_store_unref (whole);
  td_slice_store_unref (reduced);
}

/* Where the axis lies must not move with the binning. */
static void
test_coarse_centre (void)
{
  TdScanFacts facts = { .n_columns = 1024, .n_rows = 101, .n_views = 1000, .centre_px = NAN };
  TdRecipe recipe, coarse;

  td_recipe_init (&recipe);
  recipe.centre_px = 511.5;
  recipe.tilt_deg = 0;
  g_assert_cmpuint (td_preview_coarse_factor (&facts), >, 1);
  td_preview_coarse_recipe (&recipe, &facts, 50, 4, &coarse);
  g_assert_cmpfloat (fabs (coarse.centre_px - 127.5), <, 1e-12);
  recipe.tilt_deg = 1;
  td_preview_coarse_recipe (&recipe, &facts, 100, 4, &coarse);
  g_assert_cmpfloat (fabs (coarse.centre_px - (127.5 + 50 * tan (G_PI / 180) / 4)), <, 1e-12);
  facts.n_columns = 64;
  facts.n_views = 90;
  g_assert_cmpuint (td_preview_coarse_factor (&facts), ==, 0);
}

static void
set_centre (TdSession *session, double centre, const char *key)
{
  TdRecipe recipe = *td_session_recipe (session);

  recipe.centre_px = centre;
  td_session_edit (session, &recipe, key);
}

static void
test_undo (void)
{
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (TdSession) session = td_session_new (engine);

  set_centre (session, 10, "centre");
  set_centre (session, 11, "centre"); /* the same drag */
  set_centre (session, 20, NULL);
  g_assert_false (td_session_can_redo (session));
  td_session_undo (session, 1);
  g_assert_cmpfloat (td_session_recipe (session)->centre_px, ==, 11);
  td_session_undo (session, 1);
  g_assert_true (isnan (td_session_recipe (session)->centre_px));
  g_assert_false (td_session_can_undo (session));
  td_session_undo (session, 1);
  td_session_redo (session);
  g_assert_cmpfloat (td_session_recipe (session)->centre_px, ==, 11);
  set_centre (session, 12, "centre"); /* not joined to what was undone */
  g_assert_false (td_session_can_redo (session));
  td_session_undo (session, 1);
  g_assert_cmpfloat (td_session_recipe (session)->centre_px, ==, 11);
}

/* A box is clipped to the picture, and what is not finite is counted and left out. */
static void
test_box (void)
{
  const float values[12] = { 1, 2, 3, 4, 5, NAN, 7, 8, 9, 10, 11, 12 };
  g_autoptr (TdImage) image = td_image_new_take (g_memdup2 (values, sizeof values), 4, 3);
  TdImageStatistics s;

  g_assert_true (td_image_statistics (image, 1, 0, 2, 2, &s));
  g_assert_cmpuint (s.n, ==, 3);
  g_assert_cmpuint (s.n_bad, ==, 1);
  g_assert_cmpfloat_with_epsilon (s.mean, 4, 1e-12);
  g_assert_cmpfloat_with_epsilon (s.deviation, sqrt (7), 1e-12);
  g_assert_cmpfloat (s.minimum, ==, 2);
  g_assert_cmpfloat (s.maximum, ==, 7);
  g_assert_true (td_image_statistics (image, 3, 2, 90, 90, &s));
  g_assert_cmpuint (s.n, ==, 1);
  g_assert_cmpfloat (s.deviation, ==, 0);
  g_assert_false (td_image_statistics (image, 1, 1, 1, 1, &s));
  g_assert_false (td_image_statistics (image, -7, 0, 3, 3, &s));
  /* A coarse picture is measured in the full one's pixels. */
  g_autoptr (TdImage) coarse
      = td_image_new_coarse_take (g_memdup2 (values, sizeof values), 4, 3, 8, 6);
  g_assert_true (td_image_statistics (coarse, 4, 0, 4, 2, &s));
  g_assert_cmpuint (s.n, ==, 2);
  g_assert_cmpfloat (s.mean, ==, 3.5);
}

/* TIFF keeps the values, PNG the colours. */
static void
test_save (void)
{
  g_autofree char *folder = g_dir_make_tmp ("tomodesk-test-XXXXXX", NULL);
  g_autofree char *tif = g_build_filename (folder, "a.TIF", NULL);
  g_autofree char *png = g_build_filename (folder, "a.png", NULL);
  g_autofree char *nowhere = g_build_filename (folder, "none", "a.png", NULL);
  const float values[6] = { 0, 1, 2, 3, 4, 5 };
  const TdStyle style = { .low = 0, .high = 5, .map = TD_COLOUR_GREY };
  g_autoptr (TdImage) image = td_image_new_take (g_memdup2 (values, sizeof values), 3, 2);
  g_autoptr (GError) error = NULL;
  float back[6];

  g_assert_true (td_picture_save (image, &style, NULL, tif, &error));
  g_autoptr (TdVolume) volume = td_volume_open (tif, &error);
  g_assert_no_error (error);
  g_assert_true (td_volume_read (volume, 0, 1, back, &error));
  g_assert_cmpmem (back, sizeof back, values, sizeof values);
  g_assert_true (td_picture_save (image, &style, NULL, png, &error));
  g_autoptr (GdkTexture) texture = gdk_texture_new_from_filename (png, &error);
  g_assert_no_error (error);
  guint32 pixels[6];
  gdk_texture_download (texture, (guchar *) pixels, 12);
  g_assert_cmpuint (pixels[0] & 0xff, ==, 0);
  g_assert_cmpuint (pixels[5] & 0xff, ==, 255);
  g_assert_cmpuint (pixels[2] & 0xff, >, pixels[1] & 0xff);
  g_assert_false (td_picture_save (image, &style, NULL, nowhere, &error));
  g_assert_nonnull (strstr (error->message, "cannot be written"));
  g_unlink (tif);
  g_unlink (png);
  g_rmdir (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/picture/statistics", test_statistics);
  g_test_add_func ("/picture/large", test_large);
  g_test_add_func ("/picture/degenerate", test_degenerate);
  g_test_add_func ("/picture/value", test_value);
  g_test_add_func ("/picture/zoom-about", test_zoom_about);
  g_test_add_func ("/picture/fill", test_fill);
  g_test_add_func ("/picture/store", test_store);
  g_test_add_func ("/picture/coarse-centre", test_coarse_centre);
  g_test_add_func ("/picture/undo", test_undo);
  g_test_add_func ("/picture/box", test_box);
  g_test_add_func ("/picture/save", test_save);
  return g_test_run ();
}
