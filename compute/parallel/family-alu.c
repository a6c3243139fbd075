/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * The "alu", "hybrid" and "oversampling" families: one projector, one kernel source
 * (kernels/backproject-alu-core.h), one shape (alu-shape.h).
 */
#include "alu-shape.h"
#include "families.h"
#include "packed-sinograms.h"
#include "place-error.h"

#include <inttypes.h>
#include <math.h>

typedef struct {
  TdBackprojector base;
  TdAluShape shape;
  TdPackedSinograms *packed, *texels; /* texels: hybrid only */
  TdTexture *texture;
  TdBuffer *counters;
  TdKernel *kernel;
} AluProjector;

enum { SAMPLES = 4 /* a bin, of the oversampling family */ };

static guint
alu_projector_samples (const TdBackprojectFamily *family)
{
  return family == &td_family_oversampling ? SAMPLES : 1;
}

static guint
alu_projector_slices (const TdBackprojectTask *task, guint max_slices)
{
  guint least = task->precision == TD_PRECISION_SINGLE ? 1 : 2;
  return MAX (least, max_slices >= 3 ? 4 : max_slices);
}

static const char *
alu_projector_unsupported (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                           const TdDeviceInfo *device)
{
  if (family == &td_family_oversampling && task->interpolation != TD_INTERPOLATION_LINEAR)
    return N_ ("it approximates linear interpolation; nearest needs no samples between the bins");
  if (device->host_pointers)
    return N_ ("it is made for graphics cards");
  if (task->precision != TD_PRECISION_SINGLE && !device->half_storage)
    return N_ ("the device cannot store half-precision numbers");
  if (task->precision == TD_PRECISION_HALF_RUN && !device->half_arithmetic
      && device->kind == TD_DEVICE_GPU)
    return N_ ("the device cannot calculate in half precision");
  if (task->n_views > 60000)
    return N_ ("it takes at most 60000 views");

  TdAluShape shape = td_alu_shape_default (task, device, alu_projector_slices (task, 4),
                                           alu_projector_samples (family));
  if (!td_alu_shape_fit (&shape, task, device))
    return !td_alu_shape_has_threads (&shape) ? N_ ("the device's work-groups are too small for it")
                                              : N_ ("the pixels are so much wider than the "
                                                    "detector's that a tile's bins pass the local "
                                                    "memory");
  return NULL;
}

/**
 * Relative L2 error; place-error.h.
 *
 * Position: below 128 bins in a tile of 64, rounded at its start and at each of three steps. A unit
 * of the last place is 2^-17 from 64 bins on and less before. Over a tile and all angles that makes
 * 2^-18.5 rms, taken as 0.73 * 2^-18 for chance. Squares turn views so that they begin low, and
 * have 0.8 of it. Samples and wider steps multiply it. Squares add up bins and differences apart,
 * whose rounding is 1.9 times that of the sums. Nearest: ties go up by 2^-17 on purpose.
 *
 * Oversampling: a place uniform within +-1/8 of a bin is 1/8 / sqrt (3) off. That makes 0.25 in the
 * mean of many views; of few, by chance more. Half: the value and up to three differences round
 * to 2^-11 at most, 2^-12.3 rms. Where bins alternate differences are twice as large as values, and
 * the interpolated value is sqrt (1/3): 7e-4 over a square. Runs: weights round too (two roundings
 * of up to 2^-11). Each addition of a run of R rounds the sum so far, of size sqrt (r): sqrt (R /
 * 2) 2^-11.8 of the run. Runs are independent.
 */
static double
alu_projector_error_bound (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                           const TdDeviceInfo *device)
{
  const double position = 0.73 * 0x1p-18 * MAX (1, task->step), sums = td_sums_error (task);
  double bound;

  if (family == &td_family_oversampling)
    bound = 0.26 + 0.6 / sqrt (task->n_views);
  else if (task->interpolation == TD_INTERPOLATION_NEAREST)
    bound = td_place_error (task, position + 0x1p-17) + sums;
  else
    bound = MAX (hypot (td_place_error (task, position), 0.65 * sums),
                 hypot (td_place_error (task, 0.8 * position), 1.9 * sums));
  if (task->precision != TD_PRECISION_SINGLE)
    bound += 1e-3;
  if (task->precision == TD_PRECISION_HALF_RUN)
    bound += 3e-3;
  /* The texture engine's, in all pixels at most, beside that of what both do. */
  return family == &td_family_hybrid ? hypot (bound, td_texture_error (task)) : bound;
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

static gboolean
has_texel (const TdBackprojectTask *task, const TdDeviceInfo *device, guint slices)
{
  return (device->texels & 1u << td_texel (slices, task->precision != TD_PRECISION_SINGLE)) != 0;
}

static guint
family_hybrid_slices_for (const TdBackprojectTask *task, const TdDeviceInfo *device,
                          guint max_slices)
{
  guint slices = alu_projector_slices (task, max_slices);

  if (task->precision != TD_PRECISION_SINGLE)
    return slices == 2 && !has_texel (task, device, 2) ? 4 : slices;
  if (slices == 4 && has_texel (task, device, 2))
    slices = 2; /* four floats filter at a quarter of the rate */
  while (slices > 1 && !has_texel (task, device, slices))
    slices = slices == 2 && has_texel (task, device, 4) ? 4 : slices / 2;
  return slices;
}

static guint64
alu_projector_workspace_bytes (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                               const TdDeviceInfo *device, guint max_slices)
{
  const gboolean hybrid = family == &td_family_hybrid;
  const guint slices = hybrid ? family_hybrid_slices_for (task, device, max_slices) : max_slices;
  TdAluShape shape = td_alu_shape_default (task, device, alu_projector_slices (task, slices),
                                           alu_projector_samples (family));

  if (!td_alu_shape_fit (&shape, task, device))
    return 0;
  TdPackSpec packed = alu_projector_pack_spec (&shape), texels = texel_spec (&shape);
  return td_packed_sinograms_bytes (task, &packed)
         + (hybrid ? 2 * td_packed_sinograms_bytes (task, &texels) + TD_COUNTERS * sizeof (int)
                   : 0);
}

static gboolean
build_texture (AluProjector *self, TdDevice *device, const TdBackprojectTask *task, GError **error)
{
  TdPackSpec spec = texel_spec (&self->shape);

  if (!(self->texels = td_packed_sinograms_new (device, task, &spec, error)))
    return FALSE;
  TdTextureSpec texture = {
    .texel = td_texel (self->shape.slices, self->shape.half),
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

  self->kernel = td_device_kernel (device, hybrid ? "backproject-hybrid" : "backproject-alu",
                                   (const char *const *) defines,
                                   hybrid ? "td_backproject_hybrid" : "td_backproject_alu", error);
  return self->kernel != NULL;
}

static gboolean
alu_projector_spills (const AluProjector *self, const TdDeviceInfo *info)
{
  return info->kind == TD_DEVICE_GPU && td_kernel_spilled (self->kernel) > 0;
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
alu_projector_free (TdBackprojector *projector)
{
  AluProjector *self = (AluProjector *) projector;

  td_texture_free (self->texture);
  td_buffer_free (self->counters);
  td_packed_sinograms_free (self->packed);
  td_packed_sinograms_free (self->texels);
  g_free (self);
}

/* The texture has as many rows as the table: with the views' directions their number may change. */
static gboolean
alu_projector_update (TdBackprojector *projector, const TdBackprojectTask *task, GError **error)
{
  AluProjector *self = (AluProjector *) projector;

  return !self->texels && task->step == projector->task.step
         && td_backproject_same_kernel (task, &projector->task)
         && td_packed_sinograms_update (self->packed, task, error);
}

static gboolean
alu_projector_launch (AluProjector *self, TdQueue *queue, TdPlace slices, guint slice0,
                      guint n_slices, GError **error)
{
  const TdAluShape *shape = &self->shape;
  const guint local[3] = { shape->threads, 1, 1 };
  const guint groups[3] = { (self->base.task.nx + shape->tile - 1) / shape->tile,
                            (self->base.task.ny + shape->tile - 1) / shape->tile, 1 };
  TdBackprojectParams params = td_packed_sinograms_params (self->packed, n_slices);
  const guint64 to = slices.offset / sizeof (float);
  const TdLocal cache = { td_alu_shape_local_bytes (shape) };
  const TdPackedBuffers *packed = td_packed_sinograms_buffers (self->packed);

  return td_backprojector_mark (&self->base, queue, error)
         && (self->texture
                 ? td_launch (queue, self->kernel, groups, local,
                              TD_ARGS (packed->rows, self->texture, packed->views, params, slice0,
                                       packed->greatest, self->counters, slices.buffer, to, cache),
                              error)
                 : td_launch (queue, self->kernel, groups, local,
                              TD_ARGS (packed->rows, packed->views, params, slice0,
                                       packed->greatest, slices.buffer, to, cache),
                              error))
         && td_backprojector_mark (&self->base, queue, error);
}

static gboolean
alu_projector_run (TdBackprojector *projector, TdQueue *queue, TdPlace sinograms, TdPlace slices,
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
            || !td_texture_write (queue, self->texture, 1,
                                  td_packed_sinograms_buffers (self->texels)->rows, 0, error)
            || !td_fill_zero (queue, self->counters, 0, TD_COUNTERS * sizeof (int), error)))
      return FALSE;
    if (!alu_projector_launch (self, queue, slices, s, n_slices, error))
      return FALSE;
  }
  return TRUE;
}

static const TdBackprojectorOps alu_ops = {
  .update = alu_projector_update,
  .run = alu_projector_run,
  .free = alu_projector_free,
};

static TdBackprojector *
alu_projector_create (const TdBackprojectFamily *family, TdDevice *device,
                      const TdBackprojectTask *task, const TdBackprojectVariant *variant,
                      guint max_slices, GError **error)
{
  const TdDeviceInfo *info = td_device_info (device);
  guint least = alu_projector_slices (task, 1);
  guint slices = variant && variant->slices ? MAX (variant->slices, least)
                                            : alu_projector_slices (task, max_slices);
  TdAluShape shape = td_alu_shape_default (task, info, slices, alu_projector_samples (family));

  shape.hybrid = shape.texture_cells = family == &td_family_hybrid;
  if (variant && variant->defines) {
    shape.texture_cells = 0;
    if (!td_alu_shape_apply (&shape, (const char *const *) variant->defines, error))
      return NULL;
  }
  if (!td_alu_shape_fit (&shape, task, info))
    return td_set_error_null (error, TD_ERROR_DEVICE_MEMORY,
                              "The back-projection kernel needs more local memory than the %" PRIu64
                              " bytes %s has; choose another kernel",
                              info->local_memory_bytes, info->id);

  AluProjector *self = td_backprojector_alloc (sizeof *self, &alu_ops, device, task);
  self->shape = shape;
  if (!alu_projector_build (self, device, task, variant && variant->defines, error)) {
    td_backprojector_free (&self->base);
    return NULL;
  }
  return &self->base;
}

/* Each of @all @n for as many slices as the precision allows. */
static GPtrArray *
alu_projector_candidates (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                          const char *const *all, guint n)
{
  GPtrArray *list = g_ptr_array_new_with_free_func ((GDestroyNotify) td_backproject_variant_free);

  for (guint slices = alu_projector_slices (task, 1); slices <= 4; slices *= 2)
    for (guint i = 0; i < n; i++)
      g_ptr_array_add (list, td_backproject_variant_new (family->name, slices, all[i]));
  return list;
}

/* ── ALU ── */

/**
 * The "alu" family: the review's §6, arithmetic on bins cached in local memory. Its own step beyond
 * the review: squares of four pixels share one lookup (kernels/backproject-alu-core.h).
 */
/* What was best or near it on some card; the first, without defines, is the default. */
static GPtrArray *
family_alu_candidates (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                       const TdDeviceInfo *device)
{
  /* From "TD_CACHE=2" on they are the review's own caches: a bin with its difference (§6.4),
     columns' places (h_x, §6.8), split vectors and 64-bit writes (§6.3). The last but one does not
     look ahead. The last one, of single bins, is for half sums only. */
  static const char *const all[] = {
    NULL,
    "TD_TILE=64 TD_THREADS=256 TD_BATCH=16 TD_RESIDENT=2 TD_CACHE=1",
    "TD_TILE=32 TD_THREADS=128 TD_BATCH=16 TD_RESIDENT=4 TD_LANES=16 TD_CACHE=1",
    "TD_TILE=64 TD_THREADS=256 TD_BATCH=8 TD_RESIDENT=3 TD_CACHE=1",
    "TD_TILE=64 TD_THREADS=512 TD_BATCH=32 TD_RESIDENT=1 TD_CACHE=1",
    "TD_TILE=64 TD_THREADS=256 TD_BATCH=16 TD_BUFFERS=1 TD_CACHE=1",
    "TD_SIDE=1 TD_TILE=64 TD_THREADS=256 TD_BATCH=16 TD_CACHE=1",
    "TD_TILE=64 TD_THREADS=256 TD_BATCH=8 TD_CACHE=0",
    "TD_SIDE=1 TD_CACHE=2 TD_BATCH=16",
    "TD_COLUMNS=1",
    "TD_SPLIT=1 TD_COPY=8 TD_CACHE=1",
    "TD_AHEAD=32 TD_LANES=16",
    "TD_HALF=0 TD_BATCH=16 TD_THREADS=256 TD_RESIDENT=2 TD_CACHE=1",
  };
  return alu_projector_candidates (family, task, all,
                                   G_N_ELEMENTS (all) - (task->precision != TD_PRECISION_HALF_RUN));
}

const TdBackprojectFamily td_family_alu = {
  .name = "alu",
  .title = "ALU: arithmetic on cached bins",
  .error_bound = alu_projector_error_bound,
  .unsupported = alu_projector_unsupported,
  .create = alu_projector_create,
  .candidates = family_alu_candidates,
  /* Ahead of the texture units on every card since their rate fell behind the arithmetic; not on
     CPUs, whose local memory is ordinary memory. */
  .card_rank = 100,
  .workspace_bytes = alu_projector_workspace_bytes,
};

/* ── Hybrid ── */

/**
 * The "hybrid" family (review, §7.1) uses the texture engine and the arithmetic of the ALU family
 * at once. They share pixels within a work-item, or groups by multiprocessor.
 */
static const char *
family_hybrid_unsupported (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                           const TdDeviceInfo *device)
{
  const char *reason = alu_projector_unsupported (family, task, device);

  if (reason)
    return reason;
  if (!has_texel (task, device, task->precision == TD_PRECISION_SINGLE ? 1 : 4)
      || (task->interpolation == TD_INTERPOLATION_LINEAR && !device->texture_linear))
    return N_ ("the device's textures cannot do it");
  if (task->n_columns > device->texture_max[0] || task->n_views + 128 > device->texture_max[1])
    return N_ ("the sinogram is larger than a texture");
  return NULL;
}

/* Of its default. Few views are cached: local memory and the texture cache share their room. */
static const char *
hybrid_defines (const TdBackprojectTask *task, guint slices)
{
  return task->precision == TD_PRECISION_SINGLE
             ? "TD_SIDE=1 TD_TEXTURE_CELLS=4 TD_BATCH=16 TD_THREADS=256 TD_RESIDENT=2"
         : slices == 4 ? "TD_SIDE=1 TD_TEXTURE_CELLS=2 TD_BATCH=16 TD_THREADS=512 TD_RESIDENT=1"
                       : "TD_TEXTURE_CELLS=1 TD_BATCH=16 TD_THREADS=256 TD_RESIDENT=2";
}

static TdBackprojector *
family_hybrid_create (const TdBackprojectFamily *family, TdDevice *device,
                      const TdBackprojectTask *task, const TdBackprojectVariant *variant,
                      guint max_slices, GError **error)
{
  const TdDeviceInfo *info = td_device_info (device);
  TdBackprojectVariant usual
      = { .family = "hybrid", .slices = family_hybrid_slices_for (task, info, max_slices) };
  g_auto (GStrv) defines = g_strsplit (hybrid_defines (task, usual.slices), " ", -1);

  if (!variant) {
    usual.defines = defines;
    variant = &usual;
  } else if (!has_texel (task, info, variant->slices)) {
    return td_set_error_null (
        error, TD_ERROR_UNSUPPORTED,
        "%s has no textures of %u slices side by side; choose another variant", info->id,
        variant->slices);
  }
  return alu_projector_create (family, device, task, variant, max_slices, error);
}

static GPtrArray *
family_hybrid_candidates (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                          const TdDeviceInfo *device)
{
  static const char *const all[] = {
    "TD_SIDE=1 TD_TEXTURE_CELLS=4 TD_BATCH=16",
    "TD_SIDE=1 TD_TEXTURE_CELLS=2 TD_BATCH=16",
    "TD_TEXTURE_CELLS=1",
    "TD_SIDE=1 TD_TEXTURE_CELLS=2 TD_BATCH=16 TD_THREADS=512 TD_RESIDENT=1",
    "TD_TEXTURE_CELLS=1 TD_BATCH=16 TD_THREADS=256 TD_RESIDENT=2",
    "TD_TEXTURE_SHARE=1 TD_ALL_SHARE=8",
    "TD_TEXTURE_SHARE=1 TD_ALL_SHARE=2",
    "TD_SIDE=1 TD_TEXTURE_SHARE=3 TD_ALL_SHARE=8",
  };
  GPtrArray *list = g_ptr_array_new_with_free_func ((GDestroyNotify) td_backproject_variant_free);

  for (guint slices = task->precision == TD_PRECISION_SINGLE ? 1 : 2; slices <= 4; slices *= 2)
    if (has_texel (task, device, slices)) {
      /* the default first: the model looks at it */
      const guint usual = task->precision == TD_PRECISION_SINGLE ? 0 : slices == 4 ? 3 : 4;
      g_ptr_array_add (list, td_backproject_variant_new ("hybrid", slices, all[usual]));
      for (guint i = 0; i < G_N_ELEMENTS (all); i++)
        if (i != usual)
          g_ptr_array_add (list, td_backproject_variant_new ("hybrid", slices, all[i]));
    }
  return list;
}

const TdBackprojectFamily td_family_hybrid = {
  .name = "hybrid",
  .title = "Hybrid: texture engine and arithmetic together",
  .error_bound = alu_projector_error_bound,
  .unsupported = family_hybrid_unsupported,
  .create = family_hybrid_create,
  .candidates = family_hybrid_candidates,
  /* Behind the ALU family where arithmetic alone is ahead; the tuner may find otherwise. */
  .card_rank = 40,
  .workspace_bytes = alu_projector_workspace_bytes,
};

/* ── Oversampling ── */

/**
 * The "oversampling" family (review, §7.2): linear interpolation approximated by four samples a bin
 * and a nearest lookup. Chosen by name only: it is as fast as nearest and nearly as good as linear
 * on smooth data, but it is not linear.
 */
static GPtrArray *
family_oversampling_candidates (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                                const TdDeviceInfo *device)
{
  static const char *const all[] = {
    NULL,
    "TD_TILE=64 TD_THREADS=256 TD_BATCH=8",
    "TD_TILE=64 TD_THREADS=256 TD_BATCH=16",
    "TD_TILE=32 TD_THREADS=128 TD_BATCH=8 TD_RESIDENT=4",
    "TD_TILE=64 TD_THREADS=256 TD_BATCH=8 TD_BUFFERS=1",
  };
  return alu_projector_candidates (family, task, all, G_N_ELEMENTS (all));
}

const TdBackprojectFamily td_family_oversampling = {
  .name = "oversampling",
  .title = "Oversampling: four samples a bin, nearest lookup",
  .error_bound = alu_projector_error_bound,
  .unsupported = alu_projector_unsupported,
  .create = alu_projector_create,
  .candidates = family_oversampling_candidates,
  .workspace_bytes = alu_projector_workspace_bytes,
};
