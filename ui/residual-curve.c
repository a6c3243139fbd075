/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "residual-curve.h"

#include <glib/gi18n.h>
#include <math.h>

#define HEIGHT_PX 56
#define EDGE_PX 8.0
#define DOT_PX 2.0
#define LEAST 1e-12 /* a residual of 0 has no logarithm */

struct _TdResidualCurve {
  GtkWidget parent_instance;
  GArray *residuals;
  guint n_passes;
};

G_DEFINE_FINAL_TYPE (TdResidualCurve, td_residual_curve, GTK_TYPE_WIDGET)

static double
residual_curve_at (TdResidualCurve *self, guint i)
{
  return log10 (MAX (g_array_index (self->residuals, double, i), LEAST));
}

static void
residual_curve_draw (TdResidualCurve *self, cairo_t *cr, const GdkRGBA *colour)
{
  const double width = gtk_widget_get_width (GTK_WIDGET (self)) - 2 * EDGE_PX;
  const double height = gtk_widget_get_height (GTK_WIDGET (self)) - 2 * EDGE_PX;
  const guint n = self->residuals->len;
  double low = INFINITY, high = -INFINITY;

  for (guint i = 0; i < n; i++) {
    low = MIN (low, residual_curve_at (self, i));
    high = MAX (high, residual_curve_at (self, i));
  }
  const double range = MAX (high - low, 0.1);
  gdk_cairo_set_source_rgba (cr, colour);
  cairo_set_line_width (cr, 1.5);
  for (guint pass = 0; pass < 2; pass++) {
    for (guint i = 0; i < n; i++) {
      const double x = EDGE_PX + width * i / MAX (self->n_passes - 1, 1);
      const double y = EDGE_PX + height * (high - residual_curve_at (self, i)) / range;
      if (pass == 0)
        cairo_line_to (cr, x, y);
      else
        cairo_arc (cr, x, y, DOT_PX, 0, 2 * G_PI);
      if (pass == 1)
        cairo_fill (cr);
    }
    if (pass == 0)
      cairo_stroke (cr);
  }
}

static void
td_residual_curve_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  TdResidualCurve *self = TD_RESIDUAL_CURVE (widget);
  const int width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);
  GdkRGBA colour;

  if (self->residuals->len == 0)
    return;
  gtk_style_context_get_color (gtk_widget_get_style_context (widget), &colour);
  cairo_t *cr = gtk_snapshot_append_cairo (
      snapshot, &GRAPHENE_RECT_INIT (0, 0, (float) width, (float) height));
  residual_curve_draw (self, cr, &colour);
  cairo_destroy (cr);
}

void
td_residual_curve_set (TdResidualCurve *self, const GArray *residuals, guint n_passes)
{
  g_array_set_size (self->residuals, 0);
  if (residuals && residuals->len)
    g_array_append_vals (self->residuals, residuals->data, residuals->len);
  self->n_passes = MAX (n_passes, self->residuals->len);
  gtk_widget_set_visible (GTK_WIDGET (self), self->residuals->len > 0);
  if (self->residuals->len > 0) {
    g_autofree char *text = g_strdup_printf (
        _ ("Relative residual after %u of %u passes: %.4f"), self->residuals->len, self->n_passes,
        g_array_index (self->residuals, double, self->residuals->len - 1));
    gtk_widget_set_tooltip_text (GTK_WIDGET (self), text);
    gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, text, -1);
  }
  gtk_widget_queue_draw (GTK_WIDGET (self));
}

static void
td_residual_curve_finalize (GObject *object)
{
  g_array_unref (TD_RESIDUAL_CURVE (object)->residuals);
  G_OBJECT_CLASS (td_residual_curve_parent_class)->finalize (object);
}

static void
td_residual_curve_class_init (TdResidualCurveClass *class)
{
  G_OBJECT_CLASS (class)->finalize = td_residual_curve_finalize;
  GTK_WIDGET_CLASS (class)->snapshot = td_residual_curve_snapshot;
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (class), "residualcurve");
}

static void
td_residual_curve_init (TdResidualCurve *self)
{
  self->residuals = g_array_new (FALSE, FALSE, sizeof (double));
  gtk_widget_set_visible (GTK_WIDGET (self), FALSE);
  gtk_widget_set_size_request (GTK_WIDGET (self), 80, HEIGHT_PX);
}
