/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "segment.h"

#include <math.h>

double
td_segment_otsu (const float *values, gsize n)
{
  enum { BINS = 512 };
  double count[BINS] = { 0 }, low = INFINITY, high = -INFINITY, total = 0, best = -1, threshold = 0;

  for (gsize i = 0; i < n; i++) {
    low = MIN (low, values[i]);
    high = MAX (high, values[i]);
  }
  for (gsize i = 0; i < n; i++)
    count[MIN (BINS - 1, (guint) ((values[i] - low) / (high - low) * BINS))]++;
  for (guint b = 0; b < BINS; b++)
    total += b * count[b];

  double below = 0, sum = 0;
  for (guint b = 0; b + 1 < BINS; b++) {
    below += count[b];
    sum += b * count[b];
    const double above = (double) n - below;
    if (below == 0 || above == 0)
      continue;
    const double apart = sum / below - (total - sum) / above;
    const double between = below * above * apart * apart;
    if (between > best) {
      best = between;
      threshold = low + (b + 1) * (high - low) / BINS;
    }
  }
  return threshold;
}

double
td_segment_dice (const float *values, gsize n, double threshold, const guint8 *truth)
{
  gsize both = 0, ours = 0, theirs = 0;

  for (gsize i = 0; i < n; i++) {
    ours += values[i] > threshold;
    theirs += truth[i] > 0;
    both += values[i] > threshold && truth[i] > 0;
  }
  return 2.0 * both / (ours + theirs);
}
