/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lab-abx.h"

#include <math.h>

static void
lab_abx_toss (TdLabAbx *abx)
{
  abx->x_is_b = td_random_uniform (&abx->random) < 0.5;
}

void
td_lab_abx_begin (TdLabAbx *abx, guint64 seed)
{
  abx->trials = abx->right = 0;
  td_random_init (&abx->random, seed, 0);
  lab_abx_toss (abx);
}

void
td_lab_abx_answer (TdLabAbx *abx, gboolean says_b)
{
  abx->trials++;
  abx->right += !says_b == !abx->x_is_b;
  lab_abx_toss (abx);
}

double
td_lab_abx_p_value (guint right, guint trials)
{
  double p = 0;

  if (right == 0)
    return 1;
  for (guint k = right; k <= trials; k++)
    p += exp (lgamma (trials + 1.0) - lgamma (k + 1.0) - lgamma (trials - k + 1.0)
              - trials * log (2));
  return fmin (p, 1);
}
