/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "soft-space.h"

static void
draw_shape (cairo_t *cr, const TdShape *s)
{
  const float *c = s->ink.rgba;

  cairo_set_source_rgba (cr, c[0], c[1], c[2], c[3]);
  if (s->kind == TD_SHAPE_DOT) {
    cairo_arc (cr, s->x[0], s->y[0], s->width / 2, 0, 2 * G_PI);
    cairo_fill (cr);
    return;
  }
  cairo_move_to (cr, s->x[0], s->y[0]);
  cairo_line_to (cr, s->x[1], s->y[1]);
  if (s->kind == TD_SHAPE_LINE) {
    cairo_set_line_width (cr, s->width);
    cairo_stroke (cr);
    return;
  }
  cairo_line_to (cr, s->x[2], s->y[2]);
  cairo_close_path (cr);
  cairo_fill (cr);
}

void
td_soft_space_draw (cairo_t *cr, GArray *shapes, TdInk background)
{
  cairo_set_source_rgb (cr, background.rgba[0], background.rgba[1], background.rgba[2]);
  cairo_set_operator (cr, CAIRO_OPERATOR_SOURCE);
  cairo_paint (cr);
  cairo_set_operator (cr, CAIRO_OPERATOR_OVER);
  for (guint i = 0; i < shapes->len; i++) {
    const TdShape *shape = &g_array_index (shapes, TdShape, i);
    /* Neighbouring triangles must not let their common edge shine through. */
    cairo_set_antialias (cr, shape->kind == TD_SHAPE_TRIANGLE ? CAIRO_ANTIALIAS_NONE
                                                              : CAIRO_ANTIALIAS_FAST);
    draw_shape (cr, shape);
  }
}
