/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * Rows of a sinogram in the frequency domain, for methods that filter them, shift them by parts of
 * a pixel without smoothing, or correlate them. Host, single precision, spread over the host's
 * threads.
 */
typedef struct TdAxisSpectrum TdAxisSpectrum;

/* @rows: [n_rows][n_columns]. @edges: continue each row with its edge values, fading from the last
   to the first in the padding, else with zeros. NULL: no memory. */
TdAxisSpectrum *td_axis_spectrum_new (const float *rows, guint n_rows, guint n_columns,
                                      gboolean edges);
void td_axis_spectrum_free (TdAxisSpectrum *spectrum);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdAxisSpectrum, td_axis_spectrum_free)

guint td_axis_spectrum_length (const TdAxisSpectrum *spectrum); /* padded, at least 2 n_columns */
/* Bins 0 … length / 2 of one row, interleaved real and imaginary. */
const float *td_axis_spectrum_bins (const TdAxisSpectrum *spectrum, guint row);

/* @response: real, bins 0 … length / 2. */
void td_axis_spectrum_filter (TdAxisSpectrum *spectrum, const double *response);
/* Rows [first, first + count) back, @n columns from @start on: out (i) = row (start + i),
   band-limited between samples. */
void td_axis_spectrum_rows (const TdAxisSpectrum *spectrum, guint first, guint count, double start,
                            guint n, float *out);
