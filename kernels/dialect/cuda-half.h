/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Half precision for NVRTC without the toolkit's cuda_fp16.h, which machines that have only the
   driver and the run-time compiler lack. Same names and meaning; each function is the PTX
   instruction that the toolkit's header uses too. Included by cuda.h. */
struct __align__ (2) __half { unsigned short bits; };
struct __align__ (4) __half2 { unsigned int bits; };

#define TD_HALF_FN static __device__ __forceinline__

TD_HALF_FN float __half2float (__half a)
{
  float f;
  asm ("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(a.bits));
  return f;
}

TD_HALF_FN __half __float2half_rn (float a)
{
  __half h;
  asm ("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(a));
  return h;
}

TD_HALF_FN __half2 __halves2half2 (__half a, __half b)
{
  __half2 h;
  asm ("mov.b32 %0, {%1, %2};" : "=r"(h.bits) : "h"(a.bits), "h"(b.bits));
  return h;
}

TD_HALF_FN __half __low2half (__half2 a)
{
  __half h;
  asm ("{ .reg .b16 high; mov.b32 {%0, high}, %1; }" : "=h"(h.bits) : "r"(a.bits));
  return h;
}

TD_HALF_FN __half __high2half (__half2 a)
{
  __half h;
  asm ("{ .reg .b16 low; mov.b32 {low, %0}, %1; }" : "=h"(h.bits) : "r"(a.bits));
  return h;
}

TD_HALF_FN float __low2float (__half2 a) { return __half2float (__low2half (a)); }
TD_HALF_FN float __high2float (__half2 a) { return __half2float (__high2half (a)); }
TD_HALF_FN float2 __half22float2 (__half2 a)
{
  return make_float2 (__low2float (a), __high2float (a));
}
TD_HALF_FN __half2 __half2half2 (__half a) { return __halves2half2 (a, a); }
TD_HALF_FN __half2 __low2half2 (__half2 a) { return __half2half2 (__low2half (a)); }
TD_HALF_FN __half2 __high2half2 (__half2 a) { return __half2half2 (__high2half (a)); }
TD_HALF_FN __half2 __float2half2_rn (float a) { return __half2half2 (__float2half_rn (a)); }

TD_HALF_FN __half2 __floats2half2_rn (float a, float b)
{
  __half2 h;
#if __CUDA_ARCH__ >= 800
  asm ("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h.bits) : "f"(b), "f"(a));
#else
  h = __halves2half2 (__float2half_rn (a), __float2half_rn (b));
#endif
  return h;
}

#define TD_HALF_BINARY(name, instruction) \
  TD_HALF_FN __half2 name (__half2 a, __half2 b) \
  { \
    __half2 h; \
    asm (instruction " %0, %1, %2;" : "=r"(h.bits) : "r"(a.bits), "r"(b.bits)); \
    return h; \
  }
TD_HALF_BINARY (__hadd2, "add.f16x2")
TD_HALF_BINARY (__hsub2, "sub.f16x2")
TD_HALF_BINARY (__hmul2, "mul.f16x2")
TD_HALF_BINARY (__hadd2_sat, "add.sat.f16x2")

TD_HALF_FN __half2 __hfma2 (__half2 a, __half2 b, __half2 c)
{
  __half2 h;
  asm ("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(h.bits) : "r"(a.bits), "r"(b.bits), "r"(c.bits));
  return h;
}

#define TD_HALF_BINARY1(name, instruction) \
  TD_HALF_FN __half name (__half a, __half b) \
  { \
    __half h; \
    asm (instruction " %0, %1, %2;" : "=h"(h.bits) : "h"(a.bits), "h"(b.bits)); \
    return h; \
  }
TD_HALF_BINARY1 (__hadd, "add.f16")
TD_HALF_BINARY1 (__hsub, "sub.f16")
TD_HALF_BINARY1 (__hmul, "mul.f16")

TD_HALF_FN __half __hfma (__half a, __half b, __half c)
{
  __half h;
  asm ("fma.rn.f16 %0, %1, %2, %3;" : "=h"(h.bits) : "h"(a.bits), "h"(b.bits), "h"(c.bits));
  return h;
}

TD_HALF_FN __half __ushort_as_half (unsigned short bits) { __half h; h.bits = bits; return h; }
TD_HALF_FN unsigned short __half_as_ushort (__half h) { return h.bits; }
