/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "alu-projector.h"
#include "families.h"

/**
 * The "alu" family: the review's §6, arithmetic on bins cached in local memory. Its own step beyond
 * the review: squares of four pixels share one lookup (kernels/backproject-alu-core.h).
 */
static const char *
family_alu_unsupported (const TdBackprojectTask *task, const TdDeviceInfo *device)
{
  return td_alu_projector_unsupported (task, device, 1);
}

static double
family_alu_error_bound (const TdBackprojectTask *task, const TdDeviceInfo *device)
{
  return td_alu_projector_bound (task, 1);
}

static TdBackprojector *
family_alu_create (const TdBackprojectFamily *family, TdDevice *device,
                   const TdBackprojectTask *task, const TdBackprojectVariant *variant,
                   guint max_slices, GError **error)
{
  return td_alu_projector_new (device, task, variant, max_slices, 1, FALSE, error);
}

/* What was best or near it on some card; the first, without defines, is the default. */
static GPtrArray *
family_alu_candidates (const TdBackprojectTask *task, const TdDeviceInfo *device)
{
  static const char *const wide[]
      = { "TD_TILE=64", "TD_THREADS=256", "TD_BATCH=16", "TD_RESIDENT=2", "TD_CACHE=1", NULL };
  static const char *const narrow[]
      = { "TD_TILE=32",  "TD_THREADS=128", "TD_BATCH=16", "TD_RESIDENT=4",
          "TD_LANES=16", "TD_CACHE=1",     NULL };
  static const char *const dense[]
      = { "TD_TILE=64", "TD_THREADS=256", "TD_BATCH=8", "TD_RESIDENT=3", "TD_CACHE=1", NULL };
  static const char *const large[]
      = { "TD_TILE=64", "TD_THREADS=512", "TD_BATCH=32", "TD_RESIDENT=1", "TD_CACHE=1", NULL };
  static const char *const single[]
      = { "TD_TILE=64", "TD_THREADS=256", "TD_BATCH=16", "TD_BUFFERS=1", "TD_CACHE=1", NULL };
  static const char *const pixels[]
      = { "TD_SIDE=1", "TD_TILE=64", "TD_THREADS=256", "TD_BATCH=16", "TD_CACHE=1", NULL };
  static const char *const values[]
      = { "TD_TILE=64", "TD_THREADS=256", "TD_BATCH=8", "TD_CACHE=0", NULL };
  /* The review's own caches: a bin with its difference (§6.4), columns' places (h_x, §6.8), split
     vectors and 64-bit writes (§6.3), no look ahead; last, for half sums only, of single bins. */
  static const char *const pairs[] = { "TD_SIDE=1", "TD_CACHE=2", "TD_BATCH=16", NULL };
  static const char *const columns[] = { "TD_COLUMNS=1", NULL };
  static const char *const split[] = { "TD_SPLIT=1", "TD_COPY=8", "TD_CACHE=1", NULL };
  static const char *const at_hand[] = { "TD_AHEAD=32", "TD_LANES=16", NULL };
  static const char *const single_store[]
      = { "TD_HALF=0", "TD_BATCH=16", "TD_THREADS=256", "TD_RESIDENT=2", "TD_CACHE=1", NULL };
  static const char *const *const all[]
      = { NULL,   wide,  narrow,  dense, large,   single,      pixels,
          values, pairs, columns, split, at_hand, single_store };
  GPtrArray *list = g_ptr_array_new_with_free_func ((GDestroyNotify) td_backproject_variant_free);

  for (guint slices = task->precision == TD_PRECISION_SINGLE ? 1 : 2; slices <= 4; slices *= 2)
    for (guint i = 0; i < G_N_ELEMENTS (all) - (task->precision != TD_PRECISION_HALF_RUN); i++)
      g_ptr_array_add (list, td_backproject_variant_new ("alu", slices, all[i]));
  return list;
}

/* Ahead of the texture units on every card since their rate fell behind the arithmetic; not on
   CPUs, whose local memory is ordinary memory. */
static guint
family_alu_preference (const TdBackprojectTask *task, const TdDeviceInfo *device, guint n_slices)
{
  return device->cpu_shaped ? 0 : 100;
}

static guint64
family_alu_workspace_bytes (const TdBackprojectTask *task, const TdDeviceInfo *device,
                            guint max_slices)
{
  return td_alu_projector_bytes (task, device, max_slices, 1, FALSE);
}

const TdBackprojectFamily td_family_alu = {
  .name = "alu",
  .title = "ALU: arithmetic on cached bins",
  .error_bound = family_alu_error_bound,
  .unsupported = family_alu_unsupported,
  .create = family_alu_create,
  .update = td_alu_projector_update,
  .run = td_alu_projector_run,
  .free = td_alu_projector_free,
  .candidates = family_alu_candidates,
  .preference = family_alu_preference,
  .workspace_bytes = family_alu_workspace_bytes,
};
