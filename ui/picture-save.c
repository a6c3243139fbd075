/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "picture-save.h"

#include <glib/gi18n.h>
#include <gtk/gtk.h>

#include "dataset/error.h"
#include "dataset/tiff-save.h"
#include "render/soft-renderer.h"

static gboolean
save_png (const TdImage *image, const TdStyle *style, const char *path, GError **error)
{
  const TdView whole = { .zoom = image->width / image->extent_width };
  const gsize stride = (gsize) image->width * 4;
  const TdScreen screen = { image->width, image->height, 1 };
  guint8 *rgba = g_malloc (stride * image->height);

  td_soft_clear (style, image->width, image->height, rgba);
  td_soft_render (image, &whole, style, NULL, &screen, rgba);
  g_autoptr (GBytes) bytes = g_bytes_new_take (rgba, stride * image->height);
  g_autoptr (GdkTexture) texture = gdk_memory_texture_new ((int) image->width, (int) image->height,
                                                           GDK_MEMORY_R8G8B8A8, bytes, stride);
  if (gdk_texture_save_to_png (texture, path))
    return TRUE;
  td_set_error (error, TD_ERROR_BAD_FILE,
                _ ("“%s” cannot be written: choose a folder that you may write to"), path);
  return FALSE;
}

gboolean
td_picture_save (const TdImage *image, const TdStyle *style, const char *path, GError **error)
{
  const TdTiffImage tiff
      = { .width = image->width, .height = image->height, .type = TD_SAMPLE_FLOAT32 };
  g_autofree char *lower = g_ascii_strdown (path, -1);

  if (g_str_has_suffix (lower, ".tif") || g_str_has_suffix (lower, ".tiff"))
    return td_tiff_save_single (path, path, &tiff, image->pixels, error);
  return save_png (image, style, path, error);
}
