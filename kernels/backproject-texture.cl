/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The texture family (review, §5). 16 work-items follow a Z-order curve in a square of 4 x 4 pixels
   (Algorithm 2). A group of 256 takes 16 squares, or a quarter of them over every fourth view. Each
   work-item takes several pixels, some rows apart (Algorithm 3). The texture holds TD_SLICES slices
   side by side, a row a table entry.

   The grid is one-dimensional. Tiles of 256 TD_ROWS pixels come first, since the texture cache
   reads fewer lines for larger tiles. Then come tiles in quarters over every fourth view and in
   sixteenths over every sixteenth, so that all multiprocessors end together. Without TD_LARGE all
   tiles are of 16 x 4 TD_ROWS, as in the review.

   TD_LARGE         1: tiles as above; 0: the review's
   TD_ROWS          4, as in the review, 8 or 16: pixels a work-item; the tiles are 32 x 32, 32 x
                    64, 64 x 64
   TD_LINEAR        1: the texture filters; 0: nearest
   TD_FORGED        four halves in a texel declared as two floats (§5.3)
   TD_LOCAL_VIEWS   1: the views' constants through local memory, TD_AHEAD at a time (Algorithm 5);
                    0: from constant memory
   TD_SHUFFLE       1: shuffles add the partial sums (Algorithm 4); 0: through local memory
   TD_UNROLL_VIEWS  how often the view loop is unrolled
   TD_RESIDENT      groups a multiprocessor should hold at once (§5.7) */
#include "backproject-common.h"

#define TD_ACROSS (TD_ROWS == 16 ? 16 : 8) /* squares of 4 x 4 across a tile */

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

/* @partial holds each pixel's partial sums in a row: their sum, in the first of the @parts
   work-items that call with the same pixel. */
TD_FN TdSum
td_reduce (TD_LOCAL_PTR TdSum *partial, int id, int parts)
{
#if TD_SHUFFLE
  TdSum sum = partial[id];
  for (int other = parts / 2; other > 0; other /= 2)
    sum = sum + td_sum_shuffle_xor (sum, other);
  return sum;
#else
  for (int other = parts / 2; other > 0; other /= 2) {
    if (id % parts < other)
      partial[id] = partial[id] + partial[id + other];
    td_barrier ();
  }
  return partial[id];
#endif
}

/* @tiles_x: tiles in a row; @whole, @quartered: how many are taken whole and in quarters, the
   others in sixteenths. */
TD_KERNEL void TD_GROUP_SIZE_RESIDENT (256, 1, 1, TD_RESIDENT)
td_backproject_texture (TD_ITEM TD_TEXTURE texture, TD_IN (TdBackprojectView) views,
                        TD_CONSTANT float4 *constants, TdBackprojectParams p, int slice0,
                        TD_IN (float) greatest, TD_OUT (float) slices, td_long slice_offset,
                        int tiles_x, int whole, int quartered)
{
  TD_LOCAL TdSum partial[256];
#if TD_LOCAL_VIEWS
  TD_LOCAL float4 ahead[TD_AHEAD];
#endif
  const int group = td_group_x (), id = td_local_x ();
  /* views at once; squares beside each other and above each other; where the tile is */
#if TD_LARGE
  const int left = group - whole - 4 * quartered;
  const int parts = group < whole ? 1 : left < 0 ? 4 : 16;
  const int across = parts == 1 ? TD_ACROSS : parts == 4 ? 4 : 1,
      down = parts == 1 ? 16 / TD_ACROSS : 1;
  const int within = parts == 1 ? 0 : parts == 4 ? (group - whole) % 4 : left % 16;
  const int tile = parts == 1   ? group
                   : parts == 4 ? whole + (group - whole) / 4
                                : whole + quartered + left / 16;
  const int columns = TD_ACROSS / across;
  const int x0 = (tile % tiles_x * columns + within % columns) * 4 * across;
  const int y0 = (tile / tiles_x * (16 / TD_ACROSS) + within / columns) * (4 * TD_ROWS);
#else
  const int parts = 4, across = 4, down = 1;
  const int x0 = group % tiles_x * 16, y0 = group / tiles_x * (4 * TD_ROWS);
#endif
  const int places = 256 / parts, part = id / places, square = id / 16 % (places / 16);
  const int x = (id & 1) + (id >> 2 & 1) * 2 + square % across * 4;
  const int y = (id >> 1 & 1) + (id >> 3 & 1) * 2 + square / across * 4;
  const float stride = (float) (4 * down);
  TdSum sums[TD_ROWS];

  TD_UNROLL
  for (int q = 0; q < TD_ROWS; q++)
    sums[q] = td_sum_zero ();

#if TD_LOCAL_VIEWS
  for (int first = 0; first < p.n_table; first += TD_AHEAD) {
    const int count = td_min (TD_AHEAD, p.n_table - first);
    for (int i = id; i < count; i += 256) {
      const TdBackprojectView view = views[first + i];
      const td_long right = td_fixed (view.right_int, view.right_frac);
      const td_long fall = td_fixed (view.down_int, view.down_frac);
      const td_long at = td_fixed (view.at_int, view.at_frac) + right * x0 + fall * y0;
      ahead[i] = td_float4 (td_fixed_float (at) + 0.5f, view.right, view.down,
                            (float) (first + i) + 0.5f);
    }
    td_barrier ();
    TD_UNROLL_BY (TD_UNROLL_VIEWS)
    for (int v = part; v < count; v += parts) {
      const float4 k = ahead[v];
      const float u = td_fma ((float) x, k.y, td_fma ((float) y, k.z, k.x)), step = stride * k.z;
      TD_UNROLL
      for (int q = 0; q < TD_ROWS; q++)
        sums[q] = sums[q] + td_fetch (texture, td_fma ((float) q, step, u), k.w);
    }
    td_barrier ();
  }
#else
  TD_UNROLL_BY (TD_UNROLL_VIEWS)
  for (int v = part; v < p.n_table; v += parts) {
    const float4 k = constants[v];
    const float u = td_fma ((float) (x0 + x), k.y, td_fma ((float) (y0 + y), k.z, k.x));
    const float step = stride * k.z;
    TD_UNROLL
    for (int q = 0; q < TD_ROWS; q++)
      sums[q] = sums[q] + td_fetch (texture, td_fma ((float) q, step, u), k.w);
  }
#endif

#if TD_HALF
  const float scale = p.scale / td_half_factor (greatest[0]);
#else
  const float scale = p.scale;
#endif
  TD_UNROLL
  for (int q = 0; q < TD_ROWS; q++) {
    partial[(4 * across * y + x) * parts + part] = sums[q];
    td_barrier ();
    const TdSum sum = td_reduce (partial, id, parts);
    const int pixel = id / parts;
    if (id % parts == 0)
      td_store_pixel (slices + slice_offset, p, slice0, x0 + pixel % (4 * across),
                      y0 + 4 * down * q + pixel / (4 * across), sum, scale);
    td_barrier ();
  }
}
