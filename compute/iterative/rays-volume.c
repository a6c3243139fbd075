/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is done to whole volumes and projections besides projecting. */
#include "rays-private.h"

/* ── Total variation ── */

typedef struct {
  TdRays params;
  TdBuffer *volume, *out;
  TdBuffer *const *field;
  float number;
} Denoise;

static gboolean
launch_move (TdRayProjector *rays, guint first, guint end, gpointer user, GError **error)
{
  Denoise *work = user;

  work->params.first = first;
  work->params.end = end;

  const guint items[3] = { rays->task.nz, rays->task.nx, end - first };
  return td_rays_launch (rays, rays->move, items,
                         TD_ARGS (work->volume, work->out, work->field[0], work->field[1],
                                  work->field[2], work->number, work->params),
                         error);
}

static gboolean
launch_climb (TdRayProjector *rays, guint first, guint end, gpointer user, GError **error)
{
  Denoise *work = user;

  work->params.first = first;
  work->params.end = end;

  const guint items[3] = { rays->task.nz, rays->task.nx, end - first };
  return td_rays_launch (rays, rays->climb, items,
                         TD_ARGS (work->out, work->field[0], work->field[1], work->field[2],
                                  work->number, work->params),
                         error);
}

gboolean
td_rays_move (TdRayProjector *rays, TdBuffer *volume, TdBuffer *const field[3], TdBuffer *out,
              TdRayVariation variation, GCancellable *cancellable, GError **error)
{
  const double each = (double) rays->task.nx * rays->task.nz;
  Denoise move = { rays->params, volume, out, field, (float) variation.strength };

  move.params.non_negative = variation.non_negative;
  return td_rays_pace (rays, &(TdRayPace) { rays->task.ny, each, launch_move, &move }, cancellable,
                       error);
}

gboolean
td_rays_climb (TdRayProjector *rays, TdBuffer *out, TdBuffer *const field[3],
               TdRayVariation variation, GCancellable *cancellable, GError **error)
{
  const double each = (double) rays->task.nx * rays->task.nz;
  /* The gradient and the divergence together stretch a field by 12 at most. */
  Denoise climb = { rays->params, NULL, out, field, (float) (1 / (12 * variation.strength)) };

  return td_rays_pace (rays, &(TdRayPace) { rays->task.ny, each, launch_climb, &climb },
                       cancellable, error);
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

/* A launch counts its values in an int. */
#define MOST_VALUES (1 << 28)
typedef struct {
  TdKernel *kernel;
  TdBuffer *a, *b;
  float scale, factor;   /* combine: both; extrapolate: the latter */
  int length, n, groups; /* of a line; sums: lines, rays_sums_across()'s groups */
} Lines;

/* Lines of a volume, with its borders, which are zeros, or of projections. */
static guint
lines_of (const TdRayProjector *rays, guint n_views_or_0, Lines *lines)
{
  const TdConeTask *task = &rays->task;

  lines->length = n_views_or_0 ? task->n_rows : task->nz + 3;
  return n_views_or_0 ? n_views_or_0 * task->n_columns : (task->nx + 3) * (task->ny + 3);
}

/* What td_rays_apply() makes of a volume. */
typedef struct {
  TdBuffer *volume, *sums, *weights;
  float relaxation;
  int non_negative, length;
} Apply;

static gboolean
launch_apply (TdRayProjector *rays, guint first, guint end, gpointer user, GError **error)
{
  const Apply *work = user;
  const guint most = MAX (MOST_VALUES / work->length, 1);

  for (guint line = first; line < end; line += most) {
    const TdRayLines params
        = { .first = line, .end = MIN (end, line + most), .length = work->length };

    const guint items[3] = { (params.end - params.first) * params.length, 1, 1 };

    if (!td_rays_launch (rays, rays->apply, items,
                         TD_ARGS (work->volume, work->sums, work->weights, work->relaxation,
                                  work->non_negative, params),
                         error))
      return FALSE;
  }
  return TRUE;
}

gboolean
td_rays_apply (TdRayProjector *rays, TdBuffer *sums, TdBuffer *weights, TdRayStep step,
               TdBuffer *volume, GCancellable *cancellable, GError **error)
{
  Lines lines = { 0 };
  const guint n = lines_of (rays, 0, &lines);
  Apply work = { volume, sums, weights, (float) step.relaxation, step.non_negative, lines.length };

  return td_rays_pace (rays, &(TdRayPace) { n, lines.length, launch_apply, &work }, cancellable,
                       error);
}

static gboolean
launch_lines (TdRayProjector *rays, guint first, guint end, gpointer user, GError **error)
{
  const Lines *lines = user;
  const guint most = MAX (MOST_VALUES / lines->length, 1);

  for (guint line = first; line < end; line += most) {
    const TdRayLines params
        = { .first = line, .end = MIN (end, line + most), .length = lines->length };
    const TdArg combine[] = { TD_ARG (lines->a), TD_ARG (lines->b), TD_ARG (lines->scale),
                              TD_ARG (lines->factor), TD_ARG (params) };
    const TdArg beyond[]
        = { TD_ARG (lines->a), TD_ARG (lines->b), TD_ARG (lines->factor), TD_ARG (params) };
    const gboolean both = lines->kernel == rays->combine;

    const guint items[3] = { (params.end - params.first) * lines->length, 1, 1 };

    if (!td_rays_launch (rays, lines->kernel, items, both ? combine : beyond,
                         both ? G_N_ELEMENTS (combine) : G_N_ELEMENTS (beyond), error))
      return FALSE;
  }
  return TRUE;
}

gboolean
td_rays_combine (TdRayProjector *rays, TdBuffer *to, TdRayBlend blend, TdBuffer *from,
                 guint n_views_or_0, GCancellable *cancellable, GError **error)
{
  Lines lines = { .kernel = rays->combine,
                  .a = to,
                  .b = from,
                  .scale = (float) blend.scale,
                  .factor = (float) blend.factor };
  const guint n = lines_of (rays, n_views_or_0, &lines);

  return td_rays_pace (rays, &(TdRayPace) { n, lines.length, launch_lines, &lines }, cancellable,
                       error);
}

gboolean
td_rays_extrapolate (TdRayProjector *rays, TdBuffer *here, TdBuffer *before, double factor,
                     GCancellable *cancellable, GError **error)
{
  Lines lines = { .kernel = rays->beyond, .a = here, .b = before, .factor = (float) factor };
  const guint n = lines_of (rays, 0, &lines);

  return td_rays_pace (rays, &(TdRayPace) { n, lines.length, launch_lines, &lines }, cancellable,
                       error);
}

static gboolean
make_sums (TdRayProjector *rays, guint64 n, GError **error)
{
  if (n <= rays->n_sums)
    return TRUE;
  if (rays->sums_host)
    td_device_host_free (rays->device, rays->sums_host);
  td_buffer_free (g_steal_pointer (&rays->sums_device));
  rays->n_sums = 0;
  rays->sums_host = td_device_host_alloc (rays->device, 2 * n * sizeof (float), error);
  rays->sums_device
      = rays->sums_host ? td_buffer_new (rays->device, 2 * n * sizeof (float), error) : NULL;
  rays->n_sums = rays->sums_device ? n : 0;
  return rays->sums_device != NULL;
}

static gboolean
launch_sums (TdRayProjector *rays, guint first, guint end, gpointer user, GError **error)
{
  const Lines *lines = user;
  const TdRayLines params = { first, end, lines->length, lines->n, lines->groups };

  const guint items[3] = { end - first, 1, 1 };
  return td_rays_launch (rays, rays->sums, items,
                         TD_ARGS (lines->a, lines->b, rays->sums_device, params), error);
}

gboolean
td_rays_sums_begin (TdRayProjector *rays, TdBuffer *a, TdBuffer *b, guint n_views_or_0,
                    GCancellable *cancellable, GError **error)
{
  Lines lines = { .kernel = rays->sums, .a = a, .b = b };
  guint n = lines_of (rays, n_views_or_0, &lines);
  const double values = (double) n * lines.length;

  lines.n = n;
  if (rays->lanes == 1) {                           /* rays_sums_across() */
    lines.groups = MAX ((int) n / lines.length, 1); /* as many sums as of lines */
    n = (guint) (lines.groups * lines.length);
  }
  g_clear_pointer (&rays->summed, td_event_free); /* of a call that failed before its end */
  if (!make_sums (rays, n, error)
      || !td_rays_pace (rays, &(TdRayPace) { n, values / n, launch_sums, &lines }, cancellable,
                        error)
      || !td_download (rays->queue, rays->sums_host, rays->sums_device, 0,
                       2 * (guint64) n * sizeof (float), error))
    return FALSE;
  rays->summed_lines = n;
  rays->summed = td_event_record (rays->queue, error);
  return rays->summed != NULL;
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
              GCancellable *cancellable, GError **error)
{
  if (!td_rays_sums_begin (rays, a, b, n_views_or_0, cancellable, error)
      || !td_rays_sums_end (rays, sums, error))
    return FALSE;
  rays->pending = 0; /* nothing is left in the queue */
  return TRUE;
}
