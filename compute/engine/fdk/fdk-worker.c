/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "compute/device/host.h"
#include "dataset/file-bytes.h"
#include "fdk-run.h"

/* The computing thread of a device. While the kernels of a batch run, the next batch is sent. */
struct TdFdkWorker {
  TdFdkDevice *device;
  TdQueue *queue;
  TdConeProjector *projector;
  TdBuffer *rows[2]; /* batches of projections, in turns; a row cache needs one */
  TdEvent *filled[2], *used[2];
  TdFdkRing ring; /* host: what rows are filled through */
  TdFdkRing sums; /* what slabs begin with, where that is not 0 */
  TdEvent *begun; /* that has come */
  guint turn;     /* of rows */
  TdBuffer *volumes[2];
  guint *views;
};

/* ── Life ── */

TdFdkWorker *
td_fdk_worker_new (TdFdkDevice *device)
{
  TdFdkWorker *worker = g_new0 (TdFdkWorker, 1);

  worker->device = device;
  return worker;
}

static gboolean
open_worker (TdFdkWorker *worker, GError **error)
{
  TdFdkDevice *device = worker->device;
  const TdPlan *plan = device->run->plan;
  const TdFdkPlan *fdk = device->run->fdk;
  const TdConeLimits limits = td_fdk_limits (plan, fdk);
  const guint64 batch
      = (guint64) fdk->fit.batch * fdk->fit.slab_rows * fdk->input->task.n_columns * sizeof (float);
  const guint64 slice = td_fdk_slice_bytes (fdk);
  const guint n_rows = !fdk->fit.cached && (fdk->cut.n_slabs > 1 || fdk->fit.n_batches > 1) ? 2 : 1;
  const gint64 start = g_get_monotonic_time ();

  worker->views = g_new (guint, fdk->fit.batch);
  worker->queue = td_queue_new (device->device, error);
  if (!worker->queue)
    return FALSE;
  /* Before it, since a busy machine may return from the wait much later than it ended. */
  device->origin_us = g_get_monotonic_time ();
  if (device->run->job->spans
      && (!td_event_mark (worker->queue, &device->origin, error)
          || !td_event_sync (device->origin, error)))
    return FALSE;
  worker->projector
      = td_cone_projector_new (device->family, device->device, &fdk->input->task, &limits, error);
  if (!worker->projector)
    return FALSE;
  for (guint i = 0; i < n_rows; i++)
    if (!(worker->rows[i] = td_buffer_new (device->device, batch, error)))
      return FALSE;
  for (guint i = 0; i < fdk->fit.volumes; i++) {
    if (!(worker->volumes[i] = td_buffer_new (device->device, fdk->fit.slab * slice, error)))
      return FALSE;
    g_queue_push_tail (&device->free_volumes, worker->volumes[i]);
  }
  if (device->run->job->turns.begin) {
    /* A queue of its own: the next slab's come while kernels run. */
    worker->sums.queue = td_queue_new (device->device, error);
    worker->sums.pinned = worker->sums.queue
                              ? td_fdk_pinned_take (plan->engine, device->device, TD_FDK_RING,
                                                    fdk->fit.download_slices * slice, error)
                              : NULL;
    if (!worker->sums.pinned)
      return FALSE;
  }
  td_job_add_span (device->run->job, "open", device->index, start, g_get_monotonic_time ());
  if (fdk->fit.cached || td_device_info (device->device)->host_pointers)
    return TRUE;
  worker->ring.queue = td_queue_new (device->device, error);
  worker->ring.pinned = worker->ring.queue ? td_fdk_pinned_take (
                            plan->engine, device->device, TD_FDK_RING, fdk->fit.ring_bytes, error)
                                           : NULL;
  return worker->ring.pinned != NULL;
}

void
td_fdk_worker_free (TdFdkWorker *worker)
{
  TdFdkDevice *device = worker->device;
  TdQueue *const queues[] = { worker->queue, device->stored ? device->download : NULL,
                              worker->ring.queue, worker->sums.queue };
  gboolean sound = device->error == NULL;

  for (guint i = 0; i < G_N_ELEMENTS (queues); i++)
    sound = (!queues[i] || td_queue_finish (queues[i], NULL)) && sound;
  td_fdk_ring_clear (&worker->ring, device->run->plan->engine, sound);
  td_fdk_ring_clear (&worker->sums, device->run->plan->engine, sound);
  for (guint i = 0; i < 2; i++) {
    td_event_free (worker->filled[i]);
    td_event_free (worker->used[i]);
    td_buffer_free (worker->rows[i]);
    td_buffer_free (worker->volumes[i]);
  }
  td_cone_projector_free (worker->projector);
  td_event_free (worker->begun);
  td_event_free (device->origin);
  td_stored_samples_free (g_steal_pointer (&device->stored));
  g_clear_pointer (&device->stored_counts, g_free);
  td_queue_free (device->download);
  td_queue_free (worker->ring.queue);
  td_queue_free (worker->sums.queue);
  td_queue_free (worker->queue);
  g_free (worker->views);
  g_free (worker);
}

/* ── Sending a batch from the host ── */

typedef struct {
  TdFdkRun *run;
  TdFdkBatch batch;
  guint first; /* place of the first view copied */
  guint row0, n_rows;
  float *to;
} Gather;

static void
gather_view (guint index, gpointer user)
{
  const Gather *work = user;
  const TdFdkPlan *fdk = work->run->fdk;
  const gsize floats = (gsize) work->n_rows * fdk->input->task.n_columns;
  const gsize view = td_fdk_batch_view (&work->batch, work->first + index);
  const gsize first
      = (view % fdk->fit.held_views * fdk->input->n_rows + work->row0) * fdk->input->task.n_columns;
  float *to = work->to + index * floats;

  if (work->run->projections) {
    memcpy (to, work->run->projections + first, floats * sizeof (float));
    return;
  }
  const int failed = td_file_read (work->run->projections_file, to, floats * sizeof (float),
                                   first * sizeof (float));
  if (failed)
    g_atomic_int_set (&work->run->file_errno, failed);
}

/* Through pinned memory, a few views at a time. */
static gboolean
send_views (TdFdkWorker *worker, Gather *work, TdBuffer *to, GError **error)
{
  const guint64 view
      = (guint64) work->n_rows * work->run->fdk->input->task.n_columns * sizeof (float);
  const guint step = (guint) MAX (1, work->run->fdk->fit.ring_bytes / view);

  for (work->first = 0; work->first < work->batch.n; work->first += step) {
    const guint n = MIN (step, work->batch.n - work->first);
    work->to = td_fdk_ring_next (&worker->ring, error);
    if (!work->to)
      return FALSE;
    td_parallel_for (n, gather_view, work);
    if (!td_fdk_ring_send (&worker->ring, to, work->first * view, n * view, error))
      return FALSE;
  }
  return TRUE;
}

/* Fills the next of worker->rows; with a row cache there is nothing to send. */
static gboolean
send_batch (TdFdkWorker *worker, const TdFdkPart *part, guint batch, GError **error)
{
  TdFdkDevice *device = worker->device;
  const TdFdkPlan *fdk = device->run->fdk;
  const TdFdkSlabCut *cut = &fdk->cut.slabs[part->slab];
  const guint slot = worker->rows[1] ? worker->turn % 2 : 0;
  Gather work = { .run = device->run,
                  .batch = td_fdk_batch (fdk, batch),
                  .row0 = cut->row0,
                  .n_rows = cut->row_end - cut->row0 };

  if (fdk->fit.cached || work.n_rows == 0 || !td_fdk_wait_rows (device, &work.batch, cut->row_end))
    return TRUE; /* nothing is to be sent, or is seen, or will be computed */

  const gint64 start = g_get_monotonic_time ();
  if (td_device_info (device->device)->host_pointers) {
    work.to = td_buffer_map (worker->rows[slot]);
    td_parallel_for (work.batch.n, gather_view, &work);
  } else if ((worker->used[slot] && !td_event_wait (worker->ring.queue, worker->used[slot], error))
             || !send_views (worker, &work, worker->rows[slot], error)
             || !td_event_mark (worker->ring.queue, &worker->filled[slot], error)) {
    return FALSE;
  }
  if (!td_fdk_file_sound (device->run, error))
    return FALSE;
  td_fdk_pass_views (device->run, &work.batch);
  td_job_add_stage (device->run->job, N_ ("upload"), (g_get_monotonic_time () - start) * 1e-6);
  return TRUE;
}

/* ── Adding a batch ── */

guint
td_fdk_bands (const TdFdkDevice *device)
{
  const TdFdkRun *run = device->run;
  const gboolean may = run->n_devices == 1 && device->family->bands && run->fdk->fit.n_batches == 1;

  return may ? CLAMP (run->job->turns.bands, 1, run->fdk->input->task.ny) : 1;
}

/* What the part's slices begin with. */
static gboolean
fdk_worker_begin_part (TdFdkWorker *worker, TdFdkPart *part, GError **error)
{
  TdFdkRun *run = worker->device->run;
  const TdFdkPlan *fdk = run->fdk;
  const TdFdkSlabCut *cut = &fdk->cut.slabs[part->slab];
  const TdRowRange all = { 0, fdk->input->task.ny };
  const guint64 slice = td_fdk_slice_bytes (fdk);
  const TdJobTurns *turns = &run->job->turns;

  if (!turns->begin)
    return td_fill_zero (worker->queue, part->volume, 0, part->volume->bytes, error);
  if (td_fdk_bands (worker->device) > 1)
    return TRUE;
  for (guint first = 0, n; first < cut->n_slices; first += n) {
    n = MIN (fdk->fit.download_slices, cut->n_slices - first);
    float *to = td_fdk_ring_next (&worker->sums, error);
    if (!to
        || !turns->begin (cut->slice0 - fdk->input->slice0 + first, n, all, to, run->cancellable,
                          error, turns->user)
        || !td_fdk_ring_send (&worker->sums, part->volume, first * slice, n * slice, error))
      return FALSE;
  }
  return td_event_mark (worker->sums.queue, &worker->begun, error)
         && td_event_wait (worker->queue, worker->begun, error);
}

/* Blocks until a slab has been downloaded, if all wait for that. FALSE: the device has stopped. */
static gboolean
fdk_worker_take_volume (TdFdkDevice *device, TdFdkPart *part)
{
  part->volume = td_monitor_get (&device->run->monitor, &device->free_volumes,
                                 td_fdk_device_stopped, device);
  return part->volume != NULL;
}

/* @band: count 0: all. */
static gboolean
fdk_worker_project (TdFdkWorker *worker, TdFdkPart *part, const TdFdkBatch *batch, guint slot,
                    TdRowRange band, GError **error)
{
  TdFdkRun *run = worker->device->run;
  const TdFdkPlan *fdk = run->fdk;
  const TdFdkSlabCut *cut = &fdk->cut.slabs[part->slab];
  const TdConeSlab slab = { part->volume, cut->slice0, cut->n_slices, band };
  const TdConeBatch views = {
    .projections = worker->rows[slot],
    .rows = { fdk->input->row0 + cut->row0, cut->row_end - cut->row0 },
    .views = worker->views,
    .n_views = batch->n,
  };

  for (guint i = 0; i < batch->n; i++)
    worker->views[i] = td_fdk_batch_view (batch, i);
  return td_events_record (worker->queue, part->events, error)
         && td_cone_projector_add (worker->projector, worker->queue, &views, &slab,
                                   run->cancellable, error)
         && td_events_record (worker->queue, part->events, error);
}

/* The device is the host, and the batch has all views (TdPlanFacts.bands). So the processes before
   and after this one have other bands meanwhile. */
static gboolean
fdk_worker_project_bands (TdFdkWorker *worker, TdFdkPart *part, const TdFdkBatch *batch, guint slot,
                          GError **error)
{
  TdFdkRun *run = worker->device->run;
  const TdFdkSlabCut *cut = &run->fdk->cut.slabs[part->slab];
  const TdJobTurns *turns = &run->job->turns;
  const guint first = cut->slice0 - run->fdk->input->slice0, ny = run->fdk->input->task.ny;
  const guint bands = td_fdk_bands (worker->device);
  float *volume = td_buffer_map (part->volume);

  for (guint i = 0; i < bands; i++) {
    const guint y = ny * i / bands;
    const TdRowRange band = { y, ny * (i + 1) / bands - y };
    if ((turns->begin
         && !turns->begin (first, cut->n_slices, band, volume, run->cancellable, error,
                           turns->user))
        || (cut->row0 < cut->row_end
            && !fdk_worker_project (worker, part, batch, slot, band, error))
        || (turns->end
            && !turns->end (first, cut->n_slices, band, volume, run->cancellable, error,
                            turns->user)))
      return FALSE;
  }
  return TRUE;
}

/* Brings the batch's rows into worker->rows[slot], as far as @queue is concerned. */
static gboolean
ready_rows (TdFdkWorker *worker, TdFdkPart *part, const TdFdkBatch *batch, guint slot, guint row0,
            guint n_rows, GError **error)
{
  TdFdkRowCache *cache = worker->device->cache;

  if (!cache)
    return !worker->filled[slot] || td_event_wait (worker->queue, worker->filled[slot], error);
  if (part->batches->len == 1 && !td_fdk_row_cache_ready (cache, worker->queue, part->slab, error))
    return FALSE;
  if (!td_fdk_row_cache_gather (cache, worker->queue, batch, row0, n_rows, worker->rows[slot],
                                error))
    return FALSE;
  return part->batches->len < worker->device->run->fdk->fit.n_batches
         || td_fdk_row_cache_passed (cache, worker->queue, error);
}

static gboolean
add_batch (TdFdkWorker *worker, TdFdkPart *part, guint index, GError **error)
{
  TdFdkDevice *device = worker->device;
  TdFdkRun *run = device->run;
  const TdFdkPlan *fdk = run->fdk;
  const TdFdkBatch batch = td_fdk_batch (fdk, index);
  const TdFdkSlabCut *cut = &fdk->cut.slabs[part->slab];
  const guint slot = worker->rows[1] ? worker->turn++ % 2 : 0;
  const guint row0 = cut->row0, end = cut->row_end;

  if (!part->volume
      && (!fdk_worker_take_volume (device, part) || !fdk_worker_begin_part (worker, part, error)))
    return part->volume == NULL;
  if (row0 < end && !ready_rows (worker, part, &batch, slot, row0, end - row0, error))
    return FALSE;
  if (td_fdk_bands (device) > 1 && !fdk_worker_project_bands (worker, part, &batch, slot, error))
    return FALSE;
  if (row0 < end) {
    if ((td_fdk_bands (device) == 1
         && !fdk_worker_project (worker, part, &batch, slot, (TdRowRange) { 0 }, error))
        || !td_event_mark (worker->queue, &worker->used[slot], error))
      return FALSE;
  }
  const double updates
      = (double) batch.n * cut->n_slices * fdk->input->task.ny * fdk->input->task.nx;
  part->updates += updates;
  td_job_add_updates (run->job, updates);
  return TRUE;
}

/* ── The thread ── */

/* All of the part that this device will add is enqueued. */
static gboolean
hand_over (TdFdkWorker *worker, TdFdkPart *part, GError **error)
{
  TdFdkDevice *device = worker->device;

  if (!td_event_mark (worker->queue, &part->computed, error))
    return FALSE;
  td_monitor_put (&device->run->monitor, &device->computed, part);
  return TRUE;
}

static gboolean
fdk_worker_stopped (TdFdkDevice *device)
{
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&device->run->monitor.lock);

  return td_fdk_device_stopped (device);
}

static gboolean
compute_parts (TdFdkWorker *worker, GError **error)
{
  TdFdkDevice *device = worker->device;
  TdFdkPart *part = NULL;
  guint batch = 0;
  gboolean more = td_fdk_take (device, &part, &batch, TRUE);

  if (more && !send_batch (worker, part, batch, error))
    return FALSE;
  while (more) {
    TdFdkPart *now = part;

    if (!add_batch (worker, now, batch, error))
      return FALSE;
    if (fdk_worker_stopped (device))
      return TRUE;
    more = td_fdk_take (device, &part, &batch, FALSE);
    if ((!more || part != now) && !hand_over (worker, now, error))
      return FALSE;
    if (!more) {
      part = NULL;
      more = td_fdk_take (device, &part, &batch, TRUE);
    }
    if (more && !send_batch (worker, part, batch, error))
      return FALSE;
  }
  return TRUE;
}

/* The kernels have ended: what only they used is freed while the last slices download. */
static void
fdk_worker_release (TdFdkWorker *worker)
{
  const gint64 start = g_get_monotonic_time ();

  for (guint i = 0; i < G_N_ELEMENTS (worker->rows); i++)
    g_clear_pointer (&worker->rows[i], td_buffer_free);
  g_clear_pointer (&worker->projector, td_cone_projector_free);
  td_job_add_span (worker->device->run->job, "close", worker->device->index, start,
                   g_get_monotonic_time ());
}

gboolean
td_fdk_compute (TdFdkDevice *device, GError **error)
{
  TdFdkWorker *worker = device->worker;

  if (!open_worker (worker, error) || !compute_parts (worker, error)
      || !td_queue_finish (worker->queue, error)
      || (worker->ring.queue && !td_queue_finish (worker->ring.queue, error)))
    return FALSE;
  g_mutex_lock (&device->run->monitor.lock);
  device->computed_all = TRUE;
  td_monitor_release (&device->run->monitor);
  fdk_worker_release (worker);
  return TRUE;
}
