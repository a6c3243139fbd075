/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "fourier-shape.h"

/**
 * The Fourier method where the host's memory is the device's: FFTs by FFTW, windows by vector code.
 * Two slices at a time; only half of the 2-D transform's intermediate plane is ever in memory, for
 * the grid's rows are transformed where they were made, in the cache, and cropped.
 */
typedef struct TdFourierHost TdFourierHost;

TdFourierHost *td_fourier_host_new (const TdBackprojectTask *task, GError **error);
void td_fourier_host_free (TdFourierHost *host);
/* FALSE: make a new one. */
gboolean td_fourier_host_update (TdFourierHost *host, const TdBackprojectTask *task);
/* As td_backprojector_run(). Blocks. */
gboolean td_fourier_host_run (TdFourierHost *host, const float *sinograms, float *slices,
                              guint n_slices, GCancellable *cancellable, GError **error);
guint64 td_fourier_host_workspace_bytes (const TdFourierShape *shape);
