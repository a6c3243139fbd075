/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "residual-curve.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui.h"

#define EDGE_PX 8.0
#define DOT_PX 2.0
#define LEAST 1e-12 /* a residual of 0 has no logarithm */

/* What is drawn; of the area's draw function. */
typedef struct {
  guint n, n_passes;
  double residuals[];
} Curve;

static double
residual_curve_at (const Curve *curve, guint i)
{
  return log10 (MAX (curve->residuals[i], LEAST));
}

static void
residual_curve_draw (GtkDrawingArea *area, cairo_t *cr, int area_width, int area_height,
                     gpointer user)
{
  const Curve *curve = user;
  const double width = area_width - 2 * EDGE_PX, height = area_height - 2 * EDGE_PX;
  double low = INFINITY, high = -INFINITY;
  GdkRGBA colour;

  for (guint i = 0; i < curve->n; i++) {
    low = MIN (low, residual_curve_at (curve, i));
    high = MAX (high, residual_curve_at (curve, i));
  }
  const double range = MAX (high - low, 0.1);
  gtk_style_context_get_color (gtk_widget_get_style_context (GTK_WIDGET (area)), &colour);
  gdk_cairo_set_source_rgba (cr, &colour);
  cairo_set_line_width (cr, 1.5);
  for (guint pass = 0; pass < 2; pass++) {
    for (guint i = 0; i < curve->n; i++) {
      const double x = EDGE_PX + width * i / MAX (curve->n_passes - 1, 1);
      const double y = EDGE_PX + height * (high - residual_curve_at (curve, i)) / range;
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

void
td_residual_curve_set (GtkDrawingArea *area, const GArray *residuals, guint n_passes)
{
  const guint n = residuals ? residuals->len : 0;

  gtk_widget_set_visible (GTK_WIDGET (area), n > 0);
  if (n == 0)
    return;
  Curve *curve = g_malloc (sizeof *curve + n * sizeof *curve->residuals);
  curve->n = n;
  curve->n_passes = MAX (n_passes, n);
  memcpy (curve->residuals, residuals->data, n * sizeof *curve->residuals);
  g_autofree char *text = g_strdup_printf (_ ("Relative residual after %u of %u passes: %.4f"), n,
                                           curve->n_passes, curve->residuals[n - 1]);
  td_set_purpose (area, text);
  gtk_drawing_area_set_draw_func (area, residual_curve_draw, curve, g_free);
}
