/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "fdk-window-private.h"
#include "kernels/params.h"

/* ── Life ── */

TdFdkWindow *
td_fdk_window_new (TdFdkDevice *device)
{
  const TdFdkPlan *fdk = device->run->fdk;
  TdFdkWindow *window = g_new0 (TdFdkWindow, 1);

  window->device = device;
  window->chunks = g_new0 (TdFdkChunk, fdk->n_chunks);
  window->memory = g_ptr_array_new_with_free_func ((GDestroyNotify) td_buffer_free);
  window->events = g_array_new (FALSE, FALSE, sizeof (TdEvent *));
  g_queue_init (&window->idle);
  g_queue_init (&window->raw);
  return window;
}

void
td_fdk_window_free (TdFdkWindow *window, gboolean sound)
{
  if (!window)
    return;
  TdFdkRun *run = window->device->run;

  if (window->ring.queue)
    sound = td_queue_finish (window->ring.queue, NULL) && sound;
  if (window->queue)
    sound = td_queue_finish (window->queue, NULL) && sound;
  td_fdk_ring_clear (&window->ring, run->plan->engine, sound);
  for (guint i = 0; i < window->events->len; i++)
    td_event_free (g_array_index (window->events, TdEvent *, i));
  for (guint i = 0; i < run->fdk->n_chunks; i++) {
    td_event_free (window->chunks[i].sent);
    td_event_free (window->chunks[i].filtered);
  }
  td_event_free (window->passed);
  td_event_free (window->before);
  td_cone_filter_free (window->filter);
  td_preparation_free (window->preparation);
  td_program_free (window->program);
  td_queue_free (window->ring.queue);
  td_queue_free (window->queue);
  g_ptr_array_unref (window->memory);
  g_array_unref (window->events);
  g_queue_clear (&window->idle);
  g_queue_clear (&window->raw);
  g_free (window->block.rows);
  g_free (window->chunks);
  g_free (window);
}

/* ── Feeding ── */

/* Rows into pinned memory. Files like to be read in large pieces, and once. */
static gboolean
fdk_window_fill (TdFdkWindow *window, guint row0, guint end, float *to, GError **error)
{
  TdFdkRun *run = window->device->run;
  const TdFdkPlan *fdk = run->fdk;
  const TdScanFacts *facts = td_scan_facts (run->plan->scan);
  const gsize row = (gsize) facts->n_views * facts->n_columns;

  TdFdkReader reader = { run, window->device->index };
  const TdRowsOrigin origin = { td_fdk_read, &reader, row };

  if (fdk->block_rows == 0)
    return td_fdk_read (&reader, (TdRowRange) { row0, end - row0 }, to, run->cancellable, error);
  TdHeldRows *block = &window->block;
  if (row0 < block->range.first || end > block->range.first + block->range.count) {
    if (!block->rows)
      block->rows = g_try_new (float, fdk->block_rows *row);
    /* Downwards, or upwards where the slabs go that way. */
    const TdFdkSpan all = td_fdk_span (fdk, 0, fdk->n_rows);
    const gboolean upwards = block->range.count > 0 && row0 < block->range.first;
    const guint rows = MIN (fdk->block_rows, all.from.n);
    const guint first = upwards ? end - MIN (end - all.from.row0, rows)
                                : MIN (row0, all.from.row0 + all.from.n - rows);
    const guint n = MIN (rows, all.from.row0 + all.from.n - first);
    if (!block->rows) {
      td_set_error (error, TD_ERROR_IO,
                    "Not enough host memory to read %u rows at once; set a memory limit.",
                    fdk->block_rows);
      return FALSE;
    }
    if (!td_held_rows_move (block, &origin, (TdRowRange) { first, n }, run->cancellable, error))
      return FALSE;
  }
  memcpy (to, block->rows + (row0 - block->range.first) * row, (end - row0) * row * sizeof *to);
  return TRUE;
}

/* Enqueues the raw rows of a chunk. Its memory may have had another, which was filtered, though
   perhaps for nobody, and used until @passed. */
static gboolean
send_chunk (TdFdkWindow *window, guint index, GError **error)
{
  TdFdkRun *run = window->device->run;
  TdFdkChunk *chunk = &window->chunks[index];
  const TdScanFacts *facts = td_scan_facts (run->plan->scan);
  const guint64 row = (guint64) facts->n_views * facts->n_columns * sizeof (float);
  const gboolean used = chunk->data != NULL;
  const TdFdkSpan span = td_fdk_window_rows (window, index);
  float *staging = td_fdk_ring_next (&window->ring, error);

  if (!staging
      || !fdk_window_fill (window, span.from.row0, span.from.row0 + span.from.n, staging, error))
    return FALSE;
  if (!chunk->data) {
    chunk->data = td_buffer_new (window->device->device, td_fdk_chunk_bytes (run->fdk), error);
    if (!chunk->data)
      return FALSE;
    g_ptr_array_add (window->memory, chunk->data);
  }
  g_mutex_lock (&run->lock);
  gboolean ok
      = !used || !window->passed || td_event_wait (window->ring.queue, window->passed, error);
  ok = ok && (!used || td_event_wait (window->ring.queue, window->before, error));
  g_mutex_unlock (&run->lock);
  if (!ok || !td_fdk_ring_send (&window->ring, chunk->data, 0, span.from.n * row, error))
    return FALSE;
  chunk->sent = td_event_record (window->ring.queue, error);
  if (!chunk->sent)
    return FALSE;
  g_queue_push_tail (&window->raw, GUINT_TO_POINTER (index));
  return TRUE;
}

/* ── Filtering ── */

static gboolean
open_filter (TdFdkWindow *window, GError **error)
{
  const TdFdkRun *run = window->device->run;
  const TdFdkPlan *fdk = run->fdk;
  const TdRecipe *recipe = &run->plan->recipe;
  const TdScanFacts *facts = td_scan_facts (run->plan->scan);
  const guint rows = td_fdk_most_filtered (fdk, fdk->chunk_rows, fdk->filter_rows);
  TdDevice *device = window->device->device;

  const gboolean quads = fdk->task.n_columns % 4 == 0;
  window->program = td_program_build (device, "rows-gather",
                                      (const char *[]) { quads ? "QUADS" : NULL, NULL }, error);
  window->gather
      = window->program ? td_program_kernel (window->program, "rows_gather", error) : NULL;
  if (!window->gather)
    return FALSE;
  window->preparation = td_preparation_new (device, run->plan->scan, NULL, recipe->steps,
                                            recipe->n_steps, fdk->chunk_rows, error);
  if (!window->preparation)
    return FALSE;
  if (facts->filtered)
    return TRUE;
  window->filter = td_cone_filter_new (device, &fdk->task, &fdk->geometry, fdk->angles_rad,
                                       &recipe->filter, rows, error);
  return window->filter != NULL;
}

gboolean
td_fdk_window_open (TdFdkWindow *window, GError **error)
{
  TdFdkRun *run = window->device->run;
  const gint64 start = g_get_monotonic_time ();

  if (!open_filter (window, error))
    return FALSE;
  td_job_add_span (run->job, "open", window->device->index, start, g_get_monotonic_time ());
  g_mutex_lock (&run->lock);
  window->opened = TRUE;
  g_cond_broadcast (&run->changed);
  g_mutex_unlock (&run->lock);
  return TRUE;
}

static gboolean
fdk_window_record (TdFdkWindow *window, GError **error)
{
  TdEvent *event = td_event_record (window->queue, error);

  if (event)
    g_array_append_val (window->events, event);
  return event != NULL;
}

static gboolean
filter_chunk (TdFdkWindow *window, guint index, GError **error)
{
  TdFdkRun *run = window->device->run;
  const TdScanFacts *facts = td_scan_facts (run->plan->scan);
  TdFdkChunk *chunk = &window->chunks[index];
  TdQueue *queue = window->queue;
  const TdFdkSpan span = td_fdk_window_rows (window, index);

  if (!td_event_wait (queue, chunk->sent, error) || !fdk_window_record (window, error)
      || !td_preparation_run (window->preparation, queue, chunk->data, span.from.row0, span.from.n,
                              run->cancellable, error)
      || (window->filter
          && !td_fdk_filter_span (run->fdk, window->filter, queue, chunk->data, &span, error))
      || !fdk_window_record (window, error))
    return FALSE;
  TdEvent *filtered = td_event_record (queue, error);
  if (!filtered)
    return FALSE;
  window->filtered_bytes
      += (double) span.from.n * facts->n_views * facts->n_columns * sizeof (float);
  g_mutex_lock (&run->lock);
  chunk->filtered = filtered;
  chunk->here = TRUE;
  g_cond_broadcast (&run->changed);
  g_mutex_unlock (&run->lock);
  return TRUE;
}

/* Counts and times for the job. */
static gboolean
fdk_window_report (TdFdkWindow *window, GError **error)
{
  TdFdkDevice *device = window->device;
  TdPreparationCounts counts;
  double sum;

  if (!td_preparation_counts (window->preparation, window->queue, &counts, error)
      || !td_fdk_device_spans (device, "filter", window->events, &sum, error))
    return FALSE;
  td_job_add_counts (device->run->job, &counts);
  td_job_add_stage (device->run->job, "filter", sum);
  g_autofree char *key = td_fdk_filter_rate_key (device->device);
  if (sum > 0)
    td_engine_set_rate (device->run->plan->engine, key, window->filtered_bytes / sum);
  return TRUE;
}

gboolean
td_fdk_window_feed (TdFdkDevice *device, GError **error)
{
  TdFdkWindow *window = device->window;
  TdFdkRun *run = device->run;
  gboolean send;
  guint index;

  window->ring.queue = td_queue_new (device->device, error);
  window->queue = window->ring.queue ? td_queue_new_urgent (device->device, error) : NULL;
  if (!window->queue)
    return FALSE;
  window->ring.pinned = td_fdk_pinned_take (run->plan->engine, device->device, TD_FDK_RING,
                                            run->fdk->ring_bytes, error);
  if (!window->ring.pinned)
    return FALSE;
  while (td_fdk_window_choose (window, &index, &send))
    if (!(send ? send_chunk : filter_chunk) (window, index, error))
      return FALSE;
  g_mutex_lock (&run->lock);
  const gboolean complete = window->opened && !td_fdk_device_stopped (device);
  g_mutex_unlock (&run->lock);
  if (!complete)
    return TRUE;
  if (!fdk_window_report (window, error))
    return FALSE;
  /* The kernels have ended: it goes while the last slices are fetched. */
  const gint64 start = g_get_monotonic_time ();
  td_fdk_window_free (g_steal_pointer (&device->window), TRUE);
  td_job_add_span (run->job, "close", device->index, start, g_get_monotonic_time ());
  return TRUE;
}

/* ── For the computing thread ── */

static gboolean
wait_for (TdFdkWindow *window, guint index)
{
  TdFdkRun *run = window->device->run;

  g_mutex_lock (&run->lock);
  while (!window->chunks[index].here && !td_fdk_device_stopped (window->device))
    g_cond_wait (&run->changed, &run->lock);
  const gboolean here = !td_fdk_device_stopped (window->device);
  g_mutex_unlock (&run->lock);
  return here;
}

gboolean
td_fdk_window_ready (TdFdkWindow *window, TdQueue *queue, guint slab, GError **error)
{
  TdFdkRun *run = window->device->run;
  guint first, end;

  td_fdk_window_chunks (run->fdk, slab, &first, &end);
  g_mutex_lock (&run->lock);
  window->need0 = first;
  window->need_end = end;
  g_cond_broadcast (&run->changed);
  g_mutex_unlock (&run->lock);
  for (guint i = first; i < end; i++)
    if (!wait_for (window, i) || !td_event_wait (queue, window->chunks[i].filtered, error))
      return FALSE;
  return TRUE;
}

gboolean
td_fdk_window_gather (TdFdkWindow *window, TdQueue *queue, const TdFdkBatch *batch, guint row0,
                      guint n_rows, TdBuffer *to, GError **error)
{
  const TdFdkPlan *fdk = window->device->run->fdk;
  const guint step = fdk->filter_rows;
  const guint wide = fdk->task.n_columns % 4 == 0 ? fdk->task.n_columns / 4 : fdk->task.n_columns;

  for (guint i = row0 / step; i * step < row0 + n_rows; i++) {
    const TdFdkSpan span = td_fdk_window_rows (window, i);
    const guint from = MAX (i * step, row0), end = MIN ((i + 1) * step, row0 + n_rows);
    const TdRowsGather params = {
      .n_columns = (int) wide,
      .n_views = (int) fdk->task.n_views,
      .from_row = (int) (fdk->row0 + from - span.data_row0),
      .n_rows = (int) (end - from),
      .to_row = (int) (from - row0),
      .to_rows = (int) n_rows,
      .n_places = (int) batch->n,
      .first_view = (int) batch->first,
      .in_turn = (int) batch->in_turn,
      .views_a_turn = (int) batch->a_turn,
    };
    const guint local[3] = { 64, 4, 1 };
    const guint groups[3] = { (wide + 63) / 64, (batch->n + 3) / 4, end - from };
    const TdArg args[]
        = { TD_ARG_BUFFER (window->chunks[i].data), TD_ARG_BUFFER (to), TD_ARG_VALUE (params) };
    if (!td_launch (queue, window->gather, groups, local, args, G_N_ELEMENTS (args), error))
      return FALSE;
  }
  return TRUE;
}

gboolean
td_fdk_window_passed (TdFdkWindow *window, TdQueue *queue, GError **error)
{
  TdFdkRun *run = window->device->run;
  TdEvent *passed = td_event_record (queue, error);

  if (!passed)
    return FALSE;
  g_mutex_lock (&run->lock);
  td_event_free (window->passed);
  window->passed = passed;
  g_mutex_unlock (&run->lock);
  return TRUE;
}
