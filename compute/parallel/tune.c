/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tune.h"

#include <math.h>
#include <stdlib.h>

#include "dataset/sort.h"
#include "trial.h"
#include "tune-store.h"

/* ── The tuner ── */

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

/* ── The families ── */

/* One family, one kind of task: what the tuner's callbacks work on. */
typedef struct {
  TdDevice *device;
  TdTuneRow *row;
  TdTrial *trial;
  GPtrArray *variants; /* element 0 NULL: the default */
  float *reference;    /* the default's slices */
  guint64 n_floats;
  const TdTuneOptions *options;
  guint done, total; /* rows, for the progress */
} Search;

static void
tune_row_free (gpointer data)
{
  TdTuneRow *row = data;

  g_free (row->defines);
  g_free (row->error);
  g_free (row);
}

/* ── The tuner's callbacks ── */

static gboolean
tune_prepare (guint index, gpointer user, GError **error)
{
  Search *search = user;

  const TdBackprojectVariant *variant = search->variants->pdata[index];

  return td_trial_prepare (search->trial, search->row->family,
                           variant ? variant : &td_backproject_default, error);
}

static gboolean
tune_measure (guint index, gpointer user, double *seconds, GError **error)
{
  return td_trial_run (((Search *) user)->trial, seconds, error);
}

/* A candidate may differ from the default by what rounding explains: both are within the family's
   bound of the truth. */
static gboolean
tune_judge (guint index, gpointer user, double *difference, GError **error)
{
  Search *search = user;
  double allowed
      = 2
        * search->row->family->error_bound (search->row->family, td_trial_task (search->trial),
                                            td_device_info (search->device));
  g_autofree float *slices = td_trial_slices (search->trial, error);

  if (!slices)
    return FALSE;
  if (index == 0) {
    search->reference = g_steal_pointer (&slices);
    *difference = 0;
    return TRUE;
  }
  *difference = td_relative_l2 (slices, search->reference, search->n_floats);
  if (*difference <= allowed)
    return TRUE;
  return td_set_error (error, TD_ERROR_DEVICE_BUG,
                       "its result differs from the usual variant's by %.2g, more than %.2g",
                       *difference, allowed);
}

static void
tune_release (guint index, gpointer user)
{
  td_trial_release (((Search *) user)->trial);
}

static void
tune_progress (guint index, gpointer user)
{
  const Search *search = user;
  const TdTuneRow *row = search->row;

  if (!search->options->progress)
    return;
  const guint n_variants = search->variants->len;
  const TdTuneStep step
      = { .family = row->family,
          .interpolation = row->interpolation,
          .precision = row->precision,
          .n_slices = row->n_slices,
          .number = search->done + 1,
          .n_cases = search->total,
          .variant = index + 1,
          .n_variants = n_variants,
          .fraction = (search->done + (double) index / n_variants) / search->total };
  search->options->progress (&step, search->options->user);
}

/* ── One family ── */

/* The family's candidates for at most the row's slices at once, after its default. Half storage
   keeps pairs, so two are always tried. */
static GPtrArray *
variants_for (const Search *search, GPtrArray **owner)
{
  const TdBackprojectFamily *family = search->row->family;
  GPtrArray *variants = g_ptr_array_new ();

  *owner = family->candidates ? family->candidates (family, td_trial_task (search->trial),
                                                    td_device_info (search->device))
                              : NULL;
  g_ptr_array_add (variants, NULL);
  for (guint i = 0; *owner && i < (*owner)->len; i++) {
    TdBackprojectVariant *variant = (*owner)->pdata[i];
    if (variant->slices <= MAX (search->row->n_slices, 2))
      g_ptr_array_add (variants, variant);
  }
  return variants;
}

static gboolean
tune_keep (const Search *search, const TdBackprojectVariant *winner, GError **error)
{
  TdTuneRow *row = search->row;
  TdTuned tuned = { .defines = winner ? winner->defines : NULL,
                    .slices = winner ? winner->slices : 0,
                    .updates_per_second = row->best_rate };

  row->defines = winner && winner->defines ? g_strjoinv (" ", winner->defines) : g_strdup ("");
  return td_tune_store_add (td_device_info (search->device), row->family->name,
                            td_trial_task (search->trial), row->n_slices, &tuned, error);
}

/* FALSE: cancelled, or nothing can be stored. A family that fails is a row with its error. */
static gboolean
tune_family (Search *search, GError **error)
{
  TdTuneRow *row = search->row;
  const TdTuneOptions *options = search->options;
  g_autoptr (GPtrArray) owner = NULL;
  g_autoptr (GPtrArray) variants = search->variants = variants_for (search, &owner);
  g_autofree TdTunerResult *results = g_new0 (TdTunerResult, variants->len);
  g_autoptr (GError) failure = NULL;
  const TdTuner tuner = { .n_candidates = variants->len,
                          .user = search,
                          .prepare = tune_prepare,
                          .measure = tune_measure,
                          .judge = tune_judge,
                          .release = tune_release,
                          .progress = tune_progress };
  int winner = td_tuner_run (&tuner, options->runs ? options->runs : 5, results,
                             options->cancellable, &failure);
  gboolean ok = TRUE;

  row->candidates = variants->len;
  if (winner >= 0) {
    for (guint i = 0; i < variants->len; i++)
      row->rejected += results[i].rejected != NULL;
    row->default_rate = td_trial_updates (search->trial) / results[0].seconds;
    row->best_rate = td_trial_updates (search->trial) / results[winner].seconds;
    ok = tune_keep (search, variants->pdata[winner], error);
  } else if (g_error_matches (failure, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
    g_propagate_error (error, g_steal_pointer (&failure));
    ok = FALSE;
  } else {
    row->error = g_strdup (failure->message);
  }
  for (guint i = 0; i < variants->len; i++)
    td_tuner_result_clear (&results[i]);
  g_clear_pointer (&search->reference, g_free);
  search->variants = NULL;
  return ok;
}

/* ── The device ── */

static gboolean
tune_wanted (const TdTuneOptions *options, const TdBackprojectFamily *family,
             const TdBackprojectTask *task, const TdDeviceInfo *info)
{
  g_autofree char *disabled = td_tune_store_disabled (info, family->name);

  return !disabled && (!options->family || g_str_equal (options->family, family->name))
         && !(family->unsupported && family->unsupported (family, task, info));
}

/* A row for each family and kind of task, kind by kind. */
static GPtrArray *
tune_rows (TdBackprojectTask task, const TdTuneOptions *options, const TdDeviceInfo *info)
{
  GPtrArray *rows = g_ptr_array_new_with_free_func (tune_row_free);

  for (guint i = TD_INTERPOLATION_NEAREST; i <= TD_INTERPOLATION_LINEAR; i++)
    for (guint p = TD_PRECISION_SINGLE; p <= TD_PRECISION_HALF_RUN; p++)
      for (guint slices = 1; slices <= 4; slices *= 2)
        for (const TdBackprojectFamily *const *at = td_backproject_families (); *at; at++) {
          const TdTuneRow row
              = { .family = *at, .interpolation = i, .precision = p, .n_slices = slices };
          task.interpolation = i;
          task.precision = p;
          if (tune_wanted (options, *at, &task, info))
            g_ptr_array_add (rows, g_memdup2 (&row, sizeof row));
        }
  return rows;
}

GPtrArray *
td_tune_device (TdDevice *device, const TdTuneOptions *options, GError **error)
{
  const TdDeviceInfo *info = td_device_info (device);
  guint size = options->size ? options->size : info->kind == TD_DEVICE_GPU ? 2048 : 512;
  Search search = { .device = device, .options = options };
  TdBackprojectTask task;
  gboolean ok = TRUE;

  if (options->family && !td_backproject_family (options->family, error))
    return NULL;
  td_trial_task_init (&task, size, size, size, TD_INTERPOLATION_LINEAR, TD_PRECISION_SINGLE);
  g_autofree const double *angles = task.angles_rad;
  g_autoptr (GPtrArray) rows = tune_rows (task, options, info);
  search.total = rows->len;
  for (; ok && search.done < search.total; search.done++) {
    search.row = rows->pdata[search.done];
    task.interpolation = search.row->interpolation;
    task.precision = search.row->precision;
    search.n_floats = (guint64) search.row->n_slices * task.nx * task.ny;
    ok = td_trial_serve (&search.trial, device, &task, search.row->n_slices, 1, error)
         && tune_family (&search, error);
  }
  td_trial_free (search.trial);
  return ok ? g_steal_pointer (&rows) : NULL;
}
