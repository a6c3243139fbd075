/* SPDX-License-Identifier: GPL-3.0-or-later */
#define TD_VECTOR_BYTES 32
#define TD_KERNELS td_host_kernels_avx2
#include "host-backproject-kernel.h"
