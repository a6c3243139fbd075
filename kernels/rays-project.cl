/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forward projection: line integrals of a volume, and how far they are from what was measured. */
#include "rays-common.h"

/* A ray as planes along its steepest axis see it: at from + plane step along the others, and within
   the volume on planes low … high. */
typedef struct {
  float from_b, step_b, from_c, step_c, low, high;
  float plane; /* its length from plane to plane */
  int any;     /* it is steepest along the axis, and passes the volume */
} RayPath;

TD_FN RayPath
rays_path (TD_IN (float) view, float u, float v, int axis, int counted, const TdRays p)
{
  const int b = axis == 0 ? 1 : 0, c = axis == 2 ? 1 : 2;
  const float x = ray_direction (view, 0, u, v), y = ray_direction (view, 1, u, v);
  const float z = ray_direction (view, 2, u, v);
  const int mine = (ray_axis (x, y, z) == axis) & counted;
  const float inverse = 1.0f / (mine ? (axis == 0 ? x : axis == 1 ? y : z) : 1.0f);
  const float a = ray_point (view, axis, u, v);
  float low = 0, high = (float) ((axis == 0 ? p.nx : axis == 1 ? p.ny : p.nz) - 1);
  RayPath path;

  path.step_b = mine ? (b == 0 ? x : y) * inverse : 0.0f;
  path.step_c = mine ? (c == 1 ? y : z) * inverse : 0.0f;
  path.from_b = mine ? ray_point (view, b, u, v) - a * path.step_b : -1.0f;
  path.from_c = mine ? ray_point (view, c, u, v) - a * path.step_c : -1.0f;
  rays_clip (path.from_b, path.step_b, axis == 0 ? p.ny : p.nx, &low, &high);
  rays_clip (path.from_c, path.step_c, axis == 2 ? p.ny : p.nz, &low, &high);
  path.low = -td_floor (-low);
  path.high = td_floor (high);
  path.plane = p.voxel_mm * td_sqrt (x * x + y * y + z * z) * td_abs (inverse);
  path.any = mine & (path.low <= path.high);
  return path;
}

/* Rows of one detector column: so many from row on. */
typedef struct {
  float u, row;
  int n;
} RayLanes;

/* Adds what the rays of @lanes that are steepest along @axis see, and how long they are in the
   volume. */
TD_FN void
rays_walk (TD_IN (float) volume, TD_IN (float) view, const RayLanes lanes, const TdRays p, int axis,
           float *sum, float *length)
{
  const int n_a = axis == 0 ? p.nx : axis == 1 ? p.ny : p.nz;
  const int n_b = axis == 0 ? p.ny : p.nx, n_c = axis == 2 ? p.ny : p.nz;
  const int stride_a = axis == 0 ? p.stride_x : axis == 1 ? p.stride_y : 1;
  const int stride_b = axis == 0 ? p.stride_y : p.stride_x, stride_c = axis == 2 ? p.stride_y : 1;
  float from_b[TD_LANES], step_b[TD_LANES], from_c[TD_LANES], step_c[TD_LANES], plane[TD_LANES];
  float part[TD_LANES], lows[TD_LANES], highs[TD_LANES];

  for (int k = 0; k < TD_LANES; k++) {
    const RayPath path = rays_path (view, lanes.u, lanes.row + (float) k - p.v_middle, axis,
                                    k < lanes.n, p);

    from_b[k] = path.from_b;
    step_b[k] = path.step_b;
    from_c[k] = path.from_c;
    step_c[k] = path.step_c;
    plane[k] = path.plane;
    part[k] = 0;
    length[k] += path.any ? (path.high - path.low + 1) * path.plane : 0.0f;
    lows[k] = path.any ? path.low : (float) n_a;
    highs[k] = path.any ? path.high : -1.0f;
  }
  int first = n_a, last = -1;
  for (int k = 0; k < TD_LANES; k++) {
    first = td_min (first, (int) lows[k]);
    last = td_max (last, (int) highs[k]);
  }
  for (int i = first; i <= last; i++) {
    const TD_GLOBAL float *at = volume + p.base + (size_t) i * stride_a;

    for (int k = 0; k < TD_LANES; k++) {
      /* From the border on there are zeros. */
      const float at_b
          = ray_min (ray_max (td_mad ((float) i, step_b[k], from_b[k]), -1.0f), (float) n_b);
      const float at_c
          = ray_min (ray_max (td_mad ((float) i, step_c[k], from_c[k]), -1.0f), (float) n_c);
      const int whole_b = (int) (at_b + 1.0f) - 1, whole_c = (int) (at_c + 1.0f) - 1;
      const float rest_b = at_b - (float) whole_b, rest_c = at_c - (float) whole_c;
      const int index = whole_b * stride_b + whole_c * stride_c;
      const float near = td_mad (rest_c, at[index + stride_c] - at[index], at[index]);
      const float far = td_mad (rest_c, at[index + stride_b + stride_c] - at[index + stride_b],
                                at[index + stride_b]);
      part[k] += td_mad (rest_b, far - near, near);
    }
  }
  for (int k = 0; k < TD_LANES; k++)
    sum[k] += part[k] * plane[k];
}

/* out [place][column][row]: integrals. Where there is @measured, out is their difference to it,
   divided by the ray's length in the volume. @misfit then gets the square of the difference. x:
   rows, y: columns, z: places. */
TD_KERNEL void
rays_project (TD_ITEM TD_IN (float) volume,
              /* [place][column][row] */
              TD_IN (float) table, TD_IN (float) measured,
              TD_OUT (float) out, TD_OUT (float) misfit, TdRays p)
{
  const int row = td_global_x () * TD_LANES, column = td_global_y () + p.first;
  const int place = td_global_z ();
  const int lanes = td_min (p.n_rows - row, TD_LANES);
  float sum[TD_LANES], length[TD_LANES];

  if (lanes <= 0 || column >= p.end || place >= p.n_views)
    return;
  const TD_GLOBAL float *view = table + (size_t) (p.first_view + place) * TD_RAY_FLOATS;
  for (int k = 0; k < TD_LANES; k++)
    sum[k] = length[k] = 0;
  for (int axis = 0; axis < 3; axis++)
    if (p.axes >> axis & 1) {
      const RayLanes rows = { (float) column - p.u_middle, (float) row, lanes };
      if (axis == 0)
        rays_walk (volume, view, rows, p, 0, sum, length);
      else if (axis == 1)
        rays_walk (volume, view, rows, p, 1, sum, length);
      else
        rays_walk (volume, view, rows, p, 2, sum, length);
    }
  const size_t line = ((size_t) place * p.n_columns + column) * p.n_rows + row;
  const size_t there = ((size_t) (p.first_view - p.held_view + place) * p.n_columns + column)
      * p.n_rows + row;
  for (int k = 0; k < lanes; k++) {
    if (!p.compare) {
      out[line + k] = sum[k];
      continue;
    }
    out[line + k] = rays_off (measured[there + k], sum[k], length[k], p, misfit + line + k);
  }
}

/* The same where the integrals are known already, in @out. x: rows, y: columns, z: places. */
TD_KERNEL void
rays_differ (TD_ITEM TD_IN (float) table, TD_IN (float) measured, TD_OUT (float) out,
             TD_OUT (float) misfit, TdRays p)
{
  const int row = td_global_x (), column = td_global_y () + p.first, place = td_global_z ();

  if (row >= p.n_rows || column >= p.end || place >= p.n_views)
    return;
  const TD_GLOBAL float *view = table + (size_t) (p.first_view + place) * TD_RAY_FLOATS;
  const size_t line = ((size_t) place * p.n_columns + column) * p.n_rows + row;
  const size_t there = ((size_t) (p.first_view - p.held_view + place) * p.n_columns + column)
      * p.n_rows + row;
  float length = 0;

  for (int axis = 0; axis < 3; axis++) {
    const RayPath path
        = rays_path (view, (float) column - p.u_middle, (float) row - p.v_middle, axis, 1, p);
    length += path.any ? (path.high - path.low + 1) * path.plane : 0.0f;
  }
  out[line] = rays_off (measured[there], out[line], length, p, misfit + line);
}
