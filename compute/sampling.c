/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sampling.h"

static const char *const interpolation_names[] = { "nearest", "linear", NULL };
static const char *const precision_names[] = { "single", "half", "half-run", NULL };

const char *const *
td_interpolation_names (void)
{
  return interpolation_names;
}

const char *const *
td_precision_names (void)
{
  return precision_names;
}

const char *
td_interpolation_name (TdInterpolation kind)
{
  return interpolation_names[kind];
}

const char *
td_precision_name (TdPrecision kind)
{
  return precision_names[kind];
}
