/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "fourier-shape.h"

/**
 * The Fourier method on devices with memory of their own: kernels/fourier.cl and the device's FFTs.
 * A few pairs of slices at a time, as many as the workspace has room for.
 */
typedef struct TdFourierDevice TdFourierDevice;

TdFourierDevice *td_fourier_device_new (TdDevice *device, const TdBackprojectTask *task,
                                        guint max_slices, GError **error);
void td_fourier_device_free (TdFourierDevice *self);
/* FALSE without @error: make a new one. */
gboolean td_fourier_device_update (TdFourierDevice *self, const TdBackprojectTask *task,
                                   GError **error);
/* As td_backprojector_run(); @timing: whose kernels are timed (td_backprojector_mark()). */
gboolean td_fourier_device_run (TdFourierDevice *self, TdQueue *queue, TdPlace sinograms,
                                TdPlace slices, guint n_slices, TdBackprojector *timing,
                                GError **error);
guint64 td_fourier_device_workspace_bytes (const TdFourierShape *shape, guint max_slices);
