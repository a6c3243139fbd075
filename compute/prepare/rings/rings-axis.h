/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * An estimate of the axis from one row alone. The centre of mass of every view, axis + x cos + y
 * sin, is that of the object (Helgason and Ludwig's first condition). The estimate is good to a
 * part of a column where the whole object is seen. Offsets of columns add their own errors to it.
 *
 * The difference of two views is free of these offsets, and two such differences half a turn apart
 * mirror each other about the axis. They say nothing of what is round about the axis. Whoever needs
 * an exact axis searches for it (axis.h).
 */
#define TD_RINGS_AXIS_MODES 3
#define TD_RINGS_AXIS_PAIRS 4

/* Views half a turn apart, by a straight line between, or a little beyond, two neighbours each. */
typedef struct {
  guint views[2];    /* the first of two neighbours */
  double further[2]; /* the share of the second */
} TdRingsPair;

typedef struct {
  double axis, error; /* columns; NAN: not known; the error's standard deviation */
  double mass;        /* of a view; what the centre of mass tells only */
} TdRingsAxis;

/* [mode][view]: 1, cos, sin of the angles. */
void td_rings_axis_table (const double *angles_rad, guint n_views, float *table);
/* @modes: [mode][n_columns], the sums over the views of the row times each mode; @offsets: how
   large columns' offsets are, about. NAN where the object goes beyond the detector, or there is
   none. */
TdRingsAxis td_rings_axis (const float *modes, guint n_columns, const double *angles_rad,
                           guint n_views, double offsets);
/* How many of TD_RINGS_AXIS_PAIRS there are. */
guint td_rings_axis_pairs (const double *angles_rad, guint n_views, TdRingsPair *pairs);
/* @axis refined. @views: [pair][2][2][n_columns], the neighbours of the first and of the second
 * view. */
TdRingsAxis td_rings_axis_refine (TdRingsAxis axis, const TdRingsPair *pairs, guint n_pairs,
                                  const float *views, guint n_columns);
/* The sum of columns' offsets times their distances from the axis, from how far the centre of mass,
   @mass, lies beside it. Its standard deviation is infinite where @axis is known by the mass
   alone. */
double td_rings_axis_moment (TdRingsAxis mass, TdRingsAxis axis);
double td_rings_axis_moment_error (TdRingsAxis mass, TdRingsAxis axis);
