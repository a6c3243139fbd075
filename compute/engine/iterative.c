/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "iterative.h"

#include <string.h>

#include "compute/prepare/prepare.h"
#include "engine-private.h"
#include "fdk.h"
#include "scan-rows.h"

/* Shorter runs are not measured well enough to be remembered. */
#define LEAST_S 0.2

/* ── Running ──────────────────────────────────────────────────────────────────────────────────── */

typedef struct {
  TdJob *job;
  const TdPlan *plan;
  const TdIterativePlan *self;
  TdDevice *device;
  GCancellable *cancellable;
  TdConeTask task;        /* of the slab */
  guint row0, n_rows;     /* of it */
  TdRayProjector *rays;
  TdIterativeBeginning *beginning; /* NULL: zeros */
  guint slab;
  double residual;        /* the last pass's */
  guint passes;
  TdSolverEnd end;
} Run;

static double
seconds_since (gint64 start)
{
  return (g_get_monotonic_time () - start) * 1e-6;
}

/* Detector rows [row, row + n), prepared, to their places in @measured. */
static gboolean
load_chunk (Run *run, TdPreparation *preparation, TdBuffer *rows, float *staging, guint row, guint n,
            TdBuffer *measured, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (run->plan->scan);
  const guint halo = run->self->halo;
  const guint first = row - MIN (row, halo), end = MIN (facts->n_rows, row + n + halo);
  const guint64 bytes = (guint64) (end - first) * facts->n_views * facts->n_columns * sizeof (float);
  TdQueue *queue = td_rays_queue (run->rays);
  TdPreparationCounts counts;
  gint64 start = g_get_monotonic_time ();

  if (!td_scan_rows (run->plan->scan, first, end - first, staging, run->cancellable, error))
    return FALSE;
  td_job_add_stage (run->job, "read", seconds_since (start));
  start = g_get_monotonic_time ();
  if (!td_upload (queue, rows, 0, staging, bytes, error)
      || !td_preparation_run (preparation, queue, rows, first, end - first, NULL, run->cancellable, error)
      || !td_preparation_counts (preparation, queue, &counts, error)
      || !td_rays_take (run->rays, rows, first, row, run->row0, n, measured, error)
      || !td_queue_finish (queue, error))
    return FALSE;
  td_job_add_counts (run->job, &counts);
  td_job_add_stage (run->job, "prepare", seconds_since (start));
  return TRUE;
}

static TdBuffer *
load (Run *run, GError **error)
{
  const TdIterativePlan *self = run->self;
  const TdPlan *plan = run->plan;
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  const guint most = MIN (facts->n_rows, self->chunk_rows + 2 * self->halo);
  g_autoptr (TdFlats) flats = td_engine_flats (plan->engine, plan->scan);
  g_autoptr (TdPreparation) preparation
      = td_preparation_new (run->device, plan->scan, flats, plan->recipe.steps, plan->recipe.n_steps, most,
                            error);
  g_autoptr (TdBuffer) measured
      = preparation ? td_rays_projections_new (run->rays, facts->n_views, error) : NULL;
  g_autoptr (TdBuffer) rows
      = measured ? td_buffer_new (run->device, td_iterative_chunk_bytes (plan), error) : NULL;
  float *staging = rows ? td_device_host_alloc (run->device, td_iterative_chunk_bytes (plan), error) : NULL;
  gboolean ok = staging != NULL;

  for (guint row = run->row0; ok && row < run->row0 + run->n_rows; row += self->chunk_rows)
    ok = !g_cancellable_set_error_if_cancelled (run->cancellable, error)
         && load_chunk (run, preparation, rows, staging, row,
                        MIN (self->chunk_rows, run->row0 + run->n_rows - row), measured, error);
  td_queue_finish (td_rays_queue (run->rays), NULL);
  if (staging)
    td_device_host_free (run->device, staging);
  return ok ? g_steal_pointer (&measured) : NULL;
}

static void
on_pass (guint pass, double residual, gpointer user)
{
  Run *run = user;

  run->residual = residual;
  run->passes = pass;
  td_job_add_pass (run->job, residual);
}

static gboolean
on_progress (double updates, gpointer user)
{
  Run *run = user;

  td_job_add_updates (run->job, updates);
  return !td_job_ends_early (run->job);
}

/* The slab's part of what iterations begin with. */
static gboolean
begin (TdBuffer *volume, gpointer user, GError **error)
{
  Run *run = user;
  const TdConeTask *task = &run->task;
  const TdSolverSettings *settings = &run->self->settings;
  const gsize slice = (gsize) task->nx * task->ny * sizeof (float);
  const guint at_once = CLAMP (TD_ITERATIVE_GIVE_BYTES / slice, 1, task->nz);
  const double least = settings->kind != TD_SOLVER_CGLS && settings->non_negative ? 0 : -G_MAXFLOAT;
  g_autoptr (TdBuffer) slices = td_buffer_new (run->device, at_once * slice, error);
  float *staging = slices ? td_device_host_alloc (run->device, at_once * slice, error) : NULL;
  TdQueue *queue = td_rays_queue (run->rays);
  gboolean ok = staging != NULL;

  for (guint z = 0; ok && z < task->nz; z += at_once) {
    const guint n = MIN (at_once, task->nz - z), first[3] = { 0, 0, z }, size[3] = { task->nx, task->ny, n };

    ok = !g_cancellable_set_error_if_cancelled (run->cancellable, error)
         && td_iterative_beginning_read (run->beginning, run->slab * run->self->slab_rows + z, n, staging, error)
         && td_upload (queue, slices, 0, staging, n * slice, error)
         && td_rays_put (run->rays, slices, first, size, least, volume, error)
         && td_queue_finish (queue, error);
  }
  td_queue_finish (queue, NULL);
  if (staging)
    td_device_host_free (run->device, staging);
  return ok;
}

static void
release (float *slices, gpointer user)
{
  g_free (slices);
}

/* What was asked for of the volume, from its slice @z on; @first counts from the plan's first slice. */
static gboolean
give (Run *run, TdBuffer *volume, guint z, guint n, guint first, GError **error)
{
  const TdIterativePlan *self = run->self;
  const guint at_once = td_iterative_give_slices (self);
  const gsize slice = (gsize) self->size[0] * self->size[1] * sizeof (float);
  g_autoptr (TdBuffer) slices = td_buffer_new (run->device, MIN (at_once, n) * slice, error);
  TdQueue *queue = td_rays_queue (run->rays);

  if (!slices)
    return FALSE;
  for (guint done = 0; done < n; done += at_once) {
    const guint count = MIN (at_once, n - done);
    const guint from[3] = { self->first[0], self->first[1], z + done };
    const guint size[3] = { self->size[0], self->size[1], count };
    float *out = g_try_malloc (count * slice);

    if (!out) {
      g_set_error (error, TD_ERROR, TD_ERROR_TOO_LARGE, "Not enough memory for %u slices to be written; "
                   "close other programs or take a smaller --region", count);
      return FALSE;
    }
    if (g_cancellable_set_error_if_cancelled (run->cancellable, error)
        || !td_rays_give (run->rays, volume, from, size, slices, error)
        || !td_download (queue, out, slices, 0, count * slice, error)
        || !td_queue_finish (queue, error)) {
      td_queue_finish (queue, NULL);
      g_free (out);
      return FALSE;
    }
    if (!td_job_emit (run->job, first + done, count, out, release, NULL, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
reconstruct_slab (Run *run, GError **error)
{
  const TdIterativePlan *self = run->self;
  const TdSolverSettings *settings = &self->settings;
  const TdSolverWatch watch = { run->beginning ? begin : NULL, on_pass, on_progress, run };
  g_autofree guint *order = td_solver_order (run->task.n_views, settings->subsets);

  run->rays = td_rays_new (run->device, &run->task, order, error);
  g_autoptr (TdBuffer) measured = run->rays ? load (run, error) : NULL;
  const gint64 start = g_get_monotonic_time ();
  g_autoptr (TdBuffer) volume
      = measured ? td_solver_run (run->rays, &run->task, settings, measured, &watch, &run->end,
                                  run->cancellable, error)
                 : NULL;

  if (!volume)
    return FALSE;
  td_job_add_stage (run->job, "iterate", seconds_since (start));
  return self->slabs ? give (run, volume, 0, run->n_rows, run->slab * self->slab_rows, error)
                     : give (run, volume, self->first[2], self->size[2], 0, error);
}

static void
report (Run *run, double seconds)
{
  const TdSolverSettings *settings = &run->self->settings;
  g_autofree char *key = td_iterative_rate_key (run->plan);
  g_autofree char *family = g_strdup_printf ("Joseph's rays, %u subsets", settings->subsets);

  td_job_set_family (run->job, family);
  static const char *const ends[] = {
    [TD_SOLVER_ALL] = "",
    [TD_SOLVER_SMALL] = ", which is small enough (--stop-at)",
    [TD_SOLVER_SETTLED] = ", which no longer changes (--tolerance)",
    [TD_SOLVER_ASKED] = ", and were ended there as asked",
  };
  td_job_note (run->job, "%u iterations left a relative residual of %.4f%s.", run->passes, run->residual,
               ends[run->end]);
  if (seconds > LEAST_S && run->passes == settings->iterations)
    td_engine_set_rate (run->plan->engine, key, run->plan->facts.updates / seconds);
}

static gboolean
run_iterative (TdJob *job, GCancellable *cancellable, GError **error)
{
  TdPlan *plan = td_job_plan (job);
  Run run = { .job = job, .plan = plan, .self = plan->extra, .device = plan->devices->pdata[0],
              .cancellable = cancellable };
  const gint64 start = g_get_monotonic_time ();
  const gint64 staged = (gint64) td_iterative_chunk_bytes (plan);
  GError *reason = NULL;

  run.beginning = td_iterative_begin (job, cancellable, &reason);
  gboolean ok = reason == NULL;
  if (reason)
    g_propagate_error (error, reason);
  td_job_add_host_bytes (job, staged);
  for (guint slab = 0; ok && slab < run.self->n_slabs; slab++) {
    td_iterative_task (plan, slab, &run.task, &run.row0, &run.n_rows);
    run.slab = slab;
    ok = reconstruct_slab (&run, error);
    g_clear_pointer (&run.rays, td_rays_free);
    td_cone_task_clear (&run.task);
  }
  td_job_add_host_bytes (job, -staged);
  td_iterative_beginning_free (run.beginning);
  if (ok)
    report (&run, seconds_since (start));
  return ok;
}

/* ── The methods ──────────────────────────────────────────────────────────────────────────────── */

static const char *
unsupported (const TdScanFacts *facts, const TdRecipe *recipe)
{
  if (facts->filtered)
    return "The scan's projections are filtered already, and iterative methods compare with what was "
           "measured; take --method fdk";
  if (recipe->precision != TD_PRECISION_SINGLE)
    return "Iterative methods compute in single precision; leave --precision out";
  if (recipe->interpolation != TD_INTERPOLATION_LINEAR)
    return "Iterative methods interpolate linearly; leave --interpolation out";
  if (strcmp (recipe->family, "auto") != 0)
    return "Iterative methods have one way of projecting; leave --kernel out";
  return NULL;
}

static const char *
parallel_unsupported (const TdScanFacts *facts, const TdRecipe *recipe)
{
  return facts->geometry.beam == TD_BEAM_PARALLEL ? unsupported (facts, recipe) : "not a parallel beam";
}

static const char *
cone_unsupported (const TdScanFacts *facts, const TdRecipe *recipe)
{
  const char *reason = unsupported (facts, recipe);

  /* What matrices say already is told so there. */
  return reason || facts->geometry.beam == TD_BEAM_PARALLEL ? reason : td_fdk_unsupported (facts, recipe);
}

#define METHOD(symbol, title, number)                                                              \
  const TdMethod td_method_##symbol##_parallel = {                                                 \
    .name = title,                                                                                 \
    .kind = number,                                                                                \
    .by_name = TRUE,                                                                               \
    .unsupported = parallel_unsupported,                                                           \
    .plan = td_iterative_plan,                                                                     \
    .run = run_iterative,                                                                          \
  };                                                                                               \
  const TdMethod td_method_##symbol##_cone = {                                                     \
    .name = title,                                                                                 \
    .kind = number,                                                                                \
    .by_name = TRUE,                                                                               \
    .unsupported = cone_unsupported,                                                               \
    .n_slices = td_fdk_n_slices,                                                                   \
    .stated_centre = td_fdk_stated_centre,                                                         \
    .plan = td_iterative_plan,                                                                     \
    .run = run_iterative,                                                                          \
  };

METHOD (sirt, "sirt", TD_METHOD_SIRT)
METHOD (fista_tv, "fista-tv", TD_METHOD_FISTA_TV)
METHOD (cgls, "cgls", TD_METHOD_CGLS)
