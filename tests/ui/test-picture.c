/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What needs no display: pictures and their statistics, views, the slices of a running job, the
   coarse stand-in, the comparison's figures, undoing. */
#include <glib/gstdio.h>
#include <gtk/gtk.h>
#include <malloc.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/session.h"
#include "dataset/volume.h"
#include "held-time.h"
#include "render/image.h"
#include "render/measure.h"
#include "render/soft-renderer.h"
#include "render/view.h"
#include "compute/engine/preview.h"
#include "compute/methods/methods.h"
#include "ui/marks.h"
#include "ui/picture-save.h"
#include "ui/slice-store.h"
#include "ui/volume-source.h"

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

/* Nothing to divide by: constant, and all bad. Or as much as floats hold. */
static void
test_degenerate (void)
{
  for (guint k = 0; k < 3; k++) {
    float *pixels = g_new (float, 12);
    for (guint i = 0; i < 12; i++)
      pixels[i] = k == 0 ? 4.5f : k == 1 ? NAN : i % 2 ? G_MAXFLOAT : -G_MAXFLOAT;
    g_autoptr (TdImage) image = td_image_new_take (pixels, 3, 4);
    double low, high;
    td_image_range (image, 0.005, &low, &high);
    g_assert_true (isfinite (low) && isfinite (high) && high > low);
    g_assert_true (isfinite (td_image_quantile (image, 0.5455))); /* between the halves */
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

/* A picture that is made smaller takes nothing from beyond its edge: the only bright column is on
   the left. */
static void
test_soft_edges (void)
{
  enum { COLUMNS = 10, ROWS = 6, WIDTH = 16, HEIGHT = 12 };
  static const double zooms[] = { 0.715, 0.306, 0.6, 0.9 }; /* of two the last is nearly off */
  const TdStyle style = { .low = 0, .high = 1, .map = TD_COLOUR_GREY };
  const TdScreen screen = { WIDTH, HEIGHT, 1 };
  float *values = g_new0 (float, COLUMNS *ROWS);

  for (guint j = 0; j < ROWS; j++)
    values[j * COLUMNS] = 1;
  g_autoptr (TdImage) image = td_image_new_take (values, COLUMNS, ROWS);
  for (guint i = 0; i < G_N_ELEMENTS (zooms); i++) {
    const TdView view = { .zoom = zooms[i] };
    guint32 pixels[WIDTH * HEIGHT];
    td_soft_clear (&style, WIDTH, HEIGHT, pixels);
    td_soft_render (image, &view, &style, NULL, &screen, pixels);
    for (guint y = 0; y < HEIGHT; y++)
      for (guint x = WIDTH / 2; x < WIDTH; x++)
        if (x + 0.5 - WIDTH / 2 < zooms[i] * COLUMNS / 2
            && fabs (y + 0.5 - HEIGHT / 2) < zooms[i] * ROWS / 2)
          g_assert_cmphex (pixels[y * WIDTH + x] & 0xffffff, ==, 0);
  }
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

/* Each pixel is a mean, and none is beside the 24 bytes that a picture has: those are of others. */
static void
test_store_reduced (void)
{
  enum { WIDTH = 6, HEIGHT = 4, SLICES = 8 };
  float slices[SLICES * WIDTH * HEIGHT];
  TdSliceStore *store = td_slice_store_new (WIDTH, HEIGHT, SLICES, sizeof slices / 4);

  for (guint i = 0; i < G_N_ELEMENTS (slices); i++)
    slices[i] = (float) g_test_rand_double ();
  td_slice_store_put (store, 0, SLICES, slices);
  for (guint k = 0; k < SLICES; k++) {
    g_autoptr (TdImage) image = td_slice_store_image (store, k);
    g_assert_cmpuint (image->width, ==, 3);
    g_assert_cmpuint (image->height, ==, 2);
    for (guint i = 0; i < 6; i++) {
      const float *cell = slices + (k * HEIGHT + i / 3 * 2) * WIDTH + i % 3 * 2;
      const float mean = (cell[0] + cell[1] + cell[WIDTH] + cell[WIDTH + 1]) / 4;
      g_assert_cmpfloat_with_epsilon (image->pixels[i], mean, 1e-6);
    }
  }
  td_slice_store_unref (store);
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

  hold_time (TRUE);
  set_centre (session, 10, "centre");
  held_time_us += G_USEC_PER_SEC - 1;
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
  td_session_redo (session);
  set_centre (session, 13, "centre");
  held_time_us += G_USEC_PER_SEC;
  set_centre (session, 14, "centre"); /* another drag */
  hold_time (FALSE);
  td_session_undo (session, 1);
  g_assert_cmpfloat (td_session_recipe (session)->centre_px, ==, 13);
  const TdRecipe recipe = *td_session_recipe (session);
  g_assert_true (td_session_can_undo (session) && td_session_can_redo (session));
  td_session_open (session, NULL, &recipe); /* another scan: the changes were not its own */
  g_assert_false (td_session_can_undo (session) || td_session_can_redo (session));
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

/* Of 1001 values each thousandth is one of them. A few hot pixels do not widen the histogram, and
   are in its last bin. */
static void
test_quantiles (void)
{
  float *pixels = g_new (float, 1001), *hot = g_new (float, 1001);
  double low, high;

  for (guint i = 0; i < 1001; i++) {
    pixels[i] = 0.25f * ((float) (i * 619 % 1001) - 500);
    hot[i] = i == 500 ? 1e6f : (float) (i * 619 % 1001);
  }
  g_autoptr (TdImage) image = td_image_new_take (pixels, 143, 7);
  for (guint q = 0; q < TD_IMAGE_QUANTILES; q++)
    g_assert_cmpfloat (image->quantiles[q], ==, 0.25f * ((float) q - 500));
  g_assert_cmpfloat_with_epsilon (td_image_quantile (image, 0.7504), 62.6, 1e-9);
  g_assert_cmpfloat (td_image_quantile (image, 2), ==, 125);
  g_assert_cmpfloat (td_image_quantile (image, -1), ==, -125);
  td_image_range (image, 0.01, &low, &high);
  g_assert_true (low == -122.5 && high == 122.5);
  td_image_range (image, 0, &low, &high);
  g_assert_true (low == -125 && high == 125);
  g_assert_true (image->bins_low == -125 && image->bins_high == 125);
  for (guint i = 0; i < TD_IMAGE_BINS; i++) {
    g_assert_cmpuint (image->bins[i], >=, 3);
    g_assert_cmpuint (image->bins[i], <=, i + 1 < TD_IMAGE_BINS ? 4 : 5);
  }
  /* 500 · 619 is 191 beyond a multiple: that value is gone, and the last one is hot. */
  g_autoptr (TdImage) spoilt = td_image_new_take (hot, 7, 143);
  g_assert_cmpfloat (spoilt->maximum, ==, 1e6);
  g_assert_cmpfloat (spoilt->bins_low, ==, 0);
  g_assert_cmpfloat_with_epsilon (spoilt->bins_high, 996 + 0.25 * (996 - 5), 0.01);
  g_assert_cmpuint (spoilt->bins[TD_IMAGE_BINS - 1], ==, 1);
  g_assert_cmpuint (spoilt->bins[TD_IMAGE_BINS - 2], ==, 0);
}

/* Of many pixels some are looked at. They are of all columns, whatever the width. */
static void
test_samples (void)
{
  static const guint widths[] = { 1, 2, 3, 4, 5, 6, 7, 9, 15, 16 };

  for (guint k = 0; k < G_N_ELEMENTS (widths); k++) {
    const guint width = widths[k], height = 150000 / width, n = width * height;
    float *pixels = g_new (float, n);
    for (guint i = 0; i < n; i++)
      pixels[i] = (float) (i % width);
    g_autoptr (TdImage) image = td_image_new_take (pixels, width, height);
    for (guint column = 0; column < width; column++)
      g_assert_cmpfloat_with_epsilon (td_image_quantile (image, (column + 0.5) / width), column,
                                      1e-6);
  }
}

static void
test_difference (void)
{
  const float a[6] = { 1, 2, 3, 4, 5, 6 }, b[6] = { 0.5f, 4, 3, 1, NAN, 7 };
  g_autoptr (TdImage) one = td_image_new_coarse_take (g_memdup2 (a, sizeof a), 3, 2, 9, 6);
  g_autoptr (TdImage) other = td_image_new_take (g_memdup2 (b, sizeof b), 3, 2);
  g_autoptr (TdImage) tall = td_image_new_take (g_memdup2 (b, sizeof b), 2, 3);
  g_autoptr (TdImage) longer = td_image_new_take (g_memdup2 (b, sizeof b), 3, 1);

  g_assert_null (td_image_difference (one, tall));
  g_assert_null (td_image_difference (one, longer));
  g_autoptr (TdImage) difference = td_image_difference (one, other);
  for (guint i = 0; i < 6; i++)
    g_assert_true (i == 4 ? isnan (difference->pixels[i]) : difference->pixels[i] == a[i] - b[i]);
  g_assert_true (difference->width == 3 && difference->height == 2);
  g_assert_true (difference->extent_width == 9 && difference->extent_height == 6);
}

/* ── Measures ── */

/* A slope over 6 × 5 pixels, one of them missing. */
static TdImage *
slope_new (void)
{
  float *pixels = g_new (float, 30);

  for (guint i = 0; i < 30; i++)
    pixels[i] = 2.0f * (i % 6) + 3.0f * (i / 6);
  pixels[4 * 6 + 4] = NAN;
  return td_image_new_take (pixels, 6, 5);
}

static void
test_lengths (void)
{
  static const struct {
    double a[2], b[2], degrees; /* arms, beside the corner */
  } angles[] = {
    { { 1, 0 }, { 0, 1 }, 90 },    { { 1, 0 }, { -3, 0 }, 180 }, { { 1, 0 }, { 3, 0 }, 0 },
    { { 1, 0 }, { 1, 1 }, 45 },    { { 0, 2 }, { 1, -1 }, 135 }, { { -1, 0 }, { -1, -1 }, 45 },
    { { 2, 1 }, { -2, -1 }, 180 }, { { 2, 1 }, { -1, 2 }, 90 },
  };
  g_autoptr (TdImage) image = slope_new ();
  TdMeasured measured;

  td_measure_take (&(TdMeasure) { TD_MEASURE_DISTANCE, { { 1, 6 }, { 4, 2 } } }, image, &measured);
  g_assert_cmpfloat (measured.length_px, ==, 5);
  g_assert_true (isnan (measured.angle_deg) && isnan (measured.width_px) && !measured.has_values);
  for (guint i = 0; i < G_N_ELEMENTS (angles); i++) {
    const double *a = angles[i].a, *b = angles[i].b;
    td_measure_take (&(TdMeasure) { TD_MEASURE_ANGLE,
                                    { { 7 + a[0], 3 + a[1] }, { 7, 3 }, { 7 + b[0], 3 + b[1] } } },
                     image, &measured);
    g_assert_cmpfloat_with_epsilon (measured.angle_deg, angles[i].degrees, 1e-9);
    g_assert_true (isnan (measured.length_px) && !measured.has_values);
  }
  g_assert_cmpuint (td_measure_points (TD_MEASURE_ANGLE), ==, 3);
  g_assert_cmpuint (td_measure_points (TD_MEASURE_LINE), ==, 2);
}

/* A sample a pixel at least, both ends among them; nothing beyond the picture or beside what is
   missing. */
static void
test_lines (void)
{
  static const struct {
    double from[2], to[2];
    guint n;
    float values[4];
  } lines[] = {
    { { 0.5, 1 }, { 3.5, 1 }, 4, { 4, 6, 8, 10 } },
    { { 4, 0 }, { 7, 0 }, 4, { 8, 10, NAN, NAN } },
    { { -0.25, 2 }, { 0.25, 2 }, 2, { NAN, 6.5f } },
    { { 5, 3 }, { 5, 0.75 }, 4, { 19, 16.75f, 14.5f, 12.25f } },
    { { 5, 4 }, { 5, 4.25 }, 2, { 22, NAN } },
    { { 2, 4 }, { 4, 4 }, 3, { 16, 18, NAN } },
    { { 3.5, 3.5 }, { 3.5, 3 }, 2, { NAN, 16 } },
    { { 2.5, 2.5 }, { 2.5, 2.5 }, 2, { 12.5f, 12.5f } },
  };
  g_autoptr (TdImage) image = slope_new ();
  TdMeasured measured;

  for (guint i = 0; i < G_N_ELEMENTS (lines); i++) {
    const TdMeasure measure
        = { TD_MEASURE_LINE,
            { { lines[i].from[0], lines[i].from[1] }, { lines[i].to[0], lines[i].to[1] } } };
    guint n, bad = 0;
    g_autofree float *values = td_measure_profile (&measure, image, &n);
    g_assert_cmpuint (n, ==, lines[i].n);
    for (guint k = 0; k < n; k++) {
      bad += isnan (lines[i].values[k]) ? 1 : 0;
      g_assert_true (isnan (lines[i].values[k]) ? isnan (values[k])
                                                : fabsf (values[k] - lines[i].values[k]) < 1e-5f);
    }
    td_measure_take (&measure, image, &measured);
    g_assert_true (measured.has_values);
    g_assert_cmpuint (measured.statistics.n, ==, n - bad);
    g_assert_cmpuint (measured.statistics.n_bad, ==, bad);
    if (n - bad == 1)
      g_assert_cmpfloat (measured.statistics.deviation, ==, 0);
    if (i > 0)
      continue;
    g_assert_cmpfloat (measured.length_px, ==, 3);
    g_assert_cmpfloat (measured.statistics.minimum, ==, 4);
    g_assert_cmpfloat (measured.statistics.maximum, ==, 10);
    g_assert_cmpfloat_with_epsilon (measured.statistics.mean, 7, 1e-6);
    g_assert_cmpfloat_with_epsilon (measured.statistics.deviation, sqrt (20 / 3.0), 1e-6);
  }
  td_measure_take (&(TdMeasure) { TD_MEASURE_LINE, { { 6, 0 }, { 9, 0 } } }, image, &measured);
  g_assert_false (measured.has_values);
  /* A coarse picture is sampled where its pixels' middles are: a column is two wide there. */
  g_autoptr (TdImage) coarse
      = td_image_new_coarse_take (g_memdup2 (image->pixels, 30 * sizeof (float)), 6, 5, 12, 15);
  guint n;
  g_autofree float *values = td_measure_profile (
      &(TdMeasure) { TD_MEASURE_LINE, { { 2.5, 4 }, { 3.5, 7 } } }, coarse, &n);
  g_assert_cmpuint (n, ==, 5);
  g_assert_cmpfloat_with_epsilon (values[0], 2 + 3, 1e-5);
  g_assert_cmpfloat_with_epsilon (values[4], 3 + 6, 1e-5);
}

/* Whole pixels, those of both corners among them, in any order; what lies beyond is cut off. */
static void
test_regions (void)
{
  static const struct {
    double a[2], b[2], width, height;
    guint n, bad;
    double mean;
  } regions[] = {
    { { 1.4, 0.6 }, { 3.2, 2.4 }, 3, 2, 6, 0, 8.5 },
    { { 3.2, 0.6 }, { 1.4, 2.4 }, 3, 2, 6, 0, 8.5 },
    { { -3, -3 }, { 1, 0 }, 2, 1, 2, 0, 1 },
    { { 9, 9 }, { 4, 4 }, 2, 1, 1, 1, 22 },
    { { 2, 3 }, { 2, 3 }, 1, 1, 1, 0, 13 },
    { { 4, 4 }, { 4, 4 }, 1, 1, 0, 1, 0 },
    { { 7, 0 }, { 9, 2 }, 0, 3, 0, 0, 0 },
    { { 0, 7 }, { 2, 9 }, 3, 0, 0, 0, 0 },
  };
  g_autoptr (TdImage) image = slope_new ();
  TdMeasured measured;

  for (guint i = 0; i < G_N_ELEMENTS (regions); i++) {
    td_measure_take (&(TdMeasure) { TD_MEASURE_REGION,
                                    { { regions[i].a[0], regions[i].a[1] },
                                      { regions[i].b[0], regions[i].b[1] } } },
                     image, &measured);
    g_assert_cmpfloat (measured.width_px, ==, regions[i].width);
    g_assert_cmpfloat (measured.height_px, ==, regions[i].height);
    g_assert_cmpint (measured.has_values, ==, regions[i].n > 0);
    g_assert_cmpuint (measured.statistics.n, ==, regions[i].n);
    g_assert_cmpuint (measured.statistics.n_bad, ==, regions[i].bad);
    g_assert_cmpfloat_with_epsilon (measured.statistics.mean, regions[i].mean, 1e-9);
    g_assert_true (isnan (measured.length_px));
  }
}

/* ── Colours and views ── */

static void
test_colours (void)
{
  static const struct {
    TdColourMap map;
    guint entry;
    guint8 rgb[3];
  } entries[] = {
    { TD_COLOUR_GREY, 77, { 77, 77, 77 } },
    { TD_COLOUR_INVERSE, 77, { 178, 178, 178 } },
    { TD_COLOUR_VIRIDIS, 0, { 0x44, 0x01, 0x54 } },
    { TD_COLOUR_VIRIDIS, 255, { 0xfd, 0xe7, 0x25 } },
    { TD_COLOUR_VIRIDIS, 51, { 64, 68, 135 } }, /* two fifths from node 6 to node 7 */
    { TD_COLOUR_MAGMA, 255, { 0xfc, 0xfd, 0xbf } },
    { TD_COLOUR_INFERNO, 255, { 0xfc, 0xff, 0xa4 } },
    { TD_COLOUR_CIVIDIS, 0, { 0x00, 0x22, 0x4e } },
    { TD_COLOUR_TURBO, 0, { 0x30, 0x12, 0x3b } },
    { TD_COLOUR_DIVERGING, 255, { 0x67, 0x00, 0x1f } },
  };
  TdColourMap parsed = TD_COLOUR_COUNT;

  for (guint i = 0; i < G_N_ELEMENTS (entries); i++) {
    const guint8 *colour = td_colour_map_table (entries[i].map) + 4 * entries[i].entry;
    g_assert_cmpmem (colour, 3, entries[i].rgb, 3);
    g_assert_cmpuint (colour[3], ==, 255);
  }
  for (TdColourMap map = TD_COLOUR_GREY; map < TD_COLOUR_COUNT; map++) {
    g_assert_true (td_colour_map_parse (td_colour_map_name (map), &parsed));
    g_assert_cmpint (parsed, ==, map);
  }
  g_assert_false (td_colour_map_parse ("rainbow", &parsed));
}

/* Zooming ends somewhere, and what was under the pointer stays there. A picture that is fitted has
   a little room around its tighter side. */
static void
test_zoom_limits (void)
{
  for (guint i = 0; i < 2; i++) {
    TdView view = { 3, 12, -5, 1 };
    double x, y, x2, y2;

    td_view_to_picture (&view, 640, 480, 500, 20, &x, &y);
    td_view_zoom_about (&view, 640, 480, 500, 20, i ? 1e9 : 1e-9);
    g_assert_cmpfloat (view.zoom, ==, i ? 200 : 0.005);
    td_view_to_picture (&view, 640, 480, 500, 20, &x2, &y2);
    g_assert_cmpfloat_with_epsilon (x2, x, 1e-9);
    g_assert_cmpfloat_with_epsilon (y2, y, 1e-9);
    td_view_fit (&view, 320, 240, i ? 640 : 64, i ? 240 : 96);
    g_assert_cmpfloat_with_epsilon (view.zoom, 0.98 * (i ? 0.5 : 2.5), 1e-12);
    g_assert_true (view.x == 0 && view.y == 0);
  }
}

/* Half floats do where their steps are below a quarter of a shade. They do not for a flat part of
   bright counts, nor for values so small that they lose digits. */
static void
test_half (void)
{
  static const struct {
    double low, high;
    gboolean will_do;
  } cases[] = {
    { 0, 1, TRUE },        { -0.01, 0.06, TRUE },   { 0.9, 1.99, TRUE },  { 1, 1.9, FALSE },
    { 2609, 29090, TRUE }, { 27000, 29090, FALSE }, { 0, 64999, TRUE },   { 0, 65001, FALSE },
    { -65001, 0, FALSE },  { 0, 6.2e-5, TRUE },     { 0, 6.0e-5, FALSE }, { 0, 1e-6, FALSE },
    { 0.5, 0.5, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    float *values = g_new (float, 1000);
    for (guint k = 0; k < 1000; k++)
      values[k] = (float) (k < 500 ? cases[i].low : cases[i].high);
    g_autoptr (TdImage) image = td_image_new_take (values, 100, 10);
    g_test_message ("%g to %g", cases[i].low, cases[i].high);
    g_assert_true (td_image_half_will_do (image) == cases[i].will_do);
  }
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
  /* One mark is drawn, and two are more. */
  g_autoptr (GArray) marks = g_array_new (FALSE, TRUE, sizeof (TdMark));
  for (guint n = 0; n < 3; n++) {
    const double x = 0.8 * n;
    const TdMark mark = { { TD_MEASURE_LINE, { { x, 0 }, { x, 1 } } }, 2, "" };
    guint32 marked[6];
    g_assert_true (td_picture_save (image, &style, marks, png, &error));
    g_autoptr (GdkTexture) drawn = gdk_texture_new_from_filename (png, &error);
    gdk_texture_download (drawn, (guchar *) marked, 12);
    g_assert_cmpint (memcmp (marked, pixels, sizeof marked) == 0, ==, n == 0);
    memcpy (pixels, marked, sizeof marked);
    g_array_append_val (marks, mark);
  }
  g_assert_false (td_picture_save (image, &style, NULL, nowhere, &error));
  g_assert_nonnull (strstr (error->message, "cannot be written"));
  g_unlink (tif);
  g_unlink (png);
  g_rmdir (folder);
}

/* Each voxel of an overview is the mean of what is finite of its own block, at the far ends of
   less. */
static void
test_overview (void)
{
  enum { NX = 7, NY = 4, NZ = 5, SIDE = 4, BY = 2 };
  static const guint nowhere[][3] /* x, y, z */
      = { { 0, 0, 0 }, { 6, 3, 4 }, { 6, 2, 4 }, { 2, 2, 2 }, { 3, 2, 3 } };
  g_autofree char *folder = g_dir_make_tmp ("tomodesk-test-XXXXXX", NULL);
  const TdStyle style = { .low = 0, .high = 5, .map = TD_COLOUR_GREY };
  g_autoptr (GError) error = NULL;
  float values[NZ][NY][NX];

  for (guint i = 0; i < NX * NY * NZ; i++)
    values[i / NX / NY][i / NX % NY][i % NX] = (float) (i * 7919 % 1009);
  for (guint i = 0; i < G_N_ELEMENTS (nowhere); i++)
    values[nowhere[i][2]][nowhere[i][1]][nowhere[i][0]] = NAN;
  for (guint z = 0; z < NZ; z++) {
    g_autofree char *path = g_strdup_printf ("%s/s_%u.tif", folder, z);
    g_autoptr (TdImage) image = td_image_new_take (g_memdup2 (values[z], sizeof values[z]), NX, NY);
    g_assert_true (td_picture_save (image, &style, NULL, path, &error));
  }
  TdVolume *volume = td_volume_open (folder, &error);
  g_assert_no_error (error);
  g_autoptr (TdVolumeSource) source = td_volume_source_new (volume, SIDE);
  g_assert_true (td_volume_source_survey (source, NULL, NULL, NULL, &error));
  const TdOverview *o = td_volume_source_overview (source);
  g_assert_true (o->nx == SIDE && o->ny == NY / BY && o->nz == (NZ + 1) / BY && !o->sampled);
  for (guint z = 0; z < o->nz; z++)
    for (guint y = 0; y < o->ny; y++)
      for (guint x = 0; x < o->nx; x++) {
        double sum = 0;
        guint n = 0;
        for (guint i = 0; i < BY * BY * BY; i++) {
          const guint at[3] = { BY * x + i % BY, BY * y + i / BY % BY, BY * z + i / (BY * BY) };
          if (at[0] < NX && at[1] < NY && at[2] < NZ && isfinite (values[at[2]][at[1]][at[0]])) {
            sum += values[at[2]][at[1]][at[0]];
            n++;
          }
        }
        const float got = o->values[(z * o->ny + y) * o->nx + x];
        g_assert_true (n > 0 ? fabs (got - sum / n) < 1e-3 : isnan (got));
      }
  for (guint z = 0; z < NZ; z++) {
    g_autofree char *path = g_strdup_printf ("%s/s_%u.tif", folder, z);
    g_unlink (path);
  }
  g_rmdir (folder);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* No address space is left but for @bytes. */
static void
leave_room (gsize bytes)
{
  g_autofree char *status = NULL;
  struct rlimit limit;

  g_assert_true (g_file_get_contents ("/proc/self/statm", &status, NULL, NULL));
  getrlimit (RLIMIT_AS, &limit);
  limit.rlim_cur = g_ascii_strtoull (status, NULL, 10) * (gsize) sysconf (_SC_PAGESIZE) + bytes;
  g_assert_cmpint (setrlimit (RLIMIT_AS, &limit), ==, 0);
}

/* What grows with the picture or the volume may find no room; that is said. */
static void
test_no_room (void)
{
  enum { SIDE = 3000, WIDE = 192 };

  if (!g_test_subprocess ()) {
    g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
    g_test_trap_assert_passed ();
    return;
  }
  mallopt (M_ARENA_MAX, 1); /* others would hold room ready */
  g_autofree char *folder = g_dir_make_tmp ("tomodesk-test-XXXXXX", NULL);
  g_autofree char *png = g_build_filename (folder, "a.png", NULL);
  g_autofree char *tif = g_build_filename (folder, "a.tif", NULL);
  const TdStyle style = { .low = 0, .high = 1, .map = TD_COLOUR_GREY };
  const TdVolumeSpec spec = { .path = tif,
                              .format = TD_VOLUME_BIGTIFF,
                              .bits = 8,
                              .high = 1,
                              .nx = WIDE,
                              .ny = WIDE,
                              .n_slices = WIDE };
  g_autoptr (GError) error = NULL;
  g_autofree float *slice = g_new0 (float, WIDE *WIDE);
  g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, &error);
  for (guint z = 0; z < WIDE; z++)
    g_assert_true (td_volume_writer_write (writer, z, 1, slice, &error));
  g_assert_true (td_volume_writer_finish (writer, NULL, &error));
  TdVolume *volume = td_volume_open (tif, &error);
  g_assert_no_error (error);
  g_autoptr (TdVolumeSource) source = td_volume_source_new (volume, WIDE);
  g_autoptr (TdImage) image = td_image_new_take (g_new0 (float, SIDE *SIDE), SIDE, SIDE);
  leave_room (6 << 20);
  g_assert_false (td_picture_save (image, &style, NULL, png, &error));
  g_assert_nonnull (strstr (error->message, "does not fit into memory"));
  g_clear_error (&error);
  g_assert_false (td_volume_source_survey (source, NULL, NULL, NULL, &error));
  g_assert_nonnull (strstr (error->message, "does not fit into memory"));
  g_unlink (tif);
  g_rmdir (folder);
}
#endif

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
  g_test_add_func ("/picture/soft-edges", test_soft_edges);
  g_test_add_func ("/picture/store", test_store);
  g_test_add_func ("/picture/store-reduced", test_store_reduced);
  g_test_add_func ("/picture/coarse-centre", test_coarse_centre);
  g_test_add_func ("/picture/undo", test_undo);
  g_test_add_func ("/picture/box", test_box);
  g_test_add_func ("/picture/quantiles", test_quantiles);
  g_test_add_func ("/picture/samples", test_samples);
  g_test_add_func ("/picture/difference", test_difference);
  g_test_add_func ("/picture/lengths", test_lengths);
  g_test_add_func ("/picture/lines", test_lines);
  g_test_add_func ("/picture/regions", test_regions);
  g_test_add_func ("/picture/colours", test_colours);
  g_test_add_func ("/picture/zoom-limits", test_zoom_limits);
  g_test_add_func ("/picture/half", test_half);
  g_test_add_func ("/picture/save", test_save);
  g_test_add_func ("/picture/overview", test_overview);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they map terabytes */
  g_test_add_func ("/picture/no-room", test_no_room);
#endif
  return g_test_run ();
}
