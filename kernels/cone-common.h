/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the cone-beam kernels share. PACK is defined before: 1: one view a texel; 2: views 180
   degrees apart; 4: views 90 degrees apart. */
#pragma once

#if PACK == 1
typedef float Texel;
#define ZERO 0.0f
#define FETCH td_layer1_linear
#define EACH(f) f ()
#elif PACK == 2
typedef float2 Texel;
#define ZERO td_float2 (0.0f, 0.0f)
#define FETCH td_layer2_linear
#define EACH(f) td_float2 (f (.x), f (.y))
#else
typedef float4 Texel;
#define ZERO td_float4 (0.0f, 0.0f, 0.0f, 0.0f)
#define FETCH td_layer4_linear
#define EACH(f) td_float4 (f (.x), f (.y), f (.z), f (.w))
#endif

/* A voxel must come out the same to the last bit, however volume, views and detector rows are
   cut into slabs, batches and windows. Textures filter with weights of 8 bits, and a position
   that rounds otherwise takes another weight. Hence everything is a function of the voxel's
   place in the whole volume. Positions are detector rows from the first of all; a window's first
   row, an integer, is subtracted without rounding. Sums continue from what the volume holds,
   view after view. Where a compiler might round a product or not, the code says which. */

/* sum + s t; s a + t b; from a to b by t. */
TD_FN Texel
add_scaled (Texel sum, float s, Texel t)
{
#define TERM(c) td_fma (s, t c, sum c)
  return EACH (TERM);
#undef TERM
}

TD_FN Texel
add_both (float s, Texel a, float t, Texel b)
{
#define TERM(c) td_fma (t, b c, s * a c)
  return EACH (TERM);
#undef TERM
}

TD_FN Texel
between (Texel a, Texel b, float t)
{
#define TERM(c) td_fma (t, b c - a c, a c)
  return EACH (TERM);
#undef TERM
}

/* A view's matrix applied to (x, y): 1 / w, u, and v at height z: v + z dv. Positions count from
   where (u_middle, v_middle) says that the matrix' own zero lies. */
typedef struct {
  float u, v, dv, inverse;
} Aim;

TD_FN Aim
aim (const TD_GLOBAL float4 *matrix, float x, float y, float u_middle, float v_middle)
{
  const float4 mu = matrix[0], mv = matrix[1], mw = matrix[2];
  Aim a;

  a.inverse = td_reciprocal (td_fma (mw.x, x, td_fma (mw.y, y, mw.w)));
  a.u = td_fma (td_fma (mu.x, x, td_fma (mu.y, y, mu.w)), a.inverse, u_middle);
  a.v = td_fma (td_fma (mv.x, x, td_fma (mv.y, y, mv.w)), a.inverse, v_middle);
  a.dv = mv.z * a.inverse;
  return a;
}

/* (x, y) turned @turn times by a half (PACK 2) or a quarter (PACK 4) of a turn. Channel c
   fetched there belongs to the voxel turned c + @turn times; from_turned () puts that first. */
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

/* (i, j) and its turned copies: (x, y) -> (-y, x) a quarter turn; rows count downwards, so (i, j)
   -> (j, n - 1 - i). */
#define FIRST ((size_t) j * p.nx + i)
#define HALF_TURN ((size_t) (p.ny - 1 - j) * p.nx + (p.nx - 1 - i))
#define QUARTER ((size_t) (p.nx - 1 - i) * p.nx + j)
#define THREE_QUARTERS ((size_t) i * p.nx + (p.nx - 1 - j))

TD_FN Texel
load (const TD_GLOBAL float *volume, int i, int j, int k, TdConeProject p)
{
  const TD_GLOBAL float *at = volume + k * ((size_t) p.ny * p.nx);

#if PACK == 1
  return at[FIRST];
#elif PACK == 2
  return td_float2 (at[FIRST], at[HALF_TURN]);
#else
  return td_float4 (at[FIRST], at[QUARTER], at[HALF_TURN], at[THREE_QUARTERS]);
#endif
}

TD_FN void
store (TD_GLOBAL float *volume, int i, int j, int k, Texel sum, TdConeProject p)
{
  TD_GLOBAL float *at = volume + k * ((size_t) p.ny * p.nx);

#if PACK == 1
  at[FIRST] = sum;
#elif PACK == 2
  at[FIRST] = sum.x;
  at[HALF_TURN] = sum.y;
#else
  at[FIRST] = sum.x;
  at[QUARTER] = sum.y;
  at[HALF_TURN] = sum.z;
  at[THREE_QUARTERS] = sum.w;
#endif
}
