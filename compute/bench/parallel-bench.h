/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "model.h"
#include "times.h"

/**
 * This bench measures parallel-beam back-projection on one device, against a baseline in the same
 * run. The baseline is the plain per-pixel loop in C on CPUs and the standard family on GPUs. Runs
 * of the two alternate, so that whatever else the machine does slows both.
 */
typedef struct {
  guint size; /* the slice's width and height; 0: as n_columns */
  guint n_columns, n_views;
  guint n_slices; /* in one run */
  TdInterpolation interpolation;
  TdPrecision precision;
  guint runs;                /* timed ones, after one to warm up */
  gboolean filter;           /* time the row filter and the two together */
  GCancellable *cancellable; /* may be NULL */
} TdBenchSpec;

typedef struct {
  const char *family; /* static */
  char *variant;      /* in words */
  guint n_slices;
  TdBenchTimes times;    /* back-projection of all n_slices */
  TdBenchTimes baseline; /* of one run of the baseline: on CPUs a part of a slice */
  double updates_per_s, baseline_updates_per_s, ratio; /* of the medians */
  double kernel_updates_per_s; /* the summing kernels alone, without packing; 0: not told apart */
  double error, bound;         /* relative L2 against the double-precision reference, random data */
  double filter_s, fbp_s;      /* a slice: filtering; filtering and back-projection. 0: not timed */
} TdBenchRow;

/* One family. Blocks. NULL with @error, for what a family cannot do too. */
TdBenchRow *td_bench_run (TdDevice *device, const TdBackprojectFamily *family,
                          const TdBenchSpec *spec, GError **error);
void td_bench_row_free (TdBenchRow *row);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdBenchRow, td_bench_row_free)

/* What the performance model says of a measured row. */
typedef struct {
  TdUpdateCost cost;
  double ceiling; /* updates a second */
  TdUnit bound_by;
} TdPrediction;
/* FALSE: there is no model of the row's family. */
gboolean td_bench_predict (const TdBenchRow *row, const TdBenchSpec *spec, TdDevice *device,
                           const TdUnitRates *rates, TdPrediction *prediction);

/* "plain per-pixel loop in C" or "standard": static. */
const char *td_bench_baseline_name (TdDevice *device);
