/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How fast each unit of a device is, for the performance model (review, §6.5). Each work-item does
   the same operations over and over, in independent chains, so that latency does not count.

   UNIT says which operation:

       0    multiply-adds
       1    conversions between float and int
       2    local memory by 8 bytes
       3    texture fetches of one float as the texture kernels make them: four neighbours within
            two columns, all in the texture cache
       4    instructions of mixed kinds */
#define CHAINS 8

/* @out: one float a work-item; @step: small numbers that the compiler cannot know. */
#if UNIT == 3
TD_KERNEL void
td_bench_texture (TD_ITEM TD_TEXTURE texture, TD_GLOBAL float *out, const int n, const float step)
{
  const int id = td_global_x (), lane = td_local_x ();
  const float u = 8.0f + 0.4f * (float) (lane & 1) + 0.5f * (float) (lane >> 1 & 1)
                  + 0.9f * (float) (lane >> 2 & 7);
  float sum[4] = { 0.0f, 0.0f, 0.0f, 0.0f };

  for (int i = 0; i < n; i++) {
    const float from = td_fma (step, (float) (i & 15), u);
    TD_UNROLL
    for (int k = 0; k < 16; k++)
      sum[k & 3] += td_fetch1_linear (texture, td_fma (0.37f, (float) (k & 3), from),
                                      0.5f + (float) (k >> 2));
  }
  out[id] = sum[0] + sum[1] + sum[2] + sum[3];
}
#elif UNIT == 2
TD_KERNEL void
td_bench_local (TD_ITEM TD_GLOBAL float *out, const int n, const int step)
{
  TD_LOCAL float2 cache[1024];
  const int id = td_global_x ();
  int at = td_local_x () & 63;
  float2 sum = td_float2 (0.0f, 0.0f);

  for (int i = td_local_x (); i < 1024; i += 256)
    cache[i] = td_float2 ((float) i, (float) (id & 15));
  td_barrier ();
  for (int i = 0; i < n; i++) {
    TD_UNROLL
    for (int k = 0; k < 15; k++)
      sum = sum + cache[at + 64 * k];
    at = (at + step) & 63;
  }
  out[id] = sum.x + sum.y;
}
#else
TD_KERNEL void
td_bench_arithmetic (TD_ITEM TD_GLOBAL float *out, const int n, const float factor,
                     const float term, const int bits)
{
  const int id = td_global_x ();
  float a[CHAINS];
  int b[CHAINS];

  TD_UNROLL
  for (int c = 0; c < CHAINS; c++) {
    a[c] = (float) (id + c);
    b[c] = id + c;
  }
  for (int i = 0; i < n; i++) {
    TD_UNROLL
    for (int k = 0; k < 16; k++) {
      TD_UNROLL
      for (int c = 0; c < CHAINS; c++) {
#if UNIT == 0
        a[c] = td_fma (a[c], factor, term);
#elif UNIT == 1
        a[c] = (float) ((int) a[c] ^ bits);
#else
        a[c] = td_fma (a[c], factor, term);
        b[c] = b[c] + b[(c + 1) % CHAINS];
#endif
      }
    }
  }
  float sum = 0.0f;
  TD_UNROLL
  for (int c = 0; c < CHAINS; c++)
    sum += a[c] + (float) b[c];
  out[id] = sum;
}
#endif
