/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "benchmark-fit.h"

#include <math.h>

void
td_benchmark_settle (TdBenchmarkJob *job, gboolean middle)
{
  double *took = (double *) &job->took;

  for (guint i = 0; i < sizeof job->took / sizeof *took; i++) {
    double seconds[TD_BENCHMARK_MOST_RUNS];
    for (guint run = 0; run < job->n_runs; run++)
      seconds[run] = ((const double *) &job->runs[run])[i];
    const double median = td_line_median (seconds, job->n_runs); /* sorts them */
    took[i] = middle ? median : seconds[0];
  }
}

/* ── What the times say of a cost ── */

/* A job, and what its stages have to do. */
typedef struct {
  const TdBenchmarkJob *job;
  TdModelTimes units;
} Timed;

typedef struct {
  TdModelMachine *machine;
  Timed timed[TD_BENCHMARK_MOST_JOBS];
  guint n_timed;
} Fit;

/* The fields of a stage: its seconds, its units, the machine's cost. */
typedef struct {
  gsize took, units, cost;
  gboolean (*counts) (const TdBenchmarkJob *); /* NULL: all do */
} Stage;

#define STAGE(took, units, cost, counts)                                                           \
  {                                                                                                \
    G_STRUCT_OFFSET (TdPipelineTimes, took), G_STRUCT_OFFSET (TdModelTimes, units),                \
        G_STRUCT_OFFSET (TdModelMachine, cost), counts                                             \
  }

/* Jobs that count for a stage. Kernels take many slices at once: of a low volume no rank has as
   many as in a job. */
static gboolean
benchmark_fit_is_high (const TdBenchmarkJob *job)
{
  return job->problem.nz >= job->problem.nx;
}

static gboolean
benchmark_fit_is_file (const TdBenchmarkJob *job)
{
  return !job->problem.stack;
}

static gboolean
benchmark_fit_has_groups (const TdBenchmarkJob *job)
{
  return benchmark_fit_is_high (job) && td_model_groups_follow (&job->problem, job->columns);
}

static gboolean
benchmark_fit_has_turns (const TdBenchmarkJob *job)
{
  return benchmark_fit_is_high (job) && !td_model_groups_follow (&job->problem, job->columns);
}

/* Of the mode *slab*: there ranks wait for each other once, at the end. */
static gboolean
benchmark_fit_is_slab (const TdBenchmarkJob *job)
{
  return job->way->mode == TD_CLUSTER_SLAB;
}

/* What a job says of a cost. Nothing: 0 units, or 0 seconds. */
typedef TdLineSample (*TakeSample) (const Timed *timed, gconstpointer user);

static void
benchmark_fit_cost (const Fit *fit, TakeSample take, gconstpointer user, TdModelCost *cost)
{
  TdLineSample samples[TD_BENCHMARK_MOST_JOBS];
  guint n = 0;

  for (guint i = 0; i < fit->n_timed; i++) {
    samples[n] = take (&fit->timed[i], user);
    n += samples[n].n > 0 && samples[n].seconds > 0;
  }
  if (n > 0)
    *cost = td_line_through (samples, n);
}

static TdLineSample
stage_sample (const Timed *timed, gconstpointer user)
{
  const Stage *stage = user;

  if (stage->counts && !stage->counts (timed->job))
    return (TdLineSample) { 0 };
  return (TdLineSample) { G_STRUCT_MEMBER (double, &timed->units, stage->units),
                          G_STRUCT_MEMBER (double, &timed->job->took, stage->took) };
}

/* Files of slices. Those that several ranks add up have a cost of their own: memory is busy then.
   @added: (nullable): these. */
static TdLineSample
slice_file_sample (const Timed *timed, gconstpointer added)
{
  const guint files = timed->job->problem.nz;

  if (!timed->job->problem.stack || (added != NULL) != (timed->job->columns > 1))
    return (TdLineSample) { 0 };
  return (TdLineSample) { timed->units.store / files, timed->job->took.store / files };
}

/* Both ways through a link count. */
static TdLineSample
link_sample (const Timed *timed, gconstpointer user)
{
  return (TdLineSample) { timed->units.upload + timed->units.download, timed->job->took.transfer };
}

/* Larger views take longer until the first kernel runs. */
static TdLineSample
start_sample (const Timed *timed, gconstpointer user)
{
  const guint columns = benchmark_fit_is_slab (timed->job) ? timed->job->problem.n_columns : 0;

  return (TdLineSample) { columns, timed->job->took.start };
}

/* ── What they say of whole jobs ── */

/* How wrong the predicted times are, in all. */
static double
benchmark_fit_wrong (const TdModelMachine *machine, const Fit *fit)
{
  double wrong = 0;

  for (guint i = 0; i < fit->n_timed; i++) {
    const TdBenchmarkJob *job = fit->timed[i].job;
    TdModelTimes times;
    if (!benchmark_fit_is_slab (job))
      continue;
    td_model_predict (machine, &job->problem, job->way->mode, job->rows, job->columns, &times);
    wrong += fabs (job->took.all - times.total) / job->took.all;
  }
  return wrong;
}

/* Fits the part of the shorter stages that the longest one does not hide: the predicted times of
   whole jobs are least wrong with it. Beside cards all is hidden but what fills the pipeline, which
   the model counts. Jobs as small as these hardly tell the one from the other there. */
static void
benchmark_fit_overlap (const Fit *fit)
{
  TdModelMachine *machine = fit->machine;
  double best = INFINITY, best_overlap = 0;

  machine->overlap = 0;
  if (machine->shared <= 0)
    return;
  for (double overlap = 0; overlap <= 1.001; overlap += 0.05) {
    machine->overlap = overlap;
    const double wrong = benchmark_fit_wrong (machine, fit);
    if (wrong < best) {
      best = wrong;
      best_overlap = overlap;
    }
  }
  machine->overlap = best_overlap;
}

/* A job has a process of its own, in which nothing of its size was done yet. Transforms are
   planned, and memory is touched for the first time. So it was in the first run of each size. The
   last size is the nearest to jobs. */
static double
benchmark_fit_first_start (const TdBenchmarkJob *jobs, guint n_jobs)
{
  double over = 0;

  for (guint i = 0; i < n_jobs; i++) {
    double least = jobs[i].runs[0].start;
    for (guint run = 1; run < jobs[i].n_runs; run++)
      least = MIN (least, jobs[i].runs[run].start);
    if (jobs[i].way == jobs[0].way)
      over = jobs[i].runs[0].start - least;
  }
  return over;
}

void
td_benchmark_fit (TdModelMachine *machine, const TdBenchmarkJob *jobs, guint n_jobs)
{
  static const Stage stages[] = {
    STAGE (read, load, load, NULL),
    STAGE (filter, filter, filter, NULL),
    STAGE (back_project, back_project, update, benchmark_fit_has_turns),
    STAGE (back_project, back_project, group, benchmark_fit_has_groups),
    STAGE (reduce, reduce, reduce, NULL),
    STAGE (store, store, store, benchmark_fit_is_file),
  };
  static const Stage gather = STAGE (gather, gather, copy, NULL);
  Fit fit = { .machine = machine, .n_timed = MIN (n_jobs, TD_BENCHMARK_MOST_JOBS) };
  TdModelCost start = { 0 };

  for (guint i = 0; i < fit.n_timed; i++) {
    fit.timed[i].job = &jobs[i];
    td_model_units (machine, &jobs[i].problem, jobs[i].way->mode, jobs[i].rows, jobs[i].columns,
                    &fit.timed[i].units);
  }
  for (guint i = 0; i < G_N_ELEMENTS (stages); i++)
    benchmark_fit_cost (&fit, stage_sample, &stages[i],
                        &G_STRUCT_MEMBER (TdModelCost, machine, stages[i].cost));
  benchmark_fit_cost (&fit, slice_file_sample, NULL, &machine->stack);
  benchmark_fit_cost (&fit, slice_file_sample, machine, &machine->added);
  benchmark_fit_cost (&fit, link_sample, NULL, &machine->link);
  if (machine->nodes == 1)
    benchmark_fit_cost (&fit, stage_sample, &gather, &machine->copy);
  benchmark_fit_cost (&fit, start_sample, NULL, &start);
  machine->start_s = start.c;
  machine->widening_s = start.m;
  benchmark_fit_overlap (&fit);
  machine->start_s += benchmark_fit_first_start (jobs, n_jobs);
}
