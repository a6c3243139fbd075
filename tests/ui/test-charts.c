/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What small charts draw and where: profiles, residuals, the answers of the axis' search, and the
   histogram, by which a hand sets the contrast. And the lab's parts by themselves: its pictures,
   its table, its editor and its blind test. */
#include <math.h>
#include <string.h>

#include <adwaita.h>

#include "ui-test.h"
#include "ui/axis-plot.h"
#include "ui/histogram.h"
#include "ui/image-pane.h"
#include "ui/lab-blind.h"
#include "ui/lab-chart.h"
#include "ui/lab-editor.h"
#include "ui/lab-pictures.h"
#include "ui/lab-table.h"
#include "ui/profile.h"
#include "ui/residual-curve.h"
#include "ui/ui.h"
#include "window-pins.h"
#include "window-test.h"

/* Where a drag that a test sends began: the toolkit has no such drag. */
static double held_start[2];

gboolean
gtk_gesture_drag_get_start_point (GtkGestureDrag *gesture, double *x, double *y)
{
  *x = held_start[0];
  *y = held_start[1];
  return TRUE;
}

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

/* ── What is drawn anew ── */

enum {
  PROFILE_SHOWN,
  PROFILE_UNITS,
  BINS_IMAGE,
  BINS_RANGE,
  BINS_UNITS,
  BINS_COLOURS,
  BINS_DRAGGED,
  BINS_LET_GO,
  BINS_KEY,
  AXIS_RESULT,
  AXIS_CENTRE,
  LAB_PLOT,
  LAB_POINTED,
  LAB_LEFT,
  LAB_NONE,
  LAB_LABEL,
  N_ANEW
};

typedef struct {
  GtkWidget *charts[4]; /* a profile, a histogram, an axis' answers, the lab's */
  TdImage *image;
  guint what;
} Anew;

static GtkEventController *
hand_of (GtkWidget *widget, GType type)
{
  g_autoptr (GListModel) all = gtk_widget_observe_controllers (widget);

  for (guint i = 0; i < g_list_model_get_n_items (all); i++) {
    g_autoptr (GtkEventController) one = g_list_model_get_item (all, i);
    if (G_TYPE_CHECK_INSTANCE_TYPE (one, type))
      return one; /* the widget's */
  }
  g_assert_not_reached ();
}

static void
change_chart (gpointer user)
{
  static const TdView view = { .zoom = 2 };
  static TdAxisTrial trial = { TD_AXIS_CORRELATION, 1, 6, 0.9, 0.1, TRUE };
  static const TdAxisResult result
      = { .centre_px = 6, .uncertainty_px = 0.5, .agreed = TRUE, .trials = &trial, .n_trials = 1 };
  const Anew *anew = user;
  TdProfile *profile = TD_PROFILE (anew->charts[0]);
  TdHistogram *bins = TD_HISTOGRAM (anew->charts[1]);
  TdAxisPlot *axis = TD_AXIS_PLOT (anew->charts[2]);
  TdLabChart *lab = TD_LAB_CHART (anew->charts[3]);
  gboolean taken;

  switch (anew->what) {
  case PROFILE_SHOWN: td_profile_show (profile, anew->image, &view, 2, NAN); break;
  case PROFILE_UNITS: td_profile_set_units (profile, "1/mm"); break;
  case BINS_IMAGE: td_histogram_set_image (bins, anew->image); break;
  case BINS_RANGE: td_histogram_set_range (bins, 1, 5); break;
  case BINS_UNITS: td_histogram_set_units (bins, "1/mm"); break;
  case BINS_COLOURS: td_histogram_set_colour_map (bins, TD_COLOUR_VIRIDIS); break;
  case BINS_DRAGGED:
    g_signal_emit_by_name (hand_of (anew->charts[1], GTK_TYPE_GESTURE_DRAG), "drag-begin", 1.0,
                           5.0);
    g_signal_emit_by_name (hand_of (anew->charts[1], GTK_TYPE_GESTURE_DRAG), "drag-update", -0.5,
                           0.0);
    break;
  case BINS_LET_GO:
    g_signal_emit_by_name (hand_of (anew->charts[1], GTK_TYPE_GESTURE_DRAG), "drag-end", -0.5, 0.0);
    break;
  case BINS_KEY:
    g_signal_emit_by_name (hand_of (anew->charts[1], GTK_TYPE_EVENT_CONTROLLER_KEY), "key-pressed",
                           GDK_KEY_Right, 0, 0, &taken);
    break;
  case AXIS_RESULT: td_axis_plot_set_result (axis, &result, 3); break;
  case AXIS_CENTRE: td_axis_plot_set_centre (axis, 6.25, 0); break;
  case LAB_PLOT: td_lab_chart_take (lab, lab_plot ()); break;
  case LAB_POINTED:
    g_signal_emit_by_name (hand_of (anew->charts[3], GTK_TYPE_EVENT_CONTROLLER_MOTION), "motion",
                           100.0, 60.0);
    break;
  case LAB_LEFT:
    g_signal_emit_by_name (hand_of (anew->charts[3], GTK_TYPE_EVENT_CONTROLLER_MOTION), "leave");
    break;
  case LAB_NONE: td_lab_chart_take (lab, NULL); break;
  case LAB_LABEL: td_lab_chart_set_label (lab, "Profile"); break;
  default: g_assert_not_reached ();
  }
}

/* Each change is on the screen with the next frame. */
static void
test_redrawn (void)
{
  const GType types[]
      = { TD_TYPE_PROFILE, TD_TYPE_HISTOGRAM, TD_TYPE_AXIS_PLOT, TD_TYPE_LAB_CHART };
  GtkWidget *window = gtk_window_new (), *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  float *pixels = g_new (float, 64);
  Anew anew = { .what = 0 };

  for (guint i = 0; i < 64; i++)
    pixels[i] = (float) i;
  g_autoptr (TdImage) image = td_image_new_take (pixels, 8, 8);
  anew.image = image;
  for (guint i = 0; i < G_N_ELEMENTS (types); i++) {
    anew.charts[i] = g_object_new (types[i], NULL);
    gtk_widget_set_size_request (anew.charts[i], 300, 100);
    gtk_box_append (GTK_BOX (box), anew.charts[i]);
  }
  gtk_window_set_child (GTK_WINDOW (window), box);
  gtk_window_present (GTK_WINDOW (window));
  td_test_frames (box);
  for (; anew.what < N_ANEW; anew.what++) {
    const guint chart = anew.what < BINS_IMAGE    ? 0
                        : anew.what < AXIS_RESULT ? 1
                        : anew.what < LAB_PLOT    ? 2
                                                  : 3;
    g_test_message ("change %u", anew.what);
    g_assert_true (td_test_redraws (anew.charts[chart], change_chart, &anew));
  }
  gtk_window_destroy (GTK_WINDOW (window));
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

/* All words below @widget in their order, with a bar between. */
static void
collect_words (GtkWidget *widget, GString *words)
{
  if (GTK_IS_LABEL (widget) && gtk_widget_get_mapped (widget)
      && *gtk_label_get_text (GTK_LABEL (widget)))
    g_string_append_printf (words, "%s|", gtk_label_get_text (GTK_LABEL (widget)));
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child;
       child = gtk_widget_get_next_sibling (child))
    collect_words (child, words);
}

typedef struct {
  GtkWidget *table;
  const char *words;
} Cells;

static gboolean
cells_are (gpointer user)
{
  const Cells *cells = user;
  g_autoptr (GString) words = g_string_new (NULL);

  collect_words (cells->table, words);
  g_test_message ("%s", words->str);
  return strcmp (words->str, cells->words) == 0;
}

/* Each figure stands in its column, in its units; what is not known is a dash and comes last. */
static void
test_lab_table (void)
{
  static const char heads[] = "Variant|RMS|÷ noise|Largest|PSNR dB|Error|Bound|÷ bound|Warm ms|"
                              "First ms|GU/s|MiB|Resolution|";
  static const char *const rows[]
      = { "■ 1  one|Texture, Single (32 bits), "
          "host|0.5|0.25|1.25|31.3|1.0e-05|4.0e-05|0.25|12.5|750|3.25|3|"
          "3.25|",
          "■ 2  two & <b> (held)|Fourier (fast), Single (32 bits), "
          "host|0.25|0.12|2|∞|–|–|–|–|900|–|2|≤ 2|",
          "■ 3  three|The disk is gone|–|–|–|–|–|–|–|–|–|–|–|–|",
          "■ 4  four|…|–|–|–|–|–|–|–|–|–|–|–|–|", "■ 4  four|Stopped|–|–|–|–|–|–|–|–|–|–|–|–|" };
  static const struct {
    guint column;
    GtkSortType way;
    guint order[4];
  } orders[] = { { 1, GTK_SORT_ASCENDING, { 1, 0, 2, 3 } },
                 { 3, GTK_SORT_ASCENDING, { 0, 1, 2, 3 } },
                 { 9, GTK_SORT_ASCENDING, { 0, 1, 2, 3 } },
                 { 11, GTK_SORT_ASCENDING, { 1, 0, 2, 3 } },
                 { 0, GTK_SORT_DESCENDING, { 3, 2, 1, 0 } } };
  g_autoptr (GError) gone = g_error_new_literal (TD_ERROR, TD_ERROR_IO, "The disk is gone");
  TdLabFrc curves[] = { { .half_bit_px = 3.25 }, { .half_bit_px = 0 } };
  TdLabVariant variants[]
      = { { .name = (char *) "one", .options = (char *) "--kernel texture" },
          { .name = (char *) "two & <b>", .options = (char *) "", .held = TRUE },
          { .name = (char *) "three", .options = (char *) "--device cuda:7" },
          { .name = (char *) "four", .options = (char *) "" } };
  TdLab lab = { .variants = g_ptr_array_new () };
  TdLabResult result = { .n = 4, .noise = 2 };
  float pixel = 1;
  TdLabOutcome outcomes[] = {
    { .pixels = &pixel,
      .frc = &curves[0],
      .method = "fbp",
      .kernel = "texture",
      .precision = "single",
      .device = (char *) "host",
      .first_s = 0.75,
      .warm_s = 0.0125,
      .updates_per_s = 3.25e9,
      .host_bytes = 3 << 20,
      .device_bytes = 2 << 20,
      .compared = TRUE,
      .difference = { .rms = 0.5, .max_abs = 1.25, .psnr_db = 31.3 },
      .arithmetic = 1e-5,
      .bound = 4e-5 },
    { .pixels = &pixel,
      .frc = &curves[1],
      .method = "fourier",
      .precision = "single",
      .device = (char *) "host",
      .first_s = 0.9,
      .warm_s = NAN,
      .updates_per_s = NAN,
      .host_bytes = 1 << 20,
      .device_bytes = 2 << 20,
      .compared = TRUE,
      .difference = { .rms = 0.25, .max_abs = 2, .psnr_db = INFINITY },
      .arithmetic = NAN,
      .bound = NAN },
    { .error = gone },
  };
  GtkWidget *window = gtk_window_new (), *table = g_object_new (TD_TYPE_LAB_TABLE, NULL);

  for (guint i = 0; i < 4; i++) {
    g_ptr_array_add (lab.variants, &variants[i]);
    result.outcomes[i] = i < 3 ? &outcomes[i] : NULL;
  }
  gtk_window_set_child (GTK_WINDOW (window), table);
  gtk_window_set_default_size (GTK_WINDOW (window), 1270, 400);
  gtk_window_present (GTK_WINDOW (window));
  for (guint stopped = 0; stopped < 2; stopped++) {
    td_lab_table_show (TD_LAB_TABLE (table), &lab, &result, stopped > 0);
    g_autofree char *all = g_strconcat (heads, rows[0], rows[1], rows[2], rows[3 + stopped], NULL);
    Cells cells = { table, all };
    td_test_wait (cells_are, &cells, "the figures");
  }
  GtkWidget *view = td_test_find (table, GTK_TYPE_COLUMN_VIEW, NULL, NULL);
  GListModel *columns = gtk_column_view_get_columns (GTK_COLUMN_VIEW (view));
  for (guint i = 0; i < G_N_ELEMENTS (orders); i++) {
    g_autoptr (GtkColumnViewColumn) column = g_list_model_get_item (columns, orders[i].column);
    g_autoptr (GString) all = g_string_new (heads);
    gtk_column_view_sort_by_column (GTK_COLUMN_VIEW (view), column, orders[i].way);
    for (guint k = 0; k < 4; k++)
      g_string_append (all, rows[orders[i].order[k] + (orders[i].order[k] == 3)]);
    Cells cells = { table, all->str };
    td_test_wait (cells_are, &cells, "another order");
  }
  gtk_window_destroy (GTK_WINDOW (window));
  g_ptr_array_unref (lab.variants);
}

/* ── The lab's editor ── */

static char *applied;

static void
on_applied (TdLabEditor *editor, const char *text)
{
  g_free (applied);
  applied = g_strdup (text);
}

static void
collect_parts (GtkWidget *widget, GType type, GPtrArray *parts)
{
  if (g_type_is_a (G_OBJECT_TYPE (widget), type))
    g_ptr_array_add (parts, widget);
  else
    for (GtkWidget *child = gtk_widget_get_first_child (widget); child;
         child = gtk_widget_get_next_sibling (child))
      collect_parts (child, type, parts);
}

/* What has a chooser goes there, and the rest is kept as it was written. */
static void
test_lab_editor (void)
{
  static const struct {
    const char *name, *options; /* of the variant that is edited */
    const char *named, *typed;  /* what the entries have */
    const char *applied;        /* unchanged */
  } cases[] = {
    { "base", "", "", "", "" },
    { "Smooth", "--filter hann --cutoff 0.5", "Smooth", "--cutoff 0.5",
      "Smooth: --filter hann --cutoff 0.5" },
    { "--filter=hann", "--filter=hann", "", "", "--filter hann " },
    { "One", "--precision half --cutoff=0.5 --kernel texture --iterations 7", "One",
      "--cutoff=0.5 --iterations 7",
      "One: --kernel texture --precision half --cutoff=0.5 --iterations 7" },
    { "Two", "--method fourier --interpolation nearest --device auto", "Two", "",
      "Two: --method fourier --interpolation nearest --device auto " },
    { "Three", "--filter nonsense --prepare 'rings width' --cutoff", "Three",
      "--filter nonsense --prepare 'rings width' --cutoff",
      "Three: --filter nonsense --prepare 'rings width' --cutoff" },
    { "Four", "unclosed '", "Four", "", "Four: " },
  };
  static char *given[] = { (char *) "no option", NULL };
  GtkWidget *window = gtk_window_new (), *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  TdLabEditor *editor = g_object_new (TD_TYPE_LAB_EDITOR, NULL);
  g_autoptr (GPtrArray) entries = g_ptr_array_new (), choices = g_ptr_array_new ();

  gtk_window_set_child (GTK_WINDOW (window), box);
  gtk_widget_set_parent (GTK_WIDGET (editor), box);
  gtk_window_present (GTK_WINDOW (window));
  g_signal_connect (editor, "applied", G_CALLBACK (on_applied), NULL);
  collect_parts (td_test_part (editor, "form"), GTK_TYPE_ENTRY, entries);
  collect_parts (td_test_part (editor, "form"), GTK_TYPE_DROP_DOWN, choices);
  g_assert_cmpuint (entries->len, ==, 2);
  g_assert_cmpuint (choices->len, ==, 6);
  GtkGrid *form = td_test_part (editor, "form");
  for (int line = 0; line < 8; line++) /* the name, six choices, and what is typed */
    g_assert_true (gtk_grid_get_child_at (form, 1, line)
                   == (line == 0   ? entries->pdata[0]
                       : line == 7 ? entries->pdata[1]
                                   : choices->pdata[line - 1]));
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const TdLabVariant variant
        = { .name = (char *) cases[i].name, .options = (char *) cases[i].options, .given = given };
    g_clear_pointer (&applied, g_free);
    td_lab_editor_set_problem (editor, "A problem");
    g_assert_true (gtk_widget_get_visible (td_test_part (editor, "problem")));
    td_lab_editor_show (editor, &variant);
    g_assert_false (gtk_widget_get_visible (td_test_part (editor, "problem")));
    g_assert_cmpstr (gtk_editable_get_text (entries->pdata[0]), ==, cases[i].named);
    g_assert_cmpstr (gtk_editable_get_text (entries->pdata[1]), ==, cases[i].typed);
    td_test_click (td_test_button (editor, "Apply"));
    g_assert_cmpstr (applied, ==, cases[i].applied);
  }
  /* A new one has nothing, and Return takes it from either entry. */
  td_lab_editor_show (editor, NULL);
  for (guint i = 0; i < 2; i++) {
    g_clear_pointer (&applied, g_free);
    gtk_editable_set_text (entries->pdata[0], i ? " a:b " : "");
    g_signal_emit_by_name (entries->pdata[i], "activate");
    g_assert_cmpstr (applied, ==, i ? "a b: " : "");
  }
  td_lab_editor_set_problem (editor, NULL);
  g_assert_false (gtk_widget_get_visible (GTK_WIDGET (editor)));
  g_clear_pointer (&applied, g_free);
  gtk_widget_unparent (GTK_WIDGET (editor));
  gtk_window_destroy (GTK_WINDOW (window));
}

/* ── The blind test ── */

typedef struct {
  int shown[4]; /* the last ones */
  guint n, begins;
} Seen;

static void
on_blind_shown (TdLabBlind *blind, int which, Seen *seen)
{
  seen->shown[seen->n++ % 4] = which;
}

static void
on_begin_requested (TdLabBlind *blind, Seen *seen)
{
  seen->begins++;
}

/* X is shown anew after each answer, and the score says how likely it is by guessing. */
static void
test_lab_blind (void)
{
  static const char *const scores[]
      = { "1 of 1 right: by guessing that happens with p = 0.5. No difference was shown (yet).",
          "2 of 2 right: by guessing that happens with p = 0.25. No difference was shown (yet).",
          "3 of 3 right: by guessing that happens with p = 0.125. No difference was shown (yet).",
          "4 of 4 right: by guessing that happens with p = 0.0625. No difference was shown (yet).",
          "5 of 5 right: by guessing that happens with p = 0.0312. Go on: with a look at p after "
          "each trial, this is not enough.",
          "6 of 6 right: by guessing that happens with p = 0.0156. Go on: with a look at p after "
          "each trial, this is not enough.",
          "7 of 7 right: by guessing that happens with p = 0.00781. You can tell them apart.",
          "7 of 8 right: by guessing that happens with p = 0.0352. You can tell them apart." };
  GtkWidget *window = gtk_window_new ();
  TdLabBlind *blind = g_object_new (TD_TYPE_LAB_BLIND, NULL);
  Seen seen = { 0 };

  gtk_window_set_child (GTK_WINDOW (window), GTK_WIDGET (blind));
  gtk_window_present (GTK_WINDOW (window));
  g_signal_connect (blind, "shown", G_CALLBACK (on_blind_shown), &seen);
  g_signal_connect (blind, "begin-requested", G_CALLBACK (on_begin_requested), &seen);
  td_lab_blind_end (blind); /* none runs */
  g_assert_cmpuint (seen.n, ==, 0);
  td_test_click (td_test_part (blind, "begin"));
  g_assert_cmpuint (seen.begins, ==, 1);
  td_lab_blind_say (blind, "Not now");
  g_assert_cmpstr (gtk_label_get_text (td_test_part (blind, "words")), ==, "Not now");
  for (guint pass = 0; pass < 2; pass++) {
    td_lab_blind_begin (blind, "one", "two");
    g_assert_cmpstr (gtk_label_get_text (td_test_part (blind, "words")), ==,
                     "A is “one”, B is “two”. Which of the two is X?");
    g_assert_cmpstr (gtk_button_get_label (td_test_part (blind, "begin")), ==, "_End the Test");
    g_assert_cmpstr (gtk_label_get_text (td_test_part (blind, "score")), ==, "");
    g_assert_true (gtk_widget_get_visible (td_test_part (blind, "test")));
    g_assert_true (gtk_window_get_focus (GTK_WINDOW (window)) == td_test_part (blind, "show_x"));
    for (guint i = 0; i < G_N_ELEMENTS (scores); i++) {
      const int x = seen.shown[(seen.n - 1) % 4];
      const guint before = seen.n;
      g_assert_true (x == 0 || x == 1);
      g_assert_cmpstr (td_lab_blind_title (blind), ==, "X");
      if (i % 2 == 1) { /* a look at both, and back or not */
        gtk_toggle_button_set_active (td_test_part (blind, "show_a"), TRUE);
        g_assert_true (seen.n == before + 1 && seen.shown[(seen.n - 1) % 4] == 0);
        g_assert_cmpstr (td_lab_blind_title (blind), ==, "A");
        gtk_toggle_button_set_active (td_test_part (blind, "show_b"), TRUE);
        g_assert_true (seen.n == before + 2 && seen.shown[(seen.n - 1) % 4] == 1);
        g_assert_cmpstr (td_lab_blind_title (blind), ==, "B");
      }
      if (i == 3) {
        gtk_toggle_button_set_active (td_test_part (blind, "show_x"), TRUE);
        g_assert_cmpint (seen.shown[(seen.n - 1) % 4], ==, x);
      }
      const guint answers = seen.n;
      td_test_click (td_test_part (blind, (x == 1) == (i != 7) ? "is_b" : "is_a"));
      g_assert_cmpuint (seen.n, >, answers);
      g_assert_cmpstr (gtk_label_get_text (td_test_part (blind, "score")), ==, scores[i]);
    }
    if (pass == 0)
      td_test_click (td_test_part (blind, "begin"));
    else
      td_lab_blind_end (blind);
    g_assert_cmpint (seen.shown[(seen.n - 1) % 4], ==, -1);
    g_assert_cmpuint (seen.begins, ==, 1);
    g_assert_cmpstr (gtk_button_get_label (td_test_part (blind, "begin")), ==,
                     "_Begin the Blind Test");
    g_assert_false (gtk_widget_get_visible (td_test_part (blind, "test")));
    g_assert_true (
        g_str_has_prefix (gtk_label_get_text (td_test_part (blind, "words")), "Can you tell"));
  }
  gtk_window_destroy (GTK_WINDOW (window));
}

/* ── The lab's pictures ── */

enum { SIDE = 12, SLOTS = 4 };

typedef struct {
  GtkWidget *window;
  TdLabPictures *pictures;
  TdImage *images[SLOTS];
  TdLabOutcome outcome;
  double line[4]; /* that was drawn last */
  guint lines;
} Bench;

/* Values from 0 to @top, and as many again as there are pixels. */
static TdImage *
slope_image (double top, guint side)
{
  float *pixels = g_new (float, side *side);

  for (guint i = 0; i < side * side; i++)
    pixels[i] = (float) (top * i / (side * side - 1));
  return td_image_new_take (pixels, side, side);
}

static gpointer
bench_part (Bench *bench, const char *name)
{
  return td_test_part (bench->pictures, name);
}

/* The panes of the grid, by their slots; the one beside them. */
static TdImagePane *
bench_pane (Bench *bench, guint slot)
{
  g_autoptr (GPtrArray) panes = g_ptr_array_new ();

  collect_parts (bench_part (bench, "panes_grid"), TD_TYPE_IMAGE_PANE, panes);
  g_assert_cmpuint (slot, <, panes->len);
  return panes->pdata[slot];
}

static TdImagePane *
bench_big (Bench *bench)
{
  return bench_part (bench, "big");
}

static void
on_line (TdLabPictures *pictures, double x0, double y0, double x1, double y1, Bench *bench)
{
  memcpy (bench->line, (double[]) { x0, y0, x1, y1 }, sizeof bench->line);
  bench->lines++;
}

static void
bench_name (Bench *bench, guint n)
{
  static const char *const names[] = { "one", "two", "three" };

  td_lab_pictures_set_names (bench->pictures, names, n);
}

static void
bench_init (Bench *bench, int width, int height)
{
  *bench = (Bench) { .window = gtk_window_new (),
                     .pictures = g_object_new (TD_TYPE_LAB_PICTURES, NULL),
                     .outcome = { .pixel_mm = 0.25, .units = "1/mm" } };
  for (guint i = 0; i < SLOTS; i++)
    bench->images[i] = slope_image (1 + i, SIDE);
  g_signal_connect (bench->pictures, "line-drawn", G_CALLBACK (on_line), bench);
  gtk_window_set_child (GTK_WINDOW (bench->window), GTK_WIDGET (bench->pictures));
  gtk_window_set_default_size (GTK_WINDOW (bench->window), width, height);
  gtk_window_present (GTK_WINDOW (bench->window));
  bench_name (bench, 3);
}

/* All pictures are there. */
static void
bench_fill (Bench *bench)
{
  for (guint i = 0; i < SLOTS; i++)
    td_lab_pictures_set (bench->pictures, i, bench->images[i], &bench->outcome);
}

static void
bench_clear (Bench *bench)
{
  gtk_window_destroy (GTK_WINDOW (bench->window));
  for (guint i = 0; i < SLOTS; i++)
    td_image_unref (bench->images[i]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Bench, bench_clear)

static void
bench_choose (Bench *bench, const char *mode)
{
  gtk_toggle_button_set_active (bench_part (bench, mode), TRUE);
}

/* @message: NULL: none is shown. */
static void
assert_pane (TdImagePane *pane, const char *title, const TdImage *image, const char *message)
{
  g_assert_cmpstr (gtk_label_get_text (td_test_part (pane, "title")), ==, title);
  g_assert_true (td_image_pane_get_image (pane) == image);
  g_assert_cmpint (gtk_widget_get_visible (td_test_part (pane, "message_box")), ==,
                   message != NULL);
  if (message)
    g_assert_cmpstr (gtk_label_get_text (td_test_part (pane, "message")), ==, message);
}

static void
assert_range_of (TdImagePane *pane, double low, double high)
{
  const TdStyle *style = td_slice_view_get_style (td_image_pane_view (pane));

  g_assert_cmpfloat_with_epsilon (style->low, low, 1e-6);
  g_assert_cmpfloat_with_epsilon (style->high, high, 1e-6);
}

static gboolean
pane_says (TdImagePane *pane, const char *part, const char *words)
{
  GtkWidget *label = td_test_part (pane, part);

  return gtk_widget_get_visible (label) == (words != NULL)
         && (!words || g_str_equal (gtk_label_get_text (GTK_LABEL (label)), words));
}

static const char *
item_of (GtkDropDown *chooser, guint i)
{
  GtkStringList *list = GTK_STRING_LIST (gtk_drop_down_get_model (chooser));

  return gtk_string_list_get_string (list, i);
}

/* Names, pictures, what is missing and why, and what is on its way. */
static void
test_lab_slots (void)
{
  static const char *const titles[]
      = { "A: 1  one", "B: 2  two", "3  three", "Reference, double precision" };
  static const char *const items[] = { "1  one", "2  two", "3  three", "Reference" };
  const char *stopped = "Stopped: this was not computed";
  g_autoptr (GError) gone = g_error_new_literal (TD_ERROR, TD_ERROR_IO, "The disk is gone");
  g_auto (Bench) bench = { 0 };
  guint a, b;
  double low, high;

  bench_init (&bench, 900, 600);
  GtkDropDown *choosers[] = { bench_part (&bench, "choose_a"), bench_part (&bench, "choose_b") };
  for (guint i = 0; i < SLOTS; i++) {
    assert_pane (bench_pane (&bench, i), titles[i], NULL, NULL);
    g_assert_cmpint (gtk_widget_get_visible (GTK_WIDGET (bench_pane (&bench, i))), ==, i < 3);
    g_assert_cmpstr (item_of (choosers[0], i), ==, items[i]);
    g_assert_cmpstr (item_of (choosers[1], i), ==, items[i]);
  }
  td_lab_pictures_get_pair (bench.pictures, &a, &b);
  g_assert_true (a == 0 && b == 1);
  /* The first picture's contrast is everybody's. */
  td_lab_pictures_set (bench.pictures, 1, bench.images[1], &bench.outcome);
  td_image_range (bench.images[1], 0.005, &low, &high);
  assert_range_of (bench_pane (&bench, 1), low, high);
  td_lab_pictures_set (bench.pictures, 0, bench.images[0], &bench.outcome);
  td_image_range (bench.images[0], 0.005, &low, &high);
  td_lab_pictures_set (bench.pictures, 3, bench.images[3], &bench.outcome);
  TdLabOutcome failed = { .error = gone };
  td_lab_pictures_set (bench.pictures, 2, NULL, &failed);
  for (guint i = 0; i < SLOTS; i++) {
    TdImagePane *pane = bench_pane (&bench, i);
    assert_pane (pane, titles[i], i == 2 ? NULL : bench.images[i],
                 i == 2 ? "The disk is gone" : NULL);
    g_assert_true (gtk_widget_get_visible (GTK_WIDGET (pane)));
    g_assert_cmpfloat (td_slice_view_get_pixel_mm (td_image_pane_view (pane)), ==,
                       i == 2 ? td_slice_view_get_pixel_mm (td_image_pane_view (pane)) : 0.25);
    if (i != 2)
      assert_range_of (pane, low, high);
    g_signal_emit_by_name (td_image_pane_view (pane), "pointed", 1.0, 0.0, i != 2);
    if (i != 2)
      g_assert_nonnull (strstr (gtk_label_get_text (td_test_part (pane, "readout")), "1/mm"));
  }
  /* Special ones say so. */
  TdLabOutcome emulated = bench.outcome;
  emulated.emulated = TRUE;
  g_assert_true (pane_says (bench_pane (&bench, 1), "badge", NULL));
  td_lab_pictures_set (bench.pictures, 1, bench.images[2], &emulated);
  g_assert_true (pane_says (bench_pane (&bench, 1), "badge", "emulated"));
  g_autoptr (TdMessage) message = td_message_new_plain ("ran on the host");
  TdMessage *astray[] = { message, NULL };
  TdLabOutcome strayed = bench.outcome;
  strayed.astray = astray;
  td_lab_pictures_set (bench.pictures, 1, bench.images[1], &strayed);
  g_assert_true (pane_says (bench_pane (&bench, 1), "badge", "ran on the host"));
  td_lab_pictures_set (bench.pictures, 1, bench.images[2], &bench.outcome);
  g_assert_true (pane_says (bench_pane (&bench, 1), "badge", NULL));
  /* A reference that is not made leaves its place, until there is one. */
  td_lab_pictures_set (bench.pictures, 3, NULL, NULL);
  g_assert_false (gtk_widget_get_visible (GTK_WIDGET (bench_pane (&bench, 3))));
  td_lab_pictures_set (bench.pictures, 3, bench.images[3], &bench.outcome);
  g_assert_true (gtk_widget_get_visible (GTK_WIDGET (bench_pane (&bench, 3))));
  td_lab_pictures_set (bench.pictures, SLOTS, bench.images[3], &bench.outcome); /* there is none */
  /* Each is on its way until it comes. */
  td_lab_pictures_set_updating (bench.pictures, TRUE);
  for (guint i = 0; i < SLOTS; i++)
    g_assert_true (td_test_is_updating (bench_pane (&bench, i)));
  g_assert_true (td_test_is_updating (bench_big (&bench)));
  td_lab_pictures_set (bench.pictures, 2, bench.images[2], &bench.outcome);
  g_assert_true (td_test_is_updating (bench_big (&bench))); /* neither A nor B */
  td_lab_pictures_set (bench.pictures, 1, bench.images[1], &bench.outcome);
  g_assert_false (td_test_is_updating (bench_big (&bench)));
  for (guint i = 0; i < SLOTS; i++)
    g_assert_cmpint (td_test_is_updating (bench_pane (&bench, i)), ==, i == 0 || i == 3);
  td_lab_pictures_stop (bench.pictures);
  for (guint i = 0; i < SLOTS; i++) {
    GtkWidget *remedies = td_test_part (bench_pane (&bench, i), "remedies");
    g_assert_false (td_test_is_updating (bench_pane (&bench, i)));
    if (i == 3)
      g_assert_false (gtk_widget_get_visible (GTK_WIDGET (bench_pane (&bench, i))));
    else
      assert_pane (bench_pane (&bench, i), titles[i], i == 0 ? NULL : bench.images[i],
                   i == 0 ? stopped : NULL);
    g_assert_cmpint (gtk_widget_get_first_child (remedies) != NULL, ==, i == 0);
  }
  td_lab_pictures_set_updating (bench.pictures, TRUE);
  assert_pane (bench_pane (&bench, 0), titles[0], NULL, NULL);
  td_lab_pictures_set_updating (bench.pictures, FALSE);
  for (guint i = 0; i < 3; i++)
    g_assert_false (td_test_is_updating (bench_pane (&bench, i)));
  bench_fill (&bench);
  assert_pane (bench_pane (&bench, 0), titles[0], bench.images[0], NULL);
  /* Whoever compares with the reference keeps it while the variants change, and has two. */
  gtk_drop_down_set_selected (choosers[1], 3);
  bench_name (&bench, 2);
  td_lab_pictures_get_pair (bench.pictures, &a, &b);
  g_assert_true (a == 0 && b == 2);
  assert_pane (bench_pane (&bench, 2), "B: Reference, double precision", NULL, NULL);
  gtk_drop_down_set_selected (choosers[1], 1);
  bench_name (&bench, 3);
  td_lab_pictures_get_pair (bench.pictures, &a, &b);
  g_assert_true (a == 0 && b == 1);
  gtk_drop_down_set_selected (choosers[0], 2);
  g_assert_cmpstr (gtk_widget_get_tooltip_text (GTK_WIDGET (choosers[0])), ==,
                   "A: the picture that others are put beside\n3  three");
  g_assert_cmpstr (gtk_widget_get_tooltip_text (GTK_WIDGET (choosers[1])), ==,
                   "B: the picture that takes turns with A\n2  two");
  g_assert_cmpstr (gtk_label_get_text (td_test_part (bench_pane (&bench, 2), "title")), ==,
                   "A: 3  three");
}

typedef struct {
  TdImagePane *pane;
  const TdImage *than;
} Awaited;

static gboolean
another_is_there (gpointer user)
{
  const Awaited *awaited = user;
  const TdImage *image = td_image_pane_get_image (awaited->pane);

  return image && image != awaited->than && !td_test_is_updating (awaited->pane);
}

static gboolean
has_message (gpointer pane)
{
  return gtk_widget_get_visible (td_test_part (pane, "message_box"));
}

/* One in the other's place, both beside a bar, their difference, and one without its name. */
static void
test_lab_modes (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (TdImage) first = NULL;

  bench_init (&bench, 900, 600);
  bench_fill (&bench);
  TdImagePane *big = bench_big (&bench);
  GtkWidget *panes = bench_part (&bench, "panes"), *in_noise = bench_part (&bench, "in_noise");
  GtkDropDown *choose_b = bench_part (&bench, "choose_b");
  g_assert_true (gtk_widget_get_visible (panes) && !gtk_widget_get_visible (GTK_WIDGET (big)));
  /* Held: B in the place of A, in the grid and alone. */
  td_lab_pictures_hold (bench.pictures, TRUE);
  assert_pane (bench_pane (&bench, 0), "B: 2  two", bench.images[1], NULL);
  td_lab_pictures_hold (bench.pictures, FALSE);
  assert_pane (bench_pane (&bench, 0), "A: 1  one", bench.images[0], NULL);
  bench_choose (&bench, "single");
  g_assert_true (!gtk_widget_get_visible (panes) && gtk_widget_get_visible (GTK_WIDGET (big)));
  assert_pane (big, "A: 1  one", bench.images[0], NULL);
  td_lab_pictures_hold (bench.pictures, TRUE);
  assert_pane (big, "B: 2  two", bench.images[1], NULL);
  td_lab_pictures_hold (bench.pictures, FALSE);
  gtk_drop_down_set_selected (choose_b, 2);
  td_lab_pictures_hold (bench.pictures, TRUE);
  assert_pane (big, "B: 3  three", bench.images[2], NULL);
  td_lab_pictures_hold (bench.pictures, FALSE);
  bench_choose (&bench, "wipe");
  assert_pane (big, "A | B", bench.images[0], NULL);
  g_assert_false (gtk_widget_get_visible (in_noise));
  td_lab_pictures_set_colour_map (bench.pictures, "viridis");
  g_assert_cmpint (td_slice_view_get_style (td_image_pane_view (big))->map, ==, TD_COLOUR_VIRIDIS);
  /* The difference is 1 − 3 times the slope, from its own middle, and in colours of its own. */
  bench_choose (&bench, "difference");
  Awaited awaited = { big, bench.images[0] };
  td_test_wait (another_is_there, &awaited, "the difference");
  first = td_image_ref (td_image_pane_get_image (big));
  assert_pane (big, "A − B", first, NULL);
  for (guint i = 0; i < SIDE * SIDE; i++)
    g_assert_cmpfloat_with_epsilon (first->pixels[i], -2.0 * i / (SIDE * SIDE - 1), 1e-6);
  const double reach = -td_image_quantile (first, 0.005);
  assert_range_of (big, -reach, reach);
  g_assert_cmpint (td_slice_view_get_style (td_image_pane_view (big))->map, ==,
                   TD_COLOUR_DIVERGING);
  g_assert_cmpfloat (td_slice_view_get_pixel_mm (td_image_pane_view (big)), ==, 0.25);
  g_assert_true (gtk_widget_get_visible (in_noise) && !gtk_widget_get_sensitive (in_noise));
  td_lab_pictures_set_noise (bench.pictures, 4);
  g_assert_true (gtk_widget_get_sensitive (in_noise));
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (in_noise), TRUE);
  awaited.than = first;
  td_test_wait (another_is_there, &awaited, "the difference in units of the noise");
  g_assert_cmpstr (gtk_label_get_text (td_test_part (big, "title")), ==,
                   "A − B, in units of the noise");
  for (guint i = 0; i < SIDE * SIDE; i++)
    g_assert_cmpfloat_with_epsilon (td_image_pane_get_image (big)->pixels[i], first->pixels[i] / 4,
                                    1e-6);
  td_lab_pictures_set_noise (bench.pictures, NAN);
  g_assert_false (gtk_widget_get_sensitive (in_noise));
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (in_noise), FALSE);
  /* Equal pictures, other sizes, and none. */
  const TdImage *before = td_image_pane_get_image (big);
  awaited.than = before;
  gtk_drop_down_set_selected (choose_b, 0);
  td_test_wait (another_is_there, &awaited, "no difference");
  assert_range_of (big, -1e-12, 1e-12);
  g_autoptr (TdImage) small = slope_image (1, SIDE / 2);
  td_lab_pictures_set (bench.pictures, 1, small, &bench.outcome);
  gtk_drop_down_set_selected (choose_b, 1);
  td_test_wait (has_message, big, "the sizes");
  g_assert_cmpstr (gtk_label_get_text (td_test_part (big, "message")), ==,
                   "A is 12 × 12 pixels and B 6 × 6: they have no difference");
  g_autoptr (GError) gone = g_error_new_literal (TD_ERROR, TD_ERROR_IO, "The disk is gone");
  const TdLabOutcome failed = { .error = gone };
  td_lab_pictures_set (bench.pictures, 1, NULL, &failed);
  assert_pane (big, "A − B", NULL, "The disk is gone");
  bench_fill (&bench);
  /* Without its name nothing else tells which it is, and nothing takes turns. */
  td_lab_pictures_show_blind (bench.pictures, 1, "X");
  assert_pane (big, "X", bench.images[1], NULL);
  g_assert_cmpint (td_slice_view_get_style (td_image_pane_view (big))->map, ==, TD_COLOUR_VIRIDIS);
  g_assert_false (gtk_widget_get_sensitive (bench_part (&bench, "tools")));
  g_assert_false (gtk_widget_get_visible (td_test_part (big, "histogram")));
  td_lab_pictures_hold (bench.pictures, TRUE);
  assert_pane (big, "X", bench.images[1], NULL);
  td_lab_pictures_show_blind (bench.pictures, -1, NULL);
  g_assert_true (gtk_widget_get_sensitive (bench_part (&bench, "tools")));
  g_assert_true (gtk_widget_get_visible (td_test_part (big, "histogram")));
  bench_choose (&bench, "grid");
  g_assert_true (gtk_widget_get_visible (panes) && !gtk_widget_get_visible (GTK_WIDGET (big)));
  g_assert_cmpint (td_slice_view_get_style (td_image_pane_view (bench_pane (&bench, 2)))->map, ==,
                   TD_COLOUR_VIRIDIS);
}

/* What is said of the picture that is large. */
static char *
bench_state (Bench *bench)
{
  TdImagePane *big = bench_big (bench);
  const TdSliceView *view = td_image_pane_view (big);
  const TdStyle *style = td_slice_view_get_style ((TdSliceView *) view);

  g_signal_emit_by_name ((gpointer) view, "pointed", 1.0, 0.0, TRUE);
  return g_strdup_printf (
      "%s; %s; %.5g to %.5g by %d; %g mm; bins %d, noise %d, message %d, grid %d",
      gtk_label_get_text (td_test_part (big, "title")),
      gtk_label_get_text (td_test_part (big, "readout")), style->low, style->high, style->map,
      td_slice_view_get_pixel_mm ((TdSliceView *) view),
      gtk_widget_get_visible (td_test_part (big, "histogram")),
      gtk_widget_get_visible (bench_part (bench, "in_noise")),
      gtk_widget_get_visible (td_test_part (big, "message_box")),
      gtk_widget_get_visible (bench_part (bench, "panes")));
}

typedef struct {
  Bench *bench;
  const char *state;
  GBytes *picture;
} BenchShown;

static gboolean
bench_shows (gpointer user)
{
  const BenchShown *shown = user;
  g_autofree char *state = bench_state (shown->bench);

  if (td_test_is_updating (bench_big (shown->bench)) || !g_str_equal (state, shown->state))
    return FALSE;
  g_autoptr (GBytes) picture
      = td_test_picture (GTK_WIDGET (td_image_pane_view (bench_big (shown->bench))));
  return g_bytes_equal (picture, shown->picture);
}

/* Whichever way of looking came before, none of it is left. */
static void
test_lab_one_after_another (void)
{
  static const char *const modes[] = { "single", "difference", "wipe" };
  enum { N = G_N_ELEMENTS (modes) };
  static const char *const titles[N] = { "A: 1  one", "A − B", "A | B" };
  char *states[N];
  GBytes *pictures[N];
  g_auto (Bench) bench = { 0 };

  bench_init (&bench, 400, 300);
  bench_fill (&bench);
  td_lab_pictures_set_colour_map (bench.pictures, "viridis");
  for (guint i = 0; i < N; i++) {
    Awaited awaited = { bench_big (&bench), i == 1 ? bench.images[0] : NULL };
    bench_choose (&bench, "grid");
    bench_choose (&bench, modes[i]);
    td_test_wait (another_is_there, &awaited, modes[i]);
    pictures[i] = td_test_picture_at_rest (GTK_WIDGET (td_image_pane_view (bench_big (&bench))));
    states[i] = bench_state (&bench);
    g_test_message ("%s", states[i]);
    g_assert_true (g_str_has_prefix (states[i], titles[i]));
    for (guint k = 0; k < i; k++)
      g_assert_false (g_bytes_equal (pictures[k], pictures[i]));
  }
  for (guint from = 0; from < N; from++)
    for (guint to = 0; to < N; to++) {
      BenchShown shown = { &bench, states[to], pictures[to] };
      if (from == to)
        continue;
      bench_choose (&bench, modes[from]);
      bench_choose (&bench, modes[to]);
      td_test_wait (bench_shows, &shown, modes[to]);
    }
  for (guint i = 0; i < N; i++) {
    g_bytes_unref (pictures[i]);
    g_free (states[i]);
  }
}

static gboolean
pictures_are_laid_out (gpointer bench)
{
  return gtk_widget_get_width (GTK_WIDGET (td_image_pane_view (bench_pane (bench, 3)))) > 0;
}

static void
bench_move_line (gpointer bench)
{
  td_lab_pictures_set_line (((Bench *) bench)->pictures, &(TdLabLine) { 1, 2, 8, 9 });
}

static void
bench_take_line (gpointer bench)
{
  td_lab_pictures_set_line (((Bench *) bench)->pictures, NULL);
}

/* Contrast and place are everybody's while pictures are linked; a line is drawn in one of them. */
static void
test_lab_linked (void)
{
  static const struct {
    guint slot;
    double from[2], to[2]; /* pixels of the picture */
    double x1, y1;         /* where it ends: within the picture */
  } drags[] = { { 0, { 2, 3 }, { 9, 7 }, 9, 7 },
                { 2, { 5, 5 }, { 5, 1 }, 5, 1 },
                { 1, { 10, 10 }, { 50, -30 }, SIDE - 1, 0 },
                { 3, { 4, 4 }, { -50, 50 }, 0, SIDE - 1 } };
  g_auto (Bench) bench = { 0 };
  gboolean fitted;

  bench_init (&bench, 900, 600);
  bench_fill (&bench);
  td_test_wait (pictures_are_laid_out, &bench, "the pictures");
  td_test_frames (GTK_WIDGET (bench.pictures));
  td_image_pane_set_range (bench_pane (&bench, 1), -1, 7);
  for (guint i = 0; i < SLOTS; i++)
    assert_range_of (bench_pane (&bench, i), -1, 7);
  assert_range_of (bench_big (&bench), -1, 7);
  td_lab_pictures_set (bench.pictures, 0, bench.images[2], &bench.outcome); /* it was chosen */
  assert_range_of (bench_pane (&bench, 0), -1, 7);
  td_lab_pictures_set (bench.pictures, 0, bench.images[0], &bench.outcome);
  gtk_toggle_button_set_active (bench_part (&bench, "link"), FALSE);
  td_image_pane_set_range (bench_pane (&bench, 1), 0, 3);
  assert_range_of (bench_pane (&bench, 0), -1, 7);
  gtk_toggle_button_set_active (bench_part (&bench, "link"), TRUE);
  assert_range_of (bench_pane (&bench, 1), -1, 7);
  td_slice_view_one_to_one (td_image_pane_view (bench_pane (&bench, 2)));
  for (guint i = 0; i < SLOTS; i++) {
    const TdView *view
        = td_slice_view_get_view (td_image_pane_view (bench_pane (&bench, i)), &fitted);
    g_assert_true (view->zoom == 1 && !fitted);
  }
  td_lab_pictures_renew (bench.pictures);
  for (guint i = 0; i < SLOTS; i++) {
    td_slice_view_get_view (td_image_pane_view (bench_pane (&bench, i)), &fitted);
    g_assert_true (fitted);
  }
  bench_name (&bench, 3); /* other pictures have a contrast of their own */
  bench_fill (&bench);
  double low, high;
  td_image_range (bench.images[0], 0.005, &low, &high);
  assert_range_of (bench_pane (&bench, 2), low, high);

  GtkWidget *area = bench_part (&bench, "line_area");
  g_assert_false (gtk_widget_get_can_target (area));
  gtk_toggle_button_set_active (bench_part (&bench, "draw_line"), TRUE);
  g_assert_true (gtk_widget_get_can_target (area));
  g_assert_cmpstr (gdk_cursor_get_name (gtk_widget_get_cursor (area)), ==, "crosshair");
  gpointer drag = hand_of (area, GTK_TYPE_GESTURE_DRAG);
  td_test_frames (GTK_WIDGET (bench.pictures));
  for (guint i = 0; i < G_N_ELEMENTS (drags); i++) {
    TdSliceView *view = td_image_pane_view (bench_pane (&bench, drags[i].slot));
    const double middle = (SIDE - 1) / 2.0;
    graphene_rect_t at;
    double x[2], y[2];
    g_assert_true (gtk_widget_compute_bounds (GTK_WIDGET (view), area, &at));
    for (guint k = 0; k < 2; k++)
      td_view_from_picture (td_slice_view_get_view (view, NULL), at.size.width, at.size.height,
                            (k ? drags[i].to : drags[i].from)[0] - middle,
                            (k ? drags[i].to : drags[i].from)[1] - middle, &x[k], &y[k]);
    held_start[0] = at.origin.x + x[0];
    held_start[1] = at.origin.y + y[0];
    g_signal_emit_by_name (drag, "drag-begin", held_start[0], held_start[1]);
    g_signal_emit_by_name (drag, "drag-end", 2.0, 3.0); /* a click draws none */
    g_assert_cmpuint (bench.lines, ==, i);
    g_signal_emit_by_name (drag, "drag-update", x[1] - x[0], y[1] - y[0]);
    g_assert_cmpuint (bench.lines, ==, i);
    g_signal_emit_by_name (drag, "drag-end", x[1] - x[0], y[1] - y[0]);
    g_assert_cmpuint (bench.lines, ==, i + 1);
    g_assert_cmpfloat_with_epsilon (bench.line[0], drags[i].from[0], 1e-3);
    g_assert_cmpfloat_with_epsilon (bench.line[1], drags[i].from[1], 1e-3);
    g_assert_cmpfloat_with_epsilon (bench.line[2], drags[i].x1, 1e-3);
    g_assert_cmpfloat_with_epsilon (bench.line[3], drags[i].y1, 1e-3);
  }
  /* Beside all pictures there is nothing to draw on. */
  held_start[0] = held_start[1] = -50;
  g_signal_emit_by_name (drag, "drag-begin", -50.0, -50.0);
  g_signal_emit_by_name (drag, "drag-end", 100.0, 100.0);
  g_assert_cmpuint (bench.lines, ==, G_N_ELEMENTS (drags));
  g_assert_true (td_test_redraws (area, bench_move_line, &bench));
  g_assert_true (td_test_redraws (area, bench_take_line, &bench));
  gtk_toggle_button_set_active (bench_part (&bench, "draw_line"), FALSE);
  g_assert_false (gtk_widget_get_can_target (area));
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
  g_test_add_func ("/charts/redrawn", test_redrawn);
  g_test_add_func ("/charts/lab-resolution", test_lab_resolution);
  g_test_add_func ("/charts/lab-slots", test_lab_slots);
  g_test_add_func ("/charts/lab-modes", test_lab_modes);
  g_test_add_func ("/charts/lab-one-after-another", test_lab_one_after_another);
  g_test_add_func ("/charts/lab-linked", test_lab_linked);
  g_test_add_func ("/charts/lab-table", test_lab_table);
  g_test_add_func ("/charts/lab-editor", test_lab_editor);
  g_test_add_func ("/charts/lab-blind", test_lab_blind);
  td_device_leave (g_test_run ());
}
