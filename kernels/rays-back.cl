/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Back-projection with the weights of rays-project.cl: for each voxel the rays that sample it. */
#include "rays-common.h"

/* What becomes of a voxel: the sum itself, or the volume moved by the weighted mean. */
TD_FN void
rays_finish (TD_GLOBAL float *TD_RESTRICT volume, const TdRays p, const float *sum, const float *weight,
             int lanes)
{
  for (int k = 0; k < lanes; k++) {
    if (!p.compare) {
      volume[k] = sum[k];
      continue;
    }
    const float moved
        = volume[k] + (weight[k] > 0 ? p.relaxation * sum[k] / weight[k] : 0.0f);
    volume[k] = p.non_negative ? td_fmax (moved, 0.0f) : moved;
  }
}

/* Columns [*first, *last] of rays that a voxel of (x, y) may lie on, in an upright view. */
TD_FN void
rays_columns (const TD_GLOBAL float *view, float x, float y, const TdRays p, int *first, int *last)
{
  float low = 1e9f, high = -1e9f;

  for (int corner = 0; corner < 4; corner++) {
    const float cx = x + (corner == 0 ? 1.0f : corner == 1 ? -1.0f : 0.0f);
    const float cy = y + (corner == 2 ? 1.0f : corner == 3 ? -1.0f : 0.0f);
    const float u = td_mad (view[0], cx, td_mad (view[1], cy, view[3]))
                    / td_mad (view[8], cx, td_mad (view[9], cy, view[11]));
    low = td_fmin (low, u);
    high = td_fmax (high, u);
  }
  *first = (int) td_fmax (-td_floor (-(low + p.u_middle)), 0.0f);
  *last = (int) td_fmin (td_floor (high + p.u_middle), (float) (p.n_columns - 1));
}

/* Upright views: a column's rays lie in one upright plane, so the distance of the voxel from that and the
   spacing of the rays along z are the column's. x: z, y: x, z: y. */
TD_KERNEL void
rays_back_upright (TD_ITEM const TD_GLOBAL float *TD_RESTRICT lines, const TD_GLOBAL float *TD_RESTRICT table,
                   TD_GLOBAL float *TD_RESTRICT volume, TdRays p)
{
  const int z = td_global_x () * TD_LANES, x = td_global_y (), y = td_global_z () + p.first;
  float sum[TD_LANES], weight[TD_LANES];

  if (z >= p.nz || x >= p.nx || y >= p.end)
    return;
  for (int k = 0; k < TD_LANES; k++)
    sum[k] = weight[k] = 0;
  for (int place = 0; place < p.n_views; place++) {
    const TD_GLOBAL float *view = table + (size_t) (p.first_view + place) * TD_RAY_FLOATS;
    int first, last;

    rays_columns (view, (float) x, (float) y, p, &first, &last);
    for (int column = first; column <= last; column++) {
      const float u = (float) column - p.u_middle;
      const float dx = ray_direction (view, 0, u, 0.0f), dy = ray_direction (view, 1, u, 0.0f);
      const int along_x = td_abs (dx) >= td_abs (dy);
      const float inverse = 1.0f / (along_x ? dx : dy);
      const float at_a = ray_point (view, along_x ? 0 : 1, u, 0.0f);
      const float at_b = ray_point (view, along_x ? 1 : 0, u, 0.0f);
      const float t = ((float) (along_x ? x : y) - at_a) * inverse;
      const float aside
          = 1.0f - td_abs (td_mad (t, along_x ? dy : dx, at_b) - (float) (along_x ? y : x));
      if (aside <= 0)
        continue;
      const float dz = ray_direction (view, 2, u, 0.0f), turn = view[24] * view[20];
      const float z0 = td_mad (t, dz, ray_point (view, 2, u, 0.0f)), dz_row = td_mad (t, turn, view[20]);
      const float rows = 1.0f / dz_row, reach = td_abs (rows);
      const int count = (int) (2.0f * reach) + 1;
      const float scale = aside * p.voxel_mm * td_abs (inverse), level = dx * dx + dy * dy;
      const TD_GLOBAL float *line = lines + ((size_t) place * p.n_columns + column) * p.n_rows;

      for (int m = 0; m < count; m++)
        for (int k = 0; k < TD_LANES; k++) {
          const float here = (float) (z + k);
          const float near = td_mad (here - z0, rows, p.v_middle - reach);
          /* Far beyond the detector is as good as just beyond, and fits an int. */
          const float row = -td_floor (-td_fmin (td_fmax (near, -4.0f), (float) p.n_rows)) + (float) m;
          const int inside = (row >= 0.0f) & (row < (float) p.n_rows);
          const float v = row - p.v_middle, slope = td_mad (v, turn, dz);
          const float w = td_fmax (1.0f - td_abs (td_mad (v, dz_row, z0) - here), 0.0f) * scale
                          * td_sqrt (td_mad (slope, slope, level));
          const float counted = inside ? w : 0.0f;

          sum[k] += counted * line[inside ? (int) row : 0];
          weight[k] += counted;
        }
    }
  }
  rays_finish (volume + ray_voxel (p, x, y, z), p, sum, weight, td_min (p.nz - z, TD_LANES));
}

/* Where the voxels within one of (x, y, z) in the planes along @axis project to. */
TD_FN void
rays_shadow (const TD_GLOBAL float *view, float x, float y, float z, int axis, float *u_low, float *u_high,
             float *v_low, float *v_high)
{
  const int b = axis == 0 ? 1 : 0, c = axis == 2 ? 1 : 2;
  const float u = td_mad (view[0], x, td_mad (view[1], y, td_mad (view[2], z, view[3])));
  const float v = td_mad (view[4], x, td_mad (view[5], y, td_mad (view[6], z, view[7])));
  const float w = td_mad (view[8], x, td_mad (view[9], y, td_mad (view[10], z, view[11])));

  for (int corner = 0; corner < 4; corner++) {
    const float e = corner & 1 ? 1.0f : -1.0f, f = corner & 2 ? 1.0f : -1.0f;
    const float inverse = 1.0f / (w + e * view[8 + b] + f * view[8 + c]);
    const float at_u = (u + e * view[b] + f * view[c]) * inverse;
    const float at_v = (v + e * view[4 + b] + f * view[4 + c]) * inverse;

    *u_low = td_fmin (*u_low, at_u);
    *u_high = td_fmax (*u_high, at_u);
    *v_low = td_fmin (*v_low, at_v);
    *v_high = td_fmax (*v_high, at_v);
  }
}

/* The weight of pixel (u, v)'s ray for voxel (x, y, z). */
TD_FN float
rays_weight (const TD_GLOBAL float *view, float u, float v, float x, float y, float z, float voxel_mm)
{
  const float dx = ray_direction (view, 0, u, v), dy = ray_direction (view, 1, u, v);
  const float dz = ray_direction (view, 2, u, v);
  const int axis = ray_axis (dx, dy, dz);
  const float inverse = 1.0f / (axis == 0 ? dx : axis == 1 ? dy : dz);
  const float off_x = x - ray_point (view, 0, u, v), off_y = y - ray_point (view, 1, u, v);
  const float off_z = z - ray_point (view, 2, u, v);
  const float t = (axis == 0 ? off_x : axis == 1 ? off_y : off_z) * inverse;
  const float x_off = 1.0f - td_abs (axis == 0 ? 0.0f : off_x - t * dx);
  const float y_off = 1.0f - td_abs (axis == 1 ? 0.0f : off_y - t * dy);
  const float z_off = 1.0f - td_abs (axis == 2 ? 0.0f : off_z - t * dz);

  return td_fmax (x_off, 0.0f) * td_fmax (y_off, 0.0f) * td_fmax (z_off, 0.0f) * voxel_mm
         * td_abs (inverse) * td_sqrt (dx * dx + dy * dy + dz * dz);
}

/* Any views. */
TD_KERNEL void
rays_back (TD_ITEM const TD_GLOBAL float *TD_RESTRICT lines, const TD_GLOBAL float *TD_RESTRICT table,
           TD_GLOBAL float *TD_RESTRICT volume, TdRays p)
{
  const int z = td_global_x () * TD_LANES, x = td_global_y (), y = td_global_z () + p.first;
  float sum[TD_LANES], weight[TD_LANES], row0[TD_LANES];

  if (z >= p.nz || x >= p.nx || y >= p.end)
    return;
  for (int k = 0; k < TD_LANES; k++)
    sum[k] = weight[k] = 0;
  for (int place = 0; place < p.n_views; place++) {
    const TD_GLOBAL float *view = table + (size_t) (p.first_view + place) * TD_RAY_FLOATS;
    float first = 1e9f, last = -1e9f, most = 0;

    for (int k = 0; k < TD_LANES; k++) {
      float low = 1e9f, high = -1e9f;

      for (int axis = 0; axis < 3; axis++)
        if (p.axes >> axis & 1)
          rays_shadow (view, (float) x, (float) y, (float) (z + k), axis, &first, &last, &low, &high);
      row0[k] = td_fmin (td_fmax (-td_floor (-(low + p.v_middle)), -1.0f), (float) p.n_rows);
      most = td_fmax (most, td_floor (high + p.v_middle) - row0[k] + 1);
    }
    const int column0 = (int) td_fmax (-td_floor (-(first + p.u_middle)), 0.0f);
    const int column1 = (int) td_fmin (td_floor (last + p.u_middle), (float) (p.n_columns - 1));
    const int count = (int) td_fmin (most, (float) p.n_rows + 1.0f);

    for (int column = column0; column <= column1; column++) {
      const TD_GLOBAL float *line = lines + ((size_t) place * p.n_columns + column) * p.n_rows;
      const float u = (float) column - p.u_middle;

      for (int m = 0; m < count; m++)
        for (int k = 0; k < TD_LANES; k++) {
          const float row = row0[k] + (float) m;
          const int inside = (row >= 0.0f) & (row < (float) p.n_rows);
          const float w = rays_weight (view, u, row - p.v_middle, (float) x, (float) y, (float) (z + k),
                                       p.voxel_mm);
          const float counted = inside ? w : 0.0f;

          sum[k] += counted * line[inside ? (int) row : 0];
          weight[k] += counted;
        }
    }
  }
  rays_finish (volume + ray_voxel (p, x, y, z), p, sum, weight, td_min (p.nz - z, TD_LANES));
}
