/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/device/device.h"
#include "filter.h"
#include "row-blend.h"

/* Filters rows of sinograms on a device. */
typedef struct TdRowFilter TdRowFilter;
/* Filters rows of @n_columns into rows of @n_wide, which are wider for half acquisition. */
TdRowFilter *td_row_filter_new (TdDevice *device, guint n_columns, guint n_wide, guint max_rows,
                                GError **error);
/* Cheap: uploads a new response, keeps the FFT. */
gboolean td_row_filter_set (TdRowFilter *filter, const TdFilter *spec, GError **error);
/* Enqueues. From @rows, float [n_rows][n_columns], to @wide, float [n_rows][n_wide]; n_rows <=
   max_rows. @blend: how the rows are weighted and where they lie in the wide ones; NULL: as they
   are, from the first column on. @wide may be @rows if it is at the same place and as wide. The
   workspace is the filter's: runs go one after another, in one queue or with events between. */
gboolean td_row_filter_run (TdRowFilter *filter, TdQueue *queue, TdPlace rows, guint n_rows,
                            const TdRowBlend *blend, TdPlace wide, GError **error);
/* @n_columns: of the wide rows. */
guint64 td_row_filter_workspace_bytes (guint n_columns, guint max_rows);
void td_row_filter_free (TdRowFilter *filter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdRowFilter, td_row_filter_free)
