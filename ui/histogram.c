/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "histogram.h"

#include <glib/gi18n.h>
#include <math.h>

#include "ui.h"

#define STRIP_PX 5.0     /* the colour strip along the foot */
#define NUMBER_ROOM_PX 7 /* between a handle and its number */
#define GRAB_PX 8.0

struct _TdHistogram {
  GtkWidget parent_instance;
  TdImage *image;
  TdColourMap map;
  double low, high;
  double from, to; /* values at the widget's edges; kept while dragging */
  enum { GRAB_NONE, GRAB_LOW, GRAB_HIGH, GRAB_BOTH } grab;
  double grab_low, grab_high, grab_x;
  char units[16];
};

G_DEFINE_FINAL_TYPE (TdHistogram, td_histogram, GTK_TYPE_WIDGET)

static void
histogram_update_ends (TdHistogram *self)
{
  if (!self->image || self->grab != GRAB_NONE)
    return;
  self->from = MIN (self->image->bins_low, self->low);
  self->to = MAX (self->image->bins_high, self->high);
  double margin = 0.04 * (self->to - self->from);
  self->from -= margin;
  self->to += margin;
}

static double
histogram_to_x (TdHistogram *self, double value)
{
  return (value - self->from) / (self->to - self->from) * gtk_widget_get_width (GTK_WIDGET (self));
}

static double
to_value (TdHistogram *self, double x)
{
  return self->from + x / gtk_widget_get_width (GTK_WIDGET (self)) * (self->to - self->from);
}

static void
histogram_change_range (TdHistogram *self, double low, double high)
{
  double least = 1e-4 * (self->to - self->from);

  if (!self->image || !(high - low >= least))
    return;
  self->low = low;
  self->high = high;
  histogram_update_ends (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
  g_signal_emit_by_name (self, "range-changed", low, high);
}

/* ── Drawing ── */

static void
draw_bins (TdHistogram *self, cairo_t *cr, double height)
{
  const TdImage *image = self->image;
  double peak = 1, step = ((double) image->bins_high - image->bins_low) / TD_IMAGE_BINS;

  for (guint i = 0; i < TD_IMAGE_BINS; i++)
    peak = MAX (peak, image->bins[i]);
  cairo_move_to (cr, histogram_to_x (self, image->bins_low), height);
  for (guint i = 0; i < TD_IMAGE_BINS; i++) {
    /* A root: an air peak a hundred times the rest must not flatten it. */
    double y = height - (height - 3) * pow (image->bins[i] / peak, 0.4);
    cairo_line_to (cr, histogram_to_x (self, image->bins_low + i * step), y);
    cairo_line_to (cr, histogram_to_x (self, image->bins_low + (i + 1) * step), y);
  }
  cairo_line_to (cr, histogram_to_x (self, image->bins_high), height);
  cairo_close_path (cr);
  cairo_fill (cr);
}

static void
draw_strip (TdHistogram *self, cairo_t *cr, double width, double height)
{
  const guint8 *table = td_colour_map_table (self->map);
  double x0 = histogram_to_x (self, self->low), x1 = histogram_to_x (self, self->high);
  cairo_pattern_t *gradient = cairo_pattern_create_linear (x0, 0, x1, 0);

  for (guint i = 0; i < 17; i++) {
    const guint8 *c = table + 4 * MIN (i * 16, 255);
    cairo_pattern_add_color_stop_rgb (gradient, i / 16.0, c[0] / 255.0, c[1] / 255.0, c[2] / 255.0);
  }
  cairo_set_source (cr, gradient);
  cairo_rectangle (cr, 0, height, width, STRIP_PX);
  cairo_fill (cr);
  cairo_pattern_destroy (gradient);
}

static void
draw_handle (cairo_t *cr, double x, double height)
{
  cairo_rectangle (cr, x - 0.75, 0, 1.5, height);
  cairo_fill (cr);
  cairo_arc (cr, x, 5, 4, 0, 2 * G_PI);
  cairo_fill (cr);
}

/* The values of black and white, between their handles where there is room. */
static void
draw_numbers (TdHistogram *self, GtkSnapshot *snapshot, const GdkRGBA *colour, double x0, double x1)
{
  g_autofree char *low = g_strdup_printf ("%.4g", self->low);
  g_autofree char *high = g_strdup_printf ("%.4g %s", self->high, self->units);
  g_autoptr (PangoLayout) left = td_small_layout (self, low, 0.75);
  g_autoptr (PangoLayout) right = td_small_layout (self, high, 0.75);
  int left_width, right_width;

  pango_layout_get_pixel_size (left, &left_width, NULL);
  pango_layout_get_pixel_size (right, &right_width, NULL);
  if (left_width + right_width + 3 * NUMBER_ROOM_PX > x1 - x0)
    return;
  gtk_snapshot_save (snapshot);
  gtk_snapshot_translate (snapshot, &GRAPHENE_POINT_INIT ((float) x0 + NUMBER_ROOM_PX, -2));
  gtk_snapshot_append_layout (snapshot, left, colour);
  gtk_snapshot_translate (
      snapshot, &GRAPHENE_POINT_INIT ((float) (x1 - x0 - right_width) - 2 * NUMBER_ROOM_PX, 0));
  gtk_snapshot_append_layout (snapshot, right, colour);
  gtk_snapshot_restore (snapshot);
}

static void
td_histogram_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  TdHistogram *self = TD_HISTOGRAM (widget);
  double width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget) - STRIP_PX;
  GdkRGBA colour;

  if (!self->image || width <= 0 || height <= 0)
    return;
  gtk_style_context_get_color (gtk_widget_get_style_context (widget), &colour);
  cairo_t *cr = gtk_snapshot_append_cairo (
      snapshot, &GRAPHENE_RECT_INIT (0, 0, (float) width, (float) (height + STRIP_PX)));
  double x0 = histogram_to_x (self, self->low), x1 = histogram_to_x (self, self->high);

  colour.alpha = 0.08f;
  gdk_cairo_set_source_rgba (cr, &colour);
  cairo_rectangle (cr, x0, 0, x1 - x0, height);
  cairo_fill (cr);
  colour.alpha = 0.45f;
  gdk_cairo_set_source_rgba (cr, &colour);
  draw_bins (self, cr, height);
  draw_strip (self, cr, width, height);
  colour.alpha = 0.95f;
  gdk_cairo_set_source_rgba (cr, &colour);
  draw_handle (cr, x0, height);
  draw_handle (cr, x1, height);
  cairo_destroy (cr);
  draw_numbers (self, snapshot, &colour, x0, x1);
  if (gtk_widget_has_visible_focus (widget))
    gtk_snapshot_render_focus (snapshot, gtk_widget_get_style_context (widget), 0, 0, width,
                               height + STRIP_PX);
}

static void
td_histogram_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
                      int *natural, int *minimum_baseline, int *natural_baseline)
{
  *minimum = orientation == GTK_ORIENTATION_HORIZONTAL ? 60 : 40;
  *natural = orientation == GTK_ORIENTATION_HORIZONTAL ? 240 : 44;
  *minimum_baseline = *natural_baseline = -1;
}

/* ── Input ── */

static void
histogram_on_drag_begin (GtkGestureDrag *gesture, double x, double y, TdHistogram *self)
{
  double x0 = histogram_to_x (self, self->low), x1 = histogram_to_x (self, self->high);

  gtk_widget_grab_focus (GTK_WIDGET (self));
  self->grab_low = self->low;
  self->grab_high = self->high;
  self->grab_x = x;
  if (MIN (fabs (x - x0), fabs (x - x1)) <= GRAB_PX)
    self->grab = fabs (x - x0) < fabs (x - x1) ? GRAB_LOW : GRAB_HIGH;
  else if (x > x0 && x < x1)
    self->grab = GRAB_BOTH;
  else
    self->grab = x <= x0 ? GRAB_LOW : GRAB_HIGH;
}

static void
histogram_on_drag_update (GtkGestureDrag *gesture, double dx, double dy, TdHistogram *self)
{
  double shift = to_value (self, dx) - to_value (self, 0);

  if (self->grab == GRAB_LOW)
    histogram_change_range (self, to_value (self, self->grab_x + dx), self->high);
  else if (self->grab == GRAB_HIGH)
    histogram_change_range (self, self->low, to_value (self, self->grab_x + dx));
  else if (self->grab == GRAB_BOTH)
    histogram_change_range (self, self->grab_low + shift, self->grab_high + shift);
}

static void
histogram_on_drag_end (GtkGestureDrag *gesture, double dx, double dy, TdHistogram *self)
{
  self->grab = GRAB_NONE;
  histogram_update_ends (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
histogram_on_pressed (GtkGestureClick *gesture, int n, double x, double y, TdHistogram *self)
{
  if (n == 2)
    g_signal_emit_by_name (self, "auto-requested");
}

static gboolean
histogram_on_key (GtkEventControllerKey *keys, guint key, guint code, GdkModifierType state,
                  TdHistogram *self)
{
  double step = 0.02 * (self->high - self->low);

  if (key != GDK_KEY_Left && key != GDK_KEY_Right)
    return FALSE;
  if (key == GDK_KEY_Left)
    step = -step;
  histogram_change_range (self, state & GDK_SHIFT_MASK ? self->low - step : self->low + step,
                          self->high + step);
  return TRUE;
}

/* ── Widget ── */

void
td_histogram_set_image (TdHistogram *self, TdImage *image)
{
  if (image == self->image)
    return;
  td_hold (image, &self->image, image);
  histogram_update_ends (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
td_histogram_set_range (TdHistogram *self, double low, double high)
{
  self->low = low;
  self->high = high;
  histogram_update_ends (self);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
td_histogram_set_units (TdHistogram *self, const char *units)
{
  g_strlcpy (self->units, units, sizeof self->units);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
td_histogram_set_colour_map (TdHistogram *self, TdColourMap map)
{
  self->map = map;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

TD_DISPOSE (TdHistogram, td_histogram)
{
  g_clear_pointer (&self->image, td_image_unref);
}

static void
td_histogram_class_init (TdHistogramClass *class)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS (class);

  G_OBJECT_CLASS (class)->dispose = td_histogram_dispose;
  widget->snapshot = td_histogram_snapshot;
  widget->measure = td_histogram_measure;
  gtk_widget_class_set_css_name (widget, "histogram");
  gtk_widget_class_set_accessible_role (widget, GTK_ACCESSIBLE_ROLE_GROUP);
  td_signal_new (class, "range-changed", 2, G_TYPE_DOUBLE, G_TYPE_DOUBLE);
  td_signal_new (class, "auto-requested", 0);
}

static void
td_histogram_init (TdHistogram *self)
{
  GtkGesture *drag = gtk_gesture_drag_new (), *click = gtk_gesture_click_new ();
  GtkEventController *keys = gtk_event_controller_key_new ();

  self->to = self->high = 1;
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  gtk_widget_set_cursor_from_name (GTK_WIDGET (self), "ew-resize");
  gtk_widget_set_tooltip_text (
      GTK_WIDGET (self), _ ("Drag the handles to set the contrast; double click for automatic"));
  td_set_spoken_name (self, _ ("Contrast: histogram with black and white point"));
  g_signal_connect (drag, "drag-begin", G_CALLBACK (histogram_on_drag_begin), self);
  g_signal_connect (drag, "drag-update", G_CALLBACK (histogram_on_drag_update), self);
  g_signal_connect (drag, "drag-end", G_CALLBACK (histogram_on_drag_end), self);
  g_signal_connect (click, "pressed", G_CALLBACK (histogram_on_pressed), self);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (histogram_on_key), self);
  gtk_gesture_group (drag, click);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (drag));
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (click));
  gtk_widget_add_controller (GTK_WIDGET (self), keys);
}
