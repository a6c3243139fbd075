/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "axis-pairs.h"

#include <math.h>
#include <stdlib.h>

#include "compute/angles.h"
#include "dataset/sort.h"

/* A pair is exact if it misses half a turn by less than this part of a step. */
#define EXACT 0.02
/* Views this many steps apart still bracket a third. */
#define BRACKET 1.6
/* Steps by which a pair may miss half a turn where there is none better, and the largest angle. */
#define MISS_STEPS 3.5
#define MISS_RAD (12 * G_PI / 180)

static double
axis_pairs_fold (double angle)
{
  double folded = fmod (angle, 2 * G_PI);
  return folded < 0 ? folded + 2 * G_PI : folded;
}

double
td_axis_step (const double *angles_rad, guint n_views, double *range_rad)
{
  g_autofree TdDirection *places = td_angles_sorted (angles_rad, n_views, 0);
  g_autofree double *steps = g_new (double, n_views);
  guint n = 0;

  for (guint i = 1; i < n_views; i++)
    if (places[i].angle - places[i - 1].angle > 1e-9)
      steps[n++] = places[i].angle - places[i - 1].angle;
  if (range_rad)
    *range_rad = places[n_views - 1].angle - places[0].angle;
  if (n == 0)
    return 0;
  qsort (steps, n, sizeof *steps, td_compare_doubles);
  return steps[n / 2];
}

/* The view before and the one after half a turn on from @place, if they are neighbours enough. */
static gboolean
axis_pairs_bracket (const TdDirection *places, guint n, guint at, double step, TdAxisPair *pair)
{
  double opposite = axis_pairs_fold (places[at].angle + G_PI), below, above;
  guint low = 0, high = n;

  while (low < high) {
    guint middle = (low + high) / 2;
    if (places[middle].angle <= opposite)
      low = middle + 1;
    else
      high = middle;
  }
  const TdDirection *before = &places[(low + n - 1) % n], *after = &places[low % n];
  below = axis_pairs_fold (opposite - before->angle);
  above = axis_pairs_fold (after->angle - opposite);
  *pair = (TdAxisPair) { places[at].view, before->view, after->view, 0, 0 };
  if (below < EXACT * step) {
    pair->above = before->view;
    return TRUE;
  }
  if (above < EXACT * step) {
    pair->below = after->view;
    return TRUE;
  }
  pair->share = below / (below + above);
  return below + above < BRACKET * step;
}

static int
compare_pairs (const void *a, const void *b)
{
  double x = fabs (((const TdAxisPair *) a)->off_rad), y = fabs (((const TdAxisPair *) b)->off_rad);
  return (x > y) - (x < y);
}

/* Pairs that miss half a turn by the least. */
static void
add_near_pairs (GArray *pairs, const double *angles_rad, guint n, double step)
{
  double most = MIN (MISS_STEPS * step, MISS_RAD);

  for (guint i = 0; i < n; i++)
    for (guint j = i + 1; j < n; j++) {
      double apart = axis_pairs_fold (angles_rad[j] - angles_rad[i]), off = apart - G_PI;
      if (fabs (off) <= most)
        g_array_append_vals (pairs, &(TdAxisPair) { i, j, j, 0, off }, 1);
    }
  qsort (pairs->data, pairs->len, sizeof (TdAxisPair), compare_pairs);
}

GArray *
td_axis_pairs (const double *angles_rad, guint n_views)
{
  g_autofree TdDirection *places = td_angles_sorted (angles_rad, n_views, 2 * G_PI);
  GArray *pairs = g_array_new (FALSE, FALSE, sizeof (TdAxisPair));
  double step = n_views > 1 ? td_axis_step (angles_rad, n_views, NULL) : 0;
  TdAxisPair pair;

  if (step <= 0)
    return pairs;
  for (guint i = 0; i < n_views; i++)
    if (axis_pairs_bracket (places, n_views, i, step, &pair) && pair.below != pair.view
        && pair.above != pair.view)
      g_array_append_val (pairs, pair);
  if (pairs->len == 0)
    add_near_pairs (pairs, angles_rad, n_views, step);
  return pairs;
}
