/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

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
