/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One level of a wavelet transform along profiles, down and up, with half-sample mirrors at the
   ends. A buffer is [row][line][n]; z is the row, an item takes TD_LANES samples of one line. */
#include "rings-common.h"

/* to[k] = sum over i of filter[i] from[2 k - taps + 2 + i]. The lines are those from first_from on
   of from_lines, and from first_to on of to_lines. */
TD_KERNEL void
rings_wavelet_down (TD_ITEM TD_IN (float) from, TD_IN (float) filter, TD_OUT (float) to, int taps,
                    int n_lines, int n_from, int from_lines, int first_from, int n_to, int to_lines)
{
  int item = rings_item (td_global_x (), td_global_y ()), row = td_global_z ();
  int blocks = (n_to + TD_LANES - 1) / TD_LANES;
  int first = item % blocks * TD_LANES, line = item / blocks;

  if (line >= n_lines)
    return;
  int end = td_min (first + TD_LANES, n_to);
  TD_GLOBAL const float *in = from + ((size_t) row * from_lines + first_from + line) * n_from;
  TD_GLOBAL float *out = to + ((size_t) row * to_lines + line) * n_to;
  for (int k = first; k < end; k++) {
    float sum = 0;
    for (int i = 0; i < taps; i++)
      sum = td_fma (filter[i], in[rings_mirrored (2 * k - taps + 2 + i, n_from)], sum);
    out[k] = sum;
  }
}

/* to[m] = sum over k of filter[m - 2 k + taps - 2] from[k]. */
TD_KERNEL void
rings_wavelet_up (TD_ITEM TD_IN (float) from, TD_IN (float) filter, TD_OUT (float) to, int taps,
                  int n_lines, int n_from, int from_lines, int n_to, int to_lines, int first_to)
{
  int item = rings_item (td_global_x (), td_global_y ()), row = td_global_z ();
  int blocks = (n_to + TD_LANES - 1) / TD_LANES;
  int first = item % blocks * TD_LANES, line = item / blocks;

  if (line >= n_lines)
    return;
  int end = td_min (first + TD_LANES, n_to);
  TD_GLOBAL const float *in = from + ((size_t) row * from_lines + line) * n_from;
  TD_GLOBAL float *out = to + ((size_t) row * to_lines + first_to + line) * n_to;
  for (int m = first; m < end; m++) {
    float sum = 0;
    for (int i = m % 2; i < taps; i += 2) {
      int k = (m + taps - 2 - i) / 2;
      if (k < n_from)
        sum = td_fma (filter[i], in[k], sum);
    }
    out[m] = sum;
  }
}
