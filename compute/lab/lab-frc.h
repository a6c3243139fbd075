/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * Fourier ring correlation of two pictures with independent noise:
 *
 *     FRC (r) = Re sum F1 conj F2 / sqrt (sum |F1|^2 sum |F2|^2)
 *
 * over the frequencies of ring r (Saxton and Baumeister, J. Microscopy 127 (1982) 127; van Heel and
 * Schatz, J. Struct. Biol. 151 (2005) 250). Ring r is 1 / n cycles a pixel wide, n being the side
 * of the largest centred square of the pictures. Their means are taken away. A circle is cut out of
 * both, whose edge falls off as a cosine over a tenth of its radius.
 *
 * Where the curve first falls below a threshold and stays there for the next ring too, the
 * resolution is the reciprocal of the frequency. Thresholds are van Heel and Schatz's half-bit
 * curve, eq. 17 with SNR 0.2071,
 *
 *     T (r) = (0.2071 + 1.9102 / sqrt (m)) / (1.2071 + 0.9102 / sqrt (m)),
 *
 * and 1/7. Here m counts the ring's independent frequencies: half of all, for the pictures are
 * real.
 */
typedef struct {
  gatomicrefcount references;
  guint side;                                 /* n */
  guint n;                                    /* rings, from frequency 0 to 1/2 */
  double *frequency, *correlation, *half_bit; /* n each; cycles a pixel */
  double half_bit_px, seventh_px; /* resolution, pixels; 0: the curve stays above to the end */
} TdLabFrc;

/* Pictures [ny][nx]; NULL: fewer than 16 pixels across, or no memory. Blocks. */
TdLabFrc *td_lab_frc_new (const float *a, const float *b, guint nx, guint ny);
TdLabFrc *td_lab_frc_ref (TdLabFrc *frc);
void td_lab_frc_unref (TdLabFrc *frc);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdLabFrc, td_lab_frc_unref)
