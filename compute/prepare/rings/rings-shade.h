/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "rings-slopes.h"

/**
 * The broad part of what columns add. rings-offsets.h tells an offset from its neighbours'; what
 * changes slowly across columns looks in a profile as the object does, and stays behind as shade.
 * In a slice it does not: along a radius an object is level between its edges, in most directions,
 * and shade slopes alike in all of them. So the row is reconstructed in few directions, from few
 * views, which blurs along circles only; the slope at each radius is a robust mean over the
 * directions; and the shade is the likeliest that makes such slopes, a broken line of knots. Rings
 * are half circles where the views make half a turn: the slopes that the shade found makes in each
 * direction are taken out before the next round.
 *
 * How large shade can be is known: columns' offsets do not depend on each other, and are as large
 * as those found. So slopes that their directions do not agree upon count little, and those that no
 * offsets of that size make, edges about the axis, nothing. Pure but for FFTW's plans; any thread.
 */
typedef struct {
  TdRingsTurn turn;      /* half_turns: td_rings_half_turns(); n_bins: td_rings_shade_bins() */
  double reach;          /* columns over which offsets have been told from each other */
  const float *sinogram; /* [bin][column] */
  const float *dead;     /* 1: the column means nothing */
  const float *sums;     /* over the views, of which there are */
  guint n_views;
  double moment;       /* the sum of all offsets times their columns' distances from the axis, */
  double moment_error; /* its standard deviation, infinite where it is not known */
} TdRingsShade;

/* Half turns that the views cover evenly; 0: they do not, and shade cannot be told. */
guint td_rings_half_turns (const double *angles_rad, guint n_views);
/* Bins to make of so many views. */
guint td_rings_shade_bins (guint n_views);
/* Whether there are @offsets in general, as shade comes of them only. */
gboolean td_rings_have_shade (const float *offsets, guint n_columns);
/* Adds the shade to @offsets; nothing where the axis is at the row's end, or FFTW has no memory. */
void td_rings_add_shade (const TdRingsShade *shade, float *offsets);
