/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * Ring removal as its papers and their authors' programs have it, in double precision and without
 * any thought of speed; what tests compare with. A sinogram is [view][column], changed in place.
 */
typedef struct {
  guint n_views, n_columns;
  double *values;
} TdSinogram;

/* Vo et al., Opt. Express 26 (2018), algorithms 1 to 3, 5 and 6. */
void td_reference_rings_fitting (TdSinogram *sinogram, guint order, double sigma, gboolean divide);
void td_reference_rings_filtering (TdSinogram *sinogram, guint size, double sigma);
void td_reference_rings_sorting (TdSinogram *sinogram, guint size);
void td_reference_rings_large (TdSinogram *sinogram, guint size, double snr, double drop,
                               gboolean normalise);
void td_reference_rings_dead (TdSinogram *sinogram, guint size, double snr);
/* Titarenko et al., Appl. Math. Lett. 23 (2010): solves (alpha + L) q = -L p. */
void td_reference_rings_normalise (TdSinogram *sinogram, double reach, guint n_blocks);
/* The step "rings" as step-rings.c describes it; what columns come to is
   compute/prepare/rings/rings-offsets.h's, which has tests of its own. */
void td_reference_rings (TdSinogram *sinogram, const double *angles_rad, double size,
                         double threshold, double dead);
/* Muench et al., Opt. Express 17 (2009), with the scaling filter @low of @taps samples. */
void td_reference_rings_wavelet (TdSinogram *sinogram, const double *low, guint taps,
                                 guint n_levels, double sigma);
