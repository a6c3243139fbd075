/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "choose-file.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui.h"

static void
choose_file_on_response (GtkNativeDialog *dialog, int response, gpointer user)
{
  TdFileChosen chosen = g_object_get_data (G_OBJECT (dialog), "chosen");

  g_autoptr (GListModel) files = gtk_file_chooser_get_files (GTK_FILE_CHOOSER (dialog));
  const guint n = response == GTK_RESPONSE_ACCEPT ? g_list_model_get_n_items (files) : 0;
  for (guint i = 0; i < n; i++) {
    g_autoptr (GFile) file = g_list_model_get_item (files, i);
    g_autofree char *path = g_file_get_path (file);
    if (path)
      chosen (user, path);
    else
      gtk_window_present (GTK_WINDOW (
          td_telling_dialog_new (gtk_native_dialog_get_transient_for (dialog),
                                 _ ("Only files on this computer’s disks can be used"), NULL)));
  }
  g_object_unref (dialog);
}

static gboolean
choose_file_show (gpointer dialog)
{
  gtk_native_dialog_show (dialog);
  return G_SOURCE_REMOVE;
}

GtkFileChooser *
td_choose_file (GtkWidget *parent, const char *title, GtkFileChooserAction action,
                TdFileChosen chosen, gpointer user)
{
  GtkRoot *root = gtk_widget_get_root (parent);
  GtkFileChooserNative *dialog = gtk_file_chooser_native_new (
      title, GTK_IS_WINDOW (root) ? GTK_WINDOW (root) : NULL, action, NULL, NULL);

  g_object_set_data (G_OBJECT (dialog), "chosen", chosen);
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (dialog), TRUE);
  g_signal_connect_object (dialog, "response", G_CALLBACK (choose_file_on_response), user, 0);
  /* Later: a desktop portal is told of names and filters once, when the dialog is shown. */
  g_idle_add_full (G_PRIORITY_DEFAULT, choose_file_show, g_object_ref (dialog), g_object_unref);
  return GTK_FILE_CHOOSER (dialog);
}

GtkFileChooser *
td_choose_files (GtkWidget *parent, const char *title, GtkFileChooserAction action,
                 TdFileChosen chosen, gpointer user)
{
  GtkFileChooser *chooser = td_choose_file (parent, title, action, chosen, user);

  gtk_file_chooser_set_select_multiple (chooser, TRUE);
  return chooser;
}

GtkFileChooser *
td_choose_name (gpointer parent, const char *title, const char *name, TdFileChosen chosen,
                gpointer user)
{
  GtkFileChooser *chooser
      = td_choose_file (parent, title, GTK_FILE_CHOOSER_ACTION_SAVE, chosen, user);

  gtk_file_chooser_set_current_name (chooser, name);
  return chooser;
}

void
td_choose_file_add_filter (GtkFileChooser *chooser, const char *name, const char *const *patterns)
{
  g_autoptr (GtkFileFilter) filter = gtk_file_filter_new ();

  gtk_file_filter_set_name (filter, name);
  if (!patterns)
    gtk_file_filter_add_pattern (filter, "*");
  for (guint i = 0; patterns && patterns[i]; i++) /* suffixes are of any letter case */
    gtk_file_filter_add_suffix (filter, patterns[i] + strlen ("*."));
  gtk_file_chooser_add_filter (chooser, filter);
}
