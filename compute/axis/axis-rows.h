/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "axis-methods.h"

/**
 * The rows that a search tries, prepared: each is the mean of a band of neighbouring rows, which is
 * the sinogram of their mean slice with that much less noise. One thread.
 */
typedef struct TdAxisRows TdAxisRows;

/* @options may be NULL. Opens nothing, reads nothing yet. */
TdAxisRows *td_axis_rows_new (TdDevice *device, TdScan *scan, const TdStep *steps, guint n_steps,
                              const TdAxisOptions *options, GError **error);
void td_axis_rows_free (TdAxisRows *rows);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdAxisRows, td_axis_rows_free)

guint td_axis_rows_count (const TdAxisRows *rows);
guint td_axis_rows_row (const TdAxisRows *rows, guint index); /* middle of the band */

/* Reads and prepares a band: (transfer full), float [n_views][n_columns], without the stripes of
   single columns. Blocks. */
float *td_axis_rows_read (TdAxisRows *rows, guint index, GCancellable *cancellable, GError **error);

/* Subtracts from every column what its mean over the views stands out from its neighbours' by: what
   makes rings turns with the detector, not with the sample. */
void td_axis_destripe (float *sinogram, guint n_views, guint n_columns);
/* Nothing but noise: neighbouring samples differ as much as distant ones. */
gboolean td_axis_blank (const float *sinogram, guint n_views, guint n_columns);
