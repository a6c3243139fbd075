/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone.h"

#include <math.h>

#include "dataset/geometry-matrix.h"

#define ROUNDING 0.02 /* rows that single precision may be off by, with 65536 of them */

/* Turns the frame (u, v, n) of the detector about its own axes, in the order u, v, n. */
static void
cone_geometry_tilt_frame (double frame[3][3], const double tilt_rad[3])
{
  for (guint axis = 0; axis < 3; axis++) {
    const double c = cos (tilt_rad[axis]), s = sin (tilt_rad[axis]);
    double *a = frame[(axis + 1) % 3], *b = frame[(axis + 2) % 3];

    for (guint i = 0; i < 3; i++) {
      const double ai = a[i], bi = b[i];
      a[i] = c * ai + s * bi;
      b[i] = c * bi - s * ai;
    }
  }
}

void
td_cone_matrix (const TdGeometry *geometry, double angle_rad, guint n_columns, guint n_rows,
                double matrix[12])
{
  const double c = cos (angle_rad), s = sin (angle_rad);
  const double beam[3] = { -s, c, 0 };
  double frame[3][3] = { { c, s, 0 }, { 0, 0, -1 }, { -s, c, 0 } };
  double source[3], to_detector[3];
  const double u0 = (n_columns - 1) / 2.0 + geometry->detector_offset_u_px;
  const double v0 = (n_rows - 1) / 2.0 + geometry->detector_offset_v_px;

  for (guint i = 0; i < 3; i++) {
    source[i] = -geometry->source_axis_mm * beam[i] - geometry->axis_offset_mm * frame[0][i];
    to_detector[i] = geometry->source_detector_mm * beam[i];
  }
  cone_geometry_tilt_frame (frame, geometry->detector_tilt_rad);

  /* Let p - source = (a, b, n) in the detector's frame. The ray meets the detector at (distance
     a / n, distance b / n) from the foot of the source's perpendicular. */
  const double distance = td_dot3 (frame[2], to_detector);
  const double foot_u = u0 - td_dot3 (frame[0], to_detector) / geometry->pixel_width_mm;
  const double foot_v = v0 - td_dot3 (frame[1], to_detector) / geometry->pixel_height_mm;
  for (guint i = 0; i < 3; i++) {
    matrix[i] = distance / geometry->pixel_width_mm * frame[0][i] + foot_u * frame[2][i];
    matrix[4 + i] = distance / geometry->pixel_height_mm * frame[1][i] + foot_v * frame[2][i];
    matrix[8 + i] = frame[2][i];
  }
  for (guint row = 0; row < 3; row++)
    matrix[4 * row + 3] = -td_dot3 (matrix + 4 * row, source);
}

gboolean
td_cone_matrix_normalise (double matrix[12])
{
  const double w = matrix[11];

  if (!(fabs (w) > 1e-12))
    return FALSE;
  for (guint i = 0; i < 12; i++)
    matrix[i] /= w;
  return TRUE;
}

void
td_cone_project (const double matrix[12], const double point_mm[3], double *u, double *v, double *w)
{
  *w = td_dot3 (matrix + 8, point_mm) + matrix[11];
  *u = (td_dot3 (matrix, point_mm) + matrix[3]) / *w;
  *v = (td_dot3 (matrix + 4, point_mm) + matrix[7]) / *w;
}

void
td_cone_source (const double matrix[12], double source_mm[3])
{
  if (!td_matrix_source (matrix, source_mm))
    source_mm[0] = source_mm[1] = source_mm[2] = NAN;
}

void
td_cone_pixel (const double matrix[12], double u, double v, double point_mm[3])
{
  const double b[3] = { u - matrix[3], v - matrix[7], 1 - matrix[11] };

  if (!td_matrix_solve (matrix, b, point_mm))
    point_mm[0] = point_mm[1] = point_mm[2] = NAN;
}

void
td_cone_cosine (const double matrix[12], double coefficients[6])
{
  /* The ray of pixel (u, v) is A^-1 (u, v, 1). Its component along the detector's normal is the
     same for every pixel: 1 / |third row|. Its length over that component is 1 / cosine. */
  const double normal = sqrt (td_dot3 (matrix + 8, matrix + 8));
  double column[3][3];

  for (guint k = 0; k < 3; k++) {
    const double unit[3] = { k == 0, k == 1, k == 2 };
    if (!td_matrix_solve (matrix, unit, column[k]))
      column[k][0] = column[k][1] = column[k][2] = NAN;
    for (guint i = 0; i < 3; i++)
      column[k][i] *= normal;
  }
  coefficients[0] = td_dot3 (column[0], column[0]);
  coefficients[1] = td_dot3 (column[1], column[1]);
  coefficients[2] = td_dot3 (column[2], column[2]);
  coefficients[3] = 2 * td_dot3 (column[0], column[1]);
  coefficients[4] = 2 * td_dot3 (column[0], column[2]);
  coefficients[5] = 2 * td_dot3 (column[1], column[2]);
}

gboolean
td_cone_upright (const TdConeTask *task)
{
  for (guint view = 0; view < task->n_views; view++) {
    const double *m = task->matrices + 12 * (gsize) view;
    /* Over the whole volume's height u may move by no more than a thousandth of a pixel. */
    const double height = task->nz * task->voxel_mm;
    if (fabs (m[2]) * height > 1e-3 || fabs (m[10]) * height * task->n_columns > 1e-3)
      return FALSE;
  }
  return TRUE;
}

void
td_cone_rows_seen (const TdConeTask *task, guint slice0, guint n, guint *first, guint *end)
{
  const double x[2] = { task->first_mm[0], task->first_mm[0] + (task->nx - 1) * task->voxel_mm };
  const double y[2] = { task->first_mm[1], task->first_mm[1] - (task->ny - 1) * task->voxel_mm };
  const double z[2] = { task->first_mm[2] - slice0 * task->voxel_mm,
                        task->first_mm[2] - (slice0 + n - 1.0) * task->voxel_mm };
  double low = INFINITY, high = -INFINITY;

  for (guint view = 0; view < task->n_views; view++)
    for (guint corner = 0; corner < 8; corner++) {
      const double point[3] = { x[corner & 1], y[(corner >> 1) & 1], z[corner >> 2] };
      double u, v, w;
      td_cone_project (task->matrices + 12 * (gsize) view, point, &u, &v, &w);
      if (w <= 0) { /* the source is inside the volume: no bound can be given */
        *first = 0;
        *end = task->n_rows;
        return;
      }
      low = MIN (low, v);
      high = MAX (high, v);
    }
  /* v is a ratio of linear functions with w > 0, so it is monotonic along each edge of the box,
     and the corners bound it. Linear interpolation reads one row further. Positions computed in
     single precision must not find a row missing. */
  *first = (guint) CLAMP (floor (low - ROUNDING), 0, (double) task->n_rows);
  *end = (guint) CLAMP (floor (high + ROUNDING) + 2, 0, (double) task->n_rows);
  if (*end < *first)
    *end = *first;
}
