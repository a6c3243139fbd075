/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "picture-save.h"

#include <adwaita.h>
#include <glib/gi18n.h>

#include "dataset/error.h"
#include "dataset/tiff-save.h"
#include "render/soft-renderer.h"

typedef struct {
  TdImage *image;
  TdStyle style;
  GWeakRef parent;
} Wanted;

static void
wanted_free (gpointer data)
{
  Wanted *wanted = data;

  td_image_unref (wanted->image);
  g_weak_ref_clear (&wanted->parent);
  g_free (wanted);
}

static gboolean
save_png (const TdImage *image, const TdStyle *style, const char *path, GError **error)
{
  const TdView whole = { .zoom = image->width / image->extent_width };
  const gsize stride = (gsize) image->width * 4;
  guint8 *rgba = g_malloc (stride * image->height);

  td_soft_clear (style, image->width, image->height, rgba);
  td_soft_render (image, &whole, style, NULL, image->width, image->height, 1, rgba);
  g_autoptr (GBytes) bytes = g_bytes_new_take (rgba, stride * image->height);
  g_autoptr (GdkTexture) texture = gdk_memory_texture_new ((int) image->width, (int) image->height,
                                                           GDK_MEMORY_R8G8B8A8, bytes, stride);
  if (gdk_texture_save_to_png (texture, path))
    return TRUE;
  g_set_error (error, TD_ERROR, TD_ERROR_BAD_FILE,
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
  GtkWidget *dialog = adw_message_dialog_new (GTK_IS_WINDOW (root) ? GTK_WINDOW (root) : NULL,
                                              _ ("The picture was not saved"), error->message);

  adw_message_dialog_add_response (ADW_MESSAGE_DIALOG (dialog), "close", _ ("_Close"));
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
picture_save_on_response (GtkNativeDialog *dialog, int response, Wanted *wanted)
{
  g_autoptr (GFile) file = response == GTK_RESPONSE_ACCEPT
                               ? gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog))
                               : NULL;
  g_autofree char *path = file ? g_file_get_path (file) : NULL;
  g_autoptr (GtkWidget) parent = g_weak_ref_get (&wanted->parent);
  g_autoptr (GError) error = NULL;

  if (path && !td_picture_save (wanted->image, &wanted->style, path, &error) && parent)
    picture_save_say (parent, error);
  wanted_free (wanted);
  g_object_unref (dialog);
}

void
td_picture_save_ask (GtkWidget *parent, TdImage *image, const TdStyle *style, const char *name)
{
  GtkRoot *root = gtk_widget_get_root (parent);
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new (
      _ ("Save the Picture"), GTK_IS_WINDOW (root) ? GTK_WINDOW (root) : NULL,
      GTK_FILE_CHOOSER_ACTION_SAVE, NULL, NULL);
  g_autoptr (GtkFileFilter) png = gtk_file_filter_new (), tiff = gtk_file_filter_new ();
  g_autofree char *offered = g_strconcat (name, ".png", NULL);
  Wanted *wanted = g_new0 (Wanted, 1);

  wanted->image = td_image_ref (image);
  wanted->style = *style;
  g_weak_ref_init (&wanted->parent, parent);
  gtk_file_filter_set_name (png, _ ("PNG: as it looks"));
  gtk_file_filter_add_pattern (png, "*.png");
  gtk_file_filter_set_name (tiff, _ ("TIFF: the values (.tif)"));
  gtk_file_filter_add_pattern (tiff, "*.tif");
  gtk_file_filter_add_pattern (tiff, "*.tiff");
  gtk_file_chooser_add_filter (GTK_FILE_CHOOSER (dialog), png);
  gtk_file_chooser_add_filter (GTK_FILE_CHOOSER (dialog), tiff);
  gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (dialog), offered);
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (dialog), TRUE);
  g_signal_connect (dialog, "response", G_CALLBACK (picture_save_on_response), wanted);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}
