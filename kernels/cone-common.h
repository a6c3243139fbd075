/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the cone-beam kernels share. PACK is defined before: 1: one view a texel; 2: views 180 degrees
   apart; 4: views 90 degrees apart. */
#pragma once

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

  a.inverse = td_reciprocal (td_mad (mw.x, x, td_mad (mw.y, y, mw.w)));
  a.u = td_mad (mu.x, x, td_mad (mu.y, y, mu.w)) * a.inverse;
  a.v = td_mad (mv.x, x, td_mad (mv.y, y, td_mad (mv.z, z, mv.w))) * a.inverse;
  a.dv = -mv.z * a.inverse;
  return a;
}

/* (x, y) turned @turn times by a half (PACK 2) or a quarter (PACK 4) of a turn: channel c fetched there
   belongs to the voxel turned c + @turn times, which from_turned () puts first. */
TD_FN float2
turned (int turn, float x, float y)
{
#if PACK == 4
  return turn == 0 ? td_float2 (x, y) : turn == 1 ? td_float2 (-y, x)
       : turn == 2 ? td_float2 (-x, -y) : td_float2 (y, -x);
#else
  return turn == 0 ? td_float2 (x, y) : td_float2 (-x, -y);
#endif
}

TD_FN Texel
from_turned (int turn, Texel t)
{
#if PACK == 1
  return t;
#elif PACK == 2
  return turn == 0 ? t : td_float2 (t.y, t.x);
#else
  return turn == 0 ? t : turn == 1 ? td_float4 (t.w, t.x, t.y, t.z)
       : turn == 2 ? td_float4 (t.z, t.w, t.x, t.y) : td_float4 (t.y, t.z, t.w, t.x);
#endif
}

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
