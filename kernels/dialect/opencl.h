/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel dialect for OpenCL C 1.2 and later. See cuda.h and host.h for its siblings: the three
   files define the same names, described in DESIGN.md, "add a kernel". */
#define TD_OPENCL 1
#pragma OPENCL FP_CONTRACT ON

#define TD_KERNEL __kernel
/* The first "parameter" of every kernel; host.h passes the work-item's ids in here. */
#define TD_ITEM
#define TD_GROUP_SIZE(x, y, z) __attribute__ ((reqd_work_group_size (x, y, z)))
#define TD_FN static inline
#ifdef TD_REGISTER_LIMIT /* an option of the build instead: compute/device/opencl.c */
#define TD_GROUP_SIZE_RESIDENT(x, y, z, groups)
#else
#define TD_GROUP_SIZE_RESIDENT(x, y, z, groups) TD_GROUP_SIZE (x, y, z)
#endif
#define TD_GROUP_AT_MOST(items, groups) /* OpenCL's compilers ask the launch */
#define TD_GLOBAL __global
#define TD_LOCAL __local
/* Local memory sized at the launch (TD_ARG_LOCAL): TD_LOCAL_ARG after the last parameter, with no
   comma before it, and TD_LOCAL_USE first in the body. */
#define TD_LOCAL_ARG(type, name) , TD_LOCAL type *name
#define TD_LOCAL_USE(type, name)
#define TD_LOCAL_PTR __local
#ifdef TD_NV_ARCH /* 32-bit addresses, as in cuda.h: pointers take 64 and twice the instructions */
#define TD_LOCAL_ROW(T) uint
#define td_local_row(p, bias) ((uint) (ulong) (p) - (uint) (bias) * (uint) sizeof *(p))
#define TD_LOCAL_AT(T) uint
#define td_local_at(row, T, index, bias) ((row) + (uint) (index) * (uint) sizeof (T))
#define td_local_get(at, T, n) td_local_load ((at) + (uint) (n) * (uint) sizeof (T), (T *) 0)
static inline float __attribute__ ((overloadable)) td_local_load (uint at, float *type)
{
  float a;
  asm volatile ("ld.shared.f32 %0, [%1];" : "=f"(a) : "r"(at));
  return a;
}
static inline float2 __attribute__ ((overloadable)) td_local_load (uint at, float2 *type)
{
  float a, b;
  asm volatile ("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(a), "=f"(b) : "r"(at));
  return (float2) (a, b);
}
static inline float4 __attribute__ ((overloadable)) td_local_load (uint at, float4 *type)
{
  float a, b, c, d;
  asm volatile ("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "r"(at));
  return (float4) (a, b, c, d);
}
static inline uint __attribute__ ((overloadable)) td_local_load (uint at, uint *type)
{
  uint a;
  asm volatile ("ld.shared.u32 %0, [%1];" : "=r"(a) : "r"(at));
  return a;
}
static inline uint2 __attribute__ ((overloadable)) td_local_load (uint at, uint2 *type)
{
  uint a, b;
  asm volatile ("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(at));
  return (uint2) (a, b);
}
#else
#define TD_LOCAL_ROW(T) __local T * /* see cuda.h */
#define td_local_row(p, bias) (p)
#define TD_LOCAL_AT(T) __local T *
#define td_local_at(row, T, index, bias) ((__local T *) (row) + ((index) - (bias)))
#define td_local_get(at, T, n) (((__local T *) (at))[n])
#endif
#define TD_CONSTANT __constant
#define TD_IN(T) TD_GLOBAL const T *restrict
#define TD_OUT(T) TD_GLOBAL T *restrict
#ifdef TD_NV_ARCH /* the attribute is OpenCL 2.0's */
#define TD_PRAGMA_(x) _Pragma (#x)
#define TD_UNROLL _Pragma ("unroll")
#define TD_UNROLL_BY(n) TD_PRAGMA_ (unroll n)
#else
#define TD_UNROLL __attribute__ ((opencl_unroll_hint))
#define TD_UNROLL_BY(n) __attribute__ ((opencl_unroll_hint (n)))
#endif
typedef long td_long;

#define td_global_x() ((int) get_global_id (0))
#define td_global_y() ((int) get_global_id (1))
#define td_global_z() ((int) get_global_id (2))
#define td_local_x() ((int) get_local_id (0))
#define td_local_y() ((int) get_local_id (1))
#define td_local_z() ((int) get_local_id (2))
#define td_group_x() ((int) get_group_id (0))
#define td_group_y() ((int) get_group_id (1))
#define td_group_z() ((int) get_group_id (2))
#define td_groups_x() ((int) get_num_groups (0))
#define td_groups_y() ((int) get_num_groups (1))
#define td_barrier() barrier (CLK_LOCAL_MEM_FENCE)
#define td_barrier_global() barrier (CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#if defined(TD_NV_ARCH) && TD_NV_ARCH >= 70
#define td_warp_barrier() asm volatile ("bar.warp.sync 0xffffffff;" : : : "memory")
#else
#define td_warp_barrier() td_barrier () /* nobody promises warps here */
#endif

#define td_float2(a, b) ((float2) ((a), (b)))
#define td_float4(a, b, c, d) ((float4) ((a), (b), (c), (d)))
#define td_two_floats(from) td_float2 ((from)[0], (from)[1])

#define td_floor(x) floor (x)
#define td_reciprocal(x) (1.0f / (x))
#ifdef TD_NV_ARCH
static inline float td_floor_plus (float x, float n) /* see cuda.h */
{
  float sum;
  asm ("add.rm.f32 %0, %1, %2;" : "=f"(sum) : "f"(x), "f"(n));
  return sum;
}
#else
#define td_floor_plus(x, n) (floor (x) + (n))
#endif
#define td_rint(x) rint (x)
#define td_fma(a, b, c) fma ((a), (b), (c))
#define td_mad(a, b, c) mad ((a), (b), (c)) /* fastest, rounding free */
#define td_min(a, b) min ((a), (b))
#define td_max(a, b) max ((a), (b))
#define td_fmin(a, b) fmin ((a), (b))
#define td_fmax(a, b) fmax ((a), (b))
#define td_abs(x) fabs (x)
#ifdef TD_NV_ARCH
static inline int td_forget (int x) /* see cuda.h */
{
  int same;
  asm volatile ("mov.b32 %0, %1;" : "=r"(same) : "r"(x));
  return same;
}
#else
#define td_forget(x) (x)
#endif
#define td_log(x) log (x)
#define td_exp(x) exp (x)
#define td_sqrt(x) sqrt (x)
#define td_rsqrt(x) rsqrt (x)
#define td_cos(x) cos (x)
#define td_sin(x) sin (x)
#define td_atan(x) atan (x)
#define td_isfinite(x) isfinite (x)
#ifdef TD_NV_ARCH /* clamp () takes two instructions, this one none beside an addition */
static inline float td_saturate (float x)
{
  float y;
  asm ("cvt.sat.f32.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#else
#define td_saturate(x) clamp ((x), 0.0f, 1.0f)
#endif
#define td_float_as_int(x) as_int (x)
#define td_int_as_float(x) as_float (x)
#define td_prefetch(p) ((void) (p))
#define td_atomic_add_int(p, v) atomic_add ((p), (v))
#define td_atomic_max_int(p, v) atomic_max ((p), (v))

/* See cuda.h: an ordinary copy, except where NVIDIA's compiler is known to take the instruction. */
#if defined(TD_NV_ARCH) && TD_NV_ARCH >= 80
#define td_copy16(to, from) \
  asm volatile ("cp.async.cg.shared.global [%0], [%1], 16;" : : "l"((ulong) (to)), \
                "l"((ulong) (from)) : "memory")
#define td_copy8(to, from) \
  asm volatile ("cp.async.ca.shared.global [%0], [%1], 8;" : : "l"((ulong) (to)), \
                "l"((ulong) (from)) : "memory")
#define td_copy_wait() asm volatile ("cp.async.wait_all;" : : : "memory")
#else
#define td_copy16(to, from) (*(to) = *(from))
#define td_copy8(to, from) (*(to) = *(from))
#define td_copy_wait()
#endif

/* Half storage: memory holds half, registers hold float. */
typedef half td_half;
#define td_load_half(p, i) vload_half ((i), (p))
#define td_load_half2(p, i) vload_half2 ((i), (p))
#define td_load_half4(p, i) vload_half4 ((i), (p))
#define td_store_half(p, i, v) vstore_half_rte ((v), (i), (p))
#define td_store_half2(p, i, v) vstore_half2_rte ((v), (i), (p))
#define td_store_half4(p, i, v) vstore_half4_rte ((v), (i), (p))

/* Half arithmetic on two values in one 32-bit register, by the extension where there is one.
   Else it is computed in float and rounded to half after every operation: slow, but the same
   numbers. */
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half2 td_h2;
#define td_h2_pack(a, b) convert_half2_rte ((float2) ((a), (b)))
#define td_h2_splat(a) convert_half2_rte ((float2) (a))
#define td_h2_float2(h) convert_float2 (h)
#define td_h2_fma(a, b, c) fma ((a), (b), (c))
#define td_h2_add(a, b) ((a) + (b))
#define td_h2_sub(a, b) ((a) - (b))
#define td_h2_add_saturate(a, b) clamp ((a) + (b), (half2) (0), (half2) (1))
#define td_h2_low(h) ((h).xx)
#define td_h2_high(h) ((h).yy)
#define td_h2_low_bits(h) as_ushort ((h).x)
#define td_h2_from_float(bits) as_half2 (bits) /* the two halves that make up a float's bits */
#elif defined(TD_NV_ARCH) && TD_NV_ARCH >= 60 /* has no extension for it, but the instructions */
typedef uint td_h2;
static inline td_h2 td_h2_pack (float a, float b)
{
  uint h;
#if TD_NV_ARCH >= 80
  asm ("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(b), "f"(a));
#else
  asm ("{ .reg .b16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h}; }"
       : "=r"(h) : "f"(a), "f"(b));
#endif
  return h;
}
static inline float2 td_h2_float2 (td_h2 h)
{
  float a, b;
  asm ("{ .reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h; }"
       : "=f"(a), "=f"(b) : "r"(h));
  return (float2) (a, b);
}
static inline td_h2 td_h2_fma (td_h2 a, td_h2 b, td_h2 c)
{
  uint h;
  asm ("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(h) : "r"(a), "r"(b), "r"(c));
  return h;
}
#define TD_H2_BINARY(name, instruction) \
  static inline td_h2 name (td_h2 a, td_h2 b) \
  { \
    uint h; \
    asm (instruction " %0, %1, %2;" : "=r"(h) : "r"(a), "r"(b)); \
    return h; \
  }
TD_H2_BINARY (td_h2_add, "add.f16x2")
TD_H2_BINARY (td_h2_sub, "sub.f16x2")
TD_H2_BINARY (td_h2_add_saturate, "add.sat.f16x2")
static inline td_h2 td_h2_low (td_h2 a)
{
  uint h;
  asm ("{ .reg .b16 l, h; mov.b32 {l, h}, %1; mov.b32 %0, {l, l}; }" : "=r"(h) : "r"(a));
  return h;
}
static inline td_h2 td_h2_high (td_h2 a)
{
  uint h;
  asm ("{ .reg .b16 l, h; mov.b32 {l, h}, %1; mov.b32 %0, {h, h}; }" : "=r"(h) : "r"(a));
  return h;
}
#define td_h2_splat(a) td_h2_pack ((a), (a))
#define td_h2_low_bits(h) ((unsigned short) ((h) & 0xffffu))
#define td_h2_from_float(bits) as_uint (bits)
#else
typedef uint td_h2;
static inline td_h2 td_h2_pack2 (float2 v)
{
  uint bits;
  vstore_half2_rte (v, 0, (__private half *) &bits);
  return bits;
}
static inline float2 td_h2_float2 (td_h2 h)
{
  return vload_half2 (0, (__private const half *) &h);
}
#define td_h2_pack(a, b) td_h2_pack2 ((float2) ((a), (b)))
#define td_h2_splat(a) td_h2_pack2 ((float2) (a))
#define td_h2_fma(a, b, c) \
  td_h2_pack2 (fma (td_h2_float2 (a), td_h2_float2 (b), td_h2_float2 (c)))
#define td_h2_add(a, b) td_h2_pack2 (td_h2_float2 (a) + td_h2_float2 (b))
#define td_h2_sub(a, b) td_h2_pack2 (td_h2_float2 (a) - td_h2_float2 (b))
#define td_h2_add_saturate(a, b) \
  td_h2_pack2 (clamp (td_h2_float2 (a) + td_h2_float2 (b), 0.0f, 1.0f))
#define td_h2_low(h) (((h) & 0xffffu) | ((h) << 16))
#define td_h2_high(h) (((h) >> 16) | ((h) & 0xffff0000u))
#define td_h2_low_bits(h) ((unsigned short) ((h) & 0xffffu))
#define td_h2_from_float(bits) as_uint (bits)
#endif

/* Textures: texel centres at +0.5, 0 outside, as both APIs have it. Whether a fetch filters is said
   at the fetch (OpenCL) and at creation (CUDA): say the same in both places. */
#define TD_TEXTURE __read_only image2d_t
#define TD_TEXTURE_LAYERS __read_only image2d_array_t
__constant sampler_t td_sampler_linear =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_LINEAR;
__constant sampler_t td_sampler_nearest =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
#define td_fetch1_linear(t, u, v) (read_imagef ((t), td_sampler_linear, (float2) ((u), (v))).x)
#define td_fetch2_linear(t, u, v) (read_imagef ((t), td_sampler_linear, (float2) ((u), (v))).xy)
#define td_fetch4_linear(t, u, v) (read_imagef ((t), td_sampler_linear, (float2) ((u), (v))))
#define td_fetch1_nearest(t, u, v) (read_imagef ((t), td_sampler_nearest, (float2) ((u), (v))).x)
#define td_fetch2_nearest(t, u, v) (read_imagef ((t), td_sampler_nearest, (float2) ((u), (v))).xy)
#define td_fetch4_nearest(t, u, v) (read_imagef ((t), td_sampler_nearest, (float2) ((u), (v))))
#define td_layer1_linear(t, u, v, l) \
  (read_imagef ((t), td_sampler_linear, (float4) ((u), (v), (l), 0)).x)
#define td_layer2_linear(t, u, v, l) \
  (read_imagef ((t), td_sampler_linear, (float4) ((u), (v), (l), 0)).xy)
#define td_layer4_linear(t, u, v, l) \
  (read_imagef ((t), td_sampler_linear, (float4) ((u), (v), (l), 0)))
#define td_layer1_nearest(t, u, v, l) \
  (read_imagef ((t), td_sampler_nearest, (float4) ((u), (v), (l), 0)).x)
#define td_layer2_nearest(t, u, v, l) \
  (read_imagef ((t), td_sampler_nearest, (float4) ((u), (v), (l), 0)).xy)
#define td_layer4_nearest(t, u, v, l) \
  (read_imagef ((t), td_sampler_nearest, (float4) ((u), (v), (l), 0)))
