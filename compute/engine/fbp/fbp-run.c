/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "compute/device/host.h"
#include "compute/engine/engine-private.h"
#include "compute/engine/job-private.h"
#include "compute/engine/monitor.h"
#include "compute/parallel/families.h"
#include "compute/prepare/prepared-rows.h"
#include "dataset/scan-spool.h"
#include "dataset/storage-threads.h"
#include "fbp-working-set.h"

/**
 * The run carries a plan out. One thread reads slabs in order. One worker a device takes the next
 * slab that was read, whichever device is free first. Finished slices go to the job's writing
 * thread. Few slots pass between the threads, so a thread that is ahead waits.
 *
 * A device that fails gives its slabs back. It goes on with less memory or another kernel, or it
 * retires and the other devices go on. A cancelled run returns at once; its threads hold what they
 * use, and end when their present piece is done.
 */
#define GRACE_US (120 * 1000)

typedef struct {
  TdFbpWork work;
  gboolean read; /* the slot holds the raw rows */
} Slab;

/* One run of a plan, shared by its threads. The run is reference counted: a cancelled job leaves it
   before the threads have ended. */
typedef struct {
  gatomicrefcount references;
  TdJob *job;
  TdPlan *plan;
  const TdFbp *fbp;
  GPtrArray *slots;     /* TdFbpSlot: all of them */
  TdStorageTurns turns; /* of the threads that read */
  Slab *slabs;
  guint n_slabs, slab_slices;
  gint64 slot_bytes;
  gboolean stores;     /* the devices make samples of the slices */
  TdStoredScale scale; /* of these */

  TdMonitor monitor;        /* of all below */
  GQueue free_in, free_out; /* TdFbpSlot */
  GQueue ready;             /* Slab */
  guint next_read, n_read;  /* the slab that is read next; how many were */
  gint64 read_until_us;     /* when the last of them was */
  gint64 read_us;           /* while any was being read */
  guint unfinished;         /* slabs */
  guint threads, workers;
  gboolean stop; /* a thread is missing */
  gboolean left; /* by the job, before its threads have ended */
} Run;

/* ── Life ── */

static Run *
fbp_run_ref (Run *run)
{
  g_atomic_ref_count_inc (&run->references);
  return run;
}

static void
fbp_run_unref (Run *run)
{
  if (!g_atomic_ref_count_dec (&run->references))
    return;
  td_job_add_host_bytes (run->job, -run->slot_bytes);
  if (run->fbp->spool)
    td_scan_spool_drop (run->fbp->spool);
  g_ptr_array_unref (run->slots);
  g_queue_clear (&run->free_in);
  g_queue_clear (&run->free_out);
  g_queue_clear (&run->ready);
  g_free (run->slabs);
  td_monitor_clear (&run->monitor);
  td_storage_turns_clear (&run->turns);
  td_plan_unref (run->plan);
  td_job_unref (run->job);
  g_free (run);
}

/* The raw rows that the work's slices need. */
static void
fbp_run_set_rows (TdFbpWork *work, const TdFbp *fbp)
{
  const TdRowRange rows
      = td_row_range_with_halo ((TdRowRange) { work->first, work->count }, fbp->halo, fbp->n_rows);

  work->row0 = rows.first;
  work->n_rows = rows.count;
}

static void
fbp_run_cut_slabs (Run *run)
{
  const TdPlanFacts *facts = &run->plan->facts;
  guint end = facts->first_slice + facts->n_slices;

  run->n_slabs = run->unfinished = (facts->n_slices + run->slab_slices - 1) / run->slab_slices;
  run->slabs = g_new0 (Slab, run->n_slabs);
  for (guint i = 0; i < run->n_slabs; i++) {
    TdFbpWork *work = &run->slabs[i].work;
    work->first = work->out_first = facts->first_slice + i * run->slab_slices;
    work->count = MIN (run->slab_slices, end - work->first);
    fbp_run_set_rows (work, run->fbp);
    work->in_row0 = work->row0;
  }
}

/* The device that allocates the slots. A device that copies gives pinned memory, so it comes first.
 */
static TdDevice *
fbp_run_slot_device (const Run *run)
{
  GPtrArray *devices = run->plan->devices;

  for (guint i = 0; i < devices->len; i++)
    if (!td_device_info (devices->pdata[i])->host_pointers)
      return devices->pdata[i];
  return devices->pdata[0];
}

static gboolean
fbp_run_add_slot (Run *run, GQueue *queue, guint64 bytes, guint64 counts_bytes, GError **error)
{
  const gboolean direct = run->fbp->direct && !counts_bytes;
  TdFbpSlot *slot = td_fbp_slot_new (fbp_run_slot_device (run), direct, bytes, counts_bytes, error);

  if (!slot)
    return FALSE;
  g_ptr_array_add (run->slots, slot);
  g_queue_push_tail (queue, slot);
  run->slot_bytes += slot->host_bytes;
  td_job_add_host_bytes (run->job, slot->host_bytes);
  return TRUE;
}

static gboolean
fbp_run_make_slots (Run *run, GError **error)
{
  const TdFbp *fbp = run->fbp;
  const guint64 voxels = td_fbp_slab_voxels (fbp, run->slab_slices);
  const guint64 in = td_fbp_most_rows (fbp, run->slab_slices) * td_fbp_sent_bytes (fbp);
  const guint64 out = voxels * (run->stores ? run->scale.bits / 8 : sizeof (float));
  const guint64 counts = run->stores ? td_stored_samples_counts_bytes (voxels) : 0;
  gboolean made = TRUE;

  for (guint i = 0; made && i < fbp->in_slots; i++)
    made = fbp_run_add_slot (run, &run->free_in, in, 0, error);
  for (guint i = 0; made && i < fbp->out_slots; i++)
    made = fbp_run_add_slot (run, &run->free_out, out, counts, error);
  return made;
}

/* Whether the devices convert the slices. The host does where a device's compiler fails. */
static gboolean
fbp_run_stores (Run *run)
{
  const GPtrArray *devices = run->plan->devices;

  if (!run->fbp->stores || !td_job_wants_stored (run->job, &run->scale))
    return FALSE;
  for (guint i = 0; i < devices->len; i++) {
    g_autoptr (GError) error = NULL;
    if (!td_stored_samples_build (devices->pdata[i], run->scale.bits, &error)) {
      td_job_note (run->job, "%s: %p; the host converts the slices to %u bits.",
                   td_device_info (devices->pdata[i])->id, td_error_message (error),
                   run->scale.bits);
      return FALSE;
    }
  }
  return TRUE;
}

static Run *
fbp_run_new (TdJob *job)
{
  Run *run = g_new0 (Run, 1);

  g_atomic_ref_count_init (&run->references);
  run->job = td_job_ref (job);
  run->plan = td_plan_ref (job->plan);
  run->fbp = job->plan->extra;
  run->slots = g_ptr_array_new_with_free_func ((GDestroyNotify) td_fbp_slot_free);
  td_monitor_init (&run->monitor);
  td_storage_turns_init (&run->turns);
  run->slab_slices = run->fbp->slab_slices;
  run->stores = fbp_run_stores (run);
  return run;
}

/* ── Between the threads ── */

static gboolean
fbp_run_stopped (gconstpointer user)
{
  const Run *run = user;

  return run->stop || g_cancellable_is_cancelled (run->job->cancellable);
}

static Slab *
fbp_run_next_slab (Run *run, gboolean wait)
{
  Slab *slab = NULL;

  g_mutex_lock (&run->monitor.lock);
  while (wait && !fbp_run_stopped (run) && run->unfinished && !run->ready.length)
    td_monitor_wait (&run->monitor);
  if (!fbp_run_stopped (run))
    slab = g_queue_pop_head (&run->ready);
  g_mutex_unlock (&run->monitor.lock);
  return slab;
}

static void
fbp_run_give_back (Run *run, Slab *slab)
{
  g_mutex_lock (&run->monitor.lock);
  if (slab->work.out)
    g_queue_push_tail (&run->free_out, g_steal_pointer (&slab->work.out));
  slab->read = slab->read && !run->fbp->direct; /* direct work changes the raw rows in place */
  g_queue_push_head (&run->ready, slab);
  td_monitor_release (&run->monitor);
}

/* The last that each of the run's threads does. Where the job still waits, no thread frees what the
   run holds: that would happen after the job's end. */
static void
fbp_run_thread_ends (Run *run)
{
  g_mutex_lock (&run->monitor.lock);
  const gboolean left = run->left;
  run->threads--;
  if (!left)
    (void) g_atomic_ref_count_dec (&run->references); /* the job has another */
  td_monitor_release (&run->monitor);
  if (left)
    fbp_run_unref (run);
}

/* ── Reading ── */

/* Reads rows for a preview: the engine remembers them. */
static gboolean
fbp_run_read_kept (gpointer user, TdRowRange range, float *out, GCancellable *cancellable,
                   GError **error)
{
  const TdPlan *plan = user;

  return td_engine_read_rows (plan->engine, plan->scan, range.first, range.count, out, cancellable,
                              error);
}

/* Slabs that are read at once take their time once. */
static void
fbp_run_add_read_time (Run *run, gint64 start_us)
{
  g_mutex_lock (&run->monitor.lock);
  const gint64 now_us = g_get_monotonic_time ();
  const gint64 took_us = now_us - MAX (start_us, run->read_until_us);
  run->read_until_us = now_us;
  run->read_us += took_us;
  g_mutex_unlock (&run->monitor.lock);
  td_job_add_stage (run->job, N_ ("read"), took_us * 1e-6);
}

/* To @to; NULL: to the slot. @carry (may be NULL): the last rows of the slab before, which the next
   one needs again. */
static gboolean
fbp_run_read_slab (Run *run, Slab *slab, float *to, TdHeldRows *carry, GError **error)
{
  static const TdHeldRows none = { 0 };
  const TdFbpWork *work = &slab->work;
  float *rows = to ? to : work->in->host;
  TdScan *scan = run->plan->scan;
  const TdRowsOrigin origin = {
    .read = run->fbp->keep ? fbp_run_read_kept : td_rows_read_scan,
    .user = run->fbp->keep    ? (gpointer) run->plan
            : run->fbp->spool ? run->fbp->spool
                              : scan,
    .row_floats = td_fbp_row_bytes (run->fbp) / sizeof (float),
  };
  const TdFrameRange raw = { TD_FRAME_PROJECTION, 0, run->fbp->n_views, work->row0, work->n_rows };
  gint64 start = g_get_monotonic_time ();

  if (run->fbp->raw_bytes
          ? !td_scan_read_stored (scan, &raw, work->in->host, run->job->cancellable, error)
          : !td_rows_read_beside (&origin, carry ? carry : &none,
                                  (TdRowRange) { work->row0, work->n_rows }, rows,
                                  run->job->cancellable, error))
    return FALSE;
  if (carry && run->fbp->halo) {
    const guint n = MIN (2 * run->fbp->halo, work->n_rows);
    carry->range = (TdRowRange) { work->row0 + work->n_rows - n, n };
    memcpy (carry->rows, rows + (work->n_rows - n) * origin.row_floats,
            n * origin.row_floats * sizeof *rows);
  }
  g_autoptr (TdFlats) flats = td_engine_flats (run->plan->engine, scan);
  if (!td_preparation_fetch (flats, run->plan->recipe.steps, run->plan->recipe.n_steps, work->row0,
                             work->n_rows, run->job->cancellable, error))
    return FALSE;
  fbp_run_add_read_time (run, start);
  slab->read = !to; /* what a device has is lost with it */
  return TRUE;
}

/* The last one knows how fast the storage was. */
static void
fbp_run_slab_was_read (Run *run, Slab *slab)
{
  g_mutex_lock (&run->monitor.lock);
  const gboolean all = ++run->n_read == run->n_slabs;
  const double seconds = run->read_us * 1e-6;
  g_mutex_unlock (&run->monitor.lock);
  td_monitor_put (&run->monitor, &run->ready, slab);
  if (!all || td_scan_facts (run->plan->scan)->in_memory)
    return;
  const guint64 bytes = run->plan->facts.read_bytes;
  const double first = run->fbp->spool ? td_scan_spool_seconds (run->fbp->spool) : seconds;
  g_autofree char *key = td_plan_read_key (run->plan);
  g_autofree char *again = run->fbp->spool ? td_plan_copy_key (run->plan) : NULL;
  td_plan_keep_rate (run->plan, key, bytes, first);
  if (again)
    td_plan_keep_rate (run->plan, again, bytes, seconds - first);
}

/* The slab to be read next, with a slot; NULL: there is none. */
static Slab *
fbp_run_slab_to_read (Run *run)
{
  Slab *slab = NULL;

  g_mutex_lock (&run->monitor.lock);
  while (!fbp_run_stopped (run) && run->next_read < run->n_slabs && !run->free_in.length)
    td_monitor_wait (&run->monitor);
  if (!fbp_run_stopped (run) && run->next_read < run->n_slabs) {
    slab = &run->slabs[run->next_read++];
    slab->work.in = g_queue_pop_head (&run->free_in);
  }
  g_mutex_unlock (&run->monitor.lock);
  return slab;
}

/* One of the threads that read. While the last answers of one slab are awaited, the next slab's
   first rows are asked for. */
static gpointer
fbp_run_read (gpointer user)
{
  Run *run = user;
  const guint64 halo = 2 * run->fbp->halo * td_fbp_row_bytes (run->fbp);
  GError *error = NULL;
  TdHeldRows carry = { .rows = td_host_malloc (halo, &error) };
  Slab *slab;

  while (!error && (slab = fbp_run_slab_to_read (run))) {
    td_storage_turn_begin (&run->turns, (guint) (slab - run->slabs));
    const gboolean good = fbp_run_read_slab (run, slab, NULL, &carry, &error);
    td_storage_turn_end ();
    if (good)
      fbp_run_slab_was_read (run, slab);
  }
  if (error)
    td_job_fail (run->job, error);
  g_free (carry.rows);
  fbp_run_thread_ends (run);
  return NULL;
}

/* ── A device's thread ── */

/* What one device's thread works with, including what shrinks or changes after a failure. */
typedef struct {
  Run *run;
  TdDevice *device;
  const TdBackprojectFamily *family;
  guint families_tried;
  guint max_slices, batch; /* of the working set */
  gboolean dropped_idle;
  TdFbpWorkingSet *set;
  Slab *flying[2]; /* by lane */
} Worker;

/* ── Slices out ── */

static void
fbp_run_release_slot (float *slices, gpointer user)
{
  TdFbpSlot *slot = user;
  Run *run = slot->owner;

  td_monitor_put (&run->monitor, &run->free_out, slot);
  fbp_run_unref (run);
}

static gboolean
fbp_worker_emit (Run *run, Slab *slab, GError **error)
{
  TdFbpWork *work = &slab->work;
  TdFbpSlot *slot = g_steal_pointer (&work->out);

  slot->owner = fbp_run_ref (run);
  td_monitor_put (&run->monitor, &run->free_in, g_steal_pointer (&work->in));
  const TdJobPortion portion = {
    .first = work->first - run->plan->facts.first_slice,
    .count = work->count,
    .slices = slot->host,
    .stored = run->stores,
    .stored_counts = slot->stored,
    .release = fbp_run_release_slot,
    .user = slot,
  };
  const gboolean ok = td_job_emit (run->job, &portion, error);
  g_mutex_lock (&run->monitor.lock);
  run->unfinished--;
  td_monitor_release (&run->monitor);
  return ok;
}

/* ── Slabs through the device ── */

static gboolean
fbp_worker_complete (Worker *worker, guint lane, GError **error)
{
  Slab *slab = worker->flying[lane];

  if (!slab)
    return TRUE;
  if (!td_fbp_working_set_complete (worker->set, lane, error))
    return FALSE;
  worker->flying[lane] = NULL;
  return fbp_worker_emit (worker->run, slab, error);
}

/* Computes a slab that is larger than the working set in parts, one after another. */
static gboolean
fbp_worker_in_parts (Worker *worker, guint lane, GError **error)
{
  const TdFbp *fbp = worker->run->fbp;
  Slab *slab = worker->flying[lane];
  const guint part = worker->max_slices;

  for (guint done = 0; done < slab->work.count; done += part) {
    TdFbpWork work = slab->work;
    work.first += done;
    work.count = MIN (part, slab->work.count - done);
    fbp_run_set_rows (&work, fbp);
    if (!td_fbp_working_set_submit (worker->set, lane, &work, error)
        || !td_fbp_working_set_complete (worker->set, lane, error))
      return FALSE;
  }
  worker->flying[lane] = NULL;
  return fbp_worker_emit (worker->run, slab, error);
}

static gboolean
fbp_worker_ready_set (Worker *worker, GError **error)
{
  const TdFbp *fbp = worker->run->fbp;

  if (worker->set)
    return TRUE;
  if (fbp->keep && worker->max_slices == fbp->slab_slices && worker->batch == fbp->batch)
    worker->set = td_fbp_working_set_take (worker->run->job, worker->device, worker->family, error);
  else
    worker->set = td_fbp_working_set_new (worker->run->job, worker->device, worker->family,
                                          worker->max_slices, worker->batch,
                                          worker->run->stores ? &worker->run->scale : NULL, error);
  return worker->set != NULL;
}

/* What the slab needs before the device can take it: a working set, raw rows and a slot for the
   slices. */
static gboolean
fbp_worker_ready (Worker *worker, guint lane, GError **error)
{
  Run *run = worker->run;
  Slab *slab = worker->flying[lane];

  if (!fbp_worker_ready_set (worker, error))
    return FALSE;
  if (!slab->read
      && (!run->fbp->keep || td_fbp_working_set_needs_rows (worker->set, &slab->work))) {
    float *rows = td_fbp_working_set_rows (worker->set, lane, &slab->work);
    slab->work.in_place = rows != NULL;
    if (!fbp_run_read_slab (run, slab, rows, NULL, error))
      return FALSE;
  }
  slab->work.out = td_monitor_get (&run->monitor, &run->free_out, fbp_run_stopped, run);
  if (!slab->work.out)
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED, "The run was stopped");
  else
    slab->work.out->stored = (TdStoredCounts) { 0 };
  return slab->work.out != NULL;
}

/* Gives a lane the next slab, then completes the lane whose turn is next. With two lanes a slab is
   downloaded while the next one is computed. Sets @ended when no slab is left. */
static gboolean
fbp_worker_turn (Worker *worker, guint turn, gboolean *ended, GError **error)
{
  const guint lanes = td_fbp_lanes (worker->run->fbp, td_device_info (worker->device));
  const guint lane = turn % lanes, due = (turn + 1) % lanes;
  const gboolean idle = !worker->flying[0] && !worker->flying[1];
  Slab *slab = worker->flying[lane] = fbp_run_next_slab (worker->run, idle);

  *ended = !slab && idle;
  if (*ended)
    return !worker->set || td_fbp_working_set_book_counts (worker->set, error);
  if (slab && !fbp_worker_ready (worker, lane, error))
    return FALSE;
  if (slab && slab->work.count > worker->max_slices && !worker->run->fbp->direct) {
    if (!fbp_worker_in_parts (worker, lane, error))
      return FALSE;
  } else if (slab && !td_fbp_working_set_submit (worker->set, lane, &slab->work, error)) {
    return FALSE;
  }
  return fbp_worker_complete (worker, due, error);
}

/* ── Failures ── */

static gboolean
fbp_worker_smaller_batch (Worker *worker)
{
  if (worker->batch < 2)
    return FALSE;
  worker->batch /= 2;
  return TRUE;
}

static gboolean
fbp_worker_less_memory (Worker *worker)
{
  if (!worker->dropped_idle) {
    worker->dropped_idle = TRUE;
    td_engine_drop_idle (worker->run->plan->engine);
    return TRUE;
  }
  if (worker->max_slices < 2 || worker->run->fbp->direct)
    return fbp_worker_smaller_batch (worker);
  worker->max_slices = (worker->max_slices + 1) / 2;
  worker->batch = MIN (worker->batch, worker->max_slices);
  return TRUE;
}

static gboolean
fbp_worker_another_family (Worker *worker)
{
  const TdPlan *plan = worker->run->plan;
  const guint slices = worker->run->fbp->tilt != 0 ? 1 : MIN (worker->max_slices, TD_FBP_GRAIN);
  TdBackprojectTask task;

  if (plan->asked.method == TD_METHOD_FOURIER)
    return FALSE; /* the method has no other */
  td_fbp_task (plan, plan->facts.first_slice, &task);
  task.most_error = td_accuracy_limit (plan->asked.accuracy);
  const TdBackprojectFamily *family = td_backproject_another (worker->family, &task, worker->device,
                                                              slices, &worker->families_tried);
  if (!family)
    return FALSE;
  worker->family = family;
  td_job_note_inexact (worker->run->job, family->name,
                       family->error_bound (family, &task, td_device_info (worker->device)));
  return TRUE;
}

/* Changes what may help. TRUE: the device may try again. */
static gboolean
fbp_worker_recover (Worker *worker, const GError *error)
{
  const TdReaction reaction = td_device_reaction (error);
  gboolean again = FALSE;

  if (reaction == TD_REACTION_RETRY_SMALLER)
    again = fbp_worker_less_memory (worker);
  else if (reaction == TD_REACTION_SMALLER_LAUNCHES)
    again = fbp_worker_smaller_batch (worker);
  else if (reaction == TD_REACTION_ANOTHER_KERNEL)
    again = fbp_worker_another_family (worker);
  if (again)
    td_job_note (worker->run->job, "%s: %p; going on with %u [slice|slices] at a time, kernel %s.",
                 td_device_info (worker->device)->id, td_error_message (error),
                 MIN (worker->max_slices, worker->batch), worker->family->name);
  return again;
}

static void
fbp_worker_retire (Worker *worker, const GError *error)
{
  Run *run = worker->run;

  g_mutex_lock (&run->monitor.lock);
  guint left = --run->workers;
  g_mutex_unlock (&run->monitor.lock);
  if (left == 0 || !td_device_others_can (error)) {
    td_job_fail (run->job, g_error_copy (error));
    return;
  }
  td_job_note (run->job, "%s failed (%p); the other devices took over its slices.",
               td_device_info (worker->device)->id, td_error_message (error));
}

/* Frees the working set after a failure; keeps that of a preview which was merely cancelled. */
static void
fbp_worker_put_set_away (Worker *worker, gboolean sound)
{
  TdFbpWorkingSet *set = g_steal_pointer (&worker->set);

  if (set && sound && worker->run->fbp->keep)
    td_fbp_working_set_give (set);
  else
    td_fbp_working_set_free (set);
}

/* ── The thread ── */

static gpointer
fbp_worker_run (gpointer user)
{
  Worker *worker = user;
  Run *run = worker->run;
  gboolean ended = FALSE;
  GError *error = NULL;

  for (guint turn = 0; !ended; turn++) {
    if (fbp_worker_turn (worker, turn, &ended, &error))
      continue;
    const gboolean cancelled = g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);

    fbp_worker_put_set_away (worker, cancelled);
    for (guint lane = 0; lane < G_N_ELEMENTS (worker->flying); lane++)
      if (worker->flying[lane])
        fbp_run_give_back (worker->run, g_steal_pointer (&worker->flying[lane]));
    ended = cancelled || !fbp_worker_recover (worker, error);
    if (ended)
      fbp_worker_retire (worker, error);
    g_clear_error (&error);
  }
  fbp_worker_put_set_away (worker, TRUE);
  g_free (worker);
  fbp_run_thread_ends (run);
  return NULL;
}

/* ── Running ── */

/* In direct runs the slots are device memory, so that short memory means smaller slabs. */
static gboolean
fbp_run_fit_slots (Run *run, GError **error)
{
  for (;;) {
    g_autoptr (GError) reason = NULL;

    if (fbp_run_make_slots (run, &reason))
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
    td_job_note (run->job, "Memory was short: slabs of %u [slice|slices].", run->slab_slices);
  }
}

/* Under the lock. */
static gboolean
fbp_run_start_thread (Run *run, const char *name, GThreadFunc body, gpointer data, GError **error)
{
  GThread *thread = td_thread_start (name, body, data, error);

  if (!thread)
    return FALSE;
  fbp_run_ref (run);
  run->threads++;
  g_thread_unref (thread);
  return TRUE;
}

static Worker *
fbp_worker_new (Run *run, guint device)
{
  Worker *worker = g_new (Worker, 1);

  *worker = (Worker) { .run = run,
                       .device = run->plan->devices->pdata[device],
                       .family = run->fbp->families[device],
                       .max_slices = run->slab_slices,
                       .batch = MIN (run->fbp->batch, run->slab_slices) };
  return worker;
}

/* Under the lock. */
static gboolean
fbp_run_start_reading (Run *run, GError **error)
{
  if (run->fbp->keep && run->n_slabs == 1) {
    /* A preview's device may hold the rows: it reads them itself if it must. Where memory was too
       short for a single slab, a thread reads all. */
    run->slabs[0].work.in = g_queue_pop_head (&run->free_in);
    g_queue_push_tail (&run->ready, &run->slabs[0]);
    return TRUE;
  }
  if (!fbp_run_start_thread (run, "reader", fbp_run_read, run, error))
    return FALSE;
  /* The first can do without the others. */
  for (guint i = 1; i < run->fbp->n_readers; i++)
    fbp_run_start_thread (run, "reader", fbp_run_read, run, NULL);
  return TRUE;
}

/* Until all threads have ended, or some time after the run was stopped. */
static void
fbp_run_await_threads (Run *run)
{
  gint64 deadline = 0;

  g_mutex_lock (&run->monitor.lock);
  while (run->threads) {
    if (fbp_run_stopped (run) && !deadline)
      deadline = g_get_monotonic_time () + GRACE_US;
    if (!deadline)
      td_monitor_wait (&run->monitor);
    else if (!g_cond_wait_until (&run->monitor.changed, &run->monitor.lock, deadline))
      break;
  }
  run->left = run->threads > 0;
  g_mutex_unlock (&run->monitor.lock);
}

static gboolean
fbp_run_carry_out (TdJob *job, GCancellable *cancellable, GError **error)
{
  Run *run = fbp_run_new (job);
  gboolean started = TRUE;

  if (!fbp_run_fit_slots (run, error)) {
    fbp_run_unref (run);
    return FALSE;
  }
  fbp_run_cut_slabs (run);
  const gulong handler
      = g_cancellable_connect (cancellable, G_CALLBACK (td_monitor_wake), &run->monitor, NULL);
  g_mutex_lock (&run->monitor.lock);
  run->workers = MIN (run->plan->devices->len, run->n_slabs);
  for (guint i = 0; i < run->workers && started; i++) {
    Worker *worker = fbp_worker_new (run, i);
    started = fbp_run_start_thread (run, "device", fbp_worker_run, worker, error);
    if (!started)
      g_free (worker);
  }
  started = started && fbp_run_start_reading (run, error);
  run->stop = run->stop || !started; /* those that were started end by themselves */
  td_monitor_release (&run->monitor);
  fbp_run_await_threads (run);
  g_cancellable_disconnect (cancellable, handler);
  fbp_run_unref (run);
  return started && !g_cancellable_set_error_if_cancelled (cancellable, error);
}

/* ── Methods ── */

static const char *
fbp_run_unsupported (const TdScanFacts *facts, const TdRecipe *recipe)
{
  if (facts->geometry.beam != TD_BEAM_PARALLEL)
    return N_ (
        "The scan was taken with a fan or cone beam, and filtered back-projection for parallel "
        "beams ({method=fbp}) cannot reconstruct it");
  return NULL;
}

const TdMethod td_method_fbp = {
  .name = "fbp",
  .kind = TD_METHOD_FBP,
  .unsupported = fbp_run_unsupported,
  .plan = td_fbp_plan,
  .run = fbp_run_carry_out,
};

static const char *
fbp_run_fourier_unsupported (const TdScanFacts *facts, const TdRecipe *recipe)
{
  if (facts->geometry.beam != TD_BEAM_PARALLEL)
    return N_ (
        "The scan was taken with a fan or cone beam, and the Fourier method ({method=fourier}) "
        "is for parallel beams");
  return NULL;
}

/* The Fourier method is filtered back-projection whose second half is gridding
   (compute/parallel/fourier-shape.h): it differs from td_method_fbp by the family alone. */
const TdMethod td_method_fourier = {
  .name = "fourier",
  .kind = TD_METHOD_FOURIER,
  .by_name = TRUE,
  .family = &td_family_fourier,
  .unsupported = fbp_run_fourier_unsupported,
  .plan = td_fbp_plan,
  .run = fbp_run_carry_out,
};
