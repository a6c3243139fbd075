/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "self-test.h"

#include "compute/device/device-check.h"
#include "trial.h"
#include "tune-store.h"

/* Odd sizes, a slice wider than the detector sees, an axis that wanders: what real scans have. */
enum { COLUMNS = 67, VIEWS = 41, SIZE = 73, MOST_SLICES = 5 };

static void
self_test_row_free (gpointer data)
{
  TdSelfTestRow *row = data;

  g_free (row->reason);
  g_free (row);
}

static void
test_family (TdTrial *trial, TdDevice *device, TdSelfTestRow *row)
{
  g_autoptr (GError) error = NULL;
  double seconds = 0;

  row->bound = row->family->error_bound (td_trial_task (trial), td_device_info (device));
  if (!td_trial_prepare (trial, row->family, NULL, &error)
      || !td_trial_run (trial, &seconds, &error) || !td_trial_error (trial, &row->error, &error))
    row->reason = g_strdup (error->message);
  else if (!(row->error <= row->bound))
    row->reason
        = g_strdup_printf ("its result is off by %.2g, more than %.2g", row->error, row->bound);
  td_trial_release (trial);
  row->passed = row->reason == NULL;
}

static gboolean
test_kind (TdDevice *device, const TdBackprojectTask *task, guint n_slices, GPtrArray *rows,
           GCancellable *cancellable, GError **error)
{
  const TdBackprojectFamily *const *families = td_backproject_families ();
  g_autoptr (TdTrial) trial = td_trial_new (device, task, n_slices, 7, error);

  if (!trial)
    return FALSE;
  for (guint f = 0; families[f]; f++) {
    if (g_cancellable_set_error_if_cancelled (cancellable, error))
      return FALSE;
    if (families[f]->unsupported && families[f]->unsupported (task, td_device_info (device)))
      continue;
    TdSelfTestRow *row = g_new0 (TdSelfTestRow, 1);
    *row = (TdSelfTestRow) { .family = families[f],
                             .interpolation = task->interpolation,
                             .precision = task->precision,
                             .n_slices = n_slices };
    test_family (trial, device, row);
    g_ptr_array_add (rows, row);
  }
  return TRUE;
}

static gboolean
test_all (TdDevice *device, TdBackprojectTask *task, GPtrArray *rows, GCancellable *cancellable,
          GError **error)
{
  for (guint i = TD_INTERPOLATION_NEAREST; i <= TD_INTERPOLATION_LINEAR; i++)
    for (guint p = TD_PRECISION_SINGLE; p <= TD_PRECISION_HALF_RUN; p++)
      for (guint slices = 1; slices <= MOST_SLICES; slices += 2) {
        task->interpolation = i;
        task->precision = p;
        if (!test_kind (device, task, slices, rows, cancellable, error))
          return FALSE;
      }
  return TRUE;
}

/* A family with any failure is out of use; one with none is in use again. */
static gboolean
self_test_remember (TdDevice *device, GPtrArray *rows, GError **error)
{
  const TdBackprojectFamily *const *families = td_backproject_families ();

  for (guint f = 0; families[f]; f++) {
    const TdSelfTestRow *failed = NULL;
    gboolean tested = FALSE;
    for (guint i = 0; i < rows->len; i++) {
      const TdSelfTestRow *row = rows->pdata[i];
      tested |= row->family == families[f];
      if (row->family == families[f] && !row->passed && !failed)
        failed = row;
    }
    if (tested
        && !td_tune_store_disable (td_device_info (device), families[f]->name,
                                   failed ? failed->reason : NULL, error))
      return FALSE;
  }
  return TRUE;
}

GPtrArray *
td_self_test_device (TdDevice *device, GCancellable *cancellable, GError **error)
{
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func (self_test_row_free);
  double axis[VIEWS], weights[VIEWS];
  TdBackprojectTask task;

  if (!td_device_check (device, error))
    return NULL;
  td_trial_task_init (&task, COLUMNS, VIEWS, SIZE, TD_INTERPOLATION_LINEAR, TD_PRECISION_SINGLE);
  g_autofree const double *angles = task.angles_rad;
  for (guint v = 0; v < VIEWS; v++) {
    axis[v] = 0.13 * v - 2.1;
    weights[v] = 0.5 + (v % 3) * 0.25;
  }
  task.axis_px = axis;
  task.weights = weights;
  if (!test_all (device, &task, rows, cancellable, error)
      || !self_test_remember (device, rows, error))
    return NULL;
  return g_steal_pointer (&rows);
}
