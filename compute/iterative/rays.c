/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "compute/portion.h"
#include "rays-host.h"

/* Operations a second of anything on anything, until it is known better. */
#define FIRST_RATE 2e7
/* Lines that are weighed at once: many views, so that the volume is read and written seldom. */
#define SCRATCH_BYTES td_portion ((guint64) 64 << 20)
/* Twice as many where views are few (docs/benchmarks.md). */
#define BAND_ROWS 64
#define MOST_GROUPS_Z 65535 /* CUDA's */
/* An item that corrects by few views holds fewer voxels along z. Else too few items are at work
   while the volume is read. */
#define FEW_VIEWS 64
#define FEW_VIEWS_VOXELS 4
/* An item of kernels/rays-upright.cl lies on so many columns of a view, or shares nothing. */
#define SHARED_COLUMNS 8

/* ── Life ── */

typedef enum {
  RAYS_PROJECT,
  RAYS_BACK,
  RAYS_LINES,
  RAYS_VARIATION,
  RAYS_UPRIGHT,
  RAYS_UPRIGHT_FEW
} RaysProgram;

static guint
rays_items (guint n, guint lanes)
{
  return (n + lanes - 1) / lanes;
}

/* Voxels along z and rows that an item of kernels/rays-upright.cl takes. Items fill warps first. */
static guint
rays_item_voxels (const TdConeTask *task)
{
  return task->nz >= 256 ? 8 : task->nz >= 128 ? 4 : task->nz >= 64 ? 2 : 1;
}

static guint
rays_item_rows (const TdConeTask *task)
{
  return task->n_rows >= 128 ? 4 : task->n_rows >= 64 ? 2 : 1;
}

static TdKernel *
rays_build (TdRayProjector *rays, RaysProgram which, const char *kernel, GError **error)
{
  static const char *const names[] = { "rays-project",    "rays-back",    "rays-lines",
                                       "total-variation", "rays-upright", "rays-upright" };
  const TdDeviceInfo *info = td_device_info (rays->device);
  const guint most = which == RAYS_UPRIGHT_FEW ? FEW_VIEWS_VOXELS : G_MAXUINT;
  g_autofree char *voxels
      = g_strdup_printf ("TD_RAY_VOXELS=%u", MIN (rays_item_voxels (&rays->task), most));
  g_autofree char *rows = g_strdup_printf ("TD_RAY_ROWS=%u", rays_item_rows (&rays->task));
  const char *const lanes[] = { "TD_LANES=" G_STRINGIFY (TD_RAY_LANES), NULL };
  const char *const shared = "TD_RAY_SHARED=" G_STRINGIFY (SHARED_COLUMNS);
  const char *const tile[] = { voxels, rows, rays->shares ? shared : NULL, NULL };
  const gboolean fat = info->cpu_shaped && !info->host_pointers; /* the host's are compiled so */

  return td_device_kernel (rays->device, names[which],
                           which >= RAYS_UPRIGHT ? tile
                           : fat                 ? lanes
                                                 : NULL,
                           kernel, error);
}

/* The projector and its adjoint. */
static gboolean
rays_make_pair (TdRayProjector *rays, GError **error)
{
  const char *back = rays->upright ? "rays_back_upright" : "rays_back";

  if (rays->tiled)
    return (rays->project = rays_build (rays, RAYS_UPRIGHT, "rays_upright_project", error))
           && (rays->back = rays_build (rays, RAYS_UPRIGHT, "rays_upright_back", error))
           && (rays->weigh = rays_build (rays, RAYS_UPRIGHT, "rays_upright_weigh", error))
           && (rays->back_weighed = rays_build (rays, RAYS_UPRIGHT, "rays_upright_sums", error))
           && (rays_item_voxels (&rays->task) <= FEW_VIEWS_VOXELS
               || (rays->back_few
                   = rays_build (rays, RAYS_UPRIGHT_FEW, "rays_upright_sums", error)));
  return (rays->project = rays_build (rays, RAYS_PROJECT, "rays_project", error))
         && (rays->back = rays_build (rays, RAYS_BACK, back, error));
}

static gboolean
rays_make_kernels (TdRayProjector *rays, GError **error)
{
  return rays_make_pair (rays, error)
         && (rays->take = rays_build (rays, RAYS_LINES, "rays_take", error))
         && (rays->give = rays_build (rays, RAYS_LINES, "rays_give", error))
         && (rays->differ = rays_build (rays, RAYS_PROJECT, "rays_differ", error))
         && (rays->apply = rays_build (rays, RAYS_LINES, "rays_apply", error))
         && (rays->put = rays_build (rays, RAYS_LINES, "rays_put", error))
         && (rays->sums = rays_build (rays, RAYS_LINES,
                                      rays->lanes == 1 ? "rays_sums_across" : "rays_sums", error))
         && (rays->combine = rays_build (rays, RAYS_LINES, "rays_combine", error))
         && (rays->beyond = rays_build (rays, RAYS_LINES, "rays_beyond", error))
         && (rays->move = rays_build (rays, RAYS_VARIATION, "tv_move", error))
         && (rays->climb = rays_build (rays, RAYS_VARIATION, "tv_climb", error));
}

/* Bands of rows: low, so that a band of the volume stays in a device's cache. The places of all
   bands are no more than a launch may have along z. */
static void
rays_set_bands (TdRays *params, guint n_rows, guint item_rows, guint n_views)
{
  const guint most = MAX (1, MOST_GROUPS_Z / n_views);
  const guint band
      = MAX (n_views < FEW_VIEWS ? 2 * BAND_ROWS : BAND_ROWS, rays_items (n_rows, most));

  params->row_step = rays_items (MIN (band, n_rows), item_rows);
  params->bands = rays_items (n_rows, params->row_step * item_rows);
}

static void
fill_params (TdRayProjector *rays)
{
  const TdConeTask *task = &rays->task;
  const int along_x = (int) task->nz + 3, along_y = along_x * ((int) task->nx + 3);

  rays->params = (TdRays) {
    .nx = task->nx,
    .ny = task->ny,
    .nz = task->nz,
    .base = along_y + along_x + 1,
    .stride_x = along_x,
    .stride_y = along_y,
    .n_columns = task->n_columns,
    .n_rows = task->n_rows,
    .axes = td_rays_axes (task),
    .u_middle = (task->n_columns - 1) / 2.0f,
    .v_middle = (task->n_rows - 1) / 2.0f,
    .z_step = rays_items (task->nz, rays_item_voxels (task)),
    .voxel_mm = (float) task->voxel_mm,
  };
}

static gboolean
rays_make_tables (TdRayProjector *rays, const guint *order, GError **error)
{
  const TdConeTask *task = &rays->task;
  g_autofree float *table = g_new (float, (gsize) task->n_views *TD_RAY_FLOATS);
  g_autofree gint32 *places = g_new (gint32, task->n_views);
  const guint64 bytes = (guint64) task->n_views * TD_RAY_FLOATS * sizeof *table;

  rays->views = g_new (double, (gsize) task->n_views *TD_RAY_FLOATS);
  for (guint place = 0; place < task->n_views; place++) {
    const guint view = order ? order[place] : place;
    td_rays_view (task, view, rays->views + (gsize) place * TD_RAY_FLOATS);
    places[view] = place;
  }
  for (gsize i = 0; i < (gsize) task->n_views * TD_RAY_FLOATS; i++)
    table[i] = (float) rays->views[i];
  return (rays->table = td_buffer_new (rays->device, bytes, error))
         && (rays->places = td_buffer_new (rays->device, task->n_views * sizeof *places, error))
         && td_upload (rays->queue, rays->table, 0, table, bytes, error)
         && td_upload (rays->queue, rays->places, 0, places, task->n_views * sizeof *places, error)
         && td_queue_finish (rays->queue, error);
}

double
td_rays_most_columns (const TdRayProjector *rays)
{
  const TdConeTask *task = &rays->task;
  double most = 0;

  for (guint place = 0; place < task->n_views; place++) {
    const double *view = rays->views + (gsize) place * TD_RAY_FLOATS;
    const double x = fabs (view[8]), y = fabs (view[9]);
    double nearest = INFINITY;

    for (guint corner = 0; corner < 4; corner++)
      nearest = MIN (nearest, fabs (view[8] * (corner & 1 ? task->nx : 0)
                                    + view[9] * (corner & 2 ? task->ny : 0) + view[11]));
    for (gint side = -1; side <= 1; side += 2) {
      const double u = side * (rays->params.u_middle + 1);
      const double along = fabs (view[0] - u * view[8]), across = fabs (view[1] - u * view[9]);
      const double reach
          = (0.5 * (along + across) + MAX (along, across)) / (nearest - 0.5 * (x + y) - MAX (x, y));
      most = reach > 0 ? MAX (most, 2 * reach + 1.01) : INFINITY;
    }
  }
  return most;
}

/* The host's own loops are for upright views whose rows are not much finer than the voxels. */
static void
choose_host (TdRayProjector *rays)
{
  const TdRayHostWork work = { .p = rays->params, .views = rays->views };

  if (!td_device_info (rays->device)->host_pointers || !rays->upright)
    return;
  rays->reach = td_rays_host_reach (&work, rays->task.n_views);
  rays->on_host = rays->reach < TD_RAY_HOST_REACH;
}

TdRayProjector *
td_rays_new (TdDevice *device, const TdConeTask *task, const guint *order,
             GCancellable *cancellable, GError **error)
{
  if (!td_rays_check (task, error))
    return NULL;
  g_autoptr (TdRayProjector) rays = g_new0 (TdRayProjector, 1);

  rays->device = td_device_ref (device);
  g_set_object (&rays->cancellable, cancellable);
  td_cone_task_copy (&rays->task, task);
  rays->lanes = td_device_info (device)->host_pointers || td_device_info (device)->cpu_shaped
                    ? TD_RAY_LANES
                    : 1;
  rays->upright = td_rays_upright (task);
  rays->tiled = rays->upright && rays->lanes == 1;
  rays->rate = FIRST_RATE;
  fill_params (rays);
  rays->queue = td_queue_new (device, error);
  if (!rays->queue || !rays_make_tables (rays, order, error))
    return NULL;
  rays->shares = rays->tiled && rays->params.z_step >= TD_RAY_SHARED_X
                 && td_device_info (device)->max_group_size >= TD_RAY_GROUP
                 && td_rays_most_columns (rays) <= SHARED_COLUMNS;
  if (!rays_make_kernels (rays, error))
    return NULL;
  choose_host (rays);
  return g_steal_pointer (&rays);
}

void
td_rays_free (TdRayProjector *rays)
{
  if (!rays)
    return;
  if (rays->queue)
    td_queue_finish (rays->queue, NULL);
  td_event_free (rays->summed);
  td_device_host_free (rays->device, rays->sums_host);
  td_buffer_free (rays->sums_device);
  td_buffer_free (rays->weighed);
  td_buffer_free (rays->table);
  td_buffer_free (rays->places);
  td_queue_free (rays->queue);
  g_free (rays->views);
  td_cone_task_clear (&rays->task);
  g_clear_object (&rays->cancellable);
  td_device_unref (rays->device);
  g_free (rays);
}

TdQueue *
td_rays_queue (TdRayProjector *rays)
{
  return rays->queue;
}

TdBuffer *
td_rays_volume_new (TdRayProjector *rays, GError **error)
{
  const guint64 bytes = td_rays_volume_bytes (&rays->task);
  g_autoptr (TdBuffer) volume = td_buffer_new (rays->device, bytes, error);

  if (!volume || !td_fill_zero (rays->queue, volume, 0, bytes, error))
    return NULL;
  return g_steal_pointer (&volume);
}

TdBuffer *
td_rays_projections_new (TdRayProjector *rays, guint n_views, GError **error)
{
  return td_buffer_new (rays->device, td_rays_projection_bytes (&rays->task, n_views), error);
}

/* ── Projection and back-projection ── */

typedef struct {
  TdRays params;
  TdBuffer *volume, *lines, *measured, *squares, *weights;
  gboolean weighed; /* tiled: the lines are, and the weights known or not wanted */
  gboolean few;     /* … and so few that items hold fewer voxels */
} Work;

/* The same work by the host's own loops; what has been enqueued is done at once there. */
static gboolean
run_on_host (TdRayProjector *rays, const Work *work, gboolean back, GError **error)
{
  const TdRayHostWork host = {
    .p = work->params,
    .views = rays->views,
    .reach = rays->reach,
    .volume = td_buffer_map (work->volume),
    .lines = td_buffer_map (work->lines),
    .measured = work->measured ? td_buffer_map (work->measured) : NULL,
    .squares = work->squares ? td_buffer_map (work->squares) : NULL,
    .weights = work->weights ? td_buffer_map (work->weights) : NULL,
  };

  return td_rays_host_run (&host, back, rays->cancellable, error);
}

static gboolean
rays_project (TdRayProjector *rays, Work *work, TdRayViews views, GError **error)
{
  const TdConeTask *task = &rays->task;
  TdRays *p = &work->params;

  p->first_view = views.first;
  p->n_views = views.n;
  rays_set_bands (p, task->n_rows, rays_item_rows (task), views.n);
  if (rays->on_host)
    return run_on_host (rays, work, FALSE, error);
  const TdArg args[] = { TD_ARG (work->volume), TD_ARG (rays->table),   TD_ARG (work->measured),
                         TD_ARG (work->lines),  TD_ARG (work->squares), TD_RAY_PARAMS (*p) };
  const TdRayRun run
      = { rays->project,
          args,
          G_N_ELEMENTS (args),
          &p->first,
          &p->end,
          task->n_columns,
          1,
          { rays->tiled ? (guint) p->row_step : rays_items (task->n_rows, rays->lanes), 1,
            views.n * (rays->tiled ? (guint) p->bands : 1) },
          (double) task->n_rows * views.n * MAX (task->nx, task->ny) };
  return td_rays_run (rays, &run, error);
}

gboolean
td_rays_project (TdRayProjector *rays, TdBuffer *volume, TdRayViews views, TdBuffer *out,
                 GError **error)
{
  Work work
      = { .params = rays->params, .volume = volume, .lines = out, .measured = out, .squares = out };

  return rays_project (rays, &work, views, error);
}

gboolean
td_rays_compare (TdRayProjector *rays, TdBuffer *volume, const TdRayMeasured *measured,
                 TdRayViews views, const TdRayMissing *out, GError **error)
{
  Work work = { .params = rays->params,
                .volume = volume,
                .lines = out->lines,
                .measured = measured->lines,
                .squares = out->squares };

  work.params.compare = TRUE;
  work.params.held_view = measured->held;
  return rays_project (rays, &work, views, error);
}

gboolean
td_rays_differ (TdRayProjector *rays, const TdRayMeasured *measured, TdRayViews views,
                const TdRayMissing *out, GError **error)
{
  const TdConeTask *task = &rays->task;
  TdRays params = rays->params;
  const TdArg args[] = { TD_ARG (rays->table), TD_ARG (measured->lines), TD_ARG (out->lines),
                         TD_ARG (out->squares), TD_RAY_PARAMS (params) };
  const TdRayRun run = { rays->differ,
                         args,
                         G_N_ELEMENTS (args),
                         &params.first,
                         &params.end,
                         task->n_columns,
                         1,
                         { task->n_rows, 1, views.n },
                         (double) task->n_rows * views.n };

  params.held_view = measured->held;
  params.first_view = views.first;
  params.n_views = views.n;
  return td_rays_run (rays, &run, error);
}

static gboolean
launch_back (TdRayProjector *rays, guint first, guint end, gpointer user, GError **error)
{
  Work *work = user;

  work->params.first = first;
  work->params.end = end;
  const TdArg args[]
      = { TD_ARG (work->lines), TD_ARG (rays->table), TD_ARG (work->volume),
          TD_ARG (work->weights ? work->weights : work->volume), TD_ARG (work->params) };
  const TdConeTask *task = &rays->task;

  if (rays->tiled) {
    const guint tiles[3]
        = { work->params.z_step, rays_items (task->nx, 2), rays_items (end - first, 2) };
    TdKernel *kernel = work->few ? rays->back_few : work->weighed ? rays->back_weighed : rays->back;
    if (!work->weighed || !rays->shares)
      return td_rays_launch (rays, kernel, tiles, args, G_N_ELEMENTS (args), error);
    const guint local[3] = { TD_RAY_SHARED_X, TD_RAY_SHARED_Y, 1 };
    const guint groups[3]
        = { rays_items (tiles[0], local[0]), rays_items (tiles[1], local[1]), tiles[2] };
    return td_launch (rays->queue, kernel, groups, local, args, G_N_ELEMENTS (args), error);
  }
  const guint pieces
      = rays_items (task->nz, rays->upright && rays->lanes > 1 ? TD_RAY_BACK_LANES : rays->lanes);
  const guint items[3] = { pieces, task->nx, end - first };
  return td_rays_launch (rays, rays->back, items, args, G_N_ELEMENTS (args), error);
}

static gboolean
rays_back (TdRayProjector *rays, Work *work, TdRayViews views, GError **error)
{
  const double each = (double) rays->task.nx * rays->task.nz * views.n;

  work->params.first_view = views.first;
  work->params.n_views = views.n;
  if (rays->on_host)
    return run_on_host (rays, work, TRUE, error);
  return td_rays_pace (rays, &(TdRayPace) { rays->task.ny, each, launch_back, work }, error);
}

/* Enqueues. Lines of @views, which begin at place @held, to @weighed; in place if they are all. */
static gboolean
rays_weigh (TdRayProjector *rays, TdBuffer *lines, guint held, TdRayViews views, TdBuffer *weighed,
            GError **error)
{
  TdRays params = rays->params;
  const guint items[3] = { rays->task.n_rows, rays->task.n_columns, views.n };

  params.first = 0;
  params.end = params.n_columns;
  params.held_view = held;
  params.first_view = views.first;
  params.n_views = views.n;
  return td_rays_launch (rays, rays->weigh, items, TD_ARGS (lines, rays->table, weighed, params),
                         error);
}

static guint
rays_scratch_views (const TdConeTask *task, guint n_views)
{
  const guint64 view = td_rays_projection_bytes (task, 1);

  return (guint) CLAMP (SCRATCH_BYTES / view, 1, n_views);
}

guint64
td_rays_scratch_bytes (const TdConeTask *task, guint n_views)
{
  return td_rays_projection_bytes (task, rays_scratch_views (task, n_views));
}

/* Sums by the faster kernel, a few views after others. */
static gboolean
rays_back_sums (TdRayProjector *rays, Work *work, TdRayViews views, GError **error)
{
  TdBuffer *lines = work->lines;

  if (!rays->tiled)
    return rays_back (rays, work, views, error);
  if (!rays->weighed) {
    rays->scratch_views = rays_scratch_views (&rays->task, views.n);
    rays->weighed = td_rays_projections_new (rays, rays->scratch_views, error);
    if (!rays->weighed)
      return FALSE;
  }
  const guint most = rays->scratch_views;
  work->weighed = TRUE;
  work->lines = rays->weighed;
  for (guint at = 0; at < views.n; at += most) {
    const TdRayViews some = { views.first + at, MIN (most, views.n - at) };

    if (!rays_weigh (rays, lines, views.first, some, rays->weighed, error)
        || !rays_back (rays, work, some, error))
      return FALSE;
    work->params.compare = TD_RAY_ADD;
  }
  return TRUE;
}

gboolean
td_rays_back (TdRayProjector *rays, TdBuffer *lines, TdRayViews views, TdBuffer *volume,
              GError **error)
{
  Work work = { .params = rays->params, .volume = volume, .lines = lines };

  return rays_back_sums (rays, &work, views, error);
}

gboolean
td_rays_correct (TdRayProjector *rays, TdBuffer *lines, TdRayViews views, TdRayStep step,
                 TdBuffer *volume, GError **error)
{
  Work work = { .params = rays->params, .volume = volume, .lines = lines };

  work.params.compare = TD_RAY_CORRECT;
  work.params.relaxation = (float) step.relaxation;
  work.params.non_negative = step.non_negative;
  if (rays->tiled && step.weights) {
    work.weights = step.weights;
    work.weighed = TRUE;
    work.few = rays->back_few && views.n < FEW_VIEWS;
    if (work.few)
      work.params.z_step = rays_items (rays->task.nz, FEW_VIEWS_VOXELS);
    if (!rays_weigh (rays, lines, views.first, views, lines, error))
      return FALSE;
  }
  return rays_back (rays, &work, views, error);
}

gboolean
td_rays_add (TdRayProjector *rays, TdBuffer *lines, TdRayViews views, TdBuffer *sums,
             TdBuffer *weights, GError **error)
{
  Work work = { .params = rays->params, .volume = sums, .lines = lines, .weights = weights };

  work.params.compare = weights ? TD_RAY_ADD_BOTH : TD_RAY_ADD;
  return weights ? rays_back (rays, &work, views, error)
                 : rays_back_sums (rays, &work, views, error);
}

gboolean
td_rays_fill_ones (TdRayProjector *rays, guint n_views, TdBuffer *lines, GError **error)
{
  const guint64 view = td_rays_projection_bytes (&rays->task, 1);
  g_autofree float *ones = td_host_malloc (view, error);
  gboolean ok = ones != NULL;

  for (guint64 i = 0; ok && i < view / sizeof *ones; i++)
    ones[i] = 1;
  ok = ok && td_upload (rays->queue, lines, 0, ones, view, error);
  for (guint i = 1; ok && i < n_views; i++)
    ok = td_copy (rays->queue, lines, i * view, lines, 0, view, error);
  return ok && td_queue_finish (rays->queue, error);
}
