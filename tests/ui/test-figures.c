/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times, sizes, progress and places in words, on either side of where the words change. And the bar
   that says how long a length is. */
#include <math.h>

#include <pango/pangocairo.h>

#include "ui/quantity.h"
#include "ui/scale-bar.h"
#include "ui/scan-readout.h"

static void
test_durations (void)
{
  static const struct {
    double seconds;
    const char *text;
  } durations[] = {
    { 0, "less than 0.1 s" },  { 0.0499, "less than 0.1 s" },
    { 0.0501, "0.1 s" },       { 9.94, "9.9 s" },
    { 9.951, "10 s" },         { 59.4, "59 s" },
    { 59.5, "1 min 0 s" },     { 60, "1 min 0 s" },
    { 125.4, "2 min 5 s" },    { 3599.4, "59 min 59 s" },
    { 3599.5, "1 h 0 min" },   { 3659.4, "1 h 0 min" },
    { 3660, "1 h 1 min" },     { 86399, "23 h 59 min" },
    { 360000, "100 h 0 min" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (durations); i++) {
    g_autofree char *text = td_duration_text (durations[i].seconds);
    g_assert_cmpstr (text, ==, durations[i].text);
    g_autofree char *estimate = td_estimate_text (durations[i].seconds);
    g_assert_cmpstr (estimate, ==, i == 0 ? "not known yet" : durations[i].text);
  }
  g_autofree char *unknown = td_estimate_text (-1);
  g_assert_cmpstr (unknown, ==, "not known yet");
}

static void
test_moments (void)
{
  static const struct {
    double seconds;
    const char *text;
  } moments[] = {
    { 0, "less than 1 ms" }, { 0.00049, "less than 1 ms" },
    { 0.00051, "1 ms" },     { 0.0124, "12 ms" },
    { 2.5, "2500 ms" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (moments); i++) {
    g_autofree char *text = td_moment_text (moments[i].seconds);
    g_assert_cmpstr (text, ==, moments[i].text);
  }
}

static void
test_sizes (void)
{
  g_assert_cmpuint (td_bytes_from_gib (1.5), ==, 3ull << 29);
  g_assert_cmpfloat (td_gib_from_bytes (3ull << 29), ==, 1.5);
  g_assert_cmpuint (td_bytes_from_gib (0), ==, 0);
}

static void
test_progress (void)
{
  static const struct {
    TdJobProgress progress;
    const char *text;
  } moments[] = {
    { { .remaining_s = -1 }, "Preparing" },
    { { .n_slices = 8, .remaining_s = -1, .stage = "building kernels, once" },
      "Building kernels, once" },
    { { .n_slices = 8, .remaining_s = -1, .stage = "reading" }, "0 of 8 slices" },
    { { .n_slices = 8, .remaining_s = 3, .stage = "reading" }, "0 of 8 slices, 3.0 s left" },
    { { .n_slices = 8, .slices_done = 5, .remaining_s = 0, .stage = "reconstructing" },
      "5 of 8 slices, less than 0.1 s left" },
    { { .n_slices = 8, .slices_done = 5, .remaining_s = 3, .stage = "writing" },
      "Computed; 5 of 8 slices written" },
    { { .n_slices = 8, .n_passes = 20, .remaining_s = 3 }, "Iterating: first pass" },
    { { .n_slices = 8, .n_passes = 20, .pass = 1, .residual = 0.25, .remaining_s = -1 },
      "1 of 20 passes, residual 0.2500" },
    { { .n_slices = 8, .n_passes = 20, .pass = 7, .residual = 0.125, .remaining_s = 61 },
      "7 of 20 passes, residual 0.1250, 1 min 1 s left" },
    { { .n_slices = 8, .n_passes = 20, .pass = 20, .slices_done = 1, .remaining_s = -1 },
      "1 of 8 slices" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (moments); i++) {
    g_autofree char *text = td_progress_text (&moments[i].progress);
    g_assert_cmpstr (text, ==, moments[i].text);
  }
}

/* ── Lengths ── */

/* The bar is a round length, as long as fits into 28 hundredths of the width, or 180 pixels. */
static void
test_scale_bar (void)
{
  static const struct {
    double width, zoom, pixel_mm;
    const char *text; /* NULL: no bar */
    double bar;
  } bars[] = {
    { 1000, 1, 0, "100 px", 100 },     { 1000, 2, 0, "50 px", 100 },
    { 1000, 10, 0, "10 px", 100 },     { 1000, 40, 0, "2 px", 80 },
    { 1000, 36, 0, "5 px", 180 },      { 1000, 36.1, 0, "2 px", 72.2 },
    { 1000, 180, 0, "1 px", 180 },     { 1000, 181, 0, NULL, 0 },
    { 1000, 0.5, 0, "200 px", 100 },   { 1000, 1, 0.01, "1 mm", 100 },
    { 1000, 1, 0.001, "100 µm", 100 }, { 1000, 1, 1e-5, "1 µm", 100 },
    { 1000, 1, 1e-6, "100 nm", 100 },  { 1000, 181, 1e-3, "500 nm", 90.5 },
    { 1000, 1, 25, "2000 mm", 80 },    { 1000, 4, 0.05, "2 mm", 160 },
    { 1000, 1, 0.005, "500 µm", 100 }, { 1000, 1, 5e-6, "500 nm", 100 },
    { 300, 1, 0, "50 px", 50 },        { 140, 1, 0, "20 px", 20 },
    { 139.9, 1, 0, NULL, 0 },          { 642, 1, 0, "100 px", 100 },
    { 200, 1, 0.01, "500 µm", 50 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (bars); i++) {
    g_autofree char *text = NULL;
    const double bar = td_scale_bar (bars[i].width, bars[i].zoom, bars[i].pixel_mm, &text);
    g_test_message ("%u: %s, %g", i, text, bar);
    g_assert_cmpstr (text, ==, bars[i].text);
    g_assert_cmpfloat_with_epsilon (bar, bars[i].bar, 1e-9);
  }
}

enum { CANVAS_WIDTH = 300, CANVAS_HEIGHT = 120 };

/* Alpha, and white, of a pixel of what is drawn on nothing. */
static guint
canvas_at (cairo_surface_t *surface, int x, int y, guint byte)
{
  return cairo_image_surface_get_data (
      surface)[y * cairo_image_surface_get_stride (surface) + 4 * x + (int) byte];
}

/* A dark box in the lower corner, the length in words, and below them the bar, both in its middle.
 */
static void
test_scale_bar_drawn (void)
{
  static const int bars[] = { 160, 8 }; /* longer than its words, and shorter */

  for (guint i = 0; i < G_N_ELEMENTS (bars); i++) {
    cairo_surface_t *surface
        = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, CANVAS_WIDTH, CANVAS_HEIGHT);
    cairo_t *cr = cairo_create (surface);
    g_autoptr (PangoLayout) layout = pango_cairo_create_layout (cr);
    int tw, th, ink[4] = { CANVAS_WIDTH, CANVAS_HEIGHT, -1, -1 };
    pango_layout_set_text (layout, "500 µm", -1);
    pango_layout_get_pixel_size (layout, &tw, &th);
    td_scale_bar_draw (cr, CANVAS_HEIGHT, bars[i], layout);
    cairo_destroy (cr);
    cairo_surface_flush (surface);
    for (int y = 0; y < CANVAS_HEIGHT; y++)
      for (int x = 0; x < CANVAS_WIDTH; x++)
        if (canvas_at (surface, x, y, 3) > 0) {
          ink[0] = MIN (ink[0], x);
          ink[1] = MIN (ink[1], y);
          ink[2] = MAX (ink[2], x);
          ink[3] = MAX (ink[3], y);
        }
    const int box = MAX (bars[i], tw) + 16, top = CANVAS_HEIGHT - th - 24;
    g_test_message ("%d %d %d %d of %d, %d", ink[0], ink[1], ink[2], ink[3], box, top);
    g_assert_true (ink[0] == 10 && ink[2] == 10 + box - 1);
    g_assert_true (ink[1] == top && ink[3] == top + th + 14 - 1);
    g_assert_cmpuint (canvas_at (surface, 10, top, 3), <, 70); /* round corners */
    g_assert_cmpuint (canvas_at (surface, 10 + box - 1, ink[3], 3), <, 70);
    g_assert_cmpuint (canvas_at (surface, 10, ink[3], 3), <, 70);
    g_assert_cmpuint (canvas_at (surface, 10 + box - 1, top, 3), <, 70);
    const int from = 10 + (box - bars[i]) / 2, to = from + bars[i];
    for (int x = 18; x < 10 + box - 8; x++)
      for (int y = top + th + 3; y < top + th + 12; y++) {
        const gboolean on = y >= top + th + 6 && y < top + th + 9;
        if (x == from - 1 || x == to) /* half a pixel may be covered */
          continue;
        g_assert_cmpint (canvas_at (surface, x, y, 0) > 200, ==, on && x >= from && x < to);
      }
    int words[2] = { CANVAS_WIDTH, -1 };
    for (int y = top + 1; y < top + th + 2; y++)
      for (int x = 10; x < 10 + box; x++)
        if (canvas_at (surface, x, y, 0) > 100) {
          words[0] = MIN (words[0], x);
          words[1] = MAX (words[1], x);
        }
    g_assert_cmpint (ABS (words[0] - 10 - (10 + box - 1 - words[1])), <, 4);
    g_assert_cmpint (words[1] - words[0], >, tw / 2);
    cairo_surface_destroy (surface);
  }
}

/* ── What is under the pointer ── */

static void
test_readouts (void)
{
  static double angles[] = { 0, G_PI / 4, G_PI / 2, 3 * G_PI / 4 };
  static const struct {
    double pixel_mm, column, row;
    float value;
    const char *projection, *sinogram, *slice;
  } places[] = {
    { 0, 3.25, 1.5, 0.125f, "column 3.2  row 1.5  0.125", "column 3.2  view 2 (90.00°)  0.125",
      "x -1.2 px  y 2.0 px  (3, 2)  0.125 1/px" },
    { 0.5, 3.25, 1.5, 1.0f / 3,
      "column\u00a03.2 (1.625\u00a0mm)  row\u00a01.5 (0.375\u00a0mm)  0.33333",
      "column 3.2  view 2 (90.00°)  0.33333", "x -0.625 mm  y 1.000 mm  (3, 2)  0.33333 1/px" },
    { 0.5, 0, -0.4, 2, "column\u00a00.0 (0.000\u00a0mm)  row\u00a0-0.4 (-0.100\u00a0mm)  2",
      "column 0.0  view 0 (0.00°)  2", "x -2.250 mm  y 1.950 mm  (0, -0)  2 1/px" },
    { 0, 9, 7, 12345.678f, "column 9.0  row 7.0  12346", "column 9.0  view 3 (135.00°)  12346",
      "x 4.5 px  y -3.5 px  (9, 7)  12346 1/px" },
    { 0, 9, 0.5, -1, "column 9.0  row 0.5  -1", "column 9.0  view 1 (45.00°)  -1",
      "x 4.5 px  y 3.0 px  (9, 0)  -1 1/px" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (places); i++) {
    g_autofree float *projections = g_new0 (float, 4 * 2 * 10);
    TdSliceReadout slice
        = { .width = 10, .height = 8, .pixel_mm = places[i].pixel_mm, .units = "1/px" };
    TdScanFacts facts = { .path = (char *) "memory",
                          .format = "memory",
                          .title = (char *) "memory",
                          .n_columns = 10,
                          .n_rows = 2,
                          .n_views = 4,
                          .sample_type = TD_SAMPLE_FLOAT32,
                          .angles_rad = angles,
                          .centre_px = NAN };
    td_geometry_init_parallel (&facts.geometry);
    facts.geometry.pixel_width_mm = places[i].pixel_mm;
    facts.geometry.pixel_height_mm = places[i].pixel_mm / 2;
    g_autoptr (TdScan) scan = td_scan_new_from_memory (&facts, projections, NULL, NULL, NULL, NULL);
    const double column = places[i].column, row = places[i].row;
    g_autofree char *projection = td_projection_readout (scan, column, row, &places[i].value);
    g_autofree char *sinogram = td_sinogram_readout (scan, column, row, &places[i].value);
    g_autofree char *in_slice = td_slice_readout (&slice, column, row, &places[i].value);
    g_assert_cmpstr (projection, ==, places[i].projection);
    g_assert_cmpstr (sinogram, ==, places[i].sinogram);
    g_assert_cmpstr (in_slice, ==, places[i].slice);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/figures/durations", test_durations);
  g_test_add_func ("/figures/moments", test_moments);
  g_test_add_func ("/figures/sizes", test_sizes);
  g_test_add_func ("/figures/progress", test_progress);
  g_test_add_func ("/figures/scale-bar", test_scale_bar);
  g_test_add_func ("/figures/scale-bar-drawn", test_scale_bar_drawn);
  g_test_add_func ("/figures/readouts", test_readouts);
  return g_test_run ();
}
