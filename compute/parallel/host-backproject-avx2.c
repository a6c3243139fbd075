/* SPDX-License-Identifier: GPL-3.0-or-later */
#define TD_VECTOR_BYTES 32
#define TD_KERNELS td_host_kernels_avx2
#define TD_NAMES                                                                                   \
  {                                                                                                \
    "AVX2, slice by slice", "AVX2, 8 slices at once", "AVX2, 16 slices at once"                    \
  }
#include "host-backproject-kernel.h"
