/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the back-projection kernels share: slices side by side in a vector, half storage, positions
   on the detector in fixed point. Defines: TD_SLICES (1, 2, 4: slices at once), TD_HALF (cached or
   stored in half), TD_RUN (0, or the projections summed in half before single takes over). */
#pragma once

/* One sum a slice, always single. */
#if TD_SLICES == 1
typedef float TdSum;
#define td_sum_zero() 0.0f
TD_FN TdSum td_sum_fma (float w, TdSum v, TdSum s) { return td_fma (w, v, s); }
TD_FN float td_sum_get (TdSum s, int slice) { return s; }
#elif TD_SLICES == 2
typedef float2 TdSum;
#define td_sum_zero() td_float2 (0.0f, 0.0f)
TD_FN TdSum td_sum_fma (float w, TdSum v, TdSum s)
{
  return td_float2 (td_fma (w, v.x, s.x), td_fma (w, v.y, s.y));
}
TD_FN float td_sum_get (TdSum s, int slice) { return slice == 0 ? s.x : s.y; }
#else
typedef float4 TdSum;
#define td_sum_zero() td_float4 (0.0f, 0.0f, 0.0f, 0.0f)
TD_FN TdSum td_sum_fma (float w, TdSum v, TdSum s)
{
  return td_float4 (td_fma (w, v.x, s.x), td_fma (w, v.y, s.y), td_fma (w, v.z, s.z),
                    td_fma (w, v.w, s.w));
}
TD_FN float td_sum_get (TdSum s, int slice)
{
  return slice == 0 ? s.x : slice == 1 ? s.y : slice == 2 ? s.z : s.w;
}
#endif

#ifdef TD_HAVE_SHUFFLE
TD_FN TdSum
td_sum_shuffle_xor (TdSum s, int mask)
{
#if TD_SLICES == 1
  return td_shuffle_xor (s, mask);
#elif TD_SLICES == 2
  return td_float2 (td_shuffle_xor (s.x, mask), td_shuffle_xor (s.y, mask));
#else
  return td_float4 (td_shuffle_xor (s.x, mask), td_shuffle_xor (s.y, mask),
                    td_shuffle_xor (s.z, mask), td_shuffle_xor (s.w, mask));
#endif
}
#endif

/* Every slice's value in half, two in a register. */
#if TD_SLICES == 2
typedef td_h2 TdShort;
TD_FN TdShort td_short (TdSum v) { return td_h2_pack (v.x, v.y); }
TD_FN TdSum td_short_sum (TdShort b) { return td_h2_float2 (b); }
TD_FN TdShort td_short_zero (void) { return td_h2_splat (0.0f); }
TD_FN TdShort td_short_add (TdShort a, TdShort b) { return td_h2_add (a, b); }
TD_FN TdShort td_short_sub (TdShort a, TdShort b) { return td_h2_sub (a, b); }
TD_FN TdShort td_short_fma (td_h2 w, TdShort v, TdShort s) { return td_h2_fma (w, v, s); }
#elif TD_SLICES == 4
typedef struct { td_h2 a, b; } __attribute__ ((aligned (8))) TdShort;
TD_FN TdShort td_short_make (td_h2 a, td_h2 b)
{
  TdShort made;
  made.a = a;
  made.b = b;
  return made;
}
#ifdef TD_NV_ARCH
static inline TdShort __attribute__ ((overloadable)) td_local_load (uint at, TdShort *type)
{
  const uint2 bits = td_local_load (at, (uint2 *) 0);
  return td_short_make (bits.x, bits.y);
}
#endif
TD_FN TdShort td_short (TdSum v)
{
  return td_short_make (td_h2_pack (v.x, v.y), td_h2_pack (v.z, v.w));
}
TD_FN TdSum td_short_sum (TdShort v)
{
  float2 a = td_h2_float2 (v.a), b = td_h2_float2 (v.b);
  return td_float4 (a.x, a.y, b.x, b.y);
}
TD_FN TdShort td_short_zero (void)
{
  return td_short_make (td_h2_splat (0.0f), td_h2_splat (0.0f));
}
TD_FN TdShort td_short_add (TdShort a, TdShort b)
{
  return td_short_make (td_h2_add (a.a, b.a), td_h2_add (a.b, b.b));
}
TD_FN TdShort td_short_sub (TdShort a, TdShort b)
{
  return td_short_make (td_h2_sub (a.a, b.a), td_h2_sub (a.b, b.b));
}
TD_FN TdShort td_short_fma (td_h2 w, TdShort v, TdShort s)
{
  return td_short_make (td_h2_fma (w, v.a, s.a), td_h2_fma (w, v.b, s.b));
}
#endif

/* One bin of every slice, as the cache holds it. */
#if !TD_HALF
typedef TdSum TdBin;
TD_FN TdBin td_bin (TdSum v) { return v; }
TD_FN TdSum td_bin_sum (TdBin b) { return b; }
#elif TD_SLICES == 1 /* only packed for a texture */
typedef unsigned short TdBin;
TD_FN TdBin td_bin (TdSum v) { return td_h2_low_bits (td_h2_pack (v, 0.0f)); }
#else
typedef TdShort TdBin;
TD_FN TdBin td_bin (TdSum v) { return td_short (v); }
TD_FN TdSum td_bin_sum (TdBin b) { return td_short_sum (b); }
#endif

/* What is added up within a run of projections, and the weight a bin has in it. */
#if TD_RUN
typedef TdShort TdTerm;
typedef td_h2 TdWeight;
#if TD_HALF
#define td_term(bin) (bin)
#else
#define td_term(bin) td_short (bin)
#endif
#define td_term_zero() td_short_zero ()
#define td_term_add(a, b) td_short_add ((a), (b))
#define td_term_sub(a, b) td_short_sub ((a), (b))
#define td_term_fma(w, v, s) td_short_fma ((w), (v), (s))
#define td_term_sum(t) td_short_sum (t)
#define td_weight(w) td_h2_splat (w)
#else
typedef TdSum TdTerm;
typedef float TdWeight;
#define td_term(bin) td_bin_sum (bin)
#define td_term_zero() td_sum_zero ()
#define td_term_add(a, b) ((a) + (b))
#define td_term_sub(a, b) ((a) - (b))
#define td_term_fma(w, v, s) td_sum_fma ((w), (v), (s))
#define td_term_sum(t) (t)
#define td_weight(w) (w)
#endif

/* Positions on the detector: columns in units of 2^-32, so that which bins a tile needs is exact
   arithmetic on every device. */
TD_FN td_long td_fixed (int whole, uint fraction) { return ((td_long) whole << 32) | fraction; }
TD_FN float td_fixed_float (td_long x) { return (float) x * 2.3283064365386963e-10f; }
TD_FN td_long td_fixed_min (td_long a, td_long b) { return a < b ? a : b; }

/* For half storage and runs a power of two brings the greatest absolute value, @greatest, to 512
   … 1024. A run of 32 then stays below half's 65504, and small values keep their digits. */
TD_FN float td_half_factor (float greatest)
{
  int exponent = ((td_float_as_int (greatest) >> 23) & 255) - 127;
  exponent = td_max (-100, td_min (exponent, 100));
  return greatest > 0.0f ? td_int_as_float ((127 + 9 - exponent) << 23) : 1.0f;
}

/* Stores the sums of pixel (x, y) for slices slice0 … slice0 + TD_SLICES - 1, those that exist. */
TD_FN void
td_store_pixel (TD_GLOBAL float *slices, TdBackprojectParams p, int slice0, int x, int y, TdSum sum,
                float scale)
{
  if (x < p.nx && y < p.ny) {
    TD_UNROLL
    for (int s = 0; s < TD_SLICES; s++)
      if (slice0 + s < p.n_slices)
        slices[((size_t) (slice0 + s) * p.ny + y) * p.nx + x] = scale * td_sum_get (sum, s);
  }
}
