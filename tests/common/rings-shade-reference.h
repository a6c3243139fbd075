/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "rings-slopes-reference.h"

/* The shade of one row, as rings-shade.h describes it: the equations in double precision, a row at
   a time. Pure but for FFTW's plans; any thread. */
typedef struct {
  TdReferenceTurn turn;  /* half_turns: td_rings_half_turns(); n_bins: td_rings_shade_bins() */
  double reach;          /* columns over which offsets have been told from each other */
  const float *sinogram; /* [bin][column] */
  const float *dead;     /* 1: the column means nothing */
  const float *sums;     /* over the views, of which there are */
  guint n_views;
  double moment;       /* the sum of all offsets times their columns' distances from the axis, */
  double moment_error; /* its standard deviation, infinite where it is not known */
} TdReferenceShade;

/* Adds the shade to @offsets; nothing where the axis is at the row's end, or FFTW has no memory. */
void td_reference_add_shade (const TdReferenceShade *shade, float *offsets);
