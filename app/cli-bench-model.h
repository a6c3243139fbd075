/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/bench/parallel-bench.h"

/* bench --model: measures the device's units and prints, for each of the measured @rows
   (element-type TdBenchRow), operations an update, the rate they allow and what was reached.
   Returns the exit status. */
int td_cli_bench_model (TdDevice *device, const TdBenchSpec *spec, GPtrArray *rows, gboolean json);
