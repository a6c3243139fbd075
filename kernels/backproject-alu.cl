/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ALU family (review, §6) and oversampling (§7.2). One group makes a tile of TD_TILE² pixels of
   TD_SLICES slices from slice0 on. @packed: see backproject-pack.cl. The table's length is a
   multiple of TD_BATCH, and so is that of its first part. @greatest: what half storage was scaled
   by, otherwise unused. */
#include "backproject-alu-core.h"

TD_KERNEL void TD_GROUP_SIZE_RESIDENT (TD_THREADS, 1, 1, TD_RESIDENT)
td_backproject_alu (TD_ITEM TD_IN (TdBin) packed, TD_IN (TdBackprojectView) views,
                    TdBackprojectParams p, int slice0, TD_IN (float) greatest,
                    TD_OUT (float) slices, td_long slice_offset TD_LOCAL_ARG (float4, memory))
{
  TD_LOCAL_USE (float4, memory)
  TdSum sums[TD_PIXELS], shared[TD_CELLS];
#if TD_HALF || TD_RUN
  const float scale = p.scale / td_half_factor (greatest[0]);
#else
  const float scale = p.scale;
#endif

  td_clear_sums (sums, shared);
  td_alu_tile (packed, views, p, memory, sums, shared);
  td_store_tile (slices + slice_offset, p, slice0, scale, sums, shared);
}
