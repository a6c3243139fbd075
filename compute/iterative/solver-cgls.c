/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "solver-private.h"

typedef struct {
  TdSolver *solver;
  TdBuffer *volume, *direction, *gradient;
  TdBuffer *rest, *image; /* all places: b - A x, A direction */
} Cgls;

static gboolean
cgls_init (Cgls *cgls, GError **error)
{
  const TdSolver *solver = cgls->solver;
  const guint n = solver->task->n_views;
  const guint64 bytes = td_rays_projection_bytes (solver->task, n);

  return (cgls->volume = td_solver_begin (solver, error))
         && (cgls->direction = td_rays_volume_new (solver->rays, error))
         && (cgls->gradient = td_rays_volume_new (solver->rays, error))
         && (cgls->rest = td_rays_projections_new (solver->rays, n, error))
         && (cgls->image = td_rays_projections_new (solver->rays, n, error))
         && td_copy (td_rays_queue (solver->rays), cgls->rest, 0, solver->measured, 0, bytes, error)
         && (!solver->watch->begin
             || (td_rays_project (solver->rays, cgls->volume, 0, n, cgls->image, solver->cancellable, error)
                 && td_rays_combine (solver->rays, cgls->rest, 1, -1, cgls->image, n, solver->cancellable,
                                     error)));
}

static void
cgls_clear (Cgls *cgls)
{
  /* Nothing may go while a kernel uses it. */
  td_queue_finish (td_rays_queue (cgls->solver->rays), NULL);
  td_buffer_free (cgls->volume);
  td_buffer_free (cgls->direction);
  td_buffer_free (cgls->gradient);
  td_buffer_free (cgls->rest);
  td_buffer_free (cgls->image);
}

/* gradient = A' rest, and its square. */
static gboolean
descend (Cgls *cgls, double *square, GError **error)
{
  const TdSolver *solver = cgls->solver;
  double magnitude;

  return td_rays_back (solver->rays, cgls->rest, 0, solver->task->n_views, cgls->gradient,
                       solver->cancellable, error)
         && td_rays_sums (solver->rays, cgls->gradient, cgls->gradient, 0, square, &magnitude, solver->cancellable, error);
}

/* One step along the direction; *@square is the gradient's before and after. */
static gboolean
step (Cgls *cgls, double *square, double *rest, GError **error)
{
  const TdSolver *solver = cgls->solver;
  const guint n = solver->task->n_views;
  double image, magnitude, next;

  if (!td_rays_project (solver->rays, cgls->direction, 0, n, cgls->image, solver->cancellable, error)
      || !td_rays_sums (solver->rays, cgls->image, cgls->image, n, &image, &magnitude, solver->cancellable, error))
    return FALSE;
  const double alpha = image > 0 ? *square / image : 0;
  if (!td_rays_combine (solver->rays, cgls->volume, 1, alpha, cgls->direction, 0,
                           solver->cancellable, error)
      || !td_rays_combine (solver->rays, cgls->rest, 1, -alpha, cgls->image, n,
                           solver->cancellable, error)
      || !td_rays_sums (solver->rays, cgls->rest, cgls->rest, n, rest, &magnitude, solver->cancellable, error)
      || !descend (cgls, &next, error)
      || !td_rays_combine (solver->rays, cgls->direction, *square > 0 ? next / *square : 0, 1,
                           cgls->gradient, 0, solver->cancellable, error))
    return FALSE;
  *square = next;
  return TRUE;
}

TdBuffer *
td_solver_cgls (TdSolver *solver, GError **error)
{
  const TdConeTask *task = solver->task;
  Cgls cgls = { .solver = solver };
  double norm, magnitude, square = 0, rest;
  gboolean more = TRUE;
  gboolean ok = cgls_init (&cgls, error)
                && td_rays_sums (solver->rays, solver->measured, solver->measured, task->n_views, &norm,
                                 &magnitude, solver->cancellable, error)
                && descend (&cgls, &square, error)
                && td_rays_combine (solver->rays, cgls.direction, 0, 1, cgls.gradient, 0,
                                    solver->cancellable, error);

  while (ok && more) {
    ok = step (&cgls, &square, &rest, error);
    td_solver_views_done (solver, task->n_views);
    more = ok && td_solver_pass_done (solver, norm > 0 ? sqrt (rest / norm) : 0);
  }
  TdBuffer *volume = ok && td_queue_finish (td_rays_queue (solver->rays), error)
                         ? g_steal_pointer (&cgls.volume) : NULL;
  cgls_clear (&cgls);
  return volume;
}
