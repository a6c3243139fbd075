/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * TdWavelet: Daubechies' orthogonal wavelets of extremal phase. One level of the transform takes a
 * line to its low half, or with the other filter to its high half. Lines are mirrored at their
 * ends, half a sample beyond the last. So a half has (n + taps - 1) / 2 samples.
 */
typedef struct {
  const char *name; /* "db5" */
  guint taps;
  const double *low; /* scaling filter; sums to sqrt (2) */
} TdWavelet;

#define TD_WAVELET_MAX_TAPS 18

extern const TdWavelet td_wavelets[3];
extern const char *const td_wavelet_names[]; /* the same, ending with NULL */

/* The high half's filter, (-1)^i low[taps - 1 - i]. */
void td_wavelet_high (const TdWavelet *wavelet, double *high);
guint td_wavelet_half (const TdWavelet *wavelet, guint n);
/* The most levels that leave a line longer than the filter; at least 1. */
guint td_wavelet_max_levels (const TdWavelet *wavelet, guint n);

/* @out: what the half at @half gives back of a line of @n samples. */
void td_wavelet_up (const double *filter, guint taps, const double *half, guint n_half, double *out,
                    guint n);
/* The transpose of going down. @out[i] is how much sample i of a line of @n samples counts in the
   sum over k of weights[k] half[k]. */
void td_wavelet_down_transposed (const double *filter, guint taps, const double *weights,
                                 guint n_half, double *out, guint n);
