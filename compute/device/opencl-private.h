/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "device-api.h"

/* The OpenCL part of the device contract, by file. OpenCL 1.2 and the extensions a device names. */

typedef struct {
  TdDevice base;
  cl_platform_id platform;
  cl_device_id device;
  cl_context context;
  cl_command_queue service; /* for mapping, first touch and plans; the runtime locks it */
  GMutex pinned_lock;
  GHashTable *pinned; /* mapped address → cl_mem */
  guint64 sub_buffer_alignment;
  gboolean amd_free_memory;
  gboolean uses_clfft;
} TdOpenclDevice;

typedef struct {
  TdQueue base;
  TdOpenclDevice *device;
  cl_command_queue queue;
} TdOpenclQueue;

typedef struct {
  TdBuffer base;
  cl_mem memory;
} TdOpenclBuffer;

typedef struct {
  TdTexture base;
  cl_mem image;
} TdOpenclTexture;

/* TRUE: @status is success. @what: "upload"; the message says what it was and what to do. */
gboolean td_opencl_check (cl_int status, const char *what, GError **error);
gboolean td_opencl_has_extension (cl_device_id device, const char *name);
/* Where NVIDIA's compiler takes PTX: 90 for sm_90; else 0. */
guint td_opencl_nv_arch (cl_device_id device);

/* opencl-queue.c */
gboolean td_opencl_queue_new (TdDevice *device, TdQueue **queue, GError **error);
void td_opencl_queue_free (TdQueue *queue);
gboolean td_opencl_queue_finish (TdQueue *queue, GError **error);
gboolean td_opencl_upload (TdQueue *queue, TdBuffer *to, guint64 offset, const void *host,
                           guint64 bytes, GError **error);
gboolean td_opencl_download (TdQueue *queue, void *host, TdBuffer *from, guint64 offset,
                             guint64 bytes, GError **error);
gboolean td_opencl_copy (TdQueue *queue, TdBuffer *to, guint64 to_offset, TdBuffer *from,
                         guint64 from_offset, guint64 bytes, GError **error);
gboolean td_opencl_fill_zero (TdQueue *queue, TdBuffer *to, guint64 offset, guint64 bytes,
                              GError **error);
gboolean td_opencl_event_record (TdQueue *queue, TdEvent **event, GError **error);
gboolean td_opencl_event_wait (TdQueue *queue, TdEvent *event, GError **error);
gboolean td_opencl_event_sync (TdEvent *event, GError **error);
gboolean td_opencl_event_elapsed (TdEvent *from, TdEvent *to, double *seconds, GError **error);
void td_opencl_event_free (TdEvent *event);

/* opencl-program.c */
gboolean td_opencl_program_build (TdDevice *device, const char *name, const char *source,
                                  const char *const *defines, TdProgram **program, GError **error);
void td_opencl_program_free (TdProgram *program);
gboolean td_opencl_program_kernel (TdProgram *program, const char *name, TdKernel **kernel,
                                   GError **error);
void td_opencl_kernel_free (TdKernel *kernel);
gboolean td_opencl_kernel_info (TdKernel *kernel, TdKernelInfo *info, GError **error);
gboolean td_opencl_launch (TdQueue *queue, TdKernel *kernel, const guint groups[3],
                           const guint local[3], const TdArg *args, guint n_args, GError **error);

/* opencl-texture.c */
gboolean td_opencl_texture_new (TdDevice *device, const TdTextureSpec *spec, TdTexture **texture,
                                GError **error);
void td_opencl_texture_free (TdTexture *texture);
gboolean td_opencl_texture_write (TdQueue *queue, TdTexture *to, guint64 layer0, guint64 layers,
                                  TdBuffer *from, guint64 offset, GError **error);
/* Fills info's texture fields with what the device does right: drivers claim more. */
void td_opencl_texture_probe (TdOpenclDevice *device);

/* opencl-fft.c */
gboolean td_opencl_fft_new (TdDevice *device, TdFftKind kind, const guint n[2], guint batch,
                            TdFft **fft, GError **error);
gboolean td_opencl_fft_run (TdQueue *queue, TdFft *fft, TdBuffer *data, guint64 offset,
                            gboolean inverse, GError **error);
void td_opencl_fft_free (TdFft *fft);
void td_opencl_fft_close (TdOpenclDevice *device);
