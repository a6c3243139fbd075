/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "compute/device/host.h"
#include "dataset/storage-threads.h"
#include "job-private.h"
#include "monitor.h"

/**
 * The writing threads of a job: slices come in by a bounded queue and go to the sink and to the
 * volume. They live as long as their job: a device's thread may come late, after the end of a
 * cancelled one, and is turned away. The volume writes with several threads, and asks the
 * cancellable often enough that a cancelled job need not wait for the disk.
 *
 * A file of a stack is one thread's. So portions of few slices are written beside each other, where
 * nobody looks at the slices as they come. Sinks that allow it are called beside each other, too.
 */
#define MAX_PENDING 4
#define STACK_THREADS 6

struct TdJobWriter {
  GThread *threads[STACK_THREADS];
  TdVolumeWriter *volume; /* NULL: no output */
  guint most_slices;      /* of portions that are written beside each other */
  gint says;              /* atomic: some value was finite and not 0 */
  TdMonitor monitor;      /* of what follows */
  GQueue pending;         /* TdJobPortion */
  gboolean ended;         /* nothing more will come */
  guint slices_under_way; /* that the threads have */
  gint64 busy_us;         /* since when they have some */
  guint64 written_bytes;
  double written_s; /* in which some were under way */
};

static void
writer_item_free (TdJobPortion *item)
{
  item->release (item->slices, item->user);
  g_free (item);
}

static gboolean
job_writer_says (const float *values, gsize n)
{
  for (gsize i = 0; i < n; i++)
    if (isfinite (values[i]) && values[i] != 0)
      return TRUE;
  return FALSE;
}

static gboolean
write_volume (TdJob *job, const TdJobPortion *item, GError **error)
{
  TdJobWriter *writer = job->writer;
  gsize slice_floats = (gsize) job->plan->facts.nx * job->plan->facts.ny;

  if (!g_atomic_int_get (&writer->says)
      && (item->stored ? item->stored_counts.says
                       : job_writer_says (item->slices, item->count * slice_floats)))
    g_atomic_int_set (&writer->says, TRUE);
  return item->stored
             ? td_volume_writer_write_stored (writer->volume, item->first, item->count,
                                              item->slices, item->stored_counts.clamped, error)
             : td_volume_writer_write (writer->volume, item->first, item->count, item->slices,
                                       error);
}

/* Waits for a portion that may be written now; NULL: no more will come. */
static TdJobPortion *
job_writer_take (TdJobWriter *writer)
{
  TdJobPortion *item;

  g_mutex_lock (&writer->monitor.lock);
  while ((item = g_queue_peek_head (&writer->pending))
             ? writer->slices_under_way > 0
                   && writer->slices_under_way + item->count > writer->most_slices
             : !writer->ended)
    td_monitor_wait (&writer->monitor);
  if (item) {
    g_queue_pop_head (&writer->pending);
    if (writer->slices_under_way == 0)
      writer->busy_us = g_get_monotonic_time ();
    writer->slices_under_way += item->count;
  }
  td_monitor_release (&writer->monitor);
  return item;
}

/* The time counts once in which several portions were under way. */
static void
job_writer_count (TdJob *job, guint slices)
{
  TdJobWriter *writer = job->writer;
  const TdPlanFacts *facts = &job->plan->facts;
  double seconds = 0;

  g_mutex_lock (&writer->monitor.lock);
  writer->slices_under_way -= slices;
  if (writer->slices_under_way == 0)
    seconds = (g_get_monotonic_time () - writer->busy_us) * 1e-6;
  writer->written_s += seconds;
  writer->written_bytes
      += (guint64) slices * facts->nx * facts->ny * (job->plan->recipe.output_bits / 8);
  td_monitor_release (&writer->monitor);
  if (writer->volume && seconds > 0)
    td_job_add_stage (job, N_ ("write"), seconds);
}

static gpointer
writer_thread (gpointer user)
{
  TdJob *job = user;
  TdJobWriter *writer = job->writer;
  TdJobPortion *item;

  while ((item = job_writer_take (writer))) {
    g_autoptr (GError) error = NULL;
    const gint64 start = g_get_monotonic_time ();
    const gboolean wanted = !g_cancellable_is_cancelled (job->cancellable);
    const gboolean ok = wanted && (!writer->volume || write_volume (job, item, &error));

    job_writer_count (job, item->count);
    if (wanted && !ok)
      td_job_fail (job, g_steal_pointer (&error));
    if (ok && job->sink)
      job->sink (item->first, item->count, item->slices, job->sink_user);
    if (ok)
      td_job_slices_done (job, item->count);
    writer_item_free (item);
    td_job_add_span (job, "write", 0, start, g_get_monotonic_time ());
  }
  return NULL;
}

/* At least one. */
static gboolean
job_writer_start_threads (TdJob *job, GError **error)
{
  TdJobWriter *writer = job->writer;
  const gboolean beside
      = job->sink ? job->sink_shared
                  : writer->volume && job->plan->recipe.output_format == TD_VOLUME_TIFF_STACK;

  writer->most_slices = td_storage_threads ();
  writer->threads[0] = td_thread_start ("writer", writer_thread, job, error);
  for (guint i = 1; beside && writer->threads[0] && i < STACK_THREADS; i++)
    writer->threads[i] = td_thread_start ("writer", writer_thread, job, NULL);
  return writer->threads[0] != NULL;
}

TdJobWriter *
td_job_writer_new (void)
{
  TdJobWriter *writer = g_new0 (TdJobWriter, 1);

  td_monitor_init (&writer->monitor);
  return writer;
}

void
td_job_writer_free (TdJobWriter *writer)
{
  td_monitor_clear (&writer->monitor);
  g_free (writer);
}

gboolean
td_job_writer_start (TdJob *job, double low, double high, GError **error)
{
  TdJobWriter *writer = job->writer;

  job->output_low = low;
  job->output_high = high;
  if (job->plan->output) {
    TdVolumeSpec spec = td_plan_volume (job->plan);
    spec.path = job->plan->output;
    spec.low = low;
    spec.high = high;
    spec.overwrite = job->overwrite;
    writer->volume = td_volume_writer_new (&spec, error);
    if (!writer->volume)
      return FALSE;
    td_volume_writer_set_cancellable (writer->volume, job->cancellable);
  }
  if (job_writer_start_threads (job, error))
    return TRUE;
  g_clear_pointer (&writer->volume, td_volume_writer_free);
  return FALSE;
}

gboolean
td_job_wants_stored (const TdJob *job, TdStoredScale *scale)
{
  const guint bits = job->plan->recipe.output_bits;

  *scale = (TdStoredScale) { bits, job->output_low, job->output_high };
  return job->plan->output && !job->sink && bits < 32;
}

gboolean
td_job_emit (TdJob *job, const TdJobPortion *portion, GError **error)
{
  TdJobWriter *writer = job->writer;
  TdJobPortion *item = g_memdup2 (portion, sizeof *portion);
  gulong handler = g_cancellable_connect (job->cancellable, G_CALLBACK (td_monitor_wake),
                                          &writer->monitor, NULL);

  g_mutex_lock (&writer->monitor.lock);
  while (writer->pending.length >= MAX_PENDING && !g_cancellable_is_cancelled (job->cancellable))
    td_monitor_wait (&writer->monitor);
  if (!writer->ended && !g_cancellable_is_cancelled (job->cancellable)) {
    g_queue_push_tail (&writer->pending, g_steal_pointer (&item));
    g_cond_broadcast (&writer->monitor.changed);
  }
  g_mutex_unlock (&writer->monitor.lock);
  g_cancellable_disconnect (job->cancellable, handler);

  if (!item)
    return TRUE;
  writer_item_free (item);
  return !g_cancellable_set_error_if_cancelled (job->cancellable, error);
}

gboolean
td_job_writer_end (TdJob *job, gboolean keep, GError **error)
{
  TdJobWriter *writer = job->writer;
  gboolean ok = keep;
  TdJobPortion *item;

  g_mutex_lock (&writer->monitor.lock);
  while (!keep && (item = g_queue_pop_head (&writer->pending)))
    writer_item_free (item);
  writer->ended = TRUE;
  td_monitor_release (&writer->monitor);
  for (guint i = 0; i < STACK_THREADS; i++)
    if (writer->threads[i])
      g_thread_join (writer->threads[i]);

  /* A failure of the last write, or a cancellation while it was under way. */
  ok = ok && !g_cancellable_set_error_if_cancelled (job->cancellable, error);
  const guint64 clamped = writer->volume ? td_volume_writer_clamped (writer->volume) : 0;
  ok = ok && (!writer->volume || td_job_check_volume (job->plan, writer->says, clamped, error));
  if (ok && writer->volume) {
    td_job_note_counts (job, &job->result.counts, clamped); /* the volume keeps them, too */
    g_autofree char *provenance = td_job_provenance_json (job);
    g_autofree char *key = td_plan_write_key (job->plan);
    gint64 start = g_get_monotonic_time ();

    ok = td_volume_writer_finish (writer->volume, provenance, error);
    ok = ok && (!job->companion || td_output_commit (job->companion, error));
    const double seconds = (g_get_monotonic_time () - start) * 1e-6;
    td_job_add_stage (job, N_ ("write"), seconds);
    writer->written_s += seconds;
    job->result.clamped_output = clamped;
    td_plan_keep_rate (job->plan, key, writer->written_bytes, writer->written_s);
  }
  g_clear_pointer (&writer->volume, td_volume_writer_free);
  g_clear_pointer (&job->companion, td_output_free);
  return ok;
}
