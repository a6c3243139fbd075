/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "solver-private.h"

#define SAME                                                                                       \
  1e-2 /* relative: more than rounding adds up to in many passes, less than another geometry's     \
          residual */

typedef struct {
  TdSolver *solver;
  TdTeamVolume *volume, *direction, *gradient;
  TdBuffer *rest, *image; /* all places: b - A x, A direction */
} Cgls;

static gboolean
cgls_init (Cgls *cgls, GError **error)
{
  const TdSolver *solver = cgls->solver;
  const guint n = solver->task->n_views;
  const guint64 bytes = td_rays_projection_bytes (solver->task, n);

  return (cgls->volume = td_solver_begin (solver, error))
         && (cgls->direction = td_team_volume_new (solver->team, error))
         && (cgls->gradient = td_team_volume_new (solver->team, error))
         && (cgls->rest = td_team_lines_new (solver->team, n, error))
         && (cgls->image = td_team_lines_new (solver->team, n, error))
         && td_copy (td_rays_queue (td_team_lead (solver->team)), cgls->rest, 0, solver->measured,
                     0, bytes, error)
         && (!solver->watch->begin
             || (td_team_project (solver->team, cgls->volume, 0, n, cgls->image,
                                  solver->cancellable, error)
                 && td_rays_combine (td_team_lead (solver->team), cgls->rest, 1, -1, cgls->image, n,
                                     solver->cancellable, error)));
}

static void
cgls_clear (Cgls *cgls)
{
  /* Nothing may go while a kernel uses it. */
  td_team_finish (cgls->solver->team, NULL);
  td_team_volume_free (cgls->volume);
  td_team_volume_free (cgls->direction);
  td_team_volume_free (cgls->gradient);
  td_buffer_free (cgls->rest);
  td_buffer_free (cgls->image);
}

/* gradient = A' rest, and its square. */
static gboolean
solver_cgls_descend (Cgls *cgls, double *square, GError **error)
{
  const TdSolver *solver = cgls->solver;
  double magnitude;

  return td_team_back (solver->team, cgls->rest, 0, solver->task->n_views, cgls->gradient,
                       solver->cancellable, error)
         && td_team_sums (solver->team, cgls->gradient, cgls->gradient, square, &magnitude,
                          solver->cancellable, error);
}

/* The direction that an earlier run had come to, if it was going where this one is: then what is
   missing of the projections is what it was, but for rounding. */
static gboolean
solver_cgls_recall (Cgls *cgls, double norm, double *square, GError **error)
{
  TdSolver *solver = cgls->solver;
  const guint n = solver->task->n_views;
  double rest, magnitude;
  TdSolverMomentum momentum;

  if (!td_solver_recall (solver, norm, &momentum))
    return TRUE;
  const double *own = momentum.numbers + TD_SOLVER_OWN;
  if (!td_rays_sums (td_team_lead (solver->team), cgls->rest, cgls->rest, n, &rest, &magnitude,
                     solver->cancellable, error))
    return FALSE;
  if (!(fabs (sqrt (rest) - sqrt (own[1])) <= SAME * (sqrt (own[1]) + SAME * sqrt (norm)))) {
    td_solver_recall_failed (solver);
    return TRUE;
  }
  *square = own[0];
  return solver->watch->recall_volumes (&cgls->direction, 1, solver->watch->user, error);
}

static gboolean
solver_cgls_remember (Cgls *cgls, double norm, double square, double rest, GError **error)
{
  TdSolverMomentum momentum = { 0 };

  momentum.numbers[TD_SOLVER_OWN] = square;
  momentum.numbers[TD_SOLVER_OWN + 1] = rest;
  return td_solver_remember (cgls->solver, norm, &momentum, &cgls->direction, 1, error);
}

/* One step along the direction; *@square is the gradient's before and after. */
static gboolean
solver_cgls_step (Cgls *cgls, double *square, double *rest, GError **error)
{
  const TdSolver *solver = cgls->solver;
  const guint n = solver->task->n_views;
  double image, magnitude, next;

  if (!td_team_project (solver->team, cgls->direction, 0, n, cgls->image, solver->cancellable,
                        error)
      || !td_rays_sums (td_team_lead (solver->team), cgls->image, cgls->image, n, &image,
                        &magnitude, solver->cancellable, error))
    return FALSE;
  const double alpha = image > 0 ? *square / image : 0;
  if (!td_team_combine (solver->team, cgls->volume, 1, alpha, cgls->direction, solver->cancellable,
                        error)
      || !td_rays_combine (td_team_lead (solver->team), cgls->rest, 1, -alpha, cgls->image, n,
                           solver->cancellable, error)
      || !td_rays_sums (td_team_lead (solver->team), cgls->rest, cgls->rest, n, rest, &magnitude,
                        solver->cancellable, error)
      || !solver_cgls_descend (cgls, &next, error)
      || !td_team_combine (solver->team, cgls->direction, *square > 0 ? next / *square : 0, 1,
                           cgls->gradient, solver->cancellable, error))
    return FALSE;
  *square = next;
  return TRUE;
}

TdTeamVolume *
td_solver_cgls (TdSolver *solver, GError **error)
{
  const TdConeTask *task = solver->task;
  Cgls cgls = { .solver = solver };
  double norm = 0, square = 0, rest = 0;
  gboolean more = TRUE;
  GError *reason = NULL;
  gboolean ok = cgls_init (&cgls, error)
                && td_team_measured_squares (solver->team, solver->measured, &norm,
                                             solver->cancellable, error)
                && solver_cgls_descend (&cgls, &square, error)
                && td_team_combine (solver->team, cgls.direction, 0, 1, cgls.gradient,
                                    solver->cancellable, error)
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
  TdTeamVolume *volume
      = ok && td_team_finish (solver->team, error) ? g_steal_pointer (&cgls.volume) : NULL;
  cgls_clear (&cgls);
  return volume;
}
