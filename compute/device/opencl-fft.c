/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OpenCL: FFTs by clFFT, in place, complex interleaved. On a CPU by FFTW instead, called from the
   queue as a native kernel: clFFT's kernels are shaped for GPUs and take 2 to 5 times as long
   there, and seconds to build. TOMODESK_CLFFT=1 takes clFFT everywhere: tests try both. */
#include "host-private.h"
#include "opencl-private.h"

#include <clFFT.h>

typedef struct {
  TdFft base;
  TdOpenclDevice *device;
  TdHostFft *host; /* NULL: by clFFT */
  clfftPlanHandle plan;
  cl_mem workspace; /* NULL: not needed. One run at a time, as a TdFft's queue has it */
  guint64 bytes;
} OpenclFft;

/* clFFT guards its plans, but not its repository of kernels. It is set up while any device that
   used it is open. */
static GMutex clfft_lock;
static guint clfft_users;

static gboolean
set_up (TdOpenclDevice *device, GError **error)
{
  clfftSetupData setup;

  if (device->uses_clfft)
    return TRUE;
  cl_int status = clfftInitSetupData (&setup);
  if (status == CL_SUCCESS && clfft_users == 0)
    status = clfftSetup (&setup);
  if (!td_opencl_check (status, "clFFT", error))
    return FALSE;
  device->uses_clfft = TRUE;
  clfft_users++;
  return TRUE;
}

void
td_opencl_fft_close (TdOpenclDevice *device)
{
  g_mutex_lock (&clfft_lock);
  if (device->uses_clfft && --clfft_users == 0)
    clfftTeardown ();
  g_mutex_unlock (&clfft_lock);
}

static cl_int
opencl_fft_make_plan (OpenclFft *self, TdFftKind kind, const guint n[2], guint batch)
{
  size_t lengths[2] = { n[0], n[1] };
  size_t workspace = 0;
  clfftDim dimension = kind == TD_FFT_C2C_2D ? CLFFT_2D : CLFFT_1D;
  cl_int status = clfftCreateDefaultPlan (&self->plan, self->device->context, dimension, lengths);

  if (status != CL_SUCCESS)
    return status;
  status = clfftSetPlanPrecision (self->plan, CLFFT_SINGLE);
  if (status == CL_SUCCESS)
    status = clfftSetLayout (self->plan, CLFFT_COMPLEX_INTERLEAVED, CLFFT_COMPLEX_INTERLEAVED);
  if (status == CL_SUCCESS)
    status = clfftSetResultLocation (self->plan, CLFFT_INPLACE);
  if (status == CL_SUCCESS)
    status = clfftSetPlanBatchSize (self->plan, batch);
  if (status == CL_SUCCESS)
    status = clfftSetPlanScale (self->plan, CLFFT_BACKWARD, 1.0f);
  if (status == CL_SUCCESS)
    status = clfftBakePlan (self->plan, 1, &self->device->service, NULL, NULL);
  if (status == CL_SUCCESS)
    status = clfftGetTmpBufSize (self->plan, &workspace);
  if (status == CL_SUCCESS && workspace)
    self->workspace
        = clCreateBuffer (self->device->context, CL_MEM_READ_WRITE, workspace, NULL, &status);
  return status;
}

static gboolean
make_clfft (OpenclFft *self, TdFftKind kind, const guint n[2], guint batch, GError **error)
{
  g_mutex_lock (&clfft_lock);
  gboolean fine = set_up (self->device, error);
  if (fine) {
    cl_int status = opencl_fft_make_plan (self, kind, n, batch);
    fine = status == CL_SUCCESS;
    if (status == (cl_int) CLFFT_NOTIMPLEMENTED)
      td_set_error (error, TD_ERROR_UNSUPPORTED,
                    "clFFT has no transform of size %u × %u; sizes of factors 2, 3 and 5 work",
                    n[0], kind == TD_FFT_C2C_2D ? n[1] : 1);
    else
      td_opencl_check (status, "FFT plan", error);
  }
  g_mutex_unlock (&clfft_lock);
  return fine;
}

static gboolean
wants_host (TdOpenclDevice *device)
{
  cl_device_exec_capabilities can = 0;

  clGetDeviceInfo (device->device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof can, &can, NULL);
  return device->base.info.kind == TD_DEVICE_CPU && can & CL_EXEC_NATIVE_KERNEL
         && g_strcmp0 (g_getenv ("TOMODESK_CLFFT"), "1") != 0;
}

static void
opencl_fft_release (OpenclFft *self)
{
  td_host_fft_destroy (self->host);
  g_mutex_lock (&clfft_lock);
  if (self->workspace)
    clReleaseMemObject (self->workspace);
  if (self->plan)
    clfftDestroyPlan (&self->plan);
  g_mutex_unlock (&clfft_lock);
  g_free (self);
}

gboolean
td_opencl_fft_new (TdDevice *device, TdFftKind kind, const guint n[2], guint batch, TdFft **fft,
                   GError **error)
{
  OpenclFft *self = g_new0 (OpenclFft, 1);

  self->device = (TdOpenclDevice *) device;
  self->bytes = (guint64) n[0] * (kind == TD_FFT_C2C_2D ? n[1] : 1) * batch * 2 * sizeof (float);
  gboolean fine = wants_host (self->device)
                      ? (self->host = td_host_fft_make (kind, n, batch, error)) != NULL
                      : make_clfft (self, kind, n, batch, error);
  if (fine)
    *fft = &self->base;
  else
    opencl_fft_release (self);
  return fine;
}

void
td_opencl_fft_free (TdFft *fft)
{
  opencl_fft_release ((OpenclFft *) fft);
}

/* ── Running ── */

/* The runtime copies it and puts the buffer's address into @data. */
typedef struct {
  const TdHostFft *fft;
  guint8 *data;
  guint64 offset;
  gboolean inverse;
} NativeRun;

static void CL_CALLBACK
run_native (void *data)
{
  NativeRun *run = data;

  td_host_fft_execute (run->fft, run->data + run->offset, run->inverse);
}

static cl_int
run_host (OpenclFft *self, cl_command_queue to, cl_mem data, guint64 offset, gboolean inverse)
{
  NativeRun run = { self->host, NULL, offset, inverse };
  const void *place = &run.data;

  return clEnqueueNativeKernel (to, run_native, &run, sizeof run, 1, &data, &place, 0, NULL, NULL);
}

/* clFFT takes whole buffers only: the part at @offset as a sub-buffer, or a copy where the device
   cannot have one there. The runtime keeps either alive until the queue passed it. */
static cl_mem
part_of (OpenclFft *self, cl_mem whole, guint64 offset, gboolean *copied, cl_int *status)
{
  cl_buffer_region region = { offset, self->bytes };

  *copied = offset % self->device->sub_buffer_alignment != 0;
  if (*copied)
    return clCreateBuffer (self->device->context, CL_MEM_READ_WRITE, self->bytes, NULL, status);
  return clCreateSubBuffer (whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region,
                            status);
}

static cl_int
run_clfft (OpenclFft *self, cl_command_queue to, cl_mem whole, guint64 offset, gboolean inverse)
{
  gboolean copied;
  cl_int status;
  cl_mem part = part_of (self, whole, offset, &copied, &status);

  if (status != CL_SUCCESS)
    return status;
  if (copied)
    status = clEnqueueCopyBuffer (to, whole, part, offset, 0, self->bytes, 0, NULL, NULL);
  if (status == CL_SUCCESS) {
    g_mutex_lock (&clfft_lock);
    status = clfftEnqueueTransform (self->plan, inverse ? CLFFT_BACKWARD : CLFFT_FORWARD, 1, &to, 0,
                                    NULL, NULL, &part, NULL, self->workspace);
    g_mutex_unlock (&clfft_lock);
  }
  if (status == CL_SUCCESS && copied)
    status = clEnqueueCopyBuffer (to, part, whole, 0, offset, self->bytes, 0, NULL, NULL);
  clReleaseMemObject (part);
  return status;
}

gboolean
td_opencl_fft_run (TdQueue *queue, TdFft *fft, TdBuffer *data, guint64 offset, gboolean inverse,
                   GError **error)
{
  OpenclFft *self = (OpenclFft *) fft;
  cl_command_queue to = ((TdOpenclQueue *) queue)->queue;
  cl_mem memory = ((TdOpenclBuffer *) data)->memory;
  cl_int status = self->host ? run_host (self, to, memory, offset, inverse)
                             : run_clfft (self, to, memory, offset, inverse);

  if (status == CL_SUCCESS)
    status = clFlush (to);
  return td_opencl_check (status, "FFT", error);
}
