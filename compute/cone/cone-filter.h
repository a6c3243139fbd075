/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/row-filter.h"
#include "cone.h"

/**
 * FDK's first stage on a device: cosine and redundancy weights, then the ramp filter along detector
 * rows (iFDK, Algorithm 1). Works on slabs of prepared rows, float [row][view][column].
 */
typedef struct TdConeFilter TdConeFilter;

/* Copies what it needs. @geometry: the scan's. max_rows: of one slab, as they are filtered. */
TdConeFilter *td_cone_filter_new (TdDevice *device, const TdConeTask *task,
                                  const TdGeometry *geometry, const double *angles_rad,
                                  const TdFilter *filter, guint max_rows, GError **error);
/* Enqueues; in place. Detector rows [row0, row0 + n_rows) lie in @rows, as wide as the task's
   n_measured; filtered they are as wide as its n_columns, which @rows must hold. */
gboolean td_cone_filter_run (TdConeFilter *filter, TdQueue *queue, TdBuffer *rows, guint row0,
                             guint n_rows, GError **error);
/* For tasks of a level detector (cone-level.h): detector rows [from_row0, from_row0 + from_rows)
   lie in
   @rows, among them td_cone_level_rows() of level rows [row0, row0 + n_rows), which take their
   place. */
gboolean td_cone_filter_run_level (TdConeFilter *filter, TdQueue *queue, TdBuffer *rows,
                                   guint from_row0, guint from_rows, guint row0, guint n_rows,
                                   GError **error);
guint64 td_cone_filter_workspace_bytes (const TdConeTask *task, guint max_rows);
void td_cone_filter_free (TdConeFilter *filter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdConeFilter, td_cone_filter_free)
