/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* How a back-projection reads the detector between pixel centres, and in which numbers it stores
   and adds. Both beams share these choices. */
typedef enum {
  TD_INTERPOLATION_NEAREST,
  TD_INTERPOLATION_LINEAR,
  TD_INTERPOLATION_AUTO, /* recipes only: a plan chooses one of the others */
} TdInterpolation;
typedef enum {
  TD_PRECISION_SINGLE,
  TD_PRECISION_HALF,     /* half storage, single accumulation */
  TD_PRECISION_HALF_RUN, /* half storage, short half-precision runs added to single */
  TD_PRECISION_AUTO,     /* recipes only, as above */
} TdPrecision;

/* How far a back-projection may be from the double-precision truth of its own formula, as a
   relative L2 error for rows of any spectrum. What a recipe leaves open is chosen within it
   (DESIGN.md, Accuracy). */
typedef enum { TD_ACCURACY_SINGLE, TD_ACCURACY_STANDARD, TD_ACCURACY_DRAFT } TdAccuracy;
extern const char *const td_accuracy_names[];   /* "single", "standard", "draft"; NULL ends them */
double td_accuracy_limit (TdAccuracy accuracy); /* 1e-5, 2e-4, 5e-3 */
/* Such an error of @n values. */
double td_relative_error (const float *got, const double *truth, gsize n);

/* The values' names in their order, those of recipes last; NULL ends them. */
extern const char *const td_interpolation_names[]; /* "nearest", "linear", "auto" */
extern const char *const td_precision_names[];     /* "single", "half", "half-run", "auto" */
