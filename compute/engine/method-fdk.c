/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fdk-run.h"
#include "job-private.h"

/* Shorter times are not measured well enough to be remembered. */
#define LEAST_KERNEL_S 0.05
#define LEAST_TRANSFER_S 0.005

/* ── Failures ─────────────────────────────────────────────────────────────────────────────────── */

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
on_cancel (GCancellable *cancellable, gpointer data)
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

/* ── Life ─────────────────────────────────────────────────────────────────────────────────────── */

/* Memory, or an unlinked file in the temporary folder that the pages go to. */
static float *
map_projections (const TdFdkPlan *fdk, GError **error)
{
  void *memory;
  int fd = -1;

  if (fdk->on_disk) {
    g_autofree char *name = g_build_filename (g_get_tmp_dir (), "tomodesk-projections-XXXXXX", NULL);
    fd = g_mkstemp_full (name, O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
      unlink (name);
    if (fd < 0 || posix_fallocate (fd, 0, (off_t) fdk->projection_bytes) != 0) {
      g_set_error (error, TD_ERROR, TD_ERROR_IO,
                   "The filtered projections need %" G_GUINT64_FORMAT " MiB in %s, which has not that "
                   "much room; set TMPDIR to a larger disk.", fdk->projection_bytes >> 20,
                   g_get_tmp_dir ());
      if (fd >= 0)
        close (fd);
      return NULL;
    }
  }
  memory = mmap (NULL, fdk->projection_bytes, PROT_READ | PROT_WRITE,
                 fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
  if (fd >= 0)
    close (fd);
  if (memory == MAP_FAILED) {
    g_set_error (error, TD_ERROR, TD_ERROR_IO,
                 "Not enough memory for %" G_GUINT64_FORMAT " MiB of filtered projections.",
                 fdk->projection_bytes >> 20);
    return NULL;
  }
  if (fd < 0)
    madvise (memory, fdk->projection_bytes, MADV_HUGEPAGE);
  return memory;
}

static void
unmap_projections (TdFdkRun *run)
{
  if (run->projections)
    munmap (run->projections, run->fdk->projection_bytes);
  run->projections = NULL;
}

/* Buffers that finished slices land in, pinned for a device that copies, if there is one. */
static gboolean
make_landing (TdFdkRun *run, GError **error)
{
  const TdFdkPlan *fdk = run->fdk;
  GPtrArray *devices = run->plan->devices;
  const guint64 slice = (guint64) fdk->task.ny * fdk->task.nx * sizeof (float);
  TdDevice *device = devices->pdata[0];

  for (guint i = 0; i < devices->len; i++)
    if (!td_device_info (devices->pdata[i])->host_pointers)
      device = devices->pdata[i];
  run->landing = td_fdk_pinned_take (run->plan->engine, device, fdk->n_landing,
                                     fdk->land_slices * slice, error);
  for (guint i = 0; run->landing && i < run->landing->n; i++)
    g_queue_push_tail (&run->free_landing, run->landing->memory[i]);
  return run->landing != NULL;
}

static void
make_slabs (TdFdkRun *run)
{
  const TdFdkPlan *fdk = run->fdk;

  run->slabs = g_new0 (TdFdkSlab, fdk->n_slabs);
  run->unfinished = fdk->n_slabs;
  for (guint i = 0; i < fdk->n_slabs; i++) {
    g_queue_init (&run->slabs[i].todo);
    for (guint b = 0; fdk->share == TD_SHARE_PROJECTION && b < fdk->n_batches; b++)
      g_queue_push_tail (&run->slabs[i].todo, GUINT_TO_POINTER (b));
  }
}

static void
make_devices (TdFdkRun *run)
{
  run->n_devices = run->devices_left = run->plan->devices->len;
  run->devices = g_new0 (TdFdkDevice, run->n_devices);
  for (guint i = 0; i < run->n_devices; i++) {
    TdFdkDevice *device = &run->devices[i];

    device->run = run;
    device->index = i;
    device->device = run->plan->devices->pdata[i];
    device->family = run->fdk->families[i];
    device->open = g_ptr_array_new_with_free_func ((GDestroyNotify) td_fdk_part_free);
    g_queue_init (&device->landing);
    g_queue_init (&device->free_volumes);
    device->worker = td_fdk_worker_new (device);
    device->window = run->fdk->window ? td_fdk_window_new (device) : NULL;
  }
}

static TdFdkRun *
run_new (TdJob *job)
{
  TdFdkRun *run = g_new0 (TdFdkRun, 1);

  g_atomic_ref_count_init (&run->references);
  run->job = td_job_ref (job);
  run->plan = td_plan_ref (td_job_plan (job));
  run->fdk = run->plan->extra;
  run->cancellable = g_cancellable_new ();
  g_mutex_init (&run->lock);
  g_cond_init (&run->changed);
  g_queue_init (&run->free_landing);
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
  for (guint i = 0; i < run->n_devices; i++) {
    g_ptr_array_unref (run->devices[i].open);
    g_queue_clear (&run->devices[i].landing);
    g_queue_clear (&run->devices[i].free_volumes);
    g_clear_error (&run->devices[i].error);
  }
  for (guint i = 0; run->slabs && i < run->fdk->n_slabs; i++)
    g_queue_clear (&run->slabs[i].todo);
  g_free (run->devices);
  g_free (run->slabs);
  g_queue_clear (&run->free_landing);
  td_fdk_pinned_give (run->plan->engine, run->landing, sound);
  g_clear_error (&run->error);
  g_object_unref (run->cancellable);
  g_mutex_clear (&run->lock);
  g_cond_clear (&run->changed);
  td_plan_unref (run->plan);
  td_job_unref (run->job);
  g_free (run);
}

/* ── Running ──────────────────────────────────────────────────────────────────────────────────── */

/* What the job's result tells, and what later plans know, once it has ended well. */
static void
report (TdFdkRun *run, double seconds)
{
  const TdPlan *plan = run->plan;
  g_autofree char *key = td_fdk_job_rate_key (plan, run->fdk);

  td_engine_set_rate (plan->engine, key, plan->facts.updates / seconds);
  for (guint i = 0; i < run->n_devices; i++) {
    const TdFdkDevice *device = &run->devices[i];
    g_autofree char *kernel = td_fdk_device_rate_key (device->device, device->family);
    g_autofree char *transfer = td_fdk_transfer_rate_key (device->device);
    if (device->fetch_s > LEAST_TRANSFER_S)
      td_engine_set_rate (plan->engine, transfer, device->fetch_bytes / device->fetch_s);
    if (device->kernel_s > LEAST_KERNEL_S)
      td_engine_set_rate (plan->engine, kernel, device->kernel_updates / device->kernel_s);
  }
  td_job_set_family (run->job, run->fdk->families[0]->title);
}

static void
run_threads (TdFdkRun *run)
{
  GThread *filter
      = run->fdk->window ? NULL : g_thread_new ("fdk-filter", td_fdk_filter_thread, run);

  for (guint i = 0; i < run->n_devices; i++)
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

static gboolean
carry_out (TdFdkRun *run, GError **error)
{
  const TdFdkPlan *fdk = run->fdk;
  gint64 bytes = fdk->window || fdk->on_disk ? 0 : (gint64) fdk->projection_bytes;

  if (!fdk->window) {
    run->projections = map_projections (fdk, error);
    if (!run->projections)
      return FALSE;
  }
  if (!make_landing (run, error))
    return FALSE;
  const guint64 block
      = (guint64) fdk->block_rows * fdk->task.n_views * fdk->task.n_columns * sizeof (float);
  bytes += run->landing->n * run->landing->bytes
           + run->plan->devices->len * (TD_FDK_RING * fdk->ring_bytes + block);
  td_job_add_host_bytes (run->job, bytes);
  make_slabs (run);
  make_devices (run);
  run_threads (run);
  td_job_add_host_bytes (run->job, -bytes);
  if (run->error) {
    g_propagate_error (error, g_error_copy (run->error));
    return FALSE;
  }
  return !g_cancellable_set_error_if_cancelled (run->cancellable, error);
}

static gboolean
run_fdk (TdJob *job, GCancellable *cancellable, GError **error)
{
  TdFdkRun *run = run_new (job);
  const gint64 start = g_get_monotonic_time ();
  const gulong woken = g_cancellable_connect (run->cancellable, G_CALLBACK (on_cancel), run, NULL);
  gulong handler = 0;

  if (cancellable)
    handler = g_cancellable_connect (cancellable, G_CALLBACK (cancel_run),
                                     g_object_ref (run->cancellable), g_object_unref);
  const gboolean ok = carry_out (run, error);
  g_cancellable_disconnect (cancellable, handler);
  g_cancellable_disconnect (run->cancellable, woken);
  if (ok)
    report (run, (g_get_monotonic_time () - start) * 1e-6);
  unmap_projections (run);
  td_fdk_run_unref (run);
  return ok;
}

const TdMethod td_method_fdk = {
  .name = "fdk",
  .kind = TD_METHOD_FDK,
  .unsupported = td_fdk_unsupported,
  .n_slices = td_fdk_n_slices,
  .stated_centre = td_fdk_stated_centre,
  .plan = td_fdk_plan,
  .run = run_fdk,
};
