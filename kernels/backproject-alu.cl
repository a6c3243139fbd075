/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ALU family (review, §6) and oversampling (§7.2). One group a tile of TD_TILE² pixels of
   TD_SLICES slices from slice0 on. @packed: see backproject-pack.cl; the table is a multiple of TD_BATCH
   long, and so is its first part. @greatest: what half storage was scaled by; unused otherwise. */
#include "backproject-alu-core.h"

TD_KERNEL void TD_GROUP_SIZE_RESIDENT (TD_THREADS, 1, 1, TD_RESIDENT)
td_backproject_alu (TD_ITEM TD_GLOBAL const TdBin *TD_RESTRICT packed,
                    TD_GLOBAL const TdBackprojectView *TD_RESTRICT views, TdBackprojectParams p,
                    int slice0, TD_GLOBAL const float *TD_RESTRICT greatest,
                    TD_GLOBAL float *TD_RESTRICT slices, td_long slice_offset
                    TD_LOCAL_ARG (float4, memory))
{
  TD_LOCAL_USE (float4, memory)
  TD_LOCAL_PTR TdTileView *ahead = (TD_LOCAL_PTR TdTileView *) memory;
  TD_LOCAL_PTR int *starts = (TD_LOCAL_PTR int *) (memory + TD_STARTS_OFFSET);
  TD_LOCAL_PTR TdBin *cache = (TD_LOCAL_PTR TdBin *) (memory + TD_CACHE_OFFSET);
  const int x0 = td_group_x () * TD_TILE, y0 = td_group_y () * TD_TILE;
  const int cell_x = td_cell_x (td_local_x ()), cell_y = td_cell_y (td_local_x ());
  TdSum sums[TD_PIXELS], shared[TD_CELLS];

  TD_UNROLL
  for (int n = 0; n < TD_PIXELS; n++)
    sums[n] = td_sum_zero ();
  TD_UNROLL
  for (int n = 0; n < TD_CELLS; n++)
    shared[n] = td_sum_zero ();

  for (int first = 0; first < p.n_table; first += TD_AHEAD) {
    const int last = td_min (first + TD_AHEAD, p.n_table);
    td_alu_prepare (views, p, first, x0, y0, ahead, starts);
    td_barrier ();
#if TD_BUFFERS > 1
    td_alu_copy (packed, p, first, starts, cache);
#endif
    for (int v = first; v < last; v += TD_BATCH) {
#if TD_BUFFERS > 1
      const int buffer = (v - first) / TD_BATCH & 1;
      TD_LOCAL_PTR const TdBin *bins = cache + buffer * TD_BATCH * TD_ROW;
      td_copy_wait ();
      td_barrier (); /* this batch is there, and nobody reads the other buffer any more */
      if (v + TD_BATCH < last)
        td_alu_copy (packed, p, v + TD_BATCH, starts + (v + TD_BATCH - first),
                     cache + (1 - buffer) * TD_BATCH * TD_ROW);
#else
      TD_LOCAL_PTR const TdBin *bins = cache;
      td_alu_copy (packed, p, v, starts + (v - first), cache);
      td_copy_wait ();
      td_barrier ();
#endif
      if (TD_SIDE == 2 && v >= p.n_first)
        td_alu_batch (ahead + (v - first), bins, (float) cell_x, (float) cell_y, 1, sums, shared);
      else
        td_alu_batch (ahead + (v - first), bins, (float) cell_x, (float) cell_y, 0, sums, shared);
#if TD_BUFFERS == 1
      td_barrier ();
#endif
    }
    td_barrier ();
  }

#if TD_HALF
  const float scale = p.scale / td_half_factor (greatest[0]);
#else
  const float scale = p.scale;
#endif
  slices += slice_offset;
  TD_UNROLL
  for (int n = 0; n < TD_PIXELS; n++) {
    const int cell = n / (TD_SIDE * TD_SIDE), row = TD_SIDE == 2 ? n / 2 % 2 : 0,
              column = TD_SIDE == 2 ? n % 2 : 0;
    td_store_pixel (slices, p, slice0, x0 + cell_x + column, y0 + cell_y + cell * TD_STRIDE + row,
                    TD_SIDE == 2 ? sums[n] + shared[cell] : sums[n], scale);
  }
}
