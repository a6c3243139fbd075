/* SPDX-License-Identifier: GPL-3.0-or-later */
/* VkFFT is a header that writes kernels for each plan. Optimising its two megabytes takes a minute
   and saves nothing, so meson.build compiles this file without. */
#define CL_TARGET_OPENCL_VERSION 120
#include "opencl-fft.h"

#include <locale.h>
#include <stdio.h>

/* The driver's status, which VkFFT does not pass on. */
static _Thread_local cl_int vkfft_status;

static inline char *
vkfft_keep_locale (int category, const char *name)
{
  return NULL;
}

/* What the header calls is replaced. It prints to standard output, where results go. Its
   release 1.2 turns the locale of all threads, and back by a pointer that is freed by then;
   vkfft_make() does it for both. */
#define clEnqueueNDRangeKernel(...) (vkfft_status = clEnqueueNDRangeKernel (__VA_ARGS__))
#define printf(...) g_debug (__VA_ARGS__)
#define setlocale vkfft_keep_locale
#define VKFFT_BACKEND 3 /* OpenCL */
#include <vkFFT.h>

typedef struct {
  TdOpenclFftTask task; /* the application points into it */
  VkFFTApplication application;
} VkfftPlan;

static cl_int
vkfft_to_status (VkFFTResult result)
{
  switch (result) {
  case VKFFT_SUCCESS: return CL_SUCCESS;
  case VKFFT_ERROR_MALLOC_FAILED: return CL_OUT_OF_HOST_MEMORY;
  case VKFFT_ERROR_FAILED_TO_ALLOCATE:
  case VKFFT_ERROR_FAILED_TO_CREATE_BUFFER:
  case VKFFT_ERROR_FAILED_TO_ALLOCATE_MEMORY: return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  case VKFFT_ERROR_FAILED_TO_CREATE_PROGRAM:
  case VKFFT_ERROR_FAILED_TO_COMPILE_PROGRAM: return CL_BUILD_PROGRAM_FAILURE;
  case VKFFT_ERROR_UNSUPPORTED_RADIX:
  case VKFFT_ERROR_UNSUPPORTED_FFT_LENGTH: return TD_OPENCL_FFT_NO_SIZE;
  default:
    g_debug ("VkFFT: error %d", result);
    return vkfft_status != CL_SUCCESS ? vkfft_status : CL_INVALID_OPERATION;
  }
}

static cl_int
vkfft_make (const TdOpenclFftTask *task, gpointer *fft)
{
  VkfftPlan *self = g_new0 (VkfftPlan, 1);
  /* Numbers go into the kernels by sprintf(). */
  locale_t plain = newlocale (LC_ALL_MASK, "C", (locale_t) 0), before = uselocale (plain);

  self->task = *task;
  vkfft_status = CL_SUCCESS;
  cl_int status = vkfft_to_status (initializeVkFFT (
      &self->application, (VkFFTConfiguration) {
                              .FFTdim = task->kind == TD_FFT_C2C_2D ? 2 : 1,
                              .size = { task->n[0], task->kind == TD_FFT_C2C_2D ? task->n[1] : 1 },
                              .numberBatches = task->batch,
                              .device = &self->task.device,
                              .context = &self->task.context,
                              .bufferSize = &self->task.bytes,
                              /* Native sines of cards are not exact enough. */
                              .useLUT = 1,
                          }));
  uselocale (before);
  freelocale (plain);
  if (status == CL_SUCCESS)
    *fft = self;
  else
    g_free (self); /* VkFFT has freed what is in it */
  return status;
}

static cl_int
vkfft_run (gpointer fft, cl_command_queue queue, cl_mem data, gboolean inverse)
{
  VkfftPlan *self = fft;
  VkFFTLaunchParams launch = { .commandQueue = &queue, .buffer = &data };

  vkfft_status = CL_SUCCESS;
  return vkfft_to_status (VkFFTAppend (&self->application, inverse ? 1 : -1, &launch));
}

static void
vkfft_free (gpointer fft)
{
  deleteVkFFT (&((VkfftPlan *) fft)->application);
  g_free (fft);
}

const TdOpenclFftLibrary td_opencl_vkfft = { "vkfft", vkfft_make, vkfft_run, vkfft_free };
