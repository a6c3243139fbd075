/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "fourier-shape.h"

/* The back-projection families, family-*.c; backproject.c lists them. */
extern const TdBackprojectFamily td_family_alu;
extern const TdBackprojectFamily td_family_host;
extern const TdBackprojectFamily td_family_hybrid;
extern const TdBackprojectFamily td_family_oversampling;
extern const TdBackprojectFamily td_family_standard;
extern const TdBackprojectFamily td_family_texture;
/* By name of the method only: backproject.c does not list it. */
extern const TdBackprojectFamily td_family_fourier;

/* The "host" family where memory is not the host's; builds, allocates and uploads, blocks. */
TdBackprojector *td_tile_backproject_new (TdDevice *device, const TdBackprojectTask *task,
                                          guint max_slices, GError **error);
guint64 td_tile_backproject_workspace_bytes (const TdBackprojectTask *task,
                                             const TdDeviceInfo *device, guint max_slices);

/**
 * The Fourier method where the host's memory is the device's: FFTs by FFTW, windows by vector code.
 * Two slices at a time. Only half of the 2-D transform's intermediate plane is ever in memory. A
 * thread transforms the grid's rows where it made them, in its cache, and crops them.
 */
TdBackprojector *td_fourier_host_new (TdDevice *device, const TdBackprojectTask *task,
                                      GError **error);
guint64 td_fourier_host_workspace_bytes (const TdFourierShape *shape);
/* On other devices: kernels/fourier.cl and the device's FFTs. A few pairs of slices at a time, as
   many as the workspace has room for. */
TdBackprojector *td_fourier_device_new (TdDevice *device, const TdBackprojectTask *task,
                                        guint max_slices, GError **error);
guint64 td_fourier_device_workspace_bytes (const TdFourierShape *shape, guint max_slices);
