/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "render/image.h"

/**
 * TdSliceStore: the finished slices of a running job, for looking at. It keeps them whole while
 * they fit its budget of memory, else averaged over 2 x 2, 4 x 4, … pixels. The full ones are in
 * the volume once it is written. Any thread.
 */
typedef struct TdSliceStore TdSliceStore;

#define TD_SLICE_STORE_BYTES ((gsize) 512 << 20)

TdSliceStore *td_slice_store_new (guint nx, guint ny, guint n_slices, gsize budget_bytes);
TdSliceStore *td_slice_store_ref (TdSliceStore *store);
void td_slice_store_unref (TdSliceStore *store);
/* A slice that comes again, of a later pass of iterations, takes the place of the one before. */
void td_slice_store_put (TdSliceStore *store, guint first, guint count, const float *slices);
guint td_slice_store_replaced (TdSliceStore *store); /* how often one did */
gboolean td_slice_store_has (TdSliceStore *store, guint slice);
/* (transfer full); NULL: not finished. Costs a pass over the slice. */
TdImage *td_slice_store_image (TdSliceStore *store, guint slice);
guint td_slice_store_factor (TdSliceStore *store); /* 1: whole */
guint td_slice_store_size (TdSliceStore *store);   /* slices, finished or not */
