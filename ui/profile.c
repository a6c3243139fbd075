/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile.h"

#include <glib/gi18n.h>
#include <math.h>

#include "ui.h"

#define HEIGHT_PX 84
#define ROOM_PX 5.0

struct _TdProfile {
  GtkWidget parent_instance;
  TdImage *image;
  TdView view;
  char units[16];
  double row, column;
};

G_DEFINE_FINAL_TYPE (TdProfile, td_profile, GTK_TYPE_WIDGET)

/* The value over which widget pixel @x lies; NAN: none. */
static double
value_at (TdProfile *self, double x, double width)
{
  double column, row;
  float value;

  td_view_to_picture (&self->view, width, 0, x + 0.5, 0, &column, &row);
  column += (self->image->extent_width - 1) / 2;
  return td_image_value (self->image, column, self->row, &value) && isfinite (value) ? value : NAN;
}

static gboolean
profile_find_range (TdProfile *self, double width, double *low, double *high)
{
  *low = INFINITY;
  *high = -INFINITY;
  for (double x = 0; x < width; x++) {
    double value = value_at (self, x, width);
    *low = fmin (*low, value);
    *high = fmax (*high, value);
  }
  if (!(*low <= *high))
    return FALSE;
  if (*low == *high) {
    *low -= 0.5;
    *high += 0.5;
  }
  return TRUE;
}

static void
draw_curve (TdProfile *self, cairo_t *cr, double width, double height, double low, double high)
{
  const double scale = (height - 2 * ROOM_PX) / (high - low);
  gboolean drawing = FALSE;

  for (double x = 0; x < width; x++) {
    double value = value_at (self, x, width);
    if (!isfinite (value)) {
      drawing = FALSE;
      continue;
    }
    if (drawing)
      cairo_line_to (cr, x + 0.5, height - ROOM_PX - (value - low) * scale);
    else
      cairo_move_to (cr, x + 0.5, height - ROOM_PX - (value - low) * scale);
    drawing = TRUE;
  }
  cairo_set_line_width (cr, 1.25);
  cairo_set_line_join (cr, CAIRO_LINE_JOIN_ROUND);
  cairo_stroke (cr);
}

/* Zero, where it is within the range, and the marked column. */
static void
draw_guides (TdProfile *self, cairo_t *cr, double width, double height, double low, double high)
{
  double x, y;

  cairo_set_line_width (cr, 1);
  if (low < 0 && high > 0) {
    y = round (height - ROOM_PX + low * (height - 2 * ROOM_PX) / (high - low)) + 0.5;
    cairo_move_to (cr, 0, y);
    cairo_line_to (cr, width, y);
    cairo_stroke (cr);
  }
  if (isfinite (self->column)) {
    td_view_from_picture (&self->view, width, 0, self->column - (self->image->extent_width - 1) / 2,
                          0, &x, &y);
    cairo_move_to (cr, round (x) + 0.5, 0);
    cairo_line_to (cr, round (x) + 0.5, height);
    cairo_stroke (cr);
  }
}

static void
draw_text (TdProfile *self, GtkSnapshot *snapshot, const GdkRGBA *colour, double low, double high)
{
  g_autofree char *text
      = g_strdup_printf (_ ("row %.0f: %.5g … %.5g %s"), self->row, low, high, self->units);
  g_autoptr (PangoLayout) layout = td_small_layout (self, text, 0.85);

  gtk_snapshot_save (snapshot);
  gtk_snapshot_translate (snapshot, &GRAPHENE_POINT_INIT (8, 2));
  gtk_snapshot_append_layout (snapshot, layout, colour);
  gtk_snapshot_restore (snapshot);
}

static void
td_profile_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  TdProfile *self = TD_PROFILE (widget);
  const double width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);
  double low, high;
  GdkRGBA colour;

  if (!self->image || !profile_find_range (self, width, &low, &high))
    return;
  gtk_style_context_get_color (gtk_widget_get_style_context (widget), &colour);
  cairo_t *cr = gtk_snapshot_append_cairo (
      snapshot, &GRAPHENE_RECT_INIT (0, 0, (float) width, (float) height));
  GdkRGBA faint = colour;
  faint.alpha = 0.25f;
  gdk_cairo_set_source_rgba (cr, &faint);
  draw_guides (self, cr, width, height, low, high);
  gdk_cairo_set_source_rgba (cr, &colour);
  draw_curve (self, cr, width, height, low, high);
  cairo_destroy (cr);
  draw_text (self, snapshot, &colour, low, high);
}

void
td_profile_set_units (TdProfile *self, const char *units)
{
  g_strlcpy (self->units, units, sizeof self->units);
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

void
td_profile_show (TdProfile *self, TdImage *image, const TdView *view, double row, double column)
{
  td_hold (image, &self->image, image);
  self->view = *view;
  self->row = row;
  self->column = column;
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

TD_FINALIZE (TdProfile, td_profile)
{
  g_clear_pointer (&self->image, td_image_unref);
}

static void
td_profile_class_init (TdProfileClass *class)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS (class);

  G_OBJECT_CLASS (class)->finalize = td_profile_finalize;
  widget->snapshot = td_profile_snapshot;
  gtk_widget_class_set_css_name (widget, "profile");
  gtk_widget_class_set_accessible_role (widget, GTK_ACCESSIBLE_ROLE_IMG);
}

static void
td_profile_init (TdProfile *self)
{
  self->column = NAN;
  gtk_widget_set_overflow (GTK_WIDGET (self), GTK_OVERFLOW_HIDDEN);
  gtk_widget_set_size_request (GTK_WIDGET (self), -1, HEIGHT_PX);
}
