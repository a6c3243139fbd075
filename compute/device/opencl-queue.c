/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OpenCL: in-order queues, transfers, events. */
#include "opencl-private.h"

typedef struct {
  TdEvent base;
  cl_event event;
} OpenclEvent;

static cl_command_queue
opencl_queue_handle (TdQueue *queue)
{
  return ((TdOpenclQueue *) queue)->queue;
}

static cl_mem
opencl_queue_memory (TdBuffer *buffer)
{
  return ((TdOpenclBuffer *) buffer)->memory;
}

/* ── Queues ── */

gboolean
td_opencl_queue_new (TdDevice *device, TdQueue **queue, GError **error)
{
  TdOpenclDevice *opencl = (TdOpenclDevice *) device;
  cl_int status;
  cl_command_queue made
      = clCreateCommandQueue (opencl->context, opencl->device, CL_QUEUE_PROFILING_ENABLE, &status);

  if (!td_opencl_check (status, "queue", error))
    return FALSE;
  TdOpenclQueue *self = g_new0 (TdOpenclQueue, 1);
  self->device = opencl;
  self->queue = made;
  *queue = &self->base;
  return TRUE;
}

void
td_opencl_queue_free (TdQueue *queue)
{
  clFinish (opencl_queue_handle (queue));
  clReleaseCommandQueue (opencl_queue_handle (queue));
  g_free (queue);
}

/* What went wrong while the device worked: resources are then not short, the work itself died. */
static gboolean
check_finished (cl_int status, GError **error)
{
  if (status == CL_OUT_OF_RESOURCES) {
    td_set_error (error, TD_ERROR_DEVICE_LOST,
                  "work on the device was broken off (OpenCL error %d): a kernel ran too long or "
                  "accessed memory it does not have; use another device or restart",
                  status);
    return FALSE;
  }
  return td_opencl_check (status, "waiting for the device", error);
}

gboolean
td_opencl_queue_finish (TdQueue *queue, GError **error)
{
  cl_event marker;
  cl_int status = clEnqueueMarkerWithWaitList (opencl_queue_handle (queue), 0, NULL, &marker);

  /* clFinish() says nothing of commands that failed; an event behind them does. */
  if (status == CL_SUCCESS) {
    status = clWaitForEvents (1, &marker);
    clReleaseEvent (marker);
  }
  return check_finished (status, error);
}

/* ── Transfers ── */

/* Work starts now, not when somebody waits for it. */
static gboolean
opencl_queue_enqueued (TdQueue *queue, cl_int status, const char *what, GError **error)
{
  if (status == CL_SUCCESS)
    status = clFlush (opencl_queue_handle (queue));
  return td_opencl_check (status, what, error);
}

gboolean
td_opencl_upload (TdQueue *queue, TdBuffer *to, guint64 offset, const void *host, guint64 bytes,
                  GError **error)
{
  return opencl_queue_enqueued (queue,
                                clEnqueueWriteBuffer (opencl_queue_handle (queue),
                                                      opencl_queue_memory (to), CL_FALSE, offset,
                                                      bytes, host, 0, NULL, NULL),
                                "upload", error);
}

gboolean
td_opencl_download (TdQueue *queue, void *host, TdBuffer *from, guint64 offset, guint64 bytes,
                    GError **error)
{
  return opencl_queue_enqueued (queue,
                                clEnqueueReadBuffer (opencl_queue_handle (queue),
                                                     opencl_queue_memory (from), CL_FALSE, offset,
                                                     bytes, host, 0, NULL, NULL),
                                "download", error);
}

gboolean
td_opencl_copy (TdQueue *queue, TdBuffer *to, guint64 to_offset, TdBuffer *from,
                guint64 from_offset, guint64 bytes, GError **error)
{
  return opencl_queue_enqueued (
      queue,
      clEnqueueCopyBuffer (opencl_queue_handle (queue), opencl_queue_memory (from),
                           opencl_queue_memory (to), from_offset, to_offset, bytes, 0, NULL, NULL),
      "copy", error);
}

gboolean
td_opencl_fill_zero (TdQueue *queue, TdBuffer *to, guint64 offset, guint64 bytes, GError **error)
{
  static const cl_uint zero = 0;
  gsize pattern = offset % 4 || bytes % 4 ? 1 : 4;

  return opencl_queue_enqueued (queue,
                                clEnqueueFillBuffer (opencl_queue_handle (queue),
                                                     opencl_queue_memory (to), &zero, pattern,
                                                     offset, bytes, 0, NULL, NULL),
                                "fill", error);
}

/* ── Events ── */

gboolean
td_opencl_event_record (TdQueue *queue, TdEvent **event, GError **error)
{
  cl_event marker;

  if (!opencl_queue_enqueued (
          queue, clEnqueueMarkerWithWaitList (opencl_queue_handle (queue), 0, NULL, &marker),
          "event", error))
    return FALSE;
  OpenclEvent *self = g_new0 (OpenclEvent, 1);
  self->event = marker;
  *event = &self->base;
  return TRUE;
}

gboolean
td_opencl_event_wait (TdQueue *queue, TdEvent *event, GError **error)
{
  return opencl_queue_enqueued (queue,
                                clEnqueueBarrierWithWaitList (opencl_queue_handle (queue), 1,
                                                              &((OpenclEvent *) event)->event,
                                                              NULL),
                                "waiting for an event", error);
}

gboolean
td_opencl_event_sync (TdEvent *event, GError **error)
{
  return check_finished (clWaitForEvents (1, &((OpenclEvent *) event)->event), error);
}

gboolean
td_opencl_event_elapsed (TdEvent *from, TdEvent *to, double *seconds, GError **error)
{
  cl_event events[2] = { ((OpenclEvent *) from)->event, ((OpenclEvent *) to)->event };
  cl_ulong times[2];
  cl_int status = clWaitForEvents (2, events);

  for (guint i = 0; i < 2 && status == CL_SUCCESS; i++)
    status = clGetEventProfilingInfo (events[i], CL_PROFILING_COMMAND_END, sizeof times[i],
                                      &times[i], NULL);
  if (!check_finished (status, error))
    return FALSE;
  *seconds = 1e-9 * ((double) times[1] - (double) times[0]);
  return TRUE;
}

void
td_opencl_event_free (TdEvent *event)
{
  clReleaseEvent (((OpenclEvent *) event)->event);
  g_free (event);
}
