/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OpenCL images. */
#include "compute/device/opencl-private.h"

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
                                                      ((TdOpenclTexture *) to)->image, offset, origin,
                                                      region, 0, NULL, NULL),
                          "texture", error);
}
