/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone-rectify.h"

#include <math.h>
#include <string.h>

#include "dataset/geometry-matrix.h"

#define LOBES 3
#define ROUNDING 0.02 /* rows that single precision may be off by */
#define LEAST_SIDE 4  /* columns and rows of a detector worth resampling */
#define LITTLE_SLOPE (0.1 * G_PI / 180)

/* ── The detector as it is ── */

/* A view's source, and the rectified detector's directions: right along its rows, ahead to the
 * axis. */
typedef struct {
  double source[3], right[3], ahead[3];
  double distance; /* rectified, to the axis */
} Stand;

static gboolean
stand_of (const double matrix[12], Stand *stand)
{
  td_cone_source (matrix, stand->source);
  stand->distance = hypot (stand->source[0], stand->source[1]);
  if (!(stand->distance > 0))
    return FALSE;
  const double c = -stand->source[1] / stand->distance, s = stand->source[0] / stand->distance;
  const double right[3] = { c, s, 0 }, ahead[3] = { -s, c, 0 };
  memcpy (stand->right, right, sizeof right);
  memcpy (stand->ahead, ahead, sizeof ahead);
  return TRUE;
}

/* ── The rectified detector ── */

/* The rectified detector's pixels at the axis, where the axis is seen, and its size. */
typedef struct {
  double width_mm, height_mm;
  double u, v;
  guint n_columns, n_rows;
} Rectified;

/* u and w are as on any upright detector. v counts from the row where the view sees the origin.
   So v stays the same as the source moves up and down. */
static void
rectified_matrix (const Stand *stand, const Rectified *rectified, double matrix[12])
{
  const double rise = stand->source[2] / stand->distance;

  for (guint i = 0; i < 3; i++) {
    const double depth = stand->ahead[i] / stand->distance;
    matrix[8 + i] = depth;
    matrix[i] = stand->right[i] / rectified->width_mm + rectified->u * depth;
    matrix[4 + i]
        = -((i == 2) + rise * stand->ahead[i]) / rectified->height_mm + rectified->v * depth;
  }
  matrix[3] = rectified->u;
  matrix[7] = rectified->v;
  matrix[11] = 1;
}

/* How many of its pixels one sees in a millimetre along @direction, at the axis. */
static double
pixels_a_mm (const double m[12], const double direction[3])
{
  const double depth = td_dot3 (m + 8, direction);
  const double u = td_dot3 (m, direction) - m[3] / m[11] * depth;
  const double v = td_dot3 (m + 4, direction) - m[7] / m[11] * depth;

  return hypot (u, v) / m[11];
}

/* The mean of all views. */
static gboolean
choose_pixels (const TdConeTask *task, Rectified *rectified)
{
  static const double up[3] = { 0, 0, 1 };

  *rectified = (Rectified) { 0 };
  for (guint view = 0; view < task->n_views; view++) {
    const double *m = task->matrices + 12 * (gsize) view;
    Stand stand;
    if (!stand_of (m, &stand))
      return FALSE;
    rectified->width_mm += 1 / pixels_a_mm (m, stand.right) / task->n_views;
    rectified->height_mm += 1 / pixels_a_mm (m, up) / task->n_views;
  }
  return isfinite (rectified->width_mm) && isfinite (rectified->height_mm);
}

/* Where the ray of pixel (u, v) of @from meets @to; FALSE: not before the source. */
static gboolean
cone_rectify_transfer (const double from[12], const double to[12], double u, double v,
                       double out[2])
{
  const double pixel[3] = { u, v, 1 };
  double ray[3];

  if (!td_matrix_solve (from, pixel, ray))
    return FALSE;
  const double depth = td_dot3 (to + 8, ray);
  out[0] = td_dot3 (to, ray) / depth;
  out[1] = td_dot3 (to + 4, ray) / depth;
  return depth > 0;
}

/* From @low to @high, with a pixel at @grid; *zero: where 0 comes to lie. */
static guint
side_of (double low, double high, double grid, double *zero)
{
  *zero = ceil (grid - 0.5 - low - 1e-3) - grid;
  return (guint) CLAMP (ceil (high + *zero + 0.5 - 1e-3), 1, G_MAXINT);
}

/* Between two pixels the lower one is taken, whatever rounding made of the half. So a detector has
   the same grid of pixels when some of its rows are left out. */
static double
cone_rectify_pixel_at (double place)
{
  return ceil (place - 0.5 - 1e-6);
}

/* As large as the image of the detector's outer edges in every view. A pixel lies on one of the
   first view's pixels, so that what is nearly upright is nearly copied. */
static gboolean
choose_size (const TdConeTask *task, Rectified *rectified)
{
  double low[2] = { INFINITY, INFINITY }, high[2] = { -INFINITY, -INFINITY };
  double grid[2] = { 0 };

  for (guint view = 0; view < task->n_views; view++) {
    const double *m = task->matrices + 12 * (gsize) view;
    double matrix[12];
    Stand stand;

    stand_of (m, &stand);
    rectified_matrix (&stand, rectified, matrix);
    if (view == 0
        && !cone_rectify_transfer (m, matrix, cone_rectify_pixel_at (m[3]),
                                   cone_rectify_pixel_at (m[7]), grid))
      return FALSE;
    for (guint corner = 0; corner < 4; corner++) {
      double at[2];
      if (!cone_rectify_transfer (m, matrix, corner & 1 ? task->n_columns - 0.5 : -0.5,
                                  corner & 2 ? task->n_rows - 0.5 : -0.5, at))
        return FALSE;
      for (guint i = 0; i < 2; i++) {
        low[i] = MIN (low[i], at[i]);
        high[i] = MAX (high[i], at[i]);
      }
    }
  }
  /* Grazing views make no picture. */
  const double most = 4.0 * (task->n_columns + task->n_rows);
  if (!(high[0] - low[0] < most) || !(high[1] - low[1] < most))
    return FALSE;
  rectified->n_columns = side_of (low[0], high[0], grid[0], &rectified->u);
  rectified->n_rows = side_of (low[1], high[1], grid[1], &rectified->v);
  return TRUE;
}

/* ── How far from it ── */

/* A row's slope on the rectified detector, which is a straight line there too; @last: any other
   column than the first. */
static gboolean
slope_at (const double from[12], const double to[12], double v, double last, double *slope)
{
  double a[2], b[2];

  if (!cone_rectify_transfer (from, to, 0, v, a) || !cone_rectify_transfer (from, to, last, v, b))
    return FALSE;
  *slope = fabs (atan2 (b[1] - a[1], fabs (b[0] - a[0])));
  return TRUE;
}

double
td_cone_row_slope (const TdConeTask *task)
{
  const Rectified square = { .width_mm = 1, .height_mm = 1 };
  double steepest = 0;

  for (guint view = 0; view < task->n_views; view++) {
    const double *m = task->matrices + 12 * (gsize) view;
    double matrix[12], slope;
    Stand stand;

    if (!stand_of (m, &stand))
      return 0;
    rectified_matrix (&stand, &square, matrix);
    for (guint edge = 0; edge < 2; edge++) {
      if (!slope_at (m, matrix, edge ? task->n_rows - 1.0 : 0, task->n_columns, &slope))
        return 0;
      steepest = MAX (steepest, slope);
    }
  }
  return steepest;
}

gboolean
td_cone_rectify_helps (const TdConeTask *task, const TdGeometry *geometry, double slope_rad)
{
  return MIN (task->n_columns, task->n_rows) >= LEAST_SIDE
         && (slope_rad > LITTLE_SLOPE || (!geometry->view_matrices && !td_cone_upright (task)));
}

/* ── The task's ── */

/* A B^-1 of the matrices' left parts: both views have one source. */
static gboolean
cone_rectify_homography (const double a[12], const double b[12], double out[9])
{
  for (guint k = 0; k < 3; k++) {
    const double unit[3] = { k == 0, k == 1, k == 2 };
    double ray[3];
    if (!td_matrix_solve (b, unit, ray))
      return FALSE;
    for (guint i = 0; i < 3; i++)
      out[3 * i + k] = td_dot3 (a + 4 * i, ray);
  }
  return TRUE;
}

static gboolean
same_form (const double *a, const double *b)
{
  for (guint i = 0; i < 9; i++)
    if (fabs (a[i] - b[i]) > 1e-10 * (fabs (a[i]) + fabs (b[i]) + 1e-3))
      return FALSE;
  return TRUE;
}

gboolean
td_cone_task_rectify (TdConeTask *task)
{
  Rectified rectified;

  if (!choose_pixels (task, &rectified) || !choose_size (task, &rectified))
    return FALSE;
  g_autofree double *matrices = g_new (double, 12 * (gsize) task->n_views);
  g_autofree double *forms = g_new (double, 9 * (gsize) task->n_views);
  gboolean same = TRUE;
  for (guint view = 0; view < task->n_views; view++) {
    Stand stand;
    stand_of (task->matrices + 12 * (gsize) view, &stand);
    rectified_matrix (&stand, &rectified, matrices + 12 * (gsize) view);
    if (!cone_rectify_homography (task->matrices + 12 * (gsize) view, matrices + 12 * (gsize) view,
                                  forms + 9 * (gsize) view))
      return FALSE;
    same = same && same_form (forms, forms + 9 * (gsize) view);
  }
  for (guint view = 0; view < task->n_views; view++)
    task->view_weights[view] *= td_cone_filter_gain (task->matrices + 12 * (gsize) view)
                                / td_cone_filter_gain (matrices + 12 * (gsize) view);
  task->tilted = (TdConeTilted) { task->n_columns, task->n_rows, same ? 1 : task->n_views,
                                  g_steal_pointer (&forms) };
  g_free (task->matrices);
  task->matrices = g_steal_pointer (&matrices);
  task->n_columns = task->n_measured = rectified.n_columns;
  task->n_rows = rectified.n_rows;
  task->pitch_mm = rectified.width_mm;
  task->redundancy.by_row = FALSE;
  return TRUE;
}

/* ── Rows ── */

/* Whether the detector's first and last row are what bounds a rectified column, not its columns. */
static gboolean
rows_bound (const double h[9])
{
  return fabs (h[4]) >= fabs (h[1]);
}

TdRowRange
td_cone_rectify_rows (const TdConeTask *task, TdRowRange rows)
{
  const TdConeTilted *tilted = &task->tilted;
  const double last = tilted->n_rows - 1.0;
  double low = INFINITY, high = -INFINITY;

  for (guint view = 0; view < tilted->n; view++) {
    const double *h = tilted->homographies + 9 * (gsize) view;
    if (!rows_bound (h)) { /* what is taken from beyond its columns may be of any row */
      low = 0;
      high = last;
    }
    /* v is a ratio of linear functions with no pole among the rows: the corners bound it. */
    for (guint corner = 0; corner < 4; corner++) {
      const double u = corner & 1 ? task->n_measured - 1.0 : 0;
      const double v = corner & 2 ? rows.first + rows.count - 1.0 : rows.first;
      const double at = (h[3] * u + h[4] * v + h[5]) / (h[6] * u + h[7] * v + h[8]);
      low = MIN (low, at);
      high = MAX (high, at);
    }
  }
  const guint first
      = (guint) CLAMP (floor (CLAMP (low, 0, last) - ROUNDING) - (LOBES - 1), 0, last);
  const guint end
      = (guint) CLAMP (floor (CLAMP (high, 0, last) + ROUNDING) + LOBES + 1, 1, last + 1);
  return (TdRowRange) { first, end - first };
}

/* The line that row (or column) @at of the detector is on the rectified one: form . (x, y, 1) = 0.
 */
static void
cone_rectify_edge (const double form[3], const double depth[3], double middle, double at,
                   double out[2])
{
  const double k = middle - at, y = form[1] + k * depth[1];

  out[0] = -(form[0] + k * depth[0]) / y;
  out[1] = -(form[2] + k * depth[2]) / y;
}

void
td_cone_rectify_form (const TdConeTask *task, guint view, double form[TD_CONE_RECTIFY_FORM])
{
  const TdConeTilted *tilted = &task->tilted;
  const double *h = tilted->homographies + (tilted->n == 1 ? 0 : 9 * (gsize) view);
  const double to_u = (task->n_measured - 1) / 2.0, to_v = (task->n_rows - 1) / 2.0;
  const double from[2] = { (tilted->n_columns - 1) / 2.0, (tilted->n_rows - 1) / 2.0 };
  double c[9];

  for (guint i = 0; i < 3; i++) {
    c[3 * i] = h[3 * i];
    c[3 * i + 1] = h[3 * i + 1];
    c[3 * i + 2] = h[3 * i] * to_u + h[3 * i + 1] * to_v + h[3 * i + 2];
  }
  for (guint k = 0; k < 3; k++) {
    c[k] -= from[0] * c[6 + k];
    c[3 + k] -= from[1] * c[6 + k];
  }
  const gboolean rows = rows_bound (h);
  memcpy (form, c, sizeof c);
  cone_rectify_edge (c + 3 * rows, c + 6, from[rows], 0, form + 9);
  cone_rectify_edge (c + 3 * rows, c + 6, from[rows],
                     (rows ? tilted->n_rows : tilted->n_columns) - 1.0, form + 11);
  form[13] = rows;
}
