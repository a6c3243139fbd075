/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lab-chart.h"

#include <glib/gi18n.h>
#include <math.h>

#include "ui.h"

/* In pixels, whatever size letters have. */
enum { RIGHT = 10, GAP = 6, SQUARE = 9, NAME = 22, DOT = 5, PICK = 14, LEGEND_SPACING = 3 };

#define LETTERS 0.82 /* of the window's */

struct _TdLabChart {
  GtkWidget parent_instance;
  TdLabPlot *plot;
  char *label;
  gboolean pointed;
  guint at_series, at_point;
};

G_DEFINE_FINAL_TYPE (TdLabChart, td_lab_chart, GTK_TYPE_WIDGET)

/* The area that the axes enclose. Letters decide what is left for it. */
typedef struct {
  double left, top, width, height;
  double line, legend; /* height of a line of text, width of the names */
} Box;

static int
lab_chart_text_width (TdLabChart *self, const char *text, int *height)
{
  g_autoptr (PangoLayout) layout = td_small_layout (self, text, LETTERS);
  int width;

  pango_layout_get_pixel_size (layout, &width, height);
  return width;
}

/* A name beside its square: long ones have several lines. @legend: what all names take, across. */
static PangoLayout *
lab_chart_name (TdLabChart *self, guint s, double legend)
{
  const TdLabSeries *series = self->plot->series->pdata[s];
  PangoLayout *layout = td_small_layout (self, _ (series->name), LETTERS);

  pango_layout_set_wrap (layout, PANGO_WRAP_WORD_CHAR);
  pango_layout_set_width (layout, (int) MAX (legend - NAME + GAP, 1) * PANGO_SCALE);
  return layout;
}

static gboolean
lab_chart_names_fit (TdLabChart *self, double legend)
{
  double sum = 0;

  for (guint s = 0; s < self->plot->series->len; s++) {
    g_autoptr (PangoLayout) layout = lab_chart_name (self, s, legend);
    int height;
    pango_layout_get_pixel_size (layout, NULL, &height);
    sum += height + LEGEND_SPACING;
  }
  return sum <= gtk_widget_get_height (GTK_WIDGET (self));
}

/* What the names take, right of the plot. */
static double
lab_chart_legend_width (TdLabChart *self)
{
  const double width = gtk_widget_get_width (GTK_WIDGET (self));
  double most = width * 0.35;
  int widest = 0;

  for (guint s = 0; self->plot && s < self->plot->series->len; s++) {
    const TdLabSeries *series = self->plot->series->pdata[s];
    widest = MAX (widest, lab_chart_text_width (self, _ (series->name), NULL));
  }
  while (self->plot && most < widest + NAME + 2 && most < width * 0.6
         && !lab_chart_names_fit (self, most))
    most += width * 0.05;
  return MIN (widest + NAME + 2, most);
}

static char *
lab_chart_y_label (double tick)
{
  return g_strdup_printf ("%.4g", tick);
}

static int
lab_chart_y_labels_width (TdLabChart *self)
{
  const TdLabPlot *plot = self->plot;
  double ticks[TD_LAB_MOST_TICKS];
  int widest = 0;

  const guint n = plot ? td_lab_plot_ticks (plot->y0, plot->y1, plot->y_log, ticks) : 0;
  for (guint i = 0; i < n; i++) {
    g_autofree char *label = lab_chart_y_label (ticks[i]);
    widest = MAX (widest, lab_chart_text_width (self, label, NULL));
  }
  return widest;
}

/* What y is stands above, and what x is below the numbers. */
static Box
lab_chart_box (TdLabChart *self)
{
  const double width = gtk_widget_get_width (GTK_WIDGET (self));
  const double height = gtk_widget_get_height (GTK_WIDGET (self));
  const double left = lab_chart_y_labels_width (self) + GAP + 2;
  const double legend = lab_chart_legend_width (self);
  int line;

  lab_chart_text_width (self, "0", &line);
  const double top = 1.5 * line + GAP, bottom = 2 * line + 2 * GAP;
  return (Box) { .left = left,
                 .top = top,
                 .width = MAX (width - legend - left - RIGHT, 1),
                 .height = MAX (height - top - bottom, 1),
                 .line = line,
                 .legend = legend };
}

/* FALSE: the point is not shown. */
static gboolean
lab_chart_place (const TdLabPlot *plot, const Box *box, const TdLabSeries *series, guint i,
                 double *x, double *y)
{
  const double px = td_lab_plot_place (series->x[i], plot->x0, plot->x1, plot->x_log);
  const double py = td_lab_plot_place (series->y[i], plot->y0, plot->y1, plot->y_log);

  *x = box->left + box->width * px;
  *y = box->top + box->height * (1 - py);
  return isfinite (*x) && isfinite (*y);
}

static void
lab_chart_set_colour (cairo_t *cr, guint32 colour)
{
  cairo_set_source_rgb (cr, (colour >> 16) / 255.0, (colour >> 8 & 255) / 255.0,
                        (colour & 255) / 255.0);
}

/* The reference's black is the text's colour on a dark theme. */
static void
lab_chart_use (cairo_t *cr, const TdLabSeries *series, const GdkRGBA *text)
{
  if (series->colour == td_lab_plot_colour (-1))
    gdk_cairo_set_source_rgba (cr, text);
  else
    lab_chart_set_colour (cr, series->colour);
}

/* The text's middle is at the height of @y. */
static void
lab_chart_text (TdLabChart *self, cairo_t *cr, const char *text, double x, double y, double align)
{
  g_autoptr (PangoLayout) layout = td_small_layout (self, text, LETTERS);
  int width, height;

  pango_layout_get_pixel_size (layout, &width, &height);
  cairo_move_to (cr, x - align * width, y - height / 2.0);
  pango_cairo_show_layout (cr, layout);
}

/* Numbers that would run into each other are left out; their lines are not. */
static void
lab_chart_draw_x_axis (TdLabChart *self, cairo_t *cr, const Box *box, const GdkRGBA *text)
{
  const TdLabPlot *plot = self->plot;
  const double below = box->top + box->height;
  GdkRGBA faint = *text;
  double ticks[TD_LAB_MOST_TICKS], end = -INFINITY;

  faint.alpha *= 0.18f;
  const guint n = td_lab_plot_ticks (plot->x0, plot->x1, plot->x_log, ticks);
  for (guint i = 0; i < n; i++) {
    const double x
        = box->left + box->width * td_lab_plot_place (ticks[i], plot->x0, plot->x1, plot->x_log);
    g_autofree char *label = g_strdup_printf ("%.6g", ticks[i]);
    const double width = lab_chart_text_width (self, label, NULL);
    gdk_cairo_set_source_rgba (cr, &faint);
    cairo_move_to (cr, round (x) + 0.5, box->top);
    cairo_rel_line_to (cr, 0, box->height);
    cairo_stroke (cr);
    if (x - width / 2 < end + GAP)
      continue;
    gdk_cairo_set_source_rgba (cr, text);
    lab_chart_text (self, cr, label, x, below + GAP / 2.0 + box->line / 2, 0.5);
    end = x + width / 2;
  }
  gdk_cairo_set_source_rgba (cr, text);
  lab_chart_text (self, cr, _ (plot->x_title), box->left + box->width / 2,
                  below + GAP + 1.5 * box->line, 0.5);
}

static void
lab_chart_draw_y_axis (TdLabChart *self, cairo_t *cr, const Box *box, const GdkRGBA *text)
{
  const TdLabPlot *plot = self->plot;
  GdkRGBA faint = *text;
  double ticks[TD_LAB_MOST_TICKS], last = INFINITY;

  faint.alpha *= 0.18f;
  const guint n = td_lab_plot_ticks (plot->y0, plot->y1, plot->y_log, ticks);
  for (guint i = 0; i < n; i++) {
    const double y
        = box->top
          + box->height * (1 - td_lab_plot_place (ticks[i], plot->y0, plot->y1, plot->y_log));
    g_autofree char *label = lab_chart_y_label (ticks[i]);
    gdk_cairo_set_source_rgba (cr, &faint);
    cairo_move_to (cr, box->left, round (y) + 0.5);
    cairo_rel_line_to (cr, box->width, 0);
    cairo_stroke (cr);
    if (y > last - box->line)
      continue;
    gdk_cairo_set_source_rgba (cr, text);
    lab_chart_text (self, cr, label, box->left - GAP, y, 1);
    last = y;
  }
  gdk_cairo_set_source_rgba (cr, text);
  lab_chart_text (self, cr, _ (plot->y_title), 2, box->line / 2, 0);
}

static void
lab_chart_draw_series (cairo_t *cr, const TdLabPlot *plot, const Box *box,
                       const TdLabSeries *series)
{
  gboolean down = FALSE;
  double x, y;

  for (guint i = 0; i < series->n; i++) {
    if (!lab_chart_place (plot, box, series, i, &x, &y)) {
      down = FALSE;
    } else if (series->dots) {
      cairo_new_path (cr);
      cairo_arc (cr, x, y, DOT, 0, 2 * G_PI);
      cairo_fill (cr);
    } else if (down) {
      cairo_line_to (cr, x, y);
    } else {
      cairo_move_to (cr, x, y);
      down = TRUE;
    }
  }
  if (series->dots)
    return;
  const double dashes[] = { 5, 4 };
  cairo_set_dash (cr, dashes, series->dashed ? 2 : 0, 0);
  cairo_set_line_width (cr, 1.3);
  cairo_set_line_join (cr, CAIRO_LINE_JOIN_ROUND);
  cairo_stroke (cr);
  cairo_set_dash (cr, dashes, 0, 0);
}

static void
lab_chart_draw_legend (TdLabChart *self, cairo_t *cr, const Box *box, const GdkRGBA *text)
{
  const GPtrArray *all = self->plot->series;
  const double right = box->left + box->width + RIGHT - 2;
  double y = LEGEND_SPACING / 2.0;

  for (guint s = 0; s < all->len; s++) {
    g_autoptr (PangoLayout) layout = lab_chart_name (self, s, box->legend);
    int height;
    lab_chart_use (cr, all->pdata[s], text);
    cairo_rectangle (cr, right, y + (box->line - SQUARE) / 2, SQUARE, SQUARE);
    cairo_fill (cr);
    gdk_cairo_set_source_rgba (cr, text);
    cairo_move_to (cr, right + NAME - RIGHT + 2, y);
    pango_cairo_show_layout (cr, layout);
    pango_layout_get_pixel_size (layout, NULL, &height);
    y += height + LEGEND_SPACING;
  }
}

static void
lab_chart_draw_pointed (TdLabChart *self, cairo_t *cr, const Box *box, const GdkRGBA *text)
{
  const TdLabSeries *series = self->at_series < self->plot->series->len
                                  ? self->plot->series->pdata[self->at_series]
                                  : NULL;
  double x, y;

  if (!self->pointed || !series || self->at_point >= series->n
      || !lab_chart_place (self->plot, box, series, self->at_point, &x, &y))
    return;
  g_autofree char *words = g_strdup_printf ("%s: %.5g, %.4g", _ (series->name),
                                            series->x[self->at_point], series->y[self->at_point]);
  gdk_cairo_set_source_rgba (cr, text);
  cairo_set_line_width (cr, 1.5);
  cairo_new_path (cr);
  cairo_arc (cr, x, y, DOT + 2, 0, 2 * G_PI);
  cairo_stroke (cr);
  lab_chart_text (self, cr, words, box->left + GAP, box->top + box->line / 2, 0);
}

static void
td_lab_chart_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  TdLabChart *self = TD_LAB_CHART (widget);
  const Box box = lab_chart_box (self);
  const double width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);
  GdkRGBA text;

  gtk_style_context_get_color (gtk_widget_get_style_context (widget), &text);
  cairo_t *cr = gtk_snapshot_append_cairo (
      snapshot, &GRAPHENE_RECT_INIT (0, 0, (float) width, (float) height));
  if (!self->plot || self->plot->series->len == 0) {
    gdk_cairo_set_source_rgba (cr, &text);
    lab_chart_text (self, cr, self->label ? self->label : "", width / 2, height / 2, 0.5);
  } else {
    cairo_set_line_width (cr, 1);
    lab_chart_draw_x_axis (self, cr, &box, &text);
    lab_chart_draw_y_axis (self, cr, &box, &text);
    cairo_save (cr);
    cairo_rectangle (cr, box.left, box.top - DOT, box.width + DOT, box.height + 2 * DOT);
    cairo_clip (cr);
    for (guint s = 0; s < self->plot->series->len; s++) {
      const TdLabSeries *series = self->plot->series->pdata[s];
      lab_chart_use (cr, series, &text);
      lab_chart_draw_series (cr, self->plot, &box, series);
    }
    cairo_restore (cr);
    lab_chart_draw_legend (self, cr, &box, &text);
    lab_chart_draw_pointed (self, cr, &box, &text);
  }
  cairo_destroy (cr);
}

/* The nearest point of all series; its distance in widget pixels. */
static double
lab_chart_find (TdLabChart *self, double wx, double wy)
{
  const Box box = lab_chart_box (self);
  double least = INFINITY, x, y;

  for (guint s = 0; self->plot && s < self->plot->series->len; s++) {
    const TdLabSeries *series = self->plot->series->pdata[s];
    for (guint i = 0; !series->dashed && i < series->n; i++) {
      if (!lab_chart_place (self->plot, &box, series, i, &x, &y))
        continue;
      const double distance = hypot (x - wx, y - wy);
      if (distance >= least)
        continue;
      least = distance;
      self->at_series = s;
      self->at_point = i;
    }
  }
  return least;
}

static void
lab_chart_on_motion (GtkEventControllerMotion *motion, double x, double y, TdLabChart *self)
{
  self->pointed = lab_chart_find (self, x, y) < 4 * PICK;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
lab_chart_on_leave (GtkEventControllerMotion *motion, TdLabChart *self)
{
  self->pointed = FALSE;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
lab_chart_on_click (GtkGestureClick *click, int n, double x, double y, TdLabChart *self)
{
  if (lab_chart_find (self, x, y) >= PICK)
    return;
  const TdLabSeries *series = self->plot->series->pdata[self->at_series];
  if (series->dots)
    g_signal_emit_by_name (self, "picked", self->at_series);
}

void
td_lab_chart_take (TdLabChart *self, TdLabPlot *plot)
{
  g_clear_pointer (&self->plot, td_lab_plot_unref);
  self->plot = plot;
  self->pointed = FALSE;
  gtk_widget_queue_resize (GTK_WIDGET (self));
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
td_lab_chart_set_label (TdLabChart *self, const char *label)
{
  g_free (self->label);
  self->label = g_strdup (label);
  td_set_spoken_name (self, label);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

/* All names have room. */
static void
td_lab_chart_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
                      int *natural, int *minimum_baseline, int *natural_baseline)
{
  TdLabChart *self = TD_LAB_CHART (widget);
  const int names = self->plot ? (int) self->plot->series->len : 0;
  int line;

  lab_chart_text_width (self, "0", &line);
  *minimum = orientation == GTK_ORIENTATION_HORIZONTAL
                 ? 160
                 : MAX (MAX (120, 8 * line), names * (line + LEGEND_SPACING));
  *natural = MAX (*minimum, orientation == GTK_ORIENTATION_HORIZONTAL ? 400 : 220);
  *minimum_baseline = *natural_baseline = -1;
}

TD_FINALIZE (TdLabChart, td_lab_chart)
{
  g_clear_pointer (&self->plot, td_lab_plot_unref);
  g_free (self->label);
}

static void
td_lab_chart_class_init (TdLabChartClass *class)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS (class);

  G_OBJECT_CLASS (class)->finalize = td_lab_chart_finalize;
  widget->snapshot = td_lab_chart_snapshot;
  widget->measure = td_lab_chart_measure;
  gtk_widget_class_set_css_name (widget, "labchart");
  gtk_widget_class_set_accessible_role (widget, GTK_ACCESSIBLE_ROLE_IMG);
  td_signal_new (class, "picked", 1, G_TYPE_UINT);
}

static void
td_lab_chart_init (TdLabChart *self)
{
  GtkEventController *motion = gtk_event_controller_motion_new ();
  GtkGesture *click = gtk_gesture_click_new ();

  g_signal_connect (motion, "motion", G_CALLBACK (lab_chart_on_motion), self);
  g_signal_connect (motion, "leave", G_CALLBACK (lab_chart_on_leave), self);
  g_signal_connect (click, "released", G_CALLBACK (lab_chart_on_click), self);
  gtk_widget_add_controller (GTK_WIDGET (self), motion);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (click));
}
