/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "solver-private.h"

/* Relative: more than rounding adds up to in many passes, less than another geometry's residual. */
#define SAME 1e-2

typedef struct {
  TdSolver *solver;
  TdGroupVolume *volume, *direction, *gradient;
  TdBuffer *rest, *image; /* all places: b - A x, A direction */
} Cgls;

static gboolean
cgls_init (Cgls *cgls, GError **error)
{
  const TdSolver *solver = cgls->solver;
  const guint n = solver->task->n_views;
  const guint64 bytes = td_rays_projection_bytes (solver->task, n);

  return (cgls->volume = td_solver_begin (solver, error))
         && (cgls->direction = td_ray_group_volume_new (solver->group, error))
         && (cgls->gradient = td_ray_group_volume_new (solver->group, error))
         && (cgls->rest = td_ray_group_lines_new (solver->group, n, error))
         && (cgls->image = td_ray_group_lines_new (solver->group, n, error))
         && td_copy (td_rays_queue (td_ray_group_lead (solver->group)), cgls->rest, 0,
                     solver->measured, 0, bytes, error)
         && (!solver->watch->begin
             || (td_ray_group_project (solver->group, cgls->volume, (TdRayViews) { 0, n },
                                       cgls->image, error)
                 && td_rays_combine (td_ray_group_lead (solver->group), cgls->rest,
                                     (TdRayBlend) { 1, -1 }, cgls->image, n, error)));
}

static void
cgls_clear (Cgls *cgls)
{
  /* Nothing may go while a kernel uses it. */
  td_ray_group_finish (cgls->solver->group, NULL);
  td_ray_group_volume_free (cgls->volume);
  td_ray_group_volume_free (cgls->direction);
  td_ray_group_volume_free (cgls->gradient);
  td_buffer_free (cgls->rest);
  td_buffer_free (cgls->image);
}

/* gradient = A' rest, and its square. */
static gboolean
solver_cgls_descend (Cgls *cgls, double *square, GError **error)
{
  const TdSolver *solver = cgls->solver;
  const TdRayViews all = { 0, solver->task->n_views };
  TdRaySums sums;

  if (!td_ray_group_back (solver->group, cgls->rest, all, cgls->gradient, error)
      || !td_ray_group_sums (solver->group, cgls->gradient, cgls->gradient, &sums, error))
    return FALSE;
  *square = sums.product;
  return TRUE;
}

/* The direction of an earlier run, if that ran on these projections and this geometry. What is
   missing of the projections is then what it was, but for rounding. */
static gboolean
solver_cgls_recall (Cgls *cgls, double norm, double *square, GError **error)
{
  TdSolver *solver = cgls->solver;
  TdSolverMomentum momentum;
  const double *own = momentum.numbers + TD_SOLVER_OWN;
  TdRaySums rest;

  if (!td_solver_recall (solver, norm, &momentum))
    return TRUE;
  if (!td_rays_sums (td_ray_group_lead (solver->group), cgls->rest, cgls->rest,
                     solver->task->n_views, &rest, error))
    return FALSE;
  if (!(fabs (sqrt (rest.product) - sqrt (own[1]))
        <= SAME * (sqrt (own[1]) + SAME * sqrt (norm)))) {
    td_solver_recall_failed (solver);
    return TRUE;
  }
  *square = own[0];
  momentum.n_volumes = 1;
  momentum.volumes[0] = cgls->direction;
  return solver->watch->recall_volumes (&momentum, solver->watch->user, error);
}

static gboolean
solver_cgls_remember (Cgls *cgls, double norm, double square, double rest, GError **error)
{
  TdSolverMomentum momentum = { .volumes = { cgls->direction }, .n_volumes = 1 };

  momentum.numbers[TD_SOLVER_OWN] = square;
  momentum.numbers[TD_SOLVER_OWN + 1] = rest;
  return td_solver_remember (cgls->solver, norm, &momentum, error);
}

/* One step along the direction; *@square is the gradient's before and after. */
static gboolean
solver_cgls_step (Cgls *cgls, double *square, double *rest, GError **error)
{
  const TdSolver *solver = cgls->solver;
  TdRayGroup *group = solver->group;
  TdRayProjector *lead = td_ray_group_lead (group);
  const guint n = solver->task->n_views;
  TdRaySums image, left;
  double next;

  if (!td_ray_group_project (group, cgls->direction, (TdRayViews) { 0, n }, cgls->image, error)
      || !td_rays_sums (lead, cgls->image, cgls->image, n, &image, error))
    return FALSE;
  const double alpha = image.product > 0 ? *square / image.product : 0;
  if (!td_ray_group_combine (group, cgls->volume, (TdRayBlend) { 1, alpha }, cgls->direction, error)
      || !td_rays_combine (lead, cgls->rest, (TdRayBlend) { 1, -alpha }, cgls->image, n, error)
      || !td_rays_sums (lead, cgls->rest, cgls->rest, n, &left, error)
      || !solver_cgls_descend (cgls, &next, error))
    return FALSE;
  const TdRayBlend turn = { *square > 0 ? next / *square : 0, 1 };
  if (!td_ray_group_combine (group, cgls->direction, turn, cgls->gradient, error))
    return FALSE;
  *rest = left.product;
  *square = next;
  return TRUE;
}

TdGroupVolume *
td_solver_cgls (TdSolver *solver, GError **error)
{
  const TdConeTask *task = solver->task;
  Cgls cgls = { .solver = solver };
  double norm = 0, square = 0, rest = 0;
  gboolean more = TRUE;
  GError *reason = NULL;
  gboolean ok = cgls_init (&cgls, error)
                && td_ray_group_measured_squares (solver->group, solver->measured, &norm, error)
                && solver_cgls_descend (&cgls, &square, error)
                && td_ray_group_combine (solver->group, cgls.direction, (TdRayBlend) { 0, 1 },
                                         cgls.gradient, error)
                && solver_cgls_recall (&cgls, norm, &square, error);

  while (ok && more) {
    ok = solver_cgls_step (&cgls, &square, &rest, error);
    td_solver_views_done (solver, task->n_views);
    more = ok
           && td_solver_pass_done (solver, norm > 0 ? sqrt (rest / norm) : 0, cgls.volume, &reason);
  }
  ok = ok && !reason;
  if (reason)
    g_propagate_error (error, reason);
  ok = ok && solver_cgls_remember (&cgls, norm, square, rest, error);
  TdGroupVolume *volume
      = ok && td_ray_group_finish (solver->group, error) ? g_steal_pointer (&cgls.volume) : NULL;
  cgls_clear (&cgls);
  return volume;
}
