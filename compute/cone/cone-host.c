/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The host's family. Upright geometries interpolate each pair of detector columns once for a
   whole column of voxels. Permutes of vectors then interpolate along v (iFDK, Algorithm 4, on a
   CPU). Other geometries take a plain bilinear loop. Both use all of the host's threads. */
#include "cone-host.h"

#include <math.h>
#include <string.h>

const TdConeFuncs *
td_cone_funcs (void)
{
  return TD_HOST_PICK (td_cone_funcs);
}

/* ── Upright geometries ── */

/* The fast path's limits: upright, v growing with the slice number, and not too steeply. */
static gboolean
fast_path_fits (const TdConeTask *task)
{
  const double far_x = task->first_mm[0] + (task->nx - 1) * task->voxel_mm;
  const double far_y = task->first_mm[1] - (task->ny - 1) * task->voxel_mm;
  /* A region's first voxel need not be the farthest from the axis. */
  const double radius = hypot (MAX (fabs (task->first_mm[0]), fabs (far_x)),
                               MAX (fabs (task->first_mm[1]), fabs (far_y)));

  if (!td_cone_upright (task))
    return FALSE;
  for (guint view = 0; view < task->n_views; view++) {
    const double *m = task->matrices + 12 * (gsize) view;
    const double nearest = 1 - hypot (m[8], m[9]) * radius;
    if (!(nearest > 0.01) || !(m[6] < 0) || -m[6] * task->voxel_mm / nearest > TD_CONE_STEEPEST)
      return FALSE;
  }
  return TRUE;
}

typedef struct {
  TdConeUpright batch;
  const TdConeFuncs *funcs;
  const float *projections; /* first kept row of the batch's first view */
  gsize view_floats;        /* from view to view there */
  float *views;
  float *out;
} Work;

/* [row][column] of one view to [column][row], 16 columns at a time so that both sides stream. */
static void
transpose_view (guint index, gpointer user)
{
  Work *work = user;
  const TdConeUpright *batch = &work->batch;
  const guint n_columns = batch->task->n_columns;
  const float *from = work->projections + index * work->view_floats;
  float *to = work->views + index * batch->view_stride + batch->column_stride + TD_CONE_PAD;

  for (guint c0 = 0; c0 < n_columns; c0 += 16)
    for (guint row = 0; row < batch->rows.count; row++)
      for (guint c = c0; c < MIN (c0 + 16, n_columns); c++)
        to[c * batch->column_stride + row] = from[(gsize) row * n_columns + c];
}

static void
run_tile (guint index, gpointer user)
{
  Work *work = user;
  work->funcs->tile (&work->batch, index);
}

/* [slice][y][x] to [y][x][slice]; one row of the band's voxels a call. */
static void
cone_host_load_row (guint j, gpointer user)
{
  Work *work = user;
  const TdConeUpright *batch = &work->batch;
  const guint nx = batch->task->nx;
  float *to = batch->volume + (gsize) j * nx * batch->n_slices;

  for (guint i0 = 0; i0 < nx; i0 += 16)
    for (guint k = 0; k < batch->n_slices; k++) {
      const float *from = work->out + ((gsize) k * batch->task->ny + batch->band.first + j) * nx;
      for (guint i = i0; i < MIN (i0 + 16, nx); i++)
        to[(gsize) i * batch->n_slices + k] = from[i];
    }
}

/* Copies voxel columns back into slices. */
static void
store_row (guint j, gpointer user)
{
  Work *work = user;
  const TdConeUpright *batch = &work->batch;
  const guint nx = batch->task->nx;
  const float *from = batch->volume + (gsize) j * nx * batch->n_slices;

  for (guint i0 = 0; i0 < nx; i0 += 16)
    for (guint k = 0; k < batch->n_slices; k++) {
      float *to = work->out + ((gsize) k * batch->task->ny + batch->band.first + j) * nx;
      for (guint i = i0; i < MIN (i0 + 16, nx); i++)
        to[i] = from[(gsize) i * batch->n_slices + k];
    }
}

/* The detector rows that are both given and seen, and the sizes that follow. */
static void
cone_host_lay_out (TdConeUpright *batch, TdRowRange given)
{
  const TdConeTask *task = batch->task;
  guint first, end;

  td_cone_rows_seen (task, batch->slice0, batch->n_slices, &first, &end);
  first = MAX (first, given.first);
  end = MIN (end, given.first + given.count);
  batch->rows = (TdRowRange) { first, end > first ? end - first : 0 };
  batch->column_stride = (batch->rows.count + 2 * TD_CONE_PAD + 15) / 16 * 16;
  batch->view_stride = batch->column_stride * (task->n_columns + 2);
  batch->tiles_x = (task->nx + TD_CONE_TILE - 1) / TD_CONE_TILE;
}

static void
cone_host_aim (TdConeUpright *batch, const guint *numbers)
{
  static const guint across[3] = { 0, 1, 3 };
  const TdConeTask *task = batch->task;
  TdConeAims *aims = &batch->aims;

  *aims = (TdConeAims) { 0 };
  for (guint view = batch->n_views; view < TD_CONE_BATCH; view++)
    aims->w[2][view] = 1;
  for (guint view = 0; view < batch->n_views; view++) {
    const double *m = task->matrices + 12 * (gsize) numbers[view];
    for (guint i = 0; i < 3; i++) {
      aims->u[i][view] = m[across[i]];
      aims->v[i][view] = m[4 + across[i]];
      aims->w[i][view] = m[8 + across[i]];
    }
    aims->v[2][view] += m[6] * task->first_mm[2];
    aims->dv[view] = -m[6] * task->voxel_mm;
    aims->weight[view] = task->view_weights[numbers[view]];
  }
}

typedef struct {
  TdConeProjector base;
  float *views; /* of the batch, as the kernel wants them, for the next band; NULL */
} HostProjector;

static TdRowRange
cone_host_band (const TdConeTask *task, const TdConeSlab *slab)
{
  return slab->band.count ? slab->band : (TdRowRange) { 0, task->ny };
}

/* Memory for views as the kernel wants them: of TD_CONE_BATCH of them or, where it stays for the
   next band, of all. *@ready: they are in it. NULL: there is none. */
static float *
cone_host_take_views (HostProjector *self, const TdConeUpright *batch, const TdConeBatch *given,
                      gboolean *ready)
{
  const guint all = (given->n_views + TD_CONE_BATCH - 1) / TD_CONE_BATCH * TD_CONE_BATCH;
  const gboolean starts = batch->band.first == 0;

  *ready = self->views && !starts;
  if (starts)
    g_clear_pointer (&self->views, g_free);
  if (starts && self->base.limits.bands && batch->band.count < batch->task->ny)
    self->views = g_try_new0 (float, batch->view_stride *all);
  return self->views ? self->views : g_try_new0 (float, batch->view_stride *TD_CONE_BATCH);
}

static gboolean
cone_host_add_upright (HostProjector *self, const TdConeBatch *given, const TdConeSlab *slab,
                       GCancellable *cancellable, GError **error)
{
  const TdConeTask *task = &self->base.task;
  const float *projections = td_buffer_map (given->projections);
  Work work = { .funcs = td_cone_funcs (),
                .batch = { .task = task,
                           .slice0 = slab->slice0,
                           .n_slices = slab->n_slices,
                           .band = cone_host_band (task, slab) },
                .out = td_buffer_map (slab->volume) };
  TdConeUpright *batch = &work.batch;
  const guint ny = batch->band.count;

  cone_host_lay_out (batch, given->rows);
  if (batch->rows.count == 0)
    return TRUE;
  work.view_floats = (gsize) given->rows.count * task->n_columns;
  batch->volume = g_try_new (float, (gsize) slab->n_slices *ny * task->nx);
  gboolean ready;
  float *views = cone_host_take_views (self, batch, given, &ready);
  gboolean ok = batch->volume && views;
  if (!ok)
    td_set_error (error, TD_ERROR_DEVICE_MEMORY,
                  "Not enough memory to back-project %u slices at once; use fewer (memory limit).",
                  slab->n_slices);
  if (ok)
    td_parallel_for (ny, cone_host_load_row, &work);
  for (guint view = 0; ok && view < given->n_views; view += TD_CONE_BATCH) {
    batch->n_views = MIN (TD_CONE_BATCH, given->n_views - view);
    cone_host_aim (batch, given->views + view);
    batch->views = work.views = views + (self->views ? view * batch->view_stride : 0);
    work.projections = projections + view * work.view_floats
                       + (gsize) (batch->rows.first - given->rows.first) * task->n_columns;
    if (!ready)
      td_parallel_for (batch->n_views, transpose_view, &work);
    td_parallel_for (batch->tiles_x * ((ny + TD_CONE_TILE - 1) / TD_CONE_TILE), run_tile, &work);
    ok = !g_cancellable_set_error_if_cancelled (cancellable, error);
  }
  if (ok)
    td_parallel_for (ny, store_row, &work);
  g_free (batch->volume);
  if (!self->views)
    g_free (views);
  return ok;
}

/* ── Any geometry ── */

typedef struct {
  TdConeGeneral general;
  TdRowRange band;
  const TdConeFuncs *funcs;
  const float *projections; /* of the batch */
  float *views;
} General;

static void
pad_view (guint index, gpointer user)
{
  const General *work = user;
  const TdConeGeneral *general = &work->general;
  const guint n_columns = general->task->n_columns;
  const float *from = work->projections + (gsize) index * general->rows.count * n_columns;
  float *to = work->views + index * general->view_stride + general->pitch + 1;

  for (guint row = 0; row < general->rows.count; row++)
    memcpy (to + (gsize) row * general->pitch, from + (gsize) row * n_columns,
            n_columns * sizeof *to);
}

static void
run_row (guint index, gpointer user)
{
  const General *work = user;
  const TdRowRange *band = &work->band;

  work->funcs->row (&work->general, index / band->count * work->general.task->ny + band->first
                                        + index % band->count);
}

static gboolean
cone_host_add_general (HostProjector *self, const TdConeBatch *given, const TdConeSlab *slab,
                       GCancellable *cancellable, GError **error)
{
  const TdConeTask *task = &self->base.task;
  const float *projections = td_buffer_map (given->projections);
  General work = { .band = cone_host_band (task, slab),
                   .funcs = td_cone_funcs (),
                   .general = { .task = task,
                                .slice0 = slab->slice0,
                                .rows = given->rows,
                                .pitch = task->n_columns + 3,
                                .volume = td_buffer_map (slab->volume) } };
  TdConeGeneral *general = &work.general;
  gboolean ok = TRUE;

  general->view_stride = (gsize) general->pitch * (given->rows.count + 3);
  if (general->view_stride > G_MAXINT)
    return td_set_error (error, TD_ERROR_TOO_LARGE, "A view of %u × %u pixels is too large.",
                         task->n_columns, given->rows.count);
  general->views = work.views
      = g_try_new0 (float, general->view_stride *TD_CONE_BATCH + TD_CONE_AHEAD);
  if (!work.views)
    return td_set_error (error, TD_ERROR_DEVICE_MEMORY, "Not enough memory for %u views at once.",
                         TD_CONE_BATCH);
  for (guint view = 0; ok && view < given->n_views; view += TD_CONE_BATCH) {
    general->numbers = given->views + view;
    general->n_views = MIN (TD_CONE_BATCH, given->n_views - view);
    work.projections = projections + (gsize) view * given->rows.count * task->n_columns;
    td_parallel_for (general->n_views, pad_view, &work);
    td_parallel_for (slab->n_slices * work.band.count, run_row, &work);
    ok = !g_cancellable_set_error_if_cancelled (cancellable, error);
  }
  g_free (work.views);
  return ok;
}

/* ── The family ── */

static const char *
cone_host_unsupported (const TdConeTask *task, TdPrecision precision, const TdDeviceInfo *device)
{
  if (!device->host_pointers)
    return N_ ("it runs on the host only");
  if (precision != TD_PRECISION_SINGLE)
    return N_ ("the host computes in single precision only");
  return NULL;
}

/* The way is chosen for the volume, since slabs of a few slices must come out as those of many. */
static gboolean
cone_host_add (TdConeProjector *base, TdQueue *queue, const TdConeBatch *batch,
               const TdConeSlab *slab, GCancellable *cancellable, GError **error)
{
  const TdConeTask *task = &base->task;
  const gboolean upright = task->nz > td_cone_funcs ()->rows_up_to && fast_path_fits (task);

  return td_queue_finish (queue, error)
         && (upright ? cone_host_add_upright : cone_host_add_general) (
             (HostProjector *) base, batch, slab, cancellable, error);
}

static void
cone_host_free (TdConeProjector *base)
{
  g_free (((HostProjector *) base)->views);
}

static guint64
cone_host_workspace_bytes (const TdConeTask *task, const TdConeLimits *limits,
                           const TdDeviceInfo *device)
{
  const guint64 column = (guint64) limits->max_rows + 2 * TD_CONE_PAD + 15;
  const guint64 views = limits->bands ? limits->max_views + TD_CONE_BATCH : TD_CONE_BATCH;

  return sizeof (float)
         * ((guint64) limits->max_slices * task->ny * task->nx
            + column * (task->n_columns + 2) * views);
}

const TdConeFamily td_cone_family_host = {
  .name = "host",
  .title = "CPU vectors along z",
  .bands = TRUE,
  .group = TD_CONE_GROUP,
  .unsupported = cone_host_unsupported,
  .bytes = sizeof (HostProjector),
  .add = cone_host_add,
  .free = cone_host_free,
  .workspace_bytes = cone_host_workspace_bytes,
  .symmetric_views = td_cone_one_view,
};
