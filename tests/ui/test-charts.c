/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What small charts draw and where: profiles, residuals, the answers of the axis' search, and the
   histogram, by which a hand sets the contrast. */
#include <math.h>
#include <string.h>

#include <adwaita.h>

#include "ui-test.h"
#include "ui/axis-plot.h"
#include "ui/histogram.h"
#include "ui/lab-chart.h"
#include "ui/lab-table.h"
#include "ui/profile.h"
#include "ui/residual-curve.h"
#include "ui/ui.h"
#include "window-pins.h"
#include "window-test.h"

/* ── Pixels ── */

typedef struct {
  GtkWidget *window, *chart;
  guint8 *pixels; /* four bytes each */
  guint width, height;
} Chart;

/* Takes @widget and shows it. */
static void
chart_init (Chart *chart, GtkWidget *widget, guint width, guint height)
{
  *chart = (Chart) { .window = gtk_window_new (), .chart = widget };
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  gtk_widget_set_size_request (widget, (int) width, (int) height);
  gtk_widget_set_halign (widget, GTK_ALIGN_START);
  gtk_box_append (GTK_BOX (box), widget);
  gtk_window_set_child (GTK_WINDOW (chart->window), box);
  gtk_window_present (GTK_WINDOW (chart->window));
}

static void
chart_see (Chart *chart)
{
  g_autoptr (GBytes) png = td_test_picture_at_rest (chart->chart);
  g_autoptr (GError) error = NULL;
  g_autoptr (GdkTexture) texture = gdk_texture_new_from_bytes (png, &error);

  g_assert_no_error (error);
  chart->width = (guint) gdk_texture_get_width (texture); /* without what is around it */
  chart->height = (guint) gdk_texture_get_height (texture);
  g_free (chart->pixels);
  chart->pixels = g_malloc (4 * (gsize) chart->width * chart->height);
  gdk_texture_download (texture, chart->pixels, 4 * (gsize) chart->width);
}

/* The same, and it is kept. */
static void
chart_look (Chart *chart)
{
  static guint n_looks;
  g_autofree char *place = g_strdup_printf ("look-%u", ++n_looks);

  chart_see (chart);
  td_test_pin_window (place, chart->chart);
}

static void
chart_clear (Chart *chart)
{
  gtk_window_destroy (GTK_WINDOW (chart->window));
  g_free (chart->pixels);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Chart, chart_clear)

static const guint8 *
chart_pixel (const Chart *chart, double x, double y)
{
  g_assert_true (x >= 0 && x < chart->width && y >= 0 && y < chart->height);
  return chart->pixels + 4 * ((gsize) y * chart->width + (gsize) x);
}

/* How much a pixel differs from where nothing is: 0 to 255. */
static guint
chart_ink (const Chart *chart, double x, double y)
{
  const guint8 *pixel = chart_pixel (chart, x, y);
  guint most = 0;

  for (guint i = 0; i < 4; i++)
    most = MAX (most, pixel[i]); /* nothing is drawn as 0, 0, 0, 0 */
  return most;
}

/* The most ink at @x from @from to @to. */
static guint
chart_ink_down (const Chart *chart, double x, double from, double to)
{
  guint most = 0;

  for (double y = from; y <= to; y++)
    most = MAX (most, chart_ink (chart, x, y));
  return most;
}

/* ── Profiles ── */

/* Row 4 is drawn below its pixels, from the least value to the largest, with a gap where there is
   no number. Zero and the marked column are faint lines. */
static void
test_profile (void)
{
  enum { COLUMNS = 60, ROWS = 10, WIDTH = 600, HEIGHT = 84, GAP = 50, MARKED = 45 };
  const TdView view = { .zoom = 10 };
  TdProfile *profile = g_object_new (TD_TYPE_PROFILE, NULL);
  g_auto (Chart) chart = { 0 };

  chart_init (&chart, GTK_WIDGET (profile), WIDTH, HEIGHT);
  for (guint zero = 0; zero < 2; zero++) {
    float *pixels = g_new (float, COLUMNS *ROWS);
    for (guint i = 0; i < COLUMNS * ROWS; i++)
      pixels[i] = (float) (i % COLUMNS) + 1 - 21.f * zero + 1000 * ((float) (i / COLUMNS) - 4);
    pixels[4 * COLUMNS + GAP] = NAN;
    g_autoptr (TdImage) image = td_image_new_take (pixels, COLUMNS, ROWS);
    td_profile_show (profile, image, &view, 4, MARKED);
    chart_look (&chart);
    for (guint c = 31; c < COLUMNS; c++) { /* right of the words */
      const double y = HEIGHT - 5 - c * (HEIGHT - 10) / 59.0;
      const double x = 10 * c + 5;
      g_assert_cmpint (chart_ink_down (&chart, x, y - 1.5, y + 1.5) > 90, ==, c != GAP);
      if (fabs (y - 58) > 8 && c != MARKED) /* zero */
        g_assert_cmpuint (chart_ink_down (&chart, x, MAX (y - 6, 0), y - 4), <, 30);
    }
    const guint mark = chart_ink (&chart, 10 * MARKED + 5, 81);
    g_assert_true (mark > 30 && mark < 120);
    g_assert_cmpuint (chart_ink (&chart, 10 * MARKED + 8, 81), ==, 0);
    /* 20 of 59 steps above the foot. */
    const guint line = chart_ink_down (&chart, 580, 52, 56);
    g_assert_true (zero ? line > 30 && line < 120 : line == 0);
    g_assert_cmpuint (chart_ink_down (&chart, 580, 20, 51), ==, 0);
    g_assert_cmpuint (chart_ink_down (&chart, 580, 57, HEIGHT - 1), ==, 0);
  }
  td_profile_show (profile, NULL, &view, 4, MARKED);
}

/* ── The lab ── */

/* Numbers, titles and names have room, however large letters are: nothing goes over an edge, and
   names stand below each other. */
static void
test_lab_large (void)
{
  enum { WIDTH = 620, HEIGHT = 260, N = 5 };
  static const int sizes[] = { 13, 26 }; /* of letters */
  TdLabPlot *plot = td_lab_plot_new ("", "pixels along the line", "RMS difference");
  TdLabChart *widget = g_object_new (TD_TYPE_LAB_CHART, NULL);
  g_auto (Chart) chart = { 0 };

  plot->y_log = TRUE;
  for (int i = 0; i < N; i++) {
    TdLabSeries *series
        = td_lab_plot_add (plot, "Interpolation: nearest", td_lab_plot_colour (i), 2);
    for (guint k = 0; k < 2; k++) {
      series->x[k] = 250 * k;
      series->y[k] = k ? 1e-3 : 2e-9;
    }
  }
  td_lab_plot_fit (plot);
  td_lab_chart_take (widget, plot);
  gtk_widget_set_name (GTK_WIDGET (widget), "large");
  chart_init (&chart, GTK_WIDGET (widget), WIDTH, HEIGHT);
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++) {
    g_autoptr (GtkCssProvider) provider = gtk_css_provider_new ();
    g_autofree char *css = g_strdup_printf ("#large { font-size: %dpx; }", sizes[i]);
    guint rows = 0, gaps = 0;
    gtk_css_provider_load_from_data (provider, css, -1);
    gtk_style_context_add_provider_for_display (gtk_widget_get_display (chart.chart),
                                                GTK_STYLE_PROVIDER (provider),
                                                GTK_STYLE_PROVIDER_PRIORITY_USER);
    chart_look (&chart);
    g_assert_cmpuint (chart_ink_down (&chart, 0, 0, chart.height - 1), ==, 0);
    g_assert_cmpuint (chart_ink_down (&chart, chart.width - 1, 0, chart.height - 1), ==, 0);
    for (guint x = 0; x < chart.width; x++)
      g_assert_cmpuint (chart_ink (&chart, x, chart.height - 1), ==, 0);
    /* Lines of names: rows of pixels with letters, and one without between two of them. */
    gboolean inked = FALSE;
    for (guint y = 0; y < chart.height; y++) {
      gboolean ink = FALSE;
      for (guint x = chart.width - 60; x < chart.width; x++)
        ink |= chart_ink (&chart, x, y) > 60;
      rows += ink && !inked;
      gaps += !ink && inked;
      inked = ink;
    }
    g_assert_cmpuint (rows, ==, N);
    g_assert_cmpuint (gaps, ==, N);
    gtk_style_context_remove_provider_for_display (gtk_widget_get_display (chart.chart),
                                                   GTK_STYLE_PROVIDER (provider));
  }
}

/* Names that differ in their middle alone are told apart where the chart is narrow. */
static void
test_long_names (void)
{
  static const char *const names[]
      = { "Precision: single storage (16 bits)", "Precision: halved storage (16 bits)" };
  enum { WIDTH = 400, HEIGHT = 160 };
  TdLabChart *widget = g_object_new (TD_TYPE_LAB_CHART, NULL);
  g_auto (Chart) chart = { 0 };
  g_autoptr (GBytes) first = NULL;

  chart_init (&chart, GTK_WIDGET (widget), WIDTH, HEIGHT);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    TdLabPlot *plot = td_lab_plot_new ("", "x", "y");
    TdLabSeries *series = td_lab_plot_add (plot, names[i], td_lab_plot_colour (0), 1);
    series->x[0] = series->y[0] = 1;
    td_lab_plot_fit (plot);
    td_lab_chart_take (widget, plot);
    chart_look (&chart);
    g_autoptr (GBytes) seen = g_bytes_new (chart.pixels, 4 * (gsize) chart.width * chart.height);
    if (first)
      g_assert_false (g_bytes_equal (first, seen));
    else
      first = g_steal_pointer (&seen);
  }
}

static guint32 colours[3];

/* Whether a pixel has the colour of a series. */
static gboolean
chart_is_of (const Chart *chart, guint x, guint y, guint32 colour)
{
  const guint8 *pixel = chart_pixel (chart, x, y);

  return pixel[3] == 255 && abs (pixel[2] - (int) (colour >> 16)) < 4
         && abs (pixel[1] - (int) (colour >> 8 & 255)) < 4
         && abs (pixel[0] - (int) (colour & 255)) < 4;
}

/* The middle of the pixels of that colour from column @from to the one before @to; how many. */
static guint
chart_middle (const Chart *chart, guint32 colour, guint from, guint to, double middle[2])
{
  guint n = 0;

  middle[0] = middle[1] = 0;
  for (guint y = 0; y < chart->height; y++)
    for (guint x = from; x < to; x++)
      if (chart_is_of (chart, x, y, colour)) {
        middle[0] += x + 0.5;
        middle[1] += y + 0.5;
        n++;
      }
  middle[0] /= n;
  middle[1] /= n;
  return n;
}

static void
on_dot_picked (TdLabChart *chart, guint series, guint *which)
{
  *which = series;
}

/* Two series of dots and a dashed line, which is none to pick, with a gap. */
static TdLabPlot *
lab_plot (void)
{
  static const struct {
    guint n;
    double x[4], y[4];
  } all[] = { { 2, { 10, 90 }, { 1, 100 } },
              { 1, { 30 }, { 10 } },
              { 4, { 0, 45, 65, 100 }, { 3, 3, NAN, 3 } } };
  TdLabPlot *plot = td_lab_plot_new ("", "x", "y");

  plot->y_log = TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (all); i++) {
    TdLabSeries *series
        = td_lab_plot_add (plot, "Name", colours[i] = td_lab_plot_colour ((int) i), all[i].n);
    memcpy (series->x, all[i].x, all[i].n * sizeof (double));
    memcpy (series->y, all[i].y, all[i].n * sizeof (double));
    series->dots = i < 2;
    series->dashed = i == 2;
  }
  td_lab_plot_fit (plot);
  return plot;
}

/* Dots lie by their numbers, y upwards and by its logarithm. Who points at one is told its values,
   who presses on it picks its series; names have the colours. */
static void
test_lab (void)
{
  enum { WIDTH = 400, HEIGHT = 240 };
  TdLabChart *widget = g_object_new (TD_TYPE_LAB_CHART, NULL);
  GtkEventController *motion = NULL, *click = NULL;
  double squares[3][2], dots[2][2], left[2], right[2];
  guint picked = 9, legend = WIDTH;
  g_auto (Chart) chart = { 0 };

  td_lab_chart_take (widget, lab_plot ());
  g_signal_connect (widget, "picked", G_CALLBACK (on_dot_picked), &picked);
  chart_init (&chart, GTK_WIDGET (widget), WIDTH, HEIGHT);
  chart_look (&chart);
  while (chart_middle (&chart, colours[0], legend - 1, legend, left) == 0)
    legend--;
  legend -= 9; /* a square's width */
  for (guint i = 0; i < 3; i++) {
    g_assert_cmpuint (chart_middle (&chart, colours[i], legend, legend + 9, squares[i]), >, 60);
    g_assert_true (i == 0 || squares[i][1] > squares[i - 1][1] + 9);
  }
  chart_middle (&chart, colours[0], 0, legend / 2, left);
  chart_middle (&chart, colours[0], legend / 2, legend, right);
  g_assert_true (right[0] - left[0] > 100 && left[1] - right[1] > 60);
  chart_middle (&chart, colours[1], 0, legend, dots[1]);
  g_assert_cmpfloat_with_epsilon (dots[1][0], left[0] + (right[0] - left[0]) / 4, 0.6);
  g_assert_cmpfloat_with_epsilon (dots[1][1], (left[1] + right[1]) / 2, 0.6);
  /* The line, and nothing where there is no number. */
  const double step = (right[0] - left[0]) / 80;
  const double y = left[1] + (right[1] - left[1]) * log10 (3) / 2;
  guint inked = 0, n = 0, gap = 0;
  for (double x = left[0]; x < left[0] + 34 * step; x++, n++)
    inked += chart_ink_down (&chart, x, y - 1, y + 1) > 150;
  for (double x = left[0] + 37 * step; x < right[0]; x++)
    gap += chart_ink_down (&chart, x, y - 1, y + 1) > 150;
  g_test_message ("%u of %u dashed, %u in the gap", inked, n, gap);
  g_assert_true (inked > 0.35 * n && inked < 0.8 * n && gap == 0);

  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (GTK_WIDGET (widget));
  for (guint i = 0; i < g_list_model_get_n_items (controllers); i++) {
    g_autoptr (GtkEventController) one = g_list_model_get_item (controllers, i);
    if (GTK_IS_GESTURE_CLICK (one))
      click = one;
    else
      motion = one;
  }
  g_signal_emit_by_name (motion, "motion", left[0] + 3, left[1]);
  chart_look (&chart);
  g_assert_cmpuint (chart_ink (&chart, left[0] + 7, left[1]), >, 90); /* a ring round it */
  /* The nearest dot has it, and no other; far from all, and on a new plot, none. */
  const double line[2] = { left[0] + 35 * step, y };
  const struct {
    double x, y;
    gboolean near;
  } places[] = { { dots[1][0] + 9, dots[1][1] - 5, TRUE },
                 { line[0], line[1], TRUE },
                 { right[0], left[1], FALSE } };
  for (guint i = 0; i < G_N_ELEMENTS (places); i++) {
    g_signal_emit_by_name (motion, "motion", places[i].x, places[i].y);
    chart_see (&chart);
    g_assert_cmpint (chart_ink (&chart, dots[1][0] + 7, dots[1][1]) > 90, ==, places[i].near);
    g_assert_cmpuint (chart_ink (&chart, left[0] + 7, left[1]), <, 90);
    g_assert_cmpuint (chart_ink (&chart, line[0], line[1] - 7), <, 90);
    g_assert_cmpuint (chart_ink (&chart, right[0] - 7, right[1]), <, 90);
  }
  g_signal_emit_by_name (motion, "motion", right[0], right[1]);
  td_lab_chart_take (widget, lab_plot ());
  chart_see (&chart);
  g_assert_cmpuint (chart_ink (&chart, right[0] - 7, right[1]), <, 90);
  g_signal_emit_by_name (motion, "motion", left[0] + 3, left[1]);
  g_signal_emit_by_name (motion, "leave");
  chart_look (&chart);
  g_assert_cmpuint (chart_ink (&chart, left[0] + 7, left[1] - 0.5), <, 90);
  g_signal_emit_by_name (click, "released", 1, right[0], right[1] + 13);
  g_assert_cmpuint (picked, ==, 0);
  g_signal_emit_by_name (click, "released", 1, dots[1][0] - 9, dots[1][1] - 9);
  g_assert_cmpuint (picked, ==, 1);
  picked = 9;
  g_signal_emit_by_name (click, "released", 1, dots[1][0], dots[1][1] - 15);
  g_signal_emit_by_name (click, "released", 1, dots[1][0] + 30, y); /* on the line */
  g_assert_cmpuint (picked, ==, 9);
}

/* ── Residuals ── */

/* By their logarithms, from the largest to the least, a tenth of a decade at least; as far across
   as passes were made. */
static void
test_residuals (void)
{
  static const struct {
    double values[3];
    guint n, n_passes;
    double x[3], y[3];
    const char *says;
  } cases[] = {
    { { 1, 0.1, 0.01 }, 3, 5, { 8, 56, 104 }, { 8, 28, 48 }, "after 3 of 5 passes: 0.0100" },
    { { 0.01, 1, 0.1 }, 3, 3, { 8, 104, 200 }, { 48, 8, 28 }, "after 3 of 3 passes: 0.1000" },
    { { 1, 0.95 }, 2, 2, { 8, 200 }, { 8, 8 + 40 * 0.2228 }, "after 2 of 2 passes: 0.9500" },
    { { 1, 1e-6, 0 }, 3, 3, { 8, 104, 200 }, { 8, 28, 48 }, "after 3 of 3 passes: 0.0000" },
    { { 0.5 }, 1, 1, { 8 }, { 8 }, "after 1 of 1 passes" },
    { { 0.5, 0.25 }, 2, 1, { 8, 200 }, { 8, 48 }, "after 2 of 2 passes" }, /* more than planned */
  };
  GtkDrawingArea *curve = GTK_DRAWING_AREA (gtk_drawing_area_new ());
  g_auto (Chart) chart = { 0 };

  chart_init (&chart, GTK_WIDGET (curve), 208, 56);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GArray) values = g_array_new (FALSE, FALSE, sizeof (double));
    g_array_append_vals (values, cases[i].values, cases[i].n);
    td_residual_curve_set (curve, values, cases[i].n_passes);
    g_assert_true (gtk_widget_get_visible (GTK_WIDGET (curve)));
    g_assert_nonnull (strstr (gtk_widget_get_tooltip_text (GTK_WIDGET (curve)), cases[i].says));
    chart_look (&chart);
    g_test_message ("%u", i);
    for (guint k = 0; k < cases[i].n; k++) {
      g_assert_cmpuint (chart_ink (&chart, cases[i].x[k], cases[i].y[k]), >, 150);
      g_assert_cmpuint (chart_ink (&chart, cases[i].x[k],
                                   cases[i].y[k] > 28 ? cases[i].y[k] - 9 : cases[i].y[k] + 9),
                        <, 60);
    }
    for (guint k = 0; k + 1 < cases[i].n; k++) { /* and a line between them */
      const double x = (cases[i].x[k] + cases[i].x[k + 1]) / 2;
      const double y = (cases[i].y[k] + cases[i].y[k + 1]) / 2;
      g_assert_cmpuint (chart_ink_down (&chart, x, y - 1, y + 1), >, 90);
    }
    const double last = cases[i].x[cases[i].n - 1];
    for (double x = last + 4; x < 208; x++)
      g_assert_cmpuint (chart_ink_down (&chart, x, 0, 55), ==, 0);
  }
  td_residual_curve_set (curve, NULL, 5);
  g_assert_false (gtk_widget_get_visible (GTK_WIDGET (curve)));
}

/* ── The axis ── */

static guint picked = G_MAXUINT;

static void
on_picked (TdAxisPlot *plot, guint index)
{
  picked = index;
}

/* An axis that leans is drawn through its columns at the top and at the foot. */
static void
assert_leans (const Chart *chart, double centre, double tilt_deg, guint n_rows)
{
  const TdAxisLine line = td_axis_line (centre, tilt_deg, n_rows);

  for (guint side = 0; side < 2; side++) {
    guint most = 0, beside = 0;
    for (guint y = side ? 80 : 12; y < (side ? 90 : 22); y++) { /* more than a dash */
      const double row = (y + 0.5 - 5) / 94 * n_rows - 0.5;
      const double x = 10 + (td_axis_line_at (&line, row) - 58.5) / 13 * (chart->width - 20.);
      most = MAX (most, chart_ink (chart, x, y));
      beside = MAX (beside, chart_ink (chart, x + (tilt_deg > 0) * 30 - 15, y));
    }
    g_test_message ("%g°: %u, beside %u", tilt_deg, most, beside);
    g_assert_true (most > 100 && beside < 80);
  }
}

/* Answers stand at their row and column, full where they were used; the nearest is taken. */
static void
test_axis (void)
{
  enum { WIDTH = 280, HEIGHT = 120, ROWS = 101 };
  TdAxisTrial trials[] = {
    { TD_AXIS_CORRELATION, 20, 60, 0.9, 0.1, TRUE },
    { TD_AXIS_FOURIER, 80, 70, 0.9, 0.1, TRUE },
    { TD_AXIS_SHARPNESS, 50, 62.5, 0.9, 0.1, FALSE },
    { TD_AXIS_OVERLAP, 65, 1000, 0.9, 0.1, FALSE }, /* at the edge */
    { TD_AXIS_OVERLAP, 40, NAN, 0, NAN, FALSE },
  };
  TdAxisResult result = { .centre_px = 66,
                          .uncertainty_px = 0.5,
                          .middle_row = 50,
                          .known_row = 50,
                          .agreed = TRUE,
                          .trials = trials,
                          .n_trials = G_N_ELEMENTS (trials) };
  TdAxisPlot *plot = g_object_new (TD_TYPE_AXIS_PLOT, NULL);
  g_auto (Chart) chart = { 0 };
  double x[4], y[4];

  chart_init (&chart, GTK_WIDGET (plot), WIDTH, HEIGHT);
  g_signal_connect (plot, "trial-picked", G_CALLBACK (on_picked), NULL);
  td_axis_plot_set_result (plot, &result, ROWS);
  td_axis_plot_set_centre (plot, 64, 0);
  chart_look (&chart);
  for (guint i = 0; i < 4; i++) { /* from 58.5 to 71.5, which are 0.15 of ten columns more */
    x[i] = 10 + CLAMP ((trials[i].centre_px - 58.5) / 13, 0, 1) * (WIDTH - 20);
    y[i] = 5 + (trials[i].row + 0.5) / ROWS * 94;
    const guint middle = chart_ink (&chart, x[i], y[i]);
    g_test_message ("%u: %g, %g: %u", i, x[i], y[i], middle);
    g_assert_cmpint (middle > 120, ==, trials[i].used);
    g_assert_cmpuint (chart_ink (&chart, x[i], y[i] - 3.5), >, 80);
    g_assert_cmpuint (chart_ink_down (&chart, x[i], y[i] + 6, y[i] + 7), ==, 0);
  }
  const double at = 10 + 7.5 / 13 * (WIDTH - 20), set = 10 + 5.5 / 13 * (WIDTH - 20);
  g_assert_cmpuint (chart_ink (&chart, at, 50), >, 100);
  g_assert_true (chart_ink (&chart, at - 4, 50) > 10 && chart_ink (&chart, at - 4, 50) < 80);
  g_assert_true (chart_ink (&chart, at + 4, 50) > 10 && chart_ink (&chart, at + 4, 50) < 80);
  g_assert_cmpuint (chart_ink (&chart, at + 12, 50), ==, 0); /* half a column is 10 pixels */
  g_assert_cmpuint (chart_ink_down (&chart, set, 20, 30), >, 100);
  g_assert_cmpuint (chart_ink_down (&chart, set - 3, 20, 30), ==, 0);
  for (int sign = -1; sign <= 1; sign += 2) {
    result.tilt_deg = 0.6 * sign;
    td_axis_plot_set_centre (plot, 62, 1.2 * sign);
    chart_see (&chart);
    assert_leans (&chart, 62, 1.2 * sign, ROWS);
    assert_leans (&chart, 66, 0.6 * sign, ROWS);
  }
  result.tilt_deg = 0;
  td_axis_plot_set_centre (plot, 80, 0); /* outside */
  chart_look (&chart);
  g_assert_cmpuint (chart_ink_down (&chart, set, 20, 30), ==, 0);

  /* The ends are told, the lower one on the left: it has a figure less here. */
  for (guint i = 0; i < G_N_ELEMENTS (trials); i++)
    trials[i].centre_px -= 50;
  td_axis_plot_set_result (plot, &result, ROWS);
  chart_look (&chart);
  int ends[2] = { 0, WIDTH - 1 };
  for (int c = 0; c < WIDTH / 4; c++) {
    if (chart_ink_down (&chart, c, HEIGHT - 12, HEIGHT - 4) > 60)
      ends[0] = c;
    if (chart_ink_down (&chart, WIDTH - 1 - c, HEIGHT - 12, HEIGHT - 4) > 60)
      ends[1] = c;
  }
  g_test_message ("%d and %d columns of figures", ends[0], ends[1]);
  g_assert_true (ends[0] > 10 && ends[1] > ends[0] + 3);
  for (guint i = 0; i < G_N_ELEMENTS (trials); i++)
    trials[i].centre_px += 50;
  td_axis_plot_set_result (plot, &result, ROWS);

  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (GTK_WIDGET (plot));
  g_autoptr (GtkEventController) click = g_list_model_get_item (controllers, 0);
  static const struct {
    guint of;
    double right, down;
    guint picked;
  } clicks[] = { { 0, 0, 0, 0 },          { 1, 9, 9, 1 },     { 2, 0, 13, 2 },
                 { 3, -5, 5, 3 },         { 0, -13.5, 0, 0 }, { 0, 0, -14.5, G_MAXUINT },
                 { 2, -15, 0, G_MAXUINT } };
  for (guint i = 0; i < G_N_ELEMENTS (clicks); i++) {
    picked = G_MAXUINT;
    g_signal_emit_by_name (click, "pressed", 1, x[clicks[i].of] + clicks[i].right,
                           y[clicks[i].of] + clicks[i].down);
    g_assert_cmpuint (picked, ==, clicks[i].picked);
  }
}

/* ── The histogram ── */

typedef struct {
  double low, high;
  guint changes, automatic;
} Range;

static void
on_range (TdHistogram *histogram, double low, double high, Range *range)
{
  range->low = low;
  range->high = high;
  range->changes++;
}

static void
on_automatic (TdHistogram *histogram, Range *range)
{
  range->automatic++;
}

static GtkEventController *
controller_of (TdHistogram *histogram, GType type)
{
  g_autoptr (GListModel) all = gtk_widget_observe_controllers (GTK_WIDGET (histogram));

  for (guint i = 0; i < g_list_model_get_n_items (all); i++) {
    g_autoptr (GtkEventController) one = g_list_model_get_item (all, i);
    if (G_TYPE_CHECK_INSTANCE_TYPE (one, type))
      return one; /* the widget's */
  }
  g_assert_not_reached ();
}

#define LOW 10.0
#define HIGH 40.0

/* Handles are dragged, each or both, and keys move or widen the range. It never turns round. */
static void
test_histogram (void)
{
  enum { COLUMNS = 60, ALL = 3 };
  static const struct {
    double at, by; /* pixels; from the low handle if @from_high is 0 */
    gboolean from_high;
    double low, high; /* pixels by which they move; NAN: to where the pointer is */
  } drags[] = {
    { 0, 20, FALSE, 20, 0 },    { 7.5, -20, FALSE, -12.5, 0 }, { -30, 0.5, FALSE, -29.5, 0 },
    { 8.5, 20, FALSE, 20, 20 }, { -8.5, -15, TRUE, -15, -15 }, { -7.5, 10, TRUE, 0, 2.5 },
    { 0, -20, TRUE, 0, -20 },   { 25, 5, TRUE, 0, 30 },        { 0, 200, FALSE, 0, 0 },
    { 0, -200, TRUE, 0, 0 },
  };
  static const struct {
    guint key;
    GdkModifierType state;
    double low, high; /* steps */
  } keys[] = {
    { GDK_KEY_Right, 0, 1, 1 },
    { GDK_KEY_Left, 0, -1, -1 },
    { GDK_KEY_Right, GDK_SHIFT_MASK, -1, 1 },
    { GDK_KEY_Left, GDK_SHIFT_MASK, 1, -1 },
    { GDK_KEY_Up, 0, 0, 0 },
  };
  TdHistogram *histogram = g_object_new (TD_TYPE_HISTOGRAM, NULL);
  float *pixels = g_new (float, COLUMNS *COLUMNS);
  g_auto (Chart) chart = { 0 };
  Range range = { 0 };

  for (guint i = 0; i < COLUMNS * COLUMNS; i++)
    pixels[i] = (float) (i % COLUMNS);
  g_autoptr (TdImage) image = td_image_new_take (pixels, COLUMNS, COLUMNS);
  chart_init (&chart, GTK_WIDGET (histogram), 300, 60);
  td_histogram_set_image (histogram, image);
  td_histogram_set_range (histogram, LOW, HIGH);
  chart_look (&chart);
  const double room = 0.04 * ((double) image->bins_high - image->bins_low);
  const double from = image->bins_low - room;
  const double pixel = (image->bins_high + room - from) / chart.width;
  const double x0 = (LOW - from) / pixel, x1 = (HIGH - from) / pixel;
  const guint8 *table = td_colour_map_table (0);
  for (guint i = 0; i < 3; i++) { /* the strip: the colours, as the screen has them */
    g_assert_cmpuint (chart_pixel (&chart, x0 - 3, chart.height - 2)[i], ==, table[2 - i]);
    g_assert_cmpuint (chart_pixel (&chart, x1 + 3, chart.height - 2)[i], ==,
                      table[4 * 255 + 2 - i]);
  }
  g_signal_connect (histogram, "range-changed", G_CALLBACK (on_range), &range);
  g_signal_connect (histogram, "auto-requested", G_CALLBACK (on_automatic), &range);
  GtkEventController *drag = controller_of (histogram, GTK_TYPE_GESTURE_DRAG);
  for (guint i = 0; i < G_N_ELEMENTS (drags); i++) {
    const double at = (drags[i].from_high ? x1 : x0) + drags[i].at;

    range = (Range) { LOW, HIGH, 0, 0 };
    td_histogram_set_range (histogram, LOW, HIGH);
    g_signal_emit_by_name (drag, "drag-begin", at, 30.0);
    g_signal_emit_by_name (drag, "drag-update", drags[i].by, 0.0);
    g_signal_emit_by_name (drag, "drag-end", drags[i].by, 0.0);
    g_test_message ("%u: %g to %g", i, range.low, range.high);
    g_assert_cmpfloat_with_epsilon (range.low, LOW + drags[i].low * pixel, 1e-6);
    g_assert_cmpfloat_with_epsilon (range.high, HIGH + drags[i].high * pixel, 1e-6);
    g_assert_cmpuint (range.changes, ==, drags[i].low != 0 || drags[i].high != 0);
    g_signal_emit_by_name (drag, "drag-update", 3.0, 0.0); /* it was let go */
    g_assert_cmpuint (range.changes, <=, 1);
  }
  GtkEventController *typed = controller_of (histogram, GTK_TYPE_EVENT_CONTROLLER_KEY);
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++) {
    const double step = 0.02 * (HIGH - LOW);
    gboolean taken;

    range = (Range) { LOW, HIGH, 0, 0 };
    td_histogram_set_range (histogram, LOW, HIGH);
    g_signal_emit_by_name (typed, "key-pressed", keys[i].key, 0, keys[i].state, &taken);
    g_assert_cmpfloat_with_epsilon (range.low, LOW + keys[i].low * step, 1e-9);
    g_assert_cmpfloat_with_epsilon (range.high, HIGH + keys[i].high * step, 1e-9);
    g_assert_cmpint (taken, ==, keys[i].key != GDK_KEY_Up);
  }
  GtkEventController *click = controller_of (histogram, GTK_TYPE_GESTURE_CLICK);
  for (int n = 1; n <= ALL; n++)
    g_signal_emit_by_name (click, "pressed", n, 5.0, 5.0);
  g_assert_cmpuint (range.automatic, ==, 1);
}

/* ── The lab's table ── */

static gboolean
says (GtkWidget *label, gpointer text)
{
  return g_str_equal (gtk_label_get_text (GTK_LABEL (label)), text);
}

static gboolean
is_told (gpointer window)
{
  return td_test_find (window, GTK_TYPE_LABEL, says, (gpointer) "3.25") != NULL;
}

/* A curve that stays above to its end tells a resolution, too: that is no missing measurement. */
static void
test_lab_resolution (void)
{
  TdLabFrc curves[] = { { .half_bit_px = 3.25 }, { .half_bit_px = 0 } };
  TdLabVariant variants[] = { { .name = (char *) "falls" }, { .name = (char *) "stays" } };
  TdLab lab = { .variants = g_ptr_array_new () };
  TdLabResult result = { .n = 2, .noise = NAN };
  TdLabOutcome outcomes[2];
  float pixel = 1;
  Chart chart;

  for (guint i = 0; i < 2; i++) {
    outcomes[i] = (TdLabOutcome) { .pixels = &pixel,
                                   .frc = &curves[i],
                                   .method = "fbp",
                                   .precision = "single",
                                   .device = (char *) "host" };
    result.outcomes[i] = &outcomes[i];
    g_ptr_array_add (lab.variants, &variants[i]);
  }
  GtkWidget *table = g_object_new (TD_TYPE_LAB_TABLE, NULL);
  td_lab_table_show (TD_LAB_TABLE (table), &lab, &result, FALSE);
  chart_init (&chart, table, 1200, 200);
  td_test_wait (is_told, chart.window, "the figures");
  g_assert_nonnull (td_test_find (table, GTK_TYPE_LABEL, says, (gpointer) "≤ 2"));
  gtk_window_destroy (GTK_WINDOW (chart.window));
  g_ptr_array_unref (lab.variants);
}

int
main (int argc, char **argv)
{
  gtk_test_init (&argc, &argv, NULL);
  adw_init ();
  td_ui_init ();
  g_test_add_func ("/charts/profile", test_profile);
  g_test_add_func ("/charts/lab", test_lab);
  g_test_add_func ("/charts/lab-large", test_lab_large);
  g_test_add_func ("/charts/long-names", test_long_names);
  g_test_add_func ("/charts/residuals", test_residuals);
  g_test_add_func ("/charts/axis", test_axis);
  g_test_add_func ("/charts/histogram", test_histogram);
  g_test_add_func ("/charts/lab-resolution", test_lab_resolution);
  return g_test_run ();
}
