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

static double
curvature (const TdSinogram *s, guint v, guint c)
{
  return 2 * AT (s, v, c) - AT (s, v, c > 0 ? c - 1 : 0) - AT (s, v, MIN (c + 1, s->n_columns - 1));
}

/* What is told of one column's second differences. Three numbers are medians over the blocks: the
   median, the distance of the quartiles, and how far these lie aside. The fourth is the range of
   the blocks' medians without the two that differ most. */
static void
look_at (const TdSinogram *s, guint c, const TdColumnNumbers *columns)
{
  guint n_blocks = CLAMP (s->n_views / 8, 1, 8), n = s->n_views / n_blocks;
  g_autofree double *list = g_new (double, n);
  double medians[8], widths[8], skews[8];

  for (guint block = 0; block < n_blocks; block++) {
    for (guint i = 0; i < n; i++)
      list[i] = curvature (s, block * n + i, c);
    medians[block] = middle (list, n);
    widths[block] = list[n - 1 - n / 4] - list[n / 4];
    skews[block] = 0.5 * (list[n - 1 - n / 4] + list[n / 4]) - medians[block];
  }
  columns->medians[c] = middle (medians, n_blocks);
  columns->widths[c] = middle (widths, n_blocks);
  columns->skews[c] = fabs (middle (skews, n_blocks));
  columns->spreads[c] = medians[n_blocks - 1 - n_blocks / 8] - medians[n_blocks / 8];
}

/* ── Noise ── */

/* Tukey's weight. */
static double
biweight (double away)
{
  return fabs (away) < 1 ? pow (1 - away * away, 2) : 0;
}

/* Second differences of arcs of the turn, [arc][column], and the deviation of their noise. */
typedef struct {
  guint n, n_columns;
  double *values, *deviations, *located;
} Arcs;

/* The weighted mean of a column's arcs. */
static double
locate_arcs (const Arcs *arcs, guint c, double at)
{
  for (guint step = 0; step < 8; step++) {
    double sum = 0, weights = 0;
    for (guint arc = 0; arc < arcs->n; arc++) {
      double away = arcs->values[arc * arcs->n_columns + c] - at;
      double weight = biweight (away / (5 * arcs->deviations[c]));
      sum += weight * away;
      weights += weight;
    }
    at += sum / MAX (weights, 1);
  }
  return at;
}

/* The same without arcs in which three columns stand out together. */
static double
mean_arcs (const Arcs *arcs, guint c, float *share)
{
  double sum = 0, weights = 0;

  for (guint arc = 0; arc < arcs->n; arc++) {
    double aways[3], together = 0;
    for (guint k = 0; k < 3; k++) {
      guint at = (guint) CLAMP ((int) (c + k) - 1, 0, (int) arcs->n_columns - 1);
      aways[k]
          = (arcs->values[arc * arcs->n_columns + at] - arcs->located[at]) / arcs->deviations[at];
      together += aways[k];
    }
    double weight
        = biweight (aways[1] / 5) * MAX (biweight (together / (4 * sqrt (2.0 / 3))), 1e-3);
    sum += weight * aways[1];
    weights += weight;
  }
  *share = (float) (weights / arcs->n);
  return arcs->located[c] + arcs->deviations[c] * sum / MAX (weights, 0.5);
}

static void
take_common (const TdSinogram *s, const float *bounds, const TdColumnNumbers *columns)
{
  guint n = s->n_columns, length = MAX (s->n_views / 32, 1), n_arcs = s->n_views / length;
  g_autofree double *memory = g_new0 (double, (n_arcs + 2) * (gsize) n);
  const Arcs arcs = { n_arcs, n, memory + 2 * (gsize) n, memory, memory + n };

  for (guint arc = 0; arc < n_arcs; arc++)
    for (guint v = arc * length; v < (arc + 1) * length; v++)
      for (guint c = 0; c < n; c++)
        arcs.values[(gsize) arc * n + c] += curvature (s, v, c) / length;
  for (guint c = 0; c < n; c++) {
    arcs.deviations[c] = 0.5 * bounds[c] / sqrt (length);
    arcs.located[c] = bounds[c] > 0 ? locate_arcs (&arcs, c, columns->medians[c]) : 0;
  }
  for (guint c = 0; c < n; c++)
    if (bounds[c] > 0)
      columns->medians[c] = (float) mean_arcs (&arcs, c, &columns->shares[c]);
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
  g_autofree float *sums = g_new0 (float, n);

  columns->n_samples = s->n_views / n_blocks * n_blocks;
  columns->medians = g_new (float, 7 * (gsize) n);
  columns->n_parts = n_blocks;
  columns->spreads = columns->medians + n;
  columns->widths = columns->spreads + n;
  columns->skews = columns->widths + n;
  columns->roughness = columns->skews + n;
  columns->bounds = columns->roughness + n;
  columns->shares = columns->bounds + n;
  for (guint c = 0; c < n; c++) {
    for (guint v = 0; v < s->n_views; v++)
      sums[c] += AT (s, v, c);
    columns->roughness[c] = roughness (s, c);
  }
  td_rings_noise_bounds (sums, columns->roughness, n, s->n_views, columns->bounds);
  for (guint c = 0; c < n; c++)
    look_at (s, c, columns);
  take_common (s, columns->bounds, columns);
}

void
td_column_numbers_clear (TdColumnNumbers *columns)
{
  g_free (columns->medians);
}
