/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The texture family (review, §5): a group of 256 work-items sums a tile of 16 x 4 TD_ROWS pixels, each of
   them TD_ROWS pixels, four rows apart, over every fourth view (Algorithm 3); 16 work-items follow a Z-order
   curve in a square of 4 x 4 (Algorithm 2). The texture holds TD_SLICES slices side by side, a row a
   table entry.

   TD_ROWS          4, as in the review, or 8
   TD_LINEAR        1: the texture filters; 0: nearest
   TD_FORGED        four halves in a texel declared as two floats (§5.3)
   TD_LOCAL_VIEWS   1: the views' constants through local memory, 256 at a time (Algorithm 5); 0: from
                    constant memory
   TD_SHUFFLE       1: the four partial sums meet by shuffles (Algorithm 4), 0: in local memory
   TD_UNROLL_VIEWS  how often the view loop is unrolled
   TD_RESIDENT      groups a multiprocessor should hold at once (§5.7) */
#include "backproject-common.h"

#define td_fetch_(slices, filter) td_fetch##slices##_##filter
#define td_fetch_of(slices, filter) td_fetch_ (slices, filter)
#if TD_FORGED
TD_FN TdSum
td_unforge (float2 texel)
{
  const float2 a = td_h2_float2 (td_h2_from_float (texel.x));
  const float2 b = td_h2_float2 (td_h2_from_float (texel.y));
  return td_float4 (a.x, a.y, b.x, b.y);
}
#define td_fetch(texture, u, row) td_unforge (td_fetch2_nearest (texture, (u), (row)))
#elif TD_LINEAR
#define td_fetch td_fetch_of (TD_SLICES, linear)
#else
#define td_fetch td_fetch_of (TD_SLICES, nearest)
#endif

/* @partial holds each pixel's four partial sums in a row: their sum, in the first of the four
   work-items that call with the same pixel. */
TD_FN TdSum
td_reduce (TD_LOCAL_PTR TdSum *partial, int id)
{
#if TD_SHUFFLE
  TdSum sum = partial[id];
  sum = sum + td_sum_shuffle_xor (sum, 2);
  return sum + td_sum_shuffle_xor (sum, 1);
#else
  if (id % 4 < 2)
    partial[id] = partial[id] + partial[id + 2];
  td_barrier ();
  return partial[id] + partial[id | 1];
#endif
}

TD_KERNEL void TD_GROUP_SIZE_RESIDENT (256, 1, 1, TD_RESIDENT)
td_backproject_texture (TD_ITEM TD_TEXTURE texture,
                        TD_GLOBAL const TdBackprojectView *TD_RESTRICT views,
                        TD_CONSTANT float4 *constants, TdBackprojectParams p, int slice0,
                        TD_GLOBAL const float *TD_RESTRICT greatest,
                        TD_GLOBAL float *TD_RESTRICT slices, td_long slice_offset)
{
  TD_LOCAL TdSum partial[256], result[64 * TD_ROWS];
#if TD_LOCAL_VIEWS
  TD_LOCAL float4 ahead[256];
#endif
  const int id = td_local_x (), part = id >> 6;
  const int x = (id & 1) + (id >> 2 & 1) * 2 + (id >> 4 & 3) * 4, y = (id >> 1 & 1) + (id >> 3 & 1) * 2;
  const int x0 = td_group_x () * 16, y0 = td_group_y () * 4 * TD_ROWS;
  TdSum sums[TD_ROWS];

  TD_UNROLL
  for (int q = 0; q < TD_ROWS; q++)
    sums[q] = td_sum_zero ();

#if TD_LOCAL_VIEWS
  for (int first = 0; first < p.n_table; first += 256) {
    const int count = td_min (256, p.n_table - first);
    if (id < count) {
      const TdBackprojectView view = views[first + id];
      const td_long right = td_fixed (view.right_int, view.right_frac);
      const td_long down = td_fixed (view.down_int, view.down_frac);
      const td_long at = td_fixed (view.at_int, view.at_frac) + right * x0 + down * y0;
      ahead[id] = td_float4 (td_fixed_float (at) + 0.5f, view.right, view.down,
                             (float) (first + id) + 0.5f);
    }
    td_barrier ();
    TD_UNROLL_BY (TD_UNROLL_VIEWS)
    for (int v = part; v < count; v += 4) {
      const float4 k = ahead[v];
      const float u = td_fma ((float) x, k.y, td_fma ((float) y, k.z, k.x));
      TD_UNROLL
      for (int q = 0; q < TD_ROWS; q++)
        sums[q] = sums[q] + td_fetch (texture, td_fma ((float) (4 * q), k.z, u), k.w);
    }
    td_barrier ();
  }
#else
  TD_UNROLL_BY (TD_UNROLL_VIEWS)
  for (int v = part; v < p.n_table; v += 4) {
    const float4 k = constants[v];
    const float u = td_fma ((float) (x0 + x), k.y, td_fma ((float) (y0 + y), k.z, k.x));
    TD_UNROLL
    for (int q = 0; q < TD_ROWS; q++)
      sums[q] = sums[q] + td_fetch (texture, td_fma ((float) (4 * q), k.z, u), k.w);
  }
#endif

  TD_UNROLL
  for (int q = 0; q < TD_ROWS; q++) {
    partial[(16 * y + x) * 4 + part] = sums[q];
    td_barrier ();
    const TdSum sum = td_reduce (partial, id);
    if (id % 4 == 0)
      result[64 * q + id / 4] = sum;
    td_barrier ();
  }

#if TD_HALF
  const float scale = p.scale / td_half_factor (greatest[0]);
#else
  const float scale = p.scale;
#endif
  for (int i = id; i < 64 * TD_ROWS; i += 256)
    td_store_pixel (slices + slice_offset, p, slice0, x0 + i % 16, y0 + i / 16, result[i], scale);
}
