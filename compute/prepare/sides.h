/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * TdSides: what the attenuations at the detector's sides are like, over views and columns. It tells
 * air behind flats that are too bright from a sample that is wider than the detector.
 *
 * Through a convex body of one material chords are a concave function of the column, whatever the
 * angle. So is their mean over views. Let it rise by r from a side to the middle of n columns.
 * Between columns at that side that are d apart, it then rises by 2 r d / n at least. Air does not
 * rise.
 */
#define TD_SIDES_STRIPS 5u /* left outer, left inner, right inner, right outer; the middle */
#define TD_SIDES_UNIT (1 / 8192.0)
#define TD_SIDES_GROUPS 16u /* of views that follow each other */

typedef struct {
  guint32 n_columns; /* of the detector */
  struct {
    guint64 n; /* views times rows */
    gint64 sums[TD_SIDES_STRIPS];
  } groups[TD_SIDES_GROUPS];
} TdSides;

/* So many columns on either side, which see air unless the object is wider than the detector; 0:
   there are too few. */
guint td_sides_columns (guint n_columns);

void td_sides_count (TdSides *sides, guint n_columns, guint view, guint n_views, guint n_rows);
void td_sides_sum (TdSides *sides, guint view, guint n_views, const int sums[TD_SIDES_STRIPS]);
void td_sides_add (TdSides *sum, const TdSides *sides);
/* The attenuation that both sides have in all views, and from column to column; 0: they have
   none that is worth telling, or are not so even. */
double td_sides_even_level (const TdSides *sides);
/* How far the air's attenuation goes over the views, always one way, with both sides alike; 0: not
   worth telling. No rigid sample does that: half a turn later it covers the same columns. */
double td_sides_drift (const TdSides *sides);
