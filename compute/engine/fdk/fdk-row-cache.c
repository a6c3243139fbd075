/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "compute/device/host.h"
#include "compute/prepare/prepare.h"
#include "fdk-run.h"
#include "kernels/params.h"

/**
 * Filtered rows on a device, in chunks. The feeding thread uploads raw chunks in the order in
 * which the slabs want them, as far ahead as there is memory. A queue that goes before the
 * computing one prepares and filters them in place. The filter needs a card's memory bandwidth,
 * which the kernels leave idle.
 */
typedef struct {
  TdBuffer *data; /* [row][view][column], halo included; NULL: not here */
  TdEvent *sent, *filtered;
  gboolean here; /* all is enqueued, @filtered is set */
} TdFdkChunk;

struct TdFdkRowCache {
  TdFdkDevice *device;
  /* The feeding thread's. */
  TdFdkRing ring;
  TdQueue *queue;    /* the filter's */
  GQueue raw;        /* chunks that have been sent only: GUINT_TO_POINTER (index) */
  TdEvent *before;   /* when the chunk was filtered whose memory the next one takes */
  TdHeldRows block;  /* files: many rows read at once; owned */
  GPtrArray *memory; /* TdBuffer, all that the chunks have had; owned */
  GPtrArray *events; /* TdEvent, pairs around the filter */
  GPtrArray *sends;  /* TdEvent, pairs around what is sent */
  double filtered_bytes;
  /* The downloading thread makes these while the first rows are sent. Then the filter is the
     feeding thread's, and the kernel the computing thread's. */
  TdPreparation *preparation;
  TdConeFilter *filter;
  TdKernel *gather;
  /* All three, under the run's lock. */
  gboolean opened; /* those are there */
  TdFdkChunk *chunks;
  guint need0, need_end; /* chunks that the slab being computed sees */
  GQueue idle;           /* TdBuffer that no chunk has */
  TdEvent *passed;       /* on the computing queue: what was there of earlier slabs has been used */
};

/* ── Life ── */

TdFdkRowCache *
td_fdk_row_cache_new (TdFdkDevice *device)
{
  const TdFdkPlan *fdk = device->run->fdk;
  TdFdkRowCache *cache = g_new0 (TdFdkRowCache, 1);

  cache->device = device;
  cache->chunks = g_new0 (TdFdkChunk, fdk->fit.n_chunks);
  cache->memory = g_ptr_array_new_with_free_func ((GDestroyNotify) td_buffer_free);
  cache->events = td_events_new ();
  cache->sends = td_events_new ();
  return cache;
}

void
td_fdk_row_cache_free (TdFdkRowCache *cache, gboolean sound)
{
  if (!cache)
    return;
  TdFdkRun *run = cache->device->run;

  if (cache->ring.queue)
    sound = td_queue_finish (cache->ring.queue, NULL) && sound;
  if (cache->queue)
    sound = td_queue_finish (cache->queue, NULL) && sound;
  td_fdk_ring_clear (&cache->ring, run->plan->engine, sound);
  g_ptr_array_unref (cache->events);
  g_ptr_array_unref (cache->sends);
  for (guint i = 0; i < run->fdk->fit.n_chunks; i++) {
    td_event_free (cache->chunks[i].sent);
    td_event_free (cache->chunks[i].filtered);
  }
  td_event_free (cache->passed);
  td_event_free (cache->before);
  td_cone_filter_free (cache->filter);
  td_preparation_free (cache->preparation);
  td_queue_free (cache->ring.queue);
  td_queue_free (cache->queue);
  g_ptr_array_unref (cache->memory);
  g_queue_clear (&cache->idle);
  g_queue_clear (&cache->raw);
  g_free (cache->block.rows);
  g_free (cache->chunks);
  g_free (cache);
}

/* ── Which chunk when ── */

/* The chunks that the slab sees. */
static void
row_cache_chunks (const TdFdkPlan *fdk, guint slab, guint *first, guint *end)
{
  *first = fdk->cut.slabs[slab].row0 / fdk->fit.filter_rows;
  *end = (fdk->cut.slabs[slab].row_end + fdk->fit.filter_rows - 1) / fdk->fit.filter_rows;
}

static TdFdkSpan
row_cache_span (const TdFdkRowCache *cache, guint index)
{
  const TdFdkPlan *fdk = cache->device->run->fdk;
  const guint first = index * fdk->fit.filter_rows;

  return td_fdk_span (fdk->input, first, MIN (fdk->fit.filter_rows, fdk->input->n_rows - first));
}

/* The device's own slabs that nobody has taken yet, from @slab on. FALSE: there are no more. Under
   the lock, as the three below. */
static gboolean
next_slab (const TdFdkRowCache *cache, guint *slab)
{
  const TdFdkRun *run = cache->device->run;
  const guint end = run->fdk->cut.own[cache->device->index + 1];

  while (*slab < end && run->slabs[*slab].taken)
    (*slab)++;
  return *slab < end;
}

/* The next chunk that is not here: of the slab being computed, else of the next ones. It looks one
   slab ahead only: a slab further on may be taken by another device. */
static gboolean
next_chunk (const TdFdkRowCache *cache, guint *index, gboolean *urgent)
{
  *urgent = TRUE;
  for (*index = cache->need0; *index < cache->need_end; (*index)++)
    if (!cache->chunks[*index].data)
      return TRUE;
  *urgent = FALSE;
  const TdFdkPlan *fdk = cache->device->run->fdk;
  guint ahead = 0;
  for (guint slab = fdk->cut.own[cache->device->index];
       ahead <= fdk->fit.slab && next_slab (cache, &slab);
       ahead += fdk->cut.slabs[slab++].n_slices) {
    guint end;
    for (row_cache_chunks (fdk, slab, index, &end); *index < end; (*index)++)
      if (!cache->chunks[*index].data)
        return TRUE;
  }
  return FALSE;
}

/* How far away the slab is that wants the chunk next. */
static guint
wanted_in (const TdFdkRowCache *cache, guint index)
{
  const guint own = cache->device->run->fdk->cut.own[cache->device->index];

  if (index >= cache->need0 && index < cache->need_end)
    return 0;
  for (guint slab = own; next_slab (cache, &slab); slab++) {
    guint first, end;
    row_cache_chunks (cache->device->run->fdk, slab, &first, &end);
    if (index >= first && index < end)
      return slab - own + 1;
  }
  return G_MAXUINT;
}

/* A chunk whose memory may go to another: one that no slab wants any more. If @urgent, it may also
   be the one that is wanted last. */
static TdFdkChunk *
row_cache_dispensable (const TdFdkRowCache *cache, gboolean urgent)
{
  const guint n = cache->device->run->fdk->fit.n_chunks;
  TdFdkChunk *spare = NULL;
  guint latest = 0;

  for (guint i = 0; i < n && latest < G_MAXUINT; i++) {
    if (!cache->chunks[i].here)
      continue;
    const guint wanted = wanted_in (cache, i);
    if (wanted == G_MAXUINT || (urgent && wanted > latest)) {
      spare = &cache->chunks[i];
      latest = wanted;
    }
  }
  return spare;
}

/* Waits for a chunk to send, or for one to filter, which goes first. FALSE: nothing more will come.
 */
static gboolean
row_cache_choose (TdFdkRowCache *cache, guint *index, gboolean *send)
{
  TdFdkDevice *device = cache->device;
  TdFdkRun *run = device->run;
  gboolean found = FALSE, urgent;

  *send = FALSE;
  g_mutex_lock (&run->monitor.lock);
  while (!found && !device->computed_all && !td_fdk_device_stopped (device)) {
    TdFdkChunk *spare = NULL;
    if (cache->opened && !g_queue_is_empty (&cache->raw)) {
      *index = GPOINTER_TO_UINT (g_queue_pop_head (&cache->raw));
      found = TRUE;
      break;
    }
    *send = found = next_chunk (cache, index, &urgent);
    if (found && g_queue_is_empty (&cache->idle)
        && cache->memory->len >= run->fdk->fit.cached_chunks) {
      spare = row_cache_dispensable (cache, urgent);
      *send = found = spare != NULL;
    }
    if (spare) {
      g_queue_push_tail (&cache->idle, spare->data);
      td_event_free (spare->sent);
      td_event_free (cache->before);
      cache->before = spare->filtered;
      *spare = (TdFdkChunk) { NULL };
    }
    if (!found)
      td_monitor_wait (&run->monitor);
  }
  if (*send)
    cache->chunks[*index].data = g_queue_pop_head (&cache->idle);
  g_mutex_unlock (&run->monitor.lock);
  return found;
}

/* ── Feeding ── */

/* Rows into pinned memory. Files are read in large pieces, and once. */
static gboolean
row_cache_fill (TdFdkRowCache *cache, TdRowRange range, float *to, GError **error)
{
  TdFdkRun *run = cache->device->run;
  const TdFdkPlan *fdk = run->fdk;
  const gsize row = td_fdk_read_bytes (fdk->input, 1) / sizeof (float);

  TdFdkReader reader = { run, cache->device->index, run->fdk->input };
  const TdRowsOrigin origin = { td_fdk_read, &reader, row };

  if (fdk->fit.block_rows == 0)
    return td_fdk_read (&reader, range, to, run->cancellable, error);
  TdHeldRows *block = &cache->block;
  const TdRowRange here = block->range;
  const guint row0 = range.first, end = row0 + range.count;
  if (row0 < here.first || end > here.first + here.count) {
    if (!block->rows
        && !(block->rows = td_host_malloc (fdk->fit.block_rows * row * sizeof *to, error)))
      return FALSE;
    /* Downwards, or upwards where the slabs go that way. */
    const TdRowRange all = td_fdk_span_all (fdk->input).from;
    const gboolean upwards = here.count > 0 && row0 < here.first;
    const guint rows = MIN (fdk->fit.block_rows, all.count);
    const guint first
        = upwards ? end - MIN (end - all.first, rows) : MIN (row0, all.first + all.count - rows);
    const TdRowRange next = { first, MIN (rows, all.first + all.count - first) };
    if (!td_held_rows_move (block, &origin, next, run->cancellable, error))
      return FALSE;
  }
  td_host_copy (to, block->rows + (row0 - block->range.first) * row,
                (end - row0) * row * sizeof *to);
  return TRUE;
}

/* Enqueues the raw rows of a chunk. Another chunk may have had its memory: that one was filtered,
   and used until @passed. */
static gboolean
send_chunk (TdFdkRowCache *cache, guint index, GError **error)
{
  TdFdkRun *run = cache->device->run;
  TdFdkChunk *chunk = &cache->chunks[index];
  const guint64 row = td_fdk_read_bytes (run->fdk->input, 1);
  const gboolean used = chunk->data != NULL;
  const TdFdkSpan span = row_cache_span (cache, index);
  float *staging = td_fdk_ring_next (&cache->ring, error);

  if (!staging || !row_cache_fill (cache, span.from, staging, error))
    return FALSE;
  const TdRecipe *recipe = &run->plan->recipe;
  const TdRawRows raw
      = { staging, span.from.first, span.from.count, run->fdk->input->task.n_views };
  if (!td_preparation_check_rows (recipe->steps, recipe->n_steps, td_scan_facts (run->fdk->scan),
                                  &raw, error))
    return FALSE;
  if (!chunk->data) {
    chunk->data = td_buffer_new (cache->device->device, td_fdk_chunk_bytes (run->fdk), error);
    if (!chunk->data)
      return FALSE;
    g_ptr_array_add (cache->memory, chunk->data);
  }
  g_mutex_lock (&run->monitor.lock);
  gboolean ok = !used || !cache->passed || td_event_wait (cache->ring.queue, cache->passed, error);
  ok = ok && (!used || td_event_wait (cache->ring.queue, cache->before, error));
  g_mutex_unlock (&run->monitor.lock);
  if (!ok || !td_events_record (cache->ring.queue, cache->sends, error)
      || !td_fdk_ring_send (&cache->ring, chunk->data, 0, span.from.count * row, error)
      || !td_events_record (cache->ring.queue, cache->sends, error)
      || !td_event_mark (cache->ring.queue, &chunk->sent, error))
    return FALSE;
  g_queue_push_tail (&cache->raw, GUINT_TO_POINTER (index));
  return TRUE;
}

/* ── Filtering ── */

static gboolean
open_filter (TdFdkRowCache *cache, GError **error)
{
  const TdFdkRun *run = cache->device->run;
  const TdFdkPlan *fdk = run->fdk;
  const TdRecipe *recipe = &run->plan->recipe;
  const TdScanFacts *facts = td_scan_facts (run->fdk->scan);
  const guint rows = td_fdk_most_filtered (fdk->input, fdk->fit.chunk_rows, fdk->fit.filter_rows);
  TdDevice *device = cache->device->device;

  const gboolean quads = fdk->input->task.n_columns % 4 == 0;
  cache->gather
      = td_device_kernel (device, "rows-gather", (const char *[]) { quads ? "QUADS" : NULL, NULL },
                          "rows_gather", error);
  if (!cache->gather
      || !(cache->preparation = td_preparation_new (device, run->fdk->scan, NULL, recipe->steps,
                                                    recipe->n_steps, error)))
    return FALSE;
  td_preparation_set_views (cache->preparation, fdk->input->views, fdk->input->task.n_views);
  if (facts->filtered)
    return TRUE;
  cache->filter = td_cone_filter_new (device, &fdk->input->task, &fdk->input->geometry,
                                      fdk->input->angles_rad, &recipe->filter, rows, error);
  return cache->filter != NULL;
}

gboolean
td_fdk_row_cache_open (TdFdkRowCache *cache, GError **error)
{
  TdFdkRun *run = cache->device->run;
  const gint64 start = g_get_monotonic_time ();

  if (!open_filter (cache, error))
    return FALSE;
  td_job_add_span (run->job, "open", cache->device->index, start, g_get_monotonic_time ());
  g_mutex_lock (&run->monitor.lock);
  cache->opened = TRUE;
  td_monitor_release (&run->monitor);
  return TRUE;
}

static gboolean
filter_chunk (TdFdkRowCache *cache, guint index, GError **error)
{
  TdFdkRun *run = cache->device->run;
  TdFdkChunk *chunk = &cache->chunks[index];
  TdQueue *queue = cache->queue;
  const TdFdkSpan span = row_cache_span (cache, index);

  td_preparation_set_counted (
      cache->preparation, td_fdk_count_rows (run, TD_FDK_BY_DEVICE (cache->device), span.made_of));
  if (!td_event_wait (queue, chunk->sent, error) || !td_events_record (queue, cache->events, error)
      || !td_preparation_run (cache->preparation, queue, chunk->data, span.from.first,
                              span.from.count, run->cancellable, error)
      || (cache->filter
          && !td_fdk_filter_span (run->fdk->input, cache->filter, queue, chunk->data, &span, error))
      || !td_events_record (queue, cache->events, error)
      || !td_event_mark (queue, &chunk->filtered, error))
    return FALSE;
  cache->filtered_bytes += (double) td_fdk_filtered_bytes (run->fdk->input, span.from.count);
  g_mutex_lock (&run->monitor.lock);
  chunk->here = TRUE;
  td_monitor_release (&run->monitor);
  return TRUE;
}

/* Counts and times for the job. */
static gboolean
row_cache_report (TdFdkRowCache *cache, GError **error)
{
  TdFdkDevice *device = cache->device;
  TdPreparationCounts counts;
  double sum, sent;

  if (!td_preparation_counts (cache->preparation, cache->queue, &counts, error)
      || !td_preparation_counts_check (&counts, error)
      || !td_fdk_device_spans (device, "filter", cache->events, &sum, error))
    return FALSE;
  td_job_add_counts (device->run->job, &counts);
  td_fdk_end_counting (device->run, TD_FDK_BY_DEVICE (device), TRUE);
  td_job_add_stage (device->run->job, N_ ("filter"), sum);
  if (!td_queue_finish (cache->ring.queue, error)
      || !td_fdk_device_spans (device, "upload", cache->sends, &sent, error))
    return FALSE;
  td_job_add_stage (device->run->job, N_ ("upload"), sent);
  g_autofree char *key = td_fdk_filter_rate_key (device->device);
  if (sum > 0 && td_job_is_warm (device->run->job))
    td_engine_set_rate (device->run->plan->engine, key, cache->filtered_bytes, sum);
  return TRUE;
}

gboolean
td_fdk_row_cache_feed (TdFdkDevice *device, GError **error)
{
  TdFdkRowCache *cache = device->cache;
  TdFdkRun *run = device->run;
  gboolean send;
  guint index;

  cache->ring.queue = td_queue_new (device->device, error);
  if (!cache->ring.queue || !(cache->queue = td_queue_new_urgent (device->device, error))
      || !(cache->ring.pinned = td_fdk_pinned_take (run->plan->engine, device->device, TD_FDK_RING,
                                                    run->fdk->fit.ring_bytes, error)))
    return FALSE;
  while (row_cache_choose (cache, &index, &send))
    if (!(send ? send_chunk : filter_chunk) (cache, index, error))
      return FALSE;
  g_mutex_lock (&run->monitor.lock);
  const gboolean complete = cache->opened && !td_fdk_device_stopped (device);
  g_mutex_unlock (&run->monitor.lock);
  if (!complete)
    return TRUE;
  if (!row_cache_report (cache, error))
    return FALSE;
  /* The kernels have ended: the cache is freed while the last slices download. */
  const gint64 start = g_get_monotonic_time ();
  td_fdk_row_cache_free (g_steal_pointer (&device->cache), TRUE);
  td_job_add_span (run->job, "close", device->index, start, g_get_monotonic_time ());
  return TRUE;
}

/* ── For the computing thread ── */

static gboolean
wait_for (TdFdkRowCache *cache, guint index)
{
  TdMonitor *monitor = &cache->device->run->monitor;
  g_autoptr (GMutexLocker) locked = g_mutex_locker_new (&monitor->lock);

  while (!cache->chunks[index].here && !td_fdk_device_stopped (cache->device))
    td_monitor_wait (monitor);
  return !td_fdk_device_stopped (cache->device);
}

gboolean
td_fdk_row_cache_ready (TdFdkRowCache *cache, TdQueue *queue, guint slab, GError **error)
{
  TdFdkRun *run = cache->device->run;
  guint first, end;

  row_cache_chunks (run->fdk, slab, &first, &end);
  g_mutex_lock (&run->monitor.lock);
  cache->need0 = first;
  cache->need_end = end;
  td_monitor_release (&run->monitor);
  for (guint i = first; i < end; i++)
    if (!wait_for (cache, i) || !td_event_wait (queue, cache->chunks[i].filtered, error))
      return FALSE;
  return TRUE;
}

gboolean
td_fdk_row_cache_gather (TdFdkRowCache *cache, TdQueue *queue, const TdFdkBatch *batch, guint row0,
                         guint n_rows, TdBuffer *to, GError **error)
{
  const TdFdkPlan *fdk = cache->device->run->fdk;
  const guint step = fdk->fit.filter_rows;
  const guint wide = fdk->input->task.n_columns % 4 == 0 ? fdk->input->task.n_columns / 4
                                                         : fdk->input->task.n_columns;

  for (guint i = row0 / step; i * step < row0 + n_rows; i++) {
    const TdFdkSpan span = row_cache_span (cache, i);
    const guint from = MAX (i * step, row0), end = MIN ((i + 1) * step, row0 + n_rows);
    const TdRowsGather params = {
      .n_columns = (int) wide,
      .n_views = (int) fdk->input->task.n_views,
      .from_row = (int) (fdk->input->row0 + from - span.data_row0),
      .n_rows = (int) (end - from),
      .to_row = (int) (from - row0),
      .to_rows = (int) n_rows,
      .n_places = (int) batch->n,
      .first_view = (int) batch->first,
      .in_turn = (int) batch->of_each,
      .views_a_turn = (int) batch->apart,
    };
    const guint local[3] = { 64, 4, 1 };
    const guint groups[3] = { (wide + 63) / 64, (batch->n + 3) / 4, end - from };
    if (!td_launch (queue, cache->gather, groups, local,
                    TD_ARGS (cache->chunks[i].data, to, params), error))
      return FALSE;
  }
  return TRUE;
}

gboolean
td_fdk_row_cache_passed (TdFdkRowCache *cache, TdQueue *queue, GError **error)
{
  TdFdkRun *run = cache->device->run;
  TdEvent *passed = td_event_record (queue, error);

  if (!passed)
    return FALSE;
  g_mutex_lock (&run->monitor.lock);
  td_event_free (cache->passed);
  cache->passed = passed;
  g_mutex_unlock (&run->monitor.lock);
  return TRUE;
}
