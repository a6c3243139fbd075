/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cuda-api.h"
#include "device.h"

/**
 * What the cuda-*.c files share. The device holds the card's primary context; every operation
 * pushes it for its own duration, so that any thread may call.
 */
typedef struct {
  TdDevice base;
  const TdCuDriver *cu;
  TdCuDevice card;
  TdCuContext context;
  GMutex pinned_lock;
  GHashTable *pinned; /* cuda-pinned.c: blocks that were mapped, by address */
} TdCudaDevice;

typedef struct {
  TdQueue base;
  TdCuStream stream;
} TdCudaQueue;

typedef struct {
  TdBuffer base;
  TdCuPointer pointer;
} TdCudaBuffer;

typedef struct {
  TdTexture base;
  TdCuArray array;
  TdCuTexture texture;
} TdCudaTexture;

static inline TdCudaDevice *
td_cuda_device (TdDevice *device)
{
  return (TdCudaDevice *) device;
}

/* FALSE with a classed @error that says what was being done ("copy to the device"). */
gboolean td_cuda_check (TdCudaDevice *device, TdCuResult result, const char *doing, GError **error);
gboolean td_cuda_enter (TdCudaDevice *device, GError **error);
void td_cuda_leave (TdCudaDevice *device);

/* The operations, by file. */
void *td_cuda_host_alloc (TdDevice *device, guint64 bytes);
void td_cuda_host_free (TdDevice *device, void *memory);
gboolean td_cuda_queue_new (TdDevice *device, TdQueue **queue, GError **error);
gboolean td_cuda_queue_new_urgent (TdDevice *device, TdQueue **queue, GError **error);
void td_cuda_queue_free (TdQueue *queue);
gboolean td_cuda_queue_finish (TdQueue *queue, GError **error);
gboolean td_cuda_upload (TdQueue *queue, TdBuffer *to, guint64 offset, const void *host,
                         guint64 bytes, GError **error);
gboolean td_cuda_download (TdQueue *queue, void *host, TdBuffer *from, guint64 offset,
                           guint64 bytes, GError **error);
gboolean td_cuda_copy (TdQueue *queue, TdBuffer *to, guint64 to_offset, TdBuffer *from,
                       guint64 from_offset, guint64 bytes, GError **error);
gboolean td_cuda_fill_zero (TdQueue *queue, TdBuffer *to, guint64 offset, guint64 bytes,
                            GError **error);
gboolean td_cuda_event_record (TdQueue *queue, TdEvent **event, GError **error);
gboolean td_cuda_event_wait (TdQueue *queue, TdEvent *event, GError **error);
gboolean td_cuda_event_sync (TdEvent *event, GError **error);
gboolean td_cuda_event_elapsed (TdEvent *from, TdEvent *to, double *seconds, GError **error);
void td_cuda_event_free (TdEvent *event);

gboolean td_cuda_texture_new (TdDevice *device, const TdTextureSpec *spec, TdTexture **texture,
                              GError **error);
void td_cuda_texture_free (TdTexture *texture);
gboolean td_cuda_texture_write (TdQueue *queue, TdTexture *to, guint64 layer0, guint64 layers,
                                TdBuffer *from, guint64 offset, GError **error);

gboolean td_cuda_program_build (TdDevice *device, const char *name, const char *source,
                                const char *const *defines, TdProgram **program, GError **error);
void td_cuda_program_free (TdProgram *program);
gboolean td_cuda_program_kernel (TdProgram *program, const char *name, TdKernel **kernel,
                                 GError **error);
void td_cuda_kernel_free (TdKernel *kernel);
gboolean td_cuda_kernel_info (TdKernel *kernel, TdKernelInfo *info, GError **error);
gboolean td_cuda_launch (TdQueue *queue, TdKernel *kernel, const guint groups[3],
                         const guint local[3], const TdArg *args, guint n_args, GError **error);

gboolean td_cuda_fft_new (TdDevice *device, TdFftKind kind, const guint n[2], guint batch,
                          TdFft **fft, GError **error);
gboolean td_cuda_fft_run (TdQueue *queue, TdFft *fft, TdBuffer *data, guint64 offset,
                          gboolean inverse, GError **error);
void td_cuda_fft_free (TdFft *fft);
