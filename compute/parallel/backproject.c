/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "backproject.h"

#include "families.h"
#include "tune-store.h"
#include "dataset/message.h"

#include <math.h>
#include <string.h>

/* A new family: its file family-NAME.c, its line in families.h, its row here. */
static const TdBackprojectFamily *const families[] = {
  &td_family_host,
  &td_family_alu,
  &td_family_texture,
  &td_family_hybrid,
  &td_family_standard,
  &td_family_oversampling,
  NULL,
};

const TdBackprojectFamily *const *
td_backproject_families (void)
{
  return families;
}

const TdBackprojectFamily *
td_backproject_family (const char *name, GError **error)
{
  g_autoptr (GString) names = g_string_new ("auto");

  for (guint i = 0; families[i]; i++) {
    if (strcmp (families[i]->name, name) == 0)
      return families[i];
    g_string_append_printf (names, ", %s", families[i]->name);
  }
  return td_set_error_null (error, TD_ERROR_INVALID,
                            "There is no kernel \"%s\" for parallel beams; choose one of %s", name,
                            names->str);
}

static const char *
why_not (const TdBackprojectFamily *family, const TdBackprojectTask *task,
         const TdDeviceInfo *device)
{
  return family->unsupported ? family->unsupported (family, task, device) : NULL;
}

static const TdBackprojectFamily *
choose_named (const char *name, const TdBackprojectTask *task, const TdDeviceInfo *info,
              GError **error)
{
  const TdBackprojectFamily *family = td_backproject_family (name, error);

  if (!family)
    return NULL;
  const char *reason = why_not (family, task, info);
  g_autofree char *disabled = td_tune_store_disabled (info, name);
  if (!reason && !disabled)
    return family;
  return td_set_error_null (
      error, TD_ERROR_INVALID,
      "The \"%s\" kernels cannot do this on %s (%s): %p; choose another kernel or \"auto\"", name,
      info->id, info->name, td_message_unpack (reason ? reason : disabled));
}

/* The best of the families that can do the task and passed the self-test. The tuner's
   measurements decide. Families that it has not measured come after, by rank. @tried: bits of
   those that are left out. */
static const TdBackprojectFamily *
choose_best (const TdBackprojectTask *task, const TdDeviceInfo *info, guint n_slices, guint tried,
             char **reason)
{
  const TdBackprojectFamily *best = NULL;
  double best_rate = 0;
  guint best_rank = 0, told = 0;

  for (guint i = 0; families[i]; i++) {
    if (tried >> i & 1)
      continue;
    const char *unfit = why_not (families[i], task, info);
    const gboolean inexact
        = !unfit && task->most_error > 0
          && families[i]->error_bound (families[i], task, info) > task->most_error;
    g_autofree char *why = unfit ? g_strdup (unfit)
                           : inexact
                               ? g_strdup (N_ ("its error may be larger than the accuracy allows"))
                               : td_tune_store_disabled (info, families[i]->name);
    const guint rank = info->cpu_shaped ? families[i]->cpu_rank : families[i]->card_rank;
    TdTuned tuned = { 0 };
    if (why) {
      /* What a self-test found tells most, and what is not made for it least. */
      const guint telling = unfit ? 1 : inexact ? 2 : 3;
      if (telling > told) {
        told = telling;
        g_free (*reason);
        *reason = g_steal_pointer (&why);
      }
      continue;
    }
    if (best && rank == 0)
      continue; /* only when named: it trades accuracy */
    td_tune_store_find (info, families[i]->name, task, n_slices, &tuned);
    if (!best || tuned.updates_per_second > best_rate
        || (tuned.updates_per_second == best_rate && rank > best_rank)) {
      best = families[i];
      best_rate = tuned.updates_per_second;
      best_rank = rank;
    }
    td_tuned_clear (&tuned);
  }
  return best;
}

const TdBackprojectFamily *
td_backproject_choose (const char *name, const TdBackprojectTask *task, TdDevice *device,
                       guint n_slices, GError **error)
{
  const TdDeviceInfo *info = td_device_info (device);
  g_autofree char *reason = NULL;

  if (name && strcmp (name, "auto") != 0)
    return choose_named (name, task, info, error);
  const TdBackprojectFamily *best = choose_best (task, info, n_slices, 0, &reason);
  if (!best)
    td_set_error (error, TD_ERROR_UNSUPPORTED,
                  "No back-projection kernel can do this on %s (%s): %p; choose another device or "
                  "precision",
                  info->id, info->name, td_message_unpack (reason));
  return best;
}

const TdBackprojectFamily *
td_backproject_another (const TdBackprojectFamily *failed, const TdBackprojectTask *task,
                        TdDevice *device, guint n_slices, guint *tried)
{
  const TdDeviceInfo *info = td_device_info (device);
  TdBackprojectTask any = *task;
  g_autofree char *reason = NULL;

  any.most_error = 0;
  for (guint i = 0; families[i]; i++)
    *tried |= families[i] == failed ? 1u << i : 0;
  const TdBackprojectFamily *best = choose_best (task, info, n_slices, *tried, &reason);
  return best ? best : choose_best (&any, info, n_slices, *tried, &reason);
}

TdBackprojectVariant *
td_backproject_variant_new (const char *family, guint slices, const char *defines)
{
  TdBackprojectVariant *variant = g_new (TdBackprojectVariant, 1);

  variant->family = family;
  variant->slices = slices;
  variant->defines = defines ? g_strsplit (defines, " ", -1) : NULL;
  return variant;
}

void
td_backproject_variant_free (TdBackprojectVariant *variant)
{
  if (variant)
    g_strfreev (variant->defines);
  g_free (variant);
}

/* ── Tasks ── */

gboolean
td_backproject_same_kernel (const TdBackprojectTask *a, const TdBackprojectTask *b)
{
  return a->n_columns == b->n_columns && a->n_views == b->n_views && a->nx == b->nx
         && a->ny == b->ny && a->interpolation == b->interpolation && a->precision == b->precision;
}

void
td_backproject_views (const TdBackprojectTask *task, double *start, double *du_x, double *du_y)
{
  for (guint v = 0; v < task->n_views; v++) {
    double cosine = cos (task->angles_rad[v]), sine = sin (task->angles_rad[v]);
    double centre = task->centre_px + (task->axis_px ? task->axis_px[v] : 0);
    start[v] = centre + task->x0 * cosine + task->y0 * sine;
    du_x[v] = task->step * cosine;
    du_y[v] = -task->step * sine;
  }
}

static gint64
backproject_fixed (double value)
{
  return llrint (CLAMP (value, -0x1p30, 0x1p30) * 0x1p32);
}

void
td_backproject_fixed (const TdBackprojectTask *task, gint64 *starts)
{
  g_autofree double *start = g_new (double, task->n_views);
  g_autofree double *du_x = g_new (double, task->n_views);
  g_autofree double *du_y = g_new (double, task->n_views);

  td_backproject_views (task, start, du_x, du_y);
  for (guint v = 0; v < task->n_views; v++) {
    starts[3 * v] = backproject_fixed (start[v]);
    starts[3 * v + 1] = backproject_fixed (du_x[v]);
    starts[3 * v + 2] = backproject_fixed (du_y[v]);
  }
}

static gboolean
all_finite (const double *values, guint n)
{
  for (guint i = 0; values && i < n; i++)
    if (!isfinite (values[i]))
      return FALSE;
  return TRUE;
}

/* Kernels index a sinogram and a slice with 31 bits. */
static gboolean
check_task (const TdBackprojectTask *task, GError **error)
{
  if (!task->n_columns || !task->n_views || !task->nx || !task->ny)
    return td_set_error (error, TD_ERROR_INVALID,
                         "Nothing to back-project: %u columns, %u views, %u x %u pixels",
                         task->n_columns, task->n_views, task->nx, task->ny);
  if (!isfinite (task->x0) || !isfinite (task->y0) || !isfinite (task->centre_px)
      || !isfinite (task->scale) || !(task->step > 0) || !isfinite (task->step)
      || !all_finite (task->angles_rad, task->n_views) || !all_finite (task->axis_px, task->n_views)
      || !all_finite (task->weights, task->n_views)
      || task->step * ((double) task->nx + task->ny) > 0x1p29) {
    g_set_error_literal (
        error, TD_ERROR, TD_ERROR_INVALID,
        "The geometry has a value that is not a finite, sensible number; check the "
        "angles, the centre of rotation and the region");
    return FALSE;
  }
  if ((guint64) task->n_columns * task->n_views > G_MAXINT32
      || (guint64) task->nx * task->ny > G_MAXINT32)
    return td_set_error (
        error, TD_ERROR_TOO_LARGE,
        "A sinogram of %u x %u or a slice of %u x %u passes the limit of 2^31 elements; "
        "reconstruct a region",
        task->n_columns, task->n_views, task->nx, task->ny);
  return TRUE;
}

/* ── Projectors ── */

const TdBackprojectVariant td_backproject_default = { 0 };

static void
keep_task (TdBackprojector *projector, const TdBackprojectTask *task)
{
  projector->task = *task;
  projector->task.angles_rad = projector->task.axis_px = projector->task.weights = NULL;
}

gpointer
td_backprojector_alloc (gsize bytes, const TdBackprojectorOps *ops, TdDevice *device,
                        const TdBackprojectTask *task)
{
  TdBackprojector *projector = g_malloc0 (bytes);

  projector->ops = ops;
  projector->device = td_device_ref (device);
  keep_task (projector, task);
  return projector;
}

/* Creates by @variant; NULL: as tuned, and by the family's default if that no longer builds. */
static TdBackprojector *
backproject_create (const TdBackprojectFamily *family, TdDevice *device,
                    const TdBackprojectTask *task, const TdBackprojectVariant *variant,
                    guint max_slices, GError **error)
{
  TdTuned tuned = { 0 };

  if (variant == &td_backproject_default) {
    variant = NULL;
  } else if (!variant
             && td_tune_store_find (td_device_info (device), family->name, task, max_slices,
                                    &tuned)) {
    const TdBackprojectVariant found = { family->name, tuned.slices, tuned.defines };
    TdBackprojector *projector
        = tuned.defines || tuned.slices
              ? family->create (family, device, task, &found, max_slices, NULL)
              : NULL;
    td_tuned_clear (&tuned);
    if (projector)
      return projector;
  }
  return family->create (family, device, task, variant, max_slices, error);
}

TdBackprojector *
td_backprojector_new (const TdBackprojectFamily *family, TdDevice *device,
                      const TdBackprojectTask *task, const TdBackprojectVariant *variant,
                      guint max_slices, GError **error)
{
  const TdDeviceInfo *info = td_device_info (device);
  const char *reason;

  g_return_val_if_fail (max_slices > 0, NULL);
  if (!check_task (task, error))
    return NULL;
  if ((reason = why_not (family, task, info)))
    return td_set_error_null (error, TD_ERROR_UNSUPPORTED,
                              "The \"%s\" kernels cannot do this on %s: %p", family->name, info->id,
                              td_message_unpack (reason));
  TdBackprojector *projector
      = backproject_create (family, device, task, variant, max_slices, error);
  if (!projector)
    return NULL;
  projector->family = family;
  projector->max_slices = max_slices;
  return projector;
}

void
td_backprojector_free (TdBackprojector *projector)
{
  if (!projector)
    return;
  TdDevice *device = projector->device;
  g_free (projector->description);
  g_clear_object (&projector->cancellable);
  g_clear_pointer (&projector->kernel_events, g_ptr_array_unref);
  projector->ops->free (projector);
  td_device_unref (device);
}

gboolean
td_backprojector_update (TdBackprojector *projector, const TdBackprojectTask *task, GError **error)
{
  if (!check_task (task, error) || !projector->ops->update (projector, task, error))
    return FALSE;
  keep_task (projector, task);
  return TRUE;
}

void
td_backprojector_set_cancellable (TdBackprojector *projector, GCancellable *cancellable)
{
  g_set_object (&projector->cancellable, cancellable);
}

gboolean
td_backprojector_run (TdBackprojector *projector, TdQueue *queue, TdPlace sinograms, TdPlace slices,
                      guint n_slices, GError **error)
{
  g_return_val_if_fail (n_slices > 0 && n_slices <= projector->max_slices, FALSE);
  g_return_val_if_fail (queue->device == projector->device->hardware, FALSE);
  g_return_val_if_fail (
      sinograms.offset % sizeof (float) == 0 && slices.offset % sizeof (float) == 0, FALSE);

  if (projector->kernel_events)
    g_ptr_array_set_size (projector->kernel_events, 0);
  return projector->ops->run (projector, queue, sinograms, slices, n_slices, error);
}

/* ── Time of the kernels alone ── */

void
td_backprojector_time_kernels (TdBackprojector *projector)
{
  if (!projector->kernel_events)
    projector->kernel_events = td_events_new ();
}

gboolean
td_backprojector_mark (TdBackprojector *projector, TdQueue *queue, GError **error)
{
  return !projector->kernel_events || td_events_record (queue, projector->kernel_events, error);
}

gboolean
td_backprojector_kernel_seconds (TdBackprojector *projector, double *seconds, GError **error)
{
  const GPtrArray *events = projector->kernel_events;

  *seconds = 0;
  for (guint i = 0; events && i + 1 < events->len; i += 2) {
    double part = 0;
    if (!td_event_elapsed (events->pdata[i], events->pdata[i + 1], &part, error))
      return FALSE;
    *seconds += part;
  }
  return TRUE;
}
