/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "filter.h"
#include "row-blend.h"

/* Rows filtered where the host's memory is the device's, in the cache. Two rows make one complex
   line, which FFTW transforms in half the time of two real ones. */
typedef struct TdHostRowFilter TdHostRowFilter;

/* From rows of @n_columns to rows of @n_wide. */
TdHostRowFilter *td_host_row_filter_new (guint n_columns, guint n_wide, guint padded,
                                         GError **error);
/* @response: at all padded frequencies, as td_filter_response() gives it. */
void td_host_row_filter_set (TdHostRowFilter *filter, const double *response,
                             gboolean extend_edges);
/* Blocks. @blend may be NULL. */
void td_host_row_filter_run (TdHostRowFilter *filter, const float *rows, guint n_rows,
                             const TdRowBlend *blend, float *wide);
void td_host_row_filter_free (TdHostRowFilter *filter);
