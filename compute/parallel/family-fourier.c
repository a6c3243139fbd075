/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "families.h"
#include "fourier-shape.h"

/**
 * The "fourier" family: gridding in the frequency domain (fourier-shape.h), the work of a slice
 * growing with N² log N. It is a method of its own (--method fourier) with a reference of its own.
 * So it is not in the table that "auto" and --kernel choose from.
 */
static const char *
family_fourier_unsupported (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                            const TdDeviceInfo *device)
{
  if (task->step != 1)
    return N_ ("pixels must be as wide as the detector's");
  if (!td_fourier_padded (task))
    return N_ ("the rotation axis or the region is too far from the detector");
  return NULL;
}

/**
 * Relative L2 error. Aliases of the grid: td_fourier_alias_error(), which takes all of them for
 * uncorrelated; twice that for those that are not. A sample has as much of them at each frequency,
 * so that filtered rows have what white noise has. Sums, FFTs and phases in single: about a hundred
 * roundings at random signs.
 */
static double
family_fourier_error_bound (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                            const TdDeviceInfo *device)
{
  TdFourierShape shape;

  td_fourier_shape_init (&shape, task);
  return 2 * td_fourier_alias_error (&shape) + 3e-6;
}

static TdBackprojector *
family_fourier_create (const TdBackprojectFamily *family, TdDevice *device,
                       const TdBackprojectTask *task, const TdBackprojectVariant *variant,
                       guint max_slices, GError **error)
{
  TdBackprojector *projector = td_device_info (device)->host_pointers
                                   ? td_fourier_host_new (device, task, error)
                                   : td_fourier_device_new (device, task, max_slices, error);
  TdFourierShape shape;

  td_fourier_shape_init (&shape, task);
  if (projector)
    projector->description = g_strdup_printf ("Fourier, grid of %u × %u, windows of %u", shape.gx,
                                              shape.gy, shape.width);
  return projector;
}

static guint64
family_fourier_workspace_bytes (const TdBackprojectFamily *family, const TdBackprojectTask *task,
                                const TdDeviceInfo *device, guint max_slices)
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
  .workspace_bytes = family_fourier_workspace_bytes,
  .reference = td_fourier_reference,
};
