/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "self-test.h"

#include "dataset/message.h"
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

GPtrArray *
td_self_test_rows_new (void)
{
  return g_ptr_array_new_with_free_func (self_test_row_free);
}

void
td_self_test_add (GPtrArray *rows, const TdSelfTestRow *row)
{
  g_ptr_array_add (rows, g_memdup2 (row, sizeof *row));
}

void
td_self_test_judge (TdSelfTestRow *row, const GError *failure)
{
  row->passed = !failure && row->error <= row->bound;
  if (!row->passed)
    row->reason = failure ? g_strdup (failure->message)
                          : td_message_packed ("its result is off by %.2g, more than %.2g",
                                               row->error, row->bound);
}

/* A row for each family and kind of task that it takes, kind by kind. */
static GPtrArray *
self_test_rows (TdBackprojectTask task, const TdDeviceInfo *info)
{
  GPtrArray *rows = td_self_test_rows_new ();

  for (guint i = TD_INTERPOLATION_NEAREST; i <= TD_INTERPOLATION_LINEAR; i++)
    for (guint p = TD_PRECISION_SINGLE; p <= TD_PRECISION_HALF_RUN; p++)
      for (guint slices = 1; slices <= MOST_SLICES; slices += 2)
        for (const TdBackprojectFamily *const *at = td_backproject_families (); *at; at++) {
          task.interpolation = i;
          task.precision = p;
          if (!(*at)->unsupported || !(*at)->unsupported (*at, &task, info))
            td_self_test_add (rows,
                              &(TdSelfTestRow) { .family = (*at)->name,
                                                 .interpolation = i,
                                                 .precision = p,
                                                 .n_slices = slices,
                                                 .bound = (*at)->error_bound (*at, &task, info) });
        }
  return rows;
}

static void
self_test_family (TdTrial *trial, TdSelfTestRow *row)
{
  g_autoptr (GError) error = NULL;
  double seconds = 0;

  if (td_trial_prepare (trial, td_backproject_family (row->family, NULL), NULL, &error)
      && td_trial_run (trial, &seconds, &error))
    td_trial_error (trial, &row->error, &error);
  td_trial_release (trial);
  td_self_test_judge (row, error);
}

/* A family with any failure is out of use; one with none is in use again. */
gboolean
td_self_test_remember (TdDevice *device, const char *prefix, const GPtrArray *rows, GError **error)
{
  for (guint i = 0; i < rows->len; i++) {
    const char *family = ((TdSelfTestRow *) rows->pdata[i])->family, *reason = NULL;
    g_autofree char *key = g_strconcat (prefix, family, NULL);

    for (guint k = 0; k < rows->len && !reason; k++) {
      const TdSelfTestRow *row = rows->pdata[k];
      if (g_str_equal (row->family, family))
        reason = row->reason;
    }
    if (!td_tune_store_disable (td_device_info (device), key, reason, error))
      return FALSE;
  }
  return TRUE;
}

GPtrArray *
td_self_test_device (TdDevice *device, TdSelfTestTell tell, gpointer user,
                     GCancellable *cancellable, GError **error)
{
  g_autoptr (TdTrial) trial = NULL;
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
  g_autoptr (GPtrArray) rows = self_test_rows (task, td_device_info (device));
  for (guint i = 0; i < rows->len; i++) {
    TdSelfTestRow *row = rows->pdata[i];
    if (g_cancellable_set_error_if_cancelled (cancellable, error))
      return NULL;
    task.interpolation = row->interpolation;
    task.precision = row->precision;
    if (!td_trial_serve (&trial, device, &task, row->n_slices, 7, error))
      return NULL;
    if (tell)
      tell (row, i + 1, rows->len, user);
    self_test_family (trial, row);
  }
  return td_self_test_remember (device, "", rows, error) ? g_steal_pointer (&rows) : NULL;
}
