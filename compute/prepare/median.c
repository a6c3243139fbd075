/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "median.h"

#include <math.h>

#include "dataset/sort.h"

double
td_median (float *values, gsize n)
{
  gsize finite = 0;

  for (gsize i = 0; i < n; i++)
    if (isfinite (values[i]))
      values[finite++] = values[i];
  if (finite == 0)
    return NAN;
  const gsize middle = finite / 2;
  const float above = td_float_at_rank (values, finite, middle);
  if (finite % 2)
    return above;
  float below = values[0];
  for (gsize i = 1; i < middle; i++)
    below = MAX (below, values[i]);
  return ((double) below + above) / 2;
}
