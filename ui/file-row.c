/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "file-row.h"

#include <glib/gi18n.h>

#include "choose-file.h"
#include "ui.h"

struct _TdFileRow {
  AdwActionRow parent_instance;
  GtkWidget *choose, *clear;
  const char *none;
  const char *const *patterns;
  char *path;
};

G_DEFINE_FINAL_TYPE (TdFileRow, td_file_row, ADW_TYPE_ACTION_ROW)

/* ── Choosing ── */

static void
file_row_take (gpointer user, const char *path)
{
  g_signal_emit_by_name (user, "chosen", path);
}

static void
file_row_on_choose (GtkWidget *button, TdFileRow *self)
{
  const char *title = adw_preferences_row_get_title (ADW_PREFERENCES_ROW (self));
  const GtkFileChooserAction action = button == self->choose
                                          ? GTK_FILE_CHOOSER_ACTION_OPEN
                                          : GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER;
  GtkFileChooser *chooser = td_choose_file (GTK_WIDGET (self), title, action, file_row_take, self);

  if (self->patterns && action == GTK_FILE_CHOOSER_ACTION_OPEN) {
    td_choose_file_add_filter (chooser, title, self->patterns);
    td_choose_file_add_filter (chooser, _ ("All files"), NULL);
  }
  if (self->path) {
    g_autoptr (GFile) file = g_file_new_for_path (self->path);
    gtk_file_chooser_set_file (chooser, file, NULL);
  }
}

static void
on_clear (GtkButton *button, TdFileRow *self)
{
  g_signal_emit_by_name (self, "chosen", NULL);
}

static gboolean
file_row_on_drop (GtkDropTarget *target, const GValue *value, double x, double y, TdFileRow *self)
{
  GSList *files = g_value_get_boxed (value);

  if (!files)
    return FALSE;
  g_autofree char *path = g_file_get_path (files->data);
  file_row_take (self, path);
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
  adw_action_row_set_subtitle (ADW_ACTION_ROW (self), problem);
  gtk_widget_set_tooltip_text (GTK_WIDGET (self), problem);
  gtk_widget_set_visible (self->clear, TRUE);
  gtk_widget_add_css_class (GTK_WIDGET (self), "wrong");
}

/* ── Widget ── */

static GtkWidget *
file_row_add_button (TdFileRow *self, const char *icon, const char *tip, GCallback clicked)
{
  GtkWidget *button = td_symbol_button (icon, tip, clicked, self);

  adw_action_row_add_suffix (ADW_ACTION_ROW (self), button);
  return button;
}

TD_FINALIZE (TdFileRow, td_file_row)
{
  g_free (self->path);
}

static void
td_file_row_class_init (TdFileRowClass *class)
{
  G_OBJECT_CLASS (class)->finalize = td_file_row_finalize;
  td_signal_new (class, "chosen", 1, G_TYPE_STRING);
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

void
td_file_row_offer (TdFileRow *self, const char *none, const char *const *patterns)
{
  const char *title = adw_preferences_row_get_title (ADW_PREFERENCES_ROW (self));
  g_autofree char *choose = g_strdup_printf (_ ("Choose: %s"), title);
  g_autofree char *clear = g_strdup_printf (_ ("None: %s"), title);

  self->none = none;
  self->patterns = patterns;
  td_set_spoken_name (self->choose, choose);
  td_set_spoken_name (self->clear, clear);
  td_file_row_set_path (self, NULL);
}

GtkWidget *
td_file_row_new (const char *title, const char *none, const char *const *patterns)
{
  TdFileRow *self = g_object_new (TD_TYPE_FILE_ROW, "title", title, NULL);

  td_file_row_offer (self, none, patterns);
  return GTK_WIDGET (self);
}

void
td_file_row_allow_folders (TdFileRow *self)
{
  g_autofree char *label = g_strdup_printf (
      _ ("Choose a folder: %s"), adw_preferences_row_get_title (ADW_PREFERENCES_ROW (self)));
  GtkWidget *button = file_row_add_button (self, "folder-symbolic", _ ("Choose a folder"),
                                           G_CALLBACK (file_row_on_choose));

  gtk_button_set_icon_name (GTK_BUTTON (self->choose), "text-x-generic-symbolic");
  td_set_spoken_name (button, label);
}
