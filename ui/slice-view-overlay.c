/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slice-view-overlay.h"

#include <math.h>

#include "focus-ring.h"
#include "slice-view-private.h"

static const GdkRGBA accent = { 1.0f, 0.72f, 0.16f, 0.95f };
static const GdkRGBA measuring = { 0.35f, 0.85f, 1.0f, 0.95f };
static const GdkRGBA shade = { 0, 0, 0, 0.55f };
static const GdkRGBA white = { 1, 1, 1, 0.95f };

/* A bright line with a dark edge is seen on any picture. */
static void
draw_bar (GtkSnapshot *snapshot, const GdkRGBA *colour, double x, double y, double width,
          double height)
{
  gtk_snapshot_append_color (
      snapshot, &shade,
      &GRAPHENE_RECT_INIT ((float) x - 1, (float) y - 1, (float) width + 2, (float) height + 2));
  gtk_snapshot_append_color (
      snapshot, colour, &GRAPHENE_RECT_INIT ((float) x, (float) y, (float) width, (float) height));
}

static void
draw_lines (TdSliceView *self, GtkSnapshot *snapshot, double width, double height)
{
  double x, y;

  if (isfinite (self->row_line)) {
    td_slice_view_place (self, 0, self->row_line, &x, &y);
    draw_bar (snapshot, &accent, 0, round (y), width, 1);
  }
  if (isfinite (self->column_line)) {
    td_slice_view_place (self, self->column_line, 0, &x, &y);
    draw_bar (snapshot, &accent, round (x), 0, 1, height);
  }
  if (self->scene.second) {
    x = round (self->scene.wipe * width);
    draw_bar (snapshot, &white, x - 1, 0, 2, height);
    draw_bar (snapshot, &white, x - 3, height / 2 - 18, 6, 36);
  }
}

static void
draw_box (TdSliceView *self, GtkSnapshot *snapshot, const double r[4], const GdkRGBA *colour)
{
  double x0, y0, x1, y1;

  if (r[2] <= 0)
    return;
  td_slice_view_place (self, r[0] - 0.5, r[1] - 0.5, &x0, &y0);
  td_slice_view_place (self, r[0] + r[2] - 0.5, r[1] + r[3] - 0.5, &x1, &y1);
  GskRoundedRect outline = GSK_ROUNDED_RECT_INIT ((float) round (x0), (float) round (y0),
                                                  (float) (x1 - x0), (float) (y1 - y0));
  float widths[4] = { 1.5f, 1.5f, 1.5f, 1.5f };
  GdkRGBA colours[4] = { *colour, *colour, *colour, *colour };
  gtk_snapshot_append_border (snapshot, &outline, widths, colours);
}

/* The largest 1, 2 or 5 times a power of ten that is no longer than @most. */
static double
round_length (double most)
{
  double power = pow (10, floor (log10 (most)));
  double factor = most / power;

  return power * (factor >= 5 ? 5 : factor >= 2 ? 2 : 1);
}

static char *
length_text (double length, gboolean in_mm)
{
  if (!in_mm)
    return g_strdup_printf ("%g px", length);
  if (length < 1e-3 * 0.9999)
    return g_strdup_printf ("%g nm", length * 1e6);
  if (length < 0.9999)
    return g_strdup_printf ("%g µm", length * 1e3);
  return g_strdup_printf ("%g mm", length);
}

static void
draw_scale_bar (TdSliceView *self, GtkSnapshot *snapshot, double width, double height)
{
  gboolean in_mm = self->pixel_mm[0] > 0;
  double pixel = in_mm ? self->pixel_mm[0] : 1;

  if (self->pixel_mm[0] != self->pixel_mm[1] || width < 140)
    return;
  double length = round_length (MIN (width * 0.28, 180) / self->scene.view.zoom * pixel);
  if (!in_mm && length < 1)
    return;
  double bar = length / pixel * self->scene.view.zoom;
  g_autofree char *text = length_text (length, in_mm);
  g_autoptr (PangoLayout) layout = gtk_widget_create_pango_layout (GTK_WIDGET (self), text);
  g_autoptr (PangoAttrList) attributes = pango_attr_list_new ();
  int tw, th;

  pango_attr_list_insert (attributes, pango_attr_scale_new (0.85));
  pango_layout_set_attributes (layout, attributes);
  pango_layout_get_pixel_size (layout, &tw, &th);
  double box = MAX (bar, tw) + 16, x = 10, y = height - th - 24;
  GskRoundedRect back;
  gsk_rounded_rect_init_from_rect (
      &back, &GRAPHENE_RECT_INIT ((float) x, (float) y, (float) box, (float) th + 14), 6);
  gtk_snapshot_push_rounded_clip (snapshot, &back);
  gtk_snapshot_append_color (snapshot, &shade, &back.bounds);
  gtk_snapshot_pop (snapshot);
  gtk_snapshot_save (snapshot);
  gtk_snapshot_translate (snapshot,
                          &GRAPHENE_POINT_INIT ((float) (x + (box - tw) / 2), (float) y + 2));
  gtk_snapshot_append_layout (snapshot, layout, &white);
  gtk_snapshot_restore (snapshot);
  gtk_snapshot_append_color (
      snapshot, &white,
      &GRAPHENE_RECT_INIT ((float) (x + (box - bar) / 2), (float) y + th + 6, (float) bar, 3));
}

void
td_slice_view_draw_overlay (TdSliceView *self, GtkSnapshot *snapshot)
{
  double width = gtk_widget_get_width (GTK_WIDGET (self));
  double height = gtk_widget_get_height (GTK_WIDGET (self));

  draw_lines (self, snapshot, width, height);
  draw_box (self, snapshot, self->region, &accent);
  draw_box (self, snapshot, self->measured, &measuring);
  draw_scale_bar (self, snapshot, width, height);
  td_draw_focus (GTK_WIDGET (self), snapshot);
}
