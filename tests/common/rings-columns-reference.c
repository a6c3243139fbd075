/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rings-columns-reference.h"

#include <math.h>
#include <stdlib.h>

#include "compute/prepare/rings/rings-offsets.h"
#include "dataset/sort.h"

#define AT(s, view, column) ((s)->values[(gsize) (view) * (s)->n_columns + (column)])

static double
middle (double *list, guint n)
{
  qsort (list, n, sizeof *list, td_compare_doubles);
  return 0.5 * (list[(n - 1) / 2] + list[n / 2]);
}

/* Where the distances, clipped at @bound, sum up to nothing. */
static double
huber_location (const double *values, guint n, double at, double bound)
{
  for (guint step = 0; step < 100; step++) {
    double sum = 0;
    guint inside = 0;
    for (guint i = 0; i < n; i++) {
      sum += CLAMP (values[i] - at, -bound, bound);
      inside += fabs (values[i] - at) < bound;
    }
    at += CLAMP (sum / MAX (inside, 1), -bound, bound);
  }
  return at;
}

/* What is told of one column's second differences. Three numbers are medians over the blocks: the
   median, the distance of the quartiles, and how far these lie aside. Where there is noise, Huber's
   location of all takes the place of the first. The fourth is the range of the blocks' medians
   without the two that differ most. */
static void
look_at (const TdSinogram *s, guint c, double bound, const TdColumnNumbers *columns)
{
  guint n_blocks = CLAMP (s->n_views / 8, 1, 8), n = s->n_views / n_blocks;
  g_autofree double *all = g_new (double, (gsize) n_blocks *n);
  double medians[8], widths[8], skews[8];

  for (guint block = 0; block < n_blocks; block++) {
    double *list = all + (gsize) block * n;
    for (guint i = 0; i < n; i++) {
      guint v = block * n + i;
      list[i] = 2 * AT (s, v, c) - AT (s, v, c > 0 ? c - 1 : 0)
                - AT (s, v, MIN (c + 1, s->n_columns - 1));
    }
    medians[block] = middle (list, n);
    widths[block] = list[n - 1 - n / 4] - list[n / 4];
    skews[block] = 0.5 * (list[n - 1 - n / 4] + list[n / 4]) - medians[block];
  }
  double median = middle (medians, n_blocks);
  columns->medians[c] = bound > 0 ? huber_location (all, n_blocks * n, median, bound) : median;
  columns->widths[c] = middle (widths, n_blocks);
  columns->skews[c] = fabs (middle (skews, n_blocks));
  columns->spreads[c] = medians[n_blocks - 1 - n_blocks / 8] - medians[n_blocks / 8];
}

static float
roughness (const TdSinogram *s, guint c)
{
  double sum = 0;

  for (guint v = 0; v < s->n_views; v++) {
    double before = AT (s, v > 0 ? v - 1 : 0, c), after = AT (s, MIN (v + 1, s->n_views - 1), c);
    double away = fabs (AT (s, v, c) - (before + AT (s, v, c) + after) / 3);
    sum += away > 1e-6 * fabs (AT (s, v, c)) ? away : 0;
  }
  return (float) sum;
}

void
td_column_numbers_init (TdColumnNumbers *columns, const TdSinogram *s)
{
  guint n = s->n_columns, n_blocks = CLAMP (s->n_views / 8, 1, 8);
  g_autofree float *sums = g_new0 (float, n), *bounds = g_new (float, n);

  columns->n_samples = s->n_views / n_blocks * n_blocks;
  columns->medians = g_new (float, 5 * (gsize) n);
  columns->spreads = columns->medians + n;
  columns->widths = columns->spreads + n;
  columns->skews = columns->widths + n;
  columns->roughness = columns->skews + n;
  for (guint c = 0; c < n; c++) {
    for (guint v = 0; v < s->n_views; v++)
      sums[c] += AT (s, v, c);
    columns->roughness[c] = roughness (s, c);
  }
  td_rings_noise_bounds (sums, columns->roughness, n, s->n_views, bounds);
  for (guint c = 0; c < n; c++)
    look_at (s, c, bounds[c], columns);
}

void
td_column_numbers_clear (TdColumnNumbers *columns)
{
  g_free (columns->medians);
}
