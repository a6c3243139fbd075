/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "soft-renderer.h"

#include <math.h>
#include <string.h>

#define MAX_TAPS 4

typedef struct {
  const TdImage *image;
  const TdStyle *style;
  const guint8 *table;
  double footprint_x, footprint_y; /* samples a device pixel covers */
  double gain;
} Drawing;

static float
fetch (const TdImage *image, double x, double y)
{
  guint i = (guint) CLAMP (x, 0, image->width - 1), j = (guint) CLAMP (y, 0, image->height - 1);
  return image->pixels[(gsize) j * image->width + i];
}

static float
sample_linear (const TdImage *image, double x, double y)
{
  float nearest = fetch (image, floor (x), floor (y));
  if (!isfinite (nearest))
    return nearest;
  double i = floor (x - 0.5), j = floor (y - 0.5), fx = x - 0.5 - i, fy = y - 0.5 - j;
  double sum = 0, weights = 0;
  for (guint k = 0; k < 4; k++) {
    guint dx = k & 1, dy = k >> 1;
    float v = fetch (image, i + dx, j + dy);
    double w = (dx ? fx : 1 - fx) * (dy ? fy : 1 - fy);
    if (isfinite (v)) {
      sum += w * v;
      weights += w;
    }
  }
  return (float) (sum / weights);
}

static float
sample_average (const Drawing *d, double x, double y)
{
  guint nx = CLAMP ((guint) ceil (d->footprint_x), 1, MAX_TAPS);
  guint ny = CLAMP ((guint) ceil (d->footprint_y), 1, MAX_TAPS);
  double px = d->footprint_x / nx, py = d->footprint_y / ny;
  double x0 = x - 0.5 * d->footprint_x + 0.5 * px, y0 = y - 0.5 * d->footprint_y + 0.5 * py;
  double sum = 0;

  for (guint j = 0; j < ny; j++)
    for (guint i = 0; i < nx; i++) {
      float v = fetch (d->image, floor (x0 + i * px), floor (y0 + j * py));
      if (!isfinite (v))
        return v;
      sum += v;
    }
  return (float) (sum / (nx * ny));
}

static void
shade (const Drawing *d, double x, double y, guint8 *out)
{
  float v;

  if (MAX (d->footprint_x, d->footprint_y) > 1)
    v = sample_average (d, x, y);
  else
    v = d->style->smooth ? sample_linear (d->image, x, y) : fetch (d->image, floor (x), floor (y));
  if (isfinite (v)) {
    double t = CLAMP ((v - d->style->low) * d->gain, 0, 1);
    memcpy (out, d->table + 4 * (guint) (t * 255 + 0.5), 4);
  } else {
    for (guint c = 0; c < 3; c++)
      out[c] = (guint8) (d->style->bad_rgb[c] * 255 + 0.5f);
    out[3] = 255;
  }
}

void
td_soft_render (const TdImage *image, const TdView *view, const TdStyle *style, const TdSpan *span,
                guint width, guint height, double scale, guint8 *rgba)
{
  double sx = image->width / image->extent_width, sy = image->height / image->extent_height;
  double range = style->high - style->low;
  Drawing d = { image, style, td_colour_map_table (style->map), sx / (view->zoom * scale),
                sy / (view->zoom * scale), range > 0 ? 1 / range : 1e30 };
  guint from = span ? (guint) (span->from * width + 0.5) : 0;
  guint to = span ? MIN ((guint) (span->to * width + 0.5), width) : width;

  for (guint j = 0; j < height; j++)
    for (guint i = from; i < to; i++) {
      double px, py;
      td_view_to_picture (view, width / scale, height / scale, (i + 0.5) / scale,
                          (j + 0.5) / scale, &px, &py);
      double x = (px + 0.5 * image->extent_width) * sx, y = (py + 0.5 * image->extent_height) * sy;
      if (x >= 0 && x < image->width && y >= 0 && y < image->height)
        shade (&d, x, y, rgba + 4 * ((gsize) j * width + i));
    }
}

void
td_soft_clear (const TdStyle *style, guint width, guint height, guint8 *rgba)
{
  guint8 pixel[4] = { 0, 0, 0, 255 };

  for (guint c = 0; c < 3; c++)
    pixel[c] = (guint8) (style->background[c] * 255 + 0.5f);
  for (gsize i = 0; i < (gsize) width * height; i++)
    memcpy (rgba + 4 * i, pixel, 4);
}
