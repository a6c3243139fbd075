/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * The ramp filter and its windows (Kak and Slaney, ch. 3). The ramp is the transform of the
 * band-limited kernel (eq. 61: 1/4 at 0, -1/(pi n)^2 at odd n), not |f| sampled, so that the mean
 * is right; windows multiply it. Rows are zero-padded to at least twice their length.
 */
typedef enum {
  TD_FILTER_NONE, /* plain back-projection */
  TD_FILTER_RAM_LAK,
  TD_FILTER_SHEPP_LOGAN,
  TD_FILTER_COSINE,
  TD_FILTER_HAMMING,
  TD_FILTER_HANN,
  TD_FILTER_PARZEN,
  TD_FILTER_BUTTERWORTH,
} TdFilterKind;

typedef struct {
  TdFilterKind kind;
  double cutoff; /* 0 < cutoff <= 1, of the Nyquist frequency: the window's width (Butterworth: half
                    power); beyond it the response is 0 (Butterworth: falls on) */
  guint order;   /* Butterworth; default 4 */
  gboolean extend_edges; /* pad with the edge values instead of zeros: for truncated projections
                            (region-of-interest scans), so that no bright rim appears */
} TdFilter;

extern const char *const td_filter_names[]; /* "none", "ram-lak", …; ends with NULL */

/* Length the rows are padded to: td_fft_good_size (2 * n_columns), at least. */
guint td_filter_padded_size (guint n_columns);
/* The response at the n FFT frequencies in FFT order, in double: real, symmetric; in 1/pixel.
   FALSE: no memory. */
gboolean td_filter_response (const TdFilter *filter, guint n, double *response);
