/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "compute/cone/cone-filter.h"
#include "compute/prepare/prepare.h"
#include "fdk-run.h"
#include "kernels/params.h"

/* Rows on a device, a chunk of some at a time. The feeding thread brings raw ones in the order in
   which the slabs will want them, as far ahead as there is memory; the computing thread prepares and
   filters them in place, between its kernels, when it comes to them. */
typedef struct {
  TdBuffer *data;    /* [row][view][column], halo included; NULL: not here */
  TdEvent *sent;
  gboolean here;     /* enqueued, @sent is set */
  gboolean filtered; /* on the computing queue */
} Chunk;

struct TdFdkWindow {
  TdFdkDevice *device;
  /* The feeding thread's. */
  TdFdkRing ring;
  float *block;              /* files: many rows read at once */
  guint block_row0, block_rows;
  GPtrArray *memory;         /* TdBuffer, all that the chunks have had; owned */
  /* The computing thread's. */
  TdPreparation *preparation;
  TdConeFilter *filter;
  TdProgram *program;
  TdKernel *gather;
  GArray *events;            /* TdEvent *, pairs around the filter */
  double filtered_bytes;
  /* Both, under the run's lock. */
  Chunk *chunks;
  guint need0, need_end;     /* chunks that the slab being computed sees */
  GQueue idle;               /* TdBuffer that no chunk has */
  TdEvent *passed;           /* on the computing queue: chunks before need0 have been used */
};

/* ── Life ─────────────────────────────────────────────────────────────────────────────────────── */

TdFdkWindow *
td_fdk_window_new (TdFdkDevice *device)
{
  const TdFdkPlan *fdk = device->run->fdk;
  TdFdkWindow *window = g_new0 (TdFdkWindow, 1);

  window->device = device;
  window->chunks = g_new0 (Chunk, fdk->n_chunks);
  window->memory = g_ptr_array_new_with_free_func ((GDestroyNotify) td_buffer_free);
  window->events = g_array_new (FALSE, FALSE, sizeof (TdEvent *));
  g_queue_init (&window->idle);
  return window;
}

void
td_fdk_window_free (TdFdkWindow *window)
{
  if (!window)
    return;
  TdFdkRun *run = window->device->run;
  gboolean sound = window->device->error == NULL;

  if (window->ring.queue)
    sound = td_queue_finish (window->ring.queue, NULL) && sound;
  td_fdk_ring_clear (&window->ring, run->plan->engine, sound);
  for (guint i = 0; i < window->events->len; i++)
    td_event_free (g_array_index (window->events, TdEvent *, i));
  for (guint i = 0; i < run->fdk->n_chunks; i++)
    td_event_free (window->chunks[i].sent);
  td_event_free (window->passed);
  td_cone_filter_free (window->filter);
  td_preparation_free (window->preparation);
  td_program_free (window->program);
  td_queue_free (window->ring.queue);
  g_ptr_array_unref (window->memory);
  g_array_unref (window->events);
  g_queue_clear (&window->idle);
  g_free (window->block);
  g_free (window->chunks);
  g_free (window);
}

/* ── Which chunk when ─────────────────────────────────────────────────────────────────────────── */

static void
chunks_of (const TdFdkPlan *fdk, guint slab, guint *first, guint *end)
{
  td_fdk_slab_rows (fdk, slab, first, end);
  *first /= fdk->filter_rows;
  *end = (*end + fdk->filter_rows - 1) / fdk->filter_rows;
}

/* Detector rows of a chunk with its halo; the chunk's own begin at *own. */
static void
rows_of (const TdFdkWindow *window, guint index, guint *row0, guint *end, guint *own)
{
  const TdFdkRun *run = window->device->run;
  const TdFdkPlan *fdk = run->fdk;
  const TdScanFacts *facts = td_scan_facts (run->plan->scan);
  const guint first = index * fdk->filter_rows;

  *own = fdk->row0 + first;
  *row0 = *own - MIN (*own, fdk->halo);
  *end = MIN (facts->n_rows, fdk->row0 + MIN (first + fdk->filter_rows, fdk->n_rows) + fdk->halo);
}

/* The next chunk that is not here: of the slab being computed, else of those in the device's own
   range that nobody has taken yet. Under the lock, as the two below. */
static gboolean
next_chunk (const TdFdkWindow *window, guint *index, gboolean *urgent)
{
  const TdFdkDevice *device = window->device;
  const TdFdkRun *run = device->run;
  const guint own = run->fdk->own[device->index], own_end = run->fdk->own[device->index + 1];

  *urgent = TRUE;
  for (*index = window->need0; *index < window->need_end; (*index)++)
    if (!window->chunks[*index].data)
      return TRUE;
  *urgent = FALSE;
  for (guint slab = own; slab < own_end; slab++) {
    guint end;
    if (run->slabs[slab].taken)
      continue;
    for (chunks_of (run->fdk, slab, index, &end); *index < end; (*index)++)
      if (!window->chunks[*index].data)
        return TRUE;
  }
  return FALSE;
}

/* A chunk whose memory may go to another: one that was passed, or, if it must be, the farthest. */
static Chunk *
dispensable (const TdFdkWindow *window, gboolean urgent)
{
  const guint n = window->device->run->fdk->n_chunks;

  for (guint i = 0; i < window->need0 && i < n; i++)
    if (window->chunks[i].here)
      return &window->chunks[i];
  for (guint i = n; urgent && i > window->need_end; i--)
    if (window->chunks[i - 1].here)
      return &window->chunks[i - 1];
  return NULL;
}

/* Waits for something to do. FALSE: nothing more will come. */
static gboolean
choose (TdFdkWindow *window, guint *index)
{
  TdFdkDevice *device = window->device;
  TdFdkRun *run = device->run;
  gboolean found = FALSE, urgent;

  g_mutex_lock (&run->lock);
  while (!found && !device->computed_all && !td_fdk_device_stopped (device)) {
    Chunk *spare = NULL;
    found = next_chunk (window, index, &urgent);
    if (found && g_queue_is_empty (&window->idle)
        && window->memory->len >= run->fdk->window_chunks) {
      spare = dispensable (window, urgent);
      found = spare != NULL;
    }
    if (spare) {
      g_queue_push_tail (&window->idle, spare->data);
      td_event_free (spare->sent);
      *spare = (Chunk) { NULL };
    }
    if (!found)
      g_cond_wait (&run->changed, &run->lock);
  }
  if (found)
    window->chunks[*index].data = g_queue_pop_head (&window->idle);
  g_mutex_unlock (&run->lock);
  return found;
}

/* ── Feeding ──────────────────────────────────────────────────────────────────────────────────── */

/* Rows into pinned memory. Files like to be read in large pieces, and once. */
static gboolean
fill (TdFdkWindow *window, guint row0, guint end, float *to, GError **error)
{
  TdFdkRun *run = window->device->run;
  const TdFdkPlan *fdk = run->fdk;
  const TdScanFacts *facts = td_scan_facts (run->plan->scan);
  const gsize row = (gsize) facts->n_views * facts->n_columns;

  if (fdk->block_rows == 0)
    return td_fdk_read (run, window->device->index, row0, end - row0, to, error);
  if (!window->block || row0 < window->block_row0 || end > window->block_row0 + window->block_rows) {
    if (!window->block)
      window->block = g_try_new (float, fdk->block_rows * row);
    window->block_row0 = row0;
    window->block_rows = MIN (fdk->block_rows, facts->n_rows - row0);
    if (!window->block) {
      g_set_error (error, TD_ERROR, TD_ERROR_IO,
                   "Not enough host memory to read %u rows at once; set a memory limit.",
                   fdk->block_rows);
      return FALSE;
    }
    if (!td_fdk_read (run, window->device->index, row0, window->block_rows, window->block, error)) {
      window->block_rows = 0;
      return FALSE;
    }
  }
  memcpy (to, window->block + (row0 - window->block_row0) * row, (end - row0) * row * sizeof *to);
  return TRUE;
}

/* Enqueues the raw rows of a chunk; its memory may have had another that was used until @passed. */
static gboolean
feed_chunk (TdFdkWindow *window, guint index, GError **error)
{
  TdFdkRun *run = window->device->run;
  Chunk *chunk = &window->chunks[index];
  const TdScanFacts *facts = td_scan_facts (run->plan->scan);
  const guint64 row = (guint64) facts->n_views * facts->n_columns * sizeof (float);
  guint row0, end, own;
  float *staging = td_fdk_ring_next (&window->ring, error);

  rows_of (window, index, &row0, &end, &own);
  if (!staging || !fill (window, row0, end, staging, error))
    return FALSE;
  if (!chunk->data) {
    chunk->data = td_buffer_new (window->device->device, td_fdk_chunk_bytes (run->fdk, facts), error);
    if (!chunk->data)
      return FALSE;
    g_ptr_array_add (window->memory, chunk->data);
  }
  g_mutex_lock (&run->lock);
  gboolean ok = !window->passed || td_event_wait (window->ring.queue, window->passed, error);
  g_mutex_unlock (&run->lock);
  if (!ok || !td_fdk_ring_send (&window->ring, chunk->data, 0, (end - row0) * row, error))
    return FALSE;
  TdEvent *sent = td_event_record (window->ring.queue, error);
  if (!sent)
    return FALSE;
  g_mutex_lock (&run->lock);
  chunk->sent = sent;
  chunk->here = TRUE;
  g_cond_broadcast (&run->changed);
  g_mutex_unlock (&run->lock);
  return TRUE;
}

gboolean
td_fdk_window_feed (TdFdkDevice *device, GError **error)
{
  TdFdkWindow *window = device->window;
  const TdFdkRun *run = device->run;
  guint index;

  window->ring.queue = td_queue_new (device->device, error);
  if (!window->ring.queue)
    return FALSE;
  window->ring.pinned = td_fdk_pinned_take (run->plan->engine, device->device, TD_FDK_RING,
                                            run->fdk->ring_bytes, error);
  if (!window->ring.pinned)
    return FALSE;
  while (choose (window, &index))
    if (!feed_chunk (window, index, error))
      return FALSE;
  return TRUE;
}

/* ── Filtering ────────────────────────────────────────────────────────────────────────────────── */

static gboolean
open_filter (TdFdkWindow *window, GError **error)
{
  const TdFdkRun *run = window->device->run;
  const TdFdkPlan *fdk = run->fdk;
  const TdRecipe *recipe = &run->plan->recipe;
  const TdScanFacts *facts = td_scan_facts (run->plan->scan);
  const guint rows = MIN (facts->n_rows, fdk->filter_rows + 2 * fdk->halo);
  TdDevice *device = window->device->device;

  window->program = td_program_build (device, "rows-gather", NULL, error);
  window->gather = window->program ? td_program_kernel (window->program, "rows_gather", error) : NULL;
  if (!window->gather)
    return FALSE;
  window->preparation = td_preparation_new (device, run->plan->scan, NULL, recipe->steps,
                                            recipe->n_steps, rows, error);
  if (!window->preparation)
    return FALSE;
  if (facts->filtered)
    return TRUE;
  window->filter = td_cone_filter_new (device, &fdk->task, &fdk->geometry, fdk->angles_rad,
                                       &recipe->filter, rows, error);
  return window->filter != NULL;
}

static gboolean
record (TdFdkWindow *window, TdQueue *queue, GError **error)
{
  TdEvent *event = td_event_record (queue, error);

  if (event)
    g_array_append_val (window->events, event);
  return event != NULL;
}

static gboolean
filter_chunk (TdFdkWindow *window, TdQueue *queue, guint index, GError **error)
{
  TdFdkRun *run = window->device->run;
  const TdScanFacts *facts = td_scan_facts (run->plan->scan);
  Chunk *chunk = &window->chunks[index];
  guint row0, end, own;

  rows_of (window, index, &row0, &end, &own);
  if (!td_event_wait (queue, chunk->sent, error) || !record (window, queue, error)
      || !td_preparation_run (window->preparation, queue, chunk->data, row0, end - row0, NULL,
                              run->cancellable, error)
      || (window->filter
          && !td_cone_filter_run (window->filter, queue, chunk->data, row0, end - row0, error))
      || !record (window, queue, error))
    return FALSE;
  chunk->filtered = TRUE;
  window->filtered_bytes += (double) (end - row0) * facts->n_views * facts->n_columns * sizeof (float);
  return TRUE;
}

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

  if (!window->preparation && !open_filter (window, error))
    return FALSE;
  chunks_of (run->fdk, slab, &first, &end);
  g_mutex_lock (&run->lock);
  window->need0 = first;
  window->need_end = end;
  g_cond_broadcast (&run->changed);
  g_mutex_unlock (&run->lock);
  for (guint i = first; i < end; i++) {
    if (!wait_for (window, i))
      return FALSE;
    if (!window->chunks[i].filtered && !filter_chunk (window, queue, i, error))
      return FALSE;
  }
  return TRUE;
}

gboolean
td_fdk_window_gather (TdFdkWindow *window, TdQueue *queue, const TdFdkBatch *batch, guint row0,
                      guint n_rows, TdBuffer *to, GError **error)
{
  const TdFdkPlan *fdk = window->device->run->fdk;
  const guint step = fdk->filter_rows;

  for (guint i = row0 / step; i * step < row0 + n_rows; i++) {
    guint chunk_row0, chunk_end, own;
    rows_of (window, i, &chunk_row0, &chunk_end, &own);
    const guint from = MAX (i * step, row0), end = MIN ((i + 1) * step, row0 + n_rows);
    const TdRowsGather params = {
      .n_columns = (int) fdk->task.n_columns,
      .n_views = (int) fdk->task.n_views,
      .from_row = (int) (fdk->row0 + from - chunk_row0),
      .n_rows = (int) (end - from),
      .to_row = (int) (from - row0),
      .to_rows = (int) n_rows,
      .n_places = (int) batch->n,
      .first_view = (int) batch->first,
      .in_turn = (int) batch->in_turn,
      .views_a_turn = (int) batch->a_turn,
    };
    const guint local[3] = { 64, 1, 1 };
    const guint groups[3] = { (fdk->task.n_columns + 63) / 64, batch->n, end - from };
    const TdArg args[] = { TD_ARG_BUFFER (window->chunks[i].data), TD_ARG_BUFFER (to),
                           TD_ARG_VALUE (params) };
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

gboolean
td_fdk_window_report (TdFdkWindow *window, TdQueue *queue, GError **error)
{
  TdFdkDevice *device = window->device;
  TdPreparationCounts counts;
  double sum;

  if (!window->preparation)
    return TRUE;
  if (!td_preparation_counts (window->preparation, queue, &counts, error))
    return FALSE;
  td_job_add_counts (device->run->job, &counts);
  if (!td_fdk_device_spans (device, "filter", window->events, &sum, error))
    return FALSE;
  td_job_add_stage (device->run->job, "filter", sum);
  g_autofree char *key = td_fdk_filter_rate_key (device->device);
  if (sum > 0)
    td_engine_set_rate (device->run->plan->engine, key, window->filtered_bytes / sum);
  return TRUE;
}
