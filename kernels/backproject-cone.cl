/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cone-beam back-projection (the iFDK paper, Algorithms 2 and 4). One source, variants by defines:

     PACK     1: one view a texel; 2: views 180 degrees apart; 4: views 90 degrees apart. The view
              turned by 90 degrees sees the voxel turned by 90 degrees at the same (u, v), so that one
              fetch serves PACK voxels.
     TEXTURE  1: layered textures, hardware filtering; 0: loads and arithmetic in single precision
     VOXELS   voxels along z a thread holds in registers
     X_LANES, Z_LANES, GROUP: how a group's threads lie (upright, textures)
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

#include "cone-common.h"

#if !TEXTURE
/* Projections as [view][row][column] with a pixel's width of zeros on every side, so that clamped
   indices read zeros instead of needing tests. */
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
/* Upright, textures: PACK turned voxels and VOXELS slices a thread. Layer l holds views l, l + 90 (or
   180) degrees, …; fetching it where a turned voxel lies gives the turned set in rotated order. A group
   is X_LANES x (GROUP / X_LANES / Z_LANES) x Z_LANES threads, z fastest. */
TD_KERNEL void TD_GROUP_SIZE (GROUP, 1, 1)
cone_backproject (TD_ITEM TD_TEXTURE_LAYERS projections,
                  const TD_GLOBAL float4 *TD_RESTRICT matrices, TD_GLOBAL float *TD_RESTRICT volume,
                  TdConeProject p, int first_layer)
{
  const int lane = td_local_x ();
  const int i = td_group_x () * X_LANES + lane / Z_LANES % X_LANES;
  const int j = td_group_y () * (GROUP / X_LANES / Z_LANES) + lane / Z_LANES / X_LANES;
  const int k0 = td_group_z () * (VOXELS * Z_LANES) + lane % Z_LANES;
  const float x = p.x_first + (float) i, y = p.y_first - (float) j;
  const float z = p.z_first - (float) (p.slice0 + k0);
  Texel sums[VOXELS];

  /* The computed quarter (half) of the slice; its turned copies cover the rest. */
  if (i >= p.x_count || j >= p.y_count)
    return;
  TD_UNROLL
  for (int k = 0; k < VOXELS; k++)
    sums[k] = ZERO;

  for (int layer = first_layer; layer < p.n_layers; layer++) {
    TD_UNROLL
    for (int turn = 0; turn < PACK; turn++) {
      const float2 place = turned (turn, x, y);
      const Aim a = aim (matrices + 3 * layer, place.x, place.y, z);
      const float weight = a.inverse * a.inverse;
      const float u = a.u + p.u_middle + 0.5f, v = a.v + p.v_middle + 0.5f;
      TD_UNROLL
      for (int k = 0; k < VOXELS; k++)
        sums[k] += weight * from_turned (turn, FETCH (projections, u,
                                                      td_mad ((float) (k * Z_LANES), a.dv, v), layer));
    }
  }
  TD_UNROLL
  for (int k = 0; k < VOXELS; k++)
    if (k0 + k * Z_LANES < p.n_slices)
      store (volume, i, j, k0 + k * Z_LANES, sums[k], p);
}

#else
/* Upright, arithmetic, few slices (cone-columns.cl does many): along z the thread keeps the two blended detector rows around v and loads a new
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
