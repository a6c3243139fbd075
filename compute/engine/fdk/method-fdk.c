/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sys/mman.h>
#include <unistd.h>

#include "compute/device/device-reaction.h"
#include "compute/engine/cone-scan.h"
#include "dataset/file-bytes.h"
#include "dataset/scan-spool.h"
#include "fdk-run.h"

/* Shorter times are not measured well enough to be remembered. */
#define LEAST_KERNEL_S 0.05
#define LEAST_TRANSFER_S 0.005

/* ── Failures ── */

void
td_fdk_fail (TdFdkRun *run, GError *error)
{
  g_mutex_lock (&run->lock);
  if (!run->error)
    run->error = g_steal_pointer (&error);
  g_cond_broadcast (&run->changed);
  g_mutex_unlock (&run->lock);
  g_clear_error (&error);
  g_cancellable_cancel (run->cancellable);
}

static void
method_fdk_on_cancel (GCancellable *cancellable, gpointer data)
{
  TdFdkRun *run = data;

  g_mutex_lock (&run->lock);
  g_cond_broadcast (&run->changed);
  g_mutex_unlock (&run->lock);
}

static void
cancel_run (GCancellable *from, gpointer run_cancellable)
{
  g_cancellable_cancel (run_cancellable);
}

/* ── Life ── */

static guint64
slice_bytes (const TdFdkPlan *fdk)
{
  return (guint64) fdk->input->task.ny * fdk->input->task.nx * sizeof (float);
}

static gboolean
make_projections (TdFdkRun *run, GError **error)
{
  const guint64 bytes = run->fdk->input->projection_bytes;

  if (run->projections || run->projections_file >= 0)
    return TRUE;
  if (run->fdk->fit.on_disk) {
    run->projections_file = td_file_temporary ("The filtered projections", bytes, error);
    return run->projections_file >= 0;
  }
  void *memory = mmap (NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    td_set_error (error, TD_ERROR_IO,
                  "Not enough memory for %" G_GUINT64_FORMAT " MiB of filtered projections.",
                  bytes >> 20);
    return FALSE;
  }
  madvise (memory, bytes, MADV_HUGEPAGE);
  run->projections = memory;
  return TRUE;
}

gboolean
td_fdk_file_sound (TdFdkRun *run, GError **error)
{
  const int reason = g_atomic_int_get (&run->file_errno);

  if (reason)
    td_set_error (
        error, TD_ERROR_IO,
        "The temporary file of filtered projections in %s failed: %s; set TMPDIR to another "
        "disk.",
        g_get_tmp_dir (), g_strerror (reason));
  return reason == 0;
}

static void
free_projections (TdFdkRun *run)
{
  if (run->projections)
    munmap (run->projections, run->fdk->input->projection_bytes);
  if (run->projections_file >= 0)
    close (run->projections_file);
  run->projections = NULL;
  run->projections_file = -1;
}

/* Pinned buffers for finished slices, of a device that copies, if there is one. */
static gboolean
make_downloads (TdFdkRun *run, GError **error)
{
  const TdFdkPlan *fdk = run->fdk;
  const GPtrArray *devices = run->plan->devices;
  TdDevice *device = devices->pdata[0];
  guint slices = fdk->fit.download_slices;

  for (guint i = 0; i < devices->len; i++)
    if (!td_device_info (devices->pdata[i])->host_pointers)
      device = devices->pdata[i];
  for (;;) {
    g_autoptr (GError) reason = NULL;

    run->downloads = td_fdk_pinned_take (run->plan->engine, device, fdk->fit.n_downloads,
                                         slices * slice_bytes (fdk), &reason);
    if (run->downloads)
      break;
    /* Sums of projections' parts need whole slabs. */
    if (td_device_reaction (reason) != TD_REACTION_RETRY_SMALLER || slices == 1
        || fdk->scheme.share == TD_SHARE_PROJECTION) {
      g_propagate_error (error, g_steal_pointer (&reason));
      return FALSE;
    }
    td_engine_drop_idle (run->plan->engine);
    slices = (slices + 1) / 2;
    td_job_note (run->job, "Memory was short: %u slices are fetched at a time.", slices);
  }
  for (guint i = 0; i < run->downloads->n; i++)
    g_queue_push_tail (&run->free_downloads, run->downloads->memory[i]);
  return TRUE;
}

static gboolean
slab_delivered (const TdFdkRun *run, guint slab)
{
  const guint first = run->fdk->cut.slabs[slab].slice0, n = run->fdk->cut.slabs[slab].n_slices;
  guint done = 0;

  while (done < n && run->delivered[first + done])
    done++;
  return done == n;
}

static void
make_slabs (TdFdkRun *run)
{
  const TdFdkPlan *fdk = run->fdk;

  run->slabs = g_new0 (TdFdkSlab, fdk->cut.n_slabs);
  run->n_slabs = run->unfinished = fdk->cut.n_slabs;
  for (guint i = 0; i < fdk->cut.n_slabs; i++) {
    g_queue_init (&run->slabs[i].todo);
    run->slabs[i].taken = slab_delivered (run, i);
    run->unfinished -= run->slabs[i].taken;
    for (guint b = 0; fdk->scheme.share == TD_SHARE_PROJECTION && b < fdk->fit.n_batches; b++)
      g_queue_push_tail (&run->slabs[i].todo, GUINT_TO_POINTER (b));
  }
}

static void
make_devices (TdFdkRun *run)
{
  const TdFdkPlan *fdk = run->fdk;

  run->devices_left = run->n_devices - run->n_retired;
  run->devices = g_new0 (TdFdkDevice, run->n_devices);
  for (guint i = 0; i < run->n_devices; i++) {
    TdFdkDevice *device = &run->devices[i];

    device->run = run;
    device->index = i;
    device->device = run->plan->devices->pdata[i];
    device->family = fdk->scheme.families[i];
    device->open = g_ptr_array_new_with_free_func ((GDestroyNotify) td_fdk_part_free);
    g_queue_init (&device->computed);
    g_queue_init (&device->free_volumes);
    if (run->attempt.retired[i])
      continue;
    device->worker = td_fdk_worker_new (device);
    device->cache = fdk->fit.cached ? td_fdk_row_cache_new (device) : NULL;
  }
}

/* What belongs to an attempt; the sums of slabs that it left incomplete can be used again. */
static void
method_fdk_clear_attempt (TdFdkRun *run)
{
  for (guint i = 0; run->devices && i < run->n_devices; i++) {
    g_ptr_array_unref (run->devices[i].open);
    g_queue_clear (&run->devices[i].computed);
    g_queue_clear (&run->devices[i].free_volumes);
    g_clear_error (&run->devices[i].error);
  }
  g_mutex_lock (&run->lock);
  for (guint i = 0; run->slabs && i < run->n_slabs; i++) {
    g_queue_clear (&run->slabs[i].todo);
    if (run->slabs[i].sum)
      g_queue_push_tail (&run->free_downloads, run->slabs[i].sum);
  }
  g_mutex_unlock (&run->lock);
  g_clear_pointer (&run->devices, g_free);
  g_clear_pointer (&run->slabs, g_free);
  g_clear_object (&run->cancellable);
}

/* What attempts change is the copy's own. */
static TdFdkPlan
method_fdk_copy_plan (const TdFdkPlan *fdk, guint n_devices)
{
  TdFdkPlan copy = *fdk;

  copy.scheme.families = g_memdup2 (fdk->scheme.families, n_devices * sizeof *fdk->scheme.families);
  copy.cut.own = g_memdup2 (fdk->cut.own, (n_devices + 1) * sizeof *fdk->cut.own);
  copy.cut.slabs = g_memdup2 (fdk->cut.slabs, fdk->cut.n_slabs * sizeof *fdk->cut.slabs);
  return copy;
}

static TdFdkRun *
method_fdk_run_new (TdJob *job)
{
  TdFdkRun *run = g_new0 (TdFdkRun, 1);

  g_atomic_ref_count_init (&run->references);
  run->job = td_job_ref (job);
  run->plan = td_plan_ref (td_job_plan (job));
  run->n_devices = run->plan->devices->len;
  run->now = method_fdk_copy_plan (run->plan->extra, run->n_devices);
  run->fdk = &run->now;
  run->projections_file = -1;
  run->delivered = g_new0 (gboolean, run->fdk->input->task.nz);
  run->attempt.retired = g_new0 (gboolean, run->n_devices);
  run->families_tried = g_new0 (guint, run->n_devices);
  g_mutex_init (&run->lock);
  g_cond_init (&run->changed);
  g_queue_init (&run->free_downloads);
  return run;
}

TdFdkRun *
td_fdk_run_ref (TdFdkRun *run)
{
  g_atomic_ref_count_inc (&run->references);
  return run;
}

void
td_fdk_run_unref (TdFdkRun *run)
{
  if (!g_atomic_ref_count_dec (&run->references))
    return;
  const gboolean sound = run->error == NULL;
  method_fdk_clear_attempt (run);
  g_free (run->now.scheme.families);
  td_fdk_cut_clear (&run->now.cut);
  g_free (run->attempt.budgets);
  g_free (run->attempt.retired);
  g_free (run->delivered);
  g_free (run->families_tried);
  g_queue_clear (&run->free_downloads);
  td_fdk_pinned_give (run->plan->engine, run->downloads, sound);
  g_clear_error (&run->error);
  g_mutex_clear (&run->lock);
  g_cond_clear (&run->changed);
  td_plan_unref (run->plan);
  td_job_unref (run->job);
  g_free (run);
}

/* ── Running ── */

/* What the job's result tells, and what later plans know, once it has ended well. */
static void
method_fdk_report (TdFdkRun *run, double seconds)
{
  const TdPlan *plan = run->plan;
  g_autofree char *key = td_fdk_job_rate_key (plan, run->fdk);

  if (td_job_is_warm (run->job))
    td_engine_set_rate (plan->engine, key, plan->facts.updates / seconds);
  for (guint i = 0; run->devices && i < run->n_devices; i++) {
    const TdFdkDevice *device = &run->devices[i];
    g_autofree char *kernel = td_fdk_device_rate_key (device->device, device->family);
    g_autofree char *transfer = td_fdk_transfer_rate_key (device->device);
    if (device->download_s > LEAST_TRANSFER_S)
      td_engine_set_rate (plan->engine, transfer, device->download_bytes / device->download_s);
    if (device->kernel_s > LEAST_KERNEL_S)
      td_engine_set_rate (plan->engine, kernel, device->kernel_updates / device->kernel_s);
  }
  td_job_set_family (run->job, run->fdk->scheme.families[0]->title);
}

static void
method_fdk_run_threads (TdFdkRun *run)
{
  GThread *filter
      = run->fdk->fit.cached ? NULL : g_thread_new ("fdk-filter", td_fdk_filter_thread, run);

  for (guint i = 0; i < run->n_devices; i++)
    if (!run->attempt.retired[i])
      td_fdk_device_start (&run->devices[i]);
  g_mutex_lock (&run->lock);
  while (run->devices_left > 0)
    g_cond_wait (&run->changed, &run->lock);
  g_mutex_unlock (&run->lock);
  for (guint i = 0; i < run->n_devices; i++)
    for (guint t = 0; t < G_N_ELEMENTS (run->devices[i].threads); t++)
      if (run->devices[i].threads[t])
        g_thread_join (run->devices[i].threads[t]);
  if (filter)
    g_thread_join (filter);
}

/* What there was no need for yet; what there is stays, attempt after attempt. */
static gboolean
method_fdk_make_memory (TdFdkRun *run, GError **error)
{
  if (!run->fdk->fit.cached && !make_projections (run, error))
    return FALSE;
  if (!run->downloads && !make_downloads (run, error))
    return FALSE;
  run->download_slices
      = (guint) MIN (run->fdk->fit.download_slices, run->downloads->bytes / slice_bytes (run->fdk));
  return TRUE;
}

static void
method_fdk_attempt (TdFdkRun *run)
{
  const TdFdkPlan *fdk = run->fdk;
  gint64 bytes = run->projections ? (gint64) fdk->input->projection_bytes : 0;
  const guint64 block = (guint64) fdk->fit.block_rows * fdk->input->task.n_views
                        * fdk->input->task.n_columns * sizeof (float);
  bytes += run->downloads->n * run->downloads->bytes
           + run->plan->devices->len * (TD_FDK_RING * fdk->fit.ring_bytes + block);
  if (fdk->scheme.spool == TD_FDK_SPOOL_MEMORY)
    bytes += (gint64) td_fdk_spool_bytes (fdk);
  td_job_add_host_bytes (run->job, bytes);
  make_slabs (run);
  if (run->unfinished > 0) { /* else all came before the failure that the last attempt ended with */
    make_devices (run);
    method_fdk_run_threads (run);
  }
  td_job_add_host_bytes (run->job, -bytes);
}

/* FALSE without @error: another attempt may do better. */
static gboolean
method_fdk_try (TdFdkRun *run, GCancellable *cancellable, GError **error)
{
  if (!method_fdk_make_memory (run, error))
    return FALSE;
  method_fdk_clear_attempt (run);
  run->cancellable = g_cancellable_new ();
  const gulong woken
      = g_cancellable_connect (run->cancellable, G_CALLBACK (method_fdk_on_cancel), run, NULL);
  const gulong handler
      = cancellable ? g_cancellable_connect (cancellable, G_CALLBACK (cancel_run),
                                             g_object_ref (run->cancellable), g_object_unref)
                    : 0;
  method_fdk_attempt (run);
  g_cancellable_disconnect (cancellable, handler);
  g_cancellable_disconnect (run->cancellable, woken);
  if (!run->error && g_cancellable_set_error_if_cancelled (run->cancellable, error))
    return FALSE;
  if (!run->error && run->unfinished == 0)
    return TRUE;
  if (!run->error) {
    td_fdk_go_on (run);
    return FALSE;
  }
  if (!td_fdk_retry (run))
    g_propagate_error (error, g_error_copy (run->error));
  return FALSE;
}

static gboolean
run_fdk (TdJob *job, GCancellable *cancellable, GError **error)
{
  TdFdkRun *run = method_fdk_run_new (job);
  const gint64 start = g_get_monotonic_time ();
  GError *reason = NULL;
  gboolean ok;

  while (!(ok = method_fdk_try (run, cancellable, &reason)) && !reason)
    ;
  if (reason)
    g_propagate_error (error, reason);
  if (ok)
    method_fdk_report (run, (g_get_monotonic_time () - start) * 1e-6);
  free_projections (run);
  td_scan_spool_drop (run->fdk->scan);
  td_fdk_run_unref (run);
  return ok;
}

const TdMethod td_method_fdk = {
  .name = "fdk",
  .kind = TD_METHOD_FDK,
  .sums_views = TRUE,
  .unsupported = td_fdk_unsupported,
  .plan = td_fdk_plan,
  .run = run_fdk,
};
