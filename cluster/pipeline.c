/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pipeline.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "compute/device/host.h"
#include "dataset/error.h"
#include "dataset/tiff-save.h"
#include "chain.h"
#include "gather.h"
#include "reduce.h"

/* Slices are noted as done once they are on the disk, which is asked for this often. */
#define NOTE_US (2 * G_USEC_PER_SEC)
/* In the order of views a rank begins what the rank before it has ended: a slab, or a band of its
   rows (chain.h). So the last one waits for such a piece of each rank before it. Cards make so many
   slabs for each of those. The host, whose kernel takes long for thin slabs, makes bands, so many
   in all. */
#define TURNS 10
#define BAND_TURNS 20
#define WORTH_TELLING 0.15
/* Threads that write segments to a stack, where a thread writes a slice; one writes to one file. */
#define STORES 6

/* One call of td_pipeline_run(). */
typedef struct {
  TdPipeline *pipeline;
  TdGridShare slices;
  const char *preview;
  TdPlan *plan;
  TdJob *job;
  TdChain *chain; /* in the order of views; NULL: no other rank adds */
  TdReduce *reduce;
  TdGather *gather;          /* NULL: the job filters what its slices see */
  GCancellable *cancellable; /* by the first failure, too */

  GMutex lock;     /* of all below */
  GArray *written; /* TdGridShare: not noted yet */
  gint64 noted_us;
  guint storing;     /* threads that write now */
  gint64 storing_us; /* since when there are some */
  double store_s;    /* that some wrote */
  gboolean says;     /* some value was finite and not 0 */
  GError *error;     /* the first */
} Run;

/* ── Failures ── */

static void
run_fail (Run *run, GError *error)
{
  g_mutex_lock (&run->lock);
  if (!run->error && !g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    run->error = g_steal_pointer (&error);
  g_mutex_unlock (&run->lock);
  g_clear_error (&error);
  g_cancellable_cancel (run->cancellable);
}

static void
forward_cancel (GCancellable *from, gpointer to)
{
  g_cancellable_cancel (to);
}

/* ── Computing ── */

/* Whether sums come to this rank. */
static gboolean
run_writes (const Run *run)
{
  return !run->chain || td_chain_is_last (run->chain);
}

static void
run_take_slices (guint first, guint count, const float *slices, gpointer user)
{
  Run *run = user;
  const TdRowRange all = { 0, td_plan_facts (run->plan)->ny };
  GError *error = NULL;

  if ((run->chain
       && !td_chain_pass (first, count, all, (float *) slices, run->cancellable, &error,
                          run->chain))
      || (run_writes (run)
          && !td_reduce_put (run->reduce, first, count, slices, run->cancellable, &error)))
    run_fail (run, error);
}

/* The chain's thread. */
static gpointer
run_exchange (gpointer user)
{
  Run *run = user;
  GError *error = NULL;

  if (!td_chain_run (run->chain, run->cancellable, &error))
    run_fail (run, error);
  return NULL;
}

static gpointer
run_compute (gpointer user)
{
  Run *run = user;
  GError *error = NULL;

  if (!td_job_run (run->job, run->cancellable, &error))
    run_fail (run, error);
  return NULL;
}

/* ── Writing ── */

/* What was written is on the disk: rank 0 notes it. */
static gboolean
run_note_written (Run *run, GError **error)
{
  g_autoptr (GArray) written = NULL;

  g_mutex_lock (&run->lock);
  written = g_steal_pointer (&run->written);
  run->written = g_array_new (FALSE, FALSE, sizeof (TdGridShare));
  run->noted_us = g_get_monotonic_time ();
  g_mutex_unlock (&run->lock);
  if (written->len > 0 && !td_volume_writer_sync (run->pipeline->volume, error))
    return FALSE;
  for (guint i = 0; i < written->len; i++) {
    const TdGridShare *part = &g_array_index (written, TdGridShare, i);
    td_watch_part (run->pipeline->watch, part->first, part->count);
  }
  return TRUE;
}

static gboolean
run_write_preview (Run *run, const float *slice, GError **error)
{
  const TdPlanFacts *facts = td_plan_facts (run->plan);
  const TdTiffImage image = { facts->nx, facts->ny, TD_SAMPLE_FLOAT32, facts->pixel_mm, NULL };
  g_autofree char *part = g_strconcat (run->preview, ".part", NULL);

  if (!td_tiff_save_single (part, run->preview, &image, slice, error))
    return FALSE;
  if (g_rename (part, run->preview) == 0)
    return TRUE;
  return td_set_error (error, TD_ERROR_IO, "“%s” cannot be written", run->preview);
}

static gboolean
run_says (const float *values, gsize n)
{
  for (gsize i = 0; i < n; i++)
    if (isfinite (values[i]) && values[i] != 0)
      return TRUE;
  return FALSE;
}

/* The time counts once in which several threads write. */
static void
run_count_store (Run *run, gboolean begins)
{
  g_mutex_lock (&run->lock);
  if (begins && run->storing++ == 0)
    run->storing_us = g_get_monotonic_time ();
  if (!begins && --run->storing == 0)
    run->store_s += (g_get_monotonic_time () - run->storing_us) * 1e-6;
  g_mutex_unlock (&run->lock);
}

/* Slices of the volume, which are noted now and then. */
static gboolean
run_write_part (Run *run, const TdGridShare *part, const float *slices, GError **error)
{
  if (!td_volume_writer_write (run->pipeline->volume, part->first, part->count, slices, error))
    return FALSE;
  g_mutex_lock (&run->lock);
  g_array_append_val (run->written, *part);
  const gboolean note = g_get_monotonic_time () - run->noted_us > NOTE_US;
  g_mutex_unlock (&run->lock);
  return !note || run_note_written (run, error);
}

static gboolean
run_write (Run *run, const TdReduceSum *sum, GError **error)
{
  const TdGridShare part = { run->slices.first + sum->first, sum->count };
  const TdPlanFacts *facts = td_plan_facts (run->plan);
  gboolean ok;

  run_count_store (run, TRUE);
  g_mutex_lock (&run->lock);
  const gboolean said = run->says;
  g_mutex_unlock (&run->lock);
  if (!said && run_says (sum->slices, (gsize) sum->count * facts->ny * facts->nx)) {
    g_mutex_lock (&run->lock);
    run->says = TRUE;
    g_mutex_unlock (&run->lock);
  }
  if (run->preview) {
    ok = run_write_preview (run, sum->slices, error);
    g_autofree char *name = g_path_get_basename (run->preview);
    g_autofree char *path = g_build_filename ("preview", name, NULL);
    if (ok)
      td_watch_slice (run->pipeline->watch, run->slices.first, path);
  } else {
    ok = run_write_part (run, &part, sum->slices, error);
  }
  run_count_store (run, FALSE);
  return ok;
}

static gpointer
run_store (gpointer user)
{
  Run *run = user;
  TdReduceSum sum;
  GError *error = NULL;

  while (td_reduce_next (run->reduce, &sum, run->cancellable)) {
    if (!run_write (run, &sum, &error)) {
      run_fail (run, error);
      return NULL;
    }
    td_reduce_written (run->reduce, &sum);
  }
  return NULL;
}

/* ── All together ── */

/* Ranks of the column filter for each other. */
static gboolean
run_open_gather (Run *run, GError **error)
{
  const TdPipeline *pipeline = run->pipeline;
  const TdFilteredRows filtered = td_plan_filtered_rows (run->plan);
  const TdGatherSpec spec = { .column = pipeline->column,
                              .n_views = pipeline->views.count,
                              .chunk = pipeline->gathered,
                              .n_columns = filtered.n_columns,
                              .seen = filtered.rows };
  int rank, size;

  run->gather = td_gather_new (&spec, run->cancellable, error);
  if (!run->gather)
    return FALSE;
  MPI_Comm_rank (pipeline->column, &rank);
  MPI_Comm_size (pipeline->column, &size);
  const TdJobGathered gathered = { .rows = td_gather_rows (run->gather),
                                   .jobs = (guint) size,
                                   .index = (guint) rank,
                                   .put = td_gather_put,
                                   .take = td_gather_take,
                                   .user = run->gather };
  td_job_set_gathered (run->job, &gathered);
  return TRUE;
}

/* @size: ranks that take turns. */
static void
run_note_turns (const Run *run, guint size)
{
  const TdPipeline *pipeline = run->pipeline;
  const TdPlanFacts *facts = td_plan_facts (run->plan);
  const guint pieces = MAX (1, facts->n_slabs) * (facts->bands ? td_chain_bands (run->chain) : 1);
  const double waits = (size - 1.0) / pieces;

  if (run->preview || !td_chain_is_first (run->chain) || waits <= WORTH_TELLING
      || !g_hash_table_add (pipeline->told, (gpointer) "turns"))
    return;
  td_watch_note (
      pipeline->watch,
      td_message_new (
          "In the order of views %u ranks take turns with %u pieces. Computing takes about %.0f %% "
          "longer for that; a grid of more rows and fewer columns waits less.",
          size, pieces, 100 * waits));
}

/* @size: ranks that add in the order of views. */
static gboolean
run_open_chain (Run *run, guint size, GError **error)
{
  const TdPipeline *pipeline = run->pipeline;
  const TdPlanFacts *facts = td_plan_facts (run->plan);
  const guint pieces = BAND_TURNS * (size - 1), n_slabs = MAX (1, facts->n_slabs);
  const TdChainSpec spec = { .row = pipeline->row,
                             .nodes = pipeline->nodes,
                             .n_slices = facts->n_slices,
                             .ny = facts->ny,
                             .nx = facts->nx,
                             .slab_slices = facts->slab_slices,
                             .bands = facts->bands ? (pieces + n_slabs - 1) / n_slabs : 1,
                             .memory = pipeline->memory };

  run->chain = td_chain_new (&spec, run->cancellable, error);
  if (!run->chain)
    return FALSE;
  const TdJobTurns turns = { .begin = td_chain_is_first (run->chain) ? NULL : td_chain_begin,
                             .bands = td_chain_bands (run->chain),
                             .end = td_chain_is_last (run->chain) ? NULL : td_chain_pass,
                             .user = run->chain };
  td_job_set_turns (run->job, &turns);
  run_note_turns (run, size);
  return TRUE;
}

static gboolean
run_open (Run *run, GError **error)
{
  TdPipeline *pipeline = run->pipeline;
  const gboolean gathers = pipeline->column != MPI_COMM_NULL && !run->preview;
  int size = 1;

  if (pipeline->row != MPI_COMM_NULL)
    MPI_Comm_size (pipeline->row, &size);
  const TdPlanPart part = { .views = pipeline->views,
                            .first_slice = run->slices.first,
                            .n_slices = run->slices.count,
                            .gathered = gathers ? pipeline->gathered : 0,
                            .gathered_parts = pipeline->gathered_parts,
                            .least_slabs = pipeline->ordered ? TURNS * (guint) (size - 1) : 0 };
  static const int alone = 0;
  const gboolean in_order = pipeline->ordered && size > 1;

  run->plan = td_plan_new_part (pipeline->engine, pipeline->scan, pipeline->recipe, &part,
                                run->cancellable, error);
  if (!run->plan)
    return FALSE;
  run->job = td_job_new (run->plan);
  if (in_order && !run_open_chain (run, (guint) size, error))
    return FALSE;
  const TdPlanFacts *facts = td_plan_facts (run->plan);
  const gboolean adds = pipeline->row != MPI_COMM_NULL && !in_order;
  const TdReduceSpec spec = {
    .row = adds ? pipeline->row : MPI_COMM_SELF,
    .nodes = adds ? pipeline->nodes : &alone,
    .n_slices = run_writes (run) ? facts->n_slices : 0,
    .slice_floats = (gsize) facts->nx * facts->ny,
    .memory = pipeline->memory,
  };
  td_volume_writer_set_cancellable (pipeline->volume, run->cancellable);
  run->reduce = td_reduce_new (&spec);
  td_job_set_sink (run->job, run_take_slices, run);
  td_job_keep_spans (run->job);
  for (guint i = 0; !run->preview && i < spec.n_slices; i++)
    if (td_reduce_has (run->reduce, i))
      td_volume_writer_expect (pipeline->volume, run->slices.first + i, 1);
  return !gathers || run_open_gather (run, error);
}

/* Seconds until the first kernel; all, if none ran. */
static double
run_until_kernel (const Run *run, double all)
{
  guint n;
  const TdJobSpan *spans = td_job_spans (run->job, &n);

  for (guint i = 0; i < n; i++)
    if (strcmp (spans[i].stage, "back-project") == 0)
      all = MIN (all, spans[i].start_s);
  return all;
}

static gboolean
run_has_note (TdMessage *const *notes, const TdMessage *note)
{
  for (guint i = 0; notes && notes[i]; i++)
    if (strcmp (td_message_id (notes[i]), td_message_id (note)) == 0)
      return TRUE;
  return FALSE;
}

/* What the job noted besides its counts, which rank 0 adds up. Where rows are handed out, what is
   said of many is told of the first. */
static void
run_tell_notes (Run *run)
{
  TdPipeline *pipeline = run->pipeline;
  const TdJobResult *result = td_job_result (run->job);
  g_autoptr (TdJob) other = td_job_new (run->plan);

  td_preparation_counts_add (&pipeline->counts, &result->counts);
  td_job_note_counts (other, &result->counts, result->clamped_output);
  TdMessage **counted = td_job_take_notes (other);
  for (guint i = 0; result->notes && result->notes[i]; i++) {
    TdMessage *note = result->notes[i];
    if (run_has_note (counted, note)
        || !g_hash_table_add (pipeline->told, (gpointer) td_message_id (note)))
      continue;
    td_watch_note (pipeline->watch, td_message_new ("Slices %u to %u, on %s: %p", run->slices.first,
                                                    run->slices.first + run->slices.count - 1,
                                                    g_get_host_name (), td_message_ref (note)));
  }
  td_messages_free (counted);
}

static void
run_report (Run *run, double all)
{
  TdPipelineTimes *times = &run->pipeline->times;
  const TdJobResult *result = td_job_result (run->job);
  static const struct {
    const char *stage;
    gsize time;
  } stages[] = {
    { "read", G_STRUCT_OFFSET (TdPipelineTimes, read) },
    { "prepare", G_STRUCT_OFFSET (TdPipelineTimes, filter) },
    { "filter", G_STRUCT_OFFSET (TdPipelineTimes, filter) },
    { "upload", G_STRUCT_OFFSET (TdPipelineTimes, transfer) },
    { "download", G_STRUCT_OFFSET (TdPipelineTimes, transfer) },
    { "back-project", G_STRUCT_OFFSET (TdPipelineTimes, back_project) },
  };

  for (guint i = 0; i < result->n_stages; i++)
    for (guint k = 0; k < G_N_ELEMENTS (stages); k++)
      if (strcmp (result->stages[i].name, stages[k].stage) == 0)
        G_STRUCT_MEMBER (double, times, stages[k].time) += result->stages[i].seconds;
  times->reduce
      += td_reduce_seconds (run->reduce) + (run->chain ? td_chain_seconds (run->chain) : 0);
  times->gather += run->gather ? td_gather_seconds (run->gather) : 0;
  times->store += run->store_s;
  run->pipeline->says = run->pipeline->says || run->says;
  times->start += run_until_kernel (run, all);
  const guint64 exchanged = td_reduce_bytes (run->reduce)
                            + (run->chain ? td_chain_bytes (run->chain) : 0)
                            + (run->gather ? td_gather_bytes (run->gather) : 0);
  run->pipeline->peak_bytes = MAX (run->pipeline->peak_bytes, result->host_peak_bytes + exchanged);
}

/* After a failure segments may still be on their way into memory, which stays: the process ends. */
static void
run_clear (Run *run, gboolean ok)
{
  if (ok) {
    g_clear_pointer (&run->chain, td_chain_free);
    g_clear_pointer (&run->reduce, td_reduce_free);
    g_clear_pointer (&run->gather, td_gather_free);
  }
  td_volume_writer_set_cancellable (run->pipeline->volume, NULL);
  g_clear_pointer (&run->job, td_job_unref);
  g_clear_pointer (&run->plan, td_plan_unref);
  g_array_unref (run->written);
  g_object_unref (run->cancellable);
  g_clear_error (&run->error);
  g_mutex_clear (&run->lock);
}

static gboolean
run_threads (Run *run, GError **error)
{
  TdPipeline *pipeline = run->pipeline;
  const double updates = td_plan_facts (run->plan)->updates;
  GThread *compute = td_thread_start ("compute", run_compute, run, error);
  const gboolean stack = pipeline->recipe->output_format == TD_VOLUME_TIFF_STACK && !run->preview;
  GThread *stores[STORES] = { compute ? td_thread_start ("store", run_store, run, error) : NULL };
  GThread *exchange
      = stores[0] && run->chain ? td_thread_start ("exchange", run_exchange, run, error) : NULL;
  const gboolean stored = stores[0] && !run->chain == !exchange;
  GError *reason = NULL;

  for (guint i = 1; i < STORES && stored && stack; i++)
    stores[i] = td_thread_start ("store", run_store, run, NULL);
  if (!stored)
    g_cancellable_cancel (run->cancellable);
  td_watch_follow (pipeline->watch, run->job, pipeline->updates_before, pipeline->updates);
  if (stored && !td_reduce_run (run->reduce, run->cancellable, &reason))
    run_fail (run, reason);
  if (compute)
    g_thread_join (compute);
  if (exchange)
    g_thread_join (exchange);
  for (guint i = 0; i < STORES; i++)
    if (stores[i])
      g_thread_join (stores[i]);
  if (stored && !run->preview && !run->error && !run_note_written (run, &reason))
    run_fail (run, reason);
  td_watch_follow (pipeline->watch, NULL, pipeline->updates_before + updates, pipeline->updates);
  if (run->error) {
    g_propagate_error (error, g_steal_pointer (&run->error));
    return FALSE;
  }
  if (!stored || g_cancellable_set_error_if_cancelled (run->cancellable, error)
      || (run->chain && !td_chain_finish (run->chain, run->cancellable, error))
      || !td_reduce_finish (run->reduce, run->cancellable, error)
      || (run->gather && !td_gather_finish (run->gather, run->cancellable, error)))
    return FALSE;
  if (!run->preview)
    pipeline->updates_before += updates;
  return TRUE;
}

gboolean
td_pipeline_run (TdPipeline *pipeline, TdGridShare slices, const char *preview, GError **error)
{
  Run run = { .pipeline = pipeline,
              .slices = slices,
              .preview = preview,
              .cancellable = g_cancellable_new (),
              .written = g_array_new (FALSE, FALSE, sizeof (TdGridShare)),
              .noted_us = g_get_monotonic_time () };
  const gint64 start = g_get_monotonic_time ();

  g_mutex_init (&run.lock);
  const gulong handler = g_cancellable_connect (pipeline->cancellable, G_CALLBACK (forward_cancel),
                                                run.cancellable, NULL);
  const gboolean ok = run_open (&run, error) && run_threads (&run, error);
  g_cancellable_disconnect (pipeline->cancellable, handler);
  const double all = (g_get_monotonic_time () - start) * 1e-6;
  if (ok)
    run_report (&run, all);
  if (ok && !preview)
    run_tell_notes (&run);
  pipeline->times.all += all;
  run_clear (&run, ok);
  return ok;
}
