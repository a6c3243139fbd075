/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "space.h"

#include <math.h>
#include <string.h>

/* Painting from far to near needs pieces that are small beside the whole. A long line may be before
   a thing with one end and behind it with the other. */
#define PIECES_A_RADIUS 16.0

typedef struct {
  TdShapeKind kind;
  double points[3][3];
  TdInk ink;
  double width;
} Thing;

struct TdSpace {
  GArray *things; /* Thing */
  GArray *labels; /* TdSpaceLabel */
};

/* ── Filling ── */

static void
label_clear (gpointer label)
{
  g_free (((TdSpaceLabel *) label)->text);
}

TdSpace *
td_space_new (void)
{
  TdSpace *space = g_new0 (TdSpace, 1);

  space->things = g_array_new (FALSE, FALSE, sizeof (Thing));
  space->labels = g_array_new (FALSE, FALSE, sizeof (TdSpaceLabel));
  g_array_set_clear_func (space->labels, label_clear);
  return space;
}

void
td_space_free (TdSpace *space)
{
  if (!space)
    return;
  g_array_unref (space->things);
  g_array_unref (space->labels);
  g_free (space);
}

static void
space_add (TdSpace *space, TdShapeKind kind, const double a[3], const double b[3],
           const double c[3], TdInk ink, double width)
{
  Thing thing = { .kind = kind, .ink = ink, .width = width };

  memcpy (thing.points[0], a, sizeof thing.points[0]);
  memcpy (thing.points[1], b, sizeof thing.points[1]);
  memcpy (thing.points[2], c, sizeof thing.points[2]);
  g_array_append_val (space->things, thing);
}

void
td_space_line (TdSpace *space, const double a[3], const double b[3], TdInk ink, double width_px)
{
  space_add (space, TD_SHAPE_LINE, a, b, b, ink, width_px);
}

void
td_space_triangle (TdSpace *space, const double a[3], const double b[3], const double c[3],
                   TdInk ink)
{
  space_add (space, TD_SHAPE_TRIANGLE, a, b, c, ink, 0);
}

void
td_space_dot (TdSpace *space, const double point[3], TdInk ink, double diameter_px)
{
  space_add (space, TD_SHAPE_DOT, point, point, point, ink, diameter_px);
}

static void
space_cross (const double a[3], const double b[3], double out[3])
{
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

/* A head of four barbs: seen as one from any side. */
void
td_space_arrow (TdSpace *space, const double a[3], const double b[3], TdInk ink, double width_px,
                double head)
{
  double along[3], side[3], other[3];
  guint least = 0;

  td_space_line (space, a, b, ink, width_px);
  for (guint i = 0; i < 3; i++)
    along[i] = b[i] - a[i];
  for (guint i = 1; i < 3; i++)
    if (fabs (along[i]) < fabs (along[least]))
      least = i;
  const double length = sqrt (along[0] * along[0] + along[1] * along[1] + along[2] * along[2]);
  const double axis[3] = { least == 0, least == 1, least == 2 };
  space_cross (along, axis, side);
  const double norm = sqrt (side[0] * side[0] + side[1] * side[1] + side[2] * side[2]);
  if (!(norm > 0))
    return;
  for (guint i = 0; i < 3; i++)
    side[i] *= length / norm;
  space_cross (along, side, other);
  for (guint i = 0; i < 3; i++)
    other[i] /= length;
  for (guint barb = 0; barb < 4; barb++) {
    const double *out = barb < 2 ? side : other;
    double end[3];
    for (guint i = 0; i < 3; i++)
      end[i] = b[i] - head * along[i] + (barb % 2 ? -1 : 1) * head / 2 * out[i];
    td_space_line (space, b, end, ink, width_px);
  }
}

void
td_space_quad (TdSpace *space, const double corners[4][3], TdInk ink)
{
  const guint n = 8;
  double grid[9][9][3];

  for (guint j = 0; j <= n; j++)
    for (guint i = 0; i <= n; i++)
      for (guint k = 0; k < 3; k++) {
        const double s = (double) i / n, t = (double) j / n;
        grid[j][i][k] = (1 - t) * ((1 - s) * corners[0][k] + s * corners[1][k])
                        + t * ((1 - s) * corners[3][k] + s * corners[2][k]);
      }
  for (guint j = 0; j < n; j++)
    for (guint i = 0; i < n; i++) {
      td_space_triangle (space, grid[j][i], grid[j][i + 1], grid[j + 1][i + 1], ink);
      td_space_triangle (space, grid[j][i], grid[j + 1][i + 1], grid[j + 1][i], ink);
    }
}

void
td_space_label (TdSpace *space, const double point[3], const char *text, TdInk ink)
{
  TdSpaceLabel label = { { point[0], point[1], point[2] }, g_strdup (text), ink };

  g_array_append_val (space->labels, label);
}

const TdSpaceLabel *
td_space_labels (const TdSpace *space, guint *n)
{
  *n = space->labels->len;
  return (const TdSpaceLabel *) space->labels->data;
}

/* ── Looking ── */

typedef struct {
  const TdCamera *camera;
  double width, height, scale;
  GArray *shapes;
} Look;

static void
space_look_at (const Look *look, const Thing *thing, const double points[3][3])
{
  TdShape shape
      = { .kind = thing->kind, .width = (float) (thing->width * look->scale), .ink = thing->ink };
  guint n = thing->kind == TD_SHAPE_TRIANGLE ? 3 : thing->kind == TD_SHAPE_LINE ? 2 : 1;

  for (guint i = 0; i < n; i++) {
    double x, y, depth;
    td_camera_project (look->camera, look->width, look->height, points[i], &x, &y, &depth);
    shape.x[i] = (float) x;
    shape.y[i] = (float) y;
    shape.depth += depth / n;
  }
  /* What is drawn on a face lies over it. */
  if (thing->kind == TD_SHAPE_LINE)
    shape.depth -= 0.01 * look->camera->radius;
  else if (thing->kind == TD_SHAPE_DOT)
    shape.depth -= 0.02 * look->camera->radius;
  g_array_append_val (look->shapes, shape);
}

static void
look_at_line (const Look *look, const Thing *thing)
{
  const double *a = thing->points[0], *b = thing->points[1];
  const double length = sqrt (pow (b[0] - a[0], 2) + pow (b[1] - a[1], 2) + pow (b[2] - a[2], 2));
  const double wanted = ceil (length / look->camera->radius * PIECES_A_RADIUS);
  const guint n = (guint) CLAMP (wanted, 1, 64);

  for (guint i = 0; i < n; i++) {
    double ends[3][3] = { { 0 } };
    for (guint k = 0; k < 3; k++) {
      ends[0][k] = a[k] + (b[k] - a[k]) * i / n;
      ends[1][k] = a[k] + (b[k] - a[k]) * (i + 1) / n;
    }
    space_look_at (look, thing, ends);
  }
}

static int
far_first (gconstpointer a, gconstpointer b)
{
  const double difference = ((const TdShape *) b)->depth - ((const TdShape *) a)->depth;

  return difference > 0 ? 1 : difference < 0 ? -1 : 0;
}

GArray *
td_space_project (const TdSpace *space, const TdCamera *camera, double width, double height,
                  double scale)
{
  Look look = { camera, width, height, scale, g_array_new (FALSE, FALSE, sizeof (TdShape)) };

  for (guint t = 0; t < space->things->len; t++) {
    const Thing *thing = &g_array_index (space->things, Thing, t);
    if (thing->kind == TD_SHAPE_LINE)
      look_at_line (&look, thing);
    else
      space_look_at (&look, thing, thing->points);
  }
  g_array_sort (look.shapes, far_first);
  return look.shapes;
}
