/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "geometry-matrix.h"

#include <math.h>
#include <stdlib.h>

#include "error.h"
#include "sort.h"
#include "message.h"

/* The sine of an angle at which vectors span no space: files round them to some digits. */
#define FLAT 1e-6

/* By Cramer's rule. */
gboolean
td_matrix_solve (const double matrix[12], const double b[3], double x[3])
{
  const double *r0 = matrix, *r1 = matrix + 4, *r2 = matrix + 8;
  double c0[3], c1[3], c2[3];

  td_cross3 (r1, r2, c0);
  td_cross3 (r2, r0, c1);
  td_cross3 (r0, r1, c2);
  const double determinant = td_dot3 (r0, c0);
  if (!(fabs (determinant) > 1e-300))
    return FALSE;
  for (guint i = 0; i < 3; i++)
    x[i] = (c0[i] * b[0] + c1[i] * b[1] + c2[i] * b[2]) / determinant;
  return isfinite (x[0] + x[1] + x[2]);
}

gboolean
td_matrix_source (const double matrix[12], double source_mm[3])
{
  const double b[3] = { -matrix[3], -matrix[7], -matrix[11] };

  return td_matrix_solve (matrix, b, source_mm);
}

void
td_matrix_distances (const double matrix[12], double pixel_mm, double *source_axis_mm,
                     double *source_detector_mm)
{
  const double square = td_dot3 (matrix + 8, matrix + 8),
               along = td_dot3 (matrix, matrix + 8) / square;
  double source[3], columns[3];

  /* Columns that a step across the beam makes at distance 1 from the source. */
  for (guint k = 0; k < 3; k++)
    columns[k] = matrix[k] - along * matrix[8 + k];
  const double focal = sqrt (td_dot3 (columns, columns) / square);
  *source_axis_mm = td_matrix_source (matrix, source) ? hypot (source[0], source[1]) : 0;
  *source_detector_mm = isfinite (focal) && pixel_mm > 0 ? focal * pixel_mm : 0;
}

gboolean
td_matrix_from_vectors (const double vectors[12], guint n_columns, guint n_rows, double matrix[12])
{
  const double *source = vectors, *u = vectors + 6, *v = vectors + 9;
  double corner[3], rows[3][3];

  /* Pixel (i, j) lies at corner + i u + j v + source, so p - source = w (i u + j v + corner). What
     is sought is the inverse of the matrix with the columns u, v, corner. */
  for (guint k = 0; k < 3; k++)
    corner[k]
        = vectors[3 + k] - (n_columns - 1) / 2.0 * u[k] - (n_rows - 1) / 2.0 * v[k] - source[k];
  td_cross3 (v, corner, rows[0]);
  td_cross3 (corner, u, rows[1]);
  td_cross3 (u, v, rows[2]);
  const double determinant = td_dot3 (u, rows[0]);
  const double squares = td_dot3 (u, u) * td_dot3 (v, v) * td_dot3 (corner, corner);
  if (!(fabs (determinant) > FLAT * sqrt (squares)))
    return FALSE;
  for (guint row = 0; row < 3; row++) {
    for (guint k = 0; k < 3; k++)
      matrix[4 * row + k] = rows[row][k] / determinant;
    matrix[4 * row + 3] = -td_dot3 (matrix + 4 * row, source);
  }
  return TRUE;
}

void
td_matrix_turn (double matrix[12], double angle_rad)
{
  const double c = cos (angle_rad), s = sin (angle_rad);

  /* What was seen at p is now seen at p turned: M' = M R (-angle). */
  for (guint row = 0; row < 3; row++) {
    double *m = matrix + 4 * row;
    const double x = m[0], y = m[1];

    m[0] = x * c - y * s;
    m[1] = x * s + y * c;
  }
}

void
td_matrix_shift (double matrix[12], double columns)
{
  for (guint k = 0; k < 4; k++)
    matrix[k] += columns * matrix[8 + k];
}

static gboolean
geometry_matrix_refuse (GError **error, const char *name, guint view, const char *why)
{
  return td_set_error (
      error, TD_ERROR_BAD_FILE,
      "“%s”: the projection matrix of view %u %p; matrices map millimetres, with z along the "
      "rotation axis through the origin, to columns and rows counted from 0",
      name, view, td_message_unpack (why));
}

static gboolean
check_view (const double *m, guint view, guint n_columns, guint n_rows, const char *name,
            double source[3], GError **error)
{
  if (!td_matrix_source (m, source))
    return geometry_matrix_refuse (error, name, view, N_ ("is singular or not finite"));
  const double radius = hypot (source[0], source[1]);
  if (!(radius > 0) || fabs (source[2]) > radius / 2)
    return geometry_matrix_refuse (error, name, view,
                                   N_ ("does not put the source on an orbit about z"));
  /* Scaled so that w is the depth along the beam, the origin's is the distance to the source. */
  const double depth = m[11] / sqrt (td_dot3 (m + 8, m + 8)) / radius;
  const double u = m[3] / m[11], v = m[7] / m[11];
  if (!(fabs (depth) > 0.1))
    return geometry_matrix_refuse (error, name, view, N_ ("looks past the rotation axis"));
  if (u >= -(double) n_columns && u <= 2.0 * n_columns && v >= -(double) n_rows - 8
      && v <= 2.0 * n_rows + 8)
    return TRUE;
  g_autofree char *place = td_message_packed (
      "puts the origin at column %.6g, row %.6g of a detector of %u × %u pixels", u, v, n_columns,
      n_rows);
  return geometry_matrix_refuse (error, name, view, place);
}

/* The angle behind the widest gap of the sorted angles of a turn. */
static double
turn_begin (const double *angles, guint n)
{
  g_autofree double *sorted = g_memdup2 (angles, n * sizeof *angles);
  double begin, widest;

  qsort (sorted, n, sizeof *sorted, td_compare_doubles);
  begin = sorted[0];
  widest = sorted[0] + 2 * G_PI - sorted[n - 1];
  for (guint i = 1; i < n; i++)
    /* Equal steps differ by rounding: the first view's place is kept then. */
    if (sorted[i] - sorted[i - 1] > widest + 1e-6) {
      widest = sorted[i] - sorted[i - 1];
      begin = sorted[i];
    }
  return begin;
}

/* Which way most views follow each other. */
static double
geometry_matrix_direction_of (const double *angles, guint n)
{
  double turned = 0;

  for (guint i = 1; i < n; i++)
    turned += copysign (1, remainder (angles[i] - angles[i - 1], 2 * G_PI));
  return turned < 0 ? -1 : 1;
}

gboolean
td_matrices_angles (const double *matrices, guint n, guint n_columns, guint n_rows,
                    const char *name, double *angles_rad, GError **error)
{
  double nearest = INFINITY, farthest = 0;

  for (guint view = 0; view < n; view++) {
    double source[3];

    if (!check_view (matrices + 12 * (gsize) view, view, n_columns, n_rows, name, source, error))
      return FALSE;
    nearest = MIN (nearest, hypot (source[0], source[1]));
    farthest = MAX (farthest, hypot (source[0], source[1]));
    angles_rad[view] = atan2 (source[0], -source[1]); /* the source lies at (D sin, -D cos) */
  }
  if (farthest > 2 * nearest)
    return td_set_error (
        error, TD_ERROR_BAD_FILE,
        "“%s”: the source stands between %.4g and %.4g mm from z, which is no circular orbit; "
        "check the matrices and their axes",
        name, nearest, farthest);

  /* Counted from the first view, in the direction in which they follow each other. */
  const double first = angles_rad[0], direction = geometry_matrix_direction_of (angles_rad, n);
  for (guint view = 0; view < n; view++)
    angles_rad[view]
        = fmod (direction * (angles_rad[view] - first) + 4 * G_PI + 1e-9, 2 * G_PI) - 1e-9;
  const double begin = turn_begin (angles_rad, n);
  for (guint view = 0; view < n; view++)
    angles_rad[view]
        = first + direction * (angles_rad[view] + (angles_rad[view] < begin - 1e-9 ? 2 * G_PI : 0));
  return TRUE;
}
