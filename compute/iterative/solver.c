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

guint
td_solver_subset (guint n_views, guint subsets, guint index, guint *first)
{
  const guint stride = stride_of (subsets);
  guint n = 0;

  *first = 0;
  for (guint i = 0; i <= index; i++) {
    const guint offset = (guint) ((guint64) i * stride % subsets);
    *first += n;
    n = (n_views - offset + subsets - 1) / subsets;
  }
  return n;
}

static guint
largest_subset (guint n_views, guint subsets)
{
  return (n_views + subsets - 1) / subsets;
}

guint64
td_solver_bytes (const TdConeTask *task, const TdSolverSettings *settings)
{
  const guint64 all = td_rays_projection_bytes (task, task->n_views);
  const guint64 part
      = td_rays_projection_bytes (task, largest_subset (task->n_views, settings->subsets));
  const guint64 sums = 2 * ((guint64) task->nx + 3) * (task->ny + 3) * sizeof (float)
                       + 2 * (guint64) task->n_views * task->n_columns * sizeof (float);
  const guint volumes = settings->kind == TD_SOLVER_SIRT ? 1 : settings->kind == TD_SOLVER_CGLS ? 3 : 6;

  return volumes * td_rays_volume_bytes (task) + sums
         + (settings->kind == TD_SOLVER_CGLS ? 3 * all : all + 2 * part);
}

double
td_solver_updates (const TdConeTask *task, const TdSolverSettings *settings)
{
  return (double) task->nx * task->ny * task->nz * task->n_views * settings->iterations;
}

TdBuffer *
td_solver_begin (const TdSolver *solver, GError **error)
{
  g_autoptr (TdBuffer) volume = td_rays_volume_new (solver->rays, error);

  if (!volume || (solver->watch->begin && !solver->watch->begin (volume, solver->watch->user, error)))
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
td_solver_pass_done (TdSolver *solver, double residual)
{
  const TdSolverSettings *settings = solver->settings;
  const gboolean little = solver->passes > 0
                          && fabs (residual - solver->residual) < settings->tolerance * solver->residual;

  solver->passes++;
  solver->residual = residual;
  solver->settled = little ? solver->settled + 1 : 0;
  solver->watch->pass (solver->passes, residual, solver->watch->user);
  solver->end = solver->asked                   ? TD_SOLVER_ASKED
                : residual <= settings->stop_at ? TD_SOLVER_SMALL
                : solver->settled >= 2          ? TD_SOLVER_SETTLED
                                                : TD_SOLVER_ALL;
  return solver->end == TD_SOLVER_ALL && solver->passes < settings->iterations;
}

TdBuffer *
td_solver_run (TdRayProjector *rays, const TdConeTask *task, const TdSolverSettings *settings,
               TdBuffer *measured, const TdSolverWatch *watch, TdSolverEnd *end, GCancellable *cancellable,
               GError **error)
{
  TdSolver solver = { .rays = rays, .task = task, .settings = settings, .measured = measured,
                      .watch = watch, .cancellable = cancellable };
  TdBuffer *volume = settings->kind == TD_SOLVER_CGLS ? td_solver_cgls (&solver, error)
                                                      : td_solver_sirt (&solver, error);

  *end = solver.end;
  return volume;
}
