/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wavelet.h"

#include <string.h>

static const double db2[] = {
  0.482962913144534,
  0.836516303737808,
  0.224143868042013,
  -0.129409522551260,
};
static const double db5[] = {
  0.160102397974193,  0.603829269797190, 0.724308528437773,  0.138428145901321,  -0.242294887066382,
  -0.032244869584639, 0.077571493840046, -0.006241490212798, -0.012580751999082, 0.003335725285474,
};
static const double db9[] = {
  0.038077947363878,  0.243834674612590,  0.604823123690111,  0.657288078051299,
  0.133197385825010,  -0.293273783279176, -0.096840783222975, 0.148540749338106,
  0.030725681479333,  -0.067632829061330, 0.000250947114831,  0.022361662123679,
  -0.004723204757751, -0.004281503682463, 0.001847646883056,  0.000230385763523,
  -0.000251963188943, 0.000039347320316,
};

const TdWavelet td_wavelets[3] = {
  { "db2", G_N_ELEMENTS (db2), db2 },
  { "db5", G_N_ELEMENTS (db5), db5 },
  { "db9", G_N_ELEMENTS (db9), db9 },
};
const char *const td_wavelet_names[] = { "db2", "db5", "db9", NULL };

void
td_wavelet_high (const TdWavelet *wavelet, double *high)
{
  for (guint i = 0; i < wavelet->taps; i++)
    high[i] = (i % 2 ? -1 : 1) * wavelet->low[wavelet->taps - 1 - i];
}

guint
td_wavelet_half (const TdWavelet *wavelet, guint n)
{
  return (n + wavelet->taps - 1) / 2;
}

guint
td_wavelet_max_levels (const TdWavelet *wavelet, guint n)
{
  guint levels = 1;

  while (n / 2 >= (guint64) (wavelet->taps - 1) << levels && levels < 16)
    levels++;
  return levels;
}

void
td_wavelet_up (const double *filter, guint taps, const double *half, guint n_half, double *out,
               guint n)
{
  for (guint m = 0; m < n; m++) {
    out[m] = 0;
    for (guint i = m % 2; i < taps; i += 2) {
      guint k = (m + taps - 2 - i) / 2;
      if (k < n_half)
        out[m] += filter[i] * half[k];
    }
  }
}

void
td_wavelet_down_transposed (const double *filter, guint taps, const double *weights, guint n_half,
                            double *out, guint n)
{
  memset (out, 0, n * sizeof *out);
  for (guint k = 0; k < n_half; k++)
    for (guint i = 0; i < taps; i++) {
      gint64 at = 2 * (gint64) k - taps + 2 + i;
      while (at < 0 || at >= n)
        at = at < 0 ? -1 - at : 2 * (gint64) n - 1 - at;
      out[at] += weights[k] * filter[i];
    }
}
