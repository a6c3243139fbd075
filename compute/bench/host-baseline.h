/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/parallel/backproject.h"

/* The plain per-pixel loop in C that the CPU's figures are compared to. The compiler has its
   best flags for the same instruction set, and the rows go to the same threads. One slice
   [ny][nx] from one sinogram [view][column]; only every @row_step-th row, since it is slow:
   their number is returned. Blocks. */
guint td_host_baseline (const TdBackprojectTask *task, const float *sinogram, guint row_step,
                        float *slice);
