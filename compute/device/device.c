/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "device-api.h"

static const struct {
  guint channels, bytes;
} texels[TD_TEXEL_COUNT] = {
  [TD_TEXEL_R32F] = { 1, 4 }, [TD_TEXEL_RG32F] = { 2, 8 }, [TD_TEXEL_RGBA32F] = { 4, 16 },
  [TD_TEXEL_R16F] = { 1, 2 }, [TD_TEXEL_RG16F] = { 2, 4 }, [TD_TEXEL_RGBA16F] = { 4, 8 },
};

guint
td_texel_channels (TdTexel texel)
{
  return texels[texel].channels;
}

gsize
td_texel_bytes (TdTexel texel)
{
  return texels[texel].bytes;
}

/* ── Life ── */

void
td_device_init (TdDevice *device, const TdDeviceOps *ops)
{
  device->references = 1;
  device->hardware = device;
  device->ops = ops;
  g_mutex_init (&device->lock);
  g_mutex_init (&device->program_lock);
}

void
td_device_clear (TdDevice *device)
{
  td_device_free_programs (device);
  g_free (device->info.id);
  g_free (device->info.name);
  g_free (device->info.vendor);
  g_free (device->info.api);
  g_free (device->info.driver);
  g_free (device->info.hardware_id);
  g_mutex_clear (&device->lock);
  g_mutex_clear (&device->program_lock);
  device->ops->device_free (device);
}

char *
td_device_pci_id (guint domain, guint bus, guint slot, guint function)
{
  return g_strdup_printf ("pci:%04x:%02x:%02x.%x", domain, bus, slot, function);
}

void
td_device_object_new (TdDevice *device)
{
  td_device_ref (device);
  g_mutex_lock (&device->lock);
  device->live_objects++;
  g_mutex_unlock (&device->lock);
}

void
td_device_object_free (TdDevice *device)
{
  g_mutex_lock (&device->lock);
  device->live_objects--;
  g_mutex_unlock (&device->lock);
  td_device_unref (device);
}

gboolean
td_device_failed (TdDevice *device, GError **error)
{
  td_prefix_error (error, "%s (%s): ", device->info.name, device->info.id);
  return FALSE;
}

const TdDeviceInfo *
td_device_info (TdDevice *device)
{
  return &device->hardware->info;
}

/* ── Memory ── */

guint64
td_device_peak_bytes (TdDevice *device)
{
  g_mutex_lock (&device->hardware->lock);
  const guint64 peak = device->allocated_peak_bytes;
  g_mutex_unlock (&device->hardware->lock);
  return peak;
}

/* Under the lock. */
static guint64
account_left (const TdDevice *account)
{
  if (!account->memory_limit_bytes)
    return G_MAXUINT64;
  return account->memory_limit_bytes - MIN (account->allocated_bytes, account->memory_limit_bytes);
}

/* Under the lock. */
static void
account_add (TdDevice *account, guint64 bytes)
{
  account->allocated_bytes += bytes;
  account->allocated_peak_bytes = MAX (account->allocated_peak_bytes, account->allocated_bytes);
}

guint64
td_device_memory_free (TdDevice *device)
{
  TdDevice *hardware = device->hardware;
  guint64 available = hardware->ops->memory_free (hardware);

  g_mutex_lock (&hardware->lock);
  const guint64 used = hardware->allocated_bytes, total = hardware->info.memory_bytes;
  available = MIN (available, total > used ? total - used : 0);
  available = MIN (available, MIN (account_left (device), account_left (hardware)));
  g_mutex_unlock (&hardware->lock);
  return available;
}

/* Checks the limits and counts the bytes; FALSE: not counted. */
static gboolean
device_reserve (TdDevice *device, guint64 bytes, const char *what, GError **error)
{
  TdDevice *hardware = device->hardware;

  g_mutex_lock (&hardware->lock);
  const guint64 left
      = MIN (hardware->info.max_alloc_bytes, MIN (account_left (device), account_left (hardware)));
  if (bytes <= left) {
    account_add (hardware, bytes);
    if (device != hardware)
      account_add (device, bytes);
  }
  g_mutex_unlock (&hardware->lock);
  if (bytes <= left)
    return TRUE;

  g_autofree char *size = g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS);
  g_autofree char *most = g_format_size_full (left, G_FORMAT_SIZE_IEC_UNITS);
  td_set_error (
      error, TD_ERROR_DEVICE_MEMORY,
      "a %s of %s does not fit: this device gives at most %s now; compute fewer slices at "
      "once",
      what, size, most);
  return td_device_failed (hardware, error);
}

static void
device_release (TdDevice *device, guint64 bytes)
{
  g_mutex_lock (&device->hardware->lock);
  device->hardware->allocated_bytes -= bytes;
  if (device != device->hardware)
    device->allocated_bytes -= bytes;
  g_mutex_unlock (&device->hardware->lock);
}

TdBuffer *
td_buffer_new (TdDevice *device, guint64 bytes, GError **error)
{
  TdDevice *hardware = device->hardware;
  TdBuffer *buffer = NULL;

  if (!bytes) {
    td_set_error (error, TD_ERROR_DEVICE_BUG, "a buffer of 0 bytes was asked for");
    td_device_failed (hardware, error);
    return NULL;
  }
  if (!device_reserve (device, bytes, "buffer", error))
    return NULL;
  if (!hardware->ops->buffer_new (hardware, bytes, &buffer, error)) {
    device_release (device, bytes);
    td_device_failed (hardware, error);
    return NULL;
  }
  buffer->device = hardware;
  buffer->account = td_device_ref (device);
  buffer->bytes = bytes;
  td_device_object_new (hardware);
  return buffer;
}

void
td_buffer_free (TdBuffer *buffer)
{
  if (!buffer)
    return;
  TdDevice *device = buffer->device, *account = buffer->account;
  guint64 bytes = buffer->bytes;
  device->ops->buffer_free (buffer);
  device_release (account, bytes);
  td_device_unref (account);
  td_device_object_free (device);
}

void *
td_buffer_map (TdBuffer *buffer)
{
  return buffer->device->ops->buffer_map (buffer);
}

void *
td_device_host_alloc (TdDevice *device, guint64 bytes, GError **error)
{
  device = device->hardware;
  void *memory = device->ops->host_alloc (device, MAX (bytes, 1));
  if (!memory) {
    g_autofree char *size = g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS);
    td_set_error (error, TD_ERROR_DEVICE_MEMORY,
                  "%s of host memory for transfers could not be had; compute fewer slices at once",
                  size);
    td_device_failed (device, error);
    return NULL;
  }
  td_device_object_new (device);
  return memory;
}

void
td_device_host_free (TdDevice *device, void *memory)
{
  if (!memory)
    return;
  device = device->hardware;
  device->ops->host_free (device, memory);
  td_device_object_free (device);
}

/* ── Textures ── */

static guint64
texture_bytes (const TdTextureSpec *spec)
{
  return spec->width * spec->height * MAX (spec->layers, 1) * td_texel_bytes (spec->texel);
}

static gboolean
texture_check (const TdDeviceInfo *info, const TdTextureSpec *spec, GError **error)
{
  if (spec->texel >= TD_TEXEL_COUNT || !spec->width || !spec->height) {
    td_set_error (error, TD_ERROR_DEVICE_BUG, "a texture without texels was asked for");
    return FALSE;
  }
  if (!(info->texels & (1u << spec->texel)) || (spec->linear && !info->texture_linear)) {
    td_set_error (error, TD_ERROR_UNSUPPORTED,
                  "no textures with %u × %u-bit texels%s here; choose another kernel family",
                  td_texel_channels (spec->texel),
                  (guint) (8 * td_texel_bytes (spec->texel) / td_texel_channels (spec->texel)),
                  spec->linear ? " and linear filtering" : "");
    return FALSE;
  }
  if (spec->width > info->texture_max[0] || spec->height > info->texture_max[1]
      || spec->layers > info->texture_max_layers) {
    td_set_error (error, TD_ERROR_TOO_LARGE,
                  "a texture of %" G_GUINT64_FORMAT " × %" G_GUINT64_FORMAT " × %" G_GUINT64_FORMAT
                  " is larger than this device's %" G_GUINT64_FORMAT " × %" G_GUINT64_FORMAT
                  " × %" G_GUINT64_FORMAT,
                  spec->width, spec->height, spec->layers, info->texture_max[0],
                  info->texture_max[1], info->texture_max_layers);
    return FALSE;
  }
  return TRUE;
}

TdTexture *
td_texture_new (TdDevice *device, const TdTextureSpec *spec, GError **error)
{
  TdDevice *hardware = device->hardware;
  TdTexture *texture = NULL;

  if (!texture_check (&hardware->info, spec, error)) {
    td_device_failed (hardware, error);
    return NULL;
  }
  guint64 bytes = texture_bytes (spec);
  if (!device_reserve (device, bytes, "texture", error))
    return NULL;
  if (!hardware->ops->texture_new (hardware, spec, &texture, error)) {
    device_release (device, bytes);
    td_device_failed (hardware, error);
    return NULL;
  }
  texture->device = hardware;
  texture->account = td_device_ref (device);
  texture->spec = *spec;
  td_device_object_new (hardware);
  return texture;
}

void
td_texture_free (TdTexture *texture)
{
  if (!texture)
    return;
  TdDevice *device = texture->device, *account = texture->account;
  guint64 bytes = texture_bytes (&texture->spec);
  device->ops->texture_free (texture);
  device_release (account, bytes);
  td_device_unref (account);
  td_device_object_free (device);
}

gboolean
td_texture_write (TdQueue *queue, TdTexture *to, guint64 layer0, guint64 layers, TdBuffer *from,
                  guint64 offset, GError **error)
{
  TdDevice *device = queue->device;
  guint64 all = MAX (to->spec.layers, 1);
  guint64 bytes = texture_bytes (&to->spec) / all * layers;

  if (!layers || layer0 > all || layers > all - layer0 || offset > from->bytes
      || bytes > from->bytes - offset) {
    td_set_error (error, TD_ERROR_DEVICE_BUG,
                  "layers %" G_GUINT64_FORMAT " + %" G_GUINT64_FORMAT " are outside the texture or "
                  "its buffer",
                  layer0, layers);
    return td_device_failed (device, error);
  }
  return device->ops->texture_write (queue, to, layer0, layers, from, offset, error)
         || td_device_failed (device, error);
}
