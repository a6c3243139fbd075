/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cone-beam back-projection (the iFDK paper, Algorithms 2 and 4). One source, variants by defines:

     PACK     1: one view a texel; 2: views 180 degrees apart; 4: views 90 degrees apart. The view
              turned by 90 degrees sees the voxel turned by 90 degrees at the same (u, v), so that one
              fetch serves PACK voxels.
     TEXTURE  1: layered textures, hardware filtering; 0: loads and arithmetic in single precision
     VOXELS   voxels along z a thread holds in registers
     GENERAL  1: u, v and w for every voxel (tilted detectors); 0: upright, u and w constant along z

   Coordinates are voxels from the axis; the matrices map them to detector pixels from (u_middle,
   v_middle), which keeps the numbers small, and are scaled so that 1 / w^2 is the view's weight. */
#ifndef PACK
#define PACK 1
#endif
#ifndef TEXTURE
#define TEXTURE 0
#endif
#ifndef VOXELS
#define VOXELS 8
#endif
#ifndef GENERAL
#define GENERAL 0
#endif

#if PACK == 1
typedef float Texel;
#define ZERO 0.0f
#define FETCH td_layer1_linear
#elif PACK == 2
typedef float2 Texel;
#define ZERO td_float2 (0.0f, 0.0f)
#define FETCH td_layer2_linear
#else
typedef float4 Texel;
#define ZERO td_float4 (0.0f, 0.0f, 0.0f, 0.0f)
#define FETCH td_layer4_linear
#endif

/* A view's matrix applied to (x, y), before z: numerators and 1 / w. */
typedef struct {
  float u, v, dv, inverse;
} Aim;

TD_FN Aim
aim (const TD_GLOBAL float4 *matrix, float x, float y, float z)
{
  const float4 mu = matrix[0], mv = matrix[1], mw = matrix[2];
  Aim a;

  a.inverse = 1.0f / td_mad (mw.x, x, td_mad (mw.y, y, mw.w));
  a.u = td_mad (mu.x, x, td_mad (mu.y, y, mu.w)) * a.inverse;
  a.v = td_mad (mv.x, x, td_mad (mv.y, y, td_mad (mv.z, z, mv.w))) * a.inverse;
  a.dv = -mv.z * a.inverse;
  return a;
}

#if !TEXTURE
/* Projections as [view][row][column] with a pixel's width of zeros on every side, so that clamped
   indices read zeros instead of needing tests. */
TD_FN float
load (const TD_GLOBAL float *view, int row, int column, TdConeProject p)
{
  return view[(size_t) row * p.pitch + column];
}

TD_FN float
blend (const TD_GLOBAL float *line, int row, float f, TdConeProject p)
{
  const TD_GLOBAL float *at = line + (size_t) row * p.pitch;
  return td_mad (f, at[1] - at[0], at[0]);
}
#endif

#if GENERAL
/* Any geometry, one voxel a thread: the plain loop of Algorithm 2. */
TD_KERNEL void
cone_backproject (TD_ITEM
#if TEXTURE
                  TD_TEXTURE_LAYERS projections,
#else
                  const TD_GLOBAL float *TD_RESTRICT projections,
#endif
                  const TD_GLOBAL float4 *TD_RESTRICT matrices, TD_GLOBAL float *TD_RESTRICT volume,
                  TdConeProject p)
{
  const int i = td_global_x (), j = td_global_y (), k = td_global_z ();
  const float x = p.x_first + (float) i, y = p.y_first - (float) j;
  const float z = p.z_first - (float) (p.slice0 + k);
  float sum = 0.0f;

  if (i >= p.nx || j >= p.ny || k >= p.n_slices)
    return;
  for (int view = 0; view < p.n_layers; view++) {
    const float4 mu = matrices[3 * view], mv = matrices[3 * view + 1], mw = matrices[3 * view + 2];
    const float w = td_mad (mw.x, x, td_mad (mw.y, y, td_mad (mw.z, z, mw.w)));
    const float inverse = 1.0f / w;
    const float u = td_mad (mu.x, x, td_mad (mu.y, y, td_mad (mu.z, z, mu.w))) * inverse + p.u_middle;
    const float v = td_mad (mv.x, x, td_mad (mv.y, y, td_mad (mv.z, z, mv.w))) * inverse + p.v_middle;

    if (!(w > 0.0f))
      continue;
#if TEXTURE
    sum += inverse * inverse * td_layer1_linear (projections, u + 0.5f, v + 0.5f, view);
#else
    if (!(u > -1.0f && v > -1.0f && u < (float) p.n_columns && v < (float) p.n_rows))
      continue;
    const float u0 = td_floor (u), v0 = td_floor (v);
    const TD_GLOBAL float *line = projections + (size_t) view * p.view_stride + p.pitch + 1 + (int) u0;
    const float a = blend (line, (int) v0, u - u0, p), b = blend (line, (int) v0 + 1, u - u0, p);
    sum += inverse * inverse * td_mad (v - v0, b - a, a);
#endif
  }
  volume[((size_t) k * p.ny + j) * p.nx + i] += sum;
}

#elif TEXTURE
/* Adds a thread's sums to (i, j) and its turned copies. */
TD_FN void
store (TD_GLOBAL float *volume, int i, int j, int k, Texel sum, TdConeProject p)
{
  const size_t slice = (size_t) p.ny * p.nx;
  TD_GLOBAL float *at = volume + k * slice;

#if PACK == 1
  at[(size_t) j * p.nx + i] += sum;
#elif PACK == 2
  at[(size_t) j * p.nx + i] += sum.x;
  at[(size_t) (p.ny - 1 - j) * p.nx + (p.nx - 1 - i)] += sum.y;
#else
  /* (x, y) -> (-y, x) a quarter turn; rows count downwards, so (i, j) -> (j, n - 1 - i). */
  const int n = p.nx - 1;
  at[(size_t) j * p.nx + i] += sum.x;
  at[(size_t) (n - i) * p.nx + j] += sum.y;
  at[(size_t) (n - j) * p.nx + (n - i)] += sum.z;
  at[(size_t) i * p.nx + (n - j)] += sum.w;
#endif
}

/* Upright, textures: PACK turned voxels and VOXELS slices a thread. Layer l holds views l, l + 90 (or
   180) degrees, …; fetching it where a turned voxel lies gives the turned set in rotated order. */
TD_KERNEL void
cone_backproject (TD_ITEM TD_TEXTURE_LAYERS projections,
                  const TD_GLOBAL float4 *TD_RESTRICT matrices, TD_GLOBAL float *TD_RESTRICT volume,
                  TdConeProject p)
{
  const int i = td_global_x (), j = td_global_y (), k0 = td_global_z () * VOXELS;
  const float x = p.x_first + (float) i, y = p.y_first - (float) j;
  const float z = p.z_first - (float) (p.slice0 + k0);
  Texel sums[VOXELS];

  /* The computed quarter (half) of the slice; its turned copies cover the rest. */
  if (i >= p.x_count || j >= p.y_count)
    return;
  TD_UNROLL
  for (int k = 0; k < VOXELS; k++)
    sums[k] = ZERO;

  for (int layer = 0; layer < p.n_layers; layer++) {
    const TD_GLOBAL float4 *matrix = matrices + 3 * layer;
    TD_UNROLL
    for (int turn = 0; turn < PACK; turn++) {
#if PACK == 4
      const Aim a = aim (matrix, turn == 0 ? x : turn == 1 ? -y : turn == 2 ? -x : y,
                         turn == 0 ? y : turn == 1 ? x : turn == 2 ? -y : -x, z);
#else
      const Aim a = aim (matrix, turn == 0 ? x : -x, turn == 0 ? y : -y, z);
#endif
      const float weight = a.inverse * a.inverse;
      const float u = a.u + p.u_middle + 0.5f, v = a.v + p.v_middle + 0.5f;
      TD_UNROLL
      for (int k = 0; k < VOXELS; k++) {
        const Texel t = FETCH (projections, u, td_mad ((float) k, a.dv, v), layer);
#if PACK == 1
        sums[k] += weight * t;
#elif PACK == 2
        sums[k].x += weight * (turn == 0 ? t.x : t.y);
        sums[k].y += weight * (turn == 0 ? t.y : t.x);
#else
        /* Channel c fetched at the voxel turned m times belongs to the voxel turned c + m times. */
        sums[k].x += weight * (turn == 0 ? t.x : turn == 1 ? t.w : turn == 2 ? t.z : t.y);
        sums[k].y += weight * (turn == 0 ? t.y : turn == 1 ? t.x : turn == 2 ? t.w : t.z);
        sums[k].z += weight * (turn == 0 ? t.z : turn == 1 ? t.y : turn == 2 ? t.x : t.w);
        sums[k].w += weight * (turn == 0 ? t.w : turn == 1 ? t.z : turn == 2 ? t.y : t.x);
#endif
      }
    }
  }
  TD_UNROLL
  for (int k = 0; k < VOXELS; k++)
    if (k0 + k < p.n_slices)
      store (volume, i, j, k0 + k, sums[k], p);
}

#else
/* Upright, arithmetic: along z the thread keeps the two blended detector rows around v and loads a new
   one only when v passes a row: two loads an update instead of four. */
TD_KERNEL void
cone_backproject (TD_ITEM const TD_GLOBAL float *TD_RESTRICT projections,
                  const TD_GLOBAL float4 *TD_RESTRICT matrices, TD_GLOBAL float *TD_RESTRICT volume,
                  TdConeProject p)
{
  const int i = td_global_x (), j = td_global_y (), k0 = td_global_z () * VOXELS;
  const float x = p.x_first + (float) i, y = p.y_first - (float) j;
  const float z = p.z_first - (float) (p.slice0 + k0);
  const float last = (float) p.n_rows;
  float sums[VOXELS];

  if (i >= p.nx || j >= p.ny)
    return;
  TD_UNROLL
  for (int k = 0; k < VOXELS; k++)
    sums[k] = 0.0f;

  for (int view = 0; view < p.n_layers; view++) {
    const Aim a = aim (matrices + 3 * view, x, y, z);
    const float weight = a.inverse * a.inverse;
    const float u = a.u + p.u_middle, v = a.v + p.v_middle;

    if (!(u > -1.0f && u < (float) p.n_columns))
      continue;
    const float u0 = td_floor (u), f = u - u0;
    const TD_GLOBAL float *line = projections + (size_t) view * p.view_stride + p.pitch + 1 + (int) u0;
    int row = -3;
    float upper = 0.0f, lower = 0.0f;
    TD_UNROLL
    for (int k = 0; k < VOXELS; k++) {
      const float at = td_fmin (td_fmax (td_mad ((float) k, a.dv, v), -1.0f), last);
      const float whole = td_floor (at);
      const int now = (int) whole;
      if (now != row) {
        upper = now == row + 1 ? lower : blend (line, now, f, p);
        lower = blend (line, now + 1, f, p);
        row = now;
      }
      sums[k] = td_mad (weight, td_mad (at - whole, lower - upper, upper), sums[k]);
    }
  }
  TD_UNROLL
  for (int k = 0; k < VOXELS; k++)
    if (k0 + k < p.n_slices)
      volume[((size_t) (k0 + k) * p.ny + j) * p.nx + i] += sums[k];
}
#endif
