/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/filter.h"

/**
 * The row filter in double precision, for references: what compute/row-filter.h does on a device.
 */
typedef struct TdLabFilter TdLabFilter;

/* Rows of @n columns become rows of @n_wide, in which the first one comes to column @shift. NULL
   with @error: no memory. */
TdLabFilter *td_lab_filter_new (const TdFilter *filter, guint n, guint n_wide, guint shift,
                                GError **error);
/* @row: n values, weighted already. @wide: n_wide. Any thread, several at once. */
void td_lab_filter_run (const TdLabFilter *self, const double *row, double *wide);
/* The response at the td_filter_padded_size (n_wide) frequencies, as td_filter_response() gives it.
 */
const double *td_lab_filter_response (const TdLabFilter *self);
void td_lab_filter_free (TdLabFilter *self); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdLabFilter, td_lab_filter_free)

/* ── Rounding ── */

/* To 11 significant bits: binary16 within its normal range. */
double td_lab_half (double value);
/* As kernels of parallel beams store halves: a power of two brings the greatest value to 512 … 1024
   (td_half_factor() of backproject-common.h). Then what is below 2^-14 is rounded to multiples of
   2^-24. A cone's kernels leave more room above, which changes only values that small. */
void td_lab_store_half (double *values, gsize n);
