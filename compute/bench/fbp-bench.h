/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/recipe/recipe.h"
#include "times.h"

/**
 * This bench measures whole parallel-beam jobs, from random projections in host memory to slices in
 * host memory. It compares them with the slowest single stage: the kernels or a transfer. No disk
 * takes part.
 */
typedef struct {
  guint n_columns, n_rows, n_views;
  guint runs; /* timed, after one to warm up */
  TdRecipe recipe;
  GCancellable *cancellable;      /* may be NULL */
  void (*progress) (double done); /* 0 … 1; may be NULL */
} TdFbpBenchSpec;

/* One run; stages in seconds. */
typedef struct {
  double total_s; /* first: runs are sorted by it */
  double kernel_s, upload_s, download_s;
  double read_s; /* of other threads, copying in */
  double updates_per_s;
} TdFbpBenchRun;

typedef struct {
  TdBenchTimes times;
  TdFbpBenchRun median;
  double kept;  /* of the rate that the slowest of kernels, upload and download allows */
  char *device; /* and its kernel; free with g_free() */
} TdFbpBenchResult;

/* Blocks. */
gboolean td_fbp_bench (const TdFbpBenchSpec *spec, TdFbpBenchResult *result, GError **error);
