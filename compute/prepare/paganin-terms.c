/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "paganin-terms.h"

#include <math.h>
#include <string.h>

#include "compute/device/host-fft.h"

#define MOST_TERMS 32

guint
td_paganin_terms_most (guint n_rows)
{
  return MIN (MOST_TERMS, n_rows);
}

/* h of the first n_half frequencies of a row, each [@n_long + 1] for the distances from 0. The
   period along v is so long that what comes round is nothing. */
static double *
paganin_terms_distances (const TdPaganin *paganin, guint nx, guint n_half, guint n_long)
{
  const guint n = n_long + 1, period = 2 * n_long;
  g_autofree float *across = g_new (float, nx), *down = g_new (float, period);
  g_autofree double *h = g_try_new (double, (gsize) n_half *n);

  if (!h)
    return NULL;
  td_paganin_response (paganin, 0, nx, across);
  td_paganin_response (paganin, 1, period, down);
  for (guint k = 0; k < n_half; k++)
    for (guint l = 0; l < n; l++)
      h[(gsize) k * n + l] = 1 / ((1.0 + across[k] + down[l]) * period);
  return td_fftw_even (h, period, n_half) ? g_steal_pointer (&h) : NULL;
}

/* h of each row for each frequency, [n_half][n_rows]: what is beyond the rows counts for the
 * outermost. */
static double *
matrix_of (const TdPaganin *paganin, guint nx, guint n_half, guint n_rows, guint row)
{
  guint n_long = 32;

  while (n_long < 2 * MAX (n_rows, paganin->reach_px[1]))
    n_long *= 2;
  g_autofree double *h = paganin_terms_distances (paganin, nx, n_half, n_long);
  double *matrix = h ? g_try_new0 (double, (gsize) n_half *n_rows) : NULL;

  for (guint k = 0; matrix && k < n_half; k++) {
    const double *from = h + (gsize) k * (n_long + 1);
    double *to = matrix + (gsize) k * n_rows;
    for (gint v = 1 - (gint) n_long; v <= (gint) n_long; v++)
      to[CLAMP ((gint) row + v, 0, (gint) n_rows - 1)] += from[ABS (v)];
  }
  return matrix;
}

/* The largest of what is left, and the most that is left of any frequency. */
static double
paganin_terms_look (const double *left, guint n_half, guint n_rows, gsize *largest)
{
  double most = 0, peak = -1;

  for (guint k = 0; k < n_half; k++) {
    double sum = 0;
    for (gsize i = (gsize) k * n_rows; i < (gsize) (k + 1) * n_rows; i++) {
      const double size = fabs (left[i]);
      sum += size;
      if (size > peak) {
        peak = size;
        *largest = i;
      }
    }
    most = MAX (most, sum);
  }
  return most;
}

/* Adds the cross through @pivot to the terms, and takes it away. */
static void
add_term (TdPaganinTerms *terms, double *left, guint n_half, gsize pivot)
{
  const guint n = terms->n_rows, nx = terms->nx;
  const double peak = left[pivot];
  const guint column = (guint) (pivot % n);
  float *weights = terms->weights + (gsize) terms->n_terms * n;
  float *factors = terms->factors + (gsize) terms->n_terms * nx;
  g_autofree double *cross = g_memdup2 (left + pivot - column, n * sizeof (double));

  for (guint i = 0; i < n; i++)
    weights[i] = (float) cross[i];
  for (guint k = 0; k < n_half; k++) {
    double *line = left + (gsize) k * n;
    const double factor = line[column] / peak;
    factors[k] = (float) (factor / nx);
    if (k > 0)
      factors[nx - k] = factors[k];
    for (guint i = 0; i < n; i++)
      line[i] -= factor * cross[i];
  }
  terms->n_terms++;
}

TdPaganinTerms *
td_paganin_terms_new (const TdPaganin *paganin, guint nx, guint n_rows, guint row)
{
  const guint most = td_paganin_terms_most (n_rows), n_half = nx / 2 + 1;
  g_autofree double *left = matrix_of (paganin, nx, n_half, n_rows, row);
  gsize largest = 0;

  if (!left)
    return NULL;
  TdPaganinTerms *terms = g_new0 (TdPaganinTerms, 1);
  terms->n_rows = n_rows;
  terms->nx = nx;
  terms->weights = g_new (float, (gsize) most *n_rows);
  terms->factors = g_new (float, (gsize) most *nx);
  while (paganin_terms_look (left, n_half, n_rows, &largest) > TD_PAGANIN_LEFT
         && terms->n_terms < most)
    add_term (terms, left, n_half, largest);
  return terms;
}

void
td_paganin_terms_free (TdPaganinTerms *terms)
{
  if (!terms)
    return;
  g_free (terms->weights);
  g_free (terms->factors);
  g_free (terms);
}
