/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "marks.h"

#include <math.h>
#include <string.h>

#define TEXT_PX 12.0

/* A bright line with a dark edge is seen on any picture. */
static void
marks_stroke (cairo_t *cr, double scale)
{
  cairo_set_line_cap (cr, CAIRO_LINE_CAP_ROUND);
  cairo_set_line_join (cr, CAIRO_LINE_JOIN_ROUND);
  cairo_set_line_width (cr, 3.5 * scale);
  cairo_set_source_rgba (cr, 0, 0, 0, 0.55);
  cairo_stroke_preserve (cr);
  cairo_set_line_width (cr, 1.5 * scale);
  cairo_set_source_rgb (cr, 0.35, 0.85, 1);
  cairo_stroke (cr);
}

static void
marks_write (cairo_t *cr, const char *text, double x, double y, double scale)
{
  g_autoptr (PangoLayout) layout = pango_cairo_create_layout (cr);
  g_autoptr (PangoFontDescription) font = pango_font_description_from_string ("Sans Bold");
  int width, height;

  pango_font_description_set_absolute_size (font, TEXT_PX * scale * PANGO_SCALE);
  pango_layout_set_font_description (layout, font);
  pango_layout_set_text (layout, text, -1);
  pango_layout_get_pixel_size (layout, &width, &height);
  cairo_rectangle (cr, x + 4 * scale, y - height, width + 4 * scale, height);
  cairo_set_source_rgba (cr, 0, 0, 0, 0.55);
  cairo_fill (cr);
  cairo_move_to (cr, x + 6 * scale, y - height);
  cairo_set_source_rgb (cr, 0.35, 0.85, 1);
  pango_cairo_show_layout (cr, layout);
}

static void
marks_draw_one (cairo_t *cr, const TdMark *mark, TdMarkPlace place, gpointer user, double scale)
{
  const TdMeasure *m = &mark->measure;
  double points[3][2], x, y;

  memcpy (points, m->points, sizeof points);
  if (m->kind == TD_MEASURE_REGION)
    /* Around the pixels, not through their centres. */
    for (guint i = 0; i < 2; i++) {
      points[0][i] = round (MIN (m->points[0][i], m->points[1][i])) - 0.5;
      points[1][i] = round (MAX (m->points[0][i], m->points[1][i])) + 0.5;
    }
  place (points[0], &x, &y, user);
  cairo_move_to (cr, x, y);
  for (guint i = 1; i < mark->n_points; i++) {
    double to_x, to_y;
    place (points[i], &to_x, &to_y, user);
    if (m->kind == TD_MEASURE_REGION)
      cairo_rectangle (cr, x, y, to_x - x, to_y - y);
    else
      cairo_line_to (cr, to_x, to_y);
  }
  marks_stroke (cr, scale);
  place (points[m->kind == TD_MEASURE_ANGLE ? 1 : 0], &x, &y, user);
  if (mark->label[0])
    marks_write (cr, mark->label, x, y, scale);
}

void
td_marks_draw (cairo_t *cr, const GArray *marks, TdMarkPlace place, gpointer user, double scale)
{
  for (guint i = 0; marks && i < marks->len; i++)
    marks_draw_one (cr, &g_array_index (marks, TdMark, i), place, user, scale);
}
