/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone-device-private.h"

#include <math.h>

#include "kernels/params.h"

/* Matrices in voxels from the axis, detector coordinates counted from the detector's middle (not
   that of the given rows: what they see must not depend on those), scaled by 1 / sqrt (weight) so
   that the kernel's 1 / w^2 carries the view's weight. */
static void
cone_device_add_fill_table (const TdConeDeviceProjector *self, const guint *views, guint n,
                            double u_middle, double v_middle, float *table)
{
  const TdConeTask *task = &self->task;

  for (guint i = 0; i < n; i++) {
    const double *m = task->matrices + 12 * (gsize) views[i];
    /* A repeated view may have no weight of its own; the root of its inverse must stay finite. */
    const double scale = 1 / sqrt (MAX (task->view_weights[views[i]], 1e-24));
    float *out = table + (gsize) i * TD_CONE_MATRIX_FLOATS;

    for (guint c = 0; c < 4; c++) {
      const double unit = c < 3 ? task->voxel_mm * scale : scale;
      out[c] = (float) ((m[c] - u_middle * m[8 + c]) * unit);
      out[4 + c] = (float) ((m[4 + c] - v_middle * m[8 + c]) * unit);
      out[8 + c] = (float) (m[8 + c] * unit);
    }
  }
}

static gboolean
upload_matrices (TdConeDeviceProjector *self, TdQueue *queue, const guint *views, guint n,
                 double u_middle, double v_middle, GError **error)
{
  const guint slot = self->next_table;

  self->next_table = (slot + 1) % G_N_ELEMENTS (self->tables);
  if (self->tables[slot].read && !td_event_sync (self->tables[slot].read, error))
    return FALSE;
  g_clear_pointer (&self->tables[slot].read, td_event_free);
  cone_device_add_fill_table (self, views, n, u_middle, v_middle, self->tables[slot].floats);
  if (!td_upload (queue, self->matrices, 0, self->tables[slot].floats,
                  (guint64) n * TD_CONE_MATRIX_FLOATS * sizeof (float), error))
    return FALSE;
  self->tables[slot].read = td_event_record (queue, error);
  return self->tables[slot].read != NULL;
}

/* Rows of the texture. Where the texels are made here it is as high as it will ever be, with zeros
   below what is given: a new texture for every slab costs milliseconds and makes the queue wait. */
static guint
texel_rows (const TdConeDeviceProjector *self, guint n_rows)
{
  return self->staging ? self->limits.max_rows : n_rows;
}

static gboolean
cone_device_add_pack (TdConeDeviceProjector *self, TdQueue *queue, TdBuffer *projections,
                      guint n_rows, guint n_layers, GError **error)
{
  const guint n_columns = self->task.n_columns, high = texel_rows (self, n_rows);
  const TdConePack params = {
    .n_columns = (int) n_columns,
    .n_rows = (int) n_rows,
    .n_layers = (int) n_layers,
    .n_views_between = (int) n_layers,
    .texel_rows = (int) high,
    .pitch = (int) n_columns + 2,
    .view_stride = (int) ((n_columns + 2) * (n_rows + 3)),
  };
  const gboolean squares = self->way == TD_CONE_WAY_COLUMNS; /* of 32, which it transposes */
  const guint local[3] = { squares ? 32 : 64, squares ? 8 : 4, 1 };
  const guint groups[3]
      = { (n_columns + 2 + local[0] - 1) / local[0],
          squares ? (n_rows + 31) / 32 : (MAX (n_rows + 3, high) + 3) / 4, n_layers };
  const TdArg args[]
      = { TD_ARG_BUFFER (projections), TD_ARG_BUFFER (self->staging), TD_ARG_VALUE (params) };

  return td_launch (queue, self->pack_kernel, groups, local, args, G_N_ELEMENTS (args), error);
}

static gboolean
fill_texture (TdConeDeviceProjector *self, TdQueue *queue, TdBuffer *projections, guint given_rows,
              guint n_layers, GError **error)
{
  const guint n_rows = texel_rows (self, given_rows);
  TdBuffer *texels = self->staging ? self->staging : projections;

  if (self->texture && self->texture_rows != n_rows) {
    if (!td_queue_finish (queue, error))
      return FALSE;
    g_clear_pointer (&self->texture, td_texture_free);
  }
  if (!self->texture) {
    const TdTextureSpec spec = {
      .texel = td_cone_texel (self->pack, self->half),
      .width = self->task.n_columns,
      .height = n_rows,
      .layers = self->limits.max_views / self->pack,
      .linear = TRUE,
    };
    self->texture = td_texture_new (self->base.device, &spec, error);
    if (!self->texture)
      return FALSE;
    self->texture_rows = n_rows;
  }
  return td_texture_write (queue, self->texture, 0, n_layers, texels, 0, error);
}

/* @step: voxels a group covers. */
static gboolean
cone_device_add_launch (TdConeDeviceProjector *self, TdQueue *queue, const TdConeProject *params,
                        const guint step[3], const guint local[3], const TdArg *args, guint n_args,
                        GError **error)
{
  const guint groups[3]
      = { (params->x_count + step[0] - 1) / step[0], (params->y_count + step[1] - 1) / step[1],
          (params->n_slices + step[2] - 1) / step[2] };

  return td_launch (queue, self->kernel, groups, local, args, n_args, error);
}

/* A portion of the layers after the other. */
static gboolean
launch_textures (TdConeDeviceProjector *self, TdQueue *queue, TdConeProject params, TdArg args[5],
                 GError **error)
{
  const TdConeShape *shape = &self->shape;
  const guint step[3] = { shape->x_lanes, shape->group / shape->x_lanes / shape->z_lanes,
                          shape->voxels * shape->z_lanes };
  const guint local[3] = { shape->group, 1, 1 };
  const int end = params.n_layers;

  for (int first = 0; first < end; first = params.n_layers) {
    params.n_layers = (int) MIN ((guint) end, (guint) first + shape->layers);
    args[3] = (TdArg) TD_ARG_VALUE (params);
    args[4] = (TdArg) TD_ARG_VALUE (first);
    if (!cone_device_add_launch (self, queue, &params, step, local, args, 5, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
cone_device_add_project (TdConeDeviceProjector *self, TdQueue *queue, guint row0, guint n_rows,
                         guint n_layers, TdBuffer *volume, guint slice0, guint n_slices,
                         double u_middle, double v_middle, GError **error)
{
  const TdConeTask *task = &self->task;
  const double texel_centre = self->textures ? 0.5 : 0;
  const TdConeProject params = {
    .nx = (int) task->nx,
    .ny = (int) task->ny,
    .n_slices = (int) n_slices,
    .slice0 = (int) slice0,
    .x_count = (int) (self->pack == 4 ? task->nx / 2 : task->nx),
    .y_count = (int) (self->pack > 1 ? task->ny / 2 : task->ny),
    .n_layers = (int) n_layers,
    .n_columns = (int) task->n_columns,
    .n_rows = (int) n_rows,
    .row0 = (int) row0,
    .pitch = (int) (self->way == TD_CONE_WAY_COLUMNS ? self->line : task->n_columns + 2),
    .view_stride = (int) ((task->n_columns + 2) * (n_rows + 3)),
    .x_first = (float) (task->first_mm[0] / task->voxel_mm),
    .y_first = (float) (task->first_mm[1] / task->voxel_mm),
    .z_first = (float) (task->first_mm[2] / task->voxel_mm),
    .u_middle = (float) (u_middle + texel_centre),
    .v_middle = (float) (v_middle + texel_centre),
  };
  TdArg args[5] = {
    self->textures ? (TdArg) TD_ARG_TEXTURE (self->texture) : (TdArg) TD_ARG_BUFFER (self->staging),
    TD_ARG_BUFFER (self->matrices),
    TD_ARG_BUFFER (volume),
    TD_ARG_VALUE (params),
  };

  switch (self->way) {
  case TD_CONE_WAY_TEXTURE: return launch_textures (self, queue, params, args, error);
  case TD_CONE_WAY_COLUMNS:
    args[4] = (TdArg) TD_ARG_LOCAL (TD_CONE_COLUMNS * self->line * self->pack * sizeof (float));
    return cone_device_add_launch (
        self, queue, &params,
        (const guint[3]) { 1, TD_CONE_COLUMNS, TD_CONE_LANES * self->shape.voxels },
        (const guint[3]) { TD_CONE_LANES, TD_CONE_COLUMNS, 1 }, args, 5, error);
  default:
    return cone_device_add_launch (self, queue, &params,
                                   (const guint[3]) { 32, 4, self->shape.voxels },
                                   (const guint[3]) { 32, 4, 1 }, args, 4, error);
  }
}

gboolean
td_cone_device_add (TdConeProjector *base, TdQueue *queue, TdBuffer *projections, guint row0,
                    guint n_rows, const guint *views, guint n_views, TdBuffer *volume, guint slice0,
                    guint n_slices, GCancellable *cancellable, GError **error)
{
  TdConeDeviceProjector *self = (TdConeDeviceProjector *) base;
  const guint n_layers = n_views / self->pack;
  const double u_middle = floor (self->task.n_columns / 2.0);
  const double v_middle = floor (self->task.n_rows / 2.0);

  if (n_views % self->pack != 0 || n_views > self->limits.max_views
      || n_rows > self->limits.max_rows) {
    g_set_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG,
                 "A batch of %u views of %u rows does not fit the projector (%u, %u).", n_views,
                 n_rows, self->limits.max_views, self->limits.max_rows);
    return FALSE;
  }
  if (!upload_matrices (self, queue, views, n_layers, u_middle, v_middle, error))
    return FALSE;
  if (self->staging && !cone_device_add_pack (self, queue, projections, n_rows, n_layers, error))
    return FALSE;
  if (self->textures && !fill_texture (self, queue, projections, n_rows, n_layers, error))
    return FALSE;
  return cone_device_add_project (self, queue, row0, n_rows, n_layers, volume, slice0, n_slices,
                                  u_middle, v_middle, error);
}
