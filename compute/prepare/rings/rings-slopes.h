/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/device/host-fft.h"

/**
 * Slopes of a slice along lines through the axis, reconstructed from one row, and those that
 * offsets of columns make there. For rings-shade.h. Pure but for FFTW's plans; any thread.
 */
#define TD_RINGS_DIRECTIONS 48
#define TD_RINGS_KNOTS 8 /* columns from one unknown of the shade to the next */

typedef struct {
  guint n_columns;
  guint n_bins; /* of views, evenly over the half turns */
  guint half_turns;
  double axis;
} TdRingsTurn;

typedef struct {
  guint n, length;
  fftwf_plan plan;
  fftwf_complex *from, *to;
  float *response; /* of the ramp, and the transforms' scale */
} TdRingsRamp;

/* Places on lines through the axis, @spacing columns apart, the axis in their middle. */
typedef struct {
  TdRingsTurn turn;
  TdRingsRamp ramp;
  guint spacing, reach, n_places, lag, n_slopes;
  guint bins[TD_RINGS_DIRECTIONS]; /* the bin in whose direction a line lies */
  float *turns;                    /* cosines of the angle between bins */
  float *slopes;                   /* [direction][slope] of the slice */
  float *rings;                    /* the same of what has been found */
  guint n_knots;
  double *response; /* [slope][knot], the mean over the directions */
} TdRingsSlopes;

/* FALSE: no memory, or the axis is at the row's end; clear it all the same. */
gboolean td_rings_slopes_init (TdRingsSlopes *lines, const TdRingsTurn *turn);
void td_rings_slopes_clear (TdRingsSlopes *lines);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TdRingsSlopes, td_rings_slopes_clear)

/* Filters @rows, [row][column], in place. */
void td_rings_slopes_filter (const TdRingsSlopes *lines, float *rows, guint n_rows);
/* @lines->slopes, of filtered bins, [bin][column]. */
void td_rings_slopes_of_rows (const TdRingsSlopes *lines, const float *rows);
/* Those that @offsets make, [direction][slope]. */
void td_rings_slopes_of_rings (const TdRingsSlopes *lines, const double *offsets, float *slopes);
