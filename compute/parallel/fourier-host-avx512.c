/* SPDX-License-Identifier: GPL-3.0-or-later */
#define TD_KERNELS td_fourier_kernels_avx512
#include "fourier-host-kernel.h"
