/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "dataset/error.h"
#include "dataset/geometry-matrix.h"
#include "rays-private.h"

/* What one view's matrix says of its rays, in mm. It has a point of the middle pixel's ray, and the
   steps by a column and by a row. The direction moves with these steps as much as @turn says. */
typedef struct {
  double point[3], column[3], row[3], direction[3];
  double turn;
} View;

/* The shortest x with a . x = 1 and b . x = 0. */
static void
rays_view_dual (const double a[3], const double b[3], double x[3])
{
  const double aa = td_dot3 (a, a), ab = td_dot3 (a, b), bb = td_dot3 (b, b),
               det = aa * bb - ab * ab;

  for (guint k = 0; k < 3; k++)
    x[k] = (bb * a[k] - ab * b[k]) / det;
}

static void
rays_view_middle (const TdConeTask *task, double *u, double *v)
{
  *u = (task->n_columns - 1) / 2.0;
  *v = (task->n_rows - 1) / 2.0;
}

static void
parallel_view (const TdConeTask *task, const double m[12], View *view)
{
  double u, v;

  rays_view_middle (task, &u, &v);
  rays_view_dual (m, m + 4, view->column);
  rays_view_dual (m + 4, m, view->row);
  for (guint k = 0; k < 3; k++) {
    view->point[k] = (u - m[3]) * view->column[k] + (v - m[7]) * view->row[k];
    view->direction[k] = m[(k + 1) % 3] * m[4 + (k + 2) % 3] - m[(k + 2) % 3] * m[4 + (k + 1) % 3];
  }
  const double length = sqrt (td_dot3 (view->direction, view->direction));
  for (guint k = 0; k < 3; k++)
    view->direction[k] /= length;
  view->turn = 0;
}

static void
cone_view (const TdConeTask *task, const double m[12], View *view)
{
  const double units[2][3] = { { 1, 0, 0 }, { 0, 1, 0 } };
  double source[3], u, v;

  rays_view_middle (task, &u, &v);
  td_cone_pixel (m, u, v, view->point);
  td_cone_source (m, source);
  if (!td_matrix_solve (m, units[0], view->column) || !td_matrix_solve (m, units[1], view->row))
    view->column[0] = NAN;
  for (guint k = 0; k < 3; k++)
    view->direction[k] = view->point[k] - source[k];
  view->turn = 1;
}

static void
view_of (const TdConeTask *task, guint index, View *view)
{
  const double *m = task->matrices + 12 * (gsize) index;

  if (m[8] == 0 && m[9] == 0 && m[10] == 0)
    parallel_view (task, m, view);
  else
    cone_view (task, m, view);
}

static void
ray_direction (const View *view, double u, double v, double out[3])
{
  for (guint k = 0; k < 3; k++)
    out[k] = view->direction[k] + view->turn * (u * view->column[k] + v * view->row[k]);
}

void
td_rays_view (const TdConeTask *task, guint index, double out[TD_RAY_FLOATS])
{
  const double *m = task->matrices + 12 * (gsize) index, h = task->voxel_mm;
  /* From mm to voxels: y and z fall. */
  const double step[3] = { h, -h, -h };
  double u, v;
  View view;

  view_of (task, index, &view);
  rays_view_middle (task, &u, &v);
  for (guint c = 0; c < 3; c++) {
    out[c] = (m[c] - u * m[8 + c]) * step[c];
    out[4 + c] = (m[4 + c] - v * m[8 + c]) * step[c];
    out[8 + c] = m[8 + c] * step[c];
    out[12 + c] = (view.point[c] - task->first_mm[c]) / step[c];
    out[15 + c] = view.column[c] / step[c];
    out[18 + c] = view.row[c] / step[c];
    out[21 + c] = view.direction[c] / step[c];
  }
  const double w = td_dot3 (m + 8, task->first_mm) + m[11];
  out[3] = td_dot3 (m, task->first_mm) + m[3] - u * w;
  out[7] = td_dot3 (m + 4, task->first_mm) + m[7] - v * w;
  out[11] = w;
  out[24] = view.turn;
  for (guint i = 25; i < TD_RAY_FLOATS; i++)
    out[i] = 0;
}

static int
rays_view_steepest (const double d[3])
{
  const double x = fabs (d[0]), y = fabs (d[1]), z = fabs (d[2]);
  return x >= y ? (x >= z ? 0 : 2) : (y >= z ? 1 : 2);
}

int
td_rays_axes (const TdConeTask *task)
{
  int axes = 0;

  /* Along the detector's rim every direction between two axes occurs. Nine points a side find
     all axes but for slivers, which a margin takes in. */
  for (guint index = 0; index < task->n_views; index++) {
    double u, v, d[3];
    View view;

    view_of (task, index, &view);
    rays_view_middle (task, &u, &v);
    for (gint i = -4; i <= 4; i++)
      for (gint j = -4; j <= 4; j++) {
        ray_direction (&view, u * i / 4, v * j / 4, d);
        axes |= 1 << rays_view_steepest (d);
        for (guint axis = 0; axis < 3; axis++) {
          double nearly[3] = { d[0], d[1], d[2] };
          nearly[axis] *= 1.2;
          axes |= 1 << rays_view_steepest (nearly);
        }
      }
  }
  return axes;
}

gboolean
td_rays_upright (const TdConeTask *task)
{
  for (guint index = 0; index < task->n_views; index++) {
    View view;

    view_of (task, index, &view);
    /* Over the whole height no ray may leave its column's plane by a thousandth of a pixel. */
    if (hypot (view.row[0], view.row[1]) * task->n_rows > 1e-3 * task->voxel_mm)
      return FALSE;
  }
  return td_cone_upright (task) && !(td_rays_axes (task) & 4);
}

/* ── Tasks ── */

void
td_ray_task_parallel (TdConeTask *task, const TdRayParallel *beam)
{
  const double voxel_mm = beam->voxel_mm;

  memset (task, 0, sizeof *task);
  task->n_columns = task->n_measured = beam->n_columns;
  task->n_rows = beam->n_rows;
  task->n_views = beam->n_views;
  task->matrices = g_new0 (double, 12 * (gsize) beam->n_views);
  task->view_weights = g_new0 (double, beam->n_views);
  for (guint view = 0; view < beam->n_views; view++) {
    double *m = task->matrices + 12 * (gsize) view;

    task->view_weights[view] = 1;
    m[0] = cos (beam->angles_rad[view]) / voxel_mm;
    m[1] = sin (beam->angles_rad[view]) / voxel_mm;
    m[2] = -beam->tilt / voxel_mm;
    m[3] = beam->centre_px;
    m[6] = -1 / voxel_mm;
    m[7] = (beam->n_rows - 1) / 2.0;
    m[11] = 1;
  }
  td_cone_task_set_volume (task, beam->nx, beam->nx, beam->n_rows, voxel_mm);
}

guint64
td_rays_volume_bytes (const TdConeTask *task)
{
  return ((guint64) task->nx + 3) * (task->ny + 3) * (task->nz + 3) * sizeof (float)
         + TD_RAY_AHEAD * sizeof (float);
}

guint64
td_rays_projection_bytes (const TdConeTask *task, guint n_views)
{
  return (guint64) task->n_columns * task->n_rows * n_views * sizeof (float);
}

gboolean
td_rays_check (const TdConeTask *task, GError **error)
{
  if (td_rays_volume_bytes (task) / sizeof (float) > G_MAXINT)
    return td_set_error (
        error, TD_ERROR_TOO_LARGE,
        "Iterative methods hold the whole volume, and %u × %u × %u voxels are more than the "
        "2^31 that fit: bin the detector ({bin=2}) or crop it ({crop})",
        task->nx, task->ny, task->nz);
  for (guint view = 0; view < task->n_views; view++) {
    const double *m = task->matrices + 12 * (gsize) view;

    for (guint corner = 0; corner < 8; corner++) {
      /* A voxel beyond the volume, which the rays of its last one may pass. */
      double point[3];
      point[0] = task->first_mm[0] + (corner & 1 ? (double) task->nx : -1) * task->voxel_mm;
      point[1] = task->first_mm[1] - (corner & 2 ? (double) task->ny : -1) * task->voxel_mm;
      point[2] = task->first_mm[2] - (corner & 4 ? (double) task->nz : -1) * task->voxel_mm;
      if (!(td_dot3 (m + 8, point) + m[11] > 0.01))
        return td_set_error (
            error, TD_ERROR_UNSUPPORTED,
            "In view %u the source stands inside the volume or beside it, where iterative methods "
            "have no rays to follow: check the distances, or take {method=fdk}",
            view);
    }
  }
  return TRUE;
}
