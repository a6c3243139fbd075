/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "rings-edges.h"

/**
 * The edges of a disc about the axis, as far as the offsets of columns leave them visible. Two
 * assumptions are made: offsets are independent of each other, and the object is smooth but for the
 * disc. How likely a pair of edges is then follows from what td_rings_solve() leaves unexplained,
 * and from the axis.
 *
 * The mean over all pairs, weighted by how likely they are, is taken from the profile. The edge is
 * known to a part of a column only. So a single pair would leave an error larger than any offset in
 * its steepest column. Pure; any thread.
 */
typedef struct {
  double left, right; /* in columns, the likeliest means */
  double amplitude;
  double axis, axis_error; /* what is known of it now */
  double *curvatures;      /* [n]: second differences, the mean; caller's */
  double *errors;          /* [n]: and their standard deviation; caller's */
} TdRingsDisc;

/* Starts from @disc's edges; @reach: over which columns' offsets are told from what is smooth.
   FALSE: nothing is known there. */
gboolean td_rings_fit_disc (const TdRingsProfile *profile, double reach, TdRingsDisc *disc);
