/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "random.h"

#include <math.h>

static guint32
random_next (TdRandom *random)
{
  guint64 old = random->state;
  guint32 shifted = ((old >> 18) ^ old) >> 27, turn = old >> 59;

  random->state = old * 6364136223846793005u + random->increment;
  return shifted >> turn | shifted << (-turn & 31);
}

/* SplitMix64: neighbouring seeds and streams must not give related sequences. */
static guint64
random_mix (guint64 x)
{
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

void
td_random_init (TdRandom *random, guint64 seed, guint64 stream)
{
  random->increment = random_mix (stream) | 1;
  random->state = random_mix (seed ^ random_mix (stream + 1));
  random_next (random);
}

double
td_random_uniform (TdRandom *random)
{
  return (random_next (random) + 0.5) / 4294967296.0;
}

double
td_random_normal (TdRandom *random)
{
  double radius = sqrt (-2 * log (td_random_uniform (random)));

  return radius * cos (2 * G_PI * td_random_uniform (random));
}

static double
poisson_by_inversion (TdRandom *random, double mean)
{
  double limit = exp (-mean), product = td_random_uniform (random), count = 0;

  while (product > limit) {
    product *= td_random_uniform (random);
    count++;
  }
  return count;
}

double
td_random_poisson (TdRandom *random, double mean)
{
  if (!(mean > 0))
    return 0;
  if (mean < 10)
    return poisson_by_inversion (random, mean);

  int sign; /* lgamma() would write a global */
  double b = 0.931 + 2.53 * sqrt (mean), a = -0.059 + 0.02483 * b;
  double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), top = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    double u = td_random_uniform (random) - 0.5, v = td_random_uniform (random);
    double us = 0.5 - fabs (u);
    double count = floor ((2 * a / us + b) * u + mean + 0.43);
    if (us >= 0.07 && v <= top)
      return count;
    if (count < 0 || (us < 0.013 && v > us))
      continue;
    if (log (v * inverse_alpha / (a / (us * us) + b))
        <= count * log (mean) - mean - lgamma_r (count + 1, &sign))
      return count;
  }
}

void
td_random_noise (float *out, guint64 n, guint64 seed)
{
  guint64 state = 0x9e3779b97f4a7c15u * (seed + 1);

  for (guint64 i = 0; i < n; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    out[i] = (float) (state >> 40) * 0x1p-23f - 1;
  }
}
