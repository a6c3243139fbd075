/* SPDX-License-Identifier: GPL-3.0-or-later */
#define CL_TARGET_OPENCL_VERSION 120
#include "opencl-fft.h"

#include <clFFT.h>

typedef struct {
  clfftPlanHandle plan;
  cl_mem workspace; /* NULL: not needed */
} ClfftPlan;

/* clFFT guards its plans, but not its repository of kernels. It is set up while there are plans. */
static GMutex clfft_lock;
static guint clfft_users;

static cl_int
clfft_begin (void)
{
  clfftSetupData setup;
  cl_int status = clfft_users ? CL_SUCCESS : clfftInitSetupData (&setup);

  if (status == CL_SUCCESS && !clfft_users)
    status = clfftSetup (&setup);
  if (status == CL_SUCCESS)
    clfft_users++;
  return status;
}

static cl_int
clfft_bake (ClfftPlan *self, const TdOpenclFftTask *task)
{
  size_t lengths[2] = { task->n[0], task->n[1] };
  size_t workspace = 0;
  cl_command_queue queue = task->service;
  cl_int status = clfftCreateDefaultPlan (
      &self->plan, task->context, task->kind == TD_FFT_C2C_2D ? CLFFT_2D : CLFFT_1D, lengths);

  if (status != CL_SUCCESS)
    return status;
  status = clfftSetPlanPrecision (self->plan, CLFFT_SINGLE);
  if (status == CL_SUCCESS)
    status = clfftSetLayout (self->plan, CLFFT_COMPLEX_INTERLEAVED, CLFFT_COMPLEX_INTERLEAVED);
  if (status == CL_SUCCESS)
    status = clfftSetResultLocation (self->plan, CLFFT_INPLACE);
  if (status == CL_SUCCESS)
    status = clfftSetPlanBatchSize (self->plan, task->batch);
  if (status == CL_SUCCESS)
    status = clfftSetPlanScale (self->plan, CLFFT_BACKWARD, 1.0f);
  if (status == CL_SUCCESS)
    status = clfftBakePlan (self->plan, 1, &queue, NULL, NULL);
  if (status == CL_SUCCESS)
    status = clfftGetTmpBufSize (self->plan, &workspace);
  if (status == CL_SUCCESS && workspace)
    self->workspace = clCreateBuffer (task->context, CL_MEM_READ_WRITE, workspace, NULL, &status);
  return status == (cl_int) CLFFT_NOTIMPLEMENTED ? TD_OPENCL_FFT_NO_SIZE : status;
}

static void
clfft_free (gpointer fft)
{
  ClfftPlan *self = fft;

  g_mutex_lock (&clfft_lock);
  if (self->workspace)
    clReleaseMemObject (self->workspace);
  if (self->plan)
    clfftDestroyPlan (&self->plan);
  if (--clfft_users == 0)
    clfftTeardown ();
  g_mutex_unlock (&clfft_lock);
  g_free (self);
}

static cl_int
clfft_make (const TdOpenclFftTask *task, gpointer *fft)
{
  g_mutex_lock (&clfft_lock);
  cl_int status = clfft_begin ();
  if (status != CL_SUCCESS) {
    g_mutex_unlock (&clfft_lock);
    return status;
  }
  ClfftPlan *self = g_new0 (ClfftPlan, 1);
  status = clfft_bake (self, task);
  g_mutex_unlock (&clfft_lock);
  if (status == CL_SUCCESS)
    *fft = self;
  else
    clfft_free (self);
  return status;
}

static cl_int
clfft_run (gpointer fft, cl_command_queue queue, cl_mem data, gboolean inverse)
{
  ClfftPlan *self = fft;

  g_mutex_lock (&clfft_lock);
  cl_int status = clfftEnqueueTransform (self->plan, inverse ? CLFFT_BACKWARD : CLFFT_FORWARD, 1,
                                         &queue, 0, NULL, NULL, &data, NULL, self->workspace);
  g_mutex_unlock (&clfft_lock);
  return status;
}

const TdOpenclFftLibrary td_opencl_clfft = { "clfft", clfft_make, clfft_run, clfft_free };
