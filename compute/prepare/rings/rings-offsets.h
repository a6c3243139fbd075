/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "rings-axis.h"

/**
 * What the columns of one row add to all their samples, from a few numbers of each: the part of the
 * step "rings" that looks at columns, not at samples. It is little work, in double precision on the
 * host, whatever device has the samples. Pure; any thread.
 *
 * The numbers are of a column's second differences, 2 p - left - right: m = L (q + o), q being the
 * offsets sought and o the object. Edges that move along the turn leave the median m alone; what of
 * o stays are edges of round things about the axis, which rings-edges.h takes out, and what is
 * smooth.
 *
 * q is the least of sum w (m - L q)^2 + sum s q^2: w is 0 where a dead pixel spoils m, and the
 * stiffness s = 1 / reach^4 says how far an error in m may spread. Where columns in general have
 * offsets, the reach is what their size against the noise allows. Elsewhere only columns beside
 * those that stand out are looked at, and s is less where q is large, more where it is small, until
 * few columns explain it all.
 */
typedef struct {
  guint n_columns;
  guint n_samples; /* views that the medians are of */
  TdRingsAxis axis;
  const float *medians;   /* of the second differences */
  const float *spreads;   /* of the median between parts of the turn */
  const float *widths;    /* between the quartiles */
  const float *skews;     /* how far the middle of the quartiles lies from the median */
  const float *roughness; /* along the angle: sum of |p - its mean over three views| */
} TdRingsColumns;

typedef struct {
  double size;      /* the reach where noise does not limit it, in columns */
  double threshold; /* standard errors that a column stands out by; 0: all columns count */
  double dead;      /* a dead column is so many times smoother, or rougher, than those around */
} TdRingsLimits;

/* About how large offsets are in general, from the medians; more than that where the object is
 * rough. */
double td_rings_size (const float *medians, guint n_columns);
/* @offsets: what is to be taken off, 0 for dead columns. @dead: 1 for these, which have to be
   replaced, else 0; never the two columns at either end. Returns the axis, which discs about it
   tell better. */
TdRingsAxis td_rings_offsets (const TdRingsColumns *columns, const TdRingsLimits *limits,
                              float *offsets, float *dead);

/* The least of sum @weights (@values - L q)^2 + sum @stiffness q^2; all stiffnesses above 0. */
void td_rings_solve (const double *values, const double *weights, const double *stiffness, guint n,
                     double *q);
