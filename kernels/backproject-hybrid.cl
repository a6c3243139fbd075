/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hybrid family (review, §7.1): the arithmetic of backproject-alu.cl and the texture engine at
   once. TD_TEXTURE_CELLS > 0: the texture engine sums that many cells of a work-item.
   TD_TEXTURE_SHARE T of TD_ALL_SHARE groups (0: none) go to the texture engine as a whole. Each
   multiprocessor counts its own groups where its number is known, so that both kinds run beside
   each other. Elsewhere groups take turns. */
#include "backproject-alu-core.h"

#if TD_TEXTURE_SHARE
TD_FN int
td_texture_turn (TD_GLOBAL int *counters, TD_LOCAL_PTR int *turn)
{
#ifdef TD_HAVE_MULTIPROCESSOR_ID
  if (td_local_x () == 0)
    turn[0] = td_atomic_add_int (counters + td_multiprocessor_id () % TD_COUNTERS, 1);
  td_barrier ();
  const int n = turn[0];
  td_barrier ();
#else
  const int n = td_group_y () * td_groups_x () + td_group_x ();
#endif
  return n * TD_TEXTURE_SHARE % TD_ALL_SHARE < TD_TEXTURE_SHARE;
}

/* Every view of the table into the tile's sums, all by the texture engine. */
TD_FN void
td_texture_tile (TD_TEXTURE_PARAM TD_GLOBAL const TdBackprojectView *views,
                 TdBackprojectParams p, TD_LOCAL_PTR float4 *memory, TdSum *sums)
{
  TD_LOCAL_PTR TdTileView *ahead = (TD_LOCAL_PTR TdTileView *) memory;
  TD_LOCAL_PTR int *starts = (TD_LOCAL_PTR int *) (memory + TD_STARTS_OFFSET);
  const int x0 = td_group_x () * TD_TILE, y0 = td_group_y () * TD_TILE;
  const float tx = (float) td_cell_x (td_local_x ()), ty = (float) td_cell_y (td_local_x ());

  for (int first = 0; first < p.n_table; first += TD_AHEAD) {
    const int last = td_min (first + TD_AHEAD, p.n_table);
    td_alu_prepare (views, p, first, x0, y0, ahead, starts);
    td_barrier ();
    TD_UNROLL_BY (TD_UNROLL_VIEWS)
    for (int v = first; v < last; v++) {
      const float4 k = ahead[v - first].line, place = ahead[v - first].texture;
      const float u = td_fma (tx, k.y, td_fma (ty, k.z, place.x));
      TD_UNROLL
      for (int n = 0; n < TD_CELLS; n++)
        if (TD_SIDE == 2 && v >= p.n_first)
          td_texture_cell (TD_TEXTURE_ARG td_fma ((float) (n * TD_STRIDE), k.z, u), place.y, k.y,
                           k.z, 1, sums + n * TD_SIDE * TD_SIDE);
        else
          td_texture_cell (TD_TEXTURE_ARG td_fma ((float) (n * TD_STRIDE), k.z, u), place.y, k.y,
                           k.z, 0, sums + n * TD_SIDE * TD_SIDE);
    }
    td_barrier ();
  }
}
#endif

TD_KERNEL void TD_GROUP_SIZE_RESIDENT (TD_THREADS, 1, 1, TD_RESIDENT)
td_backproject_hybrid (TD_ITEM TD_IN (TdBin) packed, TD_TEXTURE texture,
                       TD_IN (TdBackprojectView) views, TdBackprojectParams p, int slice0,
                       TD_IN (float) greatest, TD_GLOBAL int *counters, TD_OUT (float) slices,
                       td_long slice_offset TD_LOCAL_ARG (float4, memory))
{
  TD_LOCAL_USE (float4, memory)
  TdSum sums[TD_PIXELS], shared[TD_CELLS];
#if TD_HALF || TD_RUN
  const float scale = p.scale / td_half_factor (greatest[0]);
#else
  const float scale = p.scale;
#endif

  td_clear_sums (sums, shared);
#if TD_TEXTURE_SHARE
  if (td_texture_turn (counters, (TD_LOCAL_PTR int *) memory))
    td_texture_tile (TD_TEXTURE_ARG views, p, memory, sums);
  else
#endif
    td_alu_tile (TD_TEXTURE_ARG packed, views, p, memory, sums, shared);
  td_store_tile (slices + slice_offset, p, slice0, scale, sums, shared);
}
