/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone-family-rows.h"

typedef struct {
  TdConeProjector base;
  TdConeTask task;
} Projector;

static const char *
cone_family_host_unsupported (const TdConeTask *task, TdPrecision precision,
                              const TdDeviceInfo *device)
{
  if (!device->host_pointers)
    return "it runs on the host only";
  if (precision != TD_PRECISION_SINGLE)
    return "the host computes in single precision only";
  return NULL;
}

static gboolean
cone_family_host_create (const TdConeFamily *family, TdDevice *device, const TdConeTask *task,
                         const TdConeLimits *limits, TdConeProjector **out, GError **error)
{
  Projector *self = g_new0 (Projector, 1);

  td_cone_task_copy (&self->task, task);
  *out = &self->base;
  return TRUE;
}

static gboolean
cone_family_host_add (TdConeProjector *base, TdQueue *queue, TdBuffer *projections, guint row0,
                      guint n_rows, const guint *views, guint n_views, TdBuffer *volume,
                      guint slice0, guint n_slices, GCancellable *cancellable, GError **error)
{
  Projector *self = (Projector *) base;

  return td_queue_finish (queue, error)
         && td_cone_host_add (&self->task, td_buffer_map (projections), row0, n_rows, views,
                              n_views, td_buffer_map (volume), slice0, n_slices, cancellable,
                              error);
}

static void
cone_family_host_projector_free (TdConeProjector *base)
{
  Projector *self = (Projector *) base;

  td_cone_task_clear (&self->task);
  g_free (self);
}

static guint64
cone_family_host_workspace_bytes (const TdConeTask *task, const TdConeLimits *limits,
                                  const TdDeviceInfo *device)
{
  return td_cone_host_workspace_bytes (task, limits->max_rows, limits->max_slices);
}

static guint
turned_views (const TdConeTask *task, TdPrecision precision)
{
  return 1;
}

const TdConeFamily td_cone_family_host = {
  .name = "host",
  .title = "CPU vectors along z",
  .unsupported = cone_family_host_unsupported,
  .create = cone_family_host_create,
  .add = cone_family_host_add,
  .free = cone_family_host_projector_free,
  .workspace_bytes = cone_family_host_workspace_bytes,
  .turned_views = turned_views,
};
