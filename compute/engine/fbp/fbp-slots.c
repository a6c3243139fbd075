/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fbp-private.h"

TdFbpSlot *
td_fbp_slot_new (TdDevice *device, gboolean direct, guint64 bytes, GError **error)
{
  TdFbpSlot *slot = g_new0 (TdFbpSlot, 1);

  slot->device = td_device_ref (device);
  if (direct) {
    slot->buffer = td_buffer_new (device, bytes, error);
    slot->host = slot->buffer ? td_buffer_map (slot->buffer) : NULL;
  } else {
    slot->host = td_device_host_alloc (device, bytes, error);
  }
  if (!slot->host) {
    td_fbp_slot_free (slot);
    return NULL;
  }
  return slot;
}

void
td_fbp_slot_free (TdFbpSlot *slot)
{
  if (!slot)
    return;
  if (slot->buffer)
    td_buffer_free (slot->buffer);
  else if (slot->host)
    td_device_host_free (slot->device, slot->host);
  td_device_unref (slot->device);
  g_free (slot);
}
