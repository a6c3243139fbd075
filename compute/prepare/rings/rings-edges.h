/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * Edges of what is round about the axis: they stay in their columns over the whole turn, as stripes
 * do. But a disc has two of them, and the axis in their middle. It also has a shape, a sqrt ((x -
 * left) (right - x)), that stripes do not have. Both edges are looked for by themselves, matched,
 * and the disc is taken from the second differences. Discs of a few columns are looked for as a
 * whole. Where the other edge is not in view, as in half acquisition, one that looks like nothing
 * else is a disc's, too. Pure; any thread.
 */
typedef struct {
  guint n;
  double axis;       /* about, in columns; NAN: not known, and only edges alone are found */
  double axis_error; /* its standard deviation; both get better by every disc found */
  double *values;    /* second differences across columns */
  double *errors;    /* their standard errors: grow by what a disc may be wrong by */
  guint8 *unknown;   /* 1: the value means nothing */
  guint8 *edges;     /* out: 1 within columns where a disc's second difference is steep */
  /* What the parts of the turn differ by; NULL: discs need not stand out from it. */
  const float *spreads;
} TdRingsProfile;

void td_rings_take_discs (TdRingsProfile *profile);
