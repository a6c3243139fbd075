/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone-family-rows.h"

#include <math.h>

#include "kernels/params.h"

/* The families that run kernels/backproject-cone.cl: the same host code, other defines. */
typedef struct {
  TdConeProjector base;
  TdConeTask task;
  TdConeLimits limits;
  guint pack;             /* views a texel */
  gboolean textures, general, half;
  guint voxels;           /* along z in a thread */
  guint local[3];
  TdProgram *program, *pack_program;
  TdKernel *kernel, *pack_kernel;
  TdBuffer *matrices;     /* float [max_views / pack][3][4] */
  TdBuffer *staging;      /* packed texels, or padded projections */
  TdTexture *texture;
  guint texture_rows, texture_layers;
  float *table;           /* pinned, what matrices is filled from */
} Projector;

#define MATRIX_FLOATS 12

/* ── What can run ─────────────────────────────────────────────────────────────────────────────── */

static const char *
unsupported_anywhere (const TdConeTask *task, const TdDeviceInfo *device)
{
  if (task->nx > 65536 || task->ny > 65536 || task->n_columns > 65536 || task->n_rows > 65536)
    return "sides above 65536 are beyond single-precision coordinates";
  if (((guint64) task->n_columns + 2) * (task->n_rows + 3) > G_MAXINT)
    return "a view has more than 2^31 pixels";
  if (device->host_pointers)
    return "the host has a family of its own";
  return NULL;
}

static const char *
unsupported_textures (const TdConeTask *task, const TdDeviceInfo *device, TdTexel texel)
{
  if (!(device->texels & (1u << texel)) || !device->texture_linear)
    return "the device has no such filtered textures";
  if (task->n_columns > device->texture_max[0] || task->n_rows > device->texture_max[1])
    return "the projections are larger than the device's textures";
  if (device->texture_max_layers < 1)
    return "the device has no layered textures";
  return NULL;
}

static const char *
standard_unsupported (const TdConeTask *task, TdPrecision precision, const TdDeviceInfo *device)
{
  if (precision != TD_PRECISION_SINGLE)
    return "it stores projections in single precision";
  return unsupported_anywhere (task, device);
}

static const char *
arithmetic_unsupported (const TdConeTask *task, TdPrecision precision, const TdDeviceInfo *device)
{
  if (precision != TD_PRECISION_SINGLE)
    return "it stores projections in single precision";
  if (!td_cone_upright (task))
    return "the detector is tilted";
  return unsupported_anywhere (task, device);
}

static const char *
texture_unsupported (const TdConeTask *task, TdPrecision precision, const TdDeviceInfo *device)
{
  const char *why = unsupported_anywhere (task, device);

  if (!why && !td_cone_upright (task))
    why = "the detector is tilted";
  if (!why)
    why = unsupported_textures (task, device,
                                precision == TD_PRECISION_SINGLE ? TD_TEXEL_R32F : TD_TEXEL_R16F);
  return why;
}

/* Half: four views a texel where the turn allows, single: two (filtered RGBA32F runs at a quarter of
   the rate). */
static guint
turned_pack (const TdConeTask *task, TdPrecision precision)
{
  if (precision != TD_PRECISION_SINGLE && td_cone_turned (task, 4))
    return 4;
  return td_cone_turned (task, 2) ? 2 : 1;
}

static TdTexel
texel_of (guint pack, gboolean half)
{
  if (pack == 1)
    return half ? TD_TEXEL_R16F : TD_TEXEL_R32F;
  if (pack == 2)
    return half ? TD_TEXEL_RG16F : TD_TEXEL_RG32F;
  return half ? TD_TEXEL_RGBA16F : TD_TEXEL_RGBA32F;
}

static const char *
turned_unsupported (const TdConeTask *task, TdPrecision precision, const TdDeviceInfo *device)
{
  const char *why = unsupported_anywhere (task, device);

  if (!why && !td_cone_upright (task))
    why = "the detector is tilted";
  if (!why && turned_pack (task, precision) == 1)
    why = "the views or the volume are not symmetric under half a turn";
  if (!why)
    why = unsupported_textures (task, device, texel_of (turned_pack (task, precision),
                                                        precision != TD_PRECISION_SINGLE));
  return why;
}

/* ── Creating ─────────────────────────────────────────────────────────────────────────────────── */

static guint64
staging_bytes (const Projector *self)
{
  const TdConeTask *task = &self->task;

  if (!self->textures)
    return ((guint64) task->n_columns + 2) * (self->limits.max_rows + 3) * self->limits.max_views
           * sizeof (float);
  if (self->pack == 1 && !self->half)
    return 0; /* texels are the projections themselves */
  return (guint64) task->n_columns * self->limits.max_rows * self->limits.max_views
         * (self->half ? 2 : sizeof (float));
}

static gboolean
build_programs (Projector *self, GError **error)
{
  char pack[16], texture[16], voxels[16], general[16], half[16], padded[16];
  const char *const defines[] = { pack, texture, voxels, general, NULL };
  const char *const pack_defines[] = { pack, half, padded, NULL };

  g_snprintf (pack, sizeof pack, "PACK=%u", self->pack);
  g_snprintf (texture, sizeof texture, "TEXTURE=%d", self->textures);
  g_snprintf (voxels, sizeof voxels, "VOXELS=%u", self->voxels);
  g_snprintf (general, sizeof general, "GENERAL=%d", self->general);
  g_snprintf (half, sizeof half, "HALF=%d", self->half);
  g_snprintf (padded, sizeof padded, "PADDED=%d", !self->textures);

  self->program = td_program_build (self->base.device, "backproject-cone", defines, error);
  if (!self->program)
    return FALSE;
  self->kernel = td_program_kernel (self->program, "cone_backproject", error);
  if (!self->kernel || staging_bytes (self) == 0)
    return self->kernel != NULL;
  self->pack_program = td_program_build (self->base.device, "cone-pack", pack_defines, error);
  if (!self->pack_program)
    return FALSE;
  self->pack_kernel = td_program_kernel (self->pack_program, "cone_pack", error);
  return self->pack_kernel != NULL;
}

static gboolean
make_memory (Projector *self, GError **error)
{
  const guint64 bytes = (guint64) self->limits.max_views * MATRIX_FLOATS * sizeof (float);

  self->matrices = td_buffer_new (self->base.device, bytes, error);
  if (!self->matrices)
    return FALSE;
  self->table = td_device_host_alloc (self->base.device, bytes, error);
  if (!self->table)
    return FALSE;
  if (staging_bytes (self) > 0) {
    self->staging = td_buffer_new (self->base.device, staging_bytes (self), error);
    return self->staging != NULL;
  }
  return TRUE;
}

static void
projector_free (TdConeProjector *base)
{
  Projector *self = (Projector *) base;

  td_texture_free (self->texture);
  td_buffer_free (self->staging);
  td_buffer_free (self->matrices);
  if (self->table)
    td_device_host_free (self->base.device, self->table);
  td_program_free (self->program);
  td_program_free (self->pack_program);
  td_cone_task_clear (&self->task);
  g_free (self);
}

static gboolean
create (const TdConeFamily *family, TdDevice *device, const TdConeTask *task,
        const TdConeLimits *limits, TdConeProjector **out, GError **error)
{
  Projector *self = g_new0 (Projector, 1);

  self->base.device = device;
  td_cone_task_copy (&self->task, task);
  self->limits = *limits;
  self->general = family == &td_cone_family_standard;
  self->half = limits->precision != TD_PRECISION_SINGLE;
  self->pack = family == &td_cone_family_turned ? turned_pack (task, limits->precision) : 1;
  /* The RTK way uses textures where the device has them. */
  self->textures = family == &td_cone_family_texture || family == &td_cone_family_turned
                   || (self->general && !td_device_info (device)->texture_slow
                       && !unsupported_textures (task, td_device_info (device), TD_TEXEL_R32F));
  self->voxels = self->general ? 1 : self->pack == 4 ? 4 : 8;
  self->local[0] = 32;
  self->local[1] = self->textures && !self->general ? 8 : 4;
  self->local[2] = 1;
  if (!build_programs (self, error) || !make_memory (self, error)) {
    projector_free (&self->base);
    return FALSE;
  }
  *out = &self->base;
  return TRUE;
}

/* ── Adding views ─────────────────────────────────────────────────────────────────────────────── */

/* Matrices in voxels from the axis, detector coordinates counted from the middle of the given rows,
   scaled by 1 / sqrt (weight) so that the kernel's 1 / w^2 carries the view's weight. */
static void
fill_table (Projector *self, const guint *views, guint n, double u_middle, double v_middle)
{
  const TdConeTask *task = &self->task;

  for (guint i = 0; i < n; i++) {
    const double *m = task->matrices + 12 * (gsize) views[i];
    /* A repeated view may have no weight of its own; the root of its inverse must stay finite. */
    const double scale = 1 / sqrt (MAX (task->view_weights[views[i]], 1e-24));
    float *out = self->table + (gsize) i * MATRIX_FLOATS;

    for (guint c = 0; c < 4; c++) {
      const double unit = c < 3 ? task->voxel_mm * scale : scale;
      out[c] = (float) ((m[c] - u_middle * m[8 + c]) * unit);
      out[4 + c] = (float) ((m[4 + c] - v_middle * m[8 + c]) * unit);
      out[8 + c] = (float) (m[8 + c] * unit);
    }
  }
}

static gboolean
pack (Projector *self, TdQueue *queue, TdBuffer *projections, guint n_rows, guint n_layers,
      GError **error)
{
  const guint n_columns = self->task.n_columns;
  const TdConePack params = {
    .n_columns = (int) n_columns,
    .n_rows = (int) n_rows,
    .n_layers = (int) n_layers,
    .n_views_between = (int) n_layers,
    .pitch = (int) n_columns + 2,
    .view_stride = (int) ((n_columns + 2) * (n_rows + 3)),
  };
  const guint local[3] = { 64, 4, 1 };
  const guint groups[3] = { (n_columns + 2 + 63) / 64, (n_rows + 3 + 3) / 4, n_layers };
  const TdArg args[] = { TD_ARG_BUFFER (projections), TD_ARG_BUFFER (self->staging),
                         TD_ARG_VALUE (params) };

  return td_launch (queue, self->pack_kernel, groups, local, args, G_N_ELEMENTS (args), error);
}

static gboolean
fill_texture (Projector *self, TdQueue *queue, TdBuffer *projections, guint n_rows, guint n_layers,
              GError **error)
{
  TdBuffer *texels = self->staging ? self->staging : projections;

  if (self->texture && (self->texture_rows != n_rows || self->texture_layers < n_layers)) {
    if (!td_queue_finish (queue, error))
      return FALSE;
    g_clear_pointer (&self->texture, td_texture_free);
  }
  if (!self->texture) {
    const TdTextureSpec spec = {
      .texel = texel_of (self->pack, self->half),
      .width = self->task.n_columns,
      .height = n_rows,
      .layers = n_layers,
      .linear = TRUE,
    };
    self->texture = td_texture_new (self->base.device, &spec, error);
    if (!self->texture)
      return FALSE;
    self->texture_rows = n_rows;
    self->texture_layers = n_layers;
  }
  return td_texture_write (queue, self->texture, 0, n_layers, texels, 0, error);
}

static gboolean
launch (Projector *self, TdQueue *queue, guint row0, guint n_rows, guint n_layers, TdBuffer *volume,
        guint slice0, guint n_slices, double u_middle, double v_middle, GError **error)
{
  const TdConeTask *task = &self->task;
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
    .pitch = (int) task->n_columns + 2,
    .view_stride = (int) ((task->n_columns + 2) * (n_rows + 3)),
    .x_first = (float) (task->first_mm[0] / task->voxel_mm),
    .y_first = (float) (task->first_mm[1] / task->voxel_mm),
    .z_first = (float) (task->first_mm[2] / task->voxel_mm),
    .u_middle = (float) u_middle,
    .v_middle = (float) (v_middle - row0),
  };
  const guint depth = self->voxels;
  const guint groups[3] = { (params.x_count + self->local[0] - 1) / self->local[0],
                            (params.y_count + self->local[1] - 1) / self->local[1],
                            (n_slices + depth - 1) / depth };
  const TdArg args[] = {
    self->textures ? (TdArg) TD_ARG_TEXTURE (self->texture) : (TdArg) TD_ARG_BUFFER (self->staging),
    TD_ARG_BUFFER (self->matrices),
    TD_ARG_BUFFER (volume),
    TD_ARG_VALUE (params),
  };

  return td_launch (queue, self->kernel, groups, self->local, args, G_N_ELEMENTS (args), error);
}

static gboolean
add (TdConeProjector *base, TdQueue *queue, TdBuffer *projections, guint row0, guint n_rows,
     const guint *views, guint n_views, TdBuffer *volume, guint slice0, guint n_slices,
     GCancellable *cancellable, GError **error)
{
  Projector *self = (Projector *) base;
  const guint n_layers = n_views / self->pack;
  const double u_middle = floor (self->task.n_columns / 2.0);
  const double v_middle = floor (row0 + n_rows / 2.0);

  if (n_views % self->pack != 0 || n_views > self->limits.max_views || n_rows > self->limits.max_rows) {
    g_set_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG,
                 "A batch of %u views of %u rows does not fit the projector (%u, %u).", n_views, n_rows,
                 self->limits.max_views, self->limits.max_rows);
    return FALSE;
  }
  /* The pinned table is read by the queue later, so it must have passed before it is refilled. */
  if (!td_queue_finish (queue, error))
    return FALSE;
  fill_table (self, views, n_layers, u_middle, v_middle);
  if (!td_upload (queue, self->matrices, 0, self->table,
                  (guint64) n_layers * MATRIX_FLOATS * sizeof (float), error))
    return FALSE;
  if (self->staging && !pack (self, queue, projections, n_rows, n_layers, error))
    return FALSE;
  if (self->textures && !fill_texture (self, queue, projections, n_rows, n_layers, error))
    return FALSE;
  return launch (self, queue, row0, n_rows, n_layers, volume, slice0, n_slices, u_middle, v_middle,
                 error);
}

static guint64
workspace_bytes (const TdConeTask *task, const TdConeLimits *limits, const TdDeviceInfo *device)
{
  /* Staging and texture each hold the batch once; padding is counted for the larger of both ways. */
  const guint64 padded = ((guint64) task->n_columns + 2) * (limits->max_rows + 3) * limits->max_views;
  return 2 * padded * sizeof (float) + (guint64) limits->max_views * MATRIX_FLOATS * sizeof (float);
}

static guint
one_view (const TdConeTask *task, TdPrecision precision)
{
  return 1;
}

#define FAMILY(symbol, its_name, its_title, its_textures, its_unsupported, its_turned)                                          \
  const TdConeFamily symbol = {                                                                       \
    .name = its_name,                                                                                 \
    .title = its_title,                                                                               \
    .textures = its_textures,                                                                         \
    .unsupported = its_unsupported,                                                                   \
    .create = create,                                                                                 \
    .add = add,                                                                                       \
    .free = projector_free,                                                                           \
    .workspace_bytes = workspace_bytes,                                                               \
    .turned_views = its_turned,                                                                       \
  }

FAMILY (td_cone_family_standard, "standard", "One voxel a thread (RTK's way)", FALSE,
        standard_unsupported, one_view);
FAMILY (td_cone_family_texture, "texture", "Layered textures, voxels along z in registers", TRUE,
        texture_unsupported, one_view);
FAMILY (td_cone_family_arithmetic, "arithmetic", "Loads and arithmetic, rows kept along z", FALSE,
        arithmetic_unsupported, one_view);
FAMILY (td_cone_family_turned, "turned", "Views turned by 180 or 90 degrees in one texel", TRUE,
        turned_unsupported, turned_pack);
