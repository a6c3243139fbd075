/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "file-row.h"

#include <glib/gi18n.h>

#include "window-words.h"

struct _TdFileRow {
  AdwActionRow parent_instance;
  GtkWidget *choose, *clear;
  const char *none;
  const char *const *patterns;
  char *path;
};

enum { CHOSEN, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (TdFileRow, td_file_row, ADW_TYPE_ACTION_ROW)

/* ── Choosing ── */

static void
take (TdFileRow *self, GFile *file)
{
  g_autofree char *path = file ? g_file_get_path (file) : NULL;

  if (path)
    g_signal_emit (self, signals[CHOSEN], 0, path);
  else
    td_file_row_set_problem (self, _ ("Only files on this machine’s disks can be used"));
}

static void
file_row_on_response (GtkNativeDialog *dialog, int response, TdFileRow *self)
{
  if (response == GTK_RESPONSE_ACCEPT) {
    g_autoptr (GFile) file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
    take (self, file);
  }
  g_object_unref (dialog);
}

static void
add_filters (TdFileRow *self, GtkFileChooser *chooser)
{
  g_autoptr (GtkFileFilter) fitting = gtk_file_filter_new (), all = gtk_file_filter_new ();

  gtk_file_filter_set_name (fitting, adw_preferences_row_get_title (ADW_PREFERENCES_ROW (self)));
  for (guint i = 0; self->patterns[i]; i++)
    gtk_file_filter_add_pattern (fitting, self->patterns[i]);
  gtk_file_filter_set_name (all, _ ("All files"));
  gtk_file_filter_add_pattern (all, "*");
  gtk_file_chooser_add_filter (chooser, fitting);
  gtk_file_chooser_add_filter (chooser, all);
}

static void
file_row_choose (TdFileRow *self, GtkFileChooserAction action)
{
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));
  GtkFileChooserNative *dialog
      = gtk_file_chooser_native_new (adw_preferences_row_get_title (ADW_PREFERENCES_ROW (self)),
                                     GTK_WINDOW (root), action, NULL, NULL);

  if (self->patterns && action == GTK_FILE_CHOOSER_ACTION_OPEN)
    add_filters (self, GTK_FILE_CHOOSER (dialog));
  if (self->path) {
    g_autoptr (GFile) file = g_file_new_for_path (self->path);
    gtk_file_chooser_set_file (GTK_FILE_CHOOSER (dialog), file, NULL);
  }
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (dialog), TRUE);
  g_signal_connect_object (dialog, "response", G_CALLBACK (file_row_on_response), self, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
}

static void
file_row_on_choose (GtkButton *button, TdFileRow *self)
{
  file_row_choose (self, GTK_FILE_CHOOSER_ACTION_OPEN);
}

static void
on_choose_folder (GtkButton *button, TdFileRow *self)
{
  file_row_choose (self, GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER);
}

static void
on_clear (GtkButton *button, TdFileRow *self)
{
  g_signal_emit (self, signals[CHOSEN], 0, NULL);
}

static gboolean
file_row_on_drop (GtkDropTarget *target, const GValue *value, double x, double y, TdFileRow *self)
{
  GSList *files = g_value_get_boxed (value);

  if (!files)
    return FALSE;
  take (self, files->data);
  return TRUE;
}

/* ── Showing ── */

void
td_file_row_set_path (TdFileRow *self, const char *path)
{
  g_autofree char *name = path && *path ? g_path_get_basename (path) : NULL;
  g_autofree char *whole = name ? g_strdup (path) : NULL;

  g_free (self->path);
  self->path = g_steal_pointer (&whole);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (self), name ? name : self->none);
  gtk_widget_set_tooltip_text (GTK_WIDGET (self), self->path);
  gtk_widget_set_visible (self->clear, name != NULL);
  gtk_widget_remove_css_class (GTK_WIDGET (self), "wrong");
}

const char *
td_file_row_get_path (TdFileRow *self)
{
  return self->path;
}

void
td_file_row_set_problem (TdFileRow *self, const char *problem)
{
  g_autofree char *words = td_window_words (problem);

  adw_action_row_set_subtitle (ADW_ACTION_ROW (self), words);
  gtk_widget_set_tooltip_text (GTK_WIDGET (self), words);
  gtk_widget_set_visible (self->clear, TRUE);
  gtk_widget_add_css_class (GTK_WIDGET (self), "wrong");
}

/* ── Widget ── */

static GtkWidget *
file_row_add_button (TdFileRow *self, const char *icon, const char *tip, GCallback clicked)
{
  GtkWidget *button = gtk_button_new_from_icon_name (icon);

  gtk_widget_set_tooltip_text (button, tip);
  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  gtk_widget_add_css_class (button, "flat");
  g_signal_connect (button, "clicked", clicked, self);
  adw_action_row_add_suffix (ADW_ACTION_ROW (self), button);
  return button;
}

static void
td_file_row_finalize (GObject *object)
{
  g_free (TD_FILE_ROW (object)->path);
  G_OBJECT_CLASS (td_file_row_parent_class)->finalize (object);
}

static void
td_file_row_class_init (TdFileRowClass *class)
{
  G_OBJECT_CLASS (class)->finalize = td_file_row_finalize;
  signals[CHOSEN] = g_signal_new ("chosen", TD_TYPE_FILE_ROW, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                  NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
}

static void
td_file_row_init (TdFileRow *self)
{
  GtkDropTarget *target = gtk_drop_target_new (GDK_TYPE_FILE_LIST, GDK_ACTION_COPY);

  /* Names and errors are no markup. */
  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (self), FALSE);
  self->clear
      = file_row_add_button (self, "edit-clear-symbolic", _ ("None"), G_CALLBACK (on_clear));
  self->choose = file_row_add_button (self, "document-open-symbolic", _ ("Choose a file"),
                                      G_CALLBACK (file_row_on_choose));
  adw_action_row_set_activatable_widget (ADW_ACTION_ROW (self), self->choose);
  g_signal_connect (target, "drop", G_CALLBACK (file_row_on_drop), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (target));
}

GtkWidget *
td_file_row_new (const char *title, const char *none, const char *const *patterns)
{
  TdFileRow *self = g_object_new (TD_TYPE_FILE_ROW, "title", title, NULL);
  g_autofree char *file_row_choose = g_strdup_printf (_ ("Choose: %s"), title);
  g_autofree char *clear = g_strdup_printf (_ ("None: %s"), title);

  self->none = none;
  self->patterns = patterns;
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->choose), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  file_row_choose, -1);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->clear), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  clear, -1);
  td_file_row_set_path (self, NULL);
  return GTK_WIDGET (self);
}

void
td_file_row_allow_folders (TdFileRow *self)
{
  g_autofree char *label = g_strdup_printf (
      _ ("Choose a folder: %s"), adw_preferences_row_get_title (ADW_PREFERENCES_ROW (self)));
  GtkWidget *button = file_row_add_button (self, "folder-symbolic", _ ("Choose a folder"),
                                           G_CALLBACK (on_choose_folder));

  gtk_button_set_icon_name (GTK_BUTTON (self->choose), "text-x-generic-symbolic");
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, label,
                                  -1);
}
