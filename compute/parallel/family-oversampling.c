/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "alu-projector.h"
#include "families.h"

/**
 * The "oversampling" family (review, §7.2): linear interpolation approximated by four samples a bin
 * and a nearest lookup. Chosen by name only: it is as fast as nearest and nearly as good as linear
 * on smooth data, but it is not linear.
 */
enum { SAMPLES = 4 };

static const char *
family_oversampling_unsupported (const TdBackprojectTask *task, const TdDeviceInfo *device)
{
  if (task->interpolation != TD_INTERPOLATION_LINEAR)
    return "it approximates linear interpolation; nearest needs no samples between the bins";
  return td_alu_projector_unsupported (task, device, SAMPLES);
}

static double
family_oversampling_error_bound (const TdBackprojectTask *task, const TdDeviceInfo *device)
{
  return td_alu_projector_bound (task, SAMPLES);
}

static TdBackprojector *
family_oversampling_create (const TdBackprojectFamily *family, TdDevice *device,
                            const TdBackprojectTask *task, const TdBackprojectVariant *variant,
                            guint max_slices, GError **error)
{
  return td_alu_projector_new (device, task, variant, max_slices, SAMPLES, FALSE, error);
}

static GPtrArray *
family_oversampling_candidates (const TdBackprojectTask *task, const TdDeviceInfo *device)
{
  static const char *const wide[] = { "TD_TILE=64", "TD_THREADS=256", "TD_BATCH=8", NULL };
  static const char *const deep[] = { "TD_TILE=64", "TD_THREADS=256", "TD_BATCH=16", NULL };
  static const char *const narrow[]
      = { "TD_TILE=32", "TD_THREADS=128", "TD_BATCH=8", "TD_RESIDENT=4", NULL };
  static const char *const single[]
      = { "TD_TILE=64", "TD_THREADS=256", "TD_BATCH=8", "TD_BUFFERS=1", NULL };
  static const char *const *const all[] = { NULL, wide, deep, narrow, single };
  GPtrArray *list = g_ptr_array_new_with_free_func ((GDestroyNotify) td_backproject_variant_free);

  for (guint slices = task->precision == TD_PRECISION_SINGLE ? 1 : 2; slices <= 4; slices *= 2)
    for (guint i = 0; i < G_N_ELEMENTS (all); i++)
      g_ptr_array_add (list, td_backproject_variant_new ("oversampling", slices, all[i]));
  return list;
}

static guint
family_oversampling_preference (const TdBackprojectTask *task, const TdDeviceInfo *device,
                                guint n_slices)
{
  return 0;
}

static guint64
family_oversampling_workspace_bytes (const TdBackprojectTask *task, const TdDeviceInfo *device,
                                     guint max_slices)
{
  return td_alu_projector_bytes (task, device, max_slices, SAMPLES, FALSE);
}

const TdBackprojectFamily td_family_oversampling = {
  .name = "oversampling",
  .title = "Oversampling: four samples a bin, nearest lookup",
  .error_bound = family_oversampling_error_bound,
  .unsupported = family_oversampling_unsupported,
  .create = family_oversampling_create,
  .update = td_alu_projector_update,
  .run = td_alu_projector_run,
  .free = td_alu_projector_free,
  .candidates = family_oversampling_candidates,
  .preference = family_oversampling_preference,
  .workspace_bytes = family_oversampling_workspace_bytes,
};
