/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "fdk.h"

/* One worker: its own queues and buffers, so that two workers of a device overlap transfers and
   kernels without either waiting for the other. */
typedef struct {
  TdFdkRun *run;
  TdDevice *device;
  TdQueue *queue, *copies;
  TdConeProjector *projector;
  TdBuffer *rows[2];       /* batches of projections, filled in turns */
  TdEvent *filled[2], *used[2];
  TdBuffer *volume;
  guint turns;
} Worker;

/* A finished slab on its way to the writer. */
typedef struct {
  TdJob *job;
  gint64 bytes;
} Slices;

static void
release_slices (float *slices, gpointer user)
{
  Slices *info = user;

  td_job_add_host_bytes (info->job, -info->bytes);
  g_free (info);
  g_free (slices);
}

static gboolean
open_worker (Worker *worker, const TdConeFamily *family, GError **error)
{
  const TdFdkPlan *fdk = worker->run->fdk;
  const TdConeLimits limits = { fdk->batch, fdk->n_rows, fdk->slab,
                                worker->run->plan->recipe.precision };
  const guint64 batch_bytes
      = (guint64) fdk->batch * fdk->n_rows * fdk->task.n_columns * sizeof (float);
  const guint64 slab_bytes = (guint64) fdk->slab * fdk->task.ny * fdk->task.nx * sizeof (float);

  worker->turns = family->turned_views (&fdk->task, limits.precision);
  worker->queue = td_queue_new (worker->device, error);
  worker->copies = worker->queue ? td_queue_new (worker->device, error) : NULL;
  if (!worker->copies)
    return FALSE;
  worker->projector = td_cone_projector_new (family, worker->device, &fdk->task, &limits, error);
  if (!worker->projector)
    return FALSE;
  for (guint i = 0; i < 2; i++) {
    worker->rows[i] = td_buffer_new (worker->device, batch_bytes, error);
    if (!worker->rows[i])
      return FALSE;
    if (fdk->batch >= fdk->task.n_views)
      break; /* one batch holds all views */
  }
  worker->volume = td_buffer_new (worker->device, slab_bytes, error);
  return worker->volume != NULL;
}

static void
close_worker (Worker *worker)
{
  for (guint i = 0; i < 2; i++) {
    td_event_free (worker->filled[i]);
    td_event_free (worker->used[i]);
    td_buffer_free (worker->rows[i]);
  }
  td_buffer_free (worker->volume);
  td_cone_projector_free (worker->projector);
  td_queue_free (worker->copies);
  td_queue_free (worker->queue);
}

/* A batch: the views first, first + 1, … and, for families that want them, their turned views. */
typedef struct {
  guint *views;
  guint n;
} Batch;

static void
batch_views (const Worker *worker, guint index, Batch *batch)
{
  const TdFdkPlan *fdk = worker->run->fdk;
  const guint per_turn = fdk->task.n_views / worker->turns;
  const guint step = fdk->batch / worker->turns;
  const guint first = index * step, count = MIN (step, per_turn - first);

  batch->n = count * worker->turns;
  for (guint turn = 0; turn < worker->turns; turn++)
    for (guint i = 0; i < count; i++)
      batch->views[turn * count + i] = first + i + turn * per_turn;
}

/* Enqueues the transfer of rows [row0, row0 + n_rows) of the batch's views. */
static gboolean
send_batch (Worker *worker, const Batch *batch, guint slot, guint row0, guint n_rows, GError **error)
{
  const TdFdkPlan *fdk = worker->run->fdk;
  const gsize floats = (gsize) n_rows * fdk->task.n_columns;

  if (worker->used[slot] && !td_event_wait (worker->copies, worker->used[slot], error))
    return FALSE;
  for (guint i = 0; i < batch->n; i++) {
    const float *from = worker->run->projections
                        + ((gsize) batch->views[i] * fdk->n_rows + row0) * fdk->task.n_columns;
    if (!td_upload (worker->copies, worker->rows[slot], i * floats * sizeof *from, from,
                    floats * sizeof *from, error))
      return FALSE;
  }
  g_clear_pointer (&worker->filled[slot], td_event_free);
  worker->filled[slot] = td_event_record (worker->copies, error);
  return worker->filled[slot] != NULL;
}

static gboolean
add_batch (Worker *worker, const Batch *batch, guint slot, guint row0, guint n_rows, guint slice0,
           guint n_slices, GError **error)
{
  TdFdkRun *run = worker->run;

  if (!td_event_wait (worker->queue, worker->filled[slot], error)
      || !td_cone_projector_add (worker->projector, worker->queue, worker->rows[slot],
                                 run->fdk->row0 + row0, n_rows, batch->views, batch->n, worker->volume,
                                 slice0, n_slices, run->cancellable, error))
    return FALSE;
  g_clear_pointer (&worker->used[slot], td_event_free);
  worker->used[slot] = td_event_record (worker->queue, error);
  td_job_add_updates (run->job, (double) batch->n * n_slices * run->fdk->task.ny * run->fdk->task.nx);
  return worker->used[slot] != NULL;
}

/* All views of rows [row0, row0 + n_rows) onto the slab in worker->volume. */
static gboolean
add_views (Worker *worker, guint row0, guint n_rows, guint slice0, guint n_slices, GError **error)
{
  const TdFdkPlan *fdk = worker->run->fdk;
  const guint step = fdk->batch / worker->turns;
  const guint n_batches = (fdk->task.n_views / worker->turns + step - 1) / step;
  const guint slots = worker->rows[1] ? 2 : 1;
  g_autofree guint *numbers = g_new (guint, 2 * (gsize) fdk->batch);
  Batch batches[2] = { { numbers, 0 }, { numbers + fdk->batch, 0 } };

  batch_views (worker, 0, &batches[0]);
  if (!send_batch (worker, &batches[0], 0, row0, n_rows, error))
    return FALSE;
  for (guint i = 0; i < n_batches; i++) {
    if (g_cancellable_set_error_if_cancelled (worker->run->cancellable, error))
      return FALSE;
    if (i + 1 < n_batches) {
      batch_views (worker, i + 1, &batches[(i + 1) % slots]);
      if (!send_batch (worker, &batches[(i + 1) % slots], (i + 1) % slots, row0, n_rows, error))
        return FALSE;
    }
    if (!add_batch (worker, &batches[i % slots], i % slots, row0, n_rows, slice0, n_slices, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
compute_slab (Worker *worker, guint slab, GError **error)
{
  TdFdkRun *run = worker->run;
  const TdFdkPlan *fdk = run->fdk;
  const guint slice0 = slab * fdk->slab, n = MIN (fdk->slab, fdk->task.nz - slice0);
  const guint64 bytes = (guint64) n * fdk->task.ny * fdk->task.nx * sizeof (float);
  guint first, end;

  td_cone_rows_seen (&fdk->task, slice0, n, &first, &end);
  first = CLAMP (first, fdk->row0, fdk->row0 + fdk->n_rows) - fdk->row0;
  end = CLAMP (end, fdk->row0, fdk->row0 + fdk->n_rows) - fdk->row0;
  if (!td_fdk_wait_rows (run, end))
    return TRUE; /* the run has failed elsewhere */

  const gint64 start = g_get_monotonic_time ();
  if (!td_fill_zero (worker->queue, worker->volume, 0, bytes, error)
      || (first < end && !add_views (worker, first, end - first, slice0, n, error)))
    return FALSE;
  float *slices = g_try_malloc (bytes);
  if (!slices) {
    g_set_error (error, TD_ERROR, TD_ERROR_IO, "Not enough host memory for %u slices.", n);
    return FALSE;
  }
  if (!td_download (worker->queue, slices, worker->volume, 0, bytes, error)
      || !td_queue_finish (worker->queue, error)) {
    g_free (slices);
    return FALSE;
  }
  td_job_add_stage (run->job, "back-project", (g_get_monotonic_time () - start) * 1e-6);
  Slices *info = g_new (Slices, 1);
  *info = (Slices) { run->job, (gint64) bytes };
  td_job_add_host_bytes (run->job, info->bytes);
  return td_job_emit (run->job, slice0, n, slices, release_slices, info, error);
}

/* The next slab, one that a failing device gave back first; FALSE: none is left. */
static gboolean
take_slab (TdFdkRun *run, guint *slab)
{
  const guint n_slabs = (run->fdk->task.nz + run->fdk->slab - 1) / run->fdk->slab;
  gboolean found = FALSE;

  g_mutex_lock (&run->lock);
  for (;;) {
    if (run->error)
      break;
    if (!g_queue_is_empty (&run->returned)) {
      *slab = GPOINTER_TO_UINT (g_queue_pop_head (&run->returned)) - 1;
      found = TRUE;
    } else if (run->next_slab < n_slabs) {
      *slab = run->next_slab++;
      found = TRUE;
    }
    /* Somebody may still give one back. */
    if (found || run->slabs_open == 0)
      break;
    g_cond_wait (&run->changed, &run->lock);
  }
  if (found)
    run->slabs_open++;
  g_mutex_unlock (&run->lock);
  return found;
}

static void
put_slab (TdFdkRun *run, guint slab, gboolean done)
{
  g_mutex_lock (&run->lock);
  run->slabs_open--;
  if (!done)
    g_queue_push_tail (&run->returned, GUINT_TO_POINTER (slab + 1));
  g_cond_broadcast (&run->changed);
  g_mutex_unlock (&run->lock);
}

gboolean
td_fdk_project (TdFdkRun *run, TdDevice *device, const TdConeFamily *family, GError **error)
{
  Worker worker = { .run = run, .device = device };
  gboolean ok = open_worker (&worker, family, error);
  guint slab;

  while (ok && take_slab (run, &slab)) {
    ok = compute_slab (&worker, slab, error);
    put_slab (run, slab, ok);
  }
  close_worker (&worker);
  return ok;
}
