/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/random.h"

/**
 * A blind test (ABX; Clark, J. Audio Eng. Soc. 30 (1982) 330): X is A or B by the toss of a coin,
 * anew for each trial, and somebody says which.
 */
typedef struct {
  guint trials, right;
  double evidence; /* the most so far: td_lab_abx_is_shown() */
  gboolean x_is_b; /* of the present trial */
  TdRandom random;
} TdLabAbx;

void td_lab_abx_begin (TdLabAbx *abx, guint64 seed);
/* The present trial's answer; the next trial begins. */
void td_lab_abx_answer (TdLabAbx *abx, gboolean says_b);
/* How probable it is to be right @right times of @trials or oftener by guessing: the upper tail of
   the binomial distribution with probability 1/2. 1 without trials. */
double td_lab_abx_p_value (guint right, guint trials);
/* Whether A and B can be told apart. The score is seen after each trial, and who goes on until p
   is below 0.05 gets there by guessing alone, sooner or later. So the evidence is the mean, over
   all hit rates from 1/2 to 1, of how much more probable the answers are than by guessing:

       2^(n+1) / ((n + 1) C (n, k)) P (Bin (n + 1, 1/2) <= k)   for k of n right.

   By guessing it reaches 20 in at the most one of 20 tests, however long they go on (Ville's
   inequality). Seven of seven are enough. */
gboolean td_lab_abx_is_shown (const TdLabAbx *abx);
