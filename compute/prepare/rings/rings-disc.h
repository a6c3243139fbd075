/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "rings-edges.h"

/**
 * Where the edges of a disc about the axis are, as far as columns' offsets let them be known. With
 * offsets that do not depend on each other and an object that is smooth but for the disc, how
 * likely a pair of edges is follows from what td_rings_solve() leaves to be explained; the axis has
 * a part in it. What is taken from the profile is the mean over all pairs of edges, by how likely
 * they are: where an edge is known to a part of a column only, its steepest column would else be
 * wrong by more than any offset. Pure; any thread.
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
