/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compute/device/host.h"
#include "fdk-run.h"

/* The fetching thread of a device: computed slabs into pinned memory and on to the writer, or,
   where devices share the projections, into the slab's sum. */

/* ── Buffers to land in ── */

/* NULL: the device has stopped. */
static float *
take_landing (TdFdkDevice *device)
{
  TdFdkRun *run = device->run;
  float *landing = NULL;

  g_mutex_lock (&run->lock);
  while (g_queue_is_empty (&run->free_landing) && !td_fdk_device_stopped (device))
    g_cond_wait (&run->changed, &run->lock);
  if (!td_fdk_device_stopped (device))
    landing = g_queue_pop_head (&run->free_landing);
  g_mutex_unlock (&run->lock);
  return landing;
}

static void
put_landing (TdFdkRun *run, float *landing)
{
  g_mutex_lock (&run->lock);
  g_queue_push_tail (&run->free_landing, landing);
  g_cond_broadcast (&run->changed);
  g_mutex_unlock (&run->lock);
}

static void
release_landing (float *landing, gpointer user)
{
  put_landing (user, landing);
  td_fdk_run_unref (user);
}

static gboolean
fdk_land_emit (TdFdkRun *run, guint first, guint count, float *landing, GError **error)
{
  return td_job_emit (run->job, first, count, landing, release_landing, td_fdk_run_ref (run),
                      error);
}

/* ── Fetching ── */

static gboolean
fdk_land_fetch (TdFdkDevice *device, float *to, const TdFdkPart *part, guint slice0, guint n,
                GError **error)
{
  const TdFdkPlan *fdk = device->run->fdk;
  const guint64 slice = (guint64) fdk->task.ny * fdk->task.nx * sizeof (float);
  TdEvent **marks = device->fetch_marks;
  const gint64 start = g_get_monotonic_time ();
  double seconds = 0;
  const gboolean ok
      = (marks[0] = td_event_record (device->fetch, error))
        && td_download (device->fetch, to, part->volume, slice0 * slice, n * slice, error)
        && (marks[1] = td_event_record (device->fetch, error))
        && td_queue_finish (device->fetch, error)
        && td_event_elapsed (marks[0], marks[1], &seconds, error);

  g_clear_pointer (&marks[0], td_event_free);
  g_clear_pointer (&marks[1], td_event_free);
  device->fetch_s += seconds;
  device->fetch_bytes += n * slice;
  td_job_add_stage (device->run->job, "download", seconds);
  td_job_add_span (device->run->job, "download", device->index, start, g_get_monotonic_time ());
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
  td_job_add_stage (device->run->job, "back-project", sum);
  return TRUE;
}

/* The part is safe on the host: the device need not answer for it any longer. */
static void
close_part (TdFdkDevice *device, TdFdkPart *part)
{
  TdFdkRun *run = device->run;

  g_mutex_lock (&run->lock);
  g_queue_push_tail (&device->free_volumes, part->volume);
  g_ptr_array_remove (device->open, part);
  g_cond_broadcast (&run->changed);
  g_mutex_unlock (&run->lock);
}

static void
slab_done (TdFdkRun *run)
{
  g_mutex_lock (&run->lock);
  run->unfinished--;
  g_cond_broadcast (&run->changed);
  g_mutex_unlock (&run->lock);
}

/* ── Sharing the volume ── */

/* Slices from @first on, @most at the most, that nobody has delivered. */
static guint
fdk_land_undelivered (const TdFdkRun *run, guint first, guint most)
{
  guint n = 0;

  while (n < most && !run->delivered[first + n])
    n++;
  return n;
}

/* A few slices at a time. What another device had already delivered of the slab before it failed is
   left out. */
static gboolean
land_slab (TdFdkDevice *device, TdFdkPart *part, GError **error)
{
  TdFdkRun *run = device->run;
  const TdFdkPlan *fdk = run->fdk;
  const guint slice0 = fdk->cuts[part->slab].slice0, all = fdk->cuts[part->slab].n_slices;

  for (guint first = 0, n; first < all; first += n) {
    n = fdk_land_undelivered (run, slice0 + first, MIN (fdk->land_slices, all - first));
    if (n == 0) {
      n = 1;
      continue;
    }
    float *landing = take_landing (device);
    if (!landing)
      return TRUE;
    if (!fdk_land_fetch (device, landing, part, first, n, error)) {
      put_landing (run, landing);
      return FALSE;
    }
    for (guint i = 0; i < n; i++)
      run->delivered[slice0 + first + i] = TRUE;
    if (!fdk_land_emit (run, slice0 + first, n, landing, error))
      return FALSE;
  }
  close_part (device, part);
  slab_done (run);
  return TRUE;
}

/* ── Sharing the projections ── */

#define SUM_FLOATS (1u << 16)

typedef struct {
  float *to;
  const float *from;
  gsize n;
} Sum;

static void
add_piece (guint index, gpointer user)
{
  const Sum *sum = user;
  const gsize first = (gsize) index * SUM_FLOATS, end = MIN (first + SUM_FLOATS, sum->n);

  for (gsize i = first; i < end; i++)
    sum->to[i] += sum->from[i];
}

/* Pairwise: two parts that have come are one, which the next to come finds. */
static gboolean
add_up (TdFdkRun *run, guint index, float *mine, guint batches, GError **error)
{
  const TdFdkPlan *fdk = run->fdk;
  TdFdkSlab *slab = &run->slabs[index];
  const guint slice0 = fdk->cuts[index].slice0, slices = fdk->cuts[index].n_slices;

  g_mutex_lock (&run->lock);
  while (slab->sum) {
    float *other = g_steal_pointer (&slab->sum);
    batches += slab->summed;
    g_mutex_unlock (&run->lock);

    const gint64 start = g_get_monotonic_time ();
    Sum sum = { mine, other, (gsize) slices * fdk->task.ny * fdk->task.nx };
    td_parallel_for ((guint) ((sum.n + SUM_FLOATS - 1) / SUM_FLOATS), add_piece, &sum);
    td_job_add_stage (run->job, "sum", (g_get_monotonic_time () - start) * 1e-6);
    put_landing (run, other);
    g_mutex_lock (&run->lock);
  }
  const gboolean complete = batches == fdk->n_batches;
  if (!complete) {
    slab->sum = mine;
    slab->summed = batches;
  }
  g_mutex_unlock (&run->lock);
  for (guint i = 0; complete && i < slices; i++)
    run->delivered[slice0 + i] = TRUE;
  if (complete && !fdk_land_emit (run, slice0, slices, mine, error))
    return FALSE;
  if (complete)
    slab_done (run);
  return TRUE;
}

static gboolean
land_share (TdFdkDevice *device, TdFdkPart *part, GError **error)
{
  const guint slab = part->slab, batches = part->batches->len;
  float *landing = take_landing (device);

  if (!landing)
    return TRUE;
  if (!fdk_land_fetch (device, landing, part, 0, device->run->fdk->cuts[slab].n_slices, error)) {
    put_landing (device->run, landing);
    return FALSE;
  }
  close_part (device, part);
  return add_up (device->run, slab, landing, batches, error);
}

/* ── The thread ── */

/* NULL: no more will come. */
static TdFdkPart *
next_part (TdFdkDevice *device)
{
  TdFdkRun *run = device->run;
  TdFdkPart *part = NULL;

  g_mutex_lock (&run->lock);
  while (g_queue_is_empty (&device->landing) && !device->computed_all
         && !td_fdk_device_stopped (device))
    g_cond_wait (&run->changed, &run->lock);
  if (!td_fdk_device_stopped (device))
    part = g_queue_pop_head (&device->landing);
  g_mutex_unlock (&run->lock);
  return part;
}

gboolean
td_fdk_land (TdFdkDevice *device, GError **error)
{
  const gboolean volume = device->run->fdk->share == TD_SHARE_VOLUME;
  TdFdkPart *part;

  device->fetch = td_queue_new (device->device, error);
  if (!device->fetch || (device->window && !td_fdk_window_open (device->window, error)))
    return FALSE;
  while ((part = next_part (device)))
    if (!td_event_wait (device->fetch, part->computed, error)
        || !td_event_sync (part->computed, error) || !book_kernels (device, part, error)
        || !(volume ? land_slab : land_share) (device, part, error))
      return FALSE;
  return TRUE;
}
