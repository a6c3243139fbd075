/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone-family.h"

#include "dataset/message.h"

#include <math.h>

static const TdConeFamily *const families[] = {
  &td_cone_family_host,       &td_cone_family_symmetric, &td_cone_family_texture,
  &td_cone_family_arithmetic, &td_cone_family_standard,  NULL,
};

const TdConeFamily *const *
td_cone_families (void)
{
  return families;
}

guint
td_cone_one_view (const TdConeTask *task, TdPrecision precision)
{
  return 1;
}

const TdConeFamily *
td_cone_family (const char *name, GError **error)
{
  g_autoptr (GString) names = g_string_new ("auto");

  for (guint i = 0; families[i]; i++) {
    if (g_str_equal (families[i]->name, name))
      return families[i];
    g_string_append_printf (names, ", %s", families[i]->name);
  }
  return td_set_error_null (error, TD_ERROR_INVALID,
                            "There is no kernel \"%s\" for cone beams; choose one of %s", name,
                            names->str);
}

gboolean
td_cone_family_fetches (const TdConeFamily *family, const TdDeviceInfo *device)
{
  /* The standard family takes textures where the hardware has them. */
  return family != &td_cone_family_host && family != &td_cone_family_arithmetic
         && !device->texture_slow;
}

double
td_cone_family_error_bound (const TdConeFamily *family, const TdConeTask *task,
                            TdPrecision precision, const TdDeviceInfo *device)
{
  const double single = 0.3 * 0x1p-23 * hypot (task->n_columns, task->n_rows);
  const double places = family == &td_cone_family_host ? 0 : sqrt (12) * single;
  const double weights = td_cone_family_fetches (family, device) ? 1.6e-2 : 1e-5;

  return hypot (weights, precision != TD_PRECISION_SINGLE ? 1e-3 : 0) + places;
}

double
td_cone_family_cost (const TdConeFamily *family, TdPrecision precision, const TdDeviceInfo *device)
{
  static const struct {
    const TdConeFamily *family;
    double single, half;
  } costs[] = {
    { &td_cone_family_symmetric, 1, 0.54 },
    { &td_cone_family_texture, 1.9, 1.9 },
    { &td_cone_family_arithmetic, 1.4, 1.4 },
    { &td_cone_family_standard, 3.7, 3.7 },
  };

  for (guint i = 0; device->kind == TD_DEVICE_GPU && i < G_N_ELEMENTS (costs); i++)
    if (costs[i].family == family)
      return precision == TD_PRECISION_SINGLE ? costs[i].single : costs[i].half;
  return 1;
}

const TdConeFamily *
td_cone_family_choose (const char *name, const TdConeTask *task, TdPrecision precision,
                       TdDevice *device, TdConeFamilyDisabled disabled, GError **error)
{
  const TdDeviceInfo *info = td_device_info (device);
  const gboolean automatic = !name || g_str_equal (name, "auto");
  g_autofree char *why = NULL;

  for (guint i = 0; families[i]; i++) {
    if (!automatic && !g_str_equal (families[i]->name, name))
      continue;
    g_free (why);
    why = g_strdup (families[i]->unsupported (task, precision, info));
    if (!why && disabled)
      why = disabled (families[i], info);
    if (!why && automatic && families[i]->textures && info->texture_slow)
      why = g_strdup (N_ ("textures are emulated on it"));
    if (!why)
      return families[i];
  }
  if (!why)
    return td_cone_family (name, error);
  return td_set_error_null (
      error,
      automatic && precision == TD_PRECISION_SINGLE ? TD_ERROR_UNSUPPORTED : TD_ERROR_INVALID,
      "Cone-beam back-projection \"%s\" cannot run on %s: %p. Choose another kernel, "
      "precision or device.",
      automatic ? "auto" : name, info->name, td_message_unpack (why));
}

TdConeProjector *
td_cone_projector_new (const TdConeFamily *family, TdDevice *device, const TdConeTask *task,
                       const TdConeLimits *limits, GError **error)
{
  g_autoptr (TdConeProjector) projector = g_malloc0 (family->bytes);

  projector->family = family;
  projector->device = td_device_ref (device);
  td_cone_task_copy (&projector->task, task);
  projector->limits = *limits;
  projector->symmetric_views = family->symmetric_views (task, limits->precision);
  if (family->create && !family->create (projector, error))
    return NULL;
  return g_steal_pointer (&projector);
}

gboolean
td_cone_projector_add (TdConeProjector *projector, TdQueue *queue, const TdConeBatch *batch,
                       const TdConeSlab *slab, GCancellable *cancellable, GError **error)
{
  const TdConeLimits *limits = &projector->limits;

  g_return_val_if_fail (queue->device == projector->device->hardware, FALSE);
  g_return_val_if_fail (slab->band.count == 0 || projector->family->bands, FALSE);
  g_return_val_if_fail (slab->n_slices > 0 && slab->n_slices <= limits->max_slices, FALSE);
  if (batch->n_views % projector->symmetric_views != 0 || batch->n_views > limits->max_views
      || batch->rows.count > limits->max_rows)
    return td_set_error (error, TD_ERROR_DEVICE_BUG,
                         "A batch of %u views of %u rows does not fit the projector (%u, %u).",
                         batch->n_views, batch->rows.count, limits->max_views, limits->max_rows);
  return projector->family->add (projector, queue, batch, slab, cancellable, error);
}

void
td_cone_projector_free (TdConeProjector *projector)
{
  if (!projector)
    return;
  if (projector->family->free)
    projector->family->free (projector);
  td_cone_task_clear (&projector->task);
  td_device_unref (projector->device);
  g_free (projector);
}

static gboolean
same_matrix (const double a[12], const double b[12], double quarter_turns)
{
  const double c = cos (quarter_turns * G_PI / 2), s = sin (quarter_turns * G_PI / 2);

  /* b is a turned: b (R p) = a (p), so b R = a, column by column. */
  for (guint row = 0; row < 3; row++) {
    const double *p = a + 4 * row, *q = b + 4 * row;
    const double scale = 1e-7 * (fabs (p[0]) + fabs (p[1]) + fabs (p[2]) + fabs (p[3]) + 1e-6);
    if (fabs (q[0] * c + q[1] * s - p[0]) > scale || fabs (q[1] * c - q[0] * s - p[1]) > scale
        || fabs (q[2] - p[2]) > scale || fabs (q[3] - p[3]) > scale)
      return FALSE;
  }
  return TRUE;
}

/* Steps of angles that a file gives with nine digits differ by so little. */
#define SAME_WEIGHT 2e-5

gboolean
td_cone_symmetric (const TdConeTask *task, guint turns)
{
  const guint apart = task->n_views / turns;
  const double quarters = 4.0 / turns;
  const double far_x = task->first_mm[0] + (task->nx - 1) * task->voxel_mm;
  const double far_y = task->first_mm[1] - (task->ny - 1) * task->voxel_mm;
  const double close = 1e-6 * task->voxel_mm;

  if (task->n_views % turns != 0 || task->nx % 2 != 0 || task->ny % 2 != 0
      || (turns == 4 && task->nx != task->ny))
    return FALSE;
  if (fabs (task->first_mm[0] + far_x) > close || fabs (task->first_mm[1] + far_y) > close)
    return FALSE;
  for (guint view = 0; view < task->n_views - apart; view++) {
    const double *a = task->matrices + 12 * (gsize) view;
    const double weights[2] = { task->view_weights[view], task->view_weights[view + apart] };
    if (!same_matrix (a, a + 12 * (gsize) apart, quarters)
        || fabs (weights[0] - weights[1]) > SAME_WEIGHT * fabs (weights[0]))
      return FALSE;
  }
  return TRUE;
}
