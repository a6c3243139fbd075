/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "alu-projector.h"

#include "packed-sinograms.h"

#include <math.h>

typedef struct {
  TdBackprojector base;
  TdAluShape shape;
  guint n_columns, n_views, nx, ny; /* of the task it was built for */
  double step;
  TdInterpolation interpolation;
  TdPrecision precision;
  TdPackedSinograms *packed, *texels; /* texels: hybrid only */
  TdTexture *texture;
  TdBuffer *counters;
  TdProgram *program;
  TdKernel *kernel;
} AluProjector;

guint
td_alu_projector_slices (const TdBackprojectTask *task, guint max_slices)
{
  guint least = task->precision == TD_PRECISION_SINGLE ? 1 : 2;
  return MAX (least, max_slices >= 3 ? 4 : max_slices);
}

const char *
td_alu_projector_unsupported (const TdBackprojectTask *task, const TdDeviceInfo *device,
                              guint samples)
{
  if (device->host_pointers)
    return "it is made for GPUs";
  if (task->precision != TD_PRECISION_SINGLE && !device->half_storage)
    return "the device cannot store half-precision numbers";
  if (task->precision == TD_PRECISION_HALF_RUN && !device->half_arithmetic
      && device->kind == TD_DEVICE_GPU)
    return "the device cannot calculate in half precision";
  if (task->n_views > 60000)
    return "it takes at most 60000 views";

  TdAluShape shape
      = td_alu_shape_default (task, device, td_alu_projector_slices (task, 4), samples);
  if (!td_alu_shape_fit (&shape, task, device))
    return "the pixels are so much wider than the detector's that a tile's bins pass the local "
           "memory";
  return NULL;
}

/**
 * Relative L2 error for random (white) sinograms, where an interpolated value's size is sqrt (2/3)
 * of a bin's and a neighbour's difference sqrt (2): an error e of the position costs sqrt (3) e.
 *
 * Position: below 128 bins (tile of 64; times 4 samples; times wider steps), summed in single
 * twice: 2^-18 of a bin rms, so many times more. Nearest: a share 2 e of the updates takes the
 * neighbour, each off by sqrt (2), and ties go up by another 2^-17 on purpose: sqrt (2 (2 e +
 * 2^-17)). Oversampling: the value a uniform +-1/8 bin away: sqrt (3) / (4 sqrt (12)) = 0.125, in
 * the mean of many views; of few, by chance more. Half: value and difference round to 2^-11 at
 * most, 2^-12.5 rms or so, twice. Runs: weights round too (two roundings of up to 2^-11), and each
 * addition of a run of R rounds the sum so far, of size sqrt (r): sqrt (R / 2) 2^-11.8 of the run,
 * and independent between runs. Sums of n views in single: 2^-25 sqrt (n).
 */
double
td_alu_projector_bound (const TdBackprojectTask *task, guint samples)
{
  double position = 0x1p-18 * MAX (1, task->step);
  double sums = sqrt (task->n_views) * 0x1p-25;
  double bound = sums;

  if (samples > 1)
    bound += 0.13 + 0.3 / sqrt (task->n_views) + sqrt (3) * position;
  else if (task->interpolation == TD_INTERPOLATION_NEAREST)
    bound += sqrt (2 * (2 * position + 0x1p-17)) * 2;
  else
    bound += sqrt (3) * position;
  if (task->precision != TD_PRECISION_SINGLE)
    bound += 1e-3;
  if (task->precision == TD_PRECISION_HALF_RUN)
    bound += 3e-3;
  return bound;
}

static TdPackSpec
alu_projector_pack_spec (const TdAluShape *shape)
{
  return (TdPackSpec) {
    .slices = shape->slices,
    .planes = td_alu_shape_planes (shape),
    .samples = shape->samples,
    .bins = shape->bins,
    .batch = shape->batch,
    .fold = shape->side == 2,
    .half = shape->half,
    .scaled = shape->half || shape->run,
    .pairs = shape->linear && shape->cache == 2,
    .split = shape->split,
  };
}

/* Plain texels in the same order of views. */
static TdPackSpec
texel_spec (const TdAluShape *shape)
{
  TdPackSpec spec = alu_projector_pack_spec (shape);

  spec.planes = 1;
  spec.bins = 0;
  spec.pairs = spec.split = FALSE;
  return spec;
}

guint64
td_alu_projector_bytes (const TdBackprojectTask *task, const TdDeviceInfo *device, guint max_slices,
                        guint samples, gboolean hybrid)
{
  TdAluShape shape
      = td_alu_shape_default (task, device, td_alu_projector_slices (task, max_slices), samples);

  if (!td_alu_shape_fit (&shape, task, device))
    return 0;
  TdPackSpec packed = alu_projector_pack_spec (&shape), texels = texel_spec (&shape);
  return td_packed_sinograms_bytes (task, &packed)
         + (hybrid ? 2 * td_packed_sinograms_bytes (task, &texels) + TD_COUNTERS * sizeof (int)
                   : 0);
}

TdTexel
td_alu_projector_texel (guint slices, gboolean half)
{
  if (half)
    return slices == 2 ? TD_TEXEL_RG16F : TD_TEXEL_RGBA16F;
  return slices == 1 ? TD_TEXEL_R32F : slices == 2 ? TD_TEXEL_RG32F : TD_TEXEL_RGBA32F;
}

static gboolean
build_texture (AluProjector *self, TdDevice *device, const TdBackprojectTask *task, GError **error)
{
  TdPackSpec spec = texel_spec (&self->shape);

  if (!(self->texels = td_packed_sinograms_new (device, task, &spec, error)))
    return FALSE;
  TdTextureSpec texture = {
    .texel = td_alu_projector_texel (self->shape.slices, self->shape.half),
    .width = task->n_columns,
    .height = td_packed_sinograms_params (self->texels, 1).n_table,
    .linear = self->shape.linear,
  };
  return (self->texture = td_texture_new (device, &texture, error))
         && (self->counters = td_buffer_new (device, TD_COUNTERS * sizeof (int), error));
}

static gboolean
build_program (AluProjector *self, TdDevice *device, GError **error)
{
  gboolean hybrid = self->shape.hybrid;
  g_auto (GStrv) defines = td_alu_shape_defines (&self->shape);

  g_clear_pointer (&self->program, td_program_free);
  self->program = td_program_build (device, hybrid ? "backproject-hybrid" : "backproject-alu",
                                    (const char *const *) defines, error);
  self->kernel = self->program ? td_program_kernel (
                     self->program, hybrid ? "td_backproject_hybrid" : "td_backproject_alu", error)
                               : NULL;
  return self->kernel != NULL;
}

static gboolean
alu_projector_spills (const AluProjector *self, const TdDeviceInfo *info)
{
  TdKernelInfo kernel;

  return info->kind == TD_DEVICE_GPU && td_kernel_info (self->kernel, &kernel, NULL)
         && kernel.spill_bytes > 0;
}

/* Fewer groups at once where the compiler is told how many, which leaves more registers to each;
   then fewer pixels a work-item. FALSE: there is nothing smaller. */
static gboolean
alu_projector_shrink (AluProjector *self, const TdBackprojectTask *task, const TdDeviceInfo *info)
{
  TdAluShape *shape = &self->shape;

  if (info->arch > 0 && shape->resident > 1) {
    shape->resident = 1;
    return TRUE;
  }
  if (shape->tile <= 32 && shape->threads >= 256)
    return FALSE;
  shape->threads = shape->tile > 32 ? 128 : 256;
  shape->tile = 32;
  shape->lanes = 16;
  return td_alu_shape_fit (shape, task, info);
}

/* @chosen: by the tuner or a person, spills and all; a default that spills becomes smaller. */
static gboolean
alu_projector_build (AluProjector *self, TdDevice *device, const TdBackprojectTask *task,
                     gboolean chosen, GError **error)
{
  const TdDeviceInfo *info = td_device_info (device);

  if (!build_program (self, device, error))
    return FALSE;
  while (!chosen && alu_projector_spills (self, info) && alu_projector_shrink (self, task, info))
    if (!build_program (self, device, error))
      return FALSE;
  TdPackSpec spec = alu_projector_pack_spec (&self->shape);
  self->base.description = td_alu_shape_describe (&self->shape);
  return (self->packed = td_packed_sinograms_new (device, task, &spec, error))
         && (!self->shape.hybrid || build_texture (self, device, task, error));
}

static void
alu_projector_remember (AluProjector *self, const TdBackprojectTask *task)
{
  self->n_columns = task->n_columns;
  self->n_views = task->n_views;
  self->nx = task->nx;
  self->ny = task->ny;
  self->step = task->step;
  self->interpolation = task->interpolation;
  self->precision = task->precision;
}

TdBackprojector *
td_alu_projector_new (TdDevice *device, const TdBackprojectTask *task,
                      const TdBackprojectVariant *variant, guint max_slices, guint samples,
                      gboolean hybrid, GError **error)
{
  const TdDeviceInfo *info = td_device_info (device);
  guint least = td_alu_projector_slices (task, 1);
  guint slices = variant && variant->slices ? MAX (variant->slices, least)
                                            : td_alu_projector_slices (task, max_slices);
  TdAluShape shape = td_alu_shape_default (task, info, slices, samples);

  shape.hybrid = hybrid;
  shape.texture_cells = hybrid ? 1 : 0;
  if (variant && variant->defines) {
    shape.texture_cells = 0;
    if (!td_alu_shape_apply (&shape, (const char *const *) variant->defines, error))
      return NULL;
  }
  if (!td_alu_shape_fit (&shape, task, info)) {
    td_set_error (error, TD_ERROR_DEVICE_MEMORY,
                  "The back-projection kernel needs more local memory than the %" G_GUINT64_FORMAT
                  " bytes %s has; choose another family",
                  info->local_memory_bytes, info->id);
    return NULL;
  }

  AluProjector *self = g_new0 (AluProjector, 1);
  self->base.device = device;
  self->shape = shape;
  alu_projector_remember (self, task);
  if (!alu_projector_build (self, device, task, variant && variant->defines, error)) {
    g_free (self->base.description);
    td_alu_projector_free (&self->base);
    return NULL;
  }
  return &self->base;
}

void
td_alu_projector_free (TdBackprojector *projector)
{
  AluProjector *self = (AluProjector *) projector;

  td_texture_free (self->texture);
  td_buffer_free (self->counters);
  td_packed_sinograms_free (self->packed);
  td_packed_sinograms_free (self->texels);
  td_program_free (self->program);
  g_free (self);
}

/* The texture has as many rows as the table: with the views' directions their number may change. */
gboolean
td_alu_projector_update (TdBackprojector *projector, const TdBackprojectTask *task, GError **error)
{
  AluProjector *self = (AluProjector *) projector;

  if (task->n_columns != self->n_columns || task->n_views != self->n_views || task->nx != self->nx
      || task->ny != self->ny || task->step != self->step || self->texels
      || task->interpolation != self->interpolation || task->precision != self->precision)
    return FALSE;
  return td_packed_sinograms_update (self->packed, task, error);
}

static gboolean
alu_projector_launch (AluProjector *self, TdQueue *queue, TdPlace slices, guint slice0,
                      guint n_slices, GError **error)
{
  const TdAluShape *shape = &self->shape;
  const guint local[3] = { shape->threads, 1, 1 };
  const guint groups[3] = { (self->nx + shape->tile - 1) / shape->tile,
                            (self->ny + shape->tile - 1) / shape->tile, 1 };
  TdBackprojectParams params = td_packed_sinograms_params (self->packed, n_slices);
  gint64 to = slices.offset / sizeof (float);
  gint32 first = slice0;
  guint64 local_bytes = td_alu_shape_local_bytes (shape);
  TdBuffer *rows = td_packed_sinograms_rows (self->packed);
  TdBuffer *views = td_packed_sinograms_views (self->packed);
  TdArg plain[] = { TD_ARG_BUFFER (rows),
                    TD_ARG_BUFFER (views),
                    TD_ARG_VALUE (params),
                    TD_ARG_VALUE (first),
                    TD_ARG_BUFFER (td_packed_sinograms_greatest (self->packed)),
                    TD_ARG_BUFFER (slices.buffer),
                    TD_ARG_VALUE (to),
                    TD_ARG_LOCAL (local_bytes) };
  TdArg hybrid[] = { TD_ARG_BUFFER (rows),
                     TD_ARG_TEXTURE (self->texture),
                     TD_ARG_BUFFER (views),
                     TD_ARG_VALUE (params),
                     TD_ARG_VALUE (first),
                     TD_ARG_BUFFER (td_packed_sinograms_greatest (self->packed)),
                     TD_ARG_BUFFER (self->counters),
                     TD_ARG_BUFFER (slices.buffer),
                     TD_ARG_VALUE (to),
                     TD_ARG_LOCAL (local_bytes) };

  return td_backprojector_mark (&self->base, queue, error)
         && td_launch (queue, self->kernel, groups, local, self->texture ? hybrid : plain,
                       self->texture ? G_N_ELEMENTS (hybrid) : G_N_ELEMENTS (plain), error)
         && td_backprojector_mark (&self->base, queue, error);
}

gboolean
td_alu_projector_run (TdBackprojector *projector, TdQueue *queue, TdPlace sinograms, TdPlace slices,
                      guint n_slices, GError **error)
{
  AluProjector *self = (AluProjector *) projector;

  if (!td_packed_sinograms_measure (self->packed, queue, sinograms, n_slices, error)
      || (self->texels
          && !td_packed_sinograms_measure (self->texels, queue, sinograms, n_slices, error)))
    return FALSE;
  for (guint s = 0; s < n_slices; s += self->shape.slices) {
    if (!td_packed_sinograms_pack (self->packed, queue, sinograms, s, n_slices, error))
      return FALSE;
    if (self->texture
        && (!td_packed_sinograms_pack (self->texels, queue, sinograms, s, n_slices, error)
            || !td_texture_write (queue, self->texture, 0, 1,
                                  td_packed_sinograms_rows (self->texels), 0, error)
            || !td_fill_zero (queue, self->counters, 0, TD_COUNTERS * sizeof (int), error)))
      return FALSE;
    if (!alu_projector_launch (self, queue, slices, s, n_slices, error))
      return FALSE;
  }
  return TRUE;
}
