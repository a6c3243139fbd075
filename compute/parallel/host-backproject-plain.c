/* SPDX-License-Identifier: GPL-3.0-or-later */
#define TD_VECTOR_BYTES 16
#define TD_KERNELS td_host_kernels_plain
#include "host-backproject-kernel.h"
