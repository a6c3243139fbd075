/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "flats.h"

typedef struct {
  double position;
  guint flat;
} Taken;

static int
compare_taken (const void *a, const void *b)
{
  const Taken *x = a, *y = b;

  return x->position < y->position ? -1 : x->position > y->position;
}

static gboolean
know_positions (const TdScanFacts *facts)
{
  if (!facts->flat_positions)
    return FALSE;
  for (guint f = 0; f < facts->n_flats; f++)
    if (!isfinite (facts->flat_positions[f]))
      return FALSE;
  return TRUE;
}

/* The flats in the order they were taken, each with its moment. */
static GArray *
flats_groups_sorted (const TdScanFacts *facts)
{
  GArray *taken = g_array_sized_new (FALSE, FALSE, sizeof (Taken), facts->n_flats);

  for (guint f = 0; f < facts->n_flats; f++)
    g_array_append_vals (taken, &(Taken) { facts->flat_positions[f], f }, 1);
  g_array_sort (taken, compare_taken);
  return taken;
}

guint
td_flats_groups (const TdScanFacts *facts, gboolean one_group, double *positions,
                 guint *group_of_flat)
{
  for (guint f = 0; group_of_flat && f < facts->n_flats; f++)
    group_of_flat[f] = 0;
  if (positions)
    positions[0] = 0;
  if (one_group || facts->n_flats < 2 || !know_positions (facts))
    return 1;

  g_autoptr (GArray) taken = flats_groups_sorted (facts);
  const Taken *flats = (const Taken *) taken->data;
  guint n_moments = 1;
  for (guint i = 1; i < taken->len; i++)
    n_moments += flats[i].position > flats[i - 1].position;
  guint n_groups = MIN (n_moments, TD_FLATS_MAX_GROUPS);
  guint count[TD_FLATS_MAX_GROUPS] = { 0 };
  double sum[TD_FLATS_MAX_GROUPS] = { 0 };

  for (guint i = 0, moment = 0; i < taken->len; i++) {
    moment += i > 0 && flats[i].position > flats[i - 1].position;
    guint group = (guint) ((guint64) moment * n_groups / n_moments);
    sum[group] += flats[i].position;
    count[group]++;
    if (group_of_flat)
      group_of_flat[flats[i].flat] = group;
  }
  for (guint g = 0; positions && g < n_groups; g++)
    positions[g] = sum[g] / count[g];
  return n_groups;
}

/* The angle turned since the first view, whichever way, at each of the views. Angles may be given
   within one turn: from one view to the next it was half a turn at most. */
static double *
angle_turned (const TdScanFacts *facts)
{
  double *turned = g_new (double, facts->n_views);

  turned[0] = 0;
  for (guint v = 1; v < facts->n_views; v++)
    turned[v] = turned[v - 1]
                + fabs (remainder (facts->angles_rad[v] - facts->angles_rad[v - 1], 2 * G_PI));
  return turned;
}

/* @at: a moment counted in views; view v lies at v + 1/2, and the ends go on as the nearest gap. */
static double
turned_at (const double *turned, guint n_views, double at)
{
  double view = at - 0.5;
  guint low = (guint) CLAMP (floor (view), 0, n_views - 2);

  return turned[low] + (view - low) * (turned[low + 1] - turned[low]);
}

void
td_flats_places (const TdScanFacts *facts, TdFlatsBy by, const double *positions, guint n_groups,
                 float *out)
{
  g_autofree double *turned = angle_turned (facts);
  guint n_views = facts->n_views;
  double at[TD_FLATS_MAX_GROUPS];

  /* A scan that does not turn has no angle to go by. */
  if (n_views < 2 || !(turned[n_views - 1] > 0))
    by = TD_FLATS_BY_VIEW;
  for (guint g = 0; g < n_groups; g++)
    at[g] = by == TD_FLATS_BY_VIEW ? positions[g] : turned_at (turned, n_views, positions[g]);
  for (guint v = 0, group = 0; v < n_views; v++) {
    double here = by == TD_FLATS_BY_VIEW ? v + 0.5 : turned[v];
    while (group + 1 < n_groups && here >= at[group + 1])
      group++;
    double share = group + 1 < n_groups && at[group + 1] > at[group]
                       ? (here - at[group]) / (at[group + 1] - at[group])
                       : 0;
    out[2 * v] = group;
    out[2 * v + 1] = (float) CLAMP (share, 0, 1);
  }
}
