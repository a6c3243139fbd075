/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "families.h"
#include "place-error.h"

#include "kernels/params.h"

#include <math.h>

/**
 * The "standard" family: Algorithm 1 of the review, the baseline of every comparison. With the
 * texture engine where its linear filter is in hardware, by plain loads and arithmetic elsewhere.
 */
typedef struct {
  TdBackprojector base;
  gboolean textured;
  TdKernel *kernel;
  TdTexture *texture;
  TdBuffer *views, *starts; /* see the kernel */
} StandardProjector;

enum { GROUP = 16 };

static gboolean
texture_fits (const TdBackprojectTask *task, const TdDeviceInfo *device)
{
  return (device->texels & 1u << TD_TEXEL_R32F) && task->n_columns <= device->texture_max[0]
         && task->n_views <= device->texture_max[1];
}

static gboolean
use_texture (const TdBackprojectTask *task, const TdDeviceInfo *device,
             const TdBackprojectVariant *variant)
{
  if (variant && variant->defines)
    return g_strv_contains ((const char *const *) variant->defines, "TEXTURED=1");
  return texture_fits (task, device) && device->texture_linear && !device->texture_slow;
}

static const char *
family_standard_unsupported (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                             const TdDeviceInfo *device)
{
  if (device->host_pointers)
    return N_ ("it is made for graphics cards");
  if (task->precision != TD_PRECISION_SINGLE)
    return N_ ("it works in single precision only");
  return NULL;
}

/**
 * Relative L2 error; place-error.h. By plain loads places have 32 bits after the point. The start
 * and both steps are off by up to 2^-33, half of that on average. A weight keeps 24 of those bits.
 * Differences of bins, products and views' weights round too: some 2^-24 each.
 */
static double
family_standard_error_bound (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                             const TdDeviceInfo *device)
{
  const double fixed = (1 + 0.5 * ((double) task->nx + task->ny)) * 0x1p-34;
  const double kept = task->interpolation == TD_INTERPOLATION_NEAREST ? 0 : 0x1p-24 / sqrt (3);

  if (use_texture (task, device, NULL))
    return td_texture_error (task) + td_sums_error (task);
  return td_place_error (task, fixed + kept) + 5e-7 + td_sums_error (task);
}

static gboolean
family_standard_update (TdBackprojector *projector, const TdBackprojectTask *task, GError **error)
{
  StandardProjector *self = (StandardProjector *) projector;

  if (task->n_columns != self->base.task.n_columns || task->n_views != self->base.task.n_views
      || task->interpolation != self->base.task.interpolation)
    return FALSE;

  g_autofree float *views = g_new (float, 4 * (gsize) task->n_views);
  g_autofree gint64 *starts = g_new (gint64, 3 * (gsize) task->n_views);
  g_autoptr (TdQueue) queue = td_queue_new (projector->device, error);

  td_backproject_fixed (task, starts);
  for (guint v = 0; v < task->n_views; v++) {
    views[4 * v] = task->centre_px + (task->axis_px ? task->axis_px[v] : 0);
    views[4 * v + 1] = cos (task->angles_rad[v]);
    views[4 * v + 2] = sin (task->angles_rad[v]);
    views[4 * v + 3] = task->scale * (task->weights ? task->weights[v] : 1);
  }
  return queue
         && td_upload (queue, self->views, 0, views, 4 * (guint64) task->n_views * sizeof *views,
                       error)
         && td_upload (queue, self->starts, 0, starts, 3 * (guint64) task->n_views * sizeof *starts,
                       error)
         && td_queue_finish (queue, error);
}

static gboolean
family_standard_run (TdBackprojector *projector, TdQueue *queue, TdPlace sinograms, TdPlace slices,
                     guint n_slices, GError **error)
{
  StandardProjector *self = (StandardProjector *) projector;
  const TdBackprojectTask *task = &self->base.task;
  const guint groups[3] = { (task->nx + GROUP - 1) / GROUP, (task->ny + GROUP - 1) / GROUP, 1 };
  const guint local[3] = { GROUP, GROUP, 1 };
  guint64 sinogram_floats = (guint64) task->n_views * task->n_columns;
  guint64 slice_floats = (guint64) task->nx * task->ny;

  for (guint s = 0; s < n_slices; s++) {
    guint64 from = sinograms.offset / sizeof (float) + s * sinogram_floats;
    guint64 to = slices.offset / sizeof (float) + s * slice_floats;
    TdStandardParams params = {
      .n_columns = task->n_columns,
      .n_views = task->n_views,
      .nx = task->nx,
      .ny = task->ny,
      .x0 = task->x0,
      .y0 = task->y0,
      .step = task->step,
      .sinogram_low = from,
      .sinogram_high = from >> 32,
      .slice_low = to,
      .slice_high = to >> 32,
    };
    TdArg textured[]
        = { TD_ARG (self->texture), TD_ARG (self->views), TD_ARG (slices.buffer), TD_ARG (params) };
    TdArg plain[] = { TD_ARG (sinograms.buffer), TD_ARG (self->views), TD_ARG (self->starts),
                      TD_ARG (slices.buffer), TD_ARG (params) };

    if (self->textured
        && !td_texture_write (queue, self->texture, 1, sinograms.buffer, from * sizeof (float),
                              error))
      return FALSE;
    if (!td_backprojector_mark (&self->base, queue, error)
        || !td_launch (queue, self->kernel, groups, local, self->textured ? textured : plain,
                       self->textured ? G_N_ELEMENTS (textured) : G_N_ELEMENTS (plain), error)
        || !td_backprojector_mark (&self->base, queue, error))
      return FALSE;
  }
  return TRUE;
}

static void
family_standard_free_projector (TdBackprojector *projector)
{
  StandardProjector *self = (StandardProjector *) projector;

  td_texture_free (self->texture);
  td_buffer_free (self->views);
  td_buffer_free (self->starts);
  g_free (self);
}

static const TdBackprojectorOps standard_ops = {
  .update = family_standard_update,
  .run = family_standard_run,
  .free = family_standard_free_projector,
};

static gboolean
family_standard_build (StandardProjector *self, TdDevice *device, const TdBackprojectTask *task,
                       GError **error)
{
  const char *defines[3] = { 0 };
  guint n = 0;

  if (self->textured)
    defines[n++] = "TEXTURED=1";
  if (task->interpolation == TD_INTERPOLATION_NEAREST)
    defines[n++] = "NEAREST=1";
  const guint64 n_views = task->n_views;
  const TdTextureSpec spec = { .texel = TD_TEXEL_R32F,
                               .width = task->n_columns,
                               .height = task->n_views,
                               .linear = task->interpolation == TD_INTERPOLATION_LINEAR };
  return (self->kernel = td_device_kernel (device, "backproject-standard", defines,
                                           "backproject_standard", error))
         && (self->views = td_buffer_new (device, 4 * n_views * sizeof (float), error))
         && (self->starts = td_buffer_new (device, 3 * n_views * sizeof (gint64), error))
         && (!self->textured || (self->texture = td_texture_new (device, &spec, error)));
}

static TdBackprojector *
family_standard_create (const TdBackprojectFamily *family, TdDevice *device,
                        const TdBackprojectTask *task, const TdBackprojectVariant *variant,
                        guint max_slices, GError **error)
{
  StandardProjector *self = td_backprojector_alloc (sizeof *self, &standard_ops, device, task);

  self->textured = use_texture (task, td_device_info (device), variant);
  self->base.description = g_strdup (self->textured ? "a thread a pixel, texture fetches"
                                                    : "a thread a pixel, loads and arithmetic");
  if (!family_standard_build (self, device, task, error)
      || !family_standard_update (&self->base, task, error)) {
    td_backprojector_free (&self->base);
    return NULL;
  }
  return &self->base;
}

static GPtrArray *
family_standard_candidates (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                            const TdDeviceInfo *device)
{
  GPtrArray *list = g_ptr_array_new_with_free_func ((GDestroyNotify) td_backproject_variant_free);

  if (use_texture (task, device, NULL))
    g_ptr_array_add (list, td_backproject_variant_new ("standard", 1, "TEXTURED=1"));
  g_ptr_array_add (list, td_backproject_variant_new ("standard", 1, ""));
  return list;
}

static guint64
family_standard_workspace_bytes (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                                 const TdDeviceInfo *device, guint max_slices)
{
  guint64 texture = use_texture (task, device, NULL)
                        ? (guint64) task->n_columns * task->n_views * sizeof (float)
                        : 0;
  return texture + task->n_views * (4 * sizeof (float) + 3 * sizeof (gint64));
}

const TdBackprojectFamily td_family_standard = {
  .name = "standard",
  .title = "Standard: a thread a pixel",
  .error_bound = family_standard_error_bound,
  .unsupported = family_standard_unsupported,
  .create = family_standard_create,
  .candidates = family_standard_candidates,
  .card_rank = 1,
  .cpu_rank = 1,
  .workspace_bytes = family_standard_workspace_bytes,
};
