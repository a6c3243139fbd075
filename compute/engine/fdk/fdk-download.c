/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compute/device/host.h"
#include "fdk-run.h"

/* The downloading thread of a device. Computed slabs go to pinned memory and on to the writer.
   Where devices share the projections, parts go into the slab's sum instead. */

/* ── Pinned buffers ── */

/* NULL: the device has stopped. */
static float *
take_buffer (TdFdkDevice *device)
{
  return td_monitor_get (&device->run->monitor, &device->run->free_downloads, td_fdk_device_stopped,
                         device);
}

static void
put_buffer (TdFdkRun *run, float *buffer)
{
  td_monitor_put (&run->monitor, &run->free_downloads, buffer);
}

static void
release_buffer (float *buffer, gpointer user)
{
  put_buffer (user, buffer);
  td_fdk_run_unref (user);
}

/* @first: of the task's slices. @counts: of samples; NULL: they are floats. */
static gboolean
fdk_download_emit (TdFdkRun *run, TdRowRange slices, float *buffer, const TdStoredCounts *counts,
                   GError **error)
{
  TdJobPortion portion = { .first = slices.first - run->fdk->input->slice0,
                           .count = slices.count,
                           .slices = buffer,
                           .stored = counts != NULL,
                           .release = release_buffer,
                           .user = td_fdk_run_ref (run) };

  if (counts)
    portion.stored_counts = *counts;
  return td_job_emit (run->job, &portion, error);
}

/* ── Downloading ── */

/* What device->stored is asked for: that slices come down as samples. */
static gboolean
fdk_download_make_stored (TdFdkDevice *device, GError **error)
{
  TdFdkRun *run = device->run;
  const TdConeTask *task = &run->fdk->input->task;
  const guint64 most
      = (guint64) MIN (run->download_slices, run->fdk->fit.slab) * task->ny * task->nx;
  g_autoptr (GError) reason = NULL;
  TdStoredScale scale;

  if (!td_fdk_device_stores (run->plan, run->fdk, device->index)
      || !td_job_wants_stored (run->job, &scale))
    return TRUE;
  if (!td_stored_samples_build (device->device, scale.bits, &reason)) {
    td_job_note (run->job, "%s: %p; the host converts the slices to %u bits.",
                 td_device_info (device->device)->id, td_error_message (reason), scale.bits);
    return TRUE;
  }
  device->stored_counts = g_malloc (td_stored_samples_counts_bytes (most));
  device->stored = td_stored_samples_new (device->device, &scale, most, error);
  return device->stored != NULL;
}

static gboolean
fdk_download_slices (TdFdkDevice *device, float *to, const TdFdkPart *part, guint slice0, guint n,
                     GError **error)
{
  TdFdkRun *run = device->run;
  const guint64 bytes = n * td_fdk_slice_bytes (run->fdk), voxels = bytes / sizeof *to;
  const TdPlace from = { part->volume, slice0 * td_fdk_slice_bytes (run->fdk) };
  const gint64 start = g_get_monotonic_time ();
  g_autoptr (TdEvent) before = NULL, made = NULL, after = NULL;
  double converting = 0, seconds = 0;
  const gboolean ok
      = (before = td_event_record (device->download, error))
        && (!device->stored
            || td_stored_samples_run (device->stored, device->download, from, voxels, error))
        && (made = td_event_record (device->download, error))
        && (device->stored
                ? td_stored_samples_fetch (device->stored, device->download, to,
                                           device->stored_counts, error)
                : td_download (device->download, to, from.buffer, from.offset, bytes, error))
        && (after = td_event_record (device->download, error))
        && td_queue_finish (device->download, error)
        && td_event_elapsed (before, made, &converting, error)
        && td_event_elapsed (made, after, &seconds, error);

  device->download_s += seconds;
  device->download_bytes
      += voxels * (device->stored ? run->plan->recipe.output_bits / 8 : sizeof *to);
  if (device->stored)
    td_job_add_stage (run->job, "convert", converting);
  td_job_add_stage (run->job, "download", seconds);
  td_job_add_span (run->job, "download", device->index, start, g_get_monotonic_time ());
  return ok;
}

/* Seconds of the part's kernels, which have ended. */
static gboolean
book_kernels (TdFdkDevice *device, const TdFdkPart *part, GError **error)
{
  double sum;

  if (!td_fdk_device_spans (device, "back-project", part->events, &sum, error))
    return FALSE;
  device->kernel_s += sum;
  device->kernel_updates += part->updates;
  td_job_add_stage (device->run->job, N_ ("back-project"), sum);
  return TRUE;
}

/* The part is safe on the host, and no longer the device's to give back. */
static void
close_part (TdFdkDevice *device, TdFdkPart *part)
{
  TdFdkRun *run = device->run;

  g_mutex_lock (&run->monitor.lock);
  g_queue_push_tail (&device->free_volumes, part->volume);
  g_ptr_array_remove (device->open, part);
  td_monitor_release (&run->monitor);
}

static void
slab_done (TdFdkRun *run)
{
  g_mutex_lock (&run->monitor.lock);
  run->unfinished--;
  td_monitor_release (&run->monitor);
}

/* ── Sharing the volume ── */

/* How many slices from @first on are not delivered yet, @most at the most. */
static guint
fdk_download_undelivered (const TdFdkRun *run, guint first, guint most)
{
  guint n = 0;

  while (n < most && !run->delivered[first + n])
    n++;
  return n;
}

/* The next process has all bands of the slab. */
static void
fdk_download_skip (TdFdkDevice *device, TdFdkPart *part)
{
  TdFdkRun *run = device->run;
  const TdFdkSlabCut *cut = &run->fdk->cut.slabs[part->slab];

  for (guint i = 0; i < cut->n_slices; i++)
    run->delivered[cut->slice0 + i] = TRUE;
  td_job_slices_done (run->job, cut->n_slices);
  close_part (device, part);
  slab_done (run);
}

/* A few slices at a time. Slices that another device delivered before it failed are left out. */
static gboolean
download_slab (TdFdkDevice *device, TdFdkPart *part, GError **error)
{
  TdFdkRun *run = device->run;
  const TdFdkSlabCut *cut = &run->fdk->cut.slabs[part->slab];
  const guint slice0 = cut->slice0, all = cut->n_slices;

  if (run->job->turns.end && td_fdk_bands (device) > 1) {
    fdk_download_skip (device, part);
    return TRUE;
  }
  for (guint first = 0, n; first < all; first += n) {
    n = fdk_download_undelivered (run, slice0 + first, MIN (run->download_slices, all - first));
    if (n == 0) {
      n = 1;
      continue;
    }
    float *buffer = take_buffer (device);
    if (!buffer)
      return TRUE;
    if (!fdk_download_slices (device, buffer, part, first, n, error)) {
      put_buffer (run, buffer);
      return FALSE;
    }
    for (guint i = 0; i < n; i++)
      run->delivered[slice0 + first + i] = TRUE;
    TdStoredCounts counts = { 0 };
    if (device->stored)
      td_stored_samples_add (device->stored, device->stored_counts, &counts);
    if (!fdk_download_emit (run, (TdRowRange) { slice0 + first, n }, buffer,
                            device->stored ? &counts : NULL, error))
      return FALSE;
  }
  close_part (device, part);
  slab_done (run);
  return TRUE;
}

/* ── Sharing the projections ── */

/* Adds parts in pairs: the sum of two is what the next part finds. */
static gboolean
add_up (TdFdkRun *run, guint index, float *mine, guint batches, GError **error)
{
  const TdFdkPlan *fdk = run->fdk;
  TdFdkSlab *slab = &run->slabs[index];
  const guint slice0 = fdk->cut.slabs[index].slice0, slices = fdk->cut.slabs[index].n_slices;
  const guint64 bytes = slices * td_fdk_slice_bytes (fdk);

  g_mutex_lock (&run->monitor.lock);
  while (slab->sum) {
    float *other = g_steal_pointer (&slab->sum);
    batches += slab->summed;
    g_mutex_unlock (&run->monitor.lock);

    const gint64 start = g_get_monotonic_time ();
    td_host_add (mine, other, bytes / sizeof *mine);
    const double seconds = (g_get_monotonic_time () - start) * 1e-6;
    td_job_add_stage (run->job, N_ ("sum"), seconds);
    put_buffer (run, other);
    g_mutex_lock (&run->monitor.lock);
    run->sum_s += seconds;
    run->sum_bytes += bytes;
  }
  const gboolean complete = batches == fdk->fit.n_batches;
  if (!complete) {
    slab->sum = mine;
    slab->summed = batches;
  }
  g_mutex_unlock (&run->monitor.lock);
  for (guint i = 0; complete && i < slices; i++)
    run->delivered[slice0 + i] = TRUE;
  if (complete && !fdk_download_emit (run, (TdRowRange) { slice0, slices }, mine, NULL, error))
    return FALSE;
  if (complete)
    slab_done (run);
  return TRUE;
}

static gboolean
download_part (TdFdkDevice *device, TdFdkPart *part, GError **error)
{
  const guint slab = part->slab, batches = part->batches->len;
  float *buffer = take_buffer (device);

  if (!buffer)
    return TRUE;
  if (!fdk_download_slices (device, buffer, part, 0, device->run->fdk->cut.slabs[slab].n_slices,
                            error)) {
    put_buffer (device->run, buffer);
    return FALSE;
  }
  close_part (device, part);
  return add_up (device->run, slab, buffer, batches, error);
}

/* ── The thread ── */

/* No more parts will come. */
static gboolean
all_downloaded (gconstpointer user)
{
  const TdFdkDevice *device = user;

  return td_fdk_device_stopped (device) || (device->computed_all && !device->computed.length);
}

gboolean
td_fdk_download (TdFdkDevice *device, GError **error)
{
  const gboolean volume = device->run->fdk->scheme.share == TD_SHARE_VOLUME;
  TdFdkPart *part;

  /* Samples are made while kernels run, and would wait for them. */
  device->download = td_fdk_device_stores (device->run->plan, device->run->fdk, device->index)
                         ? td_queue_new_urgent (device->device, error)
                         : td_queue_new (device->device, error);
  if (!device->download || !fdk_download_make_stored (device, error)
      || (device->cache && !td_fdk_row_cache_open (device->cache, error)))
    return FALSE;
  while ((part = td_monitor_get (&device->run->monitor, &device->computed, all_downloaded, device)))
    if (!td_event_wait (device->download, part->computed, error)
        || !td_event_sync (part->computed, error) || !book_kernels (device, part, error)
        || !(volume ? download_slab : download_part) (device, part, error))
      return FALSE;
  return TRUE;
}
