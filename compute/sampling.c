/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sampling.h"

const char *const td_interpolation_names[] = { "nearest", "linear", NULL };
const char *const td_precision_names[] = { "single", "half", "half-run", NULL };

const char *
td_interpolation_name (TdInterpolation kind)
{
  return td_interpolation_names[kind];
}

const char *
td_precision_name (TdPrecision kind)
{
  return td_precision_names[kind];
}
