/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "picture-save.h"

#include <glib/gi18n.h>

#include "dataset/error.h"
#include "dataset/tiff-save.h"
#include "render/soft-renderer.h"

static void
picture_save_place (const double point[2], double *x, double *y, gpointer user)
{
  const TdImage *image = user;

  *x = (point[0] + 0.5) * image->width / image->extent_width;
  *y = (point[1] + 0.5) * image->height / image->extent_height;
}

/* Lines as wide as they are on a screen that shows all of it in 800 pixels. */
static void
picture_save_draw (const TdImage *image, const GArray *marks, guint32 *pixels)
{
  const int width = (int) image->width, height = (int) image->height;
  cairo_surface_t *surface = cairo_image_surface_create_for_data (
      (guint8 *) pixels, CAIRO_FORMAT_ARGB32, width, height, 4 * width);

  cairo_t *cr = cairo_create (surface);
  td_marks_draw (cr, marks, picture_save_place, (gpointer) image,
                 MAX (MAX (width, height) / 800.0, 0.5));
  cairo_destroy (cr);
  cairo_surface_finish (surface);
  cairo_surface_destroy (surface);
}

static gboolean
save_png (const TdImage *image, const TdStyle *style, const GArray *marks, const char *path,
          GError **error)
{
  const TdView whole = { .zoom = image->width / image->extent_width };
  const gsize stride = (gsize) image->width * 4;
  const TdScreen screen = { image->width, image->height, 1 };
  guint32 *pixels = g_try_malloc_n (image->height, stride);

  if (!pixels)
    return td_set_error (error, TD_ERROR_TOO_LARGE, "The picture for “%s” does not fit into memory",
                         path);
  td_soft_clear (style, image->width, image->height, pixels);
  td_soft_render (image, &whole, style, NULL, &screen, pixels);
  if (marks && marks->len > 0)
    picture_save_draw (image, marks, pixels);
  g_autoptr (GBytes) bytes = g_bytes_new_take (pixels, stride * image->height);
  g_autoptr (GdkTexture) texture = gdk_memory_texture_new ((int) image->width, (int) image->height,
                                                           GDK_MEMORY_DEFAULT, bytes, stride);
  if (gdk_texture_save_to_png (texture, path))
    return TRUE;
  return td_set_error (error, TD_ERROR_BAD_FILE,
                       _ ("“%s” cannot be written: choose a folder that you may write to"), path);
}

gboolean
td_picture_save (const TdImage *image, const TdStyle *style, const GArray *marks, const char *path,
                 GError **error)
{
  const TdTiffImage tiff
      = { .width = image->width, .height = image->height, .type = TD_SAMPLE_FLOAT32 };
  g_autofree char *lower = g_ascii_strdown (path, -1);

  if (g_str_has_suffix (lower, ".tif") || g_str_has_suffix (lower, ".tiff"))
    return td_tiff_save_single (path, path, &tiff, image->pixels, error);
  return save_png (image, style, marks, path, error);
}
