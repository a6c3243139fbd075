/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "families.h"
#include "fourier-device.h"
#include "fourier-host.h"
#include "fourier-shape.h"

#include <math.h>

/**
 * The "fourier" family: gridding in the frequency domain (fourier-shape.h), the work of a slice
 * growing with N² log N. It is not in the table that "auto" and --kernel choose from, for it is a
 * method of its own
 * (--method fourier) with a truth of its own.
 */
typedef struct {
  TdBackprojector base;
  TdFourierHost *host; /* one of the two */
  TdFourierDevice *device;
} FourierProjector;

static const char *
family_fourier_unsupported (const TdBackprojectTask *task, const TdDeviceInfo *device)
{
  if (task->step != 1)
    return "pixels must be as wide as the detector's";
  if (!td_fourier_padded (task))
    return "the rotation axis or the region is too far from the detector";
  return NULL;
}

/**
 * Relative L2 error for random (white) sinograms. Aliases of the grid: td_fourier_alias_error(),
 * which takes all of them for uncorrelated; twice that for those that are not. Sums, FFTs and
 * phases in single: about a hundred roundings at random signs.
 */
static double
family_fourier_error_bound (const TdBackprojectTask *task, const TdDeviceInfo *device)
{
  TdFourierShape shape;

  td_fourier_shape_init (&shape, task);
  return 2 * td_fourier_alias_error (&shape) + 3e-6;
}

static gboolean
family_fourier_update (TdBackprojector *projector, const TdBackprojectTask *task, GError **error)
{
  FourierProjector *self = (FourierProjector *) projector;

  return self->host ? td_fourier_host_update (self->host, task)
                    : td_fourier_device_update (self->device, task, error);
}

static gboolean
family_fourier_run (TdBackprojector *projector, TdQueue *queue, TdPlace sinograms, TdPlace slices,
                    guint n_slices, GError **error)
{
  FourierProjector *self = (FourierProjector *) projector;

  if (self->device)
    return td_fourier_device_run (self->device, queue, sinograms, slices, n_slices, projector,
                                  error);
  if (!td_queue_finish (queue, error))
    return FALSE;
  const char *from = td_buffer_map (sinograms.buffer);
  char *to = td_buffer_map (slices.buffer);
  return td_fourier_host_run (self->host, (const float *) (from + sinograms.offset),
                              (float *) (to + slices.offset), n_slices, projector->cancellable,
                              error);
}

static void
family_fourier_free_projector (TdBackprojector *projector)
{
  FourierProjector *self = (FourierProjector *) projector;

  td_fourier_host_free (self->host);
  td_fourier_device_free (self->device);
  g_free (self);
}

static TdBackprojector *
family_fourier_create (const TdBackprojectFamily *family, TdDevice *device,
                       const TdBackprojectTask *task, const TdBackprojectVariant *variant,
                       guint max_slices, GError **error)
{
  FourierProjector *self = g_new0 (FourierProjector, 1);
  TdFourierShape shape;

  td_fourier_shape_init (&shape, task);
  if (td_device_info (device)->host_pointers)
    self->host = td_fourier_host_new (task, error);
  else
    self->device = td_fourier_device_new (device, task, max_slices, error);
  if (!self->host && !self->device) {
    g_free (self);
    return NULL;
  }
  self->base.description = g_strdup_printf ("Fourier, grid of %u × %u, windows of %u", shape.gx,
                                            shape.gy, shape.width);
  return &self->base;
}

static guint64
family_fourier_workspace_bytes (const TdBackprojectTask *task, const TdDeviceInfo *device,
                                guint max_slices)
{
  TdFourierShape shape;

  td_fourier_shape_init (&shape, task);
  return device->host_pointers ? td_fourier_host_workspace_bytes (&shape)
                               : td_fourier_device_workspace_bytes (&shape, max_slices);
}

const TdBackprojectFamily td_family_fourier = {
  .name = "fourier",
  .title = "Fourier: gridding in the frequency domain",
  .error_bound = family_fourier_error_bound,
  .unsupported = family_fourier_unsupported,
  .create = family_fourier_create,
  .update = family_fourier_update,
  .run = family_fourier_run,
  .free = family_fourier_free_projector,
  .workspace_bytes = family_fourier_workspace_bytes,
  .reference = td_fourier_reference,
};
