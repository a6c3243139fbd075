/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "median.h"

#include <math.h>

/* Of three, so that values that are sorted already take no longer than others. */
static float
middle_of (float a, float b, float c)
{
  return a < b ? (b < c ? b : MAX (a, c)) : (a < c ? a : MAX (b, c));
}

/* Moves values of [@first, @end) that are smaller than @pivot, or with @equal also those that are
   the pivot, to the front. Without branches, whose guesses are wrong half of the time. Returns the
   end of these. */
static gsize
median_part (float *values, gsize first, gsize end, float pivot, gboolean equal)
{
  for (gsize i = first; i < end; i++) {
    const float value = values[i];

    values[i] = values[first];
    values[first] = value;
    first += equal ? value <= pivot : value < pivot;
  }
  return first;
}

/* Moves what is smaller than the @k-th value before it and what is larger behind it. */
static void
select_value (float *values, gsize n, gsize k)
{
  gsize first = 0, end = n;

  while (end - first > 1) {
    const float pivot
        = middle_of (values[first], values[first + (end - 1 - first) / 2], values[end - 1]);
    const gsize smaller = median_part (values, first, end, pivot, FALSE);

    if (k < smaller) {
      end = smaller;
      continue;
    }
    first = median_part (values, smaller, end, pivot, TRUE);
    if (k < first)
      return;
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
