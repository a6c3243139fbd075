/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "alu-projector.h"
#include "families.h"

#include <math.h>

/**
 * The "hybrid" family (review, §7.1): the texture engine and the arithmetic of the ALU family at
 * once, by pixel within a work-item or by group and multiprocessor.
 */
static gboolean
has_texel (const TdBackprojectTask *task, const TdDeviceInfo *device, guint slices)
{
  return (device->texels
          & 1u << td_alu_projector_texel (slices, task->precision != TD_PRECISION_SINGLE))
         != 0;
}

static guint
family_hybrid_slices_for (const TdBackprojectTask *task, const TdDeviceInfo *device,
                          guint max_slices)
{
  guint slices = td_alu_projector_slices (task, max_slices);

  if (task->precision != TD_PRECISION_SINGLE)
    return slices == 2 && !has_texel (task, device, 2) ? 4 : slices;
  if (slices == 4 && has_texel (task, device, 2))
    slices = 2; /* four floats filter at a quarter of the rate */
  while (slices > 1 && !has_texel (task, device, slices))
    slices = slices == 2 && has_texel (task, device, 4) ? 4 : slices / 2;
  return slices;
}

static const char *
family_hybrid_unsupported (const TdBackprojectTask *task, const TdDeviceInfo *device)
{
  const char *reason = td_alu_projector_unsupported (task, device, 1);

  if (reason)
    return reason;
  if (!has_texel (task, device, task->precision == TD_PRECISION_SINGLE ? 1 : 4)
      || (task->interpolation == TD_INTERPOLATION_LINEAR && !device->texture_linear))
    return "the device's textures cannot do it";
  if (task->n_columns > device->texture_max[0] || task->n_views + 128 > device->texture_max[1])
    return "the sinogram is larger than a texture";
  return NULL;
}

/* See family-standard.c: the texture engine rounds weights to 1/256, positions to single; in all
   pixels at most. */
static double
family_hybrid_error_bound (const TdBackprojectTask *task, const TdDeviceInfo *device)
{
  double width = task->n_columns + fabs (task->centre_px) + task->step * MAX (task->nx, task->ny);
  double u_error = width * 0x1p-23;

  return td_alu_projector_bound (task, 1)
         + (task->interpolation == TD_INTERPOLATION_NEAREST ? 2e-3 + 2 * sqrt (u_error)
                                                            : 4e-3 + sqrt (3) * u_error);
}

static TdBackprojector *
family_hybrid_create (const TdBackprojectFamily *family, TdDevice *device,
                      const TdBackprojectTask *task, const TdBackprojectVariant *variant,
                      guint max_slices, GError **error)
{
  const TdDeviceInfo *info = td_device_info (device);
  TdBackprojectVariant usual
      = { .family = "hybrid", .slices = family_hybrid_slices_for (task, info, max_slices) };

  if (!variant) {
    /* few views cached: local memory and the texture cache share their room */
    static char *in_thread[]
        = { (char *) "TD_SIDE=1",      (char *) "TD_TEXTURE_CELLS=4", (char *) "TD_BATCH=16",
            (char *) "TD_THREADS=256", (char *) "TD_RESIDENT=2",      NULL };
    static char *in_squares[] = { (char *) "TD_TEXTURE_CELLS=1", (char *) "TD_BATCH=16",
                                  (char *) "TD_THREADS=256", (char *) "TD_RESIDENT=2", NULL };
    static char *in_fours[]
        = { (char *) "TD_SIDE=1",      (char *) "TD_TEXTURE_CELLS=2", (char *) "TD_BATCH=16",
            (char *) "TD_THREADS=512", (char *) "TD_RESIDENT=1",      NULL };
    usual.defines = task->precision == TD_PRECISION_SINGLE ? in_thread
                    : usual.slices == 4                    ? in_fours
                                                           : in_squares;
    variant = &usual;
  } else if (!has_texel (task, info, variant->slices)) {
    td_set_error (error, TD_ERROR_UNSUPPORTED,
                  "%s has no textures of %u slices side by side; choose another variant", info->id,
                  variant->slices);
    return NULL;
  }
  return td_alu_projector_new (device, task, variant, max_slices, 1, TRUE, error);
}

static GPtrArray *
family_hybrid_candidates (const TdBackprojectTask *task, const TdDeviceInfo *device)
{
  static const char *const pixels[] = { "TD_SIDE=1", "TD_TEXTURE_CELLS=4", "TD_BATCH=16", NULL };
  static const char *const fewer[] = { "TD_SIDE=1", "TD_TEXTURE_CELLS=2", "TD_BATCH=16", NULL };
  static const char *const squares[] = { "TD_TEXTURE_CELLS=1", NULL };
  static const char *const tall[] = { "TD_SIDE=1",      "TD_TEXTURE_CELLS=2", "TD_BATCH=16",
                                      "TD_THREADS=512", "TD_RESIDENT=1",      NULL };
  static const char *const large_squares[]
      = { "TD_TEXTURE_CELLS=1", "TD_BATCH=16", "TD_THREADS=256", "TD_RESIDENT=2", NULL };
  static const char *const eighth[] = { "TD_TEXTURE_SHARE=1", "TD_ALL_SHARE=8", NULL };
  static const char *const half[] = { "TD_TEXTURE_SHARE=1", "TD_ALL_SHARE=2", NULL };
  static const char *const review[] = { "TD_SIDE=1", "TD_TEXTURE_SHARE=3", "TD_ALL_SHARE=8", NULL };
  static const char *const *const all[]
      = { pixels, fewer, squares, tall, large_squares, eighth, half, review };
  GPtrArray *list = g_ptr_array_new_with_free_func ((GDestroyNotify) td_backproject_variant_free);

  for (guint slices = task->precision == TD_PRECISION_SINGLE ? 1 : 2; slices <= 4; slices *= 2)
    if (has_texel (task, device, slices)) {
      /* the default first: the model looks at it */
      const char *const *usual = task->precision == TD_PRECISION_SINGLE ? pixels
                                 : slices == 4                          ? tall
                                                                        : large_squares;
      g_ptr_array_add (list, td_backproject_variant_new ("hybrid", slices, usual));
      for (guint i = 0; i < G_N_ELEMENTS (all); i++)
        if (all[i] != usual)
          g_ptr_array_add (list, td_backproject_variant_new ("hybrid", slices, all[i]));
    }
  return list;
}

/* Behind the ALU family where arithmetic alone is ahead; the tuner may find otherwise. */
static guint
family_hybrid_preference (const TdBackprojectTask *task, const TdDeviceInfo *device, guint n_slices)
{
  return device->texture_slow || device->cpu_shaped ? 0 : 40;
}

static guint64
family_hybrid_workspace_bytes (const TdBackprojectTask *task, const TdDeviceInfo *device,
                               guint max_slices)
{
  return td_alu_projector_bytes (task, device, family_hybrid_slices_for (task, device, max_slices),
                                 1, TRUE);
}

const TdBackprojectFamily td_family_hybrid = {
  .name = "hybrid",
  .title = "Hybrid: texture engine and arithmetic together",
  .error_bound = family_hybrid_error_bound,
  .unsupported = family_hybrid_unsupported,
  .create = family_hybrid_create,
  .update = td_alu_projector_update,
  .run = td_alu_projector_run,
  .free = td_alu_projector_free,
  .candidates = family_hybrid_candidates,
  .preference = family_hybrid_preference,
  .workspace_bytes = family_hybrid_workspace_bytes,
};
