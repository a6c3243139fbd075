/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/device/device.h"
#include "filter.h"
#include "row-blend.h"

/* Filters rows of sinograms on a device. */
typedef struct TdRowFilter TdRowFilter;
TdRowFilter *td_row_filter_new (TdDevice *device, guint n_columns, guint max_rows, GError **error);
/* Cheap: uploads a new response, keeps the FFT. */
gboolean td_row_filter_set (TdRowFilter *filter, const TdFilter *spec, GError **error);
/* Enqueues. @rows: float [n_rows][n_columns] in place. n_rows <= max_rows. The
   workspace is the filter's: runs go one after another, in one queue or with events between. */
gboolean td_row_filter_run (TdRowFilter *filter, TdQueue *queue, TdPlace rows, guint n_rows,
                            GError **error);
/* Filters into rows of @n_wide columns, for half acquisition; workspace as for @n_wide. */
TdRowFilter *td_row_filter_new_wide (TdDevice *device, guint n_columns, guint n_wide,
                                     guint max_rows, GError **error);
/* As td_row_filter_run(), from @rows to @wide, float [n_rows][n_wide].
   @blend: how the rows are weighted and where they lie in the wide ones; NULL: as they are, from
   the first column on. @wide may be @rows if it is at the same place and as wide. */
gboolean td_row_filter_run_to (TdRowFilter *filter, TdQueue *queue, TdPlace rows, guint n_rows,
                               const TdRowBlend *blend, TdPlace wide, GError **error);
guint64 td_row_filter_workspace_bytes (guint n_columns, guint max_rows);
void td_row_filter_free (TdRowFilter *filter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdRowFilter, td_row_filter_free)
