/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "filter.h"

#include <math.h>

#include "compute/device/device.h"
#include "compute/device/host-fft.h"

const char *const td_filter_names[] = {
  [TD_FILTER_NONE] = "none",
  [TD_FILTER_RAM_LAK] = "ram-lak",
  [TD_FILTER_SHEPP_LOGAN] = "shepp-logan",
  [TD_FILTER_COSINE] = "cosine",
  [TD_FILTER_HAMMING] = "hamming",
  [TD_FILTER_HANN] = "hann",
  [TD_FILTER_PARZEN] = "parzen",
  [TD_FILTER_BUTTERWORTH] = "butterworth",
  NULL,
};

#define DEFAULT_ORDER 4

guint
td_filter_padded_size (guint n_columns)
{
  return td_fft_good_size (2 * MAX (n_columns, 1));
}

/* The ramp's response: the transform of the band-limited kernel, laid out around 0 with period n.
 */
static gboolean
ramp_response (guint n, double *response)
{
  const guint half = n / 2;

  for (guint i = 0; i <= half; i++)
    response[i] = i == 0 ? 0.25 : i % 2 == 0 ? 0 : -1 / (G_PI * G_PI * i * i);
  if (!td_fftw_even (response, n, 1))
    return FALSE;
  for (guint i = half + 1; i < n; i++)
    response[i] = response[n - i];
  return TRUE;
}

/* The window at @w, the frequency in units of the cut-off; 1 at 0 for all of them, so that every
   filter keeps the mean. */
static double
window_at (const TdFilter *filter, double w)
{
  double half_turn = G_PI * w;

  if (filter->kind == TD_FILTER_BUTTERWORTH)
    return 1 / sqrt (1 + pow (w, 2.0 * (filter->order ? filter->order : DEFAULT_ORDER)));
  /* One part in 10^12 lets the cut-off's own frequency pass whatever its rounding. */
  if (w > 1 + 1e-12)
    return 0;

  switch (filter->kind) {
  case TD_FILTER_SHEPP_LOGAN: return w == 0 ? 1 : sin (half_turn / 2) / (half_turn / 2);
  case TD_FILTER_COSINE: return cos (half_turn / 2);
  case TD_FILTER_HAMMING: return 0.54 + 0.46 * cos (half_turn);
  case TD_FILTER_HANN: return 0.5 + 0.5 * cos (half_turn);
  case TD_FILTER_PARZEN: return w <= 0.5 ? 1 - 6 * w * w * (1 - w) : 2 * pow (1 - w, 3);
  default: return 1;
  }
}

gboolean
td_filter_response (const TdFilter *filter, guint n, double *response)
{
  double cutoff = filter->cutoff > 0 && filter->cutoff <= 1 ? filter->cutoff : 1;

  if (filter->kind == TD_FILTER_NONE) {
    for (guint i = 0; i < n; i++)
      response[i] = 1;
    return TRUE;
  }
  if (!ramp_response (n, response))
    return FALSE;
  for (guint i = 0; i < n; i++)
    response[i] *= window_at (filter, 2.0 * MIN (i, n - i) / n / cutoff);
  return TRUE;
}
