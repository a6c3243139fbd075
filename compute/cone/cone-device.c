/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The families that run on devices: the same host code, with other defines for the kernels. */
#include "cone-family.h"

#include <math.h>

#include "kernels/params.h"

/* A projector of the families that run on devices: textures (kernels/backproject-cone.cl), columns
   of voxels (kernels/cone-columns.cl) or a voxel a thread. */
typedef enum {
  WAY_GENERAL, /* one voxel a work-item, any geometry */
  WAY_TEXTURE, /* upright, hardware filtering */
  WAY_COLUMNS, /* upright, arithmetic, 32 work-items along z */
  WAY_THIN,    /* upright, arithmetic, for few slices: work-items along x */
} Way;

/* How a group's work-items lie and what each holds. */
typedef struct {
  guint voxels;           /* along z in a work-item */
  guint x_lanes, z_lanes; /* neighbours along x and, fastest, along z */
  guint group;            /* work-items */
  guint resident;         /* groups that a multiprocessor should hold */
  guint layers; /* a launch: what they read should stay in the cache for the next groups */
} Shape;

typedef struct {
  TdConeProjector base;
  Way way;
  Shape shape;
  guint pack;        /* views a texel */
  gboolean textures; /* GENERAL by texture fetches; always with TEXTURE */
  gboolean half;
  double u_middle, v_middle; /* of the detector, in whole pixels */
  guint line;                /* COLUMNS: texels of a line in local memory, evens and odds alike */
  TdKernel *kernel, *pack_kernel;
  TdBuffer *matrices; /* float [max_views / pack][3][4] */
  TdBuffer *staging;  /* packed texels, or padded projections */
  TdTexture *texture;
  guint texture_rows;
  /* Pinned, what matrices is filled from, in turns; the event passes when the queue has read it. */
  struct {
    float *floats;
    TdEvent *read;
  } tables[2];
  guint next_table;
} DeviceProjector;

#define MATRIX_FLOATS 12
#define LANES 32           /* COLUMNS: work-items along z, … */
#define COLUMN_VOXELS 4    /* … voxels that each holds at the most, … */
#define COLUMNS 8          /* … columns a group … */
#define COLUMNS_RESIDENT 4 /* … and groups at once; all as in kernels/cone-columns.cl */

/* ── What can run ── */

static const char *
unsupported_anywhere (const TdConeTask *task, const TdDeviceInfo *device)
{
  if (task->nx > 65536 || task->ny > 65536 || task->n_columns > 65536 || task->n_rows > 65536)
    return N_ ("sides above 65536 are beyond single-precision coordinates");
  if (((guint64) task->n_columns + 2) * (task->n_rows + 3) > G_MAXINT)
    return N_ ("a view has more than 2^31 pixels");
  if (device->host_pointers)
    return N_ ("the host has a kernel of its own");
  return NULL;
}

/* Detector rows a voxel takes along z where it is largest; 0: a view's source lies within the
 * volume. */
static double
cone_device_steepest (const TdConeTask *task)
{
  const double far_x = task->first_mm[0] + (task->nx - 1) * task->voxel_mm;
  const double far_y = task->first_mm[1] - (task->ny - 1) * task->voxel_mm;
  double slope = 0;

  for (guint view = 0; view < task->n_views; view++)
    for (guint corner = 0; corner < 4; corner++) {
      const double *m = task->matrices + 12 * (gsize) view;
      const double w = m[8] * (corner & 1 ? far_x : task->first_mm[0])
                       + m[9] * (corner & 2 ? far_y : task->first_mm[1]) + m[11];
      if (w < 1e-3)
        return 0;
      slope = MAX (slope, fabs (m[6] * task->voxel_mm / w));
    }
  return slope;
}

/* For kernels that ask no voxel whether it lies before the source. */
static const char *
unsupported_shape (const TdConeTask *task)
{
  if (!td_cone_upright (task))
    return N_ ("the detector is tilted");
  return cone_device_steepest (task) > 0 ? NULL : N_ ("the volume reaches to the source");
}

static const char *
unsupported_textures (const TdConeTask *task, const TdDeviceInfo *device, TdTexel texel)
{
  if (!(device->texels & (1u << texel)) || !device->texture_linear)
    return N_ ("the device has no such filtered textures");
  if (task->n_columns > device->texture_max[0] || task->n_rows > device->texture_max[1])
    return N_ ("the projections are larger than the device's textures");
  if (device->texture_max_layers < 1)
    return N_ ("the device has no layered textures");
  return NULL;
}

static const char *
standard_unsupported (const TdConeTask *task, TdPrecision precision, const TdDeviceInfo *device)
{
  if (precision != TD_PRECISION_SINGLE)
    return N_ ("it stores projections in single precision");
  return unsupported_anywhere (task, device);
}

static const char *
arithmetic_unsupported (const TdConeTask *task, TdPrecision precision, const TdDeviceInfo *device)
{
  if (precision != TD_PRECISION_SINGLE)
    return N_ ("it stores projections in single precision");
  if (!td_cone_upright (task))
    return N_ ("the detector is tilted");
  return unsupported_anywhere (task, device);
}

/* Half: four views a texel where the turn allows, single: two (filtered RGBA32F runs at a quarter
   of the rate). */
static guint
symmetric_pack (const TdConeTask *task, TdPrecision precision)
{
  if (precision != TD_PRECISION_SINGLE && td_cone_symmetric (task, 4))
    return 4;
  return td_cone_symmetric (task, 2) ? 2 : 1;
}

/* @turned: of views that lie together in texels. */
static const char *
unsupported_packed (const TdConeTask *task, TdPrecision precision, const TdDeviceInfo *device,
                    gboolean turned)
{
  const guint pack = turned ? symmetric_pack (task, precision) : 1;
  const char *why = unsupported_anywhere (task, device);

  if (!why)
    why = unsupported_shape (task);
  if (!why && turned && pack == 1)
    why = N_ ("the views or the volume are not symmetric under half a turn");
  return why ? why
             : unsupported_textures (task, device,
                                     td_texel (pack, precision != TD_PRECISION_SINGLE));
}

static const char *
texture_unsupported (const TdConeTask *task, TdPrecision precision, const TdDeviceInfo *device)
{
  return unsupported_packed (task, precision, device, FALSE);
}

static const char *
symmetric_unsupported (const TdConeTask *task, TdPrecision precision, const TdDeviceInfo *device)
{
  return unsupported_packed (task, precision, device, TRUE);
}

/* ── Creating ── */

static guint64
staging_bytes (const DeviceProjector *self)
{
  const guint64 rows = self->base.limits.max_rows, views = self->base.limits.max_views;
  const guint64 columns = self->base.task.n_columns;

  if (self->way == WAY_COLUMNS)
    return (columns + 2) * rows * views * sizeof (float);
  if (!self->textures)
    return (columns + 2) * (rows + 3) * views * sizeof (float);
  if (self->pack == 1 && !self->half)
    return 0; /* texels are the projections themselves */
  return columns * rows * views * (self->half ? 2 : sizeof (float));
}

#define REGISTERS 65536 /* of a multiprocessor, where it matters */

static gboolean
build_kernel (DeviceProjector *self, GError **error)
{
  const Shape *shape = &self->shape;
  const gboolean columns = self->way == WAY_COLUMNS; /* whose source has the other numbers */
  g_autofree char *registers
      = self->way == WAY_TEXTURE ? g_strdup_printf (
            " TD_REGISTERS=%u", REGISTERS / (shape->group * shape->resident) / 8 * 8)
                                 : g_strdup ("");
  g_auto (GStrv) defines
      = columns
            ? td_defines ("PACK=%u VOXELS=%u", self->pack, shape->voxels)
            : td_defines ("PACK=%u VOXELS=%u TEXTURE=%d GENERAL=%d X_LANES=%u Z_LANES=%u "
                          "GROUP=%u RESIDENT=%u%s",
                          self->pack, shape->voxels, self->textures, self->way == WAY_GENERAL,
                          shape->x_lanes, shape->z_lanes, shape->group, shape->resident, registers);

  self->kernel
      = td_device_kernel (self->base.device, columns ? "cone-columns" : "backproject-cone",
                          (const char *const *) defines,
                          columns ? "cone_backproject_columns" : "cone_backproject", error);
  return self->kernel != NULL;
}

static gboolean
build_pack_kernel (DeviceProjector *self, GError **error)
{
  g_auto (GStrv) defines = td_defines ("PACK=%u HALF=%d PADDED=%d COLUMNS=%d", self->pack,
                                       self->half, !self->textures, self->way == WAY_COLUMNS);

  self->pack_kernel = td_device_kernel (self->base.device, "cone-pack",
                                        (const char *const *) defines, "cone_pack", error);
  return self->pack_kernel != NULL;
}

static gboolean
cone_device_make_memory (DeviceProjector *self, GError **error)
{
  const guint64 bytes = (guint64) self->base.limits.max_views * MATRIX_FLOATS * sizeof (float);

  for (guint i = 0; i < G_N_ELEMENTS (self->tables); i++)
    if (!(self->tables[i].floats = td_device_host_alloc (self->base.device, bytes, error)))
      return FALSE;
  return (self->matrices = td_buffer_new (self->base.device, bytes, error))
         && (staging_bytes (self) == 0
             || (self->staging = td_buffer_new (self->base.device, staging_bytes (self), error)));
}

static void
cone_device_projector_free (TdConeProjector *base)
{
  DeviceProjector *self = (DeviceProjector *) base;

  td_texture_free (self->texture);
  td_buffer_free (self->staging);
  td_buffer_free (self->matrices);
  for (guint i = 0; i < G_N_ELEMENTS (self->tables); i++) {
    td_event_free (self->tables[i].read);
    td_device_host_free (self->base.device, self->tables[i].floats);
  }
}

/* Whole columns of voxels where the volume has enough slices. The slab does not decide: what a
   voxel becomes must not depend on it. */
static gboolean
has_columns (const TdConeTask *task)
{
  return task->nz >= LANES * 3 / 4 && cone_device_steepest (task) > 0;
}

static guint
arithmetic_pack (const TdConeTask *task, TdPrecision precision)
{
  if (!has_columns (task))
    return 1;
  return td_cone_symmetric (task, 4) ? 4 : td_cone_symmetric (task, 2) ? 2 : 1;
}

static guint
arithmetic_slices (const TdConeTask *task)
{
  return has_columns (task) ? LANES * COLUMN_VOXELS : 1;
}

/* Texels of a line of @n rows: even rows, then odd ones. Odd rows begin half of local memory's
   banks further on, so that neighbours writing one of each do not collide. */
static guint
line_texels (guint n, guint pack)
{
  const guint banks = 16 / pack; /* half of them, in texels */
  guint half = (n + 1) / 2;

  while (half % (2 * banks) != banks)
    half++;
  return 2 * half;
}

/* If there is local memory for their lines. */
static gboolean
cone_device_take_columns (DeviceProjector *self)
{
  const guint64 sights = 32 * COLUMNS * LANES; /* bytes the kernel keeps besides */
  const guint64 local = td_device_info (self->base.device)->local_memory_bytes;
  const double slope = cone_device_steepest (&self->base.task);
  const guint enough = MAX (1, self->base.limits.max_slices / LANES);

  if (!has_columns (&self->base.task))
    return FALSE;
  self->pack = arithmetic_pack (&self->base.task, self->base.limits.precision);
  for (self->shape.voxels = MIN (COLUMN_VOXELS, enough); self->shape.voxels > 0;
       self->shape.voxels--) {
    const double rows = slope * (LANES * self->shape.voxels - 1) + 8;
    self->line = line_texels ((guint) MIN (rows, local), self->pack);
    if ((guint64) self->line * self->pack * sizeof (float) * COLUMNS + sights > local)
      continue;
    self->shape.group = LANES * COLUMNS;
    self->shape.resident = COLUMNS_RESIDENT;
    return TRUE;
  }
  self->pack = 1;
  return FALSE;
}

/* The best of those tried on an H100 (docs/benchmarks.md): neighbours along z fetch neighbouring
   rows of one column, whatever the angle. Few slices leave no room for that. */
static Shape
texture_shape (guint pack, guint max_slices)
{
  Shape shape = pack == 1   ? (Shape) { 16, 32, 1, 256, 4, 128 }
                : pack == 2 ? (Shape) { 8, 16, 2, 128, 7, 64 }
                            : (Shape) { 2, 4, 2, 64, 14, 128 };

  if (max_slices < shape.z_lanes)
    shape.z_lanes = 1;
  shape.voxels = MIN (shape.voxels, max_slices / shape.z_lanes);
  return shape;
}

static void
choose_way (DeviceProjector *self)
{
  const TdConeFamily *family = self->base.family;
  const TdDeviceInfo *info = td_device_info (self->base.device);

  self->pack = 1;
  self->shape = (Shape) {
    .voxels = 8, .x_lanes = 32, .z_lanes = 1, .group = 128, .resident = 1, .layers = 1
  };
  if (family == &td_cone_family_standard) {
    self->way = WAY_GENERAL;
    self->shape.voxels = 1;
    /* The RTK way uses textures where the device has them. */
    self->textures
        = !info->texture_slow && !unsupported_textures (&self->base.task, info, TD_TEXEL_R32F);
  } else if (family == &td_cone_family_arithmetic) {
    self->way = cone_device_take_columns (self) ? WAY_COLUMNS : WAY_THIN;
    if (self->way == WAY_THIN)
      self->shape.voxels = MIN (8, self->base.limits.max_slices);
  } else {
    self->way = WAY_TEXTURE;
    self->textures = TRUE;
    if (family == &td_cone_family_symmetric)
      self->pack = symmetric_pack (&self->base.task, self->base.limits.precision);
    self->shape = texture_shape (self->pack, self->base.limits.max_slices);
  }
}

static gboolean
cone_device_create (TdConeProjector *base, GError **error)
{
  DeviceProjector *self = (DeviceProjector *) base;

  self->half = base->limits.precision != TD_PRECISION_SINGLE;
  self->u_middle = floor (base->task.n_columns / 2.0);
  self->v_middle = floor (base->task.n_rows / 2.0);
  choose_way (self);
  return build_kernel (self, error)
         && (staging_bytes (self) == 0 || build_pack_kernel (self, error))
         && cone_device_make_memory (self, error);
}

static guint64
cone_device_workspace_bytes (const TdConeTask *task, const TdConeLimits *limits,
                             const TdDeviceInfo *device)
{
  /* Staging and texture each hold the batch once; padding is counted for the larger of both ways.
   */
  const guint64 padded
      = ((guint64) task->n_columns + 2) * (limits->max_rows + 3) * limits->max_views;
  return 2 * padded * sizeof (float) + (guint64) limits->max_views * MATRIX_FLOATS * sizeof (float);
}

/* ── Adding a batch ── */

/* What packed values are multiplied by. */
static double
cone_device_scale (const DeviceProjector *self)
{
  return self->half && self->base.limits.half_scale > 0 ? self->base.limits.half_scale : 1;
}

/* Matrices in voxels from the axis. Detector coordinates count from the detector's middle, not
   from that of the given rows: what a view sees must not depend on those. Matrices are divided
   by the root of the view's weight, so that the kernel's 1 / w^2 carries it. */
static void
cone_device_fill_table (const DeviceProjector *self, const guint *views, guint n, float *table)
{
  const TdConeTask *task = &self->base.task;

  for (guint i = 0; i < n; i++) {
    const double *m = task->matrices + 12 * (gsize) views[i];
    /* A repeated view may have no weight of its own; the root of its inverse must stay finite. */
    const double scale
        = 1 / sqrt (MAX (task->view_weights[views[i]], 1e-24) / cone_device_scale (self));
    float *out = table + (gsize) i * MATRIX_FLOATS;

    for (guint c = 0; c < 4; c++) {
      const double unit = c < 3 ? task->voxel_mm * scale : scale;
      out[c] = (float) ((m[c] - self->u_middle * m[8 + c]) * unit);
      out[4 + c] = (float) ((m[4 + c] - self->v_middle * m[8 + c]) * unit);
      out[8 + c] = (float) (m[8 + c] * unit);
    }
  }
}

static gboolean
upload_matrices (DeviceProjector *self, TdQueue *queue, const guint *views, guint n, GError **error)
{
  const guint slot = self->next_table;

  self->next_table = (slot + 1) % G_N_ELEMENTS (self->tables);
  if (self->tables[slot].read && !td_event_sync (self->tables[slot].read, error))
    return FALSE;
  cone_device_fill_table (self, views, n, self->tables[slot].floats);
  if (!td_upload (queue, self->matrices, 0, self->tables[slot].floats,
                  (guint64) n * MATRIX_FLOATS * sizeof (float), error))
    return FALSE;
  return td_event_mark (queue, &self->tables[slot].read, error);
}

/* Rows of the texture. Where texels are made here the texture has its greatest height from the
   start, with zeros below the given rows. A new texture for every slab costs milliseconds and
   makes the queue wait. */
static guint
texel_rows (const DeviceProjector *self, guint n_rows)
{
  return self->staging ? self->base.limits.max_rows : n_rows;
}

static gboolean
cone_device_pack (DeviceProjector *self, TdQueue *queue, TdBuffer *projections, guint n_rows,
                  guint n_layers, GError **error)
{
  const guint n_columns = self->base.task.n_columns, high = texel_rows (self, n_rows);
  const TdConePack params = {
    .n_columns = (int) n_columns,
    .n_rows = (int) n_rows,
    .n_layers = (int) n_layers,
    .n_views_between = (int) n_layers,
    .texel_rows = (int) high,
    .pitch = (int) n_columns + 2,
    .view_stride = (int) ((n_columns + 2) * (n_rows + 3)),
    .scale = (float) cone_device_scale (self),
  };
  const gboolean squares = self->way == WAY_COLUMNS; /* of 32, which it transposes */
  const guint local[3] = { squares ? 32 : 64, squares ? 8 : 4, 1 };
  const guint groups[3]
      = { (n_columns + 2 + local[0] - 1) / local[0],
          squares ? (n_rows + 31) / 32 : (MAX (n_rows + 3, high) + 3) / 4, n_layers };

  return td_launch (queue, self->pack_kernel, groups, local,
                    TD_ARGS (projections, self->staging, params), error);
}

static gboolean
fill_texture (DeviceProjector *self, TdQueue *queue, TdBuffer *projections, guint given_rows,
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
      .texel = td_texel (self->pack, self->half),
      .width = self->base.task.n_columns,
      .height = n_rows,
      .layers = self->base.limits.max_views / self->pack,
      .linear = TRUE,
    };
    self->texture = td_texture_new (self->base.device, &spec, error);
    if (!self->texture)
      return FALSE;
    self->texture_rows = n_rows;
  }
  return td_texture_write (queue, self->texture, n_layers, texels, 0, error);
}

/* How a launch covers the voxels. */
typedef struct {
  guint step[3];  /* voxels a group covers */
  guint local[3]; /* its work-items */
} Grid;

static gboolean
cone_device_launch (DeviceProjector *self, TdQueue *queue, const TdConeProject *params,
                    const Grid *grid, const TdArg *args, guint n_args, GError **error)
{
  const guint voxels[3]
      = { (guint) params->x_count, (guint) params->y_count, (guint) params->n_slices };
  guint groups[3];

  for (guint i = 0; i < 3; i++)
    groups[i] = (voxels[i] + grid->step[i] - 1) / grid->step[i];
  return td_launch (queue, self->kernel, groups, grid->local, args, n_args, error);
}

/* A portion of the layers after the other. */
static gboolean
launch_textures (DeviceProjector *self, TdQueue *queue, TdConeProject params, TdArg args[5],
                 GError **error)
{
  const Shape *shape = &self->shape;
  const Grid grid = { { shape->x_lanes, shape->group / shape->x_lanes / shape->z_lanes,
                        shape->voxels * shape->z_lanes },
                      { shape->group, 1, 1 } };
  const int end = params.n_layers;

  for (int first = 0; first < end; first = params.n_layers) {
    params.n_layers = (int) MIN ((guint) end, (guint) first + shape->layers);
    args[3] = (TdArg) TD_ARG (params);
    args[4] = (TdArg) TD_ARG (first);
    if (!cone_device_launch (self, queue, &params, &grid, args, 5, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
cone_device_project (DeviceProjector *self, TdQueue *queue, const TdConeBatch *batch,
                     const TdConeSlab *slab, GError **error)
{
  const TdConeTask *task = &self->base.task;
  const double texel_centre = self->textures ? 0.5 : 0;
  const TdConeProject params = {
    .nx = (int) task->nx,
    .ny = (int) task->ny,
    .n_slices = (int) slab->n_slices,
    .slice0 = (int) slab->slice0,
    .x_count = (int) (self->pack == 4 ? task->nx / 2 : task->nx),
    .y_count = (int) (self->pack > 1 ? task->ny / 2 : task->ny),
    .n_layers = (int) (batch->n_views / self->pack),
    .n_columns = (int) task->n_columns,
    .n_rows = (int) batch->rows.count,
    .row0 = (int) batch->rows.first,
    .pitch = (int) (self->way == WAY_COLUMNS ? self->line : task->n_columns + 2),
    .view_stride = (int) ((task->n_columns + 2) * (batch->rows.count + 3)),
    .x_first = (float) (task->first_mm[0] / task->voxel_mm),
    .y_first = (float) (task->first_mm[1] / task->voxel_mm),
    .z_first = (float) (task->first_mm[2] / task->voxel_mm),
    .u_middle = (float) (self->u_middle + texel_centre),
    .v_middle = (float) (self->v_middle + texel_centre),
  };
  const Grid columns = { { 1, COLUMNS, LANES * self->shape.voxels }, { LANES, COLUMNS, 1 } };
  const Grid voxels = { { 32, 4, self->shape.voxels }, { 32, 4, 1 } };
  TdArg args[5] = {
    self->textures ? (TdArg) TD_ARG (self->texture) : (TdArg) TD_ARG (self->staging),
    TD_ARG (self->matrices),
    TD_ARG (slab->volume),
    TD_ARG (params),
  };

  switch (self->way) {
  case WAY_TEXTURE: return launch_textures (self, queue, params, args, error);
  case WAY_COLUMNS:
    args[4] = (TdArg) TD_ARG ((TdLocal) { COLUMNS * self->line * self->pack * sizeof (float) });
    return cone_device_launch (self, queue, &params, &columns, args, 5, error);
  default: return cone_device_launch (self, queue, &params, &voxels, args, 4, error);
  }
}

static gboolean
cone_device_add (TdConeProjector *base, TdQueue *queue, const TdConeBatch *batch,
                 const TdConeSlab *slab, GCancellable *cancellable, GError **error)
{
  DeviceProjector *self = (DeviceProjector *) base;
  const guint n_layers = batch->n_views / self->pack;

  return upload_matrices (self, queue, batch->views, n_layers, error)
         && (!self->staging
             || cone_device_pack (self, queue, batch->projections, batch->rows.count, n_layers,
                                  error))
         && (!self->textures
             || fill_texture (self, queue, batch->projections, batch->rows.count, n_layers, error))
         && cone_device_project (self, queue, batch, slab, error);
}

/* ── The families ── */

#define FAMILY(symbol, its_name, its_title, its_textures, its_unsupported, its_views, its_slices)  \
  const TdConeFamily symbol = {                                                                    \
    .name = its_name,                                                                              \
    .title = its_title,                                                                            \
    .textures = its_textures,                                                                      \
    .unsupported = its_unsupported,                                                                \
    .bytes = sizeof (DeviceProjector),                                                             \
    .create = cone_device_create,                                                                  \
    .add = cone_device_add,                                                                        \
    .free = cone_device_projector_free,                                                            \
    .workspace_bytes = cone_device_workspace_bytes,                                                \
    .symmetric_views = its_views,                                                                  \
    .whole_slices = its_slices,                                                                    \
  }

FAMILY (td_cone_family_standard, "standard", "One voxel a thread (RTK's way)", FALSE,
        standard_unsupported, td_cone_one_view, NULL);
FAMILY (td_cone_family_texture, "texture", "Layered textures, voxels along z in registers", TRUE,
        texture_unsupported, td_cone_one_view, NULL);
FAMILY (td_cone_family_arithmetic, "arithmetic", "Loads and arithmetic, columns of voxels", FALSE,
        arithmetic_unsupported, arithmetic_pack, arithmetic_slices);
FAMILY (td_cone_family_symmetric, "turned", "Views turned by 180 or 90 degrees in one texel", TRUE,
        symmetric_unsupported, symmetric_pack, NULL);
