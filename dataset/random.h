/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * A small generator (PCG-XSH-RR 64/32, O'Neill 2014) with streams. The same seed and stream give
 * the same numbers on every machine, whatever thread draws them and in whatever order.
 */
typedef struct {
  guint64 state, increment;
} TdRandom;

void td_random_init (TdRandom *random, guint64 seed, guint64 stream);
double td_random_uniform (TdRandom *random); /* in (0, 1) */
double td_random_normal (TdRandom *random);  /* mean 0, variance 1 */
/* Exact for every mean >= 0: inversion below 10, Hoermann's PTRS (Insurance: Mathematics and
   Economics 12, 1993) above. */
double td_random_poisson (TdRandom *random, double mean);
/* White noise in [-1, 1), by a generator fast enough for billions of samples and no more than that:
   for measuring. */
void td_random_noise (float *out, guint64 n, guint64 seed);
