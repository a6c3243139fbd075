/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "model.h"

/* Lines c + m N through what was timed. Pure; any thread. */

/* Seconds, above 0, that something of @n units took. */
typedef struct {
  double n, seconds;
} TdLineSample;

/* The line of the least relative errors, without samples that something else disturbed; c is not
   negative. @n > 0. @samples lose their order. */
TdModelCost td_line_through (TdLineSample *samples, guint n);
/* Sorts @values; @n > 0. */
double td_line_median (double *values, guint n);
