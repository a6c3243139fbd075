/* SPDX-License-Identifier: GPL-3.0-or-later */
#define TD_VECTOR_BYTES 64
#define TD_KERNELS td_host_kernels_avx512
#define TD_NAMES                                                                                   \
  {                                                                                                \
    "AVX-512, slice by slice", "AVX-512, 16 slices at once", "AVX-512, 32 slices at once"          \
  }
#include "host-backproject-kernel.h"
