/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/row-filter.h"
#include "cone.h"

/**
 * FDK's first stage on a device (iFDK, Algorithm 1): cosine and redundancy weights, then the ramp
 * filter along detector rows. It works on chunks of prepared rows, float [row][view][column].
 */
typedef struct TdConeFilter TdConeFilter;

/* Copies what it needs. @geometry: the scan's. @max_rows: of one chunk, as they are filtered. */
TdConeFilter *td_cone_filter_new (TdDevice *device, const TdConeTask *task,
                                  const TdGeometry *geometry, const double *angles_rad,
                                  const TdFilter *filter, guint max_rows, GError **error);
/* From now on rows have the views of @task, as many as before, which else is the filter's own. What
   was enqueued has ended. Blocks. */
gboolean td_cone_filter_set_views (TdConeFilter *filter, const TdConeTask *task,
                                   const TdGeometry *geometry, const double *angles_rad,
                                   GError **error);
/* Enqueues; in place. Detector rows @which lie in @rows, as wide as the task's n_measured. Filtered
   rows are as wide as its n_columns, and @rows must hold them. */
gboolean td_cone_filter_run (TdConeFilter *filter, TdQueue *queue, TdBuffer *rows, TdRowRange which,
                             GError **error);
/* For tasks of a rectified detector (cone-rectify.h). Detector rows @given lie in @rows, at least
   the td_cone_rectify_rows() of rectified rows @which. The latter take their place. */
gboolean td_cone_filter_run_rectified (TdConeFilter *filter, TdQueue *queue, TdBuffer *rows,
                                       TdRowRange given, TdRowRange which, GError **error);
guint64 td_cone_filter_workspace_bytes (const TdConeTask *task, guint max_rows);
void td_cone_filter_free (TdConeFilter *filter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdConeFilter, td_cone_filter_free)
