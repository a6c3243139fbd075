/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dataset/random.h"

/**
 * A blind test (ABX; Clark, J. Audio Eng. Soc. 30 (1982) 330): X is A or B by the toss of a coin,
 * anew for each trial, and somebody says which.
 */
typedef struct {
  guint trials, right;
  gboolean x_is_b; /* of the present trial */
  TdRandom random;
} TdLabAbx;

void td_lab_abx_begin (TdLabAbx *abx, guint64 seed);
/* The present trial's answer; the next trial begins. */
void td_lab_abx_answer (TdLabAbx *abx, gboolean says_b);
/* How probable it is to be right @right times of @trials or oftener by guessing: the upper tail of
   the binomial distribution with probability 1/2. 1 without trials. */
double td_lab_abx_p_value (guint right, guint trials);
