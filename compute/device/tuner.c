/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tuner.h"

#include <math.h>
#include <stdlib.h>

#include "dataset/error.h"
#include "dataset/sort.h"

/* A slower first run (clocks, caches) must not count; a candidate far behind is not timed often. */
#define WARM_UP 2
#define HOPELESS 2.0
#define WORTH_CHANGING 0.98

static gboolean
time_candidate (const TdTuner *tuner, guint index, guint runs, double hopeless,
                TdTunerResult *result, GError **error)
{
  g_autofree double *seconds = g_new (double, runs);
  guint n = 0;

  for (guint i = 0; i < WARM_UP; i++) {
    if (!tuner->measure (index, tuner->user, &seconds[0], error))
      return FALSE;
    if (seconds[0] > hopeless)
      break;
  }
  if (seconds[0] > hopeless)
    n = 1;
  else
    for (; n < runs; n++)
      if (!tuner->measure (index, tuner->user, &seconds[n], error))
        return FALSE;
  qsort (seconds, n, sizeof *seconds, td_compare_doubles);
  result->seconds = seconds[0];
  result->spread = seconds[0] > 0 ? (seconds[n / 2] - seconds[0]) / seconds[0] : 0;
  return TRUE;
}

static gboolean
try_candidate (const TdTuner *tuner, guint index, guint runs, double hopeless,
               TdTunerResult *result, GError **error)
{
  gboolean ok;

  if (!tuner->prepare (index, tuner->user, error))
    return FALSE;
  ok = time_candidate (tuner, index, runs, hopeless, result, error)
       && tuner->judge (index, tuner->user, &result->difference, error);
  tuner->release (index, tuner->user);
  if (ok && !isfinite (result->difference)) {
    td_set_error (error, TD_ERROR_DEVICE_BUG, "the result is not finite");
    ok = FALSE;
  }
  return ok;
}

int
td_tuner_run (const TdTuner *tuner, guint runs, TdTunerResult *results, GCancellable *cancellable,
              GError **error)
{
  int winner = 0;

  for (guint i = 0; i < tuner->n_candidates; i++)
    results[i] = (TdTunerResult) { 0 };
  for (guint i = 0; i < tuner->n_candidates; i++) {
    g_autoptr (GError) reason = NULL;
    double best = i ? results[winner].seconds : INFINITY;

    if (g_cancellable_set_error_if_cancelled (cancellable, error))
      return -1;
    if (tuner->progress)
      tuner->progress (i, tuner->user);
    if (!try_candidate (tuner, i, MAX (runs, 1), HOPELESS * best, &results[i], &reason)) {
      if (i == 0) {
        g_propagate_error (error, g_steal_pointer (&reason));
        return -1;
      }
      results[i].rejected = g_strdup (reason->message);
    } else if (results[i].seconds < WORTH_CHANGING * best && i > 0) {
      winner = i;
    }
  }
  return winner;
}

void
td_tuner_result_clear (TdTunerResult *result)
{
  g_clear_pointer (&result->rejected, g_free);
}
