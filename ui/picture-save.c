/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "picture-save.h"

#include <adwaita.h>
#include <glib/gi18n.h>

#include "choose-file.h"
#include "dataset/error.h"
#include "dataset/tiff-save.h"
#include "labels.h"
#include "render/soft-renderer.h"

typedef struct {
  TdImage *image;
  TdStyle style;
} Wanted;

static void
wanted_free (gpointer data)
{
  Wanted *wanted = data;

  td_image_unref (wanted->image);
  g_free (wanted);
}

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

static void
picture_save_say (GtkWidget *parent, const GError *error)
{
  GtkRoot *root = gtk_widget_get_root (parent);
  g_autofree char *words = td_label_error (error);
  GtkWidget *dialog = adw_message_dialog_new (GTK_IS_WINDOW (root) ? GTK_WINDOW (root) : NULL,
                                              _ ("The picture was not saved"), words);

  adw_message_dialog_add_response (ADW_MESSAGE_DIALOG (dialog), "close", _ ("_Close"));
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
picture_save_on_chosen (const char *path, gpointer parent)
{
  const Wanted *wanted = g_object_get_data (parent, "picture-wanted");
  g_autoptr (GError) error = NULL;

  if (path && !td_picture_save (wanted->image, &wanted->style, path, &error))
    picture_save_say (parent, error);
}

void
td_picture_save_ask (GtkWidget *parent, TdImage *image, const TdStyle *style, const char *name)
{
  static const char *const png[] = { "*.png", NULL }, *const tiff[] = { "*.tif", "*.tiff", NULL };
  GtkFileChooser *chooser = td_choose_file (
      parent, _ ("Save the Picture"), GTK_FILE_CHOOSER_ACTION_SAVE, picture_save_on_chosen, parent);
  g_autofree char *offered = g_strconcat (name, ".png", NULL);
  Wanted *wanted = g_new (Wanted, 1);

  /* The picture as it is now: another one may be shown when the dialog is answered. */
  *wanted = (Wanted) { td_image_ref (image), *style };
  g_object_set_data_full (G_OBJECT (parent), "picture-wanted", wanted, wanted_free);
  td_choose_file_add_filter (chooser, _ ("PNG: as it looks"), png);
  td_choose_file_add_filter (chooser, _ ("TIFF: the values (.tif)"), tiff);
  gtk_file_chooser_set_current_name (chooser, offered);
}
