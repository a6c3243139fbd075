/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rays-host.h"

#include <math.h>

static const TdRayHostFuncs *
rays_host_funcs (void)
{
  switch (td_host_isa ()) {
#ifdef __x86_64__
  case TD_ISA_AVX512: return &td_ray_host_funcs_avx512;
  case TD_ISA_AVX2: return &td_ray_host_funcs_avx2;
#endif
  default: return &td_ray_host_funcs_plain;
  }
}

typedef struct {
  const TdRayHostWork *work;
  const TdRayHostFuncs *funcs;
  guint across, along; /* pieces along the fastest two of three directions */
  GCancellable *cancellable;
} Pieces;

static guint
rays_host_pieces (guint n, guint size)
{
  return (n + size - 1) / size;
}

static void
project_piece (guint index, gpointer user)
{
  const Pieces *all = user;
  const guint row = index % all->across * all->funcs->rows;
  const guint column = index / all->across % all->along * TD_RAY_HOST_COLUMNS;
  const guint end = MIN (column + TD_RAY_HOST_COLUMNS, (guint) all->work->p.n_columns);

  if (!g_cancellable_is_cancelled (all->cancellable))
    all->funcs->project (all->work, index / all->across / all->along, column, end, row);
}

gboolean
td_rays_host_project (const TdRayHostWork *work, GCancellable *cancellable, GError **error)
{
  const TdRayHostFuncs *f = rays_host_funcs ();
  Pieces all = { work, f, rays_host_pieces (work->p.n_rows, f->rows),
                 rays_host_pieces (work->p.n_columns, TD_RAY_HOST_COLUMNS), cancellable };

  td_parallel_for (all.across * all.along * work->p.n_views, project_piece, &all);
  return !g_cancellable_set_error_if_cancelled (cancellable, error);
}

static void
rays_host_back_piece (guint index, gpointer user)
{
  const Pieces *all = user;
  const guint z = index % all->across * all->funcs->rows;
  const guint x = index / all->across % all->along * TD_RAY_HOST_TILE;

  if (!g_cancellable_is_cancelled (all->cancellable))
    all->funcs->back (all->work, x, index / all->across / all->along * TD_RAY_HOST_TILE, z);
}

gboolean
td_rays_host_back (const TdRayHostWork *work, GCancellable *cancellable, GError **error)
{
  const TdRayHostFuncs *f = rays_host_funcs ();
  Pieces all = { work, f, rays_host_pieces (work->p.nz, f->rows),
                 rays_host_pieces (work->p.nx, TD_RAY_HOST_TILE), cancellable };

  td_parallel_for (all.across * all.along * rays_host_pieces (work->p.ny, TD_RAY_HOST_TILE),
                   rays_host_back_piece, &all);
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
