/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "compute/device/host.h"
#include "compute/prepare/prepared-rows.h"
#include "compute/engine/cone-scan.h"
#include "compute/engine/engine-private.h"
#include "compute/engine/job-private.h"
#include "dataset/scan-spool.h"
#include "iterative.h"

/* Shorter runs are not measured well enough to be remembered. */
#define LEAST_S 0.2

/* ── Running ── */

/* Keeping what a pass came to may take this part of the time. How long the first takes is guessed;
   small volumes are kept at once. */
#define KEEPING 0.05
#define KEEPING_BYTES_US 1000
#define KEEPING_SMALL_BYTES ((guint64) 64 << 20)

typedef struct {
  TdJob *job;
  const TdPlan *plan;
  const TdIterativePlan *self;
  GCancellable *cancellable;
  GPtrArray *devices; /* those that have not failed */
  TdIterativeCut cut; /* how they share the slab */
  TdConeTask task;    /* of the slab */
  guint slab, row0, n_rows;
  TdDevice *device; /* who holds the projections */
  TdRayGroup *group;
  guint failed;       /* the member for want of whom there is none */
  TdBuffer *measured; /* NULL: in the store */
  TdRayStore *store;
  TdScan *scan;                    /* that is read */
  TdIterativeBeginning *beginning; /* NULL: zeros */
  TdIterativeMomentum *momentum;
  float *kept; /* [slice][y][x]: what kept_passes passes came to; NULL: there is no room */
  guint kept_passes;
  double kept_residual, unkept_updates; /* and what has been computed since */
  gint64 kept_us, keeping_us;           /* when, and how long it took */
  double residual;                      /* the last pass's */
  guint passes;                         /* of the slab, over all attempts */
  double seconds;                       /* of iterating */
  TdSolverEnd end;
} Run;

static double
seconds_since (gint64 start)
{
  return (g_get_monotonic_time () - start) * 1e-6;
}

/* What was measured. */
static void
iterative_forget (Run *run)
{
  g_clear_pointer (&run->measured, td_buffer_free);
  g_clear_pointer (&run->store, td_ray_store_free);
}

/* Prepared rows of the host to their place in the store. */
static gboolean
store_rows (Run *run, const TdPreparationRows *left, TdRowRange chunk, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (run->scan);
  const float *values = td_buffer_map (left->data);
  const gsize row_floats = (gsize) facts->n_views * facts->n_columns;

  return td_ray_store_take (run->store, values + (chunk.first - left->row0) * row_floats,
                            chunk.first - run->row0, chunk.count, error);
}

/* A chunk of detector rows, prepared, to its place in what was measured, or to the store. All rows
   that are read are prepared: a row must come out as it does in filtered back-projection. */
static gboolean
load_chunk (Run *run, TdPreparedRows *rows, TdRowRange chunk, GError **error)
{
  const TdRowRange needed = td_prepared_rows_needed (rows, chunk);
  const TdPreparationRows *left = td_prepared_rows_left (rows);
  TdRayProjector *lead = td_ray_group_lead (run->group);
  TdPreparationCounts counts;
  gint64 start = g_get_monotonic_time ();

  if (!td_prepared_rows_read (rows, needed, run->cancellable, error))
    return FALSE;
  td_job_add_stage (run->job, N_ ("read"), seconds_since (start));
  start = g_get_monotonic_time ();
  td_prepared_rows_set_counted (rows, chunk);
  if (!td_prepared_rows_run (rows, needed, run->cancellable, error)
      || !td_prepared_rows_counts (rows, &counts, error)
      || !td_preparation_counts_check (&counts, error)
      || (run->measured
          && !td_rays_take (lead, left->data, left->row0, chunk, run->row0, run->measured, error))
      || !td_queue_finish (td_rays_queue (lead), error)
      || (!run->measured && !store_rows (run, left, chunk, error)))
    return FALSE;
  td_job_add_counts (run->job, &counts);
  td_job_add_stage (run->job, N_ ("prepare"), seconds_since (start));
  return TRUE;
}

static gboolean
iterative_load (Run *run, const guint *order, GError **error)
{
  const TdIterativePlan *self = run->self;
  const TdPlan *plan = run->plan;
  const TdRecipe *recipe = &plan->recipe;
  const TdScanFacts *facts = td_scan_facts (run->scan);
  const guint end = run->row0 + run->n_rows;
  g_autoptr (TdFlats) flats = td_engine_flats (plan->engine, run->scan);
  const TdRowSource source = { run->device, run->scan, flats, recipe->steps, recipe->n_steps };
  TdRayProjector *lead = td_ray_group_lead (run->group);

  if (run->cut.in_file)
    run->store = td_ray_store_new (lead, &run->task, order, self->chunk_rows,
                                   td_solver_most_views (facts->n_views, &self->settings), error);
  else
    run->measured = td_ray_group_lines_new (run->group, facts->n_views, error);
  g_autoptr (TdPreparedRows) rows
      = run->store || run->measured
            ? td_prepared_rows_new (&source, td_rays_queue (lead),
                                    MIN (facts->n_rows, self->chunk_rows + 2 * self->halo), 0,
                                    error)
            : NULL;
  gboolean ok = rows != NULL;

  for (guint row = run->row0; ok && row < end; row += self->chunk_rows)
    ok = !g_cancellable_set_error_if_cancelled (run->cancellable, error)
         && load_chunk (run, rows, (TdRowRange) { row, MIN (self->chunk_rows, end - row) }, error);
  if (self->spool != TD_CONE_SPOOL_NONE)
    td_scan_spool_drop (run->scan);
  if (!ok) {
    td_queue_finish (td_rays_queue (lead), NULL);
    iterative_forget (run);
  }
  return ok;
}

/* Devices fail, and what they have goes with them. */
static gboolean
iterative_keep (Run *run, TdGroupVolume *volume, GError **error)
{
  const TdConeTask *task = &run->task;
  const gsize slice = (gsize) task->nx * task->ny;
  const guint at_once = td_iterative_portion (run->self, task->nx, task->ny, task->nz);
  const guint before = run->kept_passes;
  const gint64 start = g_get_monotonic_time ();

  if (!run->kept || run->keeping_us > KEEPING * (start - run->kept_us))
    return TRUE;
  run->kept_passes = 0; /* nothing whole is there while it is being replaced */
  for (guint z = 0; z < task->nz; z += at_once) {
    const TdRayBox box = { { 0, 0, z }, { task->nx, task->ny, MIN (at_once, task->nz - z) } };

    if (!td_ray_group_give (run->group, volume, &box, run->kept + z * slice, error)) {
      run->kept_passes = z == 0 ? before : 0;
      return FALSE;
    }
  }
  run->kept_passes = run->passes;
  run->kept_residual = run->residual;
  run->unkept_updates = 0;
  run->kept_us = g_get_monotonic_time ();
  run->keeping_us = run->kept_us - start;
  return TRUE;
}

/* The middle slice of the slab, for those who look on. */
static gboolean
iterative_show (Run *run, TdGroupVolume *volume, GError **error)
{
  const TdIterativePlan *self = run->self;
  const guint z = self->slabs ? run->n_rows / 2 : self->first[2] + self->size[2] / 2;
  const guint slice = self->slabs ? run->slab * self->slab_rows + z : self->size[2] / 2;
  const TdRayBox box
      = { { self->first[0], self->first[1], z }, { self->size[0], self->size[1], 1 } };

  if (!run->job->estimate_sink)
    return TRUE;
  g_autofree float *pixels
      = td_host_malloc ((guint64) self->size[0] * self->size[1] * sizeof (float), error);
  if (!pixels || !td_ray_group_give (run->group, volume, &box, pixels, error))
    return FALSE;
  run->job->estimate_sink (slice, run->passes, pixels, run->job->estimate_user);
  return TRUE;
}

static gboolean
on_pass (guint pass, double residual, TdGroupVolume *volume, gpointer user, GError **error)
{
  Run *run = user;

  if (!isfinite (residual))
    return td_set_error (
        error, TD_ERROR_BAD_FILE,
        "Pass %u came to values that are no numbers: nothing is kept. Begin with another "
        "volume ({start=zero}), with a smaller {relaxation}, or by another {method}",
        run->passes + 1);
  run->residual = residual;
  run->passes++;
  td_job_add_pass (run->job, residual);
  return iterative_show (run, volume, error) && iterative_keep (run, volume, error);
}

static gboolean
on_progress (double updates, gpointer user)
{
  Run *run = user;

  td_job_add_updates (run->job, updates);
  run->unkept_updates += updates;
  return !td_job_ends_early (run->job);
}

/* ── Momentum ── */

/* That of an earlier run is not that of what an attempt had come to. */
static gboolean
iterative_recall (TdSolverMomentum *momentum, gpointer user)
{
  Run *run = user;

  return run->kept_passes == 0
         && td_iterative_momentum_recall (run->momentum, run->slab * run->self->slab_rows,
                                          run->task.nz, momentum);
}

static gboolean
recall_volumes (const TdSolverMomentum *momentum, gpointer user, GError **error)
{
  Run *run = user;

  return td_iterative_momentum_load (run->momentum, run->group, momentum, error);
}

static void
recall_failed (gpointer user)
{
  Run *run = user;

  td_iterative_momentum_refuse (run->momentum);
}

static gboolean
iterative_remember (const TdSolverMomentum *momentum, gpointer user, GError **error)
{
  Run *run = user;

  return td_iterative_momentum_save (run->momentum, run->group, run->slab * run->self->slab_rows,
                                     momentum, error);
}

/* ── In and out ── */

/* What the slab's iterations begin with: what an earlier attempt had come to, or the plan's. */
static gboolean
iterative_begin (TdGroupVolume *volume, gpointer user, GError **error)
{
  Run *run = user;
  const TdConeTask *task = &run->task;
  const TdSolverSettings *settings = &run->self->settings;
  const gsize slice = (gsize) task->nx * task->ny;
  const guint at_once = td_iterative_portion (run->self, task->nx, task->ny, task->nz);
  const double least = settings->kind != TD_SOLVER_CGLS && settings->non_negative ? 0 : -G_MAXFLOAT;
  const gboolean from_kept = run->kept_passes > 0;

  td_iterative_momentum_begin (run->momentum);
  for (guint z = 0; z < task->nz; z += at_once) {
    const guint n = MIN (at_once, task->nz - z);
    const TdRayBox box = { { 0, 0, z }, { task->nx, task->ny, n } };
    const guint first = run->slab * run->self->slab_rows + z;
    const float *slices = from_kept ? run->kept + z * slice
                                    : td_iterative_beginning_read (run->beginning, first, n, error);

    if (!slices)
      return FALSE;
    if (!from_kept)
      td_iterative_momentum_took (run->momentum, slices, n * slice);
    if (!td_ray_group_put (run->group, slices, &box, least, volume, error))
      return FALSE;
  }
  return TRUE;
}

static void
iterative_release (float *slices, gpointer device)
{
  td_device_host_free (device, slices);
}

/* The box of a volume that is on the host. */
static void
copy_box (const TdConeTask *task, const float *volume, const TdRayBox *box, float *out)
{
  const guint *from = box->first, *size = box->size;

  for (guint z = 0; z < size[2]; z++)
    for (guint y = 0; y < size[1]; y++)
      memcpy (out + ((gsize) z * size[1] + y) * size[0],
              volume + ((gsize) (from[2] + z) * task->ny + from[1] + y) * task->nx + from[0],
              size[0] * sizeof *out);
}

/* What was asked for of the volume (NULL: of what was kept), from its slice @z on; @first counts
   from the plan's first slice. */
static gboolean
iterative_give (Run *run, TdGroupVolume *volume, guint z, guint n, guint first, GError **error)
{
  const TdIterativePlan *self = run->self;
  const guint at_once = td_iterative_give_slices (self);
  const gsize slice = (gsize) self->size[0] * self->size[1] * sizeof (float);
  /* Whatever device failed, the host has what was kept. */
  TdDevice *device = volume ? run->device : self->host;

  for (guint done = 0; done < n; done += at_once) {
    const guint count = MIN (at_once, n - done);
    const TdRayBox box
        = { { self->first[0], self->first[1], z + done }, { self->size[0], self->size[1], count } };
    float *out = td_device_host_alloc (device, count * slice, error);

    if (!out)
      return FALSE;
    if (!volume)
      copy_box (&run->task, run->kept, &box, out);
    else if (!td_ray_group_give (run->group, volume, &box, out, error)) {
      iterative_release (out, device);
      return FALSE;
    }
    td_iterative_momentum_gave (run->momentum, out, (gsize) count * box.size[1] * box.size[0]);
    const TdJobPortion portion = { .first = first + done,
                                   .count = count,
                                   .slices = out,
                                   .release = iterative_release,
                                   .user = device };
    if (!td_job_emit (run->job, &portion, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
give_slab (Run *run, TdGroupVolume *volume, GError **error)
{
  const TdIterativePlan *self = run->self;

  return self->slabs
             ? iterative_give (run, volume, 0, run->n_rows, run->slab * self->slab_rows, error)
             : iterative_give (run, volume, self->first[2], self->size[2], 0, error);
}

/* ── Attempts ── */

/* What a failed attempt had come to beyond what was kept is made again, and counted then. */
static void
back_to_kept (Run *run)
{
  td_job_drop_passes (run->job, run->passes - run->kept_passes);
  td_job_add_updates (run->job, -run->unkept_updates);
  run->passes = run->kept_passes;
  run->residual = run->kept_residual;
  run->unkept_updates = 0;
}

static TdGroupVolume *
iterative_iterate (Run *run, GError **error)
{
  TdSolverSettings settings = run->self->settings;
  const TdSolverWatch watch
      = { .begin = run->beginning || run->kept_passes > 0 ? iterative_begin : NULL,
          .pass = on_pass,
          .progress = on_progress,
          .recall = iterative_recall,
          .recall_volumes = recall_volumes,
          .recall_failed = recall_failed,
          .remember = iterative_remember,
          .user = run };
  g_autofree guint *order = td_solver_order (run->task.n_views, settings.subsets);

  back_to_kept (run);
  run->device = run->cut.lead;
  const TdGroupShares shares
      = { run->cut.members, run->cut.n, run->cut.batch_views, run->cut.lead };
  run->group = td_ray_group_new (&shares, &run->task, order, &run->failed, run->cancellable, error);
  if (!run->group || (!run->measured && !run->store && !iterative_load (run, order, error)))
    return NULL;
  td_ray_group_set_store (run->group, run->store);
  const gint64 start = g_get_monotonic_time ();
  settings.iterations -= run->kept_passes;
  settings.kept_subsets = run->cut.kept_subsets;
  TdGroupVolume *volume
      = td_solver_run (run->group, &settings, run->measured, &watch, &run->end, error);
  run->seconds += seconds_since (start);
  td_job_add_stage (run->job, N_ ("iterate"), seconds_since (start));
  return volume;
}

static gboolean
iterative_attempt (Run *run, GError **error)
{
  g_autoptr (TdGroupVolume) volume = iterative_iterate (run, error);

  if (!volume || !give_slab (run, volume, error))
    return FALSE;
  td_iterative_momentum_end_slab (run->momentum, run->task.nz);
  return TRUE;
}

/* Projections that the host has outlive a device. */
static void
iterative_clear_attempt (Run *run, gboolean all)
{
  if (run->group)
    td_ray_group_finish (run->group, NULL);
  if (all || run->device != run->self->host)
    iterative_forget (run);
  g_clear_pointer (&run->group, td_ray_group_free);
}

/* The other devices go on without the one that failed, at last the host alone. FALSE: none is
   left that could. */
static gboolean
go_on (Run *run, const GError *reason)
{
  const guint failed = run->group ? td_ray_group_failed (run->group) : run->failed;
  TdDevice *device = failed < run->cut.n ? run->cut.members[failed].device : NULL;
  g_autofree char *id = device ? g_strdup (td_device_info (device)->id) : NULL;

  if (!td_device_others_can (reason) || !device || device == run->self->host)
    return FALSE;
  const gboolean in_file = run->cut.in_file;

  iterative_clear_attempt (run, FALSE);
  g_ptr_array_remove (run->devices, device);
  if (run->devices->len == 0)
    g_ptr_array_add (run->devices, td_device_ref (run->self->host));
  if (!td_iterative_cut (run->plan, run->devices, FALSE, &run->cut, NULL)
      && !(td_iterative_can_store (run->self)
           && td_iterative_cut (run->plan, run->devices, TRUE, &run->cut, NULL)))
    return FALSE;
  if (run->cut.lead != run->device || run->cut.in_file != in_file)
    iterative_forget (run);
  td_job_note (run->job,
               "%s failed after %u [pass|passes]: %p. %s went on without it, from what %u "
               "[pass|passes] had come to.",
               id, run->passes, td_error_message (reason),
               td_device_info (run->cut.members[0].device)->id, run->kept_passes);
  return TRUE;
}

/* What there is, when it cannot become more. */
static gboolean
give_kept (Run *run, const GError *reason)
{
  td_iterative_momentum_begin (run->momentum); /* what may have been saved is of a later pass */
  if (run->kept_passes == 0 || !td_device_others_can (reason) || !give_slab (run, NULL, NULL))
    return FALSE;
  back_to_kept (run);
  run->end = TD_SOLVER_ALL;
  td_job_note (run->job,
               "The iterations ended early: %p. What was written is what %u of %u passes came "
               "to; {start} goes on from it.",
               td_error_message (reason), run->kept_passes, run->self->settings.iterations);
  return TRUE;
}

static gboolean
reconstruct_slab (Run *run, GError **error)
{
  gboolean ok = FALSE, again = TRUE;

  run->kept_passes = run->passes = 0;
  run->unkept_updates = 0;
  td_iterative_momentum_begin (run->momentum);
  while (again) {
    g_autoptr (GError) reason = NULL;

    ok = iterative_attempt (run, &reason);
    again = !ok && go_on (run, reason);
    if (!ok && !again && !(ok = give_kept (run, reason)))
      g_propagate_error (error, g_steal_pointer (&reason));
  }
  iterative_clear_attempt (run, TRUE);
  return ok;
}

static void
iterative_report (Run *run)
{
  const TdSolverSettings *settings = &run->self->settings;
  const double pass = td_iterative_pass_updates (run->plan);
  g_autofree char *key = td_iterative_rate_key (run->plan);
  g_autofree char *family = g_strdup_printf ("Joseph's rays, %u subsets", settings->subsets);

  td_job_set_family (run->job, NULL, family);
  static const char *const ends[] = {
    [TD_SOLVER_ALL] = "",
    [TD_SOLVER_SMALL] = N_ (", which is small enough ({stop-at})"),
    [TD_SOLVER_SETTLED] = N_ (", which no longer changes ({tolerance})"),
    [TD_SOLVER_ASKED] = N_ (", and were ended there as asked"),
  };
  td_job_note (run->job, "%u [pass|passes] left a relative residual of %.4f%p.", run->passes,
               run->residual, td_message_new_plain (ends[run->end]));
  if (td_job_is_warm (run->job) && run->seconds > LEAST_S && run->passes == settings->iterations
      && run->cut.n == 1)
    td_engine_set_rate (run->plan->engine, key, pass,
                        run->seconds * pass / run->plan->facts.updates);
}

static gboolean
run_slabs (Run *run, GError **error)
{
  for (guint slab = 0; slab < run->self->n_slabs; slab++) {
    run->slab = slab;
    td_iterative_task (run->plan, slab, &run->task, &run->row0, &run->n_rows);
    const gboolean ok = reconstruct_slab (run, error);
    td_cone_task_clear (&run->task);
    if (!ok)
      return FALSE;
  }
  return TRUE;
}

static gboolean
iterative_run (TdJob *job, GCancellable *cancellable, GError **error)
{
  TdPlan *plan = td_job_plan (job);
  const TdIterativePlan *self = plan->extra;
  Run run = { .job = job, .plan = plan, .self = self, .cancellable = cancellable };
  const gint64 taken
      = (gint64) (td_iterative_chunk_bytes (plan) + td_iterative_host_bytes (plan, &self->cut)
                  + (self->keeps ? td_iterative_slab_bytes (self) : 0)
                  + td_iterative_start_bytes (self) + td_iterative_spool_bytes (self)
                  + td_iterative_copy_bytes (plan, self));
  GError *reason = NULL;

  if (!(run.momentum = td_iterative_momentum_new (job, error)))
    return FALSE;
  run.beginning = td_iterative_begin (job, cancellable, &reason);
  run.scan = reason ? NULL : td_iterative_beginning_scan (plan, run.beginning, &reason);
  if (reason) {
    td_iterative_beginning_free (run.beginning);
    td_iterative_momentum_free (run.momentum, FALSE);
    g_propagate_error (error, reason);
    return FALSE;
  }
  run.devices = g_ptr_array_new_with_free_func ((GDestroyNotify) td_device_unref);
  for (guint i = 0; i < plan->devices->len; i++)
    g_ptr_array_add (run.devices, td_device_ref (plan->devices->pdata[i]));
  run.cut = self->cut;
  run.cut.members = g_memdup2 (self->cut.members, self->cut.n * sizeof *self->cut.members);
  run.kept = self->keeps ? g_try_malloc (td_iterative_slab_bytes (self)) : NULL;
  run.kept_us = g_get_monotonic_time ();
  if (td_iterative_slab_bytes (self) > KEEPING_SMALL_BYTES)
    run.keeping_us = td_iterative_slab_bytes (self) / KEEPING_BYTES_US;
  td_job_add_host_bytes (job, taken);
  const gboolean ok = run_slabs (&run, error);
  td_job_add_host_bytes (job, -taken);
  if (ok)
    iterative_report (&run);
  g_free (run.kept);
  td_iterative_cut_clear (&run.cut);
  g_ptr_array_unref (run.devices);
  td_scan_unref (run.scan);
  td_iterative_beginning_free (run.beginning);
  td_iterative_momentum_free (run.momentum, ok);
  return ok;
}

/* ── Methods ── */

static const char *
method_iterative_unsupported (const TdScanFacts *facts, const TdRecipe *recipe)
{
  if (facts->filtered)
    return N_ (
        "The scan's projections are filtered already, and iterative methods compare with what "
        "was measured; take {method=fdk}");
  if (recipe->precision == TD_PRECISION_HALF || recipe->precision == TD_PRECISION_HALF_RUN)
    return N_ ("Iterative methods compute in single precision; leave {precision} out");
  if (recipe->interpolation == TD_INTERPOLATION_NEAREST)
    return N_ ("Iterative methods interpolate linearly; leave {interpolation} out");
  if (strcmp (recipe->family, "auto") != 0)
    return N_ ("Iterative methods have one way of projecting; leave {kernel} out");
  return NULL;
}

static const char *
parallel_unsupported (const TdScanFacts *facts, const TdRecipe *recipe)
{
  return facts->geometry.beam == TD_BEAM_PARALLEL ? method_iterative_unsupported (facts, recipe)
                                                  : N_ ("not a parallel beam");
}

static const char *
cone_unsupported (const TdScanFacts *facts, const TdRecipe *recipe)
{
  const char *reason = method_iterative_unsupported (facts, recipe);

  if (reason)
    return reason;
  return facts->geometry.beam == TD_BEAM_PARALLEL ? N_ ("not a cone or fan beam")
                                                  : td_cone_scan_unsupported (facts, recipe);
}

static const char *
method_iterative_undivided (const TdScanFacts *facts, const TdRecipe *recipe)
{
  if (facts->geometry.beam != TD_BEAM_PARALLEL)
    return N_ ("every ray passes the whole volume, which iterations correct as one");
  if (recipe->method == TD_METHOD_CGLS)
    return N_ ("cgls takes steps of one length for all of them, as {method=sirt} does not");
  if (recipe->method == TD_METHOD_FISTA_TV)
    return N_ ("fista-tv smooths from slice to slice, as {method=sirt} does not");
  return recipe->stop_at > 0 || recipe->tolerance > 0
             ? N_ ("the residual of all of them ends the iterations; leave {stop-at} and "
                   "{tolerance} out")
             : NULL;
}

#define METHOD(symbol, beam, title, number)                                                        \
  const TdMethod td_method_##symbol##_##beam = {                                                   \
    .name = title,                                                                                 \
    .kind = number,                                                                                \
    .by_name = TRUE,                                                                               \
    .unsupported = beam##_unsupported,                                                             \
    .undivided = method_iterative_undivided,                                                       \
    .plan = td_iterative_plan,                                                                     \
    .run = iterative_run,                                                                          \
  };

METHOD (sirt, parallel, "sirt", TD_METHOD_SIRT)
METHOD (sirt, cone, "sirt", TD_METHOD_SIRT)
METHOD (fista_tv, parallel, "fista-tv", TD_METHOD_FISTA_TV)
METHOD (fista_tv, cone, "fista-tv", TD_METHOD_FISTA_TV)
METHOD (cgls, parallel, "cgls", TD_METHOD_CGLS)
METHOD (cgls, cone, "cgls", TD_METHOD_CGLS)
