/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "slab.h"

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

/* ── Few rows out of their neighbours ── */

/**
 * Phase retrieval of one row out of its neighbours. The wanted row's transform is
 *
 *   out (k) = sum over rows v of h (k, v) row_v (k),   h (k, v): the inverse transform of
 *                                                      1 / (1 + L^2 k^2 + L^2 l^2) over l
 *
 * which takes one transform a row. But a sum of few products comes close to h:
 *
 *   h (k, v) = sum over terms t of factor_t (k) weight_t (v)
 *
 * The reason is that h falls along v as exp (-|v| sqrt (k^2 + 1 / L^2)), and sums of exponentials
 * approximate each other. 7 terms suffice for the 25 rows about one with L = 0.9 pixels, and 16
 * terms for 415 rows with L = 16. So the rows themselves are added up by their weights, and only
 * one sum a term is transformed.
 *
 * The terms come from crosses: the row and the column of h through the largest remaining value.
 * Crosses are taken until the remainder, summed over rows, is at most TD_PAGANIN_LEFT for every k.
 * A transmission of up to 1 changes by no more than that. All of it is in double precision.
 */
typedef struct {
  guint n_rows, nx, n_terms;
  float *weights; /* [n_terms][n_rows] */
  float *factors; /* [n_terms][nx], for all frequencies of a row of nx; 1 / nx is in it */
} TdPaganinTerms;

#define TD_PAGANIN_LEFT 5e-7

/* For row @row of @n_rows. Rows beyond these are taken to be like the first and the last. NULL: no
   memory. */
TdPaganinTerms *td_paganin_terms_new (const TdPaganin *paganin, guint nx, guint n_rows, guint row);
void td_paganin_terms_free (TdPaganinTerms *terms);

/* Phase retrieval of few rows of a slab whose other rows serve only these, such as a preview's one
   row. The work that is left is a sum over rows and a transform for each term. A whole slab takes
   three transforms for each row. As TdStepKind's run_core and its share of workspace_bytes. */
gboolean td_paganin_run_core (const TdStep *step, TdSlab *slab, guint first, guint count,
                              TdBuffer *out, GError **error);
guint64 td_paganin_core_bytes (const TdStep *step, const TdScanFacts *facts, guint n_rows);
