/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tune.h"

#include "trial.h"
#include "tune-store.h"

/* One family, one kind of task: what the tuner's callbacks work on. */
typedef struct {
  TdDevice *device;
  const TdBackprojectFamily *family;
  TdTrial *trial;
  GPtrArray *variants; /* element 0 NULL: the default */
  float *reference;    /* the default's slices */
  guint64 n_floats;
  const TdTuneOptions *options;
  guint n_slices;
  guint done, total; /* cases, for the progress */
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

  return td_trial_prepare (search->trial, search->family,
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
  double allowed = 2
                   * search->family->error_bound (td_trial_task (search->trial),
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
  const TdBackprojectTask *task = td_trial_task (search->trial);

  if (!search->options->progress)
    return;
  const guint n_variants = search->variants->len;
  const TdTuneStep step
      = { .family = search->family,
          .interpolation = task->interpolation,
          .precision = task->precision,
          .n_slices = search->n_slices,
          .number = search->done + 1,
          .n_cases = search->total,
          .variant = index + 1,
          .n_variants = n_variants,
          .fraction = (search->done + (double) index / n_variants) / search->total };
  search->options->progress (&step, search->options->user);
}

/* ── One family ── */

/* The family's candidates for at most @n_slices at once, after its default. Half storage keeps
   pairs, so two are always tried. */
static GPtrArray *
variants_for (const Search *search, guint n_slices, GPtrArray **owner)
{
  GPtrArray *variants = g_ptr_array_new ();

  *owner = search->family->candidates ? search->family->candidates (td_trial_task (search->trial),
                                                                    td_device_info (search->device))
                                      : NULL;
  g_ptr_array_add (variants, NULL);
  for (guint i = 0; *owner && i < (*owner)->len; i++) {
    TdBackprojectVariant *variant = (*owner)->pdata[i];
    if (variant->slices <= MAX (n_slices, 2))
      g_ptr_array_add (variants, variant);
  }
  return variants;
}

static gboolean
tune_keep (const Search *search, guint n_slices, const TdBackprojectVariant *winner, TdTuneRow *row,
           GError **error)
{
  TdTuned tuned = { .defines = winner ? winner->defines : NULL,
                    .slices = winner ? winner->slices : 0,
                    .updates_per_second = row->best_rate };

  row->defines = winner && winner->defines ? g_strjoinv (" ", winner->defines) : g_strdup ("");
  return td_tune_store_add (td_device_info (search->device), search->family->name,
                            td_trial_task (search->trial), n_slices, &tuned, error);
}

/* FALSE: cancelled, or nothing can be stored. A family that fails is a row with its error. */
static gboolean
tune_family (Search *search, guint n_slices, TdTuneRow *row, GError **error)
{
  const TdTuneOptions *options = search->options;
  g_autoptr (GPtrArray) owner = NULL;
  g_autoptr (GPtrArray) variants = search->variants = variants_for (search, n_slices, &owner);
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
    ok = tune_keep (search, n_slices, variants->pdata[winner], row, error);
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
         && !(family->unsupported && family->unsupported (task, info));
}

/* All families in one kind of task, with the same random sinograms. */
static gboolean
tune_kind (Search *search, const TdBackprojectTask *task, guint n_slices, GPtrArray *rows,
           GError **error)
{
  const TdBackprojectFamily *const *families = td_backproject_families ();
  g_autoptr (TdTrial) trial = td_trial_new (search->device, task, n_slices, 1, error);

  if (!trial)
    return FALSE;
  search->trial = trial;
  search->n_slices = n_slices;
  search->n_floats = (guint64) n_slices * task->nx * task->ny;
  for (guint f = 0; families[f]; f++) {
    if (!tune_wanted (search->options, families[f], task, td_device_info (search->device)))
      continue;
    TdTuneRow *row = g_new0 (TdTuneRow, 1);
    search->family = row->family = families[f];
    row->interpolation = task->interpolation;
    row->precision = task->precision;
    row->n_slices = n_slices;
    g_ptr_array_add (rows, row);
    if (!tune_family (search, n_slices, row, error))
      return FALSE;
    search->done++;
  }
  return TRUE;
}

static guint
count_cases (const TdTuneOptions *options, TdBackprojectTask *task, TdDevice *device)
{
  const TdBackprojectFamily *const *families = td_backproject_families ();
  guint total = 0;

  for (guint i = TD_INTERPOLATION_NEAREST; i <= TD_INTERPOLATION_LINEAR; i++)
    for (guint p = TD_PRECISION_SINGLE; p <= TD_PRECISION_HALF_RUN; p++)
      for (guint f = 0; families[f]; f++) {
        task->interpolation = i;
        task->precision = p;
        total += 3 * tune_wanted (options, families[f], task, td_device_info (device));
      }
  return total;
}

static gboolean
tune_all (Search *search, TdBackprojectTask *task, GPtrArray *rows, GError **error)
{
  for (guint i = TD_INTERPOLATION_NEAREST; i <= TD_INTERPOLATION_LINEAR; i++)
    for (guint p = TD_PRECISION_SINGLE; p <= TD_PRECISION_HALF_RUN; p++)
      for (guint slices = 1; slices <= 4; slices *= 2) {
        task->interpolation = i;
        task->precision = p;
        if (!tune_kind (search, task, slices, rows, error))
          return FALSE;
      }
  return TRUE;
}

GPtrArray *
td_tune_device (TdDevice *device, const TdTuneOptions *options, GError **error)
{
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func (tune_row_free);
  guint size = options->size                                    ? options->size
               : td_device_info (device)->kind == TD_DEVICE_GPU ? 2048
                                                                : 512;
  Search search = { .device = device, .options = options };
  TdBackprojectTask task;

  if (options->family && !td_backproject_family (options->family, error))
    return NULL;
  td_trial_task_init (&task, size, size, size, TD_INTERPOLATION_LINEAR, TD_PRECISION_SINGLE);
  g_autofree const double *angles = task.angles_rad;
  search.total = MAX (1, count_cases (options, &task, device));
  if (!tune_all (&search, &task, rows, error))
    return NULL;
  return g_steal_pointer (&rows);
}
