/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel dialect for CUDA C++ as NVRTC compiles it. No header of the toolkit is needed
   (cuda-half.h). Siblings: opencl.h, host.h. */
#define TD_CUDA 1
#include "cuda-half.h"

#define TD_KERNEL extern "C" __global__
#define TD_ITEM
#define TD_GROUP_SIZE(x, y, z) __launch_bounds__ ((x) * (y) * (z))
#define TD_FN static __device__ __forceinline__
#define TD_GLOBAL
#define TD_LOCAL __shared__
#define TD_LOCAL_ARG(type, name) /* dynamic shared memory is no parameter here */
#define TD_LOCAL_USE(type, name)                                                                   \
  extern __shared__ float4 td_dynamic_local[];                                                     \
  type *const name = (type *) td_dynamic_local;
#define TD_CONSTANT const
#define TD_RESTRICT __restrict__
#define TD_UNROLL _Pragma ("unroll")

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

#define td_float2(a, b) make_float2 ((a), (b))
#define td_float4(a, b, c, d) make_float4 ((a), (b), (c), (d))
TD_FN float2 operator+ (float2 a, float2 b) { return make_float2 (a.x + b.x, a.y + b.y); }
TD_FN float2 operator- (float2 a, float2 b) { return make_float2 (a.x - b.x, a.y - b.y); }
TD_FN float2 operator* (float2 a, float s) { return make_float2 (a.x * s, a.y * s); }
TD_FN float2 operator* (float s, float2 a) { return make_float2 (a.x * s, a.y * s); }
TD_FN float4 operator+ (float4 a, float4 b) { return make_float4 (a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
TD_FN float4 operator- (float4 a, float4 b) { return make_float4 (a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w); }
TD_FN float4 operator* (float4 a, float s) { return make_float4 (a.x * s, a.y * s, a.z * s, a.w * s); }
TD_FN float4 operator* (float s, float4 a) { return make_float4 (a.x * s, a.y * s, a.z * s, a.w * s); }
TD_FN void operator+= (float2 &a, float2 b) { a.x += b.x; a.y += b.y; }
TD_FN void operator+= (float4 &a, float4 b) { a.x += b.x; a.y += b.y; a.z += b.z; a.w += b.w; }

#define td_floor(x) floorf (x)
#define td_rint(x) rintf (x)
#define td_fma(a, b, c) fmaf ((a), (b), (c))
#define td_mad(a, b, c) ((a) * (b) + (c))
#define td_min(a, b) min ((a), (b))
#define td_max(a, b) max ((a), (b))
#define td_fmin(a, b) fminf ((a), (b))
#define td_fmax(a, b) fmaxf ((a), (b))
#define td_abs(x) fabsf (x)
#define td_log(x) logf (x)
#define td_exp(x) expf (x)
#define td_sqrt(x) sqrtf (x)
#define td_cos(x) cosf (x)
#define td_sin(x) sinf (x)
#define td_isfinite(x) isfinite (x)
#define td_float_as_int(x) __float_as_int (x)
#define td_int_as_float(x) __int_as_float (x)
#define td_atomic_add_int(p, v) atomicAdd ((p), (v))

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
