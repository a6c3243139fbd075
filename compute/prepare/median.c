/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "median.h"

#include <math.h>
#include <stdlib.h>

static int
compare_floats (const void *a, const void *b)
{
  float x = *(const float *) a, y = *(const float *) b;

  return x < y ? -1 : x > y;
}

double
td_median (float *values, gsize n)
{
  gsize finite = 0;

  for (gsize i = 0; i < n; i++)
    if (isfinite (values[i]))
      values[finite++] = values[i];
  qsort (values, finite, sizeof *values, compare_floats);
  if (finite == 0)
    return NAN;
  return finite % 2 ? values[finite / 2]
                    : ((double) values[finite / 2 - 1] + values[finite / 2]) / 2;
}
