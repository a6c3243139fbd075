/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#define TD_GUPS                                                                                    \
  ((double) (1 << 30)) /* updates a second in a GUPS, as the iFDK paper counts them                \
                        */

/* Of the timed runs. */
typedef struct {
  double median_s, low_s, high_s;
} TdBenchTimes;

/* Sorts @seconds. */
TdBenchTimes td_bench_times (double *seconds, guint n);
