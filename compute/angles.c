/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "angles.h"

#include <math.h>
#include <stdlib.h>

#include "dataset/sort.h"

/* A gap beyond this many steps is a missing wedge: neither the usual gap nor the even spacing of
   as many views explains it. */
#define WEDGE_STEPS 4
/* So many gaps may be wedges. What is usual is said by the others, if there are twice as many. */
#define MOST_WEDGES 4
/* This part of the angle that the others span lies in gaps up to the usual one. */
#define USUAL_PART 0.75
/* Directions closer than this part of the even spacing are one. */
#define SAME 0.01

static int
angles_compare_directions (const void *a, const void *b)
{
  const TdDirection *x = a, *y = b;

  return x->angle != y->angle ? (x->angle > y->angle) - (x->angle < y->angle)
                              : (x->view > y->view) - (x->view < y->view);
}

TdDirection *
td_angles_sorted (const double *angles_rad, guint n, double period_rad)
{
  TdDirection *directions = g_new (TdDirection, n);

  for (guint i = 0; i < n; i++) {
    double angle = period_rad > 0 ? fmod (angles_rad[i], period_rad) : angles_rad[i];
    if (period_rad > 0 && angle < 0)
      angle += period_rad;
    directions[i] = (TdDirection) { angle, i };
  }
  qsort (directions, n, sizeof *directions, angles_compare_directions);
  return directions;
}

/* Numbers the groups of equal directions; the one that straddles 0 and the period is one group. */
static guint
group_directions (const TdDirection *directions, guint n, double period, guint *group,
                  double *place)
{
  double same = SAME * period / n;
  guint groups = 1;

  group[0] = 0;
  place[0] = directions[0].angle;
  for (guint i = 1; i < n; i++) {
    if (directions[i].angle - place[groups - 1] > same)
      place[groups++] = directions[i].angle;
    group[i] = groups - 1;
  }
  if (groups > 1 && directions[0].angle + period - directions[n - 1].angle <= same) {
    for (guint i = n; i-- > 0 && group[i] == groups - 1;)
      group[i] = 0;
    groups--;
  }
  return groups;
}

double
td_angles_usual_gap (const double *gaps, guint n)
{
  g_autofree double *sorted = g_memdup2 (gaps, n * sizeof *sorted);
  double all = 0, below = 0;
  guint at = 0;

  qsort (sorted, n, sizeof *sorted, td_compare_doubles);
  if (n < 3 * MOST_WEDGES)
    return sorted[n / 2];
  for (guint i = 0; i < n - MOST_WEDGES; i++)
    all += sorted[i];
  while (below + sorted[at] < USUAL_PART * all)
    below += sorted[at++];
  return sorted[at]; /* no less than the median */
}

void
td_angular_weights (const double *angles_rad, guint n, double period_rad, double *weights,
                    TdAngleCover *cover)
{
  g_autofree TdDirection *directions = td_angles_sorted (angles_rad, n, period_rad);
  g_autofree guint *group = g_new (guint, n);
  g_autofree double *place = g_new (double, n);
  guint groups = group_directions (directions, n, period_rad, group, place);
  g_autofree double *gap = g_new (double, groups); /* from a group to the next */
  g_autofree double *share = g_new0 (double, groups);
  g_autofree guint *members = g_new0 (guint, groups);
  TdAngleCover found = { .repeated = n - groups };

  for (guint g = 0; g < groups; g++)
    gap[g] = g + 1 < groups ? place[g + 1] - place[g] : place[0] + period_rad - place[g];
  const double step = td_angles_usual_gap (gap, groups);
  const double widest = WEDGE_STEPS * MAX (step, period_rad / groups);
  for (guint g = 0; g < groups; g++) {
    double given = gap[g];
    found.largest_gap_rad = MAX (found.largest_gap_rad, gap[g]);
    if (gap[g] > widest) {
      given = step;
      found.missing_rad += gap[g] - step;
    }
    share[g] += given / 2;
    share[(g + 1) % groups] += given / 2;
    found.covered_rad += given;
  }

  for (guint i = 0; i < n; i++)
    members[group[i]]++;
  for (guint i = 0; i < n; i++)
    weights[directions[i].view] = share[group[i]] / members[group[i]];
  if (cover)
    *cover = found;
}
