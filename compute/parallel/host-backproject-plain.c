/* SPDX-License-Identifier: GPL-3.0-or-later */
#define TD_VECTOR_BYTES 16
#define TD_KERNELS td_host_kernels_plain
#define TD_NAMES                                                                                   \
  {                                                                                                \
    "plain C, slice by slice", "plain C, 4 slices at once", "plain C, 8 slices at once"            \
  }
#include "host-backproject-kernel.h"
