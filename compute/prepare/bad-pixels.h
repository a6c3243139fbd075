/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "flat-beam.h"

/**
 * Bad detector pixels: those of the scan's mask and those that flats and darks reveal, and what
 * replaces each.
 *
 * Detection looks at three numbers of a pixel: its mean dark, its mean response (flat - dark) and
 * its noise, the standard deviation over the flats. Each is compared with the median of the 5 x 5
 * pixels around. A pixel is bad if one of them is further away than @deviations robust standard
 * deviations. A robust standard deviation is 1.4826 times the median absolute deviation over the
 * detector. A pixel that never changes over five flats or more, while its neighbours do, is bad
 * too.
 *
 * The mean of the nearest good pixels to the left, right, above and below replaces a bad one,
 * weighted with 1 / distance^2 (Shepard, Proc. 23rd ACM National Conference, 1968). The search
 * above and below ends at the reach, so that a row needs no more neighbours than that.
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

/* The first pixel of these rows that is bad by the scan's own mask and stays so. It has no good
   neighbour within the reach on the whole detector. -1: none. */
gssize td_bad_pixels_alone (const TdScanFacts *facts, const guint8 *mask, guint row0, guint n_rows,
                            guint reach);

/* Mends what the flat field divides by, of the same rows, as the list mends the frames. */
void td_bad_pixels_mend_beam (const GArray *list, TdFlatBeam *beam);
