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
phantom_rays_tilt_frame (double frame[3][3], const double tilt_rad[3])
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

/* How a gantry that is not stiff moves: slow swings of different speeds, within the wobble. */
static void
phantom_rays_wobble (const TdPhantomScan *spec, double angle, double source[3], double foot[3],
                     double tilt_rad[3])
{
  const double width_mm = spec->n_columns * spec->geometry.pixel_width_mm, w = spec->wobble_mm;
  const double moves[2][3] = {
    { 0.7 * sin (2 * angle + 1), 0.6 * sin (angle), 0.5 * cos (3 * angle) },
    { 0.9 * sin (3 * angle), 0.5 * cos (2 * angle), 0.8 * cos (angle + 2) },
  };

  for (guint k = 0; k < 3; k++) {
    source[k] += w * moves[0][k];
    foot[k] += w * moves[1][k];
    tilt_rad[k] += w / width_mm * sin ((k + 1) * angle + k);
  }
}

void
td_phantom_view_vectors (const TdPhantomSource *source, guint view, double vectors[12])
{
  const TdPhantomScan *spec = &source->spec;
  const TdGeometry *g = &spec->geometry;
  double angle = source->angles_rad[view], c = cos (angle), s = sin (angle);
  double frame[3][3] = { { c, s, 0 }, { 0, 0, -1 }, { -s, c, 0 } };
  double foot[3], tilt_rad[3];

  for (guint k = 0; k < 3; k++) {
    vectors[k] = -g->axis_offset_mm * frame[0][k] - g->source_axis_mm * frame[2][k];
    foot[k] = vectors[k] + g->source_detector_mm * frame[2][k];
    tilt_rad[k] = g->detector_tilt_rad[k];
  }
  if (spec->wobble_mm > 0)
    phantom_rays_wobble (spec, angle, vectors, foot, tilt_rad);
  phantom_rays_tilt_frame (frame, tilt_rad);
  for (guint k = 0; k < 3; k++) {
    vectors[6 + k] = frame[0][k] * g->pixel_width_mm;
    vectors[9 + k] = frame[1][k] * g->pixel_height_mm;
    vectors[3 + k] = foot[k] - g->detector_offset_u_px * vectors[6 + k]
                     - g->detector_offset_v_px * vectors[9 + k];
  }
}

static void
project_cone (const TdPhantomSource *source, guint view, guint row, float *out)
{
  const TdPhantomScan *spec = &source->spec;
  double unit_mm = source->unit_px * source->voxel_mm,
         down = row - td_phantom_middle (spec->n_rows);
  double vectors[12], from[3], to[3];

  td_phantom_view_vectors (source, view, vectors);
  for (guint k = 0; k < 3; k++)
    from[k] = vectors[k] / unit_mm;
  for (guint u = 0; u < spec->n_columns; u++) {
    double right = u - td_phantom_middle (spec->n_columns);

    for (guint k = 0; k < 3; k++)
      to[k] = (vectors[3 + k] + right * vectors[6 + k] + down * vectors[9 + k]) / unit_mm;
    out[u] = source->unit_px * td_phantom_ray (source->phantom, from, to);
  }
}

void
td_phantom_rays (const TdPhantomSource *source, guint view, guint row, float *out)
{
  const TdPhantomScan *spec = &source->spec;
  double angle = source->angles_rad[view];

  if (td_phantom_is_cone (spec))
    project_cone (source, view, row, out);
  else if (spec->tilt_deg != 0)
    project_tilted (source, angle, row, out);
  else
    td_phantom_project_line (source->phantom, source->unit_px,
                             td_phantom_middle (spec->n_rows) - row, spec->n_columns, angle,
                             source->centre_px, out);
  for (guint u = 0; u < spec->n_columns; u++)
    out[u] *= source->attenuation_px;
}
