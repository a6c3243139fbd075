/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <CL/cl.h>
#include "device.h"

/**
 * What opencl.c asks of a library of FFTs: complex interleaved, single precision, in place,
 * unnormalised. Each is a file of its own, and there where the build found the library. Functions
 * return an OpenCL status.
 */
#define TD_OPENCL_FFT_NO_SIZE (-20000) /* make: the library has no transform of that size */

typedef struct {
  cl_device_id device;
  cl_context context;
  cl_command_queue service; /* for making plans */
  TdFftKind kind;
  guint n[2];
  guint batch;
  guint64 bytes; /* of the data */
} TdOpenclFftTask;

typedef struct {
  const char *name;
  /* Any thread; takes seconds where the driver compiles slowly. *fft: only if it returns
     CL_SUCCESS. */
  cl_int (*make) (const TdOpenclFftTask *task, gpointer *fft);
  /* Enqueues; one thread at a time for each FFT. */
  cl_int (*run) (gpointer fft, cl_command_queue queue, cl_mem data, gboolean inverse);
  void (*free) (gpointer fft);
} TdOpenclFftLibrary;

extern const TdOpenclFftLibrary td_opencl_vkfft, td_opencl_clfft;
