/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compute/device/device-reaction.h"
#include "compute/engine/engine-private.h"
#include "fbp-run-private.h"

/**
 * Carrying a plan out. One thread reads slabs in order; one worker a device takes the next slab
 * that is there, whichever device is free first; finished slices go to the job's writing thread.
 * What passes between them are slots, of which there are few: a thread that is ahead waits.
 *
 * A device that fails gives its slabs back, works on with less memory or another kernel, or
 * retires; the others go on. A cancelled run returns at once; its threads hold what they use and
 * end when the piece they are at is done.
 */
#define GRACE_US (120 * 1000)

/* ── Life ── */

TdFbpRun *
td_fbp_run_ref (TdFbpRun *run)
{
  g_atomic_ref_count_inc (&run->references);
  return run;
}

void
td_fbp_run_unref (TdFbpRun *run)
{
  if (!g_atomic_ref_count_dec (&run->references))
    return;
  td_job_add_host_bytes (run->job, -run->slot_bytes);
  g_ptr_array_unref (run->slots);
  g_queue_clear (&run->free_in);
  g_queue_clear (&run->free_out);
  g_queue_clear (&run->ready);
  g_free (run->slabs);
  g_mutex_clear (&run->lock);
  g_cond_clear (&run->changed);
  td_plan_unref (run->plan);
  td_job_unref (run->job);
  g_free (run);
}

static void
cut_slabs (TdFbpRun *run)
{
  const TdPlanFacts *facts = &run->plan->facts;
  guint end = facts->first_slice + facts->n_slices;

  run->n_slabs = run->unfinished = (facts->n_slices + run->slab_slices - 1) / run->slab_slices;
  run->slabs = g_new0 (TdFbpSlab, run->n_slabs);
  for (guint i = 0; i < run->n_slabs; i++) {
    TdFbpWork *work = &run->slabs[i].work;
    work->first = work->out_first = facts->first_slice + i * run->slab_slices;
    work->count = MIN (run->slab_slices, end - work->first);
    work->row0 = work->in_row0 = work->first - MIN (run->fbp->halo, work->first);
    work->n_rows = MIN (work->first + work->count + run->fbp->halo, run->fbp->n_rows) - work->row0;
  }
}

/* The device whose memory the slots are made of: pinned for one that copies, if there is one. */
static TdDevice *
slot_device (const TdFbpRun *run)
{
  GPtrArray *devices = run->plan->devices;

  for (guint i = 0; i < devices->len; i++)
    if (!td_device_info (g_ptr_array_index (devices, i))->host_pointers)
      return g_ptr_array_index (devices, i);
  return g_ptr_array_index (devices, 0);
}

static gboolean
make_slots (TdFbpRun *run, GQueue *queue, guint n, guint64 bytes, GError **error)
{
  for (guint i = 0; i < n; i++) {
    TdFbpSlot *slot = td_fbp_slot_new (slot_device (run), run->fbp->direct, bytes, error);
    if (!slot)
      return FALSE;
    g_ptr_array_add (run->slots, slot);
    g_queue_push_tail (queue, slot);
    if (!slot->buffer) {
      run->slot_bytes += bytes;
      td_job_add_host_bytes (run->job, bytes);
    }
  }
  return TRUE;
}

static gboolean
make_all_slots (TdFbpRun *run, GError **error)
{
  const TdFbp *fbp = run->fbp;
  guint rows = MIN (run->slab_slices + 2 * fbp->halo, fbp->n_rows);

  return make_slots (run, &run->free_in, fbp->in_slots, rows * td_fbp_row_bytes (fbp), error)
         && make_slots (run, &run->free_out, fbp->out_slots,
                        run->slab_slices * td_fbp_slice_bytes (fbp), error);
}

static TdFbpRun *
fbp_run_new (TdJob *job)
{
  TdFbpRun *run = g_new0 (TdFbpRun, 1);

  g_atomic_ref_count_init (&run->references);
  run->job = td_job_ref (job);
  run->plan = td_plan_ref (job->plan);
  run->fbp = job->plan->extra;
  run->slots = g_ptr_array_new_with_free_func ((GDestroyNotify) td_fbp_slot_free);
  g_mutex_init (&run->lock);
  g_cond_init (&run->changed);
  g_queue_init (&run->free_in);
  g_queue_init (&run->free_out);
  g_queue_init (&run->ready);
  run->slab_slices = run->fbp->slab_slices;
  return run;
}

/* ── Between the threads ── */

void
td_fbp_run_put (TdFbpRun *run, GQueue *queue, gpointer item)
{
  g_mutex_lock (&run->lock);
  g_queue_push_tail (queue, item);
  g_cond_broadcast (&run->changed);
  g_mutex_unlock (&run->lock);
}

gpointer
td_fbp_run_get (TdFbpRun *run, GQueue *queue)
{
  gpointer item = NULL;

  g_mutex_lock (&run->lock);
  while (!run->stop && !queue->length)
    g_cond_wait (&run->changed, &run->lock);
  if (!run->stop)
    item = g_queue_pop_head (queue);
  g_mutex_unlock (&run->lock);
  return item;
}

TdFbpSlab *
td_fbp_run_next_slab (TdFbpRun *run, gboolean wait)
{
  TdFbpSlab *slab = NULL;

  g_mutex_lock (&run->lock);
  while (wait && !run->stop && run->unfinished && !run->ready.length)
    g_cond_wait (&run->changed, &run->lock);
  if (!run->stop)
    slab = g_queue_pop_head (&run->ready);
  g_mutex_unlock (&run->lock);
  return slab;
}

void
td_fbp_run_give_back (TdFbpRun *run, TdFbpSlab *slab)
{
  g_mutex_lock (&run->lock);
  if (slab->work.out)
    g_queue_push_tail (&run->free_out, g_steal_pointer (&slab->work.out));
  slab->read = slab->read && !run->fbp->direct; /* direct work changes the raw rows in place */
  g_queue_push_head (&run->ready, slab);
  g_cond_broadcast (&run->changed);
  g_mutex_unlock (&run->lock);
}

static void
fbp_run_stop (TdFbpRun *run)
{
  g_mutex_lock (&run->lock);
  run->stop = TRUE;
  g_cond_broadcast (&run->changed);
  g_mutex_unlock (&run->lock);
}

static void
fbp_run_on_cancel (GCancellable *cancellable, gpointer user)
{
  fbp_run_stop (user);
}

void
td_fbp_run_slab_done (TdFbpRun *run)
{
  g_mutex_lock (&run->lock);
  run->unfinished--;
  g_cond_broadcast (&run->changed);
  g_mutex_unlock (&run->lock);
}

/* ── Running ── */

/* In direct runs the slots are device memory: with less of it, smaller slabs. */
static gboolean
make_slots_that_fit (TdFbpRun *run, GError **error)
{
  for (;;) {
    g_autoptr (GError) reason = NULL;

    if (make_all_slots (run, &reason))
      return TRUE;
    if (td_device_reaction (reason) != TD_REACTION_RETRY_SMALLER || run->slab_slices == 1) {
      g_propagate_error (error, g_steal_pointer (&reason));
      return FALSE;
    }
    g_queue_clear (&run->free_in);
    g_queue_clear (&run->free_out);
    g_ptr_array_set_size (run->slots, 0);
    td_job_add_host_bytes (run->job, -run->slot_bytes);
    run->slot_bytes = 0;
    td_engine_drop_idle (run->plan->engine);
    run->slab_slices = (run->slab_slices + 1) / 2;
    td_job_note (run->job, "Memory was short: slabs of %u slices.", run->slab_slices);
  }
}

typedef struct {
  TdFbpRun *run;
  void (*body) (TdFbpRun *run, gpointer data);
  gpointer data;
} Thread;

static gpointer
fbp_run_thread_body (gpointer user)
{
  Thread *thread = user;
  TdFbpRun *run = thread->run;

  thread->body (run, thread->data);
  g_mutex_lock (&run->lock);
  run->threads--;
  g_cond_broadcast (&run->changed);
  g_mutex_unlock (&run->lock);
  td_fbp_run_unref (run);
  g_free (thread);
  return NULL;
}

static void
start_thread (TdFbpRun *run, const char *name, void (*body) (TdFbpRun *run, gpointer data),
              gpointer data)
{
  Thread *thread = g_new0 (Thread, 1);

  *thread = (Thread) { td_fbp_run_ref (run), body, data };
  run->threads++;
  g_thread_unref (g_thread_new (name, fbp_run_thread_body, thread));
}

static void
start_threads (TdFbpRun *run)
{
  GPtrArray *devices = run->plan->devices;

  g_mutex_lock (&run->lock);
  if (run->fbp->keep) {
    /* A preview's device may hold the rows: it reads them itself if it must. */
    run->slabs[0].work.in = g_queue_pop_head (&run->free_in);
    g_queue_push_tail (&run->ready, &run->slabs[0]);
  } else {
    start_thread (run, "reader", td_fbp_read, NULL);
  }
  run->workers = MIN (devices->len, run->n_slabs);
  for (guint i = 0; i < run->workers; i++)
    start_thread (run, "device", td_fbp_work,
                  td_fbp_worker_new (run, g_ptr_array_index (devices, i), run->fbp->families[i]));
  g_mutex_unlock (&run->lock);
}

/* Until all threads have ended, or some time after the run was stopped. */
static void
wait_for_threads (TdFbpRun *run)
{
  gint64 deadline = 0;

  g_mutex_lock (&run->lock);
  while (run->threads) {
    if (run->stop && !deadline)
      deadline = g_get_monotonic_time () + GRACE_US;
    if (!deadline)
      g_cond_wait (&run->changed, &run->lock);
    else if (!g_cond_wait_until (&run->changed, &run->lock, deadline))
      break;
  }
  g_mutex_unlock (&run->lock);
}

static gboolean
fbp_run_threads (TdFbpRun *run, GCancellable *cancellable, GError **error)
{
  gulong handler;

  if (!make_slots_that_fit (run, error))
    return FALSE;
  cut_slabs (run);
  handler = g_cancellable_connect (cancellable, G_CALLBACK (fbp_run_on_cancel),
                                   td_fbp_run_ref (run), (GDestroyNotify) td_fbp_run_unref);
  start_threads (run);
  wait_for_threads (run);
  g_cancellable_disconnect (cancellable, handler);
  return !g_cancellable_set_error_if_cancelled (cancellable, error);
}

gboolean
td_fbp_run (TdJob *job, GCancellable *cancellable, GError **error)
{
  TdFbpRun *run = fbp_run_new (job);

  gboolean ok = fbp_run_threads (run, cancellable, error);
  td_fbp_run_unref (run);
  return ok;
}

const TdMethod td_method_fbp = {
  .name = "fbp",
  .kind = TD_METHOD_FBP,
  .unsupported = td_fbp_unsupported,
  .plan = td_fbp_plan,
  .run = td_fbp_run,
};
