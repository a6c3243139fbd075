/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "families.h"
#include "host-backproject.h"
#include "tile-backproject.h"

#include <math.h>

/**
 * The "host" family: CPUs (§6.10 of the review taken further: slices interleaved so that each bin
 * is one vector load, tiles that fit the caches, sums in registers). On a device whose memory is
 * the host's it runs the hand-shaped vector code of host-backproject.c, on other CPU-shaped devices
 * (OpenCL) the kernel written to the same plan.
 */
typedef struct {
  TdBackprojector base;
  TdHostBackproject *host; /* one of the two */
  TdTileBackproject *tiles;
} HostProjector;

static const char *
family_host_unsupported (const TdBackprojectTask *task, const TdDeviceInfo *device)
{
  if (!device->host_pointers && !device->cpu_shaped)
    return "it is made for CPUs";
  if (task->n_columns > 1u << 20)
    return "it takes at most 2^20 detector columns";
  return NULL;
}

/**
 * Relative L2 error for random (white) sinograms.
 *
 * Linear: within a subtile u < 32 in single, so each u is off by up to 2^-20 (half a unit in the
 * last place of numbers up to 32, twice: start and product), about 3e-7 rms; times the slope, sqrt
 * (2) of a bin's own size against the interpolated sqrt (2/3): 6e-7. The table p - i d of the
 * single-slice path rounds numbers up to 32 times a bin's size, another 1e-6. Sums of n views in
 * single: each addition rounds half a unit of a sum that grows as sqrt (n): 2^-25 sqrt (n) or so.
 *
 * Nearest: the value itself is exact, but a u within about 2^-20 of a tie may take the neighbour,
 * as right an answer for data known to a pixel, and off by sqrt (2). n such among all updates: the
 * error is sqrt (2 n / updates), where n is at most the expected share, 2e-6, five deviations and a
 * few.
 *
 * Coarse steps make the subtile's u, and so its rounding, larger.
 */
static double
family_host_error_bound (const TdBackprojectTask *task, const TdDeviceInfo *device)
{
  double sums = sqrt (task->n_views) * 0x1p-25, coarse = MAX (task->step, 1);
  double updates = (double) task->n_views * task->nx * task->ny, wrong = 2e-6 * coarse * updates;

  return task->interpolation == TD_INTERPOLATION_NEAREST
             ? sqrt (2 * (wrong + 5 * sqrt (wrong) + 5) / updates) + sums
             : 5e-6 * coarse + sums;
}

static guint
family_host_preference (const TdBackprojectTask *task, const TdDeviceInfo *device, guint n_slices)
{
  return 1000;
}

static gboolean
family_host_update (TdBackprojector *projector, const TdBackprojectTask *task, GError **error)
{
  HostProjector *self = (HostProjector *) projector;

  return self->host ? td_host_backproject_update (self->host, task)
                    : td_tile_backproject_update (self->tiles, task, error);
}

static gboolean
family_host_run (TdBackprojector *projector, TdQueue *queue, TdPlace sinograms, TdPlace slices,
                 guint n_slices, GError **error)
{
  HostProjector *self = (HostProjector *) projector;

  if (self->tiles)
    return td_tile_backproject_run (self->tiles, queue, sinograms, slices, n_slices,
                                    projector->cancellable, error);
  if (!td_queue_finish (queue, error))
    return FALSE;
  const char *from = td_buffer_map (sinograms.buffer);
  char *to = td_buffer_map (slices.buffer);
  return td_host_backproject_run (self->host, (const float *) (from + sinograms.offset),
                                  (float *) (to + slices.offset), n_slices, projector->cancellable,
                                  error);
}

static void
family_host_free_projector (TdBackprojector *projector)
{
  HostProjector *self = (HostProjector *) projector;

  td_host_backproject_free (self->host);
  td_tile_backproject_free (self->tiles);
  g_free (self);
}

static TdBackprojector *
family_host_create (const TdBackprojectFamily *family, TdDevice *device,
                    const TdBackprojectTask *task, const TdBackprojectVariant *variant,
                    guint max_slices, GError **error)
{
  HostProjector *self = g_new0 (HostProjector, 1);
  const char *description;

  if (td_device_info (device)->host_pointers) {
    self->host = td_host_backproject_new (task, max_slices, error);
    description = td_host_backproject_description (max_slices);
  } else {
    self->tiles = td_tile_backproject_new (device, task, max_slices, error);
    description = td_tile_backproject_description (max_slices);
  }
  if (!self->host && !self->tiles) {
    g_free (self);
    return NULL;
  }
  self->base.description = g_strdup (description);
  return &self->base;
}

static guint64
family_host_workspace_bytes (const TdBackprojectTask *task, const TdDeviceInfo *device,
                             guint max_slices)
{
  return device->host_pointers ? td_host_backproject_workspace_bytes (task, max_slices)
                               : td_tile_backproject_workspace_bytes (task, device, max_slices);
}

const TdBackprojectFamily td_family_host = {
  .name = "host",
  .title = "CPU: slices side by side in vectors",
  .single_only = TRUE,
  .error_bound = family_host_error_bound,
  .unsupported = family_host_unsupported,
  .create = family_host_create,
  .update = family_host_update,
  .run = family_host_run,
  .free = family_host_free_projector,
  .preference = family_host_preference,
  .workspace_bytes = family_host_workspace_bytes,
};
