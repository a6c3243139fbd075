/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fdk-self-test.h"

#include <math.h>

#include "compute/parallel/tune-store.h"

/* As many slices as columns of voxels want, and views that come in fours. */
enum { COLUMNS = 42, ROWS = 38, VIEWS = 24, SIZE = 32, SLICES = 40 };

/* The problem and its answer. */
typedef struct {
  TdConeTask task;
  float *projections;
  double *truth;
  gsize n_voxels;
} Problem;

/* ── What is remembered ── */

/* The parallel beam's families have some of these names. */
#define PREFIX "cone "

static char *
fdk_self_test_disabled (const TdConeFamily *family, const TdDeviceInfo *device)
{
  g_autofree char *key = g_strconcat (PREFIX, family->name, NULL);

  return td_tune_store_disabled (device, key);
}

const TdConeFamily *
td_fdk_family_choose (const char *name, const TdConeTask *task, TdPrecision precision,
                      TdDevice *device, GError **error)
{
  return td_cone_family_choose (name, task, precision, device, fdk_self_test_disabled, error);
}

/* ── The test ── */

static gboolean
problem_init (Problem *problem, GError **error)
{
  const TdGeometry geometry = { .beam = TD_BEAM_CONE,
                                .pixel_width_mm = 0.4,
                                .pixel_height_mm = 0.4,
                                .source_axis_mm = 400,
                                .source_detector_mm = 600,
                                .detector_offset_u_px = 0.7 };
  g_autoptr (GRand) random = g_rand_new_with_seed (7);
  const gsize n = (gsize) VIEWS * ROWS * COLUMNS;
  double angles[VIEWS];

  *problem = (Problem) { .n_voxels = (gsize) SLICES * SIZE * SIZE };
  for (guint view = 0; view < VIEWS; view++)
    angles[view] = 0.1 + 2 * G_PI * view / VIEWS;
  if (!td_cone_task_init (&problem->task, &geometry, angles, VIEWS, COLUMNS, ROWS, error))
    return FALSE;
  td_cone_task_set_volume (&problem->task, SIZE, SIZE, SLICES, 1.03 * problem->task.pitch_mm);
  problem->projections = g_new (float, n);
  for (gsize i = 0; i < n; i++)
    problem->projections[i] = (float) g_rand_double_range (random, -1, 1);
  problem->truth = g_new (double, problem->n_voxels);
  td_cone_reference (&problem->task, problem->projections, problem->truth);
  return TRUE;
}

/* The whole volume by one call of the projector. */
static gboolean
fdk_self_test_run (const Problem *problem, TdDevice *device, const TdConeFamily *family,
                   TdPrecision precision, float *out, GError **error)
{
  const TdConeLimits limits = { VIEWS, ROWS, SLICES, precision, 1 };
  const gsize projection_bytes = (gsize) VIEWS * ROWS * COLUMNS * sizeof (float);
  const gsize volume_bytes = problem->n_voxels * sizeof (float);
  g_autoptr (TdQueue) queue = td_queue_new (device, error);
  g_autoptr (TdBuffer) projections = queue ? td_buffer_new (device, projection_bytes, error) : NULL;
  g_autoptr (TdBuffer) volume = projections ? td_buffer_new (device, volume_bytes, error) : NULL;
  g_autoptr (TdConeProjector) projector
      = volume ? td_cone_projector_new (family, device, &problem->task, &limits, error) : NULL;
  guint views[VIEWS];
  const TdConeBatch batch = { projections, { 0, ROWS }, views, VIEWS };
  const TdConeSlab slab = { volume, 0, SLICES };

  for (guint view = 0; view < VIEWS; view++)
    views[view] = view;
  return projector
         && td_upload (queue, projections, 0, problem->projections, projection_bytes, error)
         && td_fill_zero (queue, volume, 0, volume_bytes, error)
         && td_cone_projector_add (projector, queue, &batch, &slab, NULL, error)
         && td_download (queue, out, volume, 0, volume_bytes, error)
         && td_queue_finish (queue, error);
}

static void
fdk_self_test_family (const Problem *problem, TdDevice *device, TdSelfTestRow *row)
{
  const TdConeFamily *family = td_cone_family (row->family, NULL);
  g_autofree float *got = g_new (float, problem->n_voxels);
  g_autoptr (GError) error = NULL;

  if (fdk_self_test_run (problem, device, family, row->precision, got, &error))
    row->error = td_relative_error (got, problem->truth, problem->n_voxels);
  td_self_test_judge (row, error);
}

/* A row for each family and precision that the device can do. */
static GPtrArray *
fdk_self_test_rows (const TdConeTask *task, const TdDeviceInfo *info)
{
  GPtrArray *rows = td_self_test_rows_new ();

  for (const TdConeFamily *const *at = td_cone_families (); *at; at++)
    for (guint p = TD_PRECISION_SINGLE; p <= TD_PRECISION_HALF; p++)
      if (!(*at)->unsupported (task, p, info))
        td_self_test_add (
            rows, &(TdSelfTestRow) { .family = (*at)->name,
                                     .precision = p,
                                     .error = INFINITY,
                                     .bound = td_cone_family_error_bound (*at, task, p, info) });
  return rows;
}

GPtrArray *
td_fdk_self_test_device (TdDevice *device, TdSelfTestTell tell, gpointer user,
                         GCancellable *cancellable, GError **error)
{
  g_autoptr (GPtrArray) rows = NULL;
  Problem problem;
  gboolean ok = problem_init (&problem, error);

  if (ok)
    rows = fdk_self_test_rows (&problem.task, td_device_info (device));
  for (guint i = 0; ok && i < rows->len; i++) {
    if (tell)
      tell (rows->pdata[i], i + 1, rows->len, user);
    ok = !g_cancellable_set_error_if_cancelled (cancellable, error);
    if (ok)
      fdk_self_test_family (&problem, device, rows->pdata[i]);
  }
  td_cone_task_clear (&problem.task);
  g_free (problem.projections);
  g_free (problem.truth);
  return ok && td_self_test_remember (device, PREFIX, rows, error) ? g_steal_pointer (&rows) : NULL;
}
