/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "soft-renderer.h"

#include <math.h>

#define MAX_TAPS 4

typedef struct {
  const TdImage *image;
  const TdStyle *style;
  guint32 table[256]; /* of the colour map */
  guint32 bad;
  double gain;
} Drawing;

/* The samples that one device pixel shows along one direction. */
typedef struct {
  guint n_taps;
  guint first, end; /* device pixels that lie on the picture */
  double *at;       /* [device pixel]: where its centre is, in samples */
  guint *taps;      /* [device pixel][n_taps]: samples averaged; one where they are enlarged */
} Axis;

static void
axis_clear (Axis *axis)
{
  g_free (axis->at);
  g_free (axis->taps);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Axis, axis_clear)

static float
soft_fetch (const TdImage *image, double x, double y)
{
  guint i = (guint) CLAMP (x, 0, image->width - 1), j = (guint) CLAMP (y, 0, image->height - 1);
  return image->pixels[(gsize) j * image->width + i];
}

static float
sample_linear (const TdImage *image, double x, double y)
{
  float nearest = soft_fetch (image, floor (x), floor (y));
  if (!isfinite (nearest))
    return nearest;
  double i = floor (x - 0.5), j = floor (y - 0.5), fx = x - 0.5 - i, fy = y - 0.5 - j;
  double sum = 0, weights = 0;
  for (guint k = 0; k < 4; k++) {
    guint dx = k & 1, dy = k >> 1;
    float v = soft_fetch (image, i + dx, j + dy);
    double w = (dx ? fx : 1 - fx) * (dy ? fy : 1 - fy);
    if (isfinite (v)) {
      sum += w * v;
      weights += w;
    }
  }
  return (float) (sum / weights);
}

/* @at: filled in for @n device pixels, of which each covers @footprint of the @n_samples. */
static void
axis_init (Axis *axis, double *at, guint n, double footprint, guint n_samples)
{
  const guint taps = CLAMP ((guint) ceil (footprint), 1, MAX_TAPS);
  const double pace = footprint / taps;

  *axis = (Axis) { .n_taps = taps, .first = n, .at = at, .taps = g_new (guint, (gsize) n * taps) };
  for (guint i = 0; i < n; i++) {
    if (!(at[i] >= 0 && at[i] < n_samples))
      continue;
    axis->first = MIN (axis->first, i);
    axis->end = i + 1;
    const double from = at[i] - 0.5 * footprint + 0.5 * pace;
    for (guint k = 0; k < taps; k++)
      axis->taps[i * taps + k] = (guint) CLAMP (floor (from + k * pace), 0, n_samples - 1);
  }
}

/* A picture is turned and sheared by nothing: columns and rows are placed apart. TRUE: averages are
   shown, since a device pixel covers more than one sample along either direction. */
static gboolean
soft_renderer_place (const TdImage *image, const TdView *view, const TdScreen *screen, Axis *across,
                     Axis *down)
{
  const guint width = screen->width, height = screen->height;
  const double scale = screen->scale;
  const double sx = image->width / image->extent_width, sy = image->height / image->extent_height;
  double *xs = g_new (double, width), *ys = g_new (double, height), unused;

  for (guint i = 0; i < width; i++) {
    td_view_to_picture (view, width / scale, height / scale, (i + 0.5) / scale, 0, &xs[i], &unused);
    xs[i] = (xs[i] + 0.5 * image->extent_width) * sx;
  }
  for (guint j = 0; j < height; j++) {
    td_view_to_picture (view, width / scale, height / scale, 0, (j + 0.5) / scale, &unused, &ys[j]);
    ys[j] = (ys[j] + 0.5 * image->extent_height) * sy;
  }
  const double fx = sx / (view->zoom * scale), fy = sy / (td_view_zoom_down (view) * scale);
  const gboolean average = MAX (fx, fy) > 1;
  axis_init (across, xs, width, average ? fx : 0, image->width);
  axis_init (down, ys, height, average ? fy : 0, image->height);
  return average;
}

static guint32
soft_renderer_shade (const Drawing *d, float v)
{
  if (!isfinite (v))
    return d->bad;
  const double t = CLAMP ((v - d->style->low) * d->gain, 0, 1);
  return d->table[(guint) (t * 255 + 0.5)];
}

/* One device row of averages; a bad sample among them makes the sum bad. */
static void
draw_averages (const Drawing *d, const Axis *across, const Axis *down, guint j, guint from,
               guint to, guint32 *line)
{
  const guint nx = across->n_taps, ny = down->n_taps;
  const float *rows[MAX_TAPS];

  for (guint k = 0; k < ny; k++)
    rows[k] = d->image->pixels + (gsize) down->taps[j * ny + k] * d->image->width;
  for (guint i = from; i < to; i++) {
    const guint *taps = across->taps + i * nx;
    double sum = 0;
    for (guint k = 0; k < ny; k++)
      for (guint l = 0; l < nx; l++)
        sum += rows[k][taps[l]];
    line[i] = soft_renderer_shade (d, (float) (sum / (nx * ny)));
  }
}

static guint32
soft_renderer_opaque (guint8 red, guint8 green, guint8 blue)
{
  return (guint32) 255 << 24 | (guint32) red << 16 | (guint32) green << 8 | blue;
}

static guint32
soft_renderer_colour (const float rgb[3])
{
  return soft_renderer_opaque ((guint8) (rgb[0] * 255 + 0.5f), (guint8) (rgb[1] * 255 + 0.5f),
                               (guint8) (rgb[2] * 255 + 0.5f));
}

void
td_soft_render (const TdImage *image, const TdView *view, const TdStyle *style, const TdSpan *span,
                const TdScreen *screen, guint32 *pixels)
{
  const guint width = screen->width;
  const double range = style->high - style->low;
  const guint8 *table = td_colour_map_table (style->map);
  Drawing d = { .image = image,
                .style = style,
                .bad = soft_renderer_colour (style->bad_rgb),
                .gain = range > 0 ? 1 / range : 1e30 };
  g_auto (Axis) across = { 0 }, down = { 0 };

  for (guint i = 0; i < 256; i++)
    d.table[i] = soft_renderer_opaque (table[4 * i], table[4 * i + 1], table[4 * i + 2]);
  const gboolean average = soft_renderer_place (image, view, screen, &across, &down);
  const gboolean smooth = style->smooth && !average;
  const guint from = MAX (across.first, span ? (guint) (span->from * width + 0.5) : 0);
  const guint to = MIN (across.end, span ? (guint) (span->to * width + 0.5) : width);
  for (guint j = down.first; j < down.end; j++) {
    guint32 *line = pixels + (gsize) j * width;
    if (!smooth)
      draw_averages (&d, &across, &down, j, from, to, line);
    for (guint i = from; smooth && i < to; i++)
      line[i] = soft_renderer_shade (&d, sample_linear (image, across.at[i], down.at[j]));
  }
}

void
td_soft_clear (const TdStyle *style, guint width, guint height, guint32 *pixels)
{
  const guint32 background = soft_renderer_colour (style->background);

  for (gsize i = 0; i < (gsize) width * height; i++)
    pixels[i] = background;
}

/* ── Shapes in space ── */

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
