/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OpenCL images. */
#include "opencl-private.h"
#include "program-cache.h"
#include "texture-check.h"
#include "kernels/source.h"

#include <string.h>

static cl_image_format
image_format (TdTexel texel)
{
  static const cl_channel_order orders[] = { [1] = CL_R, [2] = CL_RG, [4] = CL_RGBA };

  return (cl_image_format) {
    .image_channel_order = orders[td_texel_channels (texel)],
    .image_channel_data_type = texel >= TD_TEXEL_R16F ? CL_HALF_FLOAT : CL_FLOAT,
  };
}

gboolean
td_opencl_texture_new (TdDevice *device, const TdTextureSpec *spec, TdTexture **texture,
                       GError **error)
{
  cl_image_format format = image_format (spec->texel);
  cl_image_desc shape = {
    .image_type = spec->layers ? CL_MEM_OBJECT_IMAGE2D_ARRAY : CL_MEM_OBJECT_IMAGE2D,
    .image_width = spec->width,
    .image_height = spec->height,
    .image_array_size = spec->layers,
  };
  cl_int status;
  cl_mem image = clCreateImage (((TdOpenclDevice *) device)->context, CL_MEM_READ_ONLY, &format,
                                &shape, NULL, &status);

  if (!td_opencl_check (status, "texture", error))
    return FALSE;
  TdOpenclTexture *self = g_new0 (TdOpenclTexture, 1);
  self->image = image;
  *texture = &self->base;
  return TRUE;
}

void
td_opencl_texture_free (TdTexture *texture)
{
  clReleaseMemObject (((TdOpenclTexture *) texture)->image);
  g_free (texture);
}

gboolean
td_opencl_texture_write (TdQueue *queue, TdTexture *to, guint64 layer0, guint64 layers,
                         TdBuffer *from, guint64 offset, GError **error)
{
  size_t origin[3] = { 0, 0, layer0 };
  size_t region[3] = { to->spec.width, to->spec.height, layers };

  return td_opencl_check (clEnqueueCopyBufferToImage (((TdOpenclQueue *) queue)->queue,
                                                      ((TdOpenclBuffer *) from)->memory,
                                                      ((TdOpenclTexture *) to)->image, offset,
                                                      origin, region, 0, NULL, NULL),
                          "texture", error);
}

/* ── What is really there ── */

static gboolean
claims_format (TdOpenclDevice *device, cl_mem_object_type type, TdTexel texel)
{
  cl_image_format formats[256], wanted = image_format (texel);
  cl_uint count = 0;

  if (clGetSupportedImageFormats (device->context, CL_MEM_READ_ONLY, type, G_N_ELEMENTS (formats),
                                  formats, &count)
      != CL_SUCCESS)
    return FALSE;
  for (guint i = 0; i < MIN (count, G_N_ELEMENTS (formats)); i++)
    if (formats[i].image_channel_order == wanted.image_channel_order
        && formats[i].image_channel_data_type == wanted.image_channel_data_type)
      return TRUE;
  return FALSE;
}

static guint
claimed_texels (TdOpenclDevice *device)
{
  guint texels = 0;

  for (guint texel = 0; texel < TD_TEXEL_COUNT; texel++)
    if (claims_format (device, CL_MEM_OBJECT_IMAGE2D, texel)
        && claims_format (device, CL_MEM_OBJECT_IMAGE2D_ARRAY, texel))
      texels |= 1u << texel;
  return texels;
}

/* Filtering at texel centres is nearest, so linear fetches tell about both. *tried: each could be.
 */
static guint
right_texels (TdDevice *device, guint texels, gboolean *tried)
{
  *tried = TRUE;
  for (guint i = 0; i < 2 * TD_TEXEL_COUNT; i++) {
    g_autoptr (GError) error = NULL;
    guint texel = i / 2;
    gboolean right = FALSE;
    if (texels & (1u << texel)
        && (!td_texture_check (device, texel, TRUE, i % 2, &right, &error) || !right)) {
      g_debug ("%s: texel type %u is not used: %s", device->info.name, texel,
               error ? error->message : "wrong values");
      texels &= ~(1u << texel);
      *tried = *tried && !error;
    }
  }
  return texels;
}

/* Trying them takes seconds where programs build slowly, so the outcome is kept beside the
   programs; but not that a device was full or busy. */
static guint
remembered_texels (TdDevice *device, guint claimed)
{
  g_autofree char *source = td_kernel_source_expand ("check-texture", device->ops->dialect);
  g_autofree char *key = td_program_cache_key (&device->info, "textures tried", source, NULL);
  g_autoptr (GBytes) entry = td_program_cache_load (key);
  gboolean tried;
  guint32 texels;

  if (entry && g_bytes_get_size (entry) == sizeof texels) {
    memcpy (&texels, g_bytes_get_data (entry, NULL), sizeof texels);
    return texels & claimed;
  }
  texels = right_texels (device, claimed, &tried);
  if (tried)
    td_program_cache_store (key, &texels, sizeof texels);
  return texels;
}

void
td_opencl_texture_probe (TdOpenclDevice *device)
{
  TdDeviceInfo *info = &device->base.info;
  size_t width = 0, height = 0, layers = 0;
  cl_bool images = CL_FALSE;

  clGetDeviceInfo (device->device, CL_DEVICE_IMAGE_SUPPORT, sizeof images, &images, NULL);
  if (!images)
    return;
  clGetDeviceInfo (device->device, CL_DEVICE_IMAGE2D_MAX_WIDTH, sizeof width, &width, NULL);
  clGetDeviceInfo (device->device, CL_DEVICE_IMAGE2D_MAX_HEIGHT, sizeof height, &height, NULL);
  clGetDeviceInfo (device->device, CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, sizeof layers, &layers, NULL);
  info->texture_max[0] = width;
  info->texture_max[1] = height;
  info->texture_max_layers = layers;
  info->texels = claimed_texels (device);
  info->texture_linear = TRUE; /* for the trial */
  info->texels = remembered_texels (&device->base, info->texels);
  info->texture_linear = info->texels != 0;
}
