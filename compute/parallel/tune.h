/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "backproject.h"

/**
 * Chooses the fastest of several ways to compute the same thing. It is handed candidates, a measure
 * and a judge, and knows nothing of kernels. Candidate 0 is the default: the judge compares all
 * others with its result, and it wins if nothing is at least 2 % faster. Runs in the calling
 * thread.
 */
typedef struct {
  guint n_candidates;
  gpointer user;
  /* Makes candidate @index ready and runs it once: builds, first launch. An error rejects it. */
  gboolean (*prepare) (guint index, gpointer user, GError **error);
  /* One timed run, seconds. Called several times after prepare. */
  gboolean (*measure) (guint index, gpointer user, double *seconds, GError **error);
  /* Compares the last run's result with candidate 0's: @difference relative; an error rejects.
     Called after the measures, for candidate 0 too, which lets it keep its result. */
  gboolean (*judge) (guint index, gpointer user, double *difference, GError **error);
  void (*release) (guint index, gpointer user);
  /* May be NULL: before each candidate. */
  void (*progress) (guint index, gpointer user);
} TdTuner;

typedef struct {
  double seconds; /* best of the runs */
  double spread;  /* (median - best) / best */
  double difference;
  char *rejected; /* why it is out; NULL: it counts */
} TdTunerResult;

/* Times every candidate, best of @runs after a warm-up. @results: (array length=n_candidates),
   cleared with td_tuner_result_clear(). Returns the winner's index, or -1 with @error if candidate
   0 itself fails or @cancellable was triggered. */
int td_tuner_run (const TdTuner *tuner, guint runs, TdTunerResult *results,
                  GCancellable *cancellable, GError **error);
void td_tuner_result_clear (TdTunerResult *result);

/* What is being tried. A case is a family in one kind of task. Numbers begin at 1. */
typedef struct {
  const TdBackprojectFamily *family;
  TdInterpolation interpolation;
  TdPrecision precision;
  guint n_slices;
  guint number, n_cases;
  guint variant, n_variants; /* of the case */
  double fraction;           /* that is done of all, 0 … 1 */
} TdTuneStep;

/**
 * Finds the fastest variant of each back-projection family on a device and keeps it (tune-store.h).
 * "auto" and every job take it from there. Only when a person asks.
 */
typedef struct {
  guint size;                /* columns, views and slice width; 0: 2048 on GPUs, 512 on CPUs */
  const char *family;        /* NULL: all */
  guint runs;                /* best of; 0: 5 */
  GCancellable *cancellable; /* may be NULL */
  /* Called before each variant, may be NULL. */
  void (*progress) (const TdTuneStep *step, gpointer user);
  gpointer user;
} TdTuneOptions;

/* What was found for one family in one kind of task. */
typedef struct {
  const TdBackprojectFamily *family;
  TdInterpolation interpolation;
  TdPrecision precision;
  guint n_slices;
  guint candidates, rejected;
  double default_rate, best_rate; /* updates a second */
  char *defines;                  /* the winner's; "" for the default */
  char *error;                    /* the family could not be tuned; NULL */
} TdTuneRow;

/* Tunes, stores each result as it is found, and returns the table: (transfer full) (element-type
   TdTuneRow). What was stored before a cancellation stays. Blocks: minutes. Any thread. */
GPtrArray *td_tune_device (TdDevice *device, const TdTuneOptions *options, GError **error);
