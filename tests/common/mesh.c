/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mesh.h"

#include <math.h>
#include <string.h>

#include "dataset/geometry-matrix.h"
#include "dataset/sort.h"

void
td_mesh_load (TdMesh *mesh, const char *path)
{
  g_autofree char *bytes = NULL;
  gsize size;
  guint32 n;

  g_assert_true (g_file_get_contents (path, &bytes, &size, NULL));
  g_assert_cmpuint (size, >=, 84);
  memcpy (&n, bytes + 80, sizeof n);
  mesh->n = GUINT32_FROM_LE (n);
  g_assert_cmpuint (size, ==, 84 + 50 * (gsize) mesh->n);
  mesh->corners = g_malloc_n (mesh->n, sizeof *mesh->corners);
  for (guint i = 0; i < mesh->n; i++) {
    float numbers[12]; /* the normal and three corners */

    memcpy (numbers, bytes + 84 + 50 * (gsize) i, sizeof numbers);
    for (guint k = 0; k < 9; k++)
      mesh->corners[i][k / 3][k % 3] = numbers[3 + k];
  }
}

void
td_mesh_clear (TdMesh *mesh)
{
  g_free (mesh->corners);
  memset (mesh, 0, sizeof *mesh);
}

/* ── Voxels ── */

/* Where the line through (x, y) along z meets a triangle. */
static gboolean
meets (double corner[3][3], double x, double y, double *z)
{
  const double x1 = corner[1][0] - corner[0][0], y1 = corner[1][1] - corner[0][1];
  const double x2 = corner[2][0] - corner[0][0], y2 = corner[2][1] - corner[0][1];
  const double area = x1 * y2 - x2 * y1, px = x - corner[0][0], py = y - corner[0][1];
  const double a = (px * y2 - x2 * py) / area, b = (x1 * py - px * y1) / area;

  if (fabs (area) < 1e-12 || !(a >= 0) || !(b >= 0) || a + b > 1)
    return FALSE;
  *z = corner[0][2] + a * (corner[1][2] - corner[0][2]) + b * (corner[2][2] - corner[0][2]);
  return TRUE;
}

/* Adds its share to each voxel of a column whose samples lie between pairs of crossings. */
static void
fill_column (const double *z, guint crossings, guint nz, double voxel_mm, guint samples,
             gsize slice, float *out)
{
  const float share = 1.0f / (samples * samples * samples);

  for (guint k = 0; k < nz * samples; k++) {
    const double at = ((nz * samples - 1) / 2.0 - k) * voxel_mm / samples;
    guint below = 0;

    while (below < crossings && z[below] < at)
      below++;
    if (below % 2)
      out[k / samples * slice] += share;
  }
}

void
td_mesh_coverage (const TdMesh *mesh, guint nx, guint ny, guint nz, double voxel_mm, guint samples,
                  float *out)
{
  const gsize slice = (gsize) nx * ny;
  g_autofree double *z = g_new (double, mesh->n);

  memset (out, 0, slice * nz * sizeof *out);
  for (guint j = 0; j < ny * samples; j++)
    for (guint i = 0; i < nx * samples; i++) {
      /* A little aside, so that no line meets an edge. */
      const double x = (i - (nx * samples - 1) / 2.0) * voxel_mm / samples + 1.3e-5;
      const double y = ((ny * samples - 1) / 2.0 - j) * voxel_mm / samples + 2.7e-5;
      guint n = 0;

      for (guint t = 0; t < mesh->n; t++)
        n += meets (mesh->corners[t], x, y, &z[n]);
      if (n == 0)
        continue;
      qsort (z, n, sizeof *z, td_compare_doubles);
      fill_column (z, n, nz, voxel_mm, samples, slice, out + j / samples * nx + i / samples);
    }
}

/* ── Rays ── */

typedef struct {
  double source[3], origin[3], du[3], dv[3]; /* directions of rays: origin + u du + v dv */
  double low[2], high[2];                    /* the triangle's shadow, pixels */
} Shadow;

static void
cross (const double a[3], const double b[3], double out[3])
{
  for (guint k = 0; k < 3; k++)
    out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

static double
dot (const double a[3], const double b[3])
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void
cast (const double matrix[12], double corner[3][3], Shadow *shadow)
{
  for (guint i = 0; i < 2; i++) {
    shadow->low[i] = INFINITY;
    shadow->high[i] = -INFINITY;
  }
  for (guint c = 0; c < 3; c++) {
    const double w = dot (matrix + 8, corner[c]) + matrix[11];
    for (guint i = 0; i < 2; i++) {
      const double at = (dot (matrix + 4 * i, corner[c]) + matrix[4 * i + 3]) / w;
      shadow->low[i] = MIN (shadow->low[i], at);
      shadow->high[i] = MAX (shadow->high[i], at);
    }
  }
}

/* The length from the source to the triangle, positive where the ray leaves the body; 0: it misses.
 */
static double
signed_length (const double source[3], const double ray[3], double corner[3][3])
{
  double edge1[3], edge2[3], from[3], p[3], q[3];

  for (guint k = 0; k < 3; k++) {
    edge1[k] = corner[1][k] - corner[0][k];
    edge2[k] = corner[2][k] - corner[0][k];
    from[k] = source[k] - corner[0][k];
  }
  cross (ray, edge2, p);
  cross (from, edge1, q);
  const double area = dot (edge1, p), a = dot (from, p) / area, b = dot (ray, q) / area;
  if (fabs (area) < 1e-15 || !(a >= 0) || !(b >= 0) || a + b > 1)
    return 0;
  return (area < 0 ? 1 : -1) * dot (edge2, q) / area * sqrt (dot (ray, ray));
}

void
td_mesh_project (const TdMesh *mesh, const double matrix[12], guint n_columns, guint n_rows,
                 guint samples, double per_mm, float *out)
{
  const guint width = n_columns * samples, height = n_rows * samples;
  g_autofree double *length = g_new0 (double, (gsize) width *height);
  const double unit[3][3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
  Shadow shadow;

  g_assert_true (td_matrix_source (matrix, shadow.source)
                 && td_matrix_solve (matrix, unit[0], shadow.du)
                 && td_matrix_solve (matrix, unit[1], shadow.dv)
                 && td_matrix_solve (matrix, unit[2], shadow.origin));
  for (guint t = 0; t < mesh->n; t++) {
    cast (matrix, mesh->corners[t], &shadow);
    for (guint j = 0; j < height; j++) {
      const double v = (j + 0.5) / samples - 0.5;
      if (v < shadow.low[1] || v > shadow.high[1])
        continue;
      for (guint i = 0; i < width; i++) {
        const double u = (i + 0.5) / samples - 0.5;
        double ray[3];

        if (u < shadow.low[0] || u > shadow.high[0])
          continue;
        for (guint k = 0; k < 3; k++)
          ray[k] = shadow.origin[k] + u * shadow.du[k] + v * shadow.dv[k];
        length[(gsize) j * width + i] += signed_length (shadow.source, ray, mesh->corners[t]);
      }
    }
  }
  for (guint row = 0; row < n_rows; row++)
    for (guint column = 0; column < n_columns; column++) {
      double through = 0;

      for (guint j = 0; j < samples; j++)
        for (guint i = 0; i < samples; i++)
          through
              += exp (-per_mm * length[(gsize) (row * samples + j) * width + column * samples + i]);
      out[(gsize) row * n_columns + column] = (float) -log (through / (samples * samples));
    }
}
