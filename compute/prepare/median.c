/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "median.h"

#include <math.h>

static void
median_swap (float *values, gsize a, gsize b)
{
  const float value = values[a];

  values[a] = values[b];
  values[b] = value;
}

/* Of three, so that values that are sorted already take no longer than others. */
static float
middle_of (float a, float b, float c)
{
  return a < b ? (b < c ? b : MAX (a, c)) : (a < c ? a : MAX (b, c));
}

/* Moves what is smaller than the @k-th value before it and what is larger behind it (Hoare). */
static void
select_value (float *values, gsize n, gsize k)
{
  gsize first = 0, last = n - 1;

  while (first < last) {
    const float pivot = middle_of (values[first], values[first + (last - first) / 2], values[last]);
    gsize left = first, right = last;
    for (;;) {
      while (values[left] < pivot)
        left++;
      while (pivot < values[right])
        right--;
      if (left >= right)
        break;
      median_swap (values, left++, right--);
    }
    /* All before left are at most the pivot, all behind right at least; one between is it. */
    if (k > right)
      first = right + 1;
    else
      last = right;
  }
}

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
  select_value (values, finite, middle);
  if (finite % 2)
    return values[middle];
  float below = values[0];
  for (gsize i = 1; i < middle; i++)
    below = MAX (below, values[i]);
  return ((double) below + values[middle]) / 2;
}
