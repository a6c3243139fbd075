/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cuda-private.h"

typedef struct {
  TdEvent base;
  TdCuEvent event;
} CudaEvent;

static TdCuStream
stream_of (TdQueue *queue)
{
  return ((TdCudaQueue *) queue)->stream;
}

static TdCuPointer
cuda_queue_address (TdBuffer *buffer, guint64 offset)
{
  return ((TdCudaBuffer *) buffer)->pointer + offset;
}

/* ── Queues ── */

/* Smaller numbers go first; the driver takes the nearest that it has. */
#define URGENT -100

static gboolean
cuda_queue_new_queue (TdDevice *base, int priority, TdQueue **out, GError **error)
{
  TdCudaDevice *device = td_cuda_device (base);
  TdCuStream stream = NULL;
  TdCudaQueue *queue;
  gboolean ok;

  if (!td_cuda_enter (device, error))
    return FALSE;
  /* Non-blocking: the legacy default stream of other code in the process does not serialise us. */
  ok = td_cuda_check (device, device->cu->stream_new (&stream, TD_CU_STREAM_NON_BLOCKING, priority),
                      "make a queue", error);
  td_cuda_leave (device);
  if (!ok)
    return FALSE;
  queue = g_new0 (TdCudaQueue, 1);
  queue->stream = stream;
  *out = &queue->base;
  return TRUE;
}

gboolean
td_cuda_queue_new (TdDevice *device, TdQueue **queue, GError **error)
{
  return cuda_queue_new_queue (device, 0, queue, error);
}

gboolean
td_cuda_queue_new_urgent (TdDevice *device, TdQueue **queue, GError **error)
{
  return cuda_queue_new_queue (device, URGENT, queue, error);
}

void
td_cuda_queue_free (TdQueue *base)
{
  TdCudaDevice *device = td_cuda_device (base->device);

  if (td_cuda_enter (device, NULL)) {
    device->cu->stream_free (stream_of (base));
    td_cuda_leave (device);
  }
  g_free (base);
}

gboolean
td_cuda_queue_finish (TdQueue *queue, GError **error)
{
  TdCudaDevice *device = td_cuda_device (queue->device);
  gboolean ok;

  if (!td_cuda_enter (device, error))
    return FALSE;
  ok = td_cuda_check (device, device->cu->stream_sync (stream_of (queue)), "finish its work",
                      error);
  td_cuda_leave (device);
  return ok;
}

/* ── Transfers ── */

gboolean
td_cuda_upload (TdQueue *queue, TdBuffer *to, guint64 offset, const void *host, guint64 bytes,
                GError **error)
{
  TdCudaDevice *device = td_cuda_device (queue->device);
  gboolean ok;

  if (!td_cuda_enter (device, error))
    return FALSE;
  ok = td_cuda_check (
      device, device->cu->upload (cuda_queue_address (to, offset), host, bytes, stream_of (queue)),
      "copy to the card", error);
  td_cuda_leave (device);
  return ok;
}

gboolean
td_cuda_download (TdQueue *queue, void *host, TdBuffer *from, guint64 offset, guint64 bytes,
                  GError **error)
{
  TdCudaDevice *device = td_cuda_device (queue->device);
  gboolean ok;

  if (!td_cuda_enter (device, error))
    return FALSE;
  ok = td_cuda_check (
      device,
      device->cu->download (host, cuda_queue_address (from, offset), bytes, stream_of (queue)),
      "copy from the card", error);
  td_cuda_leave (device);
  return ok;
}

gboolean
td_cuda_copy (TdQueue *queue, TdBuffer *to, guint64 to_offset, TdBuffer *from, guint64 from_offset,
              guint64 bytes, GError **error)
{
  TdCudaDevice *device = td_cuda_device (queue->device);
  gboolean ok;

  if (!td_cuda_enter (device, error))
    return FALSE;
  ok = td_cuda_check (device,
                      device->cu->copy (cuda_queue_address (to, to_offset),
                                        cuda_queue_address (from, from_offset), bytes,
                                        stream_of (queue)),
                      "copy within the card", error);
  td_cuda_leave (device);
  return ok;
}

gboolean
td_cuda_fill_zero (TdQueue *queue, TdBuffer *to, guint64 offset, guint64 bytes, GError **error)
{
  TdCudaDevice *device = td_cuda_device (queue->device);
  gboolean ok;

  if (!td_cuda_enter (device, error))
    return FALSE;
  ok = td_cuda_check (
      device, device->cu->fill (cuda_queue_address (to, offset), 0, bytes, stream_of (queue)),
      "clear memory", error);
  td_cuda_leave (device);
  return ok;
}

/* ── Events ── */

gboolean
td_cuda_event_record (TdQueue *queue, TdEvent **out, GError **error)
{
  TdCudaDevice *device = td_cuda_device (queue->device);
  TdCuEvent event = NULL;
  CudaEvent *result;
  gboolean ok;

  if (!td_cuda_enter (device, error))
    return FALSE;
  ok = td_cuda_check (device, device->cu->event_new (&event, TD_CU_EVENT_BLOCKING_SYNC),
                      "make an event", error)
       && td_cuda_check (device, device->cu->event_record (event, stream_of (queue)),
                         "record an event", error);
  if (!ok && event)
    device->cu->event_free (event);
  td_cuda_leave (device);
  if (!ok)
    return FALSE;
  result = g_new0 (CudaEvent, 1);
  result->event = event;
  *out = &result->base;
  return TRUE;
}

gboolean
td_cuda_event_wait (TdQueue *queue, TdEvent *event, GError **error)
{
  TdCudaDevice *device = td_cuda_device (queue->device);
  gboolean ok;

  if (!td_cuda_enter (device, error))
    return FALSE;
  ok = td_cuda_check (device,
                      device->cu->stream_wait (stream_of (queue), ((CudaEvent *) event)->event, 0),
                      "wait for an event", error);
  td_cuda_leave (device);
  return ok;
}

gboolean
td_cuda_event_sync (TdEvent *event, GError **error)
{
  TdCudaDevice *device = td_cuda_device (event->device);
  gboolean ok;

  if (!td_cuda_enter (device, error))
    return FALSE;
  ok = td_cuda_check (device, device->cu->event_sync (((CudaEvent *) event)->event),
                      "finish its work", error);
  td_cuda_leave (device);
  return ok;
}

gboolean
td_cuda_event_elapsed (TdEvent *from, TdEvent *to, double *seconds, GError **error)
{
  TdCudaDevice *device = td_cuda_device (from->device);
  float milliseconds = 0;
  gboolean ok;

  if (!td_cuda_event_sync (from, error) || !td_cuda_event_sync (to, error)
      || !td_cuda_enter (device, error))
    return FALSE;
  ok = td_cuda_check (device,
                      device->cu->event_elapsed (&milliseconds, ((CudaEvent *) from)->event,
                                                 ((CudaEvent *) to)->event),
                      "read the time", error);
  td_cuda_leave (device);
  *seconds = (double) milliseconds * 1e-3;
  return ok;
}

void
td_cuda_event_free (TdEvent *event)
{
  TdCudaDevice *device = td_cuda_device (event->device);

  if (td_cuda_enter (device, NULL)) {
    device->cu->event_free (((CudaEvent *) event)->event);
    td_cuda_leave (device);
  }
  g_free (event);
}
