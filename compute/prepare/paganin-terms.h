/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "paganin.h"

/**
 * Phase retrieval of one row out of its neighbours. The transform along a row of what is wanted is
 *
 *   out (k) = sum over rows v of h (k, v) row_v (k),   h (k, v): the inverse transform of
 *                                                      1 / (1 + L^2 k^2 + L^2 l^2) over l
 *
 * that is one transform a row. But h hardly differs from a sum of few products,
 *
 *   h (k, v) = sum over terms t of factor_t (k) weight_t (v),
 *
 * since it falls along v as exp (-|v| sqrt (k^2 + 1 / L^2)), and sums of exponentials approximate
 * each other: 7 terms do for the 25 rows about one with L = 0.9 pixels, 16 for 415 rows with L
 * = 16. So rows are added up by their weights as they are, and only one sum a term is transformed.
 *
 * The terms come from crosses: the row and the column of h through the largest of what is left,
 * again and again, until what is left, summed over rows, is at most TD_PAGANIN_LEFT for every k: by
 * so much, and no more, transmissions of up to 1 come out differently. In double precision.
 */
typedef struct {
  guint n_rows, nx, n_terms;
  float *weights; /* [n_terms][n_rows] */
  float *factors; /* [n_terms][nx], for all frequencies of a row of nx; 1 / nx is in it */
} TdPaganinTerms;

#define TD_PAGANIN_LEFT 5e-7

/* For row @row of the @n_rows that there are; those beyond are like the first and the last. NULL:
   no memory. */
TdPaganinTerms *td_paganin_terms_new (const TdPaganin *paganin, guint nx, guint n_rows, guint row);
void td_paganin_terms_free (TdPaganinTerms *terms);
/* Never more for n_rows rows. */
guint td_paganin_terms_most (guint n_rows);
