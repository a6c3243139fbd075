/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "phantom-private.h"

static void
project_tilted (const TdPhantomSource *source, double angle, guint row, float *out)
{
  double tilt = source->spec.tilt_deg * G_PI / 180, c = cos (tilt), s = sin (tilt);
  double down = row - td_phantom_middle (source->spec.n_rows);

  for (guint u = 0; u < source->spec.n_columns; u++) {
    double right = u - source->centre_px;
    double across = right * c - down * s, along = -(right * s + down * c);
    out[u] = source->unit_px
             * td_phantom_parallel_ray (source->phantom, angle, across / source->unit_px,
                                        along / source->unit_px);
  }
}

/* Turns the detector's frame (u, v, beam) about its own axes, in that order. */
static void
tilt_frame (double frame[3][3], const double tilt_rad[3])
{
  for (guint axis = 0; axis < 3; axis++) {
    double c = cos (tilt_rad[axis]), s = sin (tilt_rad[axis]);
    double *a = frame[(axis + 1) % 3], *b = frame[(axis + 2) % 3];
    for (guint k = 0; k < 3; k++) {
      double ak = a[k], bk = b[k];
      a[k] = c * ak + s * bk;
      b[k] = c * bk - s * ak;
    }
  }
}

static void
project_cone (const TdPhantomSource *source, double angle, guint row, float *out)
{
  const TdPhantomScan *spec = &source->spec;
  const TdGeometry *g = &spec->geometry;
  double unit_mm = source->unit_px * source->voxel_mm;
  double c = cos (angle), s = sin (angle);
  double frame[3][3] = { { c, s, 0 }, { 0, 0, -1 }, { -s, c, 0 } };
  double from[3], foot[3], to[3];

  for (guint k = 0; k < 3; k++) {
    from[k] = (-g->axis_offset_mm * frame[0][k] - g->source_axis_mm * frame[2][k]) / unit_mm;
    foot[k] = from[k] + g->source_detector_mm * frame[2][k] / unit_mm;
  }
  tilt_frame (frame, g->detector_tilt_rad);

  double down_mm = (row - td_phantom_middle (spec->n_rows) - g->detector_offset_v_px) * g->pixel_height_mm;
  for (guint u = 0; u < spec->n_columns; u++) {
    double right_mm = (u - td_phantom_middle (spec->n_columns) - g->detector_offset_u_px) * g->pixel_width_mm;
    for (guint k = 0; k < 3; k++)
      to[k] = foot[k] + (right_mm * frame[0][k] + down_mm * frame[1][k]) / unit_mm;
    out[u] = source->unit_px * td_phantom_ray (source->phantom, from, to);
  }
}

void
td_phantom_rays (const TdPhantomSource *source, guint view, guint row, float *out)
{
  const TdPhantomScan *spec = &source->spec;
  double angle = source->angles_rad[view];

  if (td_phantom_is_cone (spec))
    project_cone (source, angle, row, out);
  else if (spec->tilt_deg != 0)
    project_tilted (source, angle, row, out);
  else
    td_phantom_project_line (source->phantom, source->unit_px, td_phantom_middle (spec->n_rows) - row,
                             spec->n_columns, angle, source->centre_px, out);
  for (guint u = 0; u < spec->n_columns; u++)
    out[u] *= source->attenuation_px;
}
