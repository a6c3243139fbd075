/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "paganin.h"
#include "slab.h"

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
