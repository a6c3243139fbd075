/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "flat-beam.h"

/**
 * Bad detector pixels: those of the scan's mask and those that flats and darks give away, and what
 * replaces each.
 *
 * Found: a pixel is bad if its mean dark, its mean response (flat - dark) or its noise (standard
 * deviation over the flats) is further than @deviations robust standard deviations (1.4826 times
 * the median absolute deviation over the detector) from the median of the 5 x 5 pixels around it;
 * or if it never changes over five flats or more while its neighbours do.
 *
 * Replaced: by the mean of the nearest good pixels to the left, right, above and below, weighted
 * with 1 / distance^2 (Shepard, Proc. 23rd ACM National Conference, 1968). Above and below are
 * looked for no further than the reach, so that a row needs no more than that many neighbours.
 */
#define TD_BAD_PIXELS_MAX_REACH 8

/* 4-byte members, as kernels/prepare-correct.cl reads them. */
typedef struct {
  gint32 pixel;     /* row * n_columns + column, of the slab */
  gint32 source[4]; /* the same; -1: none */
  float weight[4];  /* add up to 1 */
} TdBadPixel;

guint64 td_bad_pixels_host_bytes (const TdScanFacts *facts);

/* One byte a pixel of the detector, not 0: bad; @deviations 0: the mask only. Reads all flats and
   darks the first time. (transfer full) */
GBytes *td_bad_pixels_mask (TdFlats *flats, double deviations, GCancellable *cancellable,
                            GError **error);

/* Those of rows [row0, row0 + n_rows) that have a good neighbour. (transfer full) (element-type
   TdBadPixel) */
GArray *td_bad_pixels_list (const guint8 *mask, guint n_columns, guint row0, guint n_rows,
                            guint reach);

/* Mends what the flat field divides by, of the same rows, as the list mends the frames. */
void td_bad_pixels_mend_beam (const GArray *list, TdFlatBeam *beam);
