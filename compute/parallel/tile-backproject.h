/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "backproject.h"

/**
 * Back-projection on CPU-shaped devices (OpenCL on CPUs): kernels/backproject-host.cl, a work-item
 * a tile, in launches of a few tiles. The "host" family wraps it.
 */
typedef struct TdTileBackproject TdTileBackproject;

/* Builds programs, allocates and uploads; blocks. */
TdTileBackproject *td_tile_backproject_new (TdDevice *device, const TdBackprojectTask *task,
                                            guint max_slices, GError **error);
/* New geometry, same sizes. FALSE without error: recreate. */
gboolean td_tile_backproject_update (TdTileBackproject *tiles, const TdBackprojectTask *task,
                                     GError **error);
/* Enqueues; with a @cancellable it blocks instead and looks at it between launches. */
gboolean td_tile_backproject_run (TdTileBackproject *tiles, TdQueue *queue, TdPlace sinograms,
                                  TdPlace slices, guint n_slices, GCancellable *cancellable,
                                  GError **error);
void td_tile_backproject_free (TdTileBackproject *tiles);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdTileBackproject, td_tile_backproject_free)

guint64 td_tile_backproject_workspace_bytes (const TdBackprojectTask *task,
                                             const TdDeviceInfo *device, guint max_slices);
const char *td_tile_backproject_description (guint n_slices); /* static */
