/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel dialect for CUDA C++ as NVRTC compiles it. No header of the toolkit is needed
   (cuda-half.h). Siblings: opencl.h, host.h. */
#define TD_CUDA 1
#include "cuda-half.h"

#define TD_KERNEL extern "C" __global__
#define TD_ITEM
#define TD_GROUP_SIZE(x, y, z) __launch_bounds__ ((x) * (y) * (z))
/* … and at least this many groups at once on a multiprocessor, where the compiler can aim at
   that */
#define TD_GROUP_SIZE_RESIDENT(x, y, z, groups) __launch_bounds__ ((x) * (y) * (z), (groups))
/* … of no more than so many work-items in whatever shape: the compiler would leave registers for
   1024 otherwise. */
#define TD_GROUP_AT_MOST(items, groups) __launch_bounds__ ((items), (groups))
#define TD_FN static __device__ __forceinline__
#define TD_GLOBAL
#define TD_LOCAL __shared__
#define TD_LOCAL_ARG(type, name) /* dynamic shared memory is no parameter here */
#define TD_LOCAL_USE(type, name)                                                                   \
  extern __shared__ float4 td_dynamic_local[];                                                     \
  type *const name = (type *) td_dynamic_local;
#define TD_LOCAL_PTR /* a pointer to local memory as a function's parameter */
/* Elements of an array in local memory by indices that count from @bias, a value the compiler does
   not know. The array's base is td_local_row (p, bias), and td_local_at (row, T, index, bias) is a
   pointer to an element. The address is a single shift and add that way. */
#define TD_LOCAL_ROW(T) unsigned
#define td_local_row(p, bias) \
  ((unsigned) __cvta_generic_to_shared (p) - (unsigned) (bias) * (unsigned) sizeof *(p))
#define td_local_at(row, T, index, bias) \
  ((T *) __cvta_shared_to_generic ((row) + (unsigned) (index) * (unsigned) sizeof (T)))
/* What td_local_at gives; element @n from there on. */
#define TD_LOCAL_AT(T) T *
#define td_local_get(at, T, n) (((const T *) (at))[n])
#define TD_CONSTANT const
#define TD_IN(T) TD_GLOBAL const T *__restrict__ /* an array that is only read */
#define TD_OUT(T) TD_GLOBAL T *__restrict__
#define TD_UNROLL _Pragma ("unroll")
#define TD_PRAGMA_(x) _Pragma (#x)
#define TD_UNROLL_BY(n) TD_PRAGMA_ (unroll n)
typedef long long td_long;
typedef unsigned int uint;

#define td_global_x() ((int) (blockIdx.x * blockDim.x + threadIdx.x))
#define td_global_y() ((int) (blockIdx.y * blockDim.y + threadIdx.y))
#define td_global_z() ((int) (blockIdx.z * blockDim.z + threadIdx.z))
#define td_local_x() ((int) threadIdx.x)
#define td_local_y() ((int) threadIdx.y)
#define td_local_z() ((int) threadIdx.z)
#define td_group_x() ((int) blockIdx.x)
#define td_group_y() ((int) blockIdx.y)
#define td_group_z() ((int) blockIdx.z)
#define td_groups_x() ((int) gridDim.x)
#define td_groups_y() ((int) gridDim.y)
#define td_barrier() __syncthreads ()
#define td_barrier_global() __syncthreads () /* global memory is seen, too */
/* For what the 32 work-items of one row of a group share; everybody in the group must still come
   here. */
#define td_warp_barrier() __syncwarp ()

#define td_float2(a, b) make_float2 ((a), (b))
#define td_float4(a, b, c, d) make_float4 ((a), (b), (c), (d))
#define td_two_floats(from) td_float2 ((from)[0], (from)[1])
TD_FN float2 operator+ (float2 a, float2 b) { return make_float2 (a.x + b.x, a.y + b.y); }
TD_FN float2 operator- (float2 a, float2 b) { return make_float2 (a.x - b.x, a.y - b.y); }
TD_FN float2 operator* (float2 a, float s) { return make_float2 (a.x * s, a.y * s); }
TD_FN float2 operator* (float s, float2 a) { return make_float2 (a.x * s, a.y * s); }
TD_FN float4 operator+ (float4 a, float4 b)
{
  return make_float4 (a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
TD_FN float4 operator- (float4 a, float4 b)
{
  return make_float4 (a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w);
}
TD_FN float4 operator* (float4 a, float s)
{
  return make_float4 (a.x * s, a.y * s, a.z * s, a.w * s);
}
TD_FN float4 operator* (float s, float4 a)
{
  return make_float4 (a.x * s, a.y * s, a.z * s, a.w * s);
}
TD_FN void operator+= (float2 &a, float2 b) { a.x += b.x; a.y += b.y; }
TD_FN void operator+= (float4 &a, float4 b) { a.x += b.x; a.y += b.y; a.z += b.z; a.w += b.w; }

#define td_floor(x) floorf (x)
TD_FN float td_reciprocal (float x) /* within an ulp or two; normal numbers */
{
  float y;
  asm ("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#define td_floor_plus(x, n) __fadd_rd ((x), (n)) /* floor (x) + n of a whole n of 2^23 and more */
#define td_rint(x) rintf (x)
#define td_fma(a, b, c) fmaf ((a), (b), (c))
#define td_mad(a, b, c) ((a) * (b) + (c))
#define td_min(a, b) min ((a), (b))
#define td_max(a, b) max ((a), (b))
#define td_fmin(a, b) fminf ((a), (b))
#define td_fmax(a, b) fmaxf ((a), (b))
#define td_abs(x) fabsf (x)
TD_FN int td_forget (int x) /* x, which the compiler takes for another number: it computes anew what
                               it would have kept in registers */
{
  int same;
  asm volatile ("mov.b32 %0, %1;" : "=r"(same) : "r"(x));
  return same;
}
#define td_log(x) logf (x)
#define td_exp(x) expf (x)
#define td_sqrt(x) sqrtf (x)
TD_FN float td_rsqrt (float x) /* within two ulp; normal numbers */
{
  float y;
  asm ("rsqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#define td_cos(x) cosf (x)
#define td_sin(x) sinf (x)
#define td_atan(x) atanf (x)
#define td_isfinite(x) isfinite (x)
#define td_saturate(x) __saturatef (x) /* into 0 … 1, free with an addition on most devices */
#define td_float_as_int(x) __float_as_int (x)
#define td_int_as_float(x) __int_as_float (x)
#define td_prefetch(p) ((void) (p))
#define td_atomic_add_int(p, v) atomicAdd ((p), (v))
#define td_atomic_max_int(p, v) atomicMax ((p), (v))
#define TD_HAVE_SHUFFLE 1
#define td_shuffle_xor(v, mask) __shfl_xor_sync (0xffffffffu, (v), (mask))
#define TD_HAVE_MULTIPROCESSOR_ID 1
TD_FN int td_multiprocessor_id (void)
{
  unsigned int id;
  asm volatile ("mov.u32 %0, %%smid;" : "=r"(id));
  return (int) id;
}

/* 16 or 8 bytes from global to local memory without passing through registers where the device can;
   td_copy_wait waits for the work-item's own copies. A barrier is needed before others read. */
#if __CUDA_ARCH__ >= 800
TD_FN void td_copy16 (float4 *to, const float4 *from)
{
  asm volatile ("cp.async.cg.shared.global [%0], [%1], 16;"
                :
                : "r"((unsigned) __cvta_generic_to_shared (to)),
                "l"(__cvta_generic_to_global (from))
                : "memory");
}
TD_FN void td_copy8 (float2 *to, const float2 *from)
{
  asm volatile ("cp.async.ca.shared.global [%0], [%1], 8;"
                :
                : "r"((unsigned) __cvta_generic_to_shared (to)),
                "l"(__cvta_generic_to_global (from))
                : "memory");
}
#define td_copy_wait() asm volatile ("cp.async.wait_all;" ::: "memory")
#else
#define td_copy16(to, from) (*(to) = *(from))
#define td_copy8(to, from) (*(to) = *(from))
#define td_copy_wait()
#endif

typedef __half td_half;
#define td_load_half(p, i) __half2float ((p)[i])
TD_FN float2 td_load_half2 (const td_half *p, size_t i)
{
  return __half22float2 (((const __half2 *) p)[i]);
}
TD_FN float4 td_load_half4 (const td_half *p, size_t i)
{
  float2 a = __half22float2 (((const __half2 *) p)[2 * i]);
  float2 b = __half22float2 (((const __half2 *) p)[2 * i + 1]);
  return make_float4 (a.x, a.y, b.x, b.y);
}
#define td_store_half(p, i, v) ((p)[i] = __float2half_rn (v))
TD_FN void td_store_half2 (td_half *p, size_t i, float2 v)
{
  ((__half2 *) p)[i] = __floats2half2_rn (v.x, v.y);
}
TD_FN void td_store_half4 (td_half *p, size_t i, float4 v)
{
  ((__half2 *) p)[2 * i] = __floats2half2_rn (v.x, v.y);
  ((__half2 *) p)[2 * i + 1] = __floats2half2_rn (v.z, v.w);
}

/* Half arithmetic on two values in one 32-bit register. */
typedef __half2 td_h2;
#define td_h2_pack(a, b) __floats2half2_rn ((a), (b))
#define td_h2_splat(a) __float2half2_rn (a)
#define td_h2_float2(h) __half22float2 (h)
#define td_h2_fma(a, b, c) __hfma2 ((a), (b), (c))
#define td_h2_add(a, b) __hadd2 ((a), (b))
#define td_h2_sub(a, b) __hsub2 ((a), (b))
#define td_h2_add_saturate(a, b) __hadd2_sat ((a), (b))
#define td_h2_low(h) __low2half2 (h)
#define td_h2_high(h) __high2half2 (h)
#define td_h2_low_bits(h) ((unsigned short) ((h).bits & 0xffffu))
TD_FN td_h2 td_h2_from_float (float bits) /* the two halves that make up a float's bits */
{
  td_h2 h;
  h.bits = __float_as_uint (bits);
  return h;
}

#define TD_TEXTURE cudaTextureObject_t
#define TD_TEXTURE_LAYERS cudaTextureObject_t
#define td_fetch1_linear(t, x, y) tex2D<float> ((t), (x), (y))
#define td_fetch2_linear(t, x, y) tex2D<float2> ((t), (x), (y))
#define td_fetch4_linear(t, x, y) tex2D<float4> ((t), (x), (y))
#define td_fetch1_nearest td_fetch1_linear
#define td_fetch2_nearest td_fetch2_linear
#define td_fetch4_nearest td_fetch4_linear
#define td_layer1_linear(t, x, y, l) tex2DLayered<float> ((t), (x), (y), (l))
#define td_layer2_linear(t, x, y, l) tex2DLayered<float2> ((t), (x), (y), (l))
#define td_layer4_linear(t, x, y, l) tex2DLayered<float4> ((t), (x), (y), (l))
#define td_layer1_nearest td_layer1_linear
#define td_layer2_nearest td_layer2_linear
#define td_layer4_nearest td_layer4_linear
