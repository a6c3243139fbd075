/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* How a back-projection reads the detector between pixel centres, and in which numbers it stores
   and adds. Both beams share these choices. */
typedef enum { TD_INTERPOLATION_NEAREST, TD_INTERPOLATION_LINEAR } TdInterpolation;
typedef enum {
  TD_PRECISION_SINGLE,
  TD_PRECISION_HALF,     /* half storage, single accumulation */
  TD_PRECISION_HALF_RUN, /* half storage, short half-precision runs added to single */
} TdPrecision;

/* The values' names in their order; NULL ends them. */
extern const char *const td_interpolation_names[]; /* "nearest", "linear" */
extern const char *const td_precision_names[];     /* "single", "half", "half-run" */
const char *td_interpolation_name (TdInterpolation kind);
const char *td_precision_name (TdPrecision kind);
