/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "times.h"

#include <stdlib.h>

#include "dataset/sort.h"

TdBenchTimes
td_bench_times (double *seconds, guint n)
{
  qsort (seconds, n, sizeof *seconds, td_compare_doubles);
  return (TdBenchTimes) { .median_s = (seconds[(n - 1) / 2] + seconds[n / 2]) / 2,
                          .low_s = seconds[0],
                          .high_s = seconds[n - 1] };
}
