/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OpenCL: FFTs by clFFT, in place, complex interleaved. */
#include "compute/device/opencl-private.h"

#include <clFFT.h>

typedef struct {
  TdFft base;
  TdOpenclDevice *device;
  clfftPlanHandle plan;
  cl_mem workspace; /* NULL: not needed. One run at a time, as a TdFft's queue has it */
  guint64 bytes;
} OpenclFft;

/* clFFT guards its plans, but not its repository of kernels. It is set up while any device that used
   it is open. */
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
make_plan (OpenclFft *self, TdFftKind kind, const guint n[2], guint batch)
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
    self->workspace = clCreateBuffer (self->device->context, CL_MEM_READ_WRITE, workspace, NULL,
                                      &status);
  return status;
}

static void
release (OpenclFft *self)
{
  if (self->workspace)
    clReleaseMemObject (self->workspace);
  if (self->plan)
    clfftDestroyPlan (&self->plan);
  g_free (self);
}

gboolean
td_opencl_fft_new (TdDevice *device, TdFftKind kind, const guint n[2], guint batch, TdFft **fft,
                   GError **error)
{
  OpenclFft *self = g_new0 (OpenclFft, 1);
  cl_int status = CL_SUCCESS;

  self->device = (TdOpenclDevice *) device;
  self->bytes = (guint64) n[0] * (kind == TD_FFT_C2C_2D ? n[1] : 1) * batch * 2 * sizeof (float);
  g_mutex_lock (&clfft_lock);
  gboolean fine = set_up (self->device, error);
  if (fine) {
    status = make_plan (self, kind, n, batch);
    fine = status == CL_SUCCESS;
    if (status == (cl_int) CLFFT_NOTIMPLEMENTED)
      g_set_error (error, TD_ERROR, TD_ERROR_UNSUPPORTED,
                   "clFFT has no transform of size %u × %u; sizes of factors 2, 3 and 5 work", n[0],
                   kind == TD_FFT_C2C_2D ? n[1] : 1);
    else
      td_opencl_check (status, "FFT plan", error);
  }
  if (!fine)
    release (self);
  g_mutex_unlock (&clfft_lock);
  if (fine)
    *fft = &self->base;
  return fine;
}

void
td_opencl_fft_free (TdFft *fft)
{
  g_mutex_lock (&clfft_lock);
  release ((OpenclFft *) fft);
  g_mutex_unlock (&clfft_lock);
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
  return clCreateSubBuffer (whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, status);
}

gboolean
td_opencl_fft_run (TdQueue *queue, TdFft *fft, TdBuffer *data, guint64 offset, gboolean inverse,
                   GError **error)
{
  OpenclFft *self = (OpenclFft *) fft;
  cl_command_queue to = ((TdOpenclQueue *) queue)->queue;
  cl_mem whole = ((TdOpenclBuffer *) data)->memory;
  gboolean copied;
  cl_int status;
  cl_mem part = part_of (self, whole, offset, &copied, &status);

  if (!td_opencl_check (status, "FFT", error))
    return FALSE;
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
  if (status == CL_SUCCESS)
    status = clFlush (to);
  clReleaseMemObject (part);
  return td_opencl_check (status, "FFT", error);
}
