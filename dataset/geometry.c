/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "geometry.h"

#include <math.h>
#include <string.h>

#include "geometry-matrix.h"

void
td_geometry_init_parallel (TdGeometry *geometry)
{
  memset (geometry, 0, sizeof *geometry);
  geometry->beam = TD_BEAM_PARALLEL;
}

gboolean
td_geometry_has_volume (const TdGeometry *geometry)
{
  const guint *size = geometry->volume_size;

  return geometry->voxel_mm > 0 && size[0] > 0 && size[1] > 0 && size[2] > 0;
}

gboolean
td_geometry_lies_on_side (const TdGeometry *geometry)
{
  const double *m = geometry->view_matrices, roll = geometry->detector_tilt_rad[2];

  if (geometry->beam != TD_BEAM_CONE)
    return FALSE;
  if (m) /* columns and rows that a step along the axis makes */
    return fabs (m[2] * m[11] - m[3] * m[10]) > fabs (m[6] * m[11] - m[7] * m[10]);
  return fabs (sin (roll)) * geometry->pixel_height_mm
         > fabs (cos (roll)) * geometry->pixel_width_mm;
}

void
td_geometry_copy (TdGeometry *to, const TdGeometry *from)
{
  *to = *from;
  to->view_matrices
      = g_memdup2 (from->view_matrices, (gsize) from->n_view_matrices * 12 * sizeof (double));
}

void
td_geometry_clear (TdGeometry *geometry)
{
  g_free (geometry->view_matrices);
  memset (geometry, 0, sizeof *geometry);
}

void
td_geometry_turn_image (TdGeometry *geometry, guint n_columns)
{
  const double width = geometry->pixel_width_mm, u = geometry->detector_offset_u_px;

  geometry->pixel_width_mm = geometry->pixel_height_mm;
  geometry->pixel_height_mm = width;
  geometry->detector_offset_u_px = geometry->detector_offset_v_px;
  geometry->detector_offset_v_px = -u;
  const double cropped = geometry->cropped_px[0];
  geometry->cropped_px[0] = geometry->cropped_px[1];
  geometry->cropped_px[1] = -cropped;
  geometry->detector_tilt_rad[2]
      += G_PI / 2; /* the last of the three: about the detector's own normal */
  for (guint view = 0; geometry->view_matrices && view < geometry->n_view_matrices; view++) {
    double *matrix = geometry->view_matrices + 12 * (gsize) view;
    for (guint k = 0; k < 4; k++) {
      const double row = matrix[k];
      matrix[k] = matrix[4 + k];
      matrix[4 + k] = (n_columns - 1.0) * matrix[8 + k] - row;
    }
  }
}

gboolean
td_geometry_place_cone (TdGeometry *geometry, const double source[3], const double axis[3],
                        const double detector[3], const double u[3], const double v[3],
                        const double normal[3])
{
  double to_axis[3], to_detector[3];

  td_between3 (source, axis, to_axis);
  td_between3 (source, detector, to_detector);
  geometry->source_axis_mm = td_dot3 (to_axis, normal);
  geometry->source_detector_mm = td_dot3 (to_detector, normal);
  geometry->axis_offset_mm = td_dot3 (to_axis, u);
  geometry->detector_offset_u_px = -td_dot3 (to_detector, u) / geometry->pixel_width_mm;
  geometry->detector_offset_v_px = -td_dot3 (to_detector, v) / geometry->pixel_height_mm;
  return geometry->source_axis_mm > 0 && geometry->source_detector_mm > geometry->source_axis_mm;
}
