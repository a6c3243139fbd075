/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel dialect for the host: the same sources compiled as C, one call a work-item. Only
   kernels without barriers, local memory and textures can use it. kernels/embed.py writes the
   loop over work-items and unpacks the arguments. Siblings: opencl.h, cuda.h. */
#pragma once
#define TD_HOST 1

#include <math.h>
#include <stddef.h>
#include <string.h>

typedef struct {
  int global[3], local[3], group[3], groups[3];
} TdItem;

#define TD_KERNEL static inline __attribute__ ((always_inline))
#define TD_ITEM const TdItem *td_item,
#define TD_GROUP_SIZE(x, y, z)
#define TD_FN static inline __attribute__ ((always_inline))
#define TD_GLOBAL
#define TD_CONSTANT const
#define TD_IN(T) TD_GLOBAL const T *restrict
#define TD_OUT(T) TD_GLOBAL T *restrict
#define TD_UNROLL

#define td_global_x() (td_item->global[0])
#define td_global_y() (td_item->global[1])
#define td_global_z() (td_item->global[2])
#define td_local_x() (td_item->local[0])
#define td_local_y() (td_item->local[1])
#define td_local_z() (td_item->local[2])
#define td_group_x() (td_item->group[0])
#define td_group_y() (td_item->group[1])
#define td_group_z() (td_item->group[2])
#define td_groups_x() (td_item->groups[0])
#define td_groups_y() (td_item->groups[1])

typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned char uchar;
typedef struct { float x, y; } float2;
typedef float float4 __attribute__ ((vector_size (16)));

#define td_float2(a, b) ((float2) { (a), (b) })
#define td_float4(a, b, c, d) ((float4) { (a), (b), (c), (d) })

#define td_floor(x) floorf (x)
#define td_floor_plus(x, n) (floorf (x) + (n)) /* see cuda.h */
#define td_rint(x) rintf (x)
#define td_fma(a, b, c) fmaf ((a), (b), (c))
#define td_mad(a, b, c) ((a) * (b) + (c))
#define td_min(a, b) ((a) < (b) ? (a) : (b))
#define td_max(a, b) ((a) > (b) ? (a) : (b))
#define td_fmin(a, b) fminf ((a), (b))
#define td_fmax(a, b) fmaxf ((a), (b))
#define td_abs(x) fabsf (x)
#define td_log(x) logf (x)
#define td_exp(x) expf (x)
#define td_sqrt(x) sqrtf (x)
#define td_rsqrt(x) (1.0f / sqrtf (x))
#define td_cos(x) cosf (x)
#define td_sin(x) sinf (x)
#define td_atan(x) atanf (x)
#define td_isfinite(x) (fabsf (x) <= 3.402823466e38f)
#define td_prefetch(p) __builtin_prefetch (p)
#define td_atomic_add_int(p, v) __atomic_fetch_add ((p), (v), __ATOMIC_RELAXED)

static inline int
td_float_as_int (float x)
{
  int i;
  memcpy (&i, &x, sizeof i);
  return i;
}

static inline float
td_int_as_float (int i)
{
  float x;
  memcpy (&x, &i, sizeof x);
  return x;
}

/* Floats beside each other by one load: with a load for each, indexed loads take twice as long. */
static inline __attribute__ ((always_inline)) float2
td_two_floats (const float *from)
{
  unsigned long long both;
  memcpy (&both, from, sizeof both);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  return td_float2 (td_int_as_float ((int) (uint) both), td_int_as_float ((int) (both >> 32)));
#else
  return td_float2 (td_int_as_float ((int) (both >> 32)), td_int_as_float ((int) (uint) both));
#endif
}
