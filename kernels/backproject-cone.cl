/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cone-beam back-projection (the iFDK paper, Algorithms 2 and 4). One source, variants by defines:

     PACK     1: one view a texel; 2: views 180 degrees apart; 4: views 90 degrees apart. The view
              turned by 90 degrees sees the voxel turned by 90 degrees at the same (u, v), so that
              one fetch serves PACK voxels.
     TEXTURE  1: layered textures, hardware filtering; 0: loads and arithmetic in single precision
     VOXELS   voxels along z a thread holds in registers
     X_LANES, Z_LANES, GROUP: how a group's threads lie (upright, textures)
     RESIDENT groups a multiprocessor should hold at once
     GENERAL  1: u, v and w for every voxel (tilted detectors); 0: upright, u and w constant along z

   Coordinates are voxels from the axis. The matrices map them to detector pixels from (u_middle,
   v_middle), and are scaled so that 1 / w^2 is the view's weight. */
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
  return td_fma (f, at[1] - at[0], at[0]);
}
#endif

#if GENERAL
/* Any geometry, one voxel a thread: the plain loop of Algorithm 2. */
TD_KERNEL void
cone_backproject (TD_ITEM
#if TEXTURE
                  TD_TEXTURE_LAYERS projections,
#else
                  TD_IN (float) projections,
#endif
                  TD_IN (float4) matrices, TD_OUT (float) volume,
                  TdConeProject p)
{
  const int i = td_global_x (), j = td_global_y (), k = td_global_z ();
  const float x = p.x_first + (float) i, y = p.y_first - (float) j;
  const float z = p.z_first - (float) (p.slice0 + k);

  if (i >= p.nx || j >= p.ny || k >= p.n_slices)
    return;
  float sum = load (volume, i, j, k, p);
  for (int view = 0; view < p.n_layers; view++) {
    const float4 mu = matrices[3 * view], mv = matrices[3 * view + 1], mw = matrices[3 * view + 2];
    const float w = td_fma (mw.x, x, td_fma (mw.y, y, td_fma (mw.z, z, mw.w)));
    const float inverse = 1.0f / w, weight = inverse * inverse;
    const float u
        = td_fma (td_fma (mu.x, x, td_fma (mu.y, y, td_fma (mu.z, z, mu.w))), inverse, p.u_middle);
    const float v
        = td_fma (td_fma (mv.x, x, td_fma (mv.y, y, td_fma (mv.z, z, mv.w))), inverse, p.v_middle);

#if TEXTURE
    /* Fetched in any case: no branch, so that the loads of the next view need not wait. */
    const float value = td_layer1_linear (projections, u, v - (float) p.row0, view);
    sum = w > 0.0f ? td_fma (weight, value, sum) : sum;
#else
    if (!(w > 0.0f && u > -1.0f && u < (float) p.n_columns && v > (float) (p.row0 - 1)
          && v < (float) (p.row0 + p.n_rows)))
      continue;
    const float u0 = td_floor (u), v0 = td_floor (v);
    const int row = (int) v0 - p.row0;
    const TD_GLOBAL float *line = projections + (size_t) view * p.view_stride + p.pitch + 1
        + (int) u0;
    const float a = blend (line, row, u - u0, p), b = blend (line, row + 1, u - u0, p);
    sum = td_fma (weight, td_fma (v - v0, b - a, a), sum);
#endif
  }
  store (volume, i, j, k, sum, p);
}

#elif TEXTURE
/* Upright, textures: PACK turned voxels and VOXELS slices a thread. Layer l holds views l, l + 90
   (or 180) degrees, …; fetching it where a turned voxel lies gives the turned set in rotated order.
   A group is X_LANES x (GROUP / X_LANES / Z_LANES) x Z_LANES threads, z fastest. */
TD_KERNEL void TD_GROUP_SIZE_RESIDENT (GROUP, 1, 1, RESIDENT)
cone_backproject (TD_ITEM TD_TEXTURE_LAYERS projections, TD_IN (float4) matrices,
                  TD_OUT (float) volume, TdConeProject p, int first_layer)
{
  const int lane = td_local_x ();
  const int i = td_group_x () * X_LANES + lane / Z_LANES % X_LANES;
  const int j = td_group_y () * (GROUP / X_LANES / Z_LANES) + lane / Z_LANES / X_LANES;
  const int k0 = td_group_z () * (VOXELS * Z_LANES) + lane % Z_LANES;
  const float x = p.x_first + (float) i, y = p.y_first - (float) j;
  const float z = p.z_first - (float) (p.slice0 + k0), row0 = (float) p.row0;
  Texel sums[VOXELS];

  /* The computed quarter (half) of the slice; its turned copies cover the rest. */
  if (i >= p.x_count || j >= p.y_count)
    return;
  TD_UNROLL
  for (int k = 0; k < VOXELS; k++)
    sums[k] = k0 + k * Z_LANES < p.n_slices ? load (volume, i, j, k0 + k * Z_LANES, p) : ZERO;

  for (int layer = first_layer; layer < p.n_layers; layer++) {
    TD_UNROLL
    for (int turn = 0; turn < PACK; turn++) {
      const float2 place = turned (turn, x, y);
      const Aim a = aim (matrices + 3 * layer, place.x, place.y, p.u_middle, p.v_middle);
      const float weight = a.inverse * a.inverse;
      TD_UNROLL
      for (int k = 0; k < VOXELS; k++) {
        const float v = td_fma (z - (float) (k * Z_LANES), a.dv, a.v) - row0;
        sums[k]
            = add_scaled (sums[k], weight, from_turned (turn, FETCH (projections, a.u, v, layer)));
      }
    }
  }
  /* Where the sums came from is computed again: kept, it would leave fewer groups at once. */
  const int i_again = td_forget (i), j_again = td_forget (j), k_again = td_forget (k0);
  TD_UNROLL
  for (int k = 0; k < VOXELS; k++)
    if (k_again + k * Z_LANES < p.n_slices)
      store (volume, i_again, j_again, k_again + k * Z_LANES, sums[k], p);
}

#else
/* Upright, arithmetic, few slices; cone-columns.cl does many. Along z the thread keeps the two
   blended detector rows around v. It loads a new row only when v passes one, so that an update
   takes two loads instead of four. */
TD_KERNEL void
cone_backproject (TD_ITEM TD_IN (float) projections, TD_IN (float4) matrices, TD_OUT (float) volume,
                  TdConeProject p)
{
  const int i = td_global_x (), j = td_global_y (), k0 = td_global_z () * VOXELS;
  const float x = p.x_first + (float) i, y = p.y_first - (float) j;
  const float z = p.z_first - (float) (p.slice0 + k0);
  const float top = (float) (p.row0 - 1), bottom = (float) (p.row0 + p.n_rows);
  float sums[VOXELS];

  if (i >= p.nx || j >= p.ny)
    return;
  TD_UNROLL
  for (int k = 0; k < VOXELS; k++)
    sums[k] = k0 + k < p.n_slices ? load (volume, i, j, k0 + k, p) : 0.0f;

  for (int view = 0; view < p.n_layers; view++) {
    const Aim a = aim (matrices + 3 * view, x, y, p.u_middle, p.v_middle);
    const float weight = a.inverse * a.inverse;

    if (!(a.inverse > 0.0f && a.u > -1.0f && a.u < (float) p.n_columns))
      continue;
    const float u0 = td_floor (a.u), f = a.u - u0;
    const TD_GLOBAL float *line = projections + (size_t) view * p.view_stride + p.pitch + 1
        + (int) u0;
    int row = p.row0 - 3;
    float upper = 0.0f, lower = 0.0f;
    TD_UNROLL
    for (int k = 0; k < VOXELS; k++) {
      const float at = td_fmin (td_fmax (td_fma (z - (float) k, a.dv, a.v), top), bottom);
      const float whole = td_floor (at);
      const int now = (int) whole;
      if (now != row) {
        upper = now == row + 1 ? lower : blend (line, now - p.row0, f, p);
        lower = blend (line, now + 1 - p.row0, f, p);
        row = now;
      }
      sums[k] = td_fma (weight, td_fma (at - whole, lower - upper, upper), sums[k]);
    }
  }
  TD_UNROLL
  for (int k = 0; k < VOXELS; k++)
    if (k0 + k < p.n_slices)
      store (volume, i, j, k0 + k, sums[k], p);
}
#endif
