/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <math.h>

/**
 * Projection matrices, row-major 3x4, of the conventions of geometry.h: w (u, v, 1)' = M (x, y, z,
 * 1)', mm to columns and rows. Pure; any thread.
 */

static inline double
td_dot3 (const double a[3], const double b[3])
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* @out: neither @a nor @b. */
static inline void
td_cross3 (const double a[3], const double b[3], double out[3])
{
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}

/* What leads from @from to @to. */
static inline void
td_between3 (const double from[3], const double to[3], double out[3])
{
  for (guint i = 0; i < 3; i++)
    out[i] = to[i] - from[i];
}

/* FALSE: @a has no direction. */
static inline gboolean
td_normalise3 (double a[3])
{
  const double length = sqrt (td_dot3 (a, a));

  for (guint i = 0; i < 3; i++)
    a[i] /= length;
  return length > 0 && isfinite (length);
}

/* Solves A x = b for the left 3x3 part; FALSE if it is singular. */
gboolean td_matrix_solve (const double matrix[12], const double b[3], double x[3]);
/* Where the source stands; FALSE: the matrix is singular. */
gboolean td_matrix_source (const double matrix[12], double source_mm[3]);

/* From the source to the z axis and, with columns of @pixel_mm, to the detector; 0 where the matrix
   does not say. */
void td_matrix_distances (const double matrix[12], double pixel_mm, double *source_axis_mm,
                          double *source_detector_mm);

/* A view as ASTRA's "cone_vec" has it, in mm. @vectors: 12 numbers: source, middle of the detector,
   and the steps from one column and one row to the next. FALSE: degenerate. */
gboolean td_matrix_from_vectors (const double vectors[12], guint n_columns, guint n_rows,
                                 double matrix[12]);

/* Turns source and detector about z by @angle_rad, in the direction of our angles. */
void td_matrix_turn (double matrix[12], double angle_rad);
/* Moves what is seen by @columns to larger columns. */
void td_matrix_shift (double matrix[12], double columns);

/* The angles (geometry.h) at which the sources of @n views stand around z. They lie within one turn
   that begins behind the widest gap, whatever the order of the views. They rise or fall as most
   views do. FALSE with @error: the matrices are not those of an orbit about z seen by a detector of
   this size. @name tells the error whose matrices they are. */
gboolean td_matrices_angles (const double *matrices, guint n, guint n_columns, guint n_rows,
                             const char *name, double *angles_rad, GError **error);
