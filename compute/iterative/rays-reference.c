/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "dataset/geometry-matrix.h"
#include "rays.h"

/* Independent of rays-view.c: the ray through a pixel by solving its matrix, in voxels from the
 * first. */
static void
ray_of (const TdConeTask *task, const double m[12], double u, double v, double point[3],
        double d[3])
{
  const double h = task->voxel_mm, step[3] = { h, -h, -h };
  double a[3], b[3];

  if (m[8] == 0 && m[9] == 0 && m[10] == 0) {
    /* Two points of the line where both rows of the matrix say so, by Cramer's rule in the plane
       across its direction. */
    double n[3], rows[12] = { 0 };
    for (guint k = 0; k < 3; k++)
      n[k] = m[(k + 1) % 3] * m[4 + (k + 2) % 3] - m[(k + 2) % 3] * m[4 + (k + 1) % 3];
    memcpy (rows, m, 3 * sizeof *rows);
    memcpy (rows + 4, m + 4, 3 * sizeof *rows);
    memcpy (rows + 8, n, sizeof n);
    const double right[3] = { u - m[3], v - m[7], 0 };
    g_assert_true (td_matrix_solve (rows, right, a));
    for (guint k = 0; k < 3; k++)
      b[k] = a[k] + n[k];
  } else {
    td_cone_source (m, a);
    td_cone_pixel (m, u, v, b);
  }
  for (guint k = 0; k < 3; k++) {
    point[k] = (b[k] - task->first_mm[k]) / step[k];
    d[k] = (b[k] - a[k]) / step[k];
  }
}

/* Calls @visit for every voxel that pixel (column, row) of @view sees, with its weight in mm. */
static void
rays_reference_trace (const TdConeTask *task, guint view, guint column, guint row,
                      void (*visit) (gsize voxel, double weight, gpointer user), gpointer user)
{
  const guint size[3] = { task->nx, task->ny, task->nz };
  const gsize stride[3] = { 1, task->nx, (gsize) task->nx * task->ny };
  double p[3], d[3];

  ray_of (task, task->matrices + 12 * (gsize) view, column, row, p, d);
  guint a = fabs (d[1]) > fabs (d[0]) ? 1 : 0;
  if (fabs (d[2]) > fabs (d[a]))
    a = 2;
  const guint b = a == 0 ? 1 : 0, c = a == 2 ? 1 : 2;
  const double length
      = task->voxel_mm * sqrt (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) / fabs (d[a]);

  for (guint i = 0; i < size[a]; i++) {
    const double t = (i - p[a]) / d[a], at_b = p[b] + t * d[b], at_c = p[c] + t * d[c];
    for (guint corner = 0; corner < 4; corner++) {
      const double j = floor (at_b) + (corner & 1), k = floor (at_c) + (corner >> 1);
      const double weight = (1 - fabs (at_b - j)) * (1 - fabs (at_c - k)) * length;
      if (j >= 0 && k >= 0 && j < size[b] && k < size[c])
        visit (i * stride[a] + (gsize) j * stride[b] + (gsize) k * stride[c], weight, user);
    }
  }
}

typedef struct {
  const float *volume;
  double *sums;
  double value;
} Trace;

static void
rays_reference_collect (gsize voxel, double weight, gpointer user)
{
  Trace *rays_reference_trace = user;
  rays_reference_trace->value += weight * rays_reference_trace->volume[voxel];
}

static void
rays_reference_scatter (gsize voxel, double weight, gpointer user)
{
  Trace *rays_reference_trace = user;
  rays_reference_trace->sums[voxel] += weight * rays_reference_trace->value;
}

void
td_rays_reference_project (const TdConeTask *task, guint view, const float *volume, double *out)
{
  Trace work = { .volume = volume };

  for (guint row = 0; row < task->n_rows; row++)
    for (guint column = 0; column < task->n_columns; column++) {
      work.value = 0;
      rays_reference_trace (task, view, column, row, rays_reference_collect, &work);
      out[(gsize) row * task->n_columns + column] = work.value;
    }
}

void
td_rays_reference_back (const TdConeTask *task, guint view, const float *lines, double *volume)
{
  Trace work = { .sums = volume };

  for (guint row = 0; row < task->n_rows; row++)
    for (guint column = 0; column < task->n_columns; column++) {
      work.value = lines[(gsize) row * task->n_columns + column];
      rays_reference_trace (task, view, column, row, rays_reference_scatter, &work);
    }
}
