/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "rays.h"

/**
 * Projections that the host's memory does not hold. All places are in an unlinked file in the
 * temporary folder, and one subset of them in memory. They come in chunks of rows and are read
 * in places. The file is [place][chunk][column][row], so that both are contiguous pieces of it.
 *
 * One thread at a time.
 */
typedef struct TdRayStore TdRayStore;

/* The store is on @rays' device, which must be the host. @order: as td_rays_new()'s. @chunk_rows:
   rows of every chunk but the last, which may have fewer. @most_views: views of the largest
   subset. */
TdRayStore *td_ray_store_new (TdRayProjector *rays, const TdConeTask *task, const guint *order,
                              guint chunk_rows, guint most_views, GError **error);
void td_ray_store_free (TdRayStore *store);
/* Rows [row, row + n) of all views, [row][view][column]. */
gboolean td_ray_store_take (TdRayStore *store, const float *rows, guint row, guint n,
                            GError **error);
/* Places [first, first + n) into memory: @first is the first of what is returned,
   [place][column][row]. It is the store's and holds until the next call. */
TdBuffer *td_ray_store_bring (TdRayStore *store, guint first, guint n, GError **error);
guint td_ray_store_most (const TdRayStore *store); /* places at once */
/* Memory: of a subset; the pieces that threads work on. */
guint64 td_ray_store_bytes (const TdConeTask *task, guint chunk_rows, guint most_views);
