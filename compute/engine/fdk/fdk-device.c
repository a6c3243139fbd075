/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compute/device/device-reaction.h"
#include "fdk-run.h"

/* ── Failures ── */

void
td_fdk_device_fail (TdFdkDevice *device, GError *error)
{
  TdFdkRun *run = device->run;

  g_mutex_lock (&run->lock);
  const gboolean again = td_device_may_retry (error) && !device->error;
  const gboolean stop = again || !td_device_others_can (error);
  if (stop && !run->error) {
    run->error = g_error_copy (error);
    run->failed = again ? device : NULL;
  }
  if (!device->error)
    device->error = g_steal_pointer (&error);
  g_cond_broadcast (&run->changed);
  g_mutex_unlock (&run->lock);
  if (stop)
    g_cancellable_cancel (run->cancellable);
  g_clear_error (&error);
}

gboolean
td_fdk_device_stopped (const TdFdkDevice *device)
{
  return device->error || device->run->error
         || g_cancellable_is_cancelled (device->run->cancellable);
}

gboolean
td_fdk_device_spans (TdFdkDevice *device, const char *stage, const GArray *events, double *sum,
                     GError **error)
{
  TdJob *job = device->run->job;

  *sum = 0;
  for (guint i = 0; i + 1 < events->len; i += 2) {
    TdEvent *from = g_array_index (events, TdEvent *, i),
            *to = g_array_index (events, TdEvent *, i + 1);
    double seconds, start = 0;
    if (!td_event_elapsed (from, to, &seconds, error)
        || (td_job_keeps_spans (job) && !td_event_elapsed (device->origin, from, &start, error)))
      return FALSE;
    *sum += seconds;
    td_job_add_span (job, stage, device->index, device->origin_us + (gint64) (start * 1e6),
                     device->origin_us + (gint64) ((start + seconds) * 1e6));
  }
  return TRUE;
}

/* Under the lock: a device is left that could compute the rest. */
static gboolean
any_sound (const TdFdkRun *run)
{
  for (guint i = 0; i < run->n_devices; i++)
    if (!run->attempt.retired[i] && !run->devices[i].error)
      return TRUE;
  return FALSE;
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
  g_mutex_lock (&run->lock);
  td_fdk_give_back (device);
  const gboolean last
      = --run->devices_left == 0 && run->unfinished > 0 && !run->error && !any_sound (run);
  g_cond_broadcast (&run->changed);
  g_mutex_unlock (&run->lock);
  if (td_device_reaction (device->error) != TD_REACTION_RETIRE)
    return;
  if (last && run->n_devices > 1)
    td_prefix_error (&device->error, "No device is left; the last to fail was ");
  if (last)
    td_fdk_fail (run, g_error_copy (device->error));
  else
    td_job_note (run->job, "%s was retired, the other devices did its share: %p",
                 td_device_info (device->device)->id, td_error_message (device->error));
}

/* ── Threads ── */

typedef struct {
  TdFdkDevice *device;
  gboolean (*body) (TdFdkDevice *device, GError **error);
} Start;

static gpointer
fdk_device_thread_body (gpointer data)
{
  Start *start = data;
  TdFdkDevice *device = start->device;
  TdFdkRun *run = device->run;
  GError *error = NULL;

  if (!start->body (device, &error) && error)
    td_fdk_device_fail (device, error);
  g_mutex_lock (&run->lock);
  const gboolean last = --device->running == 0;
  g_mutex_unlock (&run->lock);
  if (last)
    close_device (device);
  g_free (start);
  return NULL;
}

void
td_fdk_device_start (TdFdkDevice *device)
{
  static const struct {
    const char *name;
    gboolean (*body) (TdFdkDevice *device, GError **error);
  } bodies[] = { { "fdk-compute", td_fdk_compute },
                 { "fdk-download", td_fdk_download },
                 { "fdk-feed", td_fdk_row_cache_feed } };
  const guint n = device->cache ? 3 : 2;

  device->running = n;
  for (guint i = 0; i < n; i++) {
    Start *start = g_new0 (Start, 1);
    start->device = device;
    start->body = bodies[i].body;
    device->threads[i] = g_thread_new (bodies[i].name, fdk_device_thread_body, start);
  }
}
