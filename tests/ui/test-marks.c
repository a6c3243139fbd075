/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where measures are drawn over their picture: ten surface pixels a pixel of the picture, by plain
 * cairo. */
#include <string.h>

#include "ui/marks.h"

#define SIDE 200
#define ZOOM 10

typedef struct {
  guint left, top, right, bottom; /* of all that is inked; right and bottom are the last */
} Inked;

static void
place (const double point[2], double *x, double *y, gpointer user)
{
  *x = ZOOM * point[0] + 5;
  *y = ZOOM * point[1] + 5;
}

/* (transfer full) */
static cairo_surface_t *
drawn (const TdMark *mark)
{
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, SIDE, SIDE);
  cairo_t *cr = cairo_create (surface);
  g_autoptr (GArray) marks = g_array_new (FALSE, FALSE, sizeof (TdMark));

  g_array_append_val (marks, *mark);
  td_marks_draw (cr, marks, place, NULL, 1);
  cairo_destroy (cr);
  cairo_surface_flush (surface);
  return surface;
}

/* 0: nothing, 1: the dark rim, 2: the line itself. */
static guint
ink_at (cairo_surface_t *surface, guint x, guint y)
{
  const guchar *pixel = cairo_image_surface_get_data (surface)
                        + y * (gsize) cairo_image_surface_get_stride (surface) + 4 * x;

  return pixel[0] > 128 ? 2 : pixel[3] > 64 ? 1 : 0; /* blue, alpha */
}

static Inked
inked (cairo_surface_t *surface)
{
  Inked all = { SIDE, SIDE, 0, 0 };

  for (guint y = 0; y < SIDE; y++)
    for (guint x = 0; x < SIDE; x++)
      if (ink_at (surface, x, y) > 0) {
        all.left = MIN (all.left, x);
        all.right = MAX (all.right, x);
        all.top = MIN (all.top, y);
        all.bottom = MAX (all.bottom, y);
      }
  return all;
}

/* The outline of a region goes around its pixels, from whichever corner it was drawn. */
static void
test_region (void)
{
  /* Columns 4 to 12, rows 3 to 8, and what is rounded to them. */
  static const double corners[][2][2] = {
    { { 4, 3 }, { 12, 8 } }, { { 12, 8 }, { 4, 3 } },         { { 4, 8 }, { 12, 3 } },
    { { 12, 3 }, { 4, 8 } }, { { 3.6, 2.6 }, { 12.4, 8.4 } }, { { 4.4, 8.4 }, { 11.6, 2.6 } },
  };
  const guint left = 40, right = 130, top = 30, bottom = 90;

  for (guint i = 0; i < G_N_ELEMENTS (corners); i++) {
    TdMark mark = { { TD_MEASURE_REGION, { { 0 } } }, 2, "" };

    memcpy (mark.measure.points, corners[i], sizeof corners[i]);
    cairo_surface_t *surface = drawn (&mark);
    const Inked all = inked (surface);
    g_test_message ("%u: %u … %u, %u … %u", i, all.left, all.right, all.top, all.bottom);
    /* Lines of 3.5 about the edges. */
    g_assert_cmpuint (all.left, ==, left - 2);
    g_assert_cmpuint (all.right, ==, right + 1);
    g_assert_cmpuint (all.top, ==, top - 2);
    g_assert_cmpuint (all.bottom, ==, bottom + 1);
    for (guint x = left; x < right; x++) {
      g_assert_cmpuint (ink_at (surface, x, top), ==, 2);
      g_assert_cmpuint (ink_at (surface, x, bottom), ==, 2);
    }
    for (guint y = top; y < bottom; y++) {
      g_assert_cmpuint (ink_at (surface, left, y), ==, 2);
      g_assert_cmpuint (ink_at (surface, right, y), ==, 2);
    }
    for (guint y = top + 3; y < bottom - 3; y++)
      for (guint x = left + 3; x < right - 3; x++)
        g_assert_cmpuint (ink_at (surface, x, y), ==, 0);
    cairo_surface_destroy (surface);
  }
}

/* Lines and angles go through their points in order, as many as there are; a label stands beside
   the first, or where the angle is. */
static void
test_lines (void)
{
  static const struct {
    TdMark mark;
    guint on[4][2], off[3][2]; /* surface pixels; 0, 0: none */
    guint label[2];
  } cases[] = {
    { { { TD_MEASURE_DISTANCE, { { 2, 3 }, { 12, 3 } } }, 2, "A" },
      { { 25, 35 }, { 75, 35 }, { 124, 35 } },
      { { 75, 40 }, { 135, 35 } },
      { 25, 35 } },
    { { { TD_MEASURE_LINE, { { 12, 3 }, { 12, 13 } } }, 2, "B" },
      { { 125, 35 }, { 125, 85 }, { 125, 134 } },
      { { 120, 85 }, { 125, 145 } },
      { 125, 35 } },
    { { { TD_MEASURE_ANGLE, { { 2, 3 }, { 12, 3 }, { 12, 13 } } }, 3, "C" },
      { { 25, 35 }, { 75, 35 }, { 125, 85 }, { 125, 134 } },
      { { 75, 85 }, { 25, 85 }, { 75, 135 } },
      { 125, 35 } },
    { { { TD_MEASURE_ANGLE, { { 2, 3 }, { 12, 3 }, { 12, 13 } } }, 2, "" },
      { { 25, 35 }, { 75, 35 }, { 120, 35 } },
      { { 125, 85 }, { 75, 85 }, { 125, 130 } },
      { 0 } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    cairo_surface_t *surface = drawn (&cases[i].mark);
    guint white = 0;

    g_test_message ("%u", i);
    for (guint k = 0; k < 4 && cases[i].on[k][0]; k++)
      g_assert_cmpuint (ink_at (surface, cases[i].on[k][0], cases[i].on[k][1]), ==, 2);
    for (guint k = 0; k < 3 && cases[i].off[k][0]; k++)
      g_assert_cmpuint (ink_at (surface, cases[i].off[k][0], cases[i].off[k][1]), ==, 0);
    /* The label's plate begins four pixels right of its point, and stands on it. */
    const guint x = cases[i].label[0], y = cases[i].label[1];
    for (guint k = 0; x && k < 8; k++)
      white += ink_at (surface, x + 5, y - 3 - k) > 0;
    g_assert_cmpuint (white, ==, x ? 8 : 0);
    if (x)
      g_assert_cmpuint (ink_at (surface, x - 5, y - 8) + ink_at (surface, x + 2, y - 8), ==, 0);
    cairo_surface_destroy (surface);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/marks/region", test_region);
  g_test_add_func ("/marks/lines", test_lines);
  return g_test_run ();
}
