/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solver.h"

#include <math.h>

#include "solver-private.h"

/* Fewer views stand for all too badly to be corrected by. */
#define LEAST_VIEWS 2
#define MOST_SUBSETS 20
/* With momentum, errors of the subsets add up: fewer and larger ones. */
#define LEAST_MOMENTUM_VIEWS 4
#define MOST_MOMENTUM_SUBSETS 10

guint
td_solver_usual_subsets (TdSolverKind kind, guint n_views)
{
  if (kind == TD_SOLVER_CGLS)
    return 1;
  if (kind == TD_SOLVER_FISTA_TV)
    return CLAMP (n_views / LEAST_MOMENTUM_VIEWS, 1, MOST_MOMENTUM_SUBSETS);
  return CLAMP (n_views / LEAST_VIEWS, 1, MOST_SUBSETS);
}

/* Steps of about 0.38 of the way round never come near where they have just been. */
static guint
stride_of (guint n)
{
  guint stride = MAX ((guint) lround (n * 0.381966), 1);

  while (TRUE) {
    guint a = n, b = stride;
    while (b) {
      const guint rest = a % b;
      a = b;
      b = rest;
    }
    if (a == 1)
      return stride;
    stride++;
  }
}

guint *
td_solver_order (guint n_views, guint subsets)
{
  guint *order = g_new (guint, n_views);
  const guint stride = stride_of (subsets);
  guint place = 0;

  for (guint i = 0; i < subsets; i++)
    for (guint view = (guint) ((guint64) i * stride % subsets); view < n_views; view += subsets)
      order[place++] = view;
  return order;
}

TdRayViews
td_solver_subset (guint n_views, guint subsets, guint index)
{
  const guint stride = stride_of (subsets);
  TdRayViews views = { 0, 0 };

  for (guint i = 0; i <= index; i++) {
    const guint offset = (guint) ((guint64) i * stride % subsets);
    views.first += views.n;
    views.n = (n_views - offset + subsets - 1) / subsets;
  }
  return views;
}

guint
td_solver_most_views (guint n_views, const TdSolverSettings *settings)
{
  return settings->kind == TD_SOLVER_CGLS ? n_views
                                          : (n_views + settings->subsets - 1) / settings->subsets;
}

static guint
n_volumes (const TdSolverSettings *settings)
{
  return settings->kind == TD_SOLVER_SIRT ? 1 : settings->kind == TD_SOLVER_CGLS ? 3 : 6;
}

guint64
td_solver_lines_bytes (const TdConeTask *task, const TdSolverSettings *settings, guint n_members,
                       guint stored_rows)
{
  const guint most = td_solver_most_views (task->n_views, settings);
  const guint64 part = td_rays_projection_bytes (task, most);
  const guint64 all = stored_rows ? td_ray_store_bytes (task, stored_rows, most)
                                  : td_rays_projection_bytes (task, task->n_views);

  return (settings->kind == TD_SOLVER_CGLS ? 3 * all : all + 2 * part) + (n_members - 1) * part
         + 2 * MAX ((guint64) task->n_views * task->n_columns, task->n_rows) * sizeof (float);
}

guint64
td_solver_member_bytes (const TdConeTask *task, const TdSolverSettings *settings, guint n,
                        guint batch)
{
  const guint most = td_solver_most_views (task->n_views, settings);
  const gboolean cgls = settings->kind == TD_SOLVER_CGLS;
  const guint more = batch > 0 && batch < most && !cgls ? 2 : 0; /* sums, weights */
  const guint kept = MIN (settings->kept_subsets, settings->subsets);
  const guint64 tables = (guint64) task->n_views * 33 * sizeof (float);
  const guint64 scratch = cgls || kept ? td_rays_scratch_bytes (task, batch ? batch : most) : 0;

  return (n_volumes (settings) + more + kept) * td_ray_group_volume_bytes (task, n) + tables
         + 2 * MAX (((guint64) task->nx + 3) * (n + 3), task->nz + 3) * sizeof (float)
         + td_rays_projection_bytes (task, batch) + scratch;
}

guint64
td_solver_bytes (const TdConeTask *task, const TdSolverSettings *settings, guint stored_rows)
{
  return td_solver_member_bytes (task, settings, task->ny, 0)
         + td_solver_lines_bytes (task, settings, 1, stored_rows);
}

gboolean
td_solver_can_store (const TdSolverSettings *settings)
{
  return settings->kind != TD_SOLVER_CGLS && settings->subsets > 1;
}

TdGroupVolume *
td_solver_begin (const TdSolver *solver, GError **error)
{
  g_autoptr (TdGroupVolume) volume = td_ray_group_volume_new (solver->group, error);

  if (!volume
      || (solver->watch->begin && !solver->watch->begin (volume, solver->watch->user, error)))
    return NULL;
  return g_steal_pointer (&volume);
}

gboolean
td_solver_views_done (TdSolver *solver, guint n)
{
  const TdConeTask *task = solver->task;

  if (!solver->watch->progress ((double) task->nx * task->ny * task->nz * n, solver->watch->user))
    solver->asked = TRUE;
  return !solver->asked;
}

gboolean
td_solver_pass_done (TdSolver *solver, double residual, TdGroupVolume *volume, GError **error)
{
  const TdSolverSettings *settings = solver->settings;
  const gboolean little
      = solver->earlier + solver->passes > 0
        && fabs (residual - solver->residual) < settings->tolerance * solver->residual;

  solver->passes++;
  solver->residual = residual;
  solver->settled = little ? solver->settled + 1 : 0;
  if (!solver->watch->pass (solver->passes, residual, volume, solver->watch->user, error))
    return FALSE;
  solver->end = solver->asked                                            ? TD_SOLVER_ASKED
                : settings->stop_at > 0 && residual <= settings->stop_at ? TD_SOLVER_SMALL
                : solver->settled >= 2                                   ? TD_SOLVER_SETTLED
                                                                         : TD_SOLVER_ALL;
  return solver->end == TD_SOLVER_ALL && solver->passes < settings->iterations;
}

/* ── Momentum ── */

guint
td_solver_momentum_volumes (TdSolverKind kind)
{
  return kind == TD_SOLVER_SIRT ? 0 : kind == TD_SOLVER_CGLS ? 1 : 4;
}

void
td_solver_recall_failed (TdSolver *solver)
{
  solver->earlier = solver->settled = 0;
  solver->watch->recall_failed (solver->watch->user);
}

gboolean
td_solver_recall (TdSolver *solver, double norm, TdSolverMomentum *momentum)
{
  const TdSolverWatch *watch = solver->watch;
  const double *numbers = momentum->numbers;

  if (!watch->recall || !watch->recall (momentum, watch->user))
    return FALSE;
  /* Devices add in orders of their own. */
  if (!(fabs (numbers[0] - norm) <= 1e-5 * norm)) {
    td_solver_recall_failed (solver);
    return FALSE;
  }
  solver->residual = numbers[1];
  solver->settled = numbers[2] > 0;
  solver->earlier = momentum->passes;
  return TRUE;
}

gboolean
td_solver_remember (TdSolver *solver, double norm, TdSolverMomentum *momentum, GError **error)
{
  const TdSolverWatch *watch = solver->watch;

  momentum->passes = solver->earlier + solver->passes;
  momentum->numbers[0] = norm;
  momentum->numbers[1] = solver->residual;
  momentum->numbers[2] = solver->settled > 0;
  return !watch->remember || watch->remember (momentum, watch->user, error);
}

TdGroupVolume *
td_solver_run (TdRayGroup *group, const TdSolverSettings *settings, TdBuffer *measured,
               const TdSolverWatch *watch, TdSolverEnd *end, GError **error)
{
  TdSolver solver = { .group = group,
                      .task = td_ray_group_task (group),
                      .settings = settings,
                      .measured = measured,
                      .watch = watch };
  TdGroupVolume *volume = settings->kind == TD_SOLVER_CGLS ? td_solver_cgls (&solver, error)
                                                           : td_solver_sirt (&solver, error);

  *end = solver.end;
  return volume;
}
