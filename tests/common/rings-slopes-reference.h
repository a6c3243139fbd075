/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/device/host-fft.h"

/**
 * Slopes of a slice along lines through the axis, reconstructed from one row, and those that
 * offsets of columns make there. For rings-shade-reference.h. Pure but for FFTW's plans; any
 * thread.
 */
#define TD_REFERENCE_DIRECTIONS 48
#define TD_REFERENCE_KNOTS 8 /* columns from one unknown of the shade to the next */

typedef struct {
  guint n_columns;
  guint n_bins; /* of views, evenly over the half turns */
  guint half_turns;
  double axis;
} TdReferenceTurn;

typedef struct {
  guint n, length;
  fftwf_plan plan;
  fftwf_complex *from, *to;
  float *response; /* of the ramp, and the transforms' scale */
} TdReferenceRamp;

/* Places on lines through the axis, @spacing columns apart, the axis in their middle. */
typedef struct {
  TdReferenceTurn turn;
  TdReferenceRamp ramp;
  guint spacing, reach, n_places, lag, n_slopes;
  guint bins[TD_REFERENCE_DIRECTIONS]; /* the bin in whose direction a line lies */
  float *turns;                        /* cosines of the angle between bins */
  float *slopes;                       /* [direction][slope] of the slice */
  float *rings;                        /* the same of what has been found */
  guint n_knots;
  double *response; /* [slope][knot], the mean over the directions */
} TdReferenceSlopes;

/* FALSE: no memory, or the axis is at the row's end; clear it all the same. */
gboolean td_reference_slopes_init (TdReferenceSlopes *lines, const TdReferenceTurn *turn);
void td_reference_slopes_clear (TdReferenceSlopes *lines);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TdReferenceSlopes, td_reference_slopes_clear)

/* Filters @rows, [row][column], in place. */
void td_reference_slopes_filter (const TdReferenceSlopes *lines, float *rows, guint n_rows);
/* @lines->slopes, of filtered bins, [bin][column]. */
void td_reference_slopes_of_rows (const TdReferenceSlopes *lines, const float *rows);
/* Those that @offsets make, [direction][slope]. */
void td_reference_slopes_of_rings (const TdReferenceSlopes *lines, const double *offsets,
                                   float *slopes);
