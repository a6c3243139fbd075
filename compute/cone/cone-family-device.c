/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone-device-private.h"

#include <math.h>

#include "cone-family-rows.h"

/* The families that run on devices: the same host code, other defines. */

/* ── What can run ── */

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

/* Detector rows a voxel takes along z where it is largest; 0: a view's source lies within the
 * volume. */
static double
cone_family_device_steepest (const TdConeTask *task)
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
    return "the detector is tilted";
  return cone_family_device_steepest (task) > 0 ? NULL : "the volume reaches to the source";
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

  if (!why)
    why = unsupported_shape (task);
  if (!why)
    why = unsupported_textures (task, device,
                                precision == TD_PRECISION_SINGLE ? TD_TEXEL_R32F : TD_TEXEL_R16F);
  return why;
}

/* Half: four views a texel where the turn allows, single: two (filtered RGBA32F runs at a quarter
   of the rate). */
static guint
turned_pack (const TdConeTask *task, TdPrecision precision)
{
  if (precision != TD_PRECISION_SINGLE && td_cone_turned (task, 4))
    return 4;
  return td_cone_turned (task, 2) ? 2 : 1;
}

TdTexel
td_cone_texel (guint pack, gboolean half)
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

  if (!why)
    why = unsupported_shape (task);
  if (!why && turned_pack (task, precision) == 1)
    why = "the views or the volume are not symmetric under half a turn";
  if (!why)
    why = unsupported_textures (
        task, device,
        td_cone_texel (turned_pack (task, precision), precision != TD_PRECISION_SINGLE));
  return why;
}

/* ── Creating ── */

static guint64
staging_bytes (const TdConeDeviceProjector *self)
{
  const guint64 rows = self->limits.max_rows, views = self->limits.max_views;
  const guint64 columns = self->task.n_columns;

  if (self->way == TD_CONE_WAY_COLUMNS)
    return (columns + 2) * rows * views * sizeof (float);
  if (!self->textures)
    return (columns + 2) * (rows + 3) * views * sizeof (float);
  if (self->pack == 1 && !self->half)
    return 0; /* texels are the projections themselves */
  return columns * rows * views * (self->half ? 2 : sizeof (float));
}

#define REGISTERS 65536 /* of a multiprocessor, where it matters */

static gboolean
build_kernel (TdConeDeviceProjector *self, GError **error)
{
  const gboolean columns = self->way == TD_CONE_WAY_COLUMNS;
  char pack[16], voxels[16], texture[16], general[16], x_lanes[16], z_lanes[16], group[16],
      resident[16];
  char registers[32];
  const gboolean limited = self->way == TD_CONE_WAY_TEXTURE || columns;
  const char *const defines[]
      = { pack,  voxels,   columns ? NULL : texture,   general, x_lanes, z_lanes,
          group, resident, limited ? registers : NULL, NULL };

  g_snprintf (pack, sizeof pack, "PACK=%u", self->pack);
  g_snprintf (voxels, sizeof voxels, "VOXELS=%u", self->shape.voxels);
  g_snprintf (texture, sizeof texture, "TEXTURE=%d", self->textures);
  g_snprintf (general, sizeof general, "GENERAL=%d", self->way == TD_CONE_WAY_GENERAL);
  g_snprintf (x_lanes, sizeof x_lanes, "X_LANES=%u", self->shape.x_lanes);
  g_snprintf (z_lanes, sizeof z_lanes, "Z_LANES=%u", self->shape.z_lanes);
  g_snprintf (group, sizeof group, "GROUP=%u", self->shape.group);
  g_snprintf (resident, sizeof resident, "RESIDENT=%u", self->shape.resident);
  g_snprintf (registers, sizeof registers, "TD_REGISTERS=%u",
              REGISTERS / (self->shape.group * self->shape.resident) / 8 * 8);
  self->program = td_program_build (self->base.device,
                                    columns ? "cone-columns" : "backproject-cone", defines, error);
  if (!self->program)
    return FALSE;
  self->kernel = td_program_kernel (
      self->program, columns ? "cone_backproject_columns" : "cone_backproject", error);
  return self->kernel != NULL;
}

static gboolean
build_pack_kernel (TdConeDeviceProjector *self, GError **error)
{
  char pack[16], half[16], padded[16], columns[16];
  const char *const defines[] = { pack, half, padded, columns, NULL };

  g_snprintf (pack, sizeof pack, "PACK=%u", self->pack);
  g_snprintf (half, sizeof half, "HALF=%d", self->half);
  g_snprintf (padded, sizeof padded, "PADDED=%d", !self->textures);
  g_snprintf (columns, sizeof columns, "COLUMNS=%d", self->way == TD_CONE_WAY_COLUMNS);
  self->pack_program = td_program_build (self->base.device, "cone-pack", defines, error);
  if (!self->pack_program)
    return FALSE;
  self->pack_kernel = td_program_kernel (self->pack_program, "cone_pack", error);
  return self->pack_kernel != NULL;
}

static gboolean
cone_family_device_make_memory (TdConeDeviceProjector *self, GError **error)
{
  const guint64 bytes = (guint64) self->limits.max_views * TD_CONE_MATRIX_FLOATS * sizeof (float);

  self->matrices = td_buffer_new (self->base.device, bytes, error);
  if (!self->matrices)
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (self->tables); i++) {
    self->tables[i].floats = td_device_host_alloc (self->base.device, bytes, error);
    if (!self->tables[i].floats)
      return FALSE;
  }
  if (staging_bytes (self) > 0) {
    self->staging = td_buffer_new (self->base.device, staging_bytes (self), error);
    return self->staging != NULL;
  }
  return TRUE;
}

static void
cone_family_device_projector_free (TdConeProjector *base)
{
  TdConeDeviceProjector *self = (TdConeDeviceProjector *) base;

  td_texture_free (self->texture);
  td_buffer_free (self->staging);
  td_buffer_free (self->matrices);
  for (guint i = 0; i < G_N_ELEMENTS (self->tables); i++) {
    td_event_free (self->tables[i].read);
    if (self->tables[i].floats)
      td_device_host_free (self->base.device, self->tables[i].floats);
  }
  td_program_free (self->program);
  td_program_free (self->pack_program);
  td_cone_task_clear (&self->task);
  g_free (self);
}

/* Whole columns of voxels where there are enough slices: of the volume, since what a voxel becomes
   must not depend on the slab that it comes in. */
static gboolean
has_columns (const TdConeTask *task)
{
  return task->nz >= TD_CONE_LANES * 3 / 4 && cone_family_device_steepest (task) > 0;
}

static guint
arithmetic_pack (const TdConeTask *task, TdPrecision precision)
{
  if (!has_columns (task))
    return 1;
  return td_cone_turned (task, 4) ? 4 : td_cone_turned (task, 2) ? 2 : 1;
}

/* Texels of a line of @n rows: even rows, then odd ones, half of the banks of local memory away
   from them, so that neighbours who write one of each do not get into each other's way. */
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
take_columns (TdConeDeviceProjector *self)
{
  const guint64 sights = 32 * TD_CONE_COLUMNS * TD_CONE_LANES; /* bytes the kernel keeps besides */
  const guint64 local = td_device_info (self->base.device)->local_memory_bytes;
  const double slope = cone_family_device_steepest (&self->task);
  const guint enough = MAX (1, self->limits.max_slices / TD_CONE_LANES);

  if (!has_columns (&self->task))
    return FALSE;
  self->pack = arithmetic_pack (&self->task, self->limits.precision);
  for (self->shape.voxels = MIN (4, enough); self->shape.voxels > 0; self->shape.voxels--) {
    const double rows = slope * (TD_CONE_LANES * self->shape.voxels - 1) + 8;
    self->line = line_texels ((guint) MIN (rows, local), self->pack);
    if ((guint64) self->line * self->pack * sizeof (float) * TD_CONE_COLUMNS + sights > local)
      continue;
    self->shape.group = TD_CONE_LANES * TD_CONE_COLUMNS;
    self->shape.resident = TD_CONE_COLUMNS_RESIDENT;
    return TRUE;
  }
  self->pack = 1;
  return FALSE;
}

/* The best of those tried on an H100 (docs/benchmarks.md): neighbours along z fetch neighbouring
   rows of one column, whatever the angle. Few slices leave no room for that. */
static TdConeShape
texture_shape (guint pack, guint max_slices)
{
  TdConeShape shape = pack == 1   ? (TdConeShape) { 16, 32, 1, 256, 4, 128 }
                      : pack == 2 ? (TdConeShape) { 8, 16, 2, 128, 7, 64 }
                                  : (TdConeShape) { 2, 4, 2, 64, 14, 128 };

  if (max_slices < shape.z_lanes)
    shape.z_lanes = 1;
  shape.voxels = MIN (shape.voxels, max_slices / shape.z_lanes);
  return shape;
}

static void
choose_way (TdConeDeviceProjector *self, const TdConeFamily *family)
{
  const TdDeviceInfo *info = td_device_info (self->base.device);

  self->pack = 1;
  self->shape = (TdConeShape) {
    .voxels = 8, .x_lanes = 32, .z_lanes = 1, .group = 128, .resident = 1, .layers = 1
  };
  if (family == &td_cone_family_standard) {
    self->way = TD_CONE_WAY_GENERAL;
    self->shape.voxels = 1;
    /* The RTK way uses textures where the device has them. */
    self->textures
        = !info->texture_slow && !unsupported_textures (&self->task, info, TD_TEXEL_R32F);
  } else if (family == &td_cone_family_arithmetic) {
    self->way = take_columns (self) ? TD_CONE_WAY_COLUMNS : TD_CONE_WAY_THIN;
    if (self->way == TD_CONE_WAY_THIN)
      self->shape.voxels = MIN (8, self->limits.max_slices);
  } else {
    self->way = TD_CONE_WAY_TEXTURE;
    self->textures = TRUE;
    if (family == &td_cone_family_turned)
      self->pack = turned_pack (&self->task, self->limits.precision);
    self->shape = texture_shape (self->pack, self->limits.max_slices);
  }
}

static gboolean
cone_family_device_create (const TdConeFamily *family, TdDevice *device, const TdConeTask *task,
                           const TdConeLimits *limits, TdConeProjector **out, GError **error)
{
  TdConeDeviceProjector *self = g_new0 (TdConeDeviceProjector, 1);

  self->base.device = device;
  td_cone_task_copy (&self->task, task);
  self->limits = *limits;
  self->half = limits->precision != TD_PRECISION_SINGLE;
  choose_way (self, family);
  if (!build_kernel (self, error) || (staging_bytes (self) > 0 && !build_pack_kernel (self, error))
      || !cone_family_device_make_memory (self, error)) {
    cone_family_device_projector_free (&self->base);
    return FALSE;
  }
  *out = &self->base;
  return TRUE;
}

static guint64
cone_family_device_workspace_bytes (const TdConeTask *task, const TdConeLimits *limits,
                                    const TdDeviceInfo *device)
{
  /* Staging and texture each hold the batch once; padding is counted for the larger of both ways.
   */
  const guint64 padded
      = ((guint64) task->n_columns + 2) * (limits->max_rows + 3) * limits->max_views;
  return 2 * padded * sizeof (float)
         + (guint64) limits->max_views * TD_CONE_MATRIX_FLOATS * sizeof (float);
}

static guint
one_view (const TdConeTask *task, TdPrecision precision)
{
  return 1;
}

#define FAMILY(symbol, its_name, its_title, its_textures, its_unsupported, its_turned)             \
  const TdConeFamily symbol = {                                                                    \
    .name = its_name,                                                                              \
    .title = its_title,                                                                            \
    .textures = its_textures,                                                                      \
    .unsupported = its_unsupported,                                                                \
    .create = cone_family_device_create,                                                           \
    .add = td_cone_device_add,                                                                     \
    .free = cone_family_device_projector_free,                                                     \
    .workspace_bytes = cone_family_device_workspace_bytes,                                         \
    .turned_views = its_turned,                                                                    \
  }

FAMILY (td_cone_family_standard, "standard", "One voxel a thread (RTK's way)", FALSE,
        standard_unsupported, one_view);
FAMILY (td_cone_family_texture, "texture", "Layered textures, voxels along z in registers", TRUE,
        texture_unsupported, one_view);
FAMILY (td_cone_family_arithmetic, "arithmetic", "Loads and arithmetic, columns of voxels", FALSE,
        arithmetic_unsupported, arithmetic_pack);
FAMILY (td_cone_family_turned, "turned", "Views turned by 180 or 90 degrees in one texel", TRUE,
        turned_unsupported, turned_pack);
