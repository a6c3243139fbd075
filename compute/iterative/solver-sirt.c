/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "solver-private.h"

/* The field is kept from one to the next: a few steps follow the volume well enough. */
#define DENOISE_STEPS 3

#define RISE 1.02

typedef struct {
  TdSolver *solver;
  TdGroupVolume *volume;
  TdRayMissing missing;  /* of one subset */
  GPtrArray *weights;    /* of the subsets that were visited; NULL: they are not kept */
  TdGroupVolume *before; /* momentum: where the last step ended */
  TdGroupDenoise denoise;
  double momentum, most; /* Nesterov's t, and what it may grow to */
  double best;           /* residual of the passes so far */
  double typical;        /* the value that stands for the volume; 0: not known yet */
} Sirt;

static void
sirt_clear (Sirt *sirt)
{
  /* Nothing may go while a kernel uses it. */
  td_ray_group_finish (sirt->solver->group, NULL);
  td_ray_group_volume_free (sirt->volume);
  g_clear_pointer (&sirt->weights, g_ptr_array_unref);
  td_buffer_free (sirt->missing.lines);
  td_buffer_free (sirt->missing.squares);
  td_ray_group_volume_free (sirt->before);
  td_ray_group_volume_free (sirt->denoise.spare);
  for (guint i = 0; i < 3; i++)
    td_ray_group_volume_free (sirt->denoise.field[i]);
}

static gboolean
sirt_init (Sirt *sirt, GError **error)
{
  const TdSolver *solver = sirt->solver;
  const guint largest = td_solver_most_views (solver->task->n_views, solver->settings);

  if (!(sirt->volume = td_solver_begin (solver, error))
      || !(sirt->missing.lines = td_ray_group_lines_new (solver->group, largest, error))
      || !(sirt->missing.squares = td_ray_group_lines_new (solver->group, largest, error)))
    return FALSE;
  if (solver->settings->kept_subsets)
    sirt->weights = g_ptr_array_new_with_free_func ((GDestroyNotify) td_ray_group_volume_free);
  if (solver->settings->kind == TD_SOLVER_SIRT)
    return TRUE;
  for (guint i = 0; i < 3; i++)
    if (!(sirt->denoise.field[i] = td_ray_group_volume_new (solver->group, error)))
      return FALSE;
  sirt->momentum = 1;
  sirt->most = sirt->best = INFINITY;
  return (sirt->before = td_ray_group_volume_new (solver->group, error))
         && (sirt->denoise.spare = td_ray_group_volume_new (solver->group, error))
         && td_ray_group_combine (solver->group, sirt->before, (TdRayBlend) { 0, 1 }, sirt->volume,
                                  error);
}

/* The volume's mean weighted by itself: the material's value where there is one in air. */
static gboolean
measure_typical (Sirt *sirt, GError **error)
{
  TdRaySums sums;

  if (!td_ray_group_sums (sirt->solver->group, sirt->before, sirt->before, &sums, error))
    return FALSE;
  sirt->typical = sums.magnitude > 0 ? sums.product / sums.magnitude : 0;
  return TRUE;
}

/* What follows the correction: denoising, and the step beyond. */
static gboolean
solver_sirt_regularise (Sirt *sirt, GError **error)
{
  const TdSolver *solver = sirt->solver;
  const double strength = solver->settings->tv * sirt->typical / solver->settings->subsets;

  sirt->denoise.steps = DENOISE_STEPS;
  sirt->denoise.variation = (TdRayVariation) { strength, solver->settings->non_negative };
  if (strength > 0 && !td_ray_group_denoise (solver->group, sirt->volume, &sirt->denoise, error))
    return FALSE;
  const double next = MIN ((1 + sqrt (1 + 4 * sirt->momentum * sirt->momentum)) / 2, sirt->most);
  const double factor = (sirt->momentum - 1) / next;

  sirt->momentum = next;
  return td_ray_group_extrapolate (solver->group, sirt->volume, sirt->before, factor, error);
}

/* Subsets differ, and momentum adds their differences up. Where the residual rises, the momentum
   starts again, and may grow to half of what was too much (after O'Donoghue and Candès, Found.
   Comput. Math. 15, 2015). */
static void
solver_sirt_restrain (Sirt *sirt, double residual)
{
  if (residual > RISE * sirt->best) {
    sirt->most = MAX (sirt->momentum / 2, 1);
    sirt->momentum = 1;
  }
  sirt->best = MIN (sirt->best, residual);
}

/* What the views of the subset weigh, A' 1: the same in every pass. Subsets come in order. */
static gboolean
solver_sirt_weights (Sirt *sirt, guint index, TdRayViews views, TdGroupVolume **weights,
                     GError **error)
{
  TdRayGroup *group = sirt->solver->group;
  TdRayProjector *lead = td_ray_group_lead (group);

  *weights = NULL;
  if (index >= sirt->solver->settings->kept_subsets)
    return TRUE;
  if (index == sirt->weights->len) {
    g_autoptr (TdGroupVolume) volume = td_ray_group_volume_new (group, error);

    if (!volume || !td_rays_fill_ones (lead, views.n, sirt->missing.lines, error)
        || !td_ray_group_back (group, sirt->missing.lines, views, volume, error)
        || !td_queue_finish (td_rays_queue (lead), error))
      return FALSE;
    g_ptr_array_add (sirt->weights, g_steal_pointer (&volume));
  }
  *weights = sirt->weights->pdata[index];
  return TRUE;
}

/* One subset; its squared residual is added to *@squares. */
static gboolean
solver_sirt_visit (Sirt *sirt, guint index, double *squares, GError **error)
{
  TdSolver *solver = sirt->solver;
  const TdSolverSettings *settings = solver->settings;
  const TdRayViews views = td_solver_subset (solver->task->n_views, settings->subsets, index);
  TdGroupStep step = { .relaxation = settings->relaxation, .non_negative = settings->non_negative };
  TdRayProjector *lead = td_ray_group_lead (solver->group);
  TdRaySums sums;

  if (!solver_sirt_weights (sirt, index, views, &step.weights, error)
      || !td_ray_group_compare (solver->group, sirt->volume, solver->measured, views,
                                &sirt->missing, error)
      || !td_rays_sums_begin (lead, sirt->missing.squares, sirt->missing.squares, views.n, error)
      || !td_ray_group_correct (solver->group, sirt->missing.lines, views, &step, sirt->volume,
                                error)
      || !td_rays_sums_end (lead, &sums, error)) /* while the device corrects */
    return FALSE;
  *squares += sums.magnitude;
  return !sirt->before || solver_sirt_regularise (sirt, error);
}

/* All subsets, or as many as one is let; the residual of those. */
static gboolean
visit_all (Sirt *sirt, double norm, double *residual, GError **error)
{
  TdSolver *solver = sirt->solver;
  const guint n_views = solver->task->n_views, subsets = solver->settings->subsets;
  double squares = 0;
  guint done = 0;

  for (guint i = 0; i < subsets && !solver->asked; i++) {
    const guint n = td_solver_subset (n_views, subsets, i).n;

    if (!solver_sirt_visit (sirt, i, &squares, error))
      return FALSE;
    done += n;
    td_solver_views_done (solver, n);
  }
  *residual = norm > 0 ? sqrt (squares / norm * n_views / done) : 0;
  return TRUE;
}

/* ── Momentum of an earlier run, and for a later one ── */

static void
list_volumes (const Sirt *sirt, TdSolverMomentum *momentum)
{
  momentum->n_volumes = 4;
  momentum->volumes[0] = sirt->volume;
  for (guint i = 0; i < 3; i++)
    momentum->volumes[1 + i] = sirt->denoise.field[i];
}

static gboolean
solver_sirt_recall (Sirt *sirt, double norm, GError **error)
{
  TdSolver *solver = sirt->solver;
  TdSolverMomentum momentum;
  const double *own = momentum.numbers + TD_SOLVER_OWN;

  if (!sirt->before || !td_solver_recall (solver, norm, &momentum))
    return TRUE;
  sirt->momentum = own[0];
  sirt->most = own[1];
  sirt->best = own[2];
  sirt->typical = own[3];
  list_volumes (sirt, &momentum);
  return solver->watch->recall_volumes (&momentum, solver->watch->user, error);
}

static gboolean
solver_sirt_remember (Sirt *sirt, double norm, GError **error)
{
  TdSolverMomentum momentum = { 0 };
  double *own = momentum.numbers + TD_SOLVER_OWN;

  if (!sirt->before)
    return TRUE;
  own[0] = sirt->momentum;
  own[1] = sirt->most;
  own[2] = sirt->best;
  own[3] = sirt->typical;
  list_volumes (sirt, &momentum);
  return td_solver_remember (sirt->solver, norm, &momentum, error);
}

TdGroupVolume *
td_solver_sirt (TdSolver *solver, GError **error)
{
  const TdSolverSettings *settings = solver->settings;
  Sirt sirt = { .solver = solver };
  double norm = 0, residual = 0;
  gboolean more = TRUE;
  GError *reason = NULL;
  gboolean ok = sirt_init (&sirt, error)
                && td_ray_group_measured_squares (solver->group, solver->measured, &norm, error)
                && solver_sirt_recall (&sirt, norm, error);

  while (ok && more) {
    ok = visit_all (&sirt, norm, &residual, error);
    /* Later values differ little, and a fixed one lets the iterations settle. */
    if (ok && sirt.before && solver->earlier + solver->passes < 5 && settings->tv > 0)
      ok = measure_typical (&sirt, error);
    if (sirt.before)
      solver_sirt_restrain (&sirt, residual);
    more = ok
           && td_solver_pass_done (solver, residual, sirt.before ? sirt.before : sirt.volume,
                                   &reason);
  }
  ok = ok && !reason;
  if (reason)
    g_propagate_error (error, reason);
  ok = ok && solver_sirt_remember (&sirt, norm, error);
  /* With momentum the volume is beyond, and what it came from the result. */
  TdGroupVolume **result = sirt.before ? &sirt.before : &sirt.volume;
  TdGroupVolume *volume
      = ok && td_ray_group_finish (solver->group, error) ? g_steal_pointer (result) : NULL;
  sirt_clear (&sirt);
  return volume;
}
