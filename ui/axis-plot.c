/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis-plot.h"

#include <glib/gi18n.h>
#include <math.h>
#include <stdlib.h>

#include "dataset/sort.h"
#include "ui.h"

#define HEIGHT_PX 120
#define EDGE_PX 10.0
#define FOOT_PX 16.0
#define DOT_PX 3.5
#define PICK_PX 14.0

struct _TdAxisPlot {
  GtkWidget parent_instance;
  const TdAxisResult *result;
  guint n_rows;
  double centre_px, tilt_deg; /* what is set */
  double from, to;            /* columns at the edges */
};

G_DEFINE_FINAL_TYPE (TdAxisPlot, td_axis_plot, GTK_TYPE_WIDGET)

void
td_axis_method_colour (TdAxisMethod method, GdkRGBA *colour)
{
  static const GdkRGBA colours[TD_AXIS_COUNT] = {
    [TD_AXIS_CORRELATION] = { 0.21f, 0.52f, 0.89f, 1 },
    [TD_AXIS_FOURIER] = { 0.90f, 0.45f, 0.0f, 1 },
    [TD_AXIS_SHARPNESS] = { 0.18f, 0.65f, 0.38f, 1 },
    [TD_AXIS_OVERLAP] = { 0.70f, 0.35f, 0.80f, 1 },
    [TD_AXIS_PROJECTIONS] = { 0.75f, 0.11f, 0.16f, 1 },
  };

  *colour = colours[method];
}

/* ── Places ── */

/* Around the consensus and the answers it took; where there is doubt, nine tenths of all that are
   better than chance. One that is far off must not press the others together. */
static void
axis_plot_find_range (TdAxisPlot *self)
{
  const TdAxisResult *result = self->result;
  g_autofree double *centres = g_new (double, result->n_trials + 1);
  double low = INFINITY, high = -INFINITY;
  guint n = 0;

  for (guint i = 0; i < result->n_trials; i++) {
    const TdAxisTrial *trial = &result->trials[i];
    gboolean counts = trial->used || (!result->agreed && trial->confidence >= TD_AXIS_WEAK);
    if (counts && isfinite (trial->centre_px))
      centres[n++] = trial->centre_px;
  }
  qsort (centres, n, sizeof *centres, td_compare_doubles);
  if (n > 0) {
    low = centres[n / 10];
    high = centres[n - 1 - n / 10];
  }
  if (isfinite (result->centre_px)) {
    low = MIN (low, result->centre_px - result->uncertainty_px);
    high = MAX (high, result->centre_px + result->uncertainty_px);
  }
  if (!(low <= high))
    low = high = isfinite (self->centre_px) ? self->centre_px : 0;
  double margin = MAX (0.15 * (high - low), 0.25);
  self->from = low - margin;
  self->to = high + margin;
}

static double
axis_plot_to_x (TdAxisPlot *self, double centre)
{
  double width = gtk_widget_get_width (GTK_WIDGET (self)) - 2 * EDGE_PX;

  return EDGE_PX + CLAMP ((centre - self->from) / (self->to - self->from), 0, 1) * width;
}

static double
to_y (TdAxisPlot *self, double row)
{
  double height = gtk_widget_get_height (GTK_WIDGET (self)) - EDGE_PX - FOOT_PX;

  return EDGE_PX / 2 + (row + 0.5) / MAX (self->n_rows, 1u) * height;
}

static double
centre_at (double centre, double tilt_deg, double row, guint n_rows)
{
  const TdAxisLine line = td_axis_line (centre, tilt_deg, n_rows);

  return td_axis_line_at (&line, row);
}

/* ── Drawing ── */

/* A line down the detector, sloped by the tilt. */
static void
draw_axis_line (TdAxisPlot *self, cairo_t *cr, double centre, double tilt)
{
  double last = self->n_rows - 0.5;

  cairo_move_to (cr, axis_plot_to_x (self, centre_at (centre, tilt, -0.5, self->n_rows)),
                 to_y (self, -0.5));
  cairo_line_to (cr, axis_plot_to_x (self, centre_at (centre, tilt, last, self->n_rows)),
                 to_y (self, last));
}

static void
draw_consensus (TdAxisPlot *self, cairo_t *cr, const GdkRGBA *text)
{
  const TdAxisResult *result = self->result;
  double first = -0.5, last = self->n_rows - 0.5;
  const double u_top = td_axis_result_uncertainty_at (result, first);
  const double u_foot = td_axis_result_uncertainty_at (result, last);
  double top = centre_at (result->centre_px, result->tilt_deg, first, self->n_rows);
  double foot = centre_at (result->centre_px, result->tilt_deg, last, self->n_rows);

  if (!isfinite (result->centre_px))
    return;
  cairo_set_source_rgba (cr, text->red, text->green, text->blue, 0.14);
  cairo_move_to (cr, axis_plot_to_x (self, top - u_top), to_y (self, first));
  cairo_line_to (cr, axis_plot_to_x (self, top + u_top), to_y (self, first));
  cairo_line_to (cr, axis_plot_to_x (self, foot + u_foot), to_y (self, last));
  cairo_line_to (cr, axis_plot_to_x (self, foot - u_foot), to_y (self, last));
  cairo_close_path (cr);
  cairo_fill (cr);
  cairo_set_source_rgba (cr, text->red, text->green, text->blue, 0.6);
  cairo_set_line_width (cr, 1);
  draw_axis_line (self, cr, result->centre_px, result->tilt_deg);
  cairo_stroke (cr);
}

static void
draw_set_centre (TdAxisPlot *self, cairo_t *cr)
{
  const double dashes[] = { 4, 3 };

  if (!isfinite (self->centre_px) || self->centre_px < self->from || self->centre_px > self->to)
    return;
  cairo_set_source_rgba (cr, 0.85, 0.2, 0.2, 0.9);
  cairo_set_line_width (cr, 1.5);
  cairo_set_dash (cr, dashes, 2, 0);
  draw_axis_line (self, cr, self->centre_px, self->tilt_deg);
  cairo_stroke (cr);
  cairo_set_dash (cr, NULL, 0, 0);
}

/* Full: used by the consensus; a ring: not. */
static void
draw_trial (TdAxisPlot *self, cairo_t *cr, const TdAxisTrial *trial)
{
  GdkRGBA colour;

  if (!isfinite (trial->centre_px))
    return;
  td_axis_method_colour (trial->method, &colour);
  gdk_cairo_set_source_rgba (cr, &colour);
  cairo_new_sub_path (cr);
  cairo_arc (cr, axis_plot_to_x (self, trial->centre_px), to_y (self, trial->row), DOT_PX, 0,
             2 * G_PI);
  cairo_set_line_width (cr, 1.5);
  if (trial->used)
    cairo_fill (cr);
  else
    cairo_stroke (cr);
}

static void
draw_number (TdAxisPlot *self, cairo_t *cr, double value, double align)
{
  g_autofree char *text = g_strdup_printf ("%.2f", value);
  g_autoptr (PangoLayout) layout = td_small_layout (self, text, 0.8);
  int width, height;

  pango_layout_get_pixel_size (layout, &width, &height);
  cairo_move_to (cr, align * (gtk_widget_get_width (GTK_WIDGET (self)) - width),
                 gtk_widget_get_height (GTK_WIDGET (self)) - height);
  pango_cairo_show_layout (cr, layout);
}

static void
td_axis_plot_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  TdAxisPlot *self = TD_AXIS_PLOT (widget);
  double width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);
  GdkRGBA text;

  if (!self->result)
    return;
  cairo_t *cr = gtk_snapshot_append_cairo (
      snapshot, &GRAPHENE_RECT_INIT (0, 0, (float) width, (float) height));
  gtk_style_context_get_color (gtk_widget_get_style_context (widget), &text);
  draw_consensus (self, cr, &text);
  draw_set_centre (self, cr);
  for (guint i = 0; i < self->result->n_trials; i++)
    draw_trial (self, cr, &self->result->trials[i]);
  cairo_set_source_rgba (cr, text.red, text.green, text.blue, 0.65);
  draw_number (self, cr, self->from, 0);
  draw_number (self, cr, (self->from + self->to) / 2, 0.5);
  draw_number (self, cr, self->to, 1);
  cairo_destroy (cr);
}

/* ── Interface ── */

void
td_axis_plot_set_result (TdAxisPlot *self, const TdAxisResult *result, guint n_rows)
{
  self->result = result;
  self->n_rows = n_rows;
  if (result)
    axis_plot_find_range (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
td_axis_plot_set_centre (TdAxisPlot *self, double centre_px, double tilt_deg)
{
  self->centre_px = centre_px;
  self->tilt_deg = tilt_deg;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
axis_plot_on_pressed (GtkGestureClick *gesture, int n, double x, double y, TdAxisPlot *self)
{
  double nearest = PICK_PX;
  guint picked = G_MAXUINT;

  for (guint i = 0; self->result && i < self->result->n_trials; i++) {
    const TdAxisTrial *trial = &self->result->trials[i];
    if (!isfinite (trial->centre_px))
      continue;
    double away = hypot (axis_plot_to_x (self, trial->centre_px) - x, to_y (self, trial->row) - y);
    if (away < nearest) {
      nearest = away;
      picked = i;
    }
  }
  if (picked != G_MAXUINT)
    g_signal_emit_by_name (self, "trial-picked", picked);
}

static void
td_axis_plot_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
                      int *natural, int *minimum_baseline, int *natural_baseline)
{
  *minimum = orientation == GTK_ORIENTATION_VERTICAL ? HEIGHT_PX : 120;
  *natural = orientation == GTK_ORIENTATION_VERTICAL ? HEIGHT_PX : 280;
  *minimum_baseline = *natural_baseline = -1;
}

static void
td_axis_plot_class_init (TdAxisPlotClass *class)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS (class);

  widget->snapshot = td_axis_plot_snapshot;
  widget->measure = td_axis_plot_measure;
  gtk_widget_class_set_accessible_role (widget, GTK_ACCESSIBLE_ROLE_IMG);
  td_signal_new (class, "trial-picked", 1, G_TYPE_UINT);
}

static void
td_axis_plot_init (TdAxisPlot *self)
{
  GtkGesture *click = gtk_gesture_click_new ();

  self->centre_px = NAN;
  g_signal_connect (click, "pressed", G_CALLBACK (axis_plot_on_pressed), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (click));
  gtk_widget_set_tooltip_text (GTK_WIDGET (self),
                               _ ("Across: column of the axis. Down: detector row. The band is the "
                                  "consensus; the dashed line is set. Click an answer to take it"));
  td_set_spoken_name (self, _ ("Where each method saw the axis"));
}
