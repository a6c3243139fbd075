/* SPDX-License-Identifier: GPL-3.0-or-later */
#define TD_VECTOR_BYTES 64
#define TD_KERNELS td_host_kernels_avx512
#include "host-backproject-kernel.h"
