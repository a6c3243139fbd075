/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cuda-private.h"

static gboolean
is_half (TdTexel texel)
{
  return texel == TD_TEXEL_R16F || texel == TD_TEXEL_RG16F || texel == TD_TEXEL_RGBA16F;
}

static gboolean
cuda_texture_make (TdCudaDevice *device, const TdTextureSpec *spec, TdCuArray *array,
                   TdCuTexture *texture, GError **error)
{
  TdCuArray3d shape = {
    .width = spec->width,
    .height = spec->height,
    .depth = spec->layers,
    .format = is_half (spec->texel) ? TD_CU_FORMAT_HALF : TD_CU_FORMAT_FLOAT,
    .channels = td_texel_channels (spec->texel),
    .flags = spec->layers ? TD_CU_ARRAY_LAYERED : 0,
  };
  TdCuResource resource = { .type = TD_CU_RESOURCE_ARRAY };
  TdCuTextureDescription description = {
    .address = { TD_CU_ADDRESS_BORDER, TD_CU_ADDRESS_BORDER, TD_CU_ADDRESS_BORDER },
    .filter = spec->linear ? TD_CU_FILTER_LINEAR : TD_CU_FILTER_POINT,
  };

  if (!td_cuda_check (device, device->cu->array_new (array, &shape), "make a texture", error))
    return FALSE;
  resource.resource.array = *array;
  if (td_cuda_check (device, device->cu->texture_new (texture, &resource, &description, NULL),
                     "make a texture", error))
    return TRUE;
  device->cu->array_free (*array);
  return FALSE;
}

gboolean
td_cuda_texture_new (TdDevice *base, const TdTextureSpec *spec, TdTexture **out, GError **error)
{
  TdCudaDevice *device = td_cuda_device (base);
  TdCuArray array = NULL;
  TdCuTexture handle = 0;
  TdCudaTexture *texture;
  gboolean ok;

  if (!td_cuda_enter (device, error))
    return FALSE;
  ok = cuda_texture_make (device, spec, &array, &handle, error);
  td_cuda_leave (device);
  if (!ok)
    return FALSE;
  texture = g_new0 (TdCudaTexture, 1);
  texture->array = array;
  texture->texture = handle;
  *out = &texture->base;
  return TRUE;
}

void
td_cuda_texture_free (TdTexture *base)
{
  TdCudaTexture *texture = (TdCudaTexture *) base;
  TdCudaDevice *device = td_cuda_device (base->device);

  if (td_cuda_enter (device, NULL)) {
    device->cu->texture_free (texture->texture);
    device->cu->array_free (texture->array);
    td_cuda_leave (device);
  }
  g_free (texture);
}

gboolean
td_cuda_texture_write (TdQueue *queue, TdTexture *to, guint64 layer0, guint64 layers,
                       TdBuffer *from, guint64 offset, GError **error)
{
  TdCudaDevice *device = td_cuda_device (queue->device);
  const TdTextureSpec *spec = &to->spec;
  gsize row = spec->width * td_texel_bytes (spec->texel);
  TdCuCopy3d copy = {
    .src_type = TD_CU_MEMORY_DEVICE,
    .src_device = ((TdCudaBuffer *) from)->pointer + offset,
    .src_pitch = row,
    .src_height = spec->height,
    .dst_type = TD_CU_MEMORY_ARRAY,
    .dst_array = ((TdCudaTexture *) to)->array,
    .dst_z = spec->layers ? layer0 : 0,
    .width_bytes = row,
    .height = spec->height,
    .depth = spec->layers ? layers : 1,
  };
  gboolean ok;

  if (!td_cuda_enter (device, error))
    return FALSE;
  ok = td_cuda_check (device, device->cu->copy_3d (&copy, ((TdCudaQueue *) queue)->stream),
                      "fill a texture", error);
  td_cuda_leave (device);
  return ok;
}
