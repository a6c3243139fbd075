/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The wrappers for queues, transfers, events and FFTs. */
#include "device-api.h"

/* ── Queues ── */

static TdQueue *
device_queue_new_queue (TdDevice *device, gboolean urgent, GError **error)
{
  TdQueue *queue = NULL;

  device = device->hardware;
  if (!(urgent && device->ops->queue_new_urgent ? device->ops->queue_new_urgent
                                                : device->ops->queue_new) (device, &queue, error)) {
    td_device_failed (device, error);
    return NULL;
  }
  queue->device = device;
  td_device_object_new (device);
  return queue;
}

TdQueue *
td_queue_new (TdDevice *device, GError **error)
{
  return device_queue_new_queue (device, FALSE, error);
}

TdQueue *
td_queue_new_urgent (TdDevice *device, GError **error)
{
  return device_queue_new_queue (device, TRUE, error);
}

void
td_queue_free (TdQueue *queue)
{
  if (!queue)
    return;
  TdDevice *device = queue->device;
  device->ops->queue_free (queue);
  td_device_object_free (device);
}

gboolean
td_queue_finish (TdQueue *queue, GError **error)
{
  return queue->device->ops->queue_finish (queue, error) || td_device_failed (queue->device, error);
}

/* ── Transfers ── */

static gboolean
range_check (TdQueue *queue, const char *what, TdBuffer *buffer, guint64 offset, guint64 bytes,
             GError **error)
{
  if (buffer->device == queue->device && offset <= buffer->bytes && bytes <= buffer->bytes - offset)
    return TRUE;
  td_set_error (error, TD_ERROR_DEVICE_BUG,
                "%s of %" G_GUINT64_FORMAT " bytes at %" G_GUINT64_FORMAT
                " is outside a buffer of %" G_GUINT64_FORMAT " bytes or of another device",
                what, bytes, offset, buffer->bytes);
  return td_device_failed (queue->device, error);
}

gboolean
td_upload (TdQueue *queue, TdBuffer *to, guint64 offset, const void *host, guint64 bytes,
           GError **error)
{
  if (!range_check (queue, "upload", to, offset, bytes, error))
    return FALSE;
  return !bytes || queue->device->ops->upload (queue, to, offset, host, bytes, error)
         || td_device_failed (queue->device, error);
}

gboolean
td_download (TdQueue *queue, void *host, TdBuffer *from, guint64 offset, guint64 bytes,
             GError **error)
{
  if (!range_check (queue, "download", from, offset, bytes, error))
    return FALSE;
  return !bytes || queue->device->ops->download (queue, host, from, offset, bytes, error)
         || td_device_failed (queue->device, error);
}

gboolean
td_copy (TdQueue *queue, TdBuffer *to, guint64 to_offset, TdBuffer *from, guint64 from_offset,
         guint64 bytes, GError **error)
{
  if (!range_check (queue, "copy", to, to_offset, bytes, error)
      || !range_check (queue, "copy", from, from_offset, bytes, error))
    return FALSE;
  if (to == from && to_offset < from_offset + bytes && from_offset < to_offset + bytes && bytes) {
    td_set_error (error, TD_ERROR_DEVICE_BUG, "copy between overlapping ranges");
    return td_device_failed (queue->device, error);
  }
  return !bytes || queue->device->ops->copy (queue, to, to_offset, from, from_offset, bytes, error)
         || td_device_failed (queue->device, error);
}

gboolean
td_fill_zero (TdQueue *queue, TdBuffer *to, guint64 offset, guint64 bytes, GError **error)
{
  if (!range_check (queue, "fill", to, offset, bytes, error))
    return FALSE;
  return !bytes || queue->device->ops->fill_zero (queue, to, offset, bytes, error)
         || td_device_failed (queue->device, error);
}

/* ── Events ── */

TdEvent *
td_event_record (TdQueue *queue, GError **error)
{
  TdDevice *device = queue->device;
  TdEvent *event = NULL;

  if (!device->ops->event_record (queue, &event, error)) {
    td_device_failed (device, error);
    return NULL;
  }
  event->device = device;
  td_device_object_new (device);
  return event;
}

void
td_event_free (TdEvent *event)
{
  if (!event)
    return;
  TdDevice *device = event->device;
  device->ops->event_free (event);
  td_device_object_free (device);
}

gboolean
td_event_wait (TdQueue *queue, TdEvent *event, GError **error)
{
  if (event->device != queue->device) {
    td_set_error (error, TD_ERROR_DEVICE_BUG, "wait for an event of another device");
    return td_device_failed (queue->device, error);
  }
  return queue->device->ops->event_wait (queue, event, error)
         || td_device_failed (queue->device, error);
}

gboolean
td_event_sync (TdEvent *event, GError **error)
{
  return event->device->ops->event_sync (event, error) || td_device_failed (event->device, error);
}

gboolean
td_event_elapsed (TdEvent *from, TdEvent *to, double *seconds, GError **error)
{
  return from->device->ops->event_elapsed (from, to, seconds, error)
         || td_device_failed (from->device, error);
}

/* ── FFT ── */

static gboolean
even_smooth (guint n)
{
  if (n % 2)
    return FALSE;
  while (n % 2 == 0)
    n /= 2;
  while (n % 3 == 0)
    n /= 3;
  while (n % 5 == 0)
    n /= 5;
  return n == 1;
}

guint
td_fft_good_size (guint at_least)
{
  guint n = MAX (at_least, 2);

  while (!even_smooth (n))
    n++;
  return n;
}

static guint64
fft_elements (TdFftKind kind, const guint n[2], guint batch)
{
  guint64 one = (guint64) n[0] * (kind == TD_FFT_C2C_2D ? n[1] : 1);

  /* The APIs count in 32 bits; the product of the last two could pass 64. */
  return one > G_MAXINT32 ? G_MAXUINT64 : one * batch;
}

TdFft *
td_fft_new (TdDevice *device, TdFftKind kind, const guint n[2], guint batch, GError **error)
{
  TdFft *fft = NULL;
  guint64 elements = fft_elements (kind, n, batch);

  if (!elements || elements > G_MAXINT32) {
    td_set_error (error, elements ? TD_ERROR_TOO_LARGE : TD_ERROR_DEVICE_BUG,
                  "FFTs of %u × %u, %u at once, are %s; transform fewer at once", n[0],
                  kind == TD_FFT_C2C_2D ? n[1] : 1, batch,
                  elements ? "2^31 elements or more" : "empty");
    td_device_failed (device->hardware, error);
    return NULL;
  }
  device = device->hardware;
  if (!device->ops->fft_new (device, kind, n, batch, &fft, error)) {
    td_device_failed (device, error);
    return NULL;
  }
  fft->device = device;
  fft->kind = kind;
  fft->n[0] = n[0];
  fft->n[1] = kind == TD_FFT_C2C_2D ? n[1] : 1;
  fft->batch = batch;
  td_device_object_new (device);
  return fft;
}

gboolean
td_fft_run (TdQueue *queue, TdFft *fft, TdBuffer *data, guint64 offset, gboolean inverse,
            GError **error)
{
  guint64 bytes = fft_elements (fft->kind, fft->n, fft->batch) * 2 * sizeof (float);

  if (!range_check (queue, "FFT", data, offset, bytes, error))
    return FALSE;
  if (fft->device != queue->device || offset % (2 * sizeof (float))) {
    td_set_error (error, TD_ERROR_DEVICE_BUG,
                  "FFT of another device or at an offset that is no multiple of 8 bytes");
    return td_device_failed (queue->device, error);
  }
  return queue->device->ops->fft_run (queue, fft, data, offset, inverse, error)
         || td_device_failed (queue->device, error);
}

void
td_fft_free (TdFft *fft)
{
  if (!fft)
    return;
  TdDevice *device = fft->device;
  device->ops->fft_free (fft);
  td_device_object_free (device);
}
