/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/scan.h"
#include "step.h"

/**
 * Single-distance phase retrieval: Paganin et al., J. Microscopy 206 (2002), and the form of
 * Paganin et al., J. Optics 22 (2020), whose Laplacian is that of the pixels. The object is
 * homogeneous: its refractive index is 1 - delta + i beta everywhere. The transmission behind a
 * distance z is
 *
 *   T_z = (1 - L^2 laplacian) exp (-mu t),   L^2 = z delta / mu = z lambda (delta / beta) / 4 pi
 *
 * and dividing the spectrum of T_z by 1 + L^2 k^2 gives exp (-mu t) back. Against a point source
 * that is magnified by M, z / M and pixels of size p / M take the place of z and p.
 *
 * The division is a convolution with a kernel that falls as exp (-r / L). Along a line the kernel
 * integrates to exp (-|y| / L) / 2 L. So over both directions across, its sum beyond a distance d
 * is exp (-d / L). Rows beyond d are replaced by those at the edge. This changes a transmission by
 * at most exp (-d / L) times the difference between the two.
 *
 * With the pixels' Laplacian all terms are positive, and the bound is exact with exp (-d t), 4
 * sinh^2 (t / 2) = 1 / L^2 in pixels. The continuous Laplacian, cut off at the highest frequency,
 * also has a tail of alternating sign. With f = pi^2 L^2 its n-th term is at most 4 f / (1 + f)^2 /
 * (2 pi n)^2. It acts only on differences from one row to the next.
 */
typedef struct {
  double length_px[2]; /* L along a row, and along a column */
  guint reach_px[2];   /* distance beyond which no more of the kernel lies than below */
  gboolean discrete;   /* the pixels' Laplacian */
} TdPaganin;

#define TD_PAGANIN_REST 2e-6
#define TD_PAGANIN_TAIL 5e-6 /* of a term of the tail; some of either sign remain */

/* Which parameter of the step is which. */
enum {
  TD_PAGANIN_DELTA_BETA,
  TD_PAGANIN_ENERGY,
  TD_PAGANIN_DISTANCE,
  TD_PAGANIN_PIXEL,
  TD_PAGANIN_LAPLACIAN,
};

#define TD_PAGANIN_BATCH_BYTES (64u << 20) /* transforms at once take at most this */

/* The same on a device; on the host for each of its threads @thread_bytes, so that caches are near.
 */
guint64 td_paganin_batch_bytes (TdDevice *device, guint64 thread_bytes);
gboolean td_paganin_is_same (const TdPaganin *a, const TdPaganin *b);
/* NULL; else what is missing or absurd and what to do (transfer full). */
TdMessage *td_paganin_init (TdPaganin *paganin, const TdStep *step, const TdScanFacts *facts);
/* L^2 k^2 of the @n frequencies of a line; @axis 0: along a row, 1: along a column. */
void td_paganin_response (const TdPaganin *paganin, guint axis, guint n, float *response);
