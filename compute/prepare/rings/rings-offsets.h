/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "rings-axis.h"

/**
 * The offsets of one row's columns, from a few numbers of each column: this part of the step
 * "rings" looks at columns, not at samples. It is little work, and the host does it in double
 * precision for every device. Pure; any thread.
 *
 * The numbers belong to a column's second differences, 2 p - left - right. Thus m = L (q + o), with
 * the offsets q that are sought and the object o. Edges that move along the turn leave the median m
 * alone. Two parts of o remain: edges of round things about the axis, which rings-edges.h removes,
 * and what is smooth.
 *
 * q minimises sum w (m - L q)^2 + sum s q^2. The weight w is 0 where a dead pixel spoils m. The
 * stiffness s = 1 / reach^4 says how far an error in m may spread. Where most columns have offsets,
 * their size against the noise sets the reach. Elsewhere only columns beside those that stand out
 * take part. There s is smaller where q is large and larger where q is small, until few columns
 * explain all of m.
 *
 * In rows of fewer columns than TD_RINGS_NARROW the object moves by few of them, and is as narrow
 * as the reach. Medians then keep some of it, about as much as parts of the turn differ by. Means
 * of arcs keep the more, the fewer arcs agree. It counts as their error in w. And an object of that
 * many columns bends by its tallest / n^2 over about n columns. s is the least that tells such a
 * one from offsets of the size that is found (Wiener's filter).
 */
#define TD_RINGS_NARROW 256

typedef struct {
  guint n_columns;
  guint n_samples; /* views that the medians are of */
  TdRingsAxis axis;
  const float *medians;   /* of the second differences */
  const float *spreads;   /* of the median between parts of the turn */
  const float *widths;    /* between the quartiles */
  const float *skews;     /* how far the middle of the quartiles lies from the median */
  const float *roughness; /* along the angle: sum of |p - its mean over three views| */
  const float *bounds;    /* td_rings_noise_bounds(); NULL: there is no noise */
  const float *shares;    /* of the views that the medians are means of, where there is noise */
  guint n_parts;          /* of the turn, that the spreads are of */
  double tallest;         /* of the row's means over the views; only narrow rows are asked */
} TdRingsColumns;

typedef struct {
  double size;      /* the reach where noise does not limit it, in columns */
  double threshold; /* standard errors that a column stands out by; 0: all columns count */
  double dead;      /* a dead column is so many times smoother, or rougher, than those around */
} TdRingsLimits;

/* About how large offsets are in general, from the medians; more than that where the object is
 * rough. */
double td_rings_size (const float *medians, guint n_columns);
/* From the sums over the views; what one column alone has, as a dead one, does not count. */
double td_rings_tallest (const float *sums, guint n_columns, guint n_views);
/* @offsets: what is to be taken off, 0 for dead columns. @dead: 1 for these, which have to be
   replaced, else 0; never the two columns at either end. Returns the axis, which discs about it
   tell better. */
TdRingsAxis td_rings_offsets (const TdRingsColumns *columns, const TdRingsLimits *limits,
                              float *offsets, float *dead);

/* The least of sum @weights (@values - L q)^2 + sum @stiffness q^2; all stiffnesses above 0. */
void td_rings_solve (const double *values, const double *weights, const double *stiffness, guint n,
                     double *q);
/* The same in two: @factors, of 3 @n, serve any values. */
void td_rings_factor (const double *weights, const double *stiffness, guint n, double *factors);
void td_rings_solve_by (const double *factors, const double *values, const double *weights, guint n,
                        double *q);

/* ── Noise ── */

/**
 * The noise of a row. A median leaves edges alone where they are above the noise of a view. Edges
 * below it are no outliers. Where they stay in a column for a part of the turn, they move its
 * median by as much as rings do. And the errors of neighbouring medians do not fit together as
 * second differences do, so that they spread over many columns.
 *
 * The mean over an arc of the turn has less noise, and the same edge. So where there is noise, the
 * arcs that agree are looked for (Tukey's biweight). Of these, only such count in which three
 * neighbouring columns agree together, whose sum has less noise than one has. The arcs' mean takes
 * the median's place (rings_mean_arcs). Pure; any thread.
 */
#define TD_RINGS_NOISE_BOUND 2.0 /* standard deviations */
#define TD_RINGS_ROUGHNESS 3     /* views that a view is compared with the mean of */

/* @sums, @roughness: over the views, of the row and of |p - its mean over TD_RINGS_ROUGHNESS
   views|. @bounds: of second differences; 0 where there is no noise. */
void td_rings_noise_bounds (const float *sums, const float *roughness, guint n_columns,
                            guint n_views, float *bounds);
