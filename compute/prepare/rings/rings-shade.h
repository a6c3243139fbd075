/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "rings-axis.h"
#include "rings.h"

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
 * that size make, edges about the axis, count nothing.
 *
 * The device does all this (kernels/rings-shade.cl), many rows at once, each by itself: a row's
 * bits do not depend on the others. The host does it for devices without double precision. The host
 * also finds what little is known besides: air at the row's ends, and the sum of the offsets'
 * moments about the axis.
 */
typedef struct {
  guint half_turns;  /* td_rings_half_turns() */
  double reach;      /* columns over which offsets have been told from each other */
  const float *dead; /* [row][column]; 1: the column means nothing */
  const float *sums; /* [row][TD_RINGS_AXIS_MODES][column], of which the first is over the views */
  /* [row]: of the axis, by the centre of mass, and with all that is known */
  const TdRingsAxis *masses, *axes;
} TdRingsShade;

/* Fewer do not tell shade. */
#define TD_RINGS_SHADE_VIEWS 64
/* Half turns that the views cover evenly; 0: they do not, and shade cannot be told. */
guint td_rings_half_turns (const double *angles_rad, guint n_views);
/* Bins to make of so many views. */
guint td_rings_shade_bins (guint n_views);
/* Device memory for each row. */
guint64 td_rings_shade_row_bytes (const TdScanFacts *facts);
/* Device memory besides. */
guint64 td_rings_shade_bytes (const TdScanFacts *facts);
/* Adds the shade to @offsets, [row][column], of the rings' rows. Rows without offsets in general
   have none, nor have those whose axis is not known, or at their end. Blocks. */
gboolean td_rings_add_shade (const TdRings *rings, const TdRingsShade *shade, float *offsets,
                             GError **error);
