/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is done to whole volumes and projections besides projecting. */
#include "rays-private.h"

/* ── Total variation ── */

/* A kernel with a work-item for each voxel. The last of @args are the parameters, @params. */
static gboolean
run_voxels (TdRayProjector *rays, TdKernel *kernel, TdRays *params, const TdArg args[],
            guint n_args, GError **error)
{
  const TdConeTask *task = &rays->task;
  const TdRayRun run = { kernel,
                         args,
                         n_args,
                         &params->first,
                         &params->end,
                         task->ny,
                         2,
                         { task->nz, task->nx, 1 },
                         (double) task->nx * task->nz };

  return td_rays_run (rays, &run, error);
}

gboolean
td_rays_move (TdRayProjector *rays, TdBuffer *volume, TdBuffer *const field[3], TdBuffer *out,
              TdRayVariation variation, GError **error)
{
  TdRays params = rays->params;
  const TdArg args[]
      = { TD_ARG (volume),       TD_ARG (out),      TD_ARG (field[0]),
          TD_ARG (field[1]),     TD_ARG (field[2]), TD_ARG ((float) variation.strength),
          TD_RAY_PARAMS (params) };

  params.non_negative = variation.non_negative;
  return run_voxels (rays, rays->move, &params, args, G_N_ELEMENTS (args), error);
}

gboolean
td_rays_climb (TdRayProjector *rays, TdBuffer *out, TdBuffer *const field[3],
               TdRayVariation variation, GError **error)
{
  TdRays params = rays->params;
  /* The gradient and the divergence together stretch a field by 12 at most. */
  const TdArg args[] = { TD_ARG (out),
                         TD_ARG (field[0]),
                         TD_ARG (field[1]),
                         TD_ARG (field[2]),
                         TD_ARG ((float) (1 / (12 * variation.strength))),
                         TD_RAY_PARAMS (params) };
  return run_voxels (rays, rays->climb, &params, args, G_N_ELEMENTS (args), error);
}

/* ── In and out ── */

gboolean
td_rays_take (TdRayProjector *rays, TdBuffer *rows, guint from, TdRowRange which, guint origin,
              TdBuffer *measured, GError **error)
{
  const TdConeTask *task = &rays->task;
  const TdRayRows params = { .n_columns = task->n_columns,
                             .n_views = task->n_views,
                             .from_row = which.first - from,
                             .n_taken = which.count,
                             .to_row = which.first - origin,
                             .n_rows = task->n_rows };
  const guint items[3] = { task->n_columns, task->n_views, which.count };

  return td_rays_launch (rays, rays->take, items, TD_ARGS (rows, rays->places, measured, params),
                         error);
}

static TdRayPart
part_of (const TdRayBox *box)
{
  return (TdRayPart) { box->first[0], box->first[1], box->first[2],
                       box->size[0],  box->size[1],  box->size[2] };
}

gboolean
td_rays_give (TdRayProjector *rays, TdBuffer *volume, const TdRayBox *box, TdBuffer *slices,
              GError **error)
{
  return td_rays_launch (rays, rays->give, box->size,
                         TD_ARGS (volume, slices, rays->params, part_of (box)), error);
}

gboolean
td_rays_put (TdRayProjector *rays, TdBuffer *slices, const TdRayBox *box, double least,
             TdBuffer *volume, GError **error)
{
  return td_rays_launch (rays, rays->put, box->size,
                         TD_ARGS (slices, volume, (float) least, rays->params, part_of (box)),
                         error);
}

/* ── Vectors ── */

/* Lines of a volume, with its borders, which are zeros, or of projections. */
static guint
lines_of (const TdRayProjector *rays, guint n_views_or_0, int *length)
{
  const TdConeTask *task = &rays->task;

  *length = (int) (n_views_or_0 ? task->n_rows : task->nz + 3);
  return n_views_or_0 ? n_views_or_0 * task->n_columns : (task->nx + 3) * (task->ny + 3);
}

/* A kernel of kernels/rays-lines.cl with a work-item for each value. The last of @args are the
   parameters, @params. */
static gboolean
rays_volume_run_lines (TdRayProjector *rays, TdKernel *kernel, guint n_views_or_0,
                       TdRayLines *params, const TdArg args[], guint n_args, GError **error)
{
  const guint n = lines_of (rays, n_views_or_0, &params->length);
  const TdRayRun run = { kernel,        args, n_args, &params->first,
                         &params->end,  n,    0,      { (guint) params->length, 1, 1 },
                         params->length };

  return td_rays_run (rays, &run, error);
}

gboolean
td_rays_apply (TdRayProjector *rays, TdBuffer *sums, TdBuffer *weights, TdRayStep step,
               TdBuffer *volume, GError **error)
{
  TdRayLines params = { 0 };
  const TdArg args[] = { TD_ARG (volume),
                         TD_ARG (sums),
                         TD_ARG (weights),
                         TD_ARG ((float) step.relaxation),
                         TD_ARG ((int) step.non_negative),
                         TD_RAY_PARAMS (params) };

  return rays_volume_run_lines (rays, rays->apply, 0, &params, args, G_N_ELEMENTS (args), error);
}

gboolean
td_rays_combine (TdRayProjector *rays, TdBuffer *to, TdRayBlend blend, TdBuffer *from,
                 guint n_views_or_0, GError **error)
{
  TdRayLines params = { 0 };
  const TdArg args[] = { TD_ARG (to), TD_ARG (from), TD_ARG ((float) blend.scale),
                         TD_ARG ((float) blend.factor), TD_RAY_PARAMS (params) };

  return rays_volume_run_lines (rays, rays->combine, n_views_or_0, &params, args,
                                G_N_ELEMENTS (args), error);
}

gboolean
td_rays_extrapolate (TdRayProjector *rays, TdBuffer *here, TdBuffer *before, double factor,
                     GError **error)
{
  TdRayLines params = { 0 };
  const TdArg args[]
      = { TD_ARG (here), TD_ARG (before), TD_ARG ((float) factor), TD_RAY_PARAMS (params) };

  return rays_volume_run_lines (rays, rays->beyond, 0, &params, args, G_N_ELEMENTS (args), error);
}

static gboolean
make_sums (TdRayProjector *rays, guint64 n, GError **error)
{
  if (n <= rays->n_sums)
    return TRUE;
  td_device_host_free (rays->device, rays->sums_host);
  td_buffer_free (g_steal_pointer (&rays->sums_device));
  rays->n_sums = 0;
  rays->sums_host = td_device_host_alloc (rays->device, 2 * n * sizeof (float), error);
  rays->sums_device
      = rays->sums_host ? td_buffer_new (rays->device, 2 * n * sizeof (float), error) : NULL;
  rays->n_sums = rays->sums_device ? n : 0;
  return rays->sums_device != NULL;
}

gboolean
td_rays_sums_begin (TdRayProjector *rays, TdBuffer *a, TdBuffer *b, guint n_views_or_0,
                    GError **error)
{
  TdRayLines params = { 0 };
  guint n = lines_of (rays, n_views_or_0, &params.length);
  const double values = (double) n * params.length;

  params.lines = (int) n;
  if (rays->lanes == 1) {                                  /* rays_sums_across() */
    params.groups = MAX (params.lines / params.length, 1); /* as many sums as of lines */
    n = (guint) (params.groups * params.length);
  }
  if (!make_sums (rays, n, error))
    return FALSE;
  const TdArg args[]
      = { TD_ARG (a), TD_ARG (b), TD_ARG (rays->sums_device), TD_RAY_PARAMS (params) };
  const TdRayRun run = { rays->sums, args, G_N_ELEMENTS (args), &params.first, &params.end,
                         n,          0,    { 1, 1, 1 },         values / n };
  if (!td_rays_run (rays, &run, error)
      || !td_download (rays->queue, rays->sums_host, rays->sums_device, 0,
                       2 * (guint64) n * sizeof (float), error))
    return FALSE;
  rays->summed_lines = n;
  return td_event_mark (rays->queue, &rays->summed, error);
}

gboolean
td_rays_sums_end (TdRayProjector *rays, TdRaySums *sums, GError **error)
{
  const gboolean came = td_event_sync (rays->summed, error);

  g_clear_pointer (&rays->summed, td_event_free);
  *sums = (TdRaySums) { 0 };
  for (guint i = 0; came && i < rays->summed_lines; i++) {
    sums->product += rays->sums_host[2 * (gsize) i];
    sums->magnitude += rays->sums_host[2 * (gsize) i + 1];
  }
  return came;
}

gboolean
td_rays_sums (TdRayProjector *rays, TdBuffer *a, TdBuffer *b, guint n_views_or_0, TdRaySums *sums,
              GError **error)
{
  if (!td_rays_sums_begin (rays, a, b, n_views_or_0, error)
      || !td_rays_sums_end (rays, sums, error))
    return FALSE;
  rays->pending = 0; /* nothing is left in the queue */
  return TRUE;
}
