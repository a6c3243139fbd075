/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "device-api.h"
#include "host.h"

/* The host's part of the contract, by file. A host queue works at once, in the calling thread and
   td_parallel_for's; so each operation has finished when it returns. */

gboolean td_host_program_build (TdDevice *device, const char *name, const char *source,
                                const char *const *defines, TdProgram **program, GError **error);
void td_host_program_free (TdProgram *program);
gboolean td_host_program_kernel (TdProgram *program, const char *name, TdKernel **kernel,
                                 GError **error);
void td_host_kernel_free (TdKernel *kernel);
gboolean td_host_kernel_info (TdKernel *kernel, TdKernelInfo *info, GError **error);
gboolean td_host_launch (TdQueue *queue, TdKernel *kernel, const guint groups[3],
                         const guint local[3], const TdArg *args, guint n_args, GError **error);

/* The FFT by itself: OpenCL on a CPU uses it too. execute blocks; one run of a TdHostFft may go
   beside another. */
typedef struct TdHostFft TdHostFft;
TdHostFft *td_host_fft_make (TdFftKind kind, const guint n[2], guint batch, GError **error);
void td_host_fft_execute (const TdHostFft *fft, void *data, gboolean inverse);
void td_host_fft_destroy (TdHostFft *fft);

gboolean td_host_fft_new (TdDevice *device, TdFftKind kind, const guint n[2], guint batch,
                          TdFft **fft, GError **error);
gboolean td_host_fft_run (TdQueue *queue, TdFft *fft, TdBuffer *data, guint64 offset,
                          gboolean inverse, GError **error);
void td_host_fft_free (TdFft *fft);
