/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine-private.h"
#include "fdk.h"

void
td_fdk_fail (TdFdkRun *run, GError *error)
{
  g_mutex_lock (&run->lock);
  if (!run->error)
    run->error = error;
  else
    g_error_free (error);
  g_cond_broadcast (&run->changed);
  g_mutex_unlock (&run->lock);
  g_cancellable_cancel (run->cancellable);
}

gboolean
td_fdk_wait_rows (TdFdkRun *run, guint end)
{
  g_mutex_lock (&run->lock);
  while (run->rows_done < end && !run->error)
    g_cond_wait (&run->changed, &run->lock);
  const gboolean ok = run->error == NULL;
  g_mutex_unlock (&run->lock);
  return ok;
}

void
td_fdk_rows_done (TdFdkRun *run, guint end)
{
  g_mutex_lock (&run->lock);
  run->rows_done = end;
  g_cond_broadcast (&run->changed);
  g_mutex_unlock (&run->lock);
}

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
  return memory;
}

/* What the job's result tells, once it has ended well. */
static void
report (TdFdkRun *run, double seconds)
{
  const TdPlan *plan = run->plan;
  g_autofree char *key = td_fdk_rate_key (plan, run->fdk);

  td_engine_set_rate (plan->engine, key, plan->facts.updates / seconds);
  td_job_set_family (run->job, run->fdk->families[0]->title);
}

static gpointer
filter_thread (gpointer data)
{
  TdFdkRun *run = data;
  GError *error = NULL;

  if (!td_fdk_filter (run, run->plan->devices->pdata[0], &error))
    td_fdk_fail (run, error);
  return NULL;
}

typedef struct {
  TdFdkRun *run;
  guint device;
} WorkerStart;

/* A worker whose device fails retires; its slab goes to the others. The last one's error is the job's. */
static gpointer
worker_thread (gpointer data)
{
  WorkerStart *start = data;
  TdFdkRun *run = start->run;
  TdDevice *device = run->plan->devices->pdata[start->device];
  GError *error = NULL;
  const gboolean ok = td_fdk_project (run, device, run->fdk->families[start->device], &error);

  g_mutex_lock (&run->lock);
  const gboolean last = --run->workers_left == 0;
  g_cond_broadcast (&run->changed);
  g_mutex_unlock (&run->lock);
  if (ok)
    return NULL;
  const gboolean device_error = error->domain == TD_ERROR && error->code >= TD_ERROR_DEVICE_MEMORY;
  if (last || !device_error) {
    td_fdk_fail (run, error);
  } else {
    td_job_note (run->job, "%s was retired: %s", td_device_info (device)->name, error->message);
    g_error_free (error);
  }
  return NULL;
}

static void
run_threads (TdFdkRun *run)
{
  const guint n_devices = run->plan->devices->len, n = n_devices * run->fdk->workers;
  g_autofree GThread **threads = g_new (GThread *, n);
  g_autofree WorkerStart *starts = g_new (WorkerStart, n);
  GThread *filter = g_thread_new ("fdk-filter", filter_thread, run);

  run->workers_left = n;
  for (guint i = 0; i < n; i++) {
    starts[i] = (WorkerStart) { run, i % n_devices };
    threads[i] = g_thread_new ("fdk-project", worker_thread, &starts[i]);
  }
  for (guint i = 0; i < n; i++)
    g_thread_join (threads[i]);
  g_thread_join (filter);
}

static void
cancel_run (GCancellable *from, gpointer run_cancellable)
{
  g_cancellable_cancel (run_cancellable);
}

static gboolean
run_fdk (TdJob *job, GCancellable *cancellable, GError **error)
{
  const TdPlan *plan = td_job_plan (job);
  TdFdkRun run = { .job = job, .plan = plan, .fdk = plan->extra };

  const gint64 start = g_get_monotonic_time ();
  const gint64 in_memory = run.fdk->on_disk ? 0 : (gint64) run.fdk->projection_bytes;
  run.projections = map_projections (run.fdk, error);
  if (!run.projections)
    return FALSE;
  td_job_add_host_bytes (job, in_memory);
  run.cancellable = g_cancellable_new ();
  g_mutex_init (&run.lock);
  g_cond_init (&run.changed);
  g_queue_init (&run.returned);
  gulong handler = 0;
  if (cancellable)
    handler = g_cancellable_connect (cancellable, G_CALLBACK (cancel_run),
                                     g_object_ref (run.cancellable), g_object_unref);
  run_threads (&run);
  g_cancellable_disconnect (cancellable, handler);

  g_queue_clear (&run.returned);
  g_mutex_clear (&run.lock);
  g_cond_clear (&run.changed);
  g_object_unref (run.cancellable);
  munmap (run.projections, run.fdk->projection_bytes);
  td_job_add_host_bytes (job, -in_memory);
  if (run.error) {
    g_propagate_error (error, run.error);
    return FALSE;
  }
  report (&run, (g_get_monotonic_time () - start) * 1e-6);
  return TRUE;
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
