/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lab-abx.h"

#include <math.h>

static void
lab_abx_toss (TdLabAbx *abx)
{
  abx->x_is_b = td_random_uniform (&abx->random) < 0.5;
}

#define ENOUGH 20 /* evidence, 1 in so many by guessing */

/* log C (n, k) */
static double
lab_abx_log_ways (guint k, guint n)
{
  return lgamma (n + 1.0) - lgamma (k + 1.0) - lgamma (n - k + 1.0);
}

static double
lab_abx_evidence (guint right, guint trials)
{
  const double log_mean
      = (trials + 1) * log (2) - log (trials + 1) - lab_abx_log_ways (right, trials);

  return exp (log_mean) * (1 - td_lab_abx_p_value (right + 1, trials + 1));
}

void
td_lab_abx_begin (TdLabAbx *abx, guint64 seed)
{
  abx->trials = abx->right = 0;
  abx->evidence = 0;
  td_random_init (&abx->random, seed, 0);
  lab_abx_toss (abx);
}

void
td_lab_abx_answer (TdLabAbx *abx, gboolean says_b)
{
  abx->trials++;
  abx->right += !says_b == !abx->x_is_b;
  abx->evidence = fmax (abx->evidence, lab_abx_evidence (abx->right, abx->trials));
  lab_abx_toss (abx);
}

double
td_lab_abx_p_value (guint right, guint trials)
{
  double p = 0;

  if (right == 0)
    return 1;
  for (guint k = right; k <= trials; k++)
    p += exp (lab_abx_log_ways (k, trials) - trials * log (2));
  return fmin (p, 1);
}

gboolean
td_lab_abx_is_shown (const TdLabAbx *abx)
{
  return abx->evidence >= ENOUGH;
}
