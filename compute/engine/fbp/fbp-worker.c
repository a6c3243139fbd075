/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compute/device/device-reaction.h"
#include "compute/engine/engine-private.h"
#include "fbp-run-private.h"

/* What one device's thread works with. What has to shrink or change after a failure is here. */
typedef struct TdFbpWorker Worker;

struct TdFbpWorker {
  TdFbpRun *run;
  TdDevice *device;
  const TdBackprojectFamily *family;
  guint families_tried;
  guint max_slices, batch;
  gboolean dropped_idle;
  TdFbpKit *kit;
  TdFbpSlab *flying[2]; /* by lane */
};

/* ── Slices out ── */

typedef struct {
  TdFbpRun *run;
  TdFbpSlot *slot;
} Emitted;

static void
release_slot (float *slices, gpointer user)
{
  Emitted *emitted = user;

  td_fbp_run_put (emitted->run, &emitted->run->free_out, emitted->slot);
  td_fbp_run_unref (emitted->run);
  g_free (emitted);
}

static gboolean
fbp_worker_emit (TdFbpRun *run, TdFbpSlab *slab, GError **error)
{
  TdFbpWork *fbp_worker_work = &slab->work;
  TdFbpSlot *slot = g_steal_pointer (&fbp_worker_work->out);
  Emitted *emitted = g_new (Emitted, 1);

  *emitted = (Emitted) { td_fbp_run_ref (run), slot };
  td_fbp_run_put (run, &run->free_in, g_steal_pointer (&fbp_worker_work->in));
  gboolean ok = td_job_emit (run->job, fbp_worker_work->first - run->plan->facts.first_slice,
                             fbp_worker_work->count, slot->host, release_slot, emitted, error);
  td_fbp_run_slab_done (run);
  return ok;
}

/* ── Slabs through the device ── */

static gboolean
fbp_worker_land (Worker *worker, guint lane, GError **error)
{
  TdFbpSlab *slab = worker->flying[lane];

  if (!slab)
    return TRUE;
  if (!td_fbp_kit_complete (worker->kit, lane, error))
    return FALSE;
  worker->flying[lane] = NULL;
  return fbp_worker_emit (worker->run, slab, error);
}

/* A slab larger than what the device can take at once: in parts, one after another. */
static gboolean
work_in_parts (Worker *worker, guint lane, GError **error)
{
  const TdFbp *fbp = worker->run->fbp;
  TdFbpSlab *slab = worker->flying[lane];
  guint part = td_fbp_kit_max_slices (worker->kit);

  for (guint done = 0; done < slab->work.count; done += part) {
    TdFbpWork fbp_worker_work = slab->work;
    fbp_worker_work.first += done;
    fbp_worker_work.count = MIN (part, slab->work.count - done);
    fbp_worker_work.row0 = fbp_worker_work.first - MIN (fbp->halo, fbp_worker_work.first);
    fbp_worker_work.n_rows
        = MIN (fbp_worker_work.first + fbp_worker_work.count + fbp->halo, fbp->n_rows)
          - fbp_worker_work.row0;
    if (!td_fbp_kit_submit (worker->kit, lane, &fbp_worker_work, error)
        || !td_fbp_kit_complete (worker->kit, lane, error))
      return FALSE;
  }
  worker->flying[lane] = NULL;
  return fbp_worker_emit (worker->run, slab, error);
}

static gboolean
ready_kit (Worker *worker, GError **error)
{
  const TdFbp *fbp = worker->run->fbp;

  if (worker->kit)
    return TRUE;
  if (fbp->keep && worker->max_slices == fbp->slab_slices && worker->batch == fbp->batch)
    worker->kit = td_fbp_kit_take (worker->run->job, worker->device, worker->family, error);
  else
    worker->kit = td_fbp_kit_new (worker->run->job, worker->device, worker->family,
                                  worker->max_slices, worker->batch, error);
  return worker->kit != NULL;
}

static gboolean
fbp_worker_launch (Worker *worker, guint lane, GError **error)
{
  TdFbpRun *run = worker->run;
  TdFbpSlab *slab = worker->flying[lane];

  if (!ready_kit (worker, error))
    return FALSE;
  if (!slab->read && (!run->fbp->keep || td_fbp_kit_needs_rows (worker->kit, &slab->work))) {
    float *landing = td_fbp_kit_landing (worker->kit, lane, &slab->work);
    slab->work.landed = landing != NULL;
    if (!td_fbp_read_slab (run, slab, landing, NULL, error))
      return FALSE;
  }
  slab->work.out = td_fbp_run_get (run, &run->free_out);
  if (!slab->work.out) {
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED, "The run was stopped");
    return FALSE;
  }
  if (slab->work.count > td_fbp_kit_max_slices (worker->kit) && !run->fbp->direct)
    return work_in_parts (worker, lane, error);
  return td_fbp_kit_submit (worker->kit, lane, &slab->work, error);
}

/* Slab after slab until there are none: with two lanes the one before lands while the next one is
   under way. */
static gboolean
fbp_worker_work (Worker *worker, GError **error)
{
  guint lanes = td_fbp_lanes (worker->run->fbp, td_device_info (worker->device));

  for (guint turn = 0;; turn++) {
    guint lane = turn % lanes, due = (turn + 1) % lanes;
    gboolean idle = !worker->flying[0] && !worker->flying[1];

    worker->flying[lane] = td_fbp_run_next_slab (worker->run, idle);
    if (!worker->flying[lane] && idle)
      return !worker->kit || td_fbp_kit_book_counts (worker->kit, error);
    if (worker->flying[lane] && !fbp_worker_launch (worker, lane, error))
      return FALSE;
    if (!fbp_worker_land (worker, due, error))
      return FALSE;
  }
}

/* ── Failures ── */

static gboolean
smaller_batch (Worker *worker)
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
    return smaller_batch (worker);
  worker->max_slices = (worker->max_slices + 1) / 2;
  worker->batch = MIN (worker->batch, worker->max_slices);
  return TRUE;
}

static gboolean
fbp_worker_another_family (Worker *worker)
{
  const TdBackprojectFamily *const *families = td_backproject_families ();
  TdBackprojectTask task;

  if (worker->run->plan->method->kind == TD_METHOD_FOURIER)
    return FALSE; /* there is one */
  td_fbp_task (worker->run->plan, worker->run->plan->facts.first_slice, &task);
  while (families[worker->families_tried]) {
    const TdBackprojectFamily *family = families[worker->families_tried++];
    if (family != worker->family && !family->unsupported (&task, td_device_info (worker->device))) {
      worker->family = family;
      return TRUE;
    }
  }
  return FALSE;
}

/* TRUE: with what was changed here the device may try again. */
static gboolean
fbp_worker_recover (Worker *worker, const GError *error)
{
  const TdReaction reaction = td_device_reaction (error);
  gboolean again = FALSE;

  if (reaction == TD_REACTION_RETRY_SMALLER)
    again = fbp_worker_less_memory (worker);
  else if (reaction == TD_REACTION_SMALLER_LAUNCHES)
    again = smaller_batch (worker);
  else if (reaction == TD_REACTION_ANOTHER_KERNEL)
    again = fbp_worker_another_family (worker);
  if (again)
    td_job_note (worker->run->job, "%s: %p; going on with %u slices at a time, kernel %s.",
                 td_device_info (worker->device)->id, td_error_message (error),
                 MIN (worker->max_slices, worker->batch), worker->family->name);
  return again;
}

static void
fbp_worker_retire (Worker *worker, GError *error)
{
  TdFbpRun *run = worker->run;

  g_mutex_lock (&run->lock);
  guint left = --run->workers;
  g_mutex_unlock (&run->lock);
  if (left == 0 || !td_device_others_can (error)) {
    td_job_fail (run->job, error);
    return;
  }
  td_job_note (run->job, "%s failed (%p); the other devices took over its slices.",
               td_device_info (worker->device)->id, td_error_message (error));
  g_error_free (error);
}

/* A kit in doubt is not used again; one of a preview that was merely cancelled is kept. */
static void
put_kit_away (Worker *worker, gboolean sound)
{
  TdFbpKit *kit = g_steal_pointer (&worker->kit);

  if (kit && sound && worker->run->fbp->keep && td_fbp_kit_settle (kit))
    td_fbp_kit_give (kit);
  else
    td_fbp_kit_free (kit);
}

static void
give_slabs_back (Worker *worker)
{
  for (guint lane = 0; lane < G_N_ELEMENTS (worker->flying); lane++)
    if (worker->flying[lane])
      td_fbp_run_give_back (worker->run, g_steal_pointer (&worker->flying[lane]));
}

/* ── The thread ── */

TdFbpWorker *
td_fbp_worker_new (TdFbpRun *run, TdDevice *device, const TdBackprojectFamily *family)
{
  Worker *worker = g_new0 (Worker, 1);

  worker->run = run;
  worker->device = device;
  worker->family = family;
  worker->max_slices = run->slab_slices;
  worker->batch = MIN (run->fbp->batch, run->slab_slices);
  return worker;
}

void
td_fbp_work (TdFbpRun *run, gpointer data)
{
  Worker *worker = data;
  GError *error = NULL;

  while (!fbp_worker_work (worker, &error)) {
    gboolean cancelled = g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);

    put_kit_away (worker, cancelled);
    give_slabs_back (worker);
    if (cancelled || !fbp_worker_recover (worker, error)) {
      fbp_worker_retire (worker, g_steal_pointer (&error));
      break;
    }
    g_clear_error (&error);
  }
  put_kit_away (worker, TRUE);
  g_free (worker);
}
