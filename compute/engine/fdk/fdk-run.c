/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fdk-run.h"

#include <inttypes.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compute/device/host.h"
#include "dataset/file-bytes.h"
#include "dataset/scan-spool.h"
#include "fdk-self-test.h"

/* Shorter times are not measured well enough to be remembered. */
#define LEAST_KERNEL_S 0.05
#define LEAST_TRANSFER_S 0.005

/* ── Failures ── */

void
td_fdk_fail (TdFdkRun *run, GError *error)
{
  g_mutex_lock (&run->monitor.lock);
  if (!run->error)
    run->error = g_steal_pointer (&error);
  td_monitor_release (&run->monitor);
  g_clear_error (&error);
  g_cancellable_cancel (run->cancellable);
}

static void
device_fail (TdFdkDevice *device, GError *error)
{
  TdFdkRun *run = device->run;

  g_mutex_lock (&run->monitor.lock);
  const gboolean again = td_device_may_retry (error) && !device->error;
  const gboolean stop = again || !td_device_others_can (error);
  if (stop && !run->error) {
    run->error = g_error_copy (error);
    run->failed = again ? device : NULL;
  }
  if (!device->error)
    device->error = g_steal_pointer (&error);
  td_monitor_release (&run->monitor);
  if (stop)
    g_cancellable_cancel (run->cancellable);
  g_clear_error (&error);
}

gboolean
td_fdk_device_stopped (gconstpointer user)
{
  const TdFdkDevice *device = user;

  return device->error || device->run->error
         || g_cancellable_is_cancelled (device->run->cancellable);
}

/* ── Reading and booking ── */

gboolean
td_fdk_read (gpointer user, TdRowRange range, float *out, GCancellable *cancellable, GError **error)
{
  const TdFdkReader *reader = user;
  const TdFdkPlan *fdk = reader->run->fdk;
  TdJob *job = reader->run->job;
  const gint64 start = g_get_monotonic_time ();
  const TdRowsViews views = { reader->input->views, reader->input->task.n_views };
  gboolean ok;

  if (views.n < td_scan_facts (fdk->scan)->n_views)
    ok = td_rows_read_views (fdk->scan, &views, range, out, cancellable, error);
  else if (fdk->fit.n_chunks == 1) /* a preview: the engine remembers such */
    ok = td_engine_read_rows (reader->run->plan->engine, fdk->scan, range.first, range.count, out,
                              cancellable, error);
  else
    ok = td_rows_read_scan (fdk->scan, range, out, cancellable, error);

  td_job_add_stage (job, N_ ("read"), (g_get_monotonic_time () - start) * 1e-6);
  td_job_add_span (job, "read", reader->device, start, g_get_monotonic_time ());
  return ok;
}

TdRowRange
td_fdk_count_rows (TdFdkRun *run, guint who, TdRowRange rows)
{
  guint first = rows.first, end = rows.first + rows.count;

  g_mutex_lock (&run->monitor.lock);
  while (first < end && run->counted_by[first])
    first++;
  for (guint row = first; row < end; row++)
    if (run->counted_by[row])
      end = row;
    else
      run->counted_by[row] = who;
  g_mutex_unlock (&run->monitor.lock);
  return (TdRowRange) { first, end - first };
}

void
td_fdk_end_counting (TdFdkRun *run, guint who, gboolean told)
{
  const guint n_rows = td_scan_facts (run->fdk->scan)->n_rows;

  g_mutex_lock (&run->monitor.lock);
  for (guint row = 0; row < n_rows; row++)
    if (run->counted_by[row] == who)
      run->counted_by[row] = told ? TD_FDK_COUNTED : 0;
  g_mutex_unlock (&run->monitor.lock);
}

gboolean
td_fdk_device_spans (TdFdkDevice *device, const char *stage, const GPtrArray *events, double *sum,
                     GError **error)
{
  TdJob *job = device->run->job;

  *sum = 0;
  for (guint i = 0; i + 1 < events->len; i += 2) {
    TdEvent *from = events->pdata[i], *to = events->pdata[i + 1];
    double seconds, start = 0;
    if (!td_event_elapsed (from, to, &seconds, error)
        || (job->spans && !td_event_elapsed (device->origin, from, &start, error)))
      return FALSE;
    *sum += seconds;
    td_job_add_span (job, stage, device->index, device->origin_us + (gint64) (start * 1e6),
                     device->origin_us + (gint64) ((start + seconds) * 1e6));
  }
  return TRUE;
}

/* ── Who does what next; under the lock ── */

static void
fdk_part_free (TdFdkPart *part)
{
  g_ptr_array_unref (part->events);
  g_array_unref (part->batches);
  td_event_free (part->computed);
  g_free (part);
}

static TdFdkPart *
fdk_work_open_part (TdFdkDevice *device, guint slab)
{
  TdFdkPart *part = g_new0 (TdFdkPart, 1);

  part->slab = slab;
  part->batches = g_array_new (FALSE, FALSE, sizeof (guint));
  part->events = td_events_new ();
  g_ptr_array_add (device->open, part);
  return part;
}

/* ── Sharing the volume ── */

/* The first of the device's own slabs, which follows the one before it. Else the last slab of the
   device that has most left, which would come to it last. */
static gboolean
free_slab (const TdFdkDevice *device, guint *slab)
{
  const TdFdkRun *run = device->run;
  const guint *own = run->fdk->cut.own;
  guint most = 0;

  for (*slab = own[device->index]; *slab < own[device->index + 1]; (*slab)++)
    if (!run->slabs[*slab].taken)
      return TRUE;
  for (guint d = 0; d < run->n_devices; d++) {
    guint left = 0, last = 0;
    for (guint i = own[d]; i < own[d + 1]; i++) {
      if (run->slabs[i].taken)
        continue;
      left += run->fdk->cut.slabs[i].n_slices;
      /* On the host, rows are filtered from the top. */
      last = run->fdk->fit.cached || left == run->fdk->cut.slabs[i].n_slices ? i : last;
    }
    if (left > most) {
      most = left;
      *slab = last;
    }
  }
  return most > 0;
}

static gboolean
take_of_volume (TdFdkDevice *device, TdFdkPart **part, guint *batch)
{
  guint slab;

  if (*part && (*part)->batches->len < device->run->fdk->fit.n_batches) {
    *batch = (*part)->batches->len;
    return TRUE;
  }
  if (!free_slab (device, &slab))
    return FALSE;
  device->run->slabs[slab].taken = TRUE;
  *part = fdk_work_open_part (device, slab);
  *batch = 0;
  return TRUE;
}

/* ── Sharing the projections ── */

static gboolean
take_of_projections (TdFdkDevice *device, TdFdkPart **part, guint *batch)
{
  TdFdkRun *run = device->run;
  guint slab = *part ? (*part)->slab : 0;

  if (!*part || g_queue_is_empty (&run->slabs[slab].todo)) {
    for (slab = 0; slab < run->fdk->cut.n_slabs && g_queue_is_empty (&run->slabs[slab].todo);
         slab++)
      ;
    if (slab == run->fdk->cut.n_slabs)
      return FALSE;
    *part = fdk_work_open_part (device, slab);
  }
  *batch = GPOINTER_TO_UINT (g_queue_pop_head (&run->slabs[slab].todo));
  return TRUE;
}

/* ── Both ── */

gboolean
td_fdk_take (TdFdkDevice *device, TdFdkPart **part, guint *batch, gboolean wait)
{
  TdFdkRun *run = device->run;
  const gboolean volume = run->fdk->scheme.share == TD_SHARE_VOLUME;
  gboolean found = FALSE;

  g_mutex_lock (&run->monitor.lock);
  while (!td_fdk_device_stopped (device)) {
    found
        = volume ? take_of_volume (device, part, batch) : take_of_projections (device, part, batch);
    /* A device may still give batches back. Slabs that come back are another attempt's. */
    if (found || volume || !wait || run->unfinished == 0)
      break;
    td_monitor_wait (&run->monitor);
  }
  if (found)
    g_array_append_val ((*part)->batches, *batch);
  g_mutex_unlock (&run->monitor.lock);
  return found;
}

/* What the device took and did not deliver is free again. */
static void
give_back (TdFdkDevice *device)
{
  TdFdkRun *run = device->run;

  for (guint p = 0; p < device->open->len; p++) {
    const TdFdkPart *part = device->open->pdata[p];
    TdFdkSlab *slab = &run->slabs[part->slab];

    slab->taken = FALSE;
    for (guint i = 0; run->fdk->scheme.share == TD_SHARE_PROJECTION && i < part->batches->len; i++)
      g_queue_push_tail (&slab->todo, GUINT_TO_POINTER (g_array_index (part->batches, guint, i)));
    td_job_add_updates (run->job, -part->updates);
  }
  g_ptr_array_set_size (device->open, 0);
}

/* ── Memory ── */

static gboolean
make_projections (TdFdkRun *run, GError **error)
{
  const guint64 bytes = td_fdk_store_bytes (run->fdk);

  if (run->projections || run->projections_file >= 0)
    return TRUE;
  if (run->fdk->fit.on_disk) {
    run->projections_file = td_file_temporary (N_ ("The filtered projections"), bytes, error);
    return run->projections_file >= 0;
  }
  void *memory = mmap (NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return td_set_error (error, TD_ERROR_IO,
                         "Not enough memory for %" PRIu64 " MiB of filtered projections.",
                         bytes >> 20);
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
        "The temporary file of filtered projections in %s failed: %s; set TMPDIR to another disk.",
        g_get_tmp_dir (), g_strerror (reason));
  return reason == 0;
}

static void
free_projections (TdFdkRun *run)
{
  if (run->projections)
    munmap (run->projections, td_fdk_store_bytes (run->fdk));
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
                                         slices * td_fdk_slice_bytes (fdk), &reason);
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
    td_job_note (run->job, "Memory was short: %u [slice is|slices are] fetched at a time.", slices);
  }
  for (guint i = 0; i < run->downloads->n; i++)
    g_queue_push_tail (&run->free_downloads, run->downloads->memory[i]);
  return TRUE;
}

/* ── Life ── */

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
    device->open = g_ptr_array_new_with_free_func ((GDestroyNotify) fdk_part_free);
    if (run->attempt.retired[i])
      continue;
    device->worker = td_fdk_worker_new (device);
    device->cache = fdk->fit.cached ? td_fdk_row_cache_new (device) : NULL;
  }
}

/* What belongs to an attempt; the sums of slabs that it left incomplete can be used again. */
static void
fdk_run_clear_attempt (TdFdkRun *run)
{
  for (guint i = 0; run->devices && i < run->n_devices; i++) {
    g_ptr_array_unref (run->devices[i].open);
    g_queue_clear (&run->devices[i].computed);
    g_queue_clear (&run->devices[i].free_volumes);
    g_clear_error (&run->devices[i].error);
  }
  g_mutex_lock (&run->monitor.lock);
  for (guint i = 0; run->slabs && i < run->n_slabs; i++) {
    g_queue_clear (&run->slabs[i].todo);
    if (run->slabs[i].sum)
      g_queue_push_tail (&run->free_downloads, run->slabs[i].sum);
  }
  g_mutex_unlock (&run->monitor.lock);
  g_clear_pointer (&run->devices, g_free);
  g_clear_pointer (&run->slabs, g_free);
  g_clear_object (&run->cancellable);
}

/* What attempts change is the copy's own. */
static TdFdkPlan
fdk_run_copy_plan (const TdFdkPlan *fdk, guint n_devices)
{
  TdFdkPlan copy = *fdk;

  copy.scheme.families = g_memdup2 (fdk->scheme.families, n_devices * sizeof *fdk->scheme.families);
  copy.cut.own = g_memdup2 (fdk->cut.own, (n_devices + 1) * sizeof *fdk->cut.own);
  copy.cut.slabs = g_memdup2 (fdk->cut.slabs, fdk->cut.n_slabs * sizeof *fdk->cut.slabs);
  return copy;
}

static TdFdkRun *
fdk_run_new (TdJob *job)
{
  TdFdkRun *run = g_new0 (TdFdkRun, 1);

  g_atomic_ref_count_init (&run->references);
  run->job = td_job_ref (job);
  run->plan = td_plan_ref (td_job_plan (job));
  run->n_devices = run->plan->devices->len;
  run->now = fdk_run_copy_plan (run->plan->extra, run->n_devices);
  run->fdk = &run->now;
  run->projections_file = -1;
  run->own_views = run->job->gathered.index * run->plan->gathered;
  run->delivered = g_new0 (gboolean, run->fdk->input->task.nz);
  run->counted_by = g_new0 (guint, td_scan_facts (run->fdk->scan)->n_rows);
  run->attempt.retired = g_new0 (gboolean, run->n_devices);
  run->families_tried = g_new0 (guint, run->n_devices);
  td_monitor_init (&run->monitor);
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
  fdk_run_clear_attempt (run);
  g_free (run->now.scheme.families);
  td_fdk_cut_clear (&run->now.cut);
  g_free (run->attempt.budgets);
  g_free (run->attempt.retired);
  g_free (run->delivered);
  g_free (run->counted_by);
  g_free (run->families_tried);
  g_queue_clear (&run->free_downloads);
  td_fdk_pinned_give (run->plan->engine, run->downloads, sound);
  g_clear_error (&run->error);
  td_monitor_clear (&run->monitor);
  td_plan_unref (run->plan);
  td_job_unref (run->job);
  g_free (run);
}

/* ── Threads of a device ── */

/* Under the lock: a device is left that could compute the rest. */
static gboolean
any_sound (const TdFdkRun *run)
{
  for (guint i = 0; i < run->n_devices; i++)
    if (!run->attempt.retired[i] && !run->devices[i].error)
      return TRUE;
  return FALSE;
}

static void
device_retires (TdFdkRun *run, const TdFdkDevice *device)
{
  td_job_note (run->job, "%s was retired, the other devices did its share: %p",
               td_device_info (device->device)->id, td_error_message (device->error));
}

/* The last thread of the device has ended: its memory goes, what it did not deliver is free again.
 */
static void
close_device (TdFdkDevice *device)
{
  TdFdkRun *run = device->run;
  const gint64 start = g_get_monotonic_time ();

  td_fdk_worker_free (g_steal_pointer (&device->worker));
  td_fdk_row_cache_free (g_steal_pointer (&device->cache), device->error == NULL);
  td_job_add_span (run->job, "close", device->index, start, g_get_monotonic_time ());
  td_fdk_end_counting (run, TD_FDK_BY_DEVICE (device), FALSE);
  g_mutex_lock (&run->monitor.lock);
  give_back (device);
  const gboolean last
      = --run->devices_left == 0 && run->unfinished > 0 && !run->error && !any_sound (run);
  td_monitor_release (&run->monitor);
  if (td_device_reaction (device->error) != TD_REACTION_RETIRE)
    return;
  if (last && run->n_devices > 1)
    td_prefix_error (&device->error, "No device is left; the last to fail was ");
  if (last)
    td_fdk_fail (run, g_error_copy (device->error));
  else
    device_retires (run, device);
}

static void
thread_ends (TdFdkDevice *device)
{
  if (g_atomic_int_dec_and_test (&device->running))
    close_device (device);
}

static gpointer
fdk_thread_run (gpointer user)
{
  const TdFdkThread *self = user;
  GError *error = NULL;

  if (!self->body (self->device, &error) && error)
    device_fail (self->device, error);
  thread_ends (self->device);
  return NULL;
}

/* Without one of its threads no device does its part, and the job ends. */
static void
device_start (TdFdkDevice *device)
{
  gboolean (*const bodies[]) (TdFdkDevice * device, GError * *error)
      = { td_fdk_compute, td_fdk_download, td_fdk_row_cache_feed };
  const guint n = device->running = device->cache ? 3 : 2;

  for (guint i = 0; i < n; i++) {
    TdFdkThread *self = &device->threads[i];
    GError *error = NULL;
    self->device = device;
    self->body = bodies[i];
    self->thread = td_thread_start ("fdk-device", fdk_thread_run, self, &error);
    if (self->thread)
      continue;
    td_fdk_fail (device->run, error);
    thread_ends (device);
  }
}

/* ── Another attempt ──

   It follows a failure that something smaller or something else gets around. Out of memory halves
   what the device takes, a watchdog halves the launches, and a kernel that does not build gives way
   to another family. An attempt ends for all devices, since they share its cut. Slices that were
   delivered and rows that were filtered into host memory stay. */

static void
less_memory (TdFdkRun *run, const TdFdkDevice *device, TdFdkAttempt *next)
{
  const guint n = run->plan->devices->len;

  td_engine_drop_idle (run->plan->engine);
  if (!run->dropped_idle) {
    run->dropped_idle = TRUE;
    return;
  }
  if (!next->budgets) {
    next->budgets = run->attempt.budgets = g_new (guint64, n);
    for (guint i = 0; i < n; i++)
      next->budgets[i] = G_MAXUINT64;
  }
  next->budgets[device->index] = td_fdk_device_bytes (run->plan, run->fdk, device->index) / 2;
  next->halvings++;
}

static gboolean
smaller_launches (const TdFdkFit *fit, TdFdkAttempt *next)
{
  if (fit->batch > fit->symmetric_views)
    next->most_batch = fit->batch / 2;
  else if (fit->slab > 1)
    next->most_slab = fit->slab / 2;
  else
    return FALSE;
  return TRUE;
}

/* The first that is as exact as was asked for, else the most exact. */
static gboolean
another_family (TdFdkRun *run, const TdFdkDevice *device)
{
  const TdConeFamily *const *families = td_cone_families ();
  const TdConeTask *task = &run->fdk->input->task;
  const TdDeviceInfo *info = td_device_info (device->device);
  const TdPrecision precision = run->plan->recipe.precision;
  const TdConeFamily *best = NULL;
  guint *tried = &run->families_tried[device->index];
  double bound = INFINITY;

  for (guint i = 0; families[i]; i++) {
    const double its = td_cone_family_error_bound (families[i], task, precision, info);
    *tried |= families[i] == device->family ? 1u << i : 0;
    if (!(*tried >> i & 1) && !(families[i]->textures && info->texture_slow)
        && (!best || (bound > td_accuracy_limit (run->plan->recipe.accuracy) && its < bound))
        && td_fdk_family_choose (families[i]->name, task, precision, device->device, NULL)) {
      best = families[i];
      bound = its;
    }
  }
  if (!best)
    return FALSE;
  run->now.scheme.families[device->index] = best;
  return TRUE;
}

/* FALSE: nothing is left to try on this device, and the run's plan is as it was. */
static gboolean
fdk_run_relieve (TdFdkRun *run, const TdFdkDevice *device)
{
  const TdReaction reaction = td_device_reaction (device->error);
  TdFdkScheme scheme = run->now.scheme;
  TdFdkAttempt next = run->attempt;
  TdFdkFit fit;
  gboolean changed = TRUE;

  if (reaction == TD_REACTION_RETRY_SMALLER)
    less_memory (run, device, &next);
  else if (reaction == TD_REACTION_SMALLER_LAUNCHES)
    changed = smaller_launches (&run->fdk->fit, &next);
  else
    changed = another_family (run, device);
  scheme.share = TD_SHARE_VOLUME; /* slabs of another size find some of their slices delivered */
  if (!changed || !td_fdk_fit (run->plan, run->fdk->input, &scheme, &next, &fit, NULL))
    return FALSE;
  /* Views that have come stay where they are, and those that have passed do not come again. */
  if (run->plan->gathered
      && (fit.held_views != run->fdk->fit.held_views
          || (td_fdk_passes_views (run->fdk) && run->views_passed > 0)))
    return FALSE;
  run->attempt = next;
  run->now.scheme = scheme;
  run->now.fit = fit;
  td_job_note (run->job,
               "%s: %p; going on with slabs of %u [slice|slices], batches of %u [view|views] and "
               "the kernel \"%s\".",
               td_device_info (device->device)->id, td_error_message (device->error), fit.slab,
               fit.batch, scheme.families[device->index]->name);
  if (reaction == TD_REACTION_ANOTHER_KERNEL)
    td_job_note_inexact (
        run->job, scheme.families[device->index]->name,
        td_cone_family_error_bound (scheme.families[device->index], &run->fdk->input->task,
                                    run->plan->recipe.precision, td_device_info (device->device)));
  return TRUE;
}

static void
fdk_run_retire (TdFdkRun *run, guint index)
{
  run->n_retired += !run->attempt.retired[index];
  run->attempt.retired[index] = TRUE;
}

/* All threads of the attempt have ended. TRUE: with what was changed the next may do better. There
   is no run->error if a device failed after the others had ended: they compute its slabs then. */
static gboolean
fdk_run_retry (TdFdkRun *run)
{
  const TdFdkDevice *failed = run->failed;

  if (run->error && (!failed || g_cancellable_is_cancelled (run->job->cancellable)))
    return FALSE;
  for (guint i = 0; i < run->n_devices; i++)
    if (td_device_reaction (run->devices[i].error) == TD_REACTION_RETIRE)
      fdk_run_retire (run, i);
  if (run->error && !fdk_run_relieve (run, failed)) {
    fdk_run_retire (run, failed->index);
    if (run->n_retired == run->n_devices && run->n_devices > 1)
      td_prefix_error (&run->error, "No device is left; the last to fail was ");
    if (run->n_retired == run->n_devices)
      return FALSE;
    device_retires (run, failed);
  }
  td_fdk_cut_clear (&run->now.cut);
  run->now.cut = td_fdk_cut_by_speed (run->plan, run->fdk, &run->attempt);
  g_clear_error (&run->error);
  run->failed = NULL;
  return TRUE;
}

/* ── Running ── */

/* What the job's result tells, and what later plans know, once it has ended well. */
static void
fdk_run_report (TdFdkRun *run, double seconds)
{
  const TdPlan *plan = run->plan;
  const gboolean warm = td_job_is_warm (run->job);
  g_autofree char *key = td_fdk_job_rate_key (plan, run->fdk);

  if (warm)
    td_engine_set_rate (plan->engine, key, plan->facts.updates, seconds);
  if (run->sum_s > LEAST_TRANSFER_S)
    td_engine_set_rate (plan->engine, TD_FDK_SUM_RATE_KEY, run->sum_bytes, run->sum_s);
  for (guint i = 0; run->devices && i < run->n_devices; i++) {
    const TdFdkDevice *device = &run->devices[i];
    g_autofree char *kernel = td_fdk_device_rate_key (device->device, device->family);
    g_autofree char *transfer = td_fdk_transfer_rate_key (device->device);
    if (device->download_s > LEAST_TRANSFER_S)
      td_engine_set_rate (plan->engine, transfer, device->download_bytes, device->download_s);
    if (warm && device->kernel_s > LEAST_KERNEL_S)
      td_engine_set_rate (plan->engine, kernel, device->kernel_updates, device->kernel_s);
  }
  const TdConeFamily *family = run->fdk->scheme.families[0];
  td_job_set_family (run->job, family->name, family->title);
}

static void
fdk_run_threads (TdFdkRun *run)
{
  GError *error = NULL;
  GThread *filter = run->fdk->fit.cached
                        ? NULL
                        : td_thread_start ("fdk-filter", td_fdk_filter_thread, run, &error);
  GThread *gather = run->plan->gathered && filter
                        ? td_thread_start ("fdk-gather", td_fdk_gather_thread, run, &error)
                        : NULL;

  if (error)
    td_fdk_fail (run, error);
  for (guint i = 0; i < run->n_devices; i++)
    if (!run->attempt.retired[i])
      device_start (&run->devices[i]);
  g_mutex_lock (&run->monitor.lock);
  while (run->devices_left > 0)
    td_monitor_wait (&run->monitor);
  g_mutex_unlock (&run->monitor.lock);
  for (guint i = 0; i < run->n_devices; i++)
    for (guint t = 0; t < G_N_ELEMENTS (run->devices[i].threads); t++)
      if (run->devices[i].threads[t].thread)
        g_thread_join (run->devices[i].threads[t].thread);
  if (filter)
    g_thread_join (filter);
  if (gather)
    g_thread_join (gather);
}

/* What there was no need for yet; what there is stays, attempt after attempt. */
static gboolean
fdk_run_make_memory (TdFdkRun *run, GError **error)
{
  if (!run->fdk->fit.cached && !make_projections (run, error))
    return FALSE;
  if (!run->downloads && !make_downloads (run, error))
    return FALSE;
  run->download_slices = (guint) MIN (run->fdk->fit.download_slices,
                                      run->downloads->bytes / td_fdk_slice_bytes (run->fdk));
  return TRUE;
}

static void
fdk_run_attempt (TdFdkRun *run)
{
  const TdFdkPlan *fdk = run->fdk;
  gint64 bytes = run->projections ? (gint64) td_fdk_store_bytes (fdk) : 0;
  const guint64 block = td_fdk_read_bytes (fdk->input, fdk->fit.block_rows);
  bytes += run->downloads->n * run->downloads->bytes
           + run->plan->devices->len * (TD_FDK_RING * fdk->fit.ring_bytes + block);
  if (fdk->scheme.spool == TD_CONE_SPOOL_MEMORY)
    bytes += (gint64) td_fdk_spool_bytes (fdk);
  td_job_add_host_bytes (run->job, bytes);
  make_slabs (run);
  if (run->unfinished > 0) { /* else all came before the failure that the last attempt ended with */
    make_devices (run);
    fdk_run_threads (run);
  }
  td_job_add_host_bytes (run->job, -bytes);
}

/* FALSE without @error: another attempt may do better. */
static gboolean
fdk_run_try (TdFdkRun *run, GCancellable *cancellable, GError **error)
{
  if (!fdk_run_make_memory (run, error))
    return FALSE;
  fdk_run_clear_attempt (run);
  run->cancellable = g_cancellable_new ();
  const gulong woken
      = g_cancellable_connect (run->cancellable, G_CALLBACK (td_monitor_wake), &run->monitor, NULL);
  const gulong handler
      = cancellable ? g_cancellable_connect (cancellable, G_CALLBACK (td_monitor_cancel),
                                             g_object_ref (run->cancellable), g_object_unref)
                    : 0;
  fdk_run_attempt (run);
  g_cancellable_disconnect (cancellable, handler);
  g_cancellable_disconnect (run->cancellable, woken);
  if (!run->error && g_cancellable_set_error_if_cancelled (run->cancellable, error))
    return FALSE;
  if (!run->error && run->unfinished == 0)
    return TRUE;
  if (!fdk_run_retry (run))
    g_propagate_error (error, g_error_copy (run->error));
  return FALSE;
}

static gboolean
run_fdk (TdJob *job, GCancellable *cancellable, GError **error)
{
  TdFdkRun *run = fdk_run_new (job);
  const gint64 start = g_get_monotonic_time ();
  GError *reason = NULL;
  gboolean ok;

  while (!(ok = fdk_run_try (run, cancellable, &reason)) && !reason)
    ;
  if (reason)
    g_propagate_error (error, reason);
  if (ok)
    fdk_run_report (run, (g_get_monotonic_time () - start) * 1e-6);
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
