/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "compute/cone/cone-filter.h"
#include "compute/device/host.h"
#include "compute/prepare/prepare.h"
#include "engine-private.h"
#include "fdk.h"

typedef struct {
  TdFdkRun *run;
  TdDevice *device;
  TdQueue *queue;
  TdPreparation *preparation;
  TdConeFilter *filter;
  TdBuffer *rows;   /* [row][view][column] */
  float *staging;   /* the same, on the host */
  guint halo;
} Stage;

typedef struct {
  const Stage *stage;
  const float *from; /* [row][view][column] */
  guint row, n_rows; /* first of them in the run's rows */
} Scatter;

/* One view's rows from sinogram order to projection order. */
static void
scatter_view (guint view, gpointer user)
{
  const Scatter *work = user;
  const TdFdkPlan *fdk = work->stage->run->fdk;
  const gsize n_columns = fdk->task.n_columns;
  float *to = work->stage->run->projections + ((gsize) view * fdk->n_rows + work->row) * n_columns;

  for (guint row = 0; row < work->n_rows; row++)
    memcpy (to + row * n_columns, work->from + ((gsize) row * fdk->task.n_views + view) * n_columns,
            n_columns * sizeof *to);
}

/* Detector rows [row, row + n) of the run: read with the halo that preparation needs, filter, store. */
static gboolean
filter_rows (Stage *stage, guint row, guint n, GError **error)
{
  TdFdkRun *run = stage->run;
  const TdFdkPlan *fdk = run->fdk;
  const TdScanFacts *facts = td_scan_facts (run->plan->scan);
  const gsize row_floats = (gsize) facts->n_views * facts->n_columns;
  const guint detector_row = fdk->row0 + row;
  const guint first = detector_row - MIN (detector_row, stage->halo);
  const guint end = MIN (facts->n_rows, detector_row + n + stage->halo);
  const guint64 bytes = (guint64) (end - first) * row_floats * sizeof (float);
  TdPreparationCounts counts;
  gint64 start = g_get_monotonic_time ();

  if (!td_engine_read_rows (run->plan->engine, run->plan->scan, first, end - first, stage->staging,
                            run->cancellable, error))
    return FALSE;
  td_job_add_stage (run->job, "read", (g_get_monotonic_time () - start) * 1e-6);

  start = g_get_monotonic_time ();
  if (!td_upload (stage->queue, stage->rows, 0, stage->staging, bytes, error)
      || !td_preparation_run (stage->preparation, stage->queue, stage->rows, first, end - first, NULL,
                              run->cancellable, error)
      || !td_preparation_counts (stage->preparation, stage->queue, &counts, error))
    return FALSE;
  td_job_add_counts (run->job, &counts);
  td_job_add_stage (run->job, "prepare", (g_get_monotonic_time () - start) * 1e-6);

  start = g_get_monotonic_time ();
  const guint64 offset = (guint64) (detector_row - first) * row_floats * sizeof (float);
  if ((stage->filter
       && !td_cone_filter_run (stage->filter, stage->queue, stage->rows, first, end - first, error))
      || !td_download (stage->queue, stage->staging, stage->rows, offset,
                       (guint64) n * row_floats * sizeof (float), error)
      || !td_queue_finish (stage->queue, error))
    return FALSE;
  Scatter scatter = { stage, stage->staging, row, n };
  td_parallel_for (facts->n_views, scatter_view, &scatter);
  td_job_add_stage (run->job, "filter", (g_get_monotonic_time () - start) * 1e-6);
  return TRUE;
}

static gboolean
open_stage (Stage *stage, guint max_rows, GError **error)
{
  const TdPlan *plan = stage->run->plan;
  const TdFdkPlan *fdk = stage->run->fdk;
  const TdRecipe *recipe = &plan->recipe;
  const guint64 bytes = (guint64) max_rows * fdk->task.n_views * fdk->task.n_columns * sizeof (float);

  stage->queue = td_queue_new (stage->device, error);
  if (!stage->queue)
    return FALSE;
  stage->preparation = td_preparation_new (stage->device, plan->scan, NULL, recipe->steps,
                                           recipe->n_steps, max_rows, error);
  if (!stage->preparation)
    return FALSE;
  if (!td_scan_facts (plan->scan)->filtered) {
    stage->filter = td_cone_filter_new (stage->device, &fdk->task, &fdk->geometry, fdk->angles_rad,
                                        &recipe->filter, max_rows, error);
    if (!stage->filter)
      return FALSE;
  }
  stage->rows = td_buffer_new (stage->device, bytes, error);
  if (!stage->rows)
    return FALSE;
  stage->staging = td_device_host_alloc (stage->device, bytes, error);
  return stage->staging != NULL;
}

static void
close_stage (Stage *stage)
{
  if (stage->staging)
    td_device_host_free (stage->device, stage->staging);
  td_buffer_free (stage->rows);
  td_cone_filter_free (stage->filter);
  td_preparation_free (stage->preparation);
  td_queue_free (stage->queue);
}

gboolean
td_fdk_filter (TdFdkRun *run, TdDevice *device, GError **error)
{
  const TdRecipe *recipe = &run->plan->recipe;
  const TdScanFacts *facts = td_scan_facts (run->plan->scan);
  Stage stage = { .run = run, .device = device };
  gboolean ok;

  stage.halo = td_preparation_halo (recipe->steps, recipe->n_steps, facts);
  ok = open_stage (&stage, MIN (facts->n_rows, run->fdk->filter_rows + 2 * stage.halo), error);
  for (guint row = 0; ok && row < run->fdk->n_rows; row += run->fdk->filter_rows) {
    const guint n = MIN (run->fdk->filter_rows, run->fdk->n_rows - row);
    ok = !g_cancellable_set_error_if_cancelled (run->cancellable, error)
         && filter_rows (&stage, row, n, error);
    if (ok)
      td_fdk_rows_done (run, row + n);
  }
  close_stage (&stage);
  return ok;
}
