/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "compute/cone/cone-filter.h"
#include "compute/prepare/prepare.h"
#include "fdk-run.h"
#include "kernels/params.h"

/* Rows on a device, a chunk of some at a time. The feeding thread brings raw ones in the order in
   which the slabs will want them, as far ahead as there is memory, and has them prepared and filtered in
   place on a queue that goes before the computing one: what the filter wants of a card, its memory's
   speed, is just what the kernels leave. */
typedef struct {
  TdBuffer *data;    /* [row][view][column], halo included; NULL: not here */
  TdEvent *sent, *filtered;
  gboolean here;     /* all is enqueued, @filtered is set */
} Chunk;

struct TdFdkWindow {
  TdFdkDevice *device;
  /* The feeding thread's. */
  TdFdkRing ring;
  TdQueue *queue;            /* the filter's */
  GQueue raw;                /* chunks that have been sent only: GUINT_TO_POINTER (index) */
  TdEvent *before;           /* the next chunk to send takes the memory of one that was filtered then */
  float *block;              /* files: many rows read at once */
  guint block_row0, block_rows;
  GPtrArray *memory;         /* TdBuffer, all that the chunks have had; owned */
  GArray *events;            /* TdEvent *, pairs around the filter */
  double filtered_bytes;
  /* The computing thread makes these while the first rows are sent; the filter is the feeding one's then. */
  TdPreparation *preparation;
  TdConeFilter *filter;
  TdProgram *program;
  TdKernel *gather;
  /* Both, under the run's lock. */
  gboolean opened;           /* those are there */
  Chunk *chunks;
  guint need0, need_end;     /* chunks that the slab being computed sees */
  GQueue idle;               /* TdBuffer that no chunk has */
  TdEvent *passed;           /* on the computing queue: what was there of earlier slabs has been used */
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
  g_queue_init (&window->raw);
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
  g_free (window->block);
  g_free (window->chunks);
  g_free (window);
}

/* ── Which chunk when ─────────────────────────────────────────────────────────────────────────── */

static void
chunks_of (const TdFdkPlan *fdk, guint slab, guint *first, guint *end)
{
  *first = fdk->cuts[slab].row0 / fdk->filter_rows;
  *end = (fdk->cuts[slab].row_end + fdk->filter_rows - 1) / fdk->filter_rows;
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

/* The device's own slabs that nobody has taken yet, from @slab on. FALSE: there are no more. Under the
   lock, as the three below. */
static gboolean
next_slab (const TdFdkWindow *window, guint *slab)
{
  const TdFdkRun *run = window->device->run;
  const guint end = run->fdk->own[window->device->index + 1];

  while (*slab < end && run->slabs[*slab].taken)
    (*slab)++;
  return *slab < end;
}

/* The next chunk that is not here: of the slab being computed, else of the next ones, as far as a slab
   ahead: what a device does not want soon may be kept from another that does. */
static gboolean
next_chunk (const TdFdkWindow *window, guint *index, gboolean *urgent)
{
  *urgent = TRUE;
  for (*index = window->need0; *index < window->need_end; (*index)++)
    if (!window->chunks[*index].data)
      return TRUE;
  *urgent = FALSE;
  const TdFdkPlan *fdk = window->device->run->fdk;
  guint ahead = 0;
  for (guint slab = fdk->own[window->device->index]; ahead <= fdk->slab && next_slab (window, &slab);
       ahead += fdk->cuts[slab++].n_slices) {
    guint end;
    for (chunks_of (fdk, slab, index, &end); *index < end; (*index)++)
      if (!window->chunks[*index].data)
        return TRUE;
  }
  return FALSE;
}

/* How far away the slab is that wants the chunk next. */
static guint
wanted_in (const TdFdkWindow *window, guint index)
{
  const guint own = window->device->run->fdk->own[window->device->index];

  if (index >= window->need0 && index < window->need_end)
    return 0;
  for (guint slab = own; next_slab (window, &slab); slab++) {
    guint first, end;
    chunks_of (window->device->run->fdk, slab, &first, &end);
    if (index >= first && index < end)
      return slab - own + 1;
  }
  return G_MAXUINT;
}

/* A chunk whose memory may go to another: one that no slab wants any more, or, if it must be, the one
   that is wanted last. */
static Chunk *
dispensable (const TdFdkWindow *window, gboolean urgent)
{
  const guint n = window->device->run->fdk->n_chunks;
  Chunk *spare = NULL;
  guint latest = 0;

  for (guint i = 0; i < n && latest < G_MAXUINT; i++) {
    if (!window->chunks[i].here)
      continue;
    const guint wanted = wanted_in (window, i);
    if (wanted == G_MAXUINT || (urgent && wanted > latest)) {
      spare = &window->chunks[i];
      latest = wanted;
    }
  }
  return spare;
}

/* Waits for a chunk to send, or, if some wait for the filter, for that. FALSE: nothing more will come. */
static gboolean
choose (TdFdkWindow *window, guint *index, gboolean *send)
{
  TdFdkDevice *device = window->device;
  TdFdkRun *run = device->run;
  gboolean found = FALSE, urgent;

  *send = FALSE;
  g_mutex_lock (&run->lock);
  while (!found && !device->computed_all && !td_fdk_device_stopped (device)) {
    Chunk *spare = NULL;
    if (window->opened && !g_queue_is_empty (&window->raw)) {
      *index = GPOINTER_TO_UINT (g_queue_pop_head (&window->raw));
      found = TRUE;
      break;
    }
    *send = found = next_chunk (window, index, &urgent);
    if (found && g_queue_is_empty (&window->idle)
        && window->memory->len >= run->fdk->window_chunks) {
      spare = dispensable (window, urgent);
      *send = found = spare != NULL;
    }
    if (spare) {
      g_queue_push_tail (&window->idle, spare->data);
      td_event_free (spare->sent);
      td_event_free (window->before);
      window->before = spare->filtered;
      *spare = (Chunk) { NULL };
    }
    if (!found)
      g_cond_wait (&run->changed, &run->lock);
  }
  if (*send)
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
    /* Downwards, or upwards where the slabs go that way. */
    const guint rows = MIN (fdk->block_rows, facts->n_rows);
    const gboolean upwards = window->block_rows > 0 && row0 < window->block_row0;
    window->block_row0 = upwards ? end - MIN (end, rows) : row0;
    window->block_rows = MIN (rows, facts->n_rows - window->block_row0);
    if (!window->block) {
      g_set_error (error, TD_ERROR, TD_ERROR_IO,
                   "Not enough host memory to read %u rows at once; set a memory limit.",
                   fdk->block_rows);
      return FALSE;
    }
    if (!td_fdk_read (run, window->device->index, window->block_row0, window->block_rows, window->block,
                      error)) {
      window->block_rows = 0;
      return FALSE;
    }
  }
  memcpy (to, window->block + (row0 - window->block_row0) * row, (end - row0) * row * sizeof *to);
  return TRUE;
}

/* Enqueues the raw rows of a chunk. Its memory may have had another, which was filtered, though perhaps
   for nobody, and used until @passed. */
static gboolean
send_chunk (TdFdkWindow *window, guint index, GError **error)
{
  TdFdkRun *run = window->device->run;
  Chunk *chunk = &window->chunks[index];
  const TdScanFacts *facts = td_scan_facts (run->plan->scan);
  const guint64 row = (guint64) facts->n_views * facts->n_columns * sizeof (float);
  const gboolean used = chunk->data != NULL;
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
  gboolean ok = !used || !window->passed || td_event_wait (window->ring.queue, window->passed, error);
  ok = ok && (!used || td_event_wait (window->ring.queue, window->before, error));
  g_mutex_unlock (&run->lock);
  if (!ok || !td_fdk_ring_send (&window->ring, chunk->data, 0, (end - row0) * row, error))
    return FALSE;
  chunk->sent = td_event_record (window->ring.queue, error);
  if (!chunk->sent)
    return FALSE;
  g_queue_push_tail (&window->raw, GUINT_TO_POINTER (index));
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

  const gboolean quads = fdk->task.n_columns % 4 == 0;
  window->program
      = td_program_build (device, "rows-gather", (const char *[]) { quads ? "QUADS" : NULL, NULL }, error);
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
record (TdFdkWindow *window, GError **error)
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
  Chunk *chunk = &window->chunks[index];
  TdQueue *queue = window->queue;
  guint row0, end, own;

  rows_of (window, index, &row0, &end, &own);
  if (!td_event_wait (queue, chunk->sent, error) || !record (window, error)
      || !td_preparation_run (window->preparation, queue, chunk->data, row0, end - row0, NULL,
                              run->cancellable, error)
      || (window->filter
          && !td_cone_filter_run (window->filter, queue, chunk->data, row0, end - row0, error))
      || !record (window, error))
    return FALSE;
  TdEvent *filtered = td_event_record (queue, error);
  if (!filtered)
    return FALSE;
  window->filtered_bytes += (double) (end - row0) * facts->n_views * facts->n_columns * sizeof (float);
  g_mutex_lock (&run->lock);
  chunk->filtered = filtered;
  chunk->here = TRUE;
  g_cond_broadcast (&run->changed);
  g_mutex_unlock (&run->lock);
  return TRUE;
}

/* Counts and times for the job. */
static gboolean
report (TdFdkWindow *window, GError **error)
{
  TdFdkDevice *device = window->device;
  TdPreparationCounts counts;
  double sum;

  if (!window->opened)
    return TRUE;
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
  while (choose (window, &index, &send))
    if (!(send ? send_chunk : filter_chunk) (window, index, error))
      return FALSE;
  g_mutex_lock (&run->lock);
  const gboolean stopped = td_fdk_device_stopped (device);
  g_mutex_unlock (&run->lock);
  return stopped || report (window, error);
}

/* ── For the computing thread ─────────────────────────────────────────────────────────────────── */

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

  if (!window->gather && !open_filter (window, error))
    return FALSE;
  chunks_of (run->fdk, slab, &first, &end);
  g_mutex_lock (&run->lock);
  window->opened = TRUE;
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
    guint chunk_row0, chunk_end, own;
    rows_of (window, i, &chunk_row0, &chunk_end, &own);
    const guint from = MAX (i * step, row0), end = MIN ((i + 1) * step, row0 + n_rows);
    const TdRowsGather params = {
      .n_columns = (int) wide,
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
    const guint local[3] = { 64, 4, 1 };
    const guint groups[3] = { (wide + 63) / 64, (batch->n + 3) / 4, end - from };
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
