/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/angles.h"
#include "dataset/error.h"
#include "dataset/geometry-matrix.h"
#include "dataset/sort.h"

/* Rows may move a column's ray by this part of a column before each row gets weights of its own. */
#define LEAST_SLOPE 0.005

/* ── Fan angles ── */

/* The ray of pixel (u, v) runs along A^-1 (u, v, 1), where A is the left part of the matrix. Two
   horizontal components count: towards the axis, and to the right of that. With the source at (D
   sin, -D cos) these directions are (-x, -y) / D and (-y, x) / D of the source's place. */
gboolean
td_cone_fan (const double matrix[12], TdConeFan *fan)
{
  double source[3];

  td_cone_source (matrix, source);
  const double distance = hypot (source[0], source[1]);
  if (!(distance > 0))
    return FALSE;
  for (guint k = 0; k < 3; k++) {
    const double unit[3] = { k == 0, k == 1, k == 2 };
    double along[3];
    if (!td_matrix_solve (matrix, unit, along))
      return FALSE;
    fan->right[k] = (along[1] * source[0] - along[0] * source[1]) / distance;
    fan->ahead[k] = -(along[0] * source[0] + along[1] * source[1]) / distance;
  }
  return TRUE;
}

static double
cone_weights_form (const double f[3], double u, double v)
{
  return f[0] * u + f[1] * v + f[2];
}

double
td_cone_fan_angle (const TdConeFan *fan, double u, double v)
{
  return atan (cone_weights_form (fan->right, u, v) / cone_weights_form (fan->ahead, u, v));
}

gboolean
td_cone_view_matrix (const TdGeometry *geometry, const double *angles_rad, guint view,
                     guint n_columns, guint n_rows, double matrix[12])
{
  if (geometry->view_matrices)
    memcpy (matrix, geometry->view_matrices + 12 * (gsize) view, 12 * sizeof *matrix);
  else
    td_cone_matrix (geometry, angles_rad[view], n_columns, n_rows, matrix);
  return td_cone_matrix_normalise (matrix);
}

/* ── What the scan asks for ── */

/* What the views see of the axis. */
typedef struct {
  double left, right; /* fan angles that every row of every view has on either side */
  double widest;      /* fan angle of any ray */
  double slope;       /* columns by which the rays of one column lie apart from row to row */
  double axis_column; /* to which the first view projects the axis */
} Reach;

static void
cone_weights_reach_of (const TdConeFan *fan, guint n_columns, guint n_rows, Reach *reach)
{
  const double last = n_columns - 1.0, bottom = n_rows - 1.0;

  for (guint edge = 0; edge < 2; edge++) {
    const double v = edge ? bottom : 0;
    const double a = td_cone_fan_angle (fan, 0, v), b = td_cone_fan_angle (fan, last, v);
    reach->left = MIN (reach->left, -MIN (a, b));
    reach->right = MIN (reach->right, MAX (a, b));
    reach->widest = MAX (reach->widest, MAX (fabs (a), fabs (b)));
  }
  for (guint side = 0; side < 2; side++) {
    const double u = side ? last : 0;
    const double top = td_cone_fan_angle (fan, u, 0), foot = td_cone_fan_angle (fan, u, bottom);
    const double column
        = fabs (td_cone_fan_angle (fan, u + 0.5, 0) - td_cone_fan_angle (fan, u - 0.5, 0));
    reach->slope = MAX (reach->slope, fabs (top - foot) / column);
  }
}

static gboolean
cone_weights_look (const TdGeometry *geometry, const double *angles_rad, guint n_views,
                   guint n_columns, guint n_rows, Reach *reach, GError **error)
{
  const guint n = geometry->view_matrices ? n_views : 1;

  *reach = (Reach) { .left = INFINITY, .right = INFINITY, .axis_column = NAN };
  for (guint view = 0; view < n; view++) {
    double matrix[12];
    TdConeFan fan;

    if (!td_cone_view_matrix (geometry, angles_rad, view, n_columns, n_rows, matrix)
        || !td_cone_fan (matrix, &fan))
      return td_set_error (
          error, TD_ERROR_BAD_FILE,
          "View %u's projection matrix says of no source that turns about the axis; check the "
          "geometry.",
          view);
    if (view == 0)
      reach->axis_column = matrix[3];
    cone_weights_reach_of (&fan, n_columns, n_rows, reach);
  }
  return TRUE;
}

/* Angles may be off by so much from rounding. */
#define ROUNDED_RAD 1e-9

/* Where views lie on the turn, whatever turns their angles are counted in. */
typedef struct {
  double first, range; /* of the arc that all lie on, and its length */
  double gap, step;    /* what that leaves of the turn; from a direction to the next, usually */
  gboolean
      open; /* the gap is between the first view and the last: where the stage began and stopped */
} Arc;

static double
on_turn (double angle_rad)
{
  const double rest = fmod (angle_rad, 2 * G_PI);

  return rest < 0 ? rest + 2 * G_PI : rest;
}

/* Whether the view at @angle is the one at @end, after and before which nothing is. */
static gboolean
is_at (double angle, double end, double step)
{
  return fabs (remainder (angle - end, 2 * G_PI)) < 0.01 * step;
}

/* Where views share directions, a view's mean share of the arc is less than a step. They do in
   several turns, or with several frames of each angle. */
static double
cone_weights_usual_step (const double *sorted, guint n_views, guint behind, double range)
{
  g_autofree double *gaps = g_new (double, n_views - 1);

  for (guint i = 1; i < n_views; i++) {
    const guint at = (behind + i) % n_views;
    gaps[i - 1] = on_turn (sorted[at] - sorted[(at + n_views - 1) % n_views]);
  }
  return MAX (range / (n_views - 1), td_angles_usual_gap (gaps, n_views - 1));
}

/* Of gaps that are as wide but for rounding the first one from the first view on is taken, or the
   one before that. Else it would depend on how the same angles are told. */
static void
find_arc (const double *angles_rad, guint n_views, Arc *arc)
{
  g_autofree double *sorted = g_new (double, n_views); /* from the first view on */
  const double alike = 0.01 * 2 * G_PI / n_views;
  guint behind = 0; /* the gap */

  for (guint view = 0; view < n_views; view++)
    sorted[view] = on_turn (angles_rad[view] - angles_rad[0] + ROUNDED_RAD);
  qsort (sorted, n_views, sizeof *sorted, td_compare_doubles);
  arc->gap = sorted[0] + 2 * G_PI - sorted[n_views - 1];
  for (guint i = 1; i < n_views; i++)
    if (sorted[i] - sorted[i - 1] > arc->gap + alike) {
      arc->gap = sorted[i] - sorted[i - 1];
      behind = i;
    }
  arc->first = on_turn (sorted[behind] - ROUNDED_RAD + angles_rad[0]);
  arc->range = 2 * G_PI - arc->gap;
  arc->step = n_views > 1 ? cone_weights_usual_step (sorted, n_views, behind, arc->range) : 0;
  const double ends[2] = { angles_rad[0], angles_rad[n_views - 1] };
  arc->open = (is_at (ends[0], arc->first, arc->step)
               && is_at (ends[1], arc->first + arc->range, arc->step))
              || (is_at (ends[1], arc->first, arc->step)
                  && is_at (ends[0], arc->first + arc->range, arc->step));
}

/* Views that are missing in the middle of a turn are made up for by their neighbours, if they are
 * few. One of 72 views leaves a gap of just the 10 degrees that this may be. */
static gboolean
cone_weights_is_whole (const Arc *arc)
{
  const double gap = arc->gap - ROUNDED_RAD;

  return gap <= 1.5 * arc->step || (!arc->open && gap <= MIN (4 * arc->step, G_PI / 18));
}

gboolean
td_cone_redundancy (const TdGeometry *geometry, const double *angles_rad, guint n_views,
                    guint n_columns, guint n_rows, TdRedundancy *redundancy, GError **error)
{
  Reach reach;
  Arc arc;

  if (!cone_weights_look (geometry, angles_rad, n_views, n_columns, n_rows, &reach, error))
    return FALSE;
  const double axis_column = reach.axis_column;
  if (!(axis_column > -0.5 && axis_column < n_columns - 0.5))
    return td_set_error (
        error, TD_ERROR_BAD_FILE,
        "The axis is projected to column %.1f, beside the detector's %u columns, so that nothing "
        "is measured about it; mend the centre or the geometry.",
        axis_column, n_columns);
  find_arc (angles_rad, n_views, &arc);

  *redundancy = (TdRedundancy) { .kind = TD_REDUNDANCY_FULL };
  if (cone_weights_is_whole (&arc)) {
    if (fabs (axis_column - (n_columns - 1) / 2.0) <= 0.05 * n_columns)
      return TRUE;
    redundancy->kind = TD_REDUNDANCY_WANG;
    redundancy->side = reach.right >= reach.left ? 1 : -1;
    redundancy->overlap_rad = MAX (MIN (reach.left, reach.right), 1e-9);
  } else if (arc.range + 1.5 * arc.step >= G_PI + 2 * reach.widest) {
    redundancy->kind = TD_REDUNDANCY_PARKER;
    redundancy->overscan_rad = (arc.range - G_PI) / 2;
    redundancy->first_rad = arc.first;
  } else {
    return td_set_error (
        error, TD_ERROR_BAD_FILE,
        "The views cover %.1f degrees; this geometry needs at least %.1f (180 and the fan "
        "angle) or a full turn. Check the angles, or crop the detector.",
        arc.range * 180 / G_PI, (G_PI + 2 * reach.widest) * 180 / G_PI);
  }
  redundancy->by_row = reach.slope > LEAST_SLOPE;
  return TRUE;
}

/* ── Weights ── */

/* Parker's smooth weight; beta from the first view in the direction of growing angles. The ray
   (beta, gamma) is measured again at (beta + pi - 2 gamma, -gamma) in our geometry, so his gamma is
   our -gamma. The overscan takes what the range leaves over 180 degrees (Silver's generalisation).
 */
static double
cone_weights_parker (double beta, double gamma, double overscan)
{
  const double begin = 2 * (overscan + gamma), end = G_PI + 2 * gamma;
  double part = 1;

  if (beta < begin)
    part = beta / begin;
  else if (beta > end)
    part = (G_PI + 2 * overscan - beta) / (2 * (overscan - gamma));
  const double sine = sin (G_PI / 2 * CLAMP (part, 0, 1));
  return sine * sine;
}

/* Wang's weight: 0 to 1 across the strip around the axis that both sides of the turn see. */
static double
cone_weights_wang (double gamma, double overlap)
{
  const double part = CLAMP (gamma / overlap, -1, 1);
  return 0.5 * (sin (G_PI / 2 * part) + 1);
}

double
td_cone_redundancy_angle (const TdRedundancy *redundancy, double angle_rad)
{
  const double turned = on_turn (angle_rad - redundancy->first_rad);

  /* The first view, rounded to before it. */
  return turned > 2 * G_PI - ROUNDED_RAD ? 0 : turned;
}

double
td_cone_redundancy_weight (const TdRedundancy *redundancy, double angle_rad, double fan_rad)
{
  switch (redundancy->kind) {
  case TD_REDUNDANCY_PARKER:
    return cone_weights_parker (td_cone_redundancy_angle (redundancy, angle_rad), fan_rad,
                                redundancy->overscan_rad);
  case TD_REDUNDANCY_WANG:
    return cone_weights_wang (redundancy->side * fan_rad, redundancy->overlap_rad);
  default: return 0.5;
  }
}
