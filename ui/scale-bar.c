/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scale-bar.h"

#include <glib/gi18n.h>
#include <math.h>

#define PART 0.28 /* of the width, at most */
#define MOST_PX 180.0
#define CORNER_PX 6.0

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
    return g_strdup_printf (_ ("%g px"), length);
  if (length < 1e-3 * 0.9999)
    return g_strdup_printf (_ ("%g nm"), length * 1e6);
  if (length < 0.9999)
    return g_strdup_printf (_ ("%g µm"), length * 1e3);
  return g_strdup_printf (_ ("%g mm"), length);
}

double
td_scale_bar (double width, double zoom, double pixel_mm, char **text)
{
  const gboolean in_mm = pixel_mm > 0;
  const double pixel = in_mm ? pixel_mm : 1;
  const double length = round_length (MIN (width * PART, MOST_PX) / zoom * pixel);

  *text = NULL;
  if (width < TD_SCALE_BAR_ROOM || (!in_mm && length < 1))
    return 0;
  *text = length_text (length, in_mm);
  return length / pixel * zoom;
}

void
td_scale_bar_draw (cairo_t *cr, double height, double bar, PangoLayout *layout)
{
  int tw, th;

  pango_layout_get_pixel_size (layout, &tw, &th);
  const double box = MAX (bar, tw) + 16, x = 10, y = height - th - 24, r = CORNER_PX;
  cairo_new_sub_path (cr);
  cairo_arc (cr, x + box - r, y + r, r, -G_PI / 2, 0);
  cairo_arc (cr, x + box - r, y + th + 14 - r, r, 0, G_PI / 2);
  cairo_arc (cr, x + r, y + th + 14 - r, r, G_PI / 2, G_PI);
  cairo_arc (cr, x + r, y + r, r, G_PI, 1.5 * G_PI);
  cairo_close_path (cr);
  cairo_set_source_rgba (cr, 0, 0, 0, 0.55);
  cairo_fill (cr);
  cairo_set_source_rgba (cr, 1, 1, 1, 0.95);
  cairo_move_to (cr, x + (box - tw) / 2, y + 2);
  pango_cairo_show_layout (cr, layout);
  cairo_rectangle (cr, x + (box - bar) / 2, y + th + 6, bar, 3);
  cairo_fill (cr);
}
