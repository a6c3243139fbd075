/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fdk-run.h"

static void
pinned_free (gpointer data)
{
  TdFdkPinned *pinned = data;

  for (guint i = 0; i < pinned->n; i++)
    td_device_host_free (pinned->device, pinned->memory[i]);
  td_device_unref (pinned->device);
  g_free (pinned->memory);
  g_free (pinned);
}

static gboolean
fdk_pinned_matches (gpointer item, gpointer user)
{
  const TdFdkPinned *pinned = item, *wanted = user;

  return pinned->device == wanted->device->hardware && pinned->n == wanted->n
         && pinned->bytes == wanted->bytes;
}

TdFdkPinned *
td_fdk_pinned_take (TdEngine *engine, TdDevice *device, guint n, guint64 bytes, GError **error)
{
  TdFdkPinned wanted = { .device = device, .bytes = bytes, .n = n };
  TdFdkPinned *pinned = td_engine_take (engine, pinned_free, fdk_pinned_matches, &wanted);

  if (pinned)
    return pinned;
  pinned = g_new0 (TdFdkPinned, 1);
  pinned->device = td_device_ref (device->hardware);
  pinned->bytes = bytes;
  pinned->memory = g_new0 (void *, n);
  for (; pinned->n < n; pinned->n++) {
    pinned->memory[pinned->n] = td_device_host_alloc (device, bytes, error);
    if (!pinned->memory[pinned->n]) {
      pinned_free (pinned);
      return NULL;
    }
  }
  return pinned;
}

void
td_fdk_pinned_give (TdEngine *engine, TdFdkPinned *pinned, gboolean sound)
{
  if (pinned && !sound)
    pinned_free (pinned);
  else if (pinned)
    td_engine_give (engine, pinned, pinned->n * pinned->bytes, pinned_free);
}

/* ── Rings ── */

void *
td_fdk_ring_next (TdFdkRing *ring, GError **error)
{
  TdEvent **passed = &ring->passed[ring->next];

  if (*passed && !td_event_sync (*passed, error))
    return NULL;
  g_clear_pointer (passed, td_event_free);
  return ring->pinned->memory[ring->next];
}

gboolean
td_fdk_ring_send (TdFdkRing *ring, TdBuffer *to, guint64 offset, guint64 bytes, GError **error)
{
  if (!td_upload (ring->queue, to, offset, ring->pinned->memory[ring->next], bytes, error)
      || !td_event_mark (ring->queue, &ring->passed[ring->next], error))
    return FALSE;
  ring->next = (ring->next + 1) % TD_FDK_RING;
  return TRUE;
}

void
td_fdk_ring_clear (TdFdkRing *ring, TdEngine *engine, gboolean sound)
{
  for (guint i = 0; i < TD_FDK_RING; i++)
    g_clear_pointer (&ring->passed[i], td_event_free);
  td_fdk_pinned_give (engine, g_steal_pointer (&ring->pinned), sound);
}
