/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/job.h"
#include "times.h"

/**
 * Measures whole FDK jobs, from projections in host memory to a volume in host memory: reading,
 * filtering, both transfers, back-projection. The projections are random; no disk takes part.
 */
typedef struct {
  guint size;                /* voxels along each side */
  guint n_columns;           /* and rows of the detector */
  guint n_views;             /* over a full turn */
  guint runs;                /* timed, after one to warm up */
  TdRecipe recipe;           /* devices and memory limits are those of td_fdk_bench_run() */
  const char *timeline;      /* file for the last run's spans, CSV; NULL: none */
  GCancellable *cancellable; /* may be NULL */
} TdFdkBenchSpec;

typedef struct {
  guint64 memory_bytes, device_memory_bytes; /* as in a recipe; 0: none */
} TdFdkBenchLimit;

typedef struct {
  char *devices;      /* free with td_fdk_bench_row_clear() */
  const char *family; /* static */
  guint n_devices;
  TdMessage **notes; /* the plan's */
  TdBenchTimes times;
  double gups;          /* by the median */
  double speed_up;      /* over the first row; 0: it is the first */
  TdJobStage stages[8]; /* of the median run, summed over devices */
  guint n_stages;
  guint64 host_peak_bytes, device_peak_bytes;
  TdFdkBenchLimit limit;
  double difference; /* relative RMS from the first row's volume */
  guint64 different; /* voxels that are not the same bits as there */
} TdFdkBenchRow;

typedef struct TdFdkBench TdFdkBench;

/* Makes projections and room for the volume in host memory; blocks. */
TdFdkBench *td_fdk_bench_new (const TdFdkBenchSpec *spec, GError **error);
/* Jobs on @devices ("cuda:0,cuda:1") with @limit. The first row's volume is what later ones are
   compared with. */
gboolean td_fdk_bench_run (TdFdkBench *bench, const char *devices, const TdFdkBenchLimit *limit,
                           TdFdkBenchRow *row, GError **error);
/* The seconds of the kernel alone, with projections and volume in the device's memory. 0: they
   do not fit there, or the device shares the host's memory. */
gboolean td_fdk_bench_kernel (TdFdkBench *bench, const char *device, double *seconds,
                              GError **error);
void td_fdk_bench_row_clear (TdFdkBenchRow *row);
void td_fdk_bench_free (TdFdkBench *bench);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdFdkBench, td_fdk_bench_free)
