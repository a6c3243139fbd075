/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sort.h"

#include <math.h>
#include <string.h>

int
td_compare_doubles (const void *a, const void *b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

int
td_compare_strings (const void *a, const void *b)
{
  return strcmp (*(char *const *) a, *(char *const *) b);
}

/* The middle one of three, so that sorted values take no longer than others. */
static float
sort_middle_of (float a, float b, float c)
{
  return a < b ? (b < c ? b : MAX (a, c)) : (a < c ? a : MAX (b, c));
}

/* Moves values of [@first, @end) that are smaller than @pivot, or with @equal also those that are
   the pivot, to the front. Without branches, whose guesses are wrong half of the time. Returns the
   end of these. */
static gsize
sort_part (float *values, gsize first, gsize end, float pivot, gboolean equal)
{
  for (gsize i = first; i < end; i++) {
    const float value = values[i];

    values[i] = values[first];
    values[first] = value;
    first += equal ? value <= pivot : value < pivot;
  }
  return first;
}

float
td_float_at_rank (float *values, gsize n, gsize rank)
{
  gsize first = 0, end = n;

  while (end - first > 1) {
    const float pivot
        = sort_middle_of (values[first], values[first + (end - 1 - first) / 2], values[end - 1]);
    const gsize smaller = sort_part (values, first, end, pivot, FALSE);

    if (rank < smaller) {
      end = smaller;
      continue;
    }
    first = sort_part (values, smaller, end, pivot, TRUE);
    if (rank < first)
      break;
  }
  return values[rank];
}

gsize
td_keep_finite (float *values, gsize n)
{
  gsize finite = 0;

  for (gsize i = 0; i < n; i++)
    if (isfinite (values[i]))
      values[finite++] = values[i];
  return finite;
}

double
td_median (float *values, gsize n)
{
  const gsize finite = td_keep_finite (values, n), middle = finite / 2;

  if (finite == 0)
    return NAN;
  const float above = td_float_at_rank (values, finite, middle);
  if (finite % 2)
    return above;
  float below = values[0];
  for (gsize i = 1; i < middle; i++)
    below = MAX (below, values[i]);
  return ((double) below + above) / 2;
}
