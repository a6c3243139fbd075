/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Back-projection with the weights of rays-project.cl: for each voxel the rays that sample it. */
#include "rays-common.h"

/* What becomes of an item's voxels, at most @most: the sum itself, or the volume moved by the
   weighted mean. */
TD_FN void
rays_finish (TD_GLOBAL float *volume, TD_GLOBAL float *weights, const TdRays p, const float *sum,
             const float *weight, int lanes, int most)
{
  RAY_UNROLL
  for (int k = 0; k < most; k++) {
    TD_GLOBAL float *at = volume + k;

    if (k >= lanes)
      continue;
    if (p.compare != TD_RAY_CORRECT) {
      *at = p.compare == TD_RAY_SUM ? sum[k] : *at + sum[k];
      if (p.compare == TD_RAY_ADD_BOTH)
        weights[k] += weight[k];
      continue;
    }
    const float moved = *at + (weight[k] > 0 ? p.relaxation * sum[k] / weight[k] : 0.0f);
    *at = p.non_negative ? ray_max (moved, 0.0f) : moved;
  }
}

#if TD_LANES > 1
/* Columns [*first, *last] of rays that a voxel of (x, y) may lie on, in an upright view. */
TD_FN void
rays_columns (const TD_GLOBAL float *view, float x, float y, const TdRays p, int *first, int *last)
{
  float low = 1e9f, high = -1e9f;

  for (int corner = 0; corner < 4; corner++) {
    const float cx = x + (corner == 0 ? 1.0f : corner == 1 ? -1.0f : 0.0f);
    const float cy = y + (corner == 2 ? 1.0f : corner == 3 ? -1.0f : 0.0f);
    const float u = td_mad (view[0], cx, td_mad (view[1], cy, view[3]))
                    * ray_reciprocal (td_mad (view[8], cx, td_mad (view[9], cy, view[11])));
    low = ray_min (low, u);
    high = ray_max (high, u);
  }
  *first = (int) ray_max (-td_floor (-(low + p.u_middle)), 0.0f);
  *last = (int) ray_min (td_floor (high + p.u_middle), (float) (p.n_columns - 1));
}

/* Upright views: a column's rays lie in one upright plane. How far the plane is from the voxel,
   where the rays pass it and how far apart they are, goes by column. The rest goes by row. */
typedef struct {
  float z0, dz_row;          /* ray v passes at z0 + v dz_row */
  float rows;                /* 1 / dz_row */
  float scale, level;        /* weight: scale * sqrt (level + slope^2), */
  float slope, slope_row;    /* slope + v slope_row */
} RayColumn;

/* FALSE: the column passes by. */
TD_FN int
rays_column (const TD_GLOBAL float *view, int column, int x, int y, const TdRays p, RayColumn *c)
{
  const float u = (float) column - p.u_middle;
  const float dx = ray_direction (view, 0, u, 0.0f), dy = ray_direction (view, 1, u, 0.0f);
  const int along_x = td_abs (dx) >= td_abs (dy);
  const float inverse = ray_reciprocal (along_x ? dx : dy);
  const float at_a = ray_point (view, along_x ? 0 : 1, u, 0.0f);
  const float at_b = ray_point (view, along_x ? 1 : 0, u, 0.0f);
  const float t = ((float) (along_x ? x : y) - at_a) * inverse;
  const float aside
      = 1.0f - td_abs (td_mad (t, along_x ? dy : dx, at_b) - (float) (along_x ? y : x));

  c->slope = ray_direction (view, 2, u, 0.0f);
  c->slope_row = view[24] * view[20];
  c->z0 = td_mad (t, c->slope, ray_point (view, 2, u, 0.0f));
  c->dz_row = td_mad (t, c->slope_row, view[20]);
  c->rows = ray_reciprocal (c->dz_row);
  c->scale = aside * p.voxel_mm * td_abs (inverse);
  c->level = dx * dx + dy * dy;
  return aside > 0;
}

/* An item takes a long piece of a column of voxels, and shares each row out to the two voxels that
   it passes between. The shares are computed in vectors, and added one by one. */

TD_FN void
rays_share (TD_IN (float) line, const RayColumn c, int z, const TdRays p, float *sum, float *weight)
{
  const float one = td_mad ((float) (z - 1) - c.z0, c.rows, p.v_middle);
  const float other = td_mad ((float) (z + TD_RAY_BACK_LANES) - c.z0, c.rows, p.v_middle);
  const float low = ray_max (ray_min (one, other), 0.0f);
  const float high = ray_min (ray_max (one, other), (float) (p.n_rows - 1));
  const int end = low <= high ? (int) high + 1 : 0;

  for (int row0 = low <= high ? (int) -td_floor (-low) : 0; row0 < end; row0 += TD_RAY_LANES) {
    float part[TD_RAY_LANES], share[TD_RAY_LANES];
    int place[TD_RAY_LANES];
    const int n = td_min (end - row0, TD_RAY_LANES);

    for (int k = 0; k < TD_RAY_LANES; k++) {
      const float v = (float) (row0 + k) - p.v_middle, slope = td_mad (v, c.slope_row, c.slope);
      const float at = td_mad (v, c.dz_row, c.z0) - (float) (z - 1);
      const float inside = ray_min (ray_max (at, 0.0f), (float) TD_RAY_BACK_LANES + 0.999f);

      place[k] = (int) inside;
      part[k] = inside - (float) place[k];
      share[k] = c.scale * td_sqrt (td_mad (slope, slope, c.level));
    }
    for (int k = 0; k < n; k++) {
      const float near = share[k] - part[k] * share[k], far = part[k] * share[k];
      const float value = line[row0 + k];

      weight[place[k]] += near;
      weight[place[k] + 1] += far;
      sum[place[k]] += near * value;
      sum[place[k] + 1] += far * value;
    }
  }
}

/* x: pieces of TD_RAY_BACK_LANES along z, y: x, z: y. GPUs have rays-upright.cl. */
TD_KERNEL void
rays_back_upright (TD_ITEM TD_IN (float) lines, TD_IN (float) table, TD_GLOBAL float *volume,
                   TD_GLOBAL float *weights, TdRays p)
{
  const int z = td_global_x () * TD_RAY_BACK_LANES;
  const int x = td_global_y (), y = td_global_z () + p.first;
  float sum[TD_RAY_BACK_LANES + 2], weight[TD_RAY_BACK_LANES + 2]; /* from the voxel before on */

  if (z >= p.nz || x >= p.nx || y >= p.end)
    return;
  for (int k = 0; k < TD_RAY_BACK_LANES + 2; k++)
    sum[k] = weight[k] = 0;
  for (int place = 0; place < p.n_views; place++) {
    const TD_GLOBAL float *view = table + (size_t) (p.first_view + place) * TD_RAY_FLOATS;
    int first, last;

    rays_columns (view, (float) x, (float) y, p, &first, &last);
    for (int column = first; column <= last; column++) {
      RayColumn c;
      if (rays_column (view, column, x, y, p, &c))
        rays_share (lines + ((size_t) place * p.n_columns + column) * p.n_rows, c, z, p, sum,
                    weight);
    }
  }
  rays_finish (volume + ray_voxel (p, x, y, z), weights + ray_voxel (p, x, y, z), p, sum + 1,
               weight + 1, p.nz - z, TD_RAY_BACK_LANES);
}
#endif

/* A part of the detector. */
typedef struct {
  float u_low, u_high, v_low, v_high;
} RayShadow;

/* Widens @shadow to where the voxels within one of (x, y, z) in the planes along @axis project
   to. */
TD_FN void
rays_shadow (const TD_GLOBAL float *view, float x, float y, float z, int axis, RayShadow *shadow)
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

    shadow->u_low = ray_min (shadow->u_low, at_u);
    shadow->u_high = ray_max (shadow->u_high, at_u);
    shadow->v_low = ray_min (shadow->v_low, at_v);
    shadow->v_high = ray_max (shadow->v_high, at_v);
  }
}

/* The weight of pixel (u, v)'s ray for voxel (x, y, z). */
TD_FN float
rays_weight (const TD_GLOBAL float *view, float u, float v, float x, float y, float z,
             float voxel_mm)
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

  return ray_max (x_off, 0.0f) * ray_max (y_off, 0.0f) * ray_max (z_off, 0.0f) * voxel_mm
         * td_abs (inverse) * td_sqrt (dx * dx + dy * dy + dz * dz);
}

/* Any views. */
TD_KERNEL void
rays_back (TD_ITEM TD_IN (float) lines, TD_IN (float) table, TD_GLOBAL float *volume,
           TD_GLOBAL float *weights, TdRays p)
{
  const int z = td_global_x () * TD_LANES, x = td_global_y (), y = td_global_z () + p.first;
  float sum[TD_LANES], weight[TD_LANES], row0[TD_LANES];

  if (z >= p.nz || x >= p.nx || y >= p.end)
    return;
  for (int k = 0; k < TD_LANES; k++)
    sum[k] = weight[k] = 0;
  for (int place = 0; place < p.n_views; place++) {
    const TD_GLOBAL float *view = table + (size_t) (p.first_view + place) * TD_RAY_FLOATS;
    RayShadow shadow = { 1e9f, -1e9f, 0.0f, 0.0f };
    float most = 0;

    for (int k = 0; k < TD_LANES; k++) {
      shadow.v_low = 1e9f;
      shadow.v_high = -1e9f;
      for (int axis = 0; axis < 3; axis++)
        if (p.axes >> axis & 1)
          rays_shadow (view, (float) x, (float) y, (float) (z + k), axis, &shadow);
      row0[k]
          = ray_min (ray_max (-td_floor (-(shadow.v_low + p.v_middle)), -1.0f), (float) p.n_rows);
      most = ray_max (most, td_floor (shadow.v_high + p.v_middle) - row0[k] + 1);
    }
    const int column0 = (int) ray_max (-td_floor (-(shadow.u_low + p.u_middle)), 0.0f);
    const int column1
        = (int) ray_min (td_floor (shadow.u_high + p.u_middle), (float) (p.n_columns - 1));
    const int count = (int) ray_min (most, (float) p.n_rows + 1.0f);

    for (int column = column0; column <= column1; column++) {
      const TD_GLOBAL float *line = lines + ((size_t) place * p.n_columns + column) * p.n_rows;
      const float u = (float) column - p.u_middle;

      for (int m = 0; m < count; m++)
        for (int k = 0; k < TD_LANES; k++) {
          const float row = row0[k] + (float) m;
          const int inside = (row >= 0.0f) & (row < (float) p.n_rows);
          const float w = rays_weight (view, u, row - p.v_middle, (float) x, (float) y,
                                       (float) (z + k), p.voxel_mm);
          const float counted = inside ? w : 0.0f;

          sum[k] += counted * line[inside ? (int) row : 0];
          weight[k] += counted;
        }
    }
  }
  rays_finish (volume + ray_voxel (p, x, y, z), weights + ray_voxel (p, x, y, z), p, sum, weight,
               td_min (p.nz - z, TD_LANES), TD_LANES);
}
