/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Back-projection by arithmetic from a cache in local memory (review, §6): a group of TD_THREADS
   work-items sums a tile of TD_TILE² pixels. For TD_AHEAD views at a time it computes where the
   tile's footprint begins (§6.8, the third stage). Then it copies the bins that the tile can need,
   TD_BATCH views at a time. With two buffers it copies a batch while it sums the one before.

   TD_LINEAR       1: linear, 0: nearest
   TD_CACHE        what linear keeps: 0 values; 1 values, then differences to the next bin; 2 every
                   bin with its difference, as in §6.4 (pixels one by one, up to two single slices);
                   3 every bin with the next three differences (one slice)
   TD_SPLIT        1: four single slices as two vectors of two, apart (§6.3, Algorithm 8)
   TD_COLUMNS      1: the positions of the tile's columns in local memory too (h_x in §6.8)
   TD_COPY         bytes a work-item copies at once: 16, or 8 (the 64-bit writes of Algorithm 7)
   TD_SIDE         1: pixels one by one; 2: squares of 2 x 2 that share one lookup (see below)
   TD_UNIT         the pixel is as wide as a column (only used by squares)
   TD_BINS         bins cached a view: a tile's footprint, 1 to 4 below it, 3 above
   TD_LANES        work-items that copy one view's bins together (§6.3)
   TD_SAMPLES      1, or 4 samples a bin (§7.2)
   TD_FLOAT_ROUND  rounding by adding 2^23 (§6.6) instead of floor and conversion
   TD_UNROLL_VIEWS how often the projection loop is unrolled
   TD_BUFFERS      1 or 2
   TD_TEXTURE_CELLS how many of a work-item's cells the texture engine sums instead (hybrid; else 0)

   Squares: four neighbours fall within 1.42 columns. With f the first one's place in its bin, the
   others are at f + o, o < 1.42. All four share the bin's value, and each adds

       d0 min (f + o, 1) + d1 clamp (f + o - 1) + d2 clamp (f + o - 2)

   One rounding, one address and four loads serve four pixels, instead of four and eight. Squares
   need right >= 0 (the host mirrors the other views) and a step of at most one column. */
#pragma once
#include "backproject-common.h"

#define TD_WARPS_X (TD_TILE / (8 * TD_SIDE))
/* rows between a work-item's cells */
#define TD_STRIDE (TD_THREADS / 32 / TD_WARPS_X * 4 * TD_SIDE)
#define TD_CELLS (TD_TILE / TD_STRIDE)                         /* pixels or squares a work-item */
#define TD_PIXELS (TD_CELLS * TD_SIDE * TD_SIDE)
#define TD_PLANES (TD_LINEAR && TD_CACHE > 0 ? (TD_CACHE == 3 ? 4 : 2) : 1)
#define TD_APART (TD_LINEAR && TD_CACHE == 1 ? 2 : 1) /* planes that lie behind each other */
#define TD_PARTS (TD_SPLIT ? 2 : 1)
#define TD_ROW (TD_BINS * TD_PLANES)
#define TD_BIN_BYTES ((TD_HALF ? 2 : 4) * TD_SLICES)
#if TD_RUN
#define TD_STEP TD_RUN
#else
#define TD_STEP TD_BATCH
#endif

/* The hybrid's functions have the texture as a parameter: packed rows without margins. */
#if TD_HYBRID
#define TD_TEXTURE_PARAM TD_TEXTURE texture,
#define TD_TEXTURE_ARG texture,
#define td_fetch_(slices, filter) td_fetch##slices##_##filter
#define td_fetch_of(slices, filter) td_fetch_ (slices, filter)
#if TD_LINEAR
#define td_fetch(u, row) td_fetch_of (TD_SLICES, linear) (texture, (u), (row))
#else
#define td_fetch(u, row) td_fetch_of (TD_SLICES, nearest) (texture, (u), (row))
#endif
#else
#define TD_TEXTURE_PARAM
#define TD_TEXTURE_ARG
#endif

/* What the sums need of a view, ready for the tile. */
typedef struct {
  float4 line;    /* position of the first cell, its steps right and down, right + |down| */
  float4 offsets; /* squares: where the others' bins end, see td_alu_sum () */
#if TD_HYBRID
  float4 texture; /* the first cell's place in the texture, x and y */
#endif
} TdTileView;

/* Local memory: the views ahead, where their bins begin in a packed row, the cache. */
#define TD_STARTS_OFFSET (TD_AHEAD * (TD_HYBRID ? 3 : 2)) /* in float4 */
#define TD_COLUMNS_OFFSET (TD_STARTS_OFFSET + TD_AHEAD / 4)
#define TD_CELL_COLUMNS (TD_TILE / TD_SIDE)
#if TD_COLUMNS
#define TD_CACHE_OFFSET (TD_COLUMNS_OFFSET + TD_BUFFERS * TD_BATCH * TD_CELL_COLUMNS / 4)
#else
#define TD_CACHE_OFFSET TD_COLUMNS_OFFSET
#endif

/* What a bin's index counts. */
#if TD_CACHE == 3 || (TD_CACHE == 2 && TD_SLICES == 2)
typedef float4 TdCell;
#elif TD_CACHE == 2 || TD_SPLIT
typedef float2 TdCell;
#else
typedef TdBin TdCell;
#endif

/* What is copied in a row. */
#if TD_SPLIT
typedef float2 TdPart;
#else
typedef TdBin TdPart;
#endif

/* Bin @n from @bins on, in plane @plane. */
#if TD_SPLIT
#define td_bin_at(bins, plane, n) \
  td_join (td_local_get ((bins), float2, 2 * (plane) * TD_BINS + (n)), \
           td_local_get ((bins), float2, (2 * (plane) + 1) * TD_BINS + (n)))
TD_FN float4 td_join (float2 a, float2 b) { return td_float4 (a.x, a.y, b.x, b.y); }
#else
#define td_bin_at(bins, plane, n) td_local_get ((bins), TdBin, (plane) * TD_BINS + (n))
#endif

/* Where a work-item's first cell lies in the tile. 32 work-items cover 8 x 4 cells, 8 cover 4 x
   2. So their bins fall into different banks or are the same bin (§6.3). */
TD_FN int td_cell_x (int id)
{
  return TD_SIDE * ((id / 32 % TD_WARPS_X) * 8 + (id & 3) + ((id >> 4) & 1) * 4);
}
TD_FN int td_cell_y (int id) { return TD_SIDE * ((id / 32 / TD_WARPS_X) * 4 + ((id >> 2) & 3)); }

/* Prepares views first … first + TD_AHEAD - 1 of the table, those that exist, for the tile whose
   first pixel is (x0, y0). Positions are exact here: the window holds whatever the sums can ask
   for, and lies in the packed row, margins included, wherever the detector is. */
TD_FN void
td_alu_prepare (TD_GLOBAL const TdBackprojectView *views, TdBackprojectParams p, int first,
                int x0, int y0, TD_LOCAL_PTR TdTileView *ahead, TD_LOCAL_PTR int *starts)
{
  for (int i = td_local_x (); i < TD_AHEAD && first + i < p.n_table; i += TD_THREADS) {
    const TdBackprojectView view = views[first + i];
    const int flip = TD_SIDE == 2 && first + i >= p.n_first;
    const td_long right = td_fixed (view.right_int, view.right_frac) * TD_SAMPLES;
    const td_long down = td_fixed (view.down_int, view.down_frac) * TD_SAMPLES;
    td_long at = td_fixed (view.at_int, view.at_frac) * TD_SAMPLES + right * x0 + down * y0;
#if !TD_LINEAR
    at += ((td_long) 1 << 31) + (1 << 15); /* floor (u + 1/2); ties go up in spite of rounding */
#endif
    const td_long lowest = at + td_fixed_min (0, right * (TD_TILE - 1))
                           + td_fixed_min (0, down * (TD_TILE - 1));
    const int base = ((int) (lowest >> 32) - 1) & ~3;
    const float ox = view.right, oy = flip ? -view.down : view.down;

    starts[i] = td_max (0, td_min (base + p.margin, p.pitch - TD_BINS));
    ahead[i].line = td_float4 (td_fixed_float (at + (flip ? down : 0) - ((td_long) base << 32)),
                               view.right * TD_SAMPLES, view.down * TD_SAMPLES, ox + oy);
#if TD_HYBRID
    const td_long first_cell = at + (flip ? down : 0) - (TD_LINEAR ? 0 : (1 << 15));
    ahead[i].texture = td_float4 (td_fixed_float (first_cell) + (TD_LINEAR ? 0.5f : 0.0f),
                                  (float) (first + i) + 0.5f, 0.0f, 0.0f);
#endif
#if TD_RUN && TD_LINEAR
    TD_LOCAL_PTR td_h2 *offsets = (TD_LOCAL_PTR td_h2 *) &ahead[i].offsets;
    offsets[0] = td_h2_pack (ox, oy);
    offsets[1] = td_h2_pack (ox - 1.0f, oy - 1.0f);
    offsets[2] = td_h2_pack (ox + oy - 1.0f, ox + oy - 2.0f);
    offsets[3] = td_h2_splat (ox + oy);
#else
    ahead[i].offsets = td_float4 (ox - 1.0f, oy - 1.0f, ox + oy - 1.0f, ox + oy - 2.0f);
#endif
  }
}

#if TD_COPY == 8
typedef float2 TdCopied;
#define td_copy(to, from) td_copy8 ((to), (from))
#else
typedef float4 TdCopied;
#define td_copy(to, from) td_copy16 ((to), (from))
#endif

/* Where the tile's columns lie in the first of its rows, for TD_BATCH views. */
TD_FN void
td_alu_columns (TD_LOCAL_PTR const TdTileView *views, TD_LOCAL_PTR float *columns)
{
  for (int i = td_local_x (); i < TD_BATCH * TD_CELL_COLUMNS; i += TD_THREADS) {
    const float4 k = views[i / TD_CELL_COLUMNS].line;
    columns[i] = td_fma ((float) (i % TD_CELL_COLUMNS * TD_SIDE), k.y, k.x);
  }
}

/* Starts copying views first … first + TD_BATCH - 1 into @cache. @starts: of the same views. */
TD_FN void
td_alu_copy (TD_GLOBAL const TdBin *packed, TdBackprojectParams p, int first,
             TD_LOCAL_PTR const int *starts, TD_LOCAL_PTR TdBin *cache)
{
  const int lane = td_local_x () % TD_LANES, planes = TD_APART * TD_PARTS;

  TD_UNROLL
  for (int row = td_local_x () / TD_LANES; row < TD_BATCH * planes; row += TD_THREADS / TD_LANES) {
    const int view = row / planes, plane = row % planes;
    const size_t line = (size_t) (first + view) * planes + plane;
    TD_GLOBAL const TdCopied *from
      = (TD_GLOBAL const TdCopied *) ((TD_GLOBAL const TdPart *) packed
                                      + (line * p.pitch + starts[view]) * (TD_PLANES / TD_APART));
    TD_LOCAL_PTR TdCopied *to
      = (TD_LOCAL_PTR TdCopied *) ((TD_LOCAL_PTR TdPart *) (cache + view * TD_ROW)
                                   + plane * TD_BINS);
    TD_UNROLL
    for (int i = lane; i < TD_ROW / planes * TD_BIN_BYTES / TD_COPY; i += TD_LANES)
      td_copy (to + i, from + i);
  }
}

/* The bin of position u (u >= 1), from TD_BACKPROJECT_BIAS on, and the place in it, 0 … 1. At
   2^23 a float's steps are 1, just below they are 1/2. So 2^23 - 1/2 is a float, and u + (2^23 -
   1/2) rounds u - 1/2 to an integer. An integer u may give either neighbour: with place 1 or 0,
   both the same value. */
TD_FN int
td_bin_index (float u, float *place)
{
#if TD_FLOAT_ROUND
  const float t = u + 8388607.5f;
  *place = u - (t - 8388608.0f);
  return td_float_as_int (t);
#else
  const float whole = td_floor (u);
  *place = u - whole;
  return (int) whole + TD_BACKPROJECT_BIAS;
#endif
}

#if TD_HYBRID
/* One view's part of cell @n by the texture engine. @u: where its first pixel lies. */
TD_FN void
td_texture_cell (TD_TEXTURE_PARAM float u, float row, float right, float down, const int flip,
                 TdSum *s)
{
#if TD_SIDE == 2
  const int near = flip ? 2 : 0, far = flip ? 0 : 2;
  const float other = flip ? u - down : u + down;
  s[near] = s[near] + td_fetch (u, row);
  s[near + 1] = s[near + 1] + td_fetch (u + right, row);
  s[far] = s[far] + td_fetch (other, row);
  s[far + 1] = s[far + 1] + td_fetch (other + right, row);
#else
  s[0] = s[0] + td_fetch (u, row);
#endif
}
#endif

/* Projections in local memory: what sums need of each view, where the work-item's column lies in
   it, its bins. */
typedef struct {
  TD_LOCAL_PTR const TdTileView *views;
  TD_LOCAL_PTR const float *columns;
  TD_LOCAL_PTR const TdBin *bins;
} TdCached;

/* The work-item's first cell in the tile; p.bias. */
typedef struct {
  float x, y;
  int bias;
} TdTilePlace;

/* TD_STEP projections into the cells' sums. Squares have sums[4 * cell + 2 * row + column], and in
   @shared what all four pixels of a cell have in common. */
TD_FN void
td_alu_sum (TD_TEXTURE_PARAM const TdCached cached, const TdTilePlace tile, const int flip,
            TdTerm *sums, TdTerm *shared, TdSum *by_texture)
{
#if TD_SIDE == 2
  /* the row that comes first along the detector */
  const int near = flip ? 2 : 0, far = flip ? 0 : 2;
#endif

  TD_UNROLL_BY (TD_UNROLL_VIEWS)
  for (int i = 0; i < TD_STEP; i++) {
    const float4 k = cached.views[i].line;
#if TD_COLUMNS
    const float u0 = td_fma (tile.y, k.z, cached.columns[i * TD_CELL_COLUMNS]);
#else
    const float u0 = td_fma (tile.x, k.y, td_fma (tile.y, k.z, k.x));
#endif
    TD_LOCAL_ROW (const TdCell) row
      = td_local_row ((TD_LOCAL_PTR const TdCell *) (cached.bins + i * TD_ROW), tile.bias);
#if TD_SIDE == 2 && TD_RUN
    TD_LOCAL_PTR const td_h2 *offsets
      = (TD_LOCAL_PTR const td_h2 *) &cached.views[i].offsets;
    const td_h2 o0 = offsets[0], o1 = offsets[1], o2 = offsets[2];
#if !TD_UNIT
    const td_h2 o3 = offsets[3];
#endif
#elif TD_SIDE == 2
    const float4 o = cached.views[i].offsets;
    const float oy = flip ? -k.z : k.z;
#endif
#if TD_TEXTURE_CELLS
    const float4 place = cached.views[i].texture;
    const float x = td_fma (tile.x, k.y, td_fma (tile.y, k.z, place.x));
    TD_UNROLL
    for (int n = TD_CELLS - TD_TEXTURE_CELLS; n < TD_CELLS; n++)
      td_texture_cell (TD_TEXTURE_ARG td_fma ((float) (n * TD_STRIDE), k.z, x), place.y, k.y, k.z,
                       flip, by_texture + n * TD_SIDE * TD_SIDE);
#endif
    TD_UNROLL
    for (int n = 0; n < TD_CELLS - TD_TEXTURE_CELLS; n++) {
      float f;
      const int b = td_bin_index (td_fma ((float) (n * TD_STRIDE), k.z, u0), &f);
#if TD_SIDE == 2
#if TD_CACHE == 3
      const TdCell window = td_local_get (td_local_at (row, const TdCell, b, tile.bias), TdCell, 0);
      const TdTerm v = window.x, d0 = window.y, d1 = window.z, d2 = window.w;
#else
      TD_LOCAL_AT (const TdCell) bins = td_local_at (row, const TdCell, b, tile.bias);
      const TdTerm v = td_term (td_bin_at (bins, 0, 0));
#endif
#if TD_CACHE == 1
      const TdTerm d0 = td_term (td_bin_at (bins, 1, 0)), d1 = td_term (td_bin_at (bins, 1, 1)),
                   d2 = td_term (td_bin_at (bins, 1, 2));
#elif TD_CACHE == 0
      const TdTerm v1 = td_term (td_bin_at (bins, 0, 1)), v2 = td_term (td_bin_at (bins, 0, 2)),
                   v3 = td_term (td_bin_at (bins, 0, 3));
      const TdTerm d0 = td_term_sub (v1, v), d1 = td_term_sub (v2, v1), d2 = td_term_sub (v3, v2);
#endif
      TdTerm *s = sums + 4 * n;
      shared[n] = td_term_add (shared[n], v);
#if TD_RUN
      const td_h2 f2 = td_h2_splat (f);
      const td_h2 a = td_h2_add_saturate (f2, o0), c = td_h2_add_saturate (f2, o1),
                  e = td_h2_add_saturate (f2, o2);
      const td_h2 x0 = td_h2_low (a), y0 = td_h2_high (a), x1 = td_h2_low (c), y1 = td_h2_high (c),
                  z1 = td_h2_low (e), z2 = td_h2_high (e);
      s[near] = td_term_fma (f2, d0, s[near]);
#else
      const float x0 = td_saturate (f + k.y), y0 = td_saturate (f + oy), x1 = td_saturate (f + o.x),
                  y1 = td_saturate (f + o.y), z1 = td_saturate (f + o.z),
                      z2 = td_saturate (f + o.w);
      s[near] = td_term_fma (f, d0, s[near]);
#endif
      s[near + 1] = td_term_fma (x1, d1, td_term_fma (x0, d0, s[near + 1]));
      s[far] = td_term_fma (y1, d1, td_term_fma (y0, d0, s[far]));
#if TD_UNIT /* |cos| + |sin| >= 1 */
      s[far + 1] = td_term_add (s[far + 1], d0);
#elif TD_RUN
      s[far + 1] = td_term_fma (td_h2_add_saturate (f2, o3), d0, s[far + 1]);
#else
      s[far + 1] = td_term_fma (td_saturate (f + k.w), d0, s[far + 1]);
#endif
      s[far + 1] = td_term_fma (z2, d2, td_term_fma (z1, d1, s[far + 1]));
#else
#if TD_CACHE == 2
      const TdCell pair = td_local_get (td_local_at (row, const TdCell, b, tile.bias), TdCell, 0);
#if TD_SLICES == 1
      const TdTerm v = pair.x, d = pair.y;
#else
      const TdTerm v = td_term (td_float2 (pair.x, pair.y)),
          d = td_term (td_float2 (pair.z, pair.w));
#endif
#else
      TD_LOCAL_AT (const TdCell) bins = td_local_at (row, const TdCell, b, tile.bias);
      const TdTerm v = td_term (td_bin_at (bins, 0, 0));
#endif
#if !TD_LINEAR
      sums[n] = td_term_add (sums[n], v);
#else
#if TD_CACHE == 2
#elif TD_CACHE == 1
      const TdTerm d = td_term (td_bin_at (bins, 1, 0));
#else
      const TdTerm d = td_term_sub (td_term (td_bin_at (bins, 0, 1)), v);
#endif
      sums[n] = td_term_add (sums[n], td_term_fma (td_weight (f), d, v));
#endif
#endif
    }
  }
}

/* The cached projections into the tile's single-precision sums. */
TD_FN void
td_alu_batch (TD_TEXTURE_PARAM const TdCached cached, const TdTilePlace tile, const int flip,
              TdSum *sums, TdSum *shared)
{
#if TD_RUN
  for (int first = 0; first < TD_BATCH; first += TD_RUN) {
    TdTerm run[TD_PIXELS], run_shared[TD_CELLS];
    TD_UNROLL
    for (int n = 0; n < TD_PIXELS; n++)
      run[n] = td_term_zero ();
    TD_UNROLL
    for (int n = 0; n < TD_CELLS; n++)
      run_shared[n] = td_term_zero ();
    const TdCached part = { cached.views + first, cached.columns + first * TD_CELL_COLUMNS,
                            cached.bins + first * TD_ROW };
    td_alu_sum (TD_TEXTURE_ARG part, tile, flip, run, run_shared, sums);
    TD_UNROLL
    for (int n = 0; n < TD_PIXELS; n++)
      sums[n] = sums[n] + td_term_sum (run[n]);
#if TD_SIDE == 2
    TD_UNROLL
    for (int n = 0; n < TD_CELLS; n++)
      shared[n] = shared[n] + td_term_sum (run_shared[n]);
#endif
  }
#else
  td_alu_sum (TD_TEXTURE_ARG cached, tile, flip, sums, shared, sums);
#endif
}

/* Every view of the table into the tile's sums. @memory: the group's local memory. */
TD_FN void
td_alu_tile (TD_TEXTURE_PARAM TD_GLOBAL const TdBin *packed,
             TD_GLOBAL const TdBackprojectView *views, TdBackprojectParams p,
             TD_LOCAL_PTR float4 *memory, TdSum *sums, TdSum *shared)
{
  TD_LOCAL_PTR TdTileView *ahead = (TD_LOCAL_PTR TdTileView *) memory;
  TD_LOCAL_PTR int *starts = (TD_LOCAL_PTR int *) (memory + TD_STARTS_OFFSET);
  TD_LOCAL_PTR float *columns = (TD_LOCAL_PTR float *) (memory + TD_COLUMNS_OFFSET);
  TD_LOCAL_PTR TdBin *cache = (TD_LOCAL_PTR TdBin *) (memory + TD_CACHE_OFFSET);
  const int own = td_cell_x (td_local_x ()) / TD_SIDE; /* the work-item's column */
  const int x0 = td_group_x () * TD_TILE, y0 = td_group_y () * TD_TILE;
  const TdTilePlace tile = { (float) td_cell_x (td_local_x ()), (float) td_cell_y (td_local_x ()),
                             p.bias };

  for (int first = 0; first < p.n_table; first += TD_AHEAD) {
    const int last = td_min (first + TD_AHEAD, p.n_table);
    td_alu_prepare (views, p, first, x0, y0, ahead, starts);
    td_barrier ();
#if TD_BUFFERS > 1
    td_alu_copy (packed, p, first, starts, cache);
#if TD_COLUMNS
    td_alu_columns (ahead, columns);
#endif
#endif
    for (int v = first; v < last; v += TD_BATCH) {
#if TD_BUFFERS > 1
      const int buffer = (v - first) / TD_BATCH & 1;
      TD_LOCAL_PTR const float *places = columns + buffer * TD_BATCH * TD_CELL_COLUMNS + own;
      TD_LOCAL_PTR const TdBin *bins = cache + buffer * TD_BATCH * TD_ROW;
      td_copy_wait ();
      td_barrier (); /* this batch is there, and nobody reads the other buffer any more */
      if (v + TD_BATCH < last) {
        td_alu_copy (packed, p, v + TD_BATCH, starts + (v + TD_BATCH - first),
                     cache + (1 - buffer) * TD_BATCH * TD_ROW);
#if TD_COLUMNS
        td_alu_columns (ahead + (v + TD_BATCH - first),
                        columns + (1 - buffer) * TD_BATCH * TD_CELL_COLUMNS);
#endif
      }
#else
      TD_LOCAL_PTR const TdBin *bins = cache;
      TD_LOCAL_PTR const float *places = columns + own;
      td_alu_copy (packed, p, v, starts + (v - first), cache);
#if TD_COLUMNS
      td_alu_columns (ahead + (v - first), columns);
#endif
      td_copy_wait ();
      td_barrier ();
#endif
      const TdCached cached = { ahead + (v - first), places, bins };
      if (TD_SIDE == 2 && v >= p.n_first)
        td_alu_batch (TD_TEXTURE_ARG cached, tile, 1, sums, shared);
      else
        td_alu_batch (TD_TEXTURE_ARG cached, tile, 0, sums, shared);
#if TD_BUFFERS == 1
      td_barrier ();
#endif
    }
    td_barrier ();
  }
}

TD_FN void
td_clear_sums (TdSum *sums, TdSum *shared)
{
  TD_UNROLL
  for (int n = 0; n < TD_PIXELS; n++)
    sums[n] = td_sum_zero ();
  TD_UNROLL
  for (int n = 0; n < TD_CELLS; n++)
    shared[n] = td_sum_zero ();
}

TD_FN void
td_store_tile (TD_GLOBAL float *slices, TdBackprojectParams p, int slice0, float scale,
               const TdSum *sums, const TdSum *shared)
{
  const int x = td_group_x () * TD_TILE + td_cell_x (td_local_x ());
  const int y = td_group_y () * TD_TILE + td_cell_y (td_local_x ());

  TD_UNROLL
  for (int n = 0; n < TD_PIXELS; n++) {
    const int cell = n / (TD_SIDE * TD_SIDE), row = TD_SIDE == 2 ? n / 2 % 2 : 0,
              column = TD_SIDE == 2 ? n % 2 : 0;
    td_store_pixel (slices, p, slice0, x + column, y + cell * TD_STRIDE + row,
                    TD_SIDE == 2 ? sums[n] + shared[cell] : sums[n], scale);
  }
}
