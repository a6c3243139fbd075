/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "rings-slopes.h"

/**
 * The broad part of the columns' offsets. rings-offsets.h compares a column with its neighbours. An
 * offset that changes slowly across columns looks like the object in a profile, and remains as
 * shade.
 *
 * A slice tells the two apart. Along a radius an object is level between its edges in most
 * directions, while shade slopes alike in all of them. So the row is reconstructed in few
 * directions from few views, which blurs along circles only. The slope at each radius is a robust
 * mean over the directions. The shade is the likeliest broken line of knots that makes such slopes.
 * Where the views make half a turn, rings are half circles. So each round first removes the slopes
 * that the shade found so far makes in each direction.
 *
 * The size of shade is known: offsets of columns are independent of each other and as large as
 * those found. Slopes on which their directions disagree count little. Slopes that no offsets of
 * that size make, edges about the axis, count nothing. Pure but for FFTW's plans; any thread.
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
