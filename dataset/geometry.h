/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * How the scan was taken. Plain values; no ownership except the per-view arrays.
 *
 * Axes (the figure is in DESIGN.md): the rotation axis is z, upwards. At angle 0 the beam travels
 * along +y and detector columns run along +x, detector rows along -z (row 0 at the top, as TIFF).
 * A positive angle turns the sample so that the ray through the axis and column u satisfies
 *
 *     u - centre = x cos(angle) + y sin(angle)
 *
 * for a parallel beam, with u in columns, x and y in pixels, x to the right and y up in the slice.
 * The stored image has row 0 at the top. So image row j of a slice of ny rows lies at
 * y = (ny - 1) / 2 - j.
 */
typedef enum {
  TD_BEAM_PARALLEL,
  TD_BEAM_FAN, /* cone beam with one detector row in the mid-plane */
  TD_BEAM_CONE,
} TdBeam;

typedef struct {
  TdBeam beam;
  double pixel_width_mm;       /* detector pixel along a row; 0: unknown */
  double pixel_height_mm;      /* detector pixel along a column; 0: unknown */
  double source_axis_mm;       /* cone and fan: source to rotation axis */
  double source_detector_mm;   /* cone and fan: source to detector */
  double detector_offset_u_px; /* cone: principal point minus the detector's middle column */
  double detector_offset_v_px; /* cone: principal point minus the detector's middle row */
  double axis_offset_mm; /* cone: rotation axis off the source-principal point line, along u */
  double detector_tilt_rad[3]; /* about u, v and the beam, applied in that order */
  double *view_matrices;       /* n_views x 12, row-major 3x4 world (mm) -> pixel (u, v, 1) times
                                  depth; NULL for a circular orbit. Owned. */
  guint n_view_matrices;       /* how many views view_matrices holds */
  double voxel_mm;             /* proposed by the file; 0: none */
  guint volume_size[3];        /* proposed nx, ny, nz; 0: none */
  double cropped_px[2];        /* cone: the middle of what a crop left, from the whole detector's,
                                  along u and v. The volume's slices are those of the rows left. */
} TdGeometry;

void td_geometry_init_parallel (TdGeometry *geometry);
/* Whether the file proposes a volume: its voxels and how many of them each way. */
gboolean td_geometry_has_volume (const TdGeometry *geometry);
/* Whether the axis runs rather along a cone's detector rows than along its columns. */
gboolean td_geometry_lies_on_side (const TdGeometry *geometry);
void td_geometry_copy (TdGeometry *to, const TdGeometry *from); /* to is overwritten, not freed */
/* What the geometry is when frames of @n_columns are turned by a quarter to the left: pixel (u, v)
   comes to (v, n_columns - 1 - u). */
void td_geometry_turn_image (TdGeometry *geometry, guint n_columns);
/* A cone beam by where its source, axis and detector's middle lie, in any frame. @u and @v are the
   directions of columns and rows, and @normal points away from the source. The pixels' sizes are
   known. FALSE: the axis is not between the others. */
gboolean td_geometry_place_cone (TdGeometry *geometry, const double source[3], const double axis[3],
                                 const double detector[3], const double u[3], const double v[3],
                                 const double normal[3]);
void td_geometry_clear (TdGeometry *geometry); /* frees the arrays, zeroes the rest */
