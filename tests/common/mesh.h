/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* A closed surface of triangles, for scans whose object is known as one. */
typedef struct {
  double (*corners)[3][3]; /* n triangles, anticlockwise seen from outside */
  guint n;
} TdMesh;

/* A binary STL file; fails the test on anything else. */
void td_mesh_load (TdMesh *mesh, const char *path);
void td_mesh_clear (TdMesh *mesh);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TdMesh, td_mesh_clear)

/* How much of each voxel the body fills, from @samples^3 points: [nz][ny][nx] about the origin, in
   our order (slice 0 at the top, row 0 at the largest y). */
void td_mesh_coverage (const TdMesh *mesh, guint nx, guint ny, guint nz, double voxel_mm,
                       guint samples, float *out);
/* -log of what reaches each pixel through a body that attenuates by @per_mm, averaged over
   @samples^2 rays a pixel as a detector does. @matrix: 3x4, mm to columns and rows. */
void td_mesh_project (const TdMesh *mesh, const double matrix[12], guint n_columns, guint n_rows,
                      guint samples, double per_mm, float *out);
