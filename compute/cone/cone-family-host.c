/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cone-family-rows.h"

typedef struct {
  TdConeProjector base;
  TdConeTask task;
} Projector;

static const char *
unsupported (const TdConeTask *task, TdPrecision precision, const TdDeviceInfo *device)
{
  if (!device->host_pointers)
    return "it runs on the host only";
  if (precision != TD_PRECISION_SINGLE)
    return "the host computes in single precision only";
  return NULL;
}

static gboolean
create (const TdConeFamily *family, TdDevice *device, const TdConeTask *task,
        const TdConeLimits *limits, TdConeProjector **out, GError **error)
{
  Projector *self = g_new0 (Projector, 1);

  td_cone_task_copy (&self->task, task);
  *out = &self->base;
  return TRUE;
}

static gboolean
add (TdConeProjector *base, TdQueue *queue, TdBuffer *projections, guint row0, guint n_rows,
     const guint *views, guint n_views, TdBuffer *volume, guint slice0, guint n_slices,
     GCancellable *cancellable, GError **error)
{
  Projector *self = (Projector *) base;

  return td_queue_finish (queue, error)
         && td_cone_host_add (&self->task, td_buffer_map (projections), row0, n_rows, views, n_views,
                              td_buffer_map (volume), slice0, n_slices, cancellable, error);
}

static void
projector_free (TdConeProjector *base)
{
  Projector *self = (Projector *) base;

  td_cone_task_clear (&self->task);
  g_free (self);
}

static guint64
workspace_bytes (const TdConeTask *task, const TdConeLimits *limits, const TdDeviceInfo *device)
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
  .unsupported = unsupported,
  .create = create,
  .add = add,
  .free = projector_free,
  .workspace_bytes = workspace_bytes,
  .turned_views = turned_views,
};
