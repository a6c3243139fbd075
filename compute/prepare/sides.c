/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sides.h"

#include <math.h>

#define GROUPS_LEAST 8u
#define LEVEL 0.2  /* in between lie drifts of the beam */
#define SAME 0.1   /* of the level: what it may differ by between views, and between the sides */
#define SLOPE 0.5  /* of the least rise that a wide sample has */
#define EVEN 0.002 /* of the level: a round sample rises more unless it is five times as wide */
#define DRIFT 0.04 /* the least that is told */
#define AIR 0.02   /* beside the sample, when the flats were taken */
#define ALIKE 0.2  /* of the drift: what may remain between the sides and from column to column */

guint
td_sides_columns (guint n_columns)
{
  return n_columns < 4 ? 0 : CLAMP (n_columns / 32, 2, 16);
}

static guint
sides_group (guint view, guint n_views)
{
  return (guint) ((guint64) view * TD_SIDES_GROUPS / n_views);
}

void
td_sides_count (TdSides *sides, guint n_columns, guint view, guint n_views, guint n_rows)
{
  sides->n_columns = n_columns;
  sides->groups[sides_group (view, n_views)].n += n_rows;
}

void
td_sides_sum (TdSides *sides, guint view, guint n_views, const int sums[TD_SIDES_STRIPS])
{
  for (guint i = 0; i < TD_SIDES_STRIPS; i++)
    sides->groups[sides_group (view, n_views)].sums[i] += sums[i];
}

void
td_sides_add (TdSides *sum, const TdSides *sides)
{
  sum->n_columns = MAX (sum->n_columns, sides->n_columns);
  for (guint g = 0; g < TD_SIDES_GROUPS; g++) {
    sum->groups[g].n += sides->groups[g].n;
    for (guint i = 0; i < TD_SIDES_STRIPS; i++)
      sum->groups[g].sums[i] += sides->groups[g].sums[i];
  }
}

/* Of some numbers, one a group. */
typedef struct {
  guint n;
  double sum, squares, low, high;
} SidesSpread;

static void
sides_spread_take (SidesSpread *spread, double value)
{
  spread->low = spread->n > 0 ? MIN (spread->low, value) : value;
  spread->high = spread->n > 0 ? MAX (spread->high, value) : value;
  spread->n++;
  spread->sum += value;
  spread->squares += value * value;
}

static double
sides_mean (const SidesSpread *spread)
{
  return spread->sum / spread->n;
}

/* How far the mean may be from 0. */
static double
sides_at_most (const SidesSpread *spread)
{
  const double mean = sides_mean (spread);
  const double variance = MAX (spread->squares / spread->n - mean * mean, 0);

  return fabs (mean) + 2 * sqrt (variance / (spread->n - 1));
}

/* Attenuations of a group's strips. */
static gboolean
sides_at (const TdSides *sides, guint group, double at[TD_SIDES_STRIPS])
{
  for (guint i = 0; i < TD_SIDES_STRIPS && sides->groups[group].n > 0; i++)
    at[i] = (double) sides->groups[group].sums[i] * TD_SIDES_UNIT / (double) sides->groups[group].n;
  return sides->groups[group].n > 0;
}

double
td_sides_even_level (const TdSides *sides)
{
  SidesSpread levels[2] = { 0 }, rises[2] = { 0 }, middle = { 0 };
  const guint columns = td_sides_columns (sides->n_columns), apart = columns - columns / 2;

  for (guint g = 0; g < TD_SIDES_GROUPS; g++) {
    double at[TD_SIDES_STRIPS];
    if (!sides_at (sides, g, at))
      continue;
    sides_spread_take (&levels[0], (at[0] + at[1]) / 2);
    sides_spread_take (&levels[1], (at[2] + at[3]) / 2);
    sides_spread_take (&rises[0], at[1] - at[0]);
    sides_spread_take (&rises[1], at[2] - at[3]);
    sides_spread_take (&middle, at[4]);
  }
  if (middle.n < GROUPS_LEAST)
    return 0;
  const double left = sides_mean (&levels[0]), right = sides_mean (&levels[1]);
  const double level = (left + right) / 2;
  if (level < LEVEL || fabs (left - right) > SAME * level)
    return 0;
  for (guint i = 0; i < 2; i++) {
    const double rise = sides_mean (&middle) - sides_mean (&levels[i]);
    const double wide = 2.0 * apart / sides->n_columns * rise;
    if (levels[i].high - levels[i].low > SAME * level
        || sides_at_most (&rises[i]) > MIN (SLOPE * wide, EVEN * level))
      return 0;
  }
  return level;
}

double
td_sides_drift (const TdSides *sides)
{
  SidesSpread air = { 0 }, uneven = { 0 }, above = { 0 }, steps = { 0 };
  double first = 0, last = 0, nearest = INFINITY;

  for (guint g = 0; g < TD_SIDES_GROUPS; g++) {
    double at[TD_SIDES_STRIPS];
    if (!sides_at (sides, g, at))
      continue;
    const double level = (at[0] + at[1] + at[2] + at[3]) / 4;
    const double apart = fabs (at[0] + at[1] - at[2] - at[3]) / 2;
    const double slope = MAX (fabs (at[1] - at[0]), fabs (at[2] - at[3]));
    if (air.n > 0)
      sides_spread_take (&steps, level - last);
    else
      first = level;
    last = level;
    nearest = MIN (nearest, fabs (level));
    sides_spread_take (&air, level);
    sides_spread_take (&uneven, MAX (apart, slope));
    sides_spread_take (&above, at[4] - level);
  }
  const double drift = fabs (last - first);
  if (air.n < GROUPS_LEAST || drift < DRIFT || nearest > AIR || uneven.high > ALIKE * drift)
    return 0;
  /* One way, but for noise; and the sample stands out of it. */
  const double back = last > first ? -steps.low : steps.high;
  return back < ALIKE * drift && above.low > drift / 2 ? drift : 0;
}
