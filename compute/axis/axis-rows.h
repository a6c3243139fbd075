/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "axis-methods.h"

/**
 * The sinograms that a search looks at. Each is the mean of a band of neighbouring rows: it is the
 * sinogram of their mean slice, with less noise. One thread.
 */
typedef struct TdAxisRows TdAxisRows;

/* @options may be NULL. Allocates on the device, and reads nothing yet. */
TdAxisRows *td_axis_rows_new (const TdRowSource *source, const TdAxisOptions *options,
                              GError **error);
void td_axis_rows_free (TdAxisRows *rows);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdAxisRows, td_axis_rows_free)

guint td_axis_rows_count (const TdAxisRows *rows);
guint td_axis_rows_row (const TdAxisRows *rows, guint index); /* middle of the band */

/* Reads and prepares a band. Returns: (transfer full): float [n_views][n_columns]. Blocks. */
float *td_axis_rows_read (TdAxisRows *rows, guint index, GCancellable *cancellable, GError **error);
/* Frees what reading took, once all bands are read. */
void td_axis_rows_end (TdAxisRows *rows);

/* Removes from every column by how much its mean over the views differs from the neighbours'.
   What makes rings stands still on the detector while the sample turns. */
void td_axis_destripe (float *sinogram, guint n_views, guint n_columns);
/* The sinogram is noise only: neighbouring samples differ as much as distant ones. */
gboolean td_axis_blank (const float *sinogram, guint n_views, guint n_columns);
