/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "asks.h"

gboolean
td_ask_buffer (const TdAsked *asked, GError **error)
{
  g_autoptr (TdBuffer) buffer = td_buffer_new (asked->device, 10, error);

  return buffer != NULL;
}

gboolean
td_ask_queue (const TdAsked *asked, GError **error)
{
  g_autoptr (TdQueue) queue = td_queue_new (asked->device, error);

  return queue != NULL;
}

gboolean
td_ask_finish (const TdAsked *asked, GError **error)
{
  return td_queue_finish (asked->queue, error);
}

gboolean
td_ask_upload (const TdAsked *asked, GError **error)
{
  return td_upload (asked->queue, asked->buffer, 0, "abc", 3, error);
}

gboolean
td_ask_download (const TdAsked *asked, GError **error)
{
  char bytes[3];

  return td_download (asked->queue, bytes, asked->buffer, 0, 3, error);
}

gboolean
td_ask_copy (const TdAsked *asked, GError **error)
{
  return td_copy (asked->queue, asked->buffer, 0, asked->buffer, 5, 5, error);
}

gboolean
td_ask_zero (const TdAsked *asked, GError **error)
{
  return td_fill_zero (asked->queue, asked->buffer, 0, 5, error);
}

gboolean
td_ask_record (const TdAsked *asked, GError **error)
{
  g_autoptr (TdEvent) event = td_event_record (asked->queue, error);

  return event != NULL;
}

gboolean
td_ask_wait (const TdAsked *asked, GError **error)
{
  return td_event_wait (asked->queue, asked->event, error);
}

gboolean
td_ask_sync (const TdAsked *asked, GError **error)
{
  return td_event_sync (asked->event, error);
}

gboolean
td_ask_elapsed (const TdAsked *asked, GError **error)
{
  double seconds;

  return td_event_elapsed (asked->event, asked->event, &seconds, error);
}

gboolean
td_ask_kernel (const TdAsked *asked, GError **error)
{
  static guint n;
  g_auto (GStrv) defines = td_defines ("GROUP=%u", ++n);

  return td_device_kernel (asked->device, "check-device", (const char *const *) defines, "td_new",
                           error)
         != NULL;
}

gboolean
td_ask_launch (const TdAsked *asked, GError **error)
{
  return td_launch (asked->queue, asked->kernel, (guint[]) { 1, 1, 1 }, (guint[]) { 1, 1, 1 },
                    TD_ARGS (asked->buffer), error);
}
