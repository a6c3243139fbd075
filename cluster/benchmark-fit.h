/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "worker.h"

/**
 * What the times of whole jobs say of a machine: the constants of model.h. Pure; any thread.
 */

/* How a timed job was shared. */
typedef struct {
  TdClusterMode mode;
  gboolean columns; /* all ranks in one row of the grid; else in one column */
  TdVolumeFormat format;
} TdBenchmarkWay;

#define TD_BENCHMARK_MOST_JOBS 16
#define TD_BENCHMARK_MOST_RUNS 3

/* One job, and its runs. */
typedef struct {
  const TdBenchmarkWay *way;
  TdModelProblem problem;
  guint rows, columns; /* of the grid of ranks */
  guint n_runs;
  TdPipelineTimes runs[TD_BENCHMARK_MOST_RUNS];
  TdPipelineTimes took; /* what counts of them */
} TdBenchmarkJob;

/* What counts of the runs: each stage's middle time, or its shortest one. */
void td_benchmark_settle (TdBenchmarkJob *job, gboolean middle);
/* The costs of @machine, whose nodes, ranks, links and sharing are known, by settled @jobs: small
   ones come first, and the first job's way has the first starts. Of several nodes, those of copies
   and of the network are known, too. */
void td_benchmark_fit (TdModelMachine *machine, const TdBenchmarkJob *jobs, guint n_jobs);
