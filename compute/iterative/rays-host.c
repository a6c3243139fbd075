/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rays-host.h"

#include <math.h>

/* The work is cut along three directions. Pieces along the fast one are neighbours in memory. */
typedef struct {
  const TdRayHostWork *work;
  const TdRayHostFuncs *funcs;
  gboolean back;
  guint fast, middle; /* pieces along two of them */
  GCancellable *cancellable;
} Pieces;

static guint
rays_host_pieces (guint n, guint size)
{
  return (n + size - 1) / size;
}

static void
rays_host_piece (guint index, gpointer user)
{
  const Pieces *all = user;
  const guint fast = index % all->fast * all->funcs->rows, middle = index / all->fast % all->middle;
  const guint slow = index / all->fast / all->middle, column = middle * TD_RAY_HOST_COLUMNS;
  const guint end = MIN (column + TD_RAY_HOST_COLUMNS, (guint) all->work->p.n_columns);

  if (g_cancellable_is_cancelled (all->cancellable))
    return;
  if (all->back)
    all->funcs->back (all->work, middle * TD_RAY_HOST_TILE, slow * TD_RAY_HOST_TILE, fast);
  else
    all->funcs->project (all->work, slow, column, end, fast);
}

gboolean
td_rays_host_run (const TdRayHostWork *work, gboolean back, GCancellable *cancellable,
                  GError **error)
{
  const TdRayHostFuncs *f = TD_HOST_PICK (td_ray_host_funcs);
  const TdRays *p = &work->p;
  const guint size = back ? TD_RAY_HOST_TILE : TD_RAY_HOST_COLUMNS;
  const guint slow = back ? rays_host_pieces (p->ny, size) : (guint) p->n_views;
  Pieces all = { .work = work,
                 .funcs = f,
                 .back = back,
                 .fast = rays_host_pieces (back ? p->nz : p->n_rows, f->rows),
                 .middle = rays_host_pieces (back ? p->nx : p->n_columns, size),
                 .cancellable = cancellable };

  td_parallel_for (all.fast * all.middle * slow, rays_host_piece, &all);
  return !g_cancellable_set_error_if_cancelled (cancellable, error);
}

double
td_rays_host_reach (const TdRayHostWork *work, guint n_places)
{
  double least = INFINITY;
  TdRayPlane plane;

  for (guint place = 0; place < n_places; place++)
    for (gint column = 0; column < work->p.n_columns; column++) {
      td_ray_plane (work, place, column, &plane);
      least = MIN (least, fabs (plane.row - plane.row_step));
      least = MIN (least, fabs (plane.row + plane.n_a * plane.row_step));
    }
  return 1 / least;
}
