/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/parallel/filter.h"
#include "cone.h"

/**
 * FDK's first stage on a device: cosine and redundancy weights, then the ramp filter along detector
 * rows (iFDK, Algorithm 1). Works on slabs of prepared rows, float [row][view][column].
 */
typedef struct TdConeFilter TdConeFilter;

/* Copies what it needs. max_rows: of one slab. */
TdConeFilter *td_cone_filter_new (TdDevice *device, const TdConeTask *task,
                                  const TdGeometry *geometry, const double *angles_rad,
                                  const TdFilter *filter, guint max_rows, GError **error);
/* Enqueues; in place. Detector rows [row0, row0 + n_rows) lie in @rows, as wide as the task's n_measured;
   filtered they are as wide as its n_columns, which @rows must hold. */
gboolean td_cone_filter_run (TdConeFilter *filter, TdQueue *queue, TdBuffer *rows, guint row0,
                             guint n_rows, GError **error);
guint64 td_cone_filter_workspace_bytes (const TdConeTask *task, guint max_rows);
void td_cone_filter_free (TdConeFilter *filter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdConeFilter, td_cone_filter_free)
