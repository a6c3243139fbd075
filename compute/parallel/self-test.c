/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "self-test.h"

#include "dataset/message.h"
#include "compute/device/device-check.h"
#include "trial.h"
#include "tune-store.h"

/* Odd sizes, a slice wider than the detector sees, an axis that wanders: what real scans have. */
enum { COLUMNS = 67, VIEWS = 41, SIZE = 73, MOST_SLICES = 5 };

typedef struct {
  TdDevice *device;
  GPtrArray *rows; /* of the tests that are done */
  guint total;
  TdSelfTestTell tell; /* NULL: nobody wants to know */
  gpointer user;
  GCancellable *cancellable;
} SelfTest;

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
td_self_test_judge (TdSelfTestRow *row, const GError *failure)
{
  row->passed = !failure && row->error <= row->bound;
  if (!row->passed)
    row->reason = failure ? g_strdup (failure->message)
                          : td_message_packed ("its result is off by %.2g, more than %.2g",
                                               row->error, row->bound);
}

static void
self_test_family (const SelfTest *test, TdTrial *trial, const TdBackprojectFamily *family,
                  guint n_slices)
{
  const TdBackprojectTask *task = td_trial_task (trial);
  TdSelfTestRow *row = g_new0 (TdSelfTestRow, 1);
  g_autoptr (GError) error = NULL;
  double seconds = 0;

  *row = (TdSelfTestRow) { .family = family->name,
                           .interpolation = task->interpolation,
                           .precision = task->precision,
                           .n_slices = n_slices,
                           .bound = family->error_bound (task, td_device_info (test->device)) };
  if (test->tell)
    test->tell (row, test->rows->len + 1, test->total, test->user);
  if (td_trial_prepare (trial, family, NULL, &error) && td_trial_run (trial, &seconds, &error))
    td_trial_error (trial, &row->error, &error);
  td_trial_release (trial);
  td_self_test_judge (row, error);
  g_ptr_array_add (test->rows, row);
}

static gboolean
self_test_takes (const SelfTest *test, const TdBackprojectFamily *family,
                 const TdBackprojectTask *task)
{
  return !family->unsupported || !family->unsupported (task, td_device_info (test->device));
}

static gboolean
test_kind (const SelfTest *test, const TdBackprojectTask *task, guint n_slices, GError **error)
{
  const TdBackprojectFamily *const *families = td_backproject_families ();
  g_autoptr (TdTrial) trial = td_trial_new (test->device, task, n_slices, 7, error);

  if (!trial)
    return FALSE;
  for (guint f = 0; families[f]; f++) {
    if (g_cancellable_set_error_if_cancelled (test->cancellable, error))
      return FALSE;
    if (self_test_takes (test, families[f], task))
      self_test_family (test, trial, families[f], n_slices);
  }
  return TRUE;
}

/* With every kind of task: counts the tests, or makes them. */
static gboolean
test_all (SelfTest *test, TdBackprojectTask *task, gboolean count, GError **error)
{
  const TdBackprojectFamily *const *families = td_backproject_families ();

  for (guint i = TD_INTERPOLATION_NEAREST; i <= TD_INTERPOLATION_LINEAR; i++)
    for (guint p = TD_PRECISION_SINGLE; p <= TD_PRECISION_HALF_RUN; p++)
      for (guint slices = 1; slices <= MOST_SLICES; slices += 2) {
        task->interpolation = i;
        task->precision = p;
        for (guint f = 0; count && families[f]; f++)
          test->total += self_test_takes (test, families[f], task) ? 1 : 0;
        if (!count && !test_kind (test, task, slices, error))
          return FALSE;
      }
  return TRUE;
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
  g_autoptr (GPtrArray) rows = td_self_test_rows_new ();
  double axis[VIEWS], weights[VIEWS];
  SelfTest test = { device, rows, 0, tell, user, cancellable };
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
  if (!test_all (&test, &task, TRUE, error) || !test_all (&test, &task, FALSE, error)
      || !td_self_test_remember (device, "", rows, error))
    return NULL;
  return g_steal_pointer (&rows);
}
