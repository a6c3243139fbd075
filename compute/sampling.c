/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sampling.h"

#include <math.h>

const char *const td_interpolation_names[] = { "nearest", "linear", "auto", NULL };
const char *const td_precision_names[] = { "single", "half", "half-run", "auto", NULL };
const char *const td_accuracy_names[] = { "single", "standard", "draft", NULL };

double
td_accuracy_limit (TdAccuracy accuracy)
{
  static const double limits[] = { 1e-5, 2e-4, 5e-3 };

  return limits[accuracy];
}

double
td_relative_error (const float *got, const double *truth, gsize n)
{
  double off = 0, norm = 0;

  for (gsize i = 0; i < n; i++) {
    off += (got[i] - truth[i]) * (got[i] - truth[i]);
    norm += truth[i] * truth[i];
  }
  return sqrt (off / norm);
}
