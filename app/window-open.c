/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "window-private.h"

#include <glib/gi18n.h>

#include "settings.h"

/* ── Opening ────────────────────────────────────────────────────────────────────────────────── */

static void
open_in_thread (GTask *task, gpointer source, gpointer path, GCancellable *cancellable)
{
  GError *error = NULL;
  TdScan *scan = td_scan_open (path, NULL, cancellable, &error);

  if (scan)
    g_task_return_pointer (task, scan, (GDestroyNotify) td_scan_unref);
  else
    g_task_return_error (task, error);
}

static void
preset_recipe (TdWindow *self, TdRecipe *recipe)
{
  g_autofree char *device = g_settings_get_string (self->settings, "device");

  td_recipe_init (recipe);
  g_strlcpy (recipe->devices, device, sizeof recipe->devices);
  recipe->memory_limit_bytes
      = (guint64) (g_settings_get_double (self->settings, "memory-limit-gib") * (1 << 30));
}

static void
show_failure (TdWindow *self, const char *path, const GError *error)
{
  g_autofree char *escaped = g_markup_escape_text (error->message, -1);

  td_settings_remove_recent (self->settings, path);
  /* An open scan stays: only the message says that the other did not open. */
  if (td_session_scan (self->session)) {
    gtk_stack_set_visible_child_name (self->stack, "scan");
    td_window_error_dialog (self, _("This scan does not open"), error->message);
    return;
  }
  adw_status_page_set_description (self->failed_page, escaped);
  gtk_stack_set_visible_child_name (self->stack, "failed");
}

static void
on_opened (GObject *source, GAsyncResult *result, gpointer user)
{
  TdWindow *self = TD_WINDOW (source);
  const char *path = g_task_get_task_data (G_TASK (result));
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = g_task_propagate_pointer (G_TASK (result), &error);

  /* A newer opening, or the window's end, has taken the place of this one. */
  if (self->opening != g_task_get_cancellable (G_TASK (result)))
    return;
  g_clear_object (&self->opening);
  if (!scan) {
    show_failure (self, path, error);
    return;
  }
  TdRecipe recipe;
  preset_recipe (self, &recipe);
  td_settings_add_recent (self->settings, path);
  td_session_open (self->session, scan, &recipe);
}

static void
stop_opening (TdWindow *self)
{
  if (self->opening)
    g_cancellable_cancel (self->opening);
  g_clear_object (&self->opening);
}

void
td_window_open_path (TdWindow *self, const char *path)
{
  g_autofree char *name = g_path_get_basename (path);
  g_autofree char *text = g_strdup_printf (_("Opening %s"), name);

  stop_opening (self);
  self->opening = g_cancellable_new ();
  gtk_label_set_text (self->opening_label, text);
  gtk_stack_set_visible_child_name (self->stack, "opening");
  g_autoptr (GTask) task = g_task_new (self, self->opening, on_opened, NULL);
  g_task_set_task_data (task, g_strdup (path), g_free);
  g_task_run_in_thread (task, open_in_thread);
}

static void
on_close_scan (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  TdWindow *self = user;
  TdRecipe recipe;

  stop_opening (self);
  preset_recipe (self, &recipe);
  td_session_open (self->session, NULL, &recipe);
}

static void
on_open_path (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  td_window_open_path (user, g_variant_get_string (parameter, NULL));
}

/* ── Choosing files ─────────────────────────────────────────────────────────────────────────── */

typedef void (*Chosen) (TdWindow *self, const char *path);

static void
on_response (GtkNativeDialog *dialog, int response, TdWindow *self)
{
  Chosen chosen = g_object_get_data (G_OBJECT (dialog), "chosen");

  if (response == GTK_RESPONSE_ACCEPT) {
    g_autoptr (GFile) file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
    g_autofree char *path = file ? g_file_get_path (file) : NULL;
    if (path)
      chosen (self, path);
    else
      td_window_toast (self, _("Only files on this machine’s disks can be used"));
  }
  g_object_unref (dialog);
}

static GtkFileChooser *
choose (TdWindow *self, const char *title, GtkFileChooserAction action, Chosen chosen)
{
  GtkFileChooserNative *dialog
      = gtk_file_chooser_native_new (title, GTK_WINDOW (self), action, NULL, NULL);

  g_object_set_data (G_OBJECT (dialog), "chosen", chosen);
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (dialog), TRUE);
  g_signal_connect_object (dialog, "response", G_CALLBACK (on_response), self, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (dialog));
  return GTK_FILE_CHOOSER (dialog);
}

static void
add_filter (GtkFileChooser *chooser, const char *name, const char *const *patterns)
{
  g_autoptr (GtkFileFilter) filter = gtk_file_filter_new ();

  gtk_file_filter_set_name (filter, name);
  for (guint i = 0; patterns[i]; i++)
    gtk_file_filter_add_pattern (filter, patterns[i]);
  gtk_file_chooser_add_filter (chooser, filter);
}

static void
on_open (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  static const char *const scans[] = { "*.nxs", "*.nx", "*.h5", "*.hdf5", "*.hdf", "*.xtekct",
                                       "*.log", "*.rctd", "*.tif",
                                       "*.tiff", "*.TIF", "*.TIFF", "*.raw", "*.json", NULL };
  static const char *const all[] = { "*", NULL };
  GtkFileChooser *chooser
      = choose (user, _("Open a Scan"), GTK_FILE_CHOOSER_ACTION_OPEN, td_window_open_path);

  add_filter (chooser, _("Scans"), scans);
  add_filter (chooser, _("All files"), all);
}

static void
on_open_folder (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  choose (user, _("Open a Scan's Folder"), GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER,
          td_window_open_path);
}

/* ── Recipes ────────────────────────────────────────────────────────────────────────────────── */

static void
save_recipe (TdWindow *self, const char *path)
{
  g_autoptr (GError) error = NULL;

  if (td_recipe_save (td_session_recipe (self->session), path, &error))
    td_window_toast (self, _("Recipe saved"));
  else
    td_window_error_dialog (self, _("The recipe was not saved"), error->message);
}

static void
load_recipe (TdWindow *self, const char *path)
{
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  if (td_recipe_load (&recipe, path, &error))
    td_session_edit (self->session, &recipe, NULL);
  else
    td_window_error_dialog (self, _("The recipe does not load"), error->message);
}

static void
on_save_recipe (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  TdWindow *self = user;
  GtkFileChooser *chooser
      = choose (self, _("Save the Recipe"), GTK_FILE_CHOOSER_ACTION_SAVE, save_recipe);
  g_autofree char *name
      = g_strdup_printf ("%s.recipe.json", td_session_facts (self->session)->title);

  gtk_file_chooser_set_current_name (chooser, name);
}

static void
on_load_recipe (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  static const char *const recipes[] = { "*.json", NULL };
  GtkFileChooser *chooser
      = choose (user, _("Load a Recipe"), GTK_FILE_CHOOSER_ACTION_OPEN, load_recipe);

  add_filter (chooser, _("Recipes"), recipes);
}

/* ── Recent scans ───────────────────────────────────────────────────────────────────────────── */

static void
add_recent (TdWindow *self, const char *path)
{
  g_autofree char *name = g_path_get_basename (path);
  g_autofree char *folder = g_path_get_dirname (path);
  GtkWidget *row = g_object_new (ADW_TYPE_ACTION_ROW, "use-markup", FALSE, "title", name,
                                 "subtitle", folder, "subtitle-lines", 1, "activatable", TRUE,
                                 NULL);
  g_autoptr (GMenuItem) item = g_menu_item_new (name, NULL);

  g_object_set_data_full (G_OBJECT (row), "path", g_strdup (path), g_free);
  gtk_list_box_append (self->recent_list, row);
  g_menu_item_set_action_and_target (item, "win.open-path", "s", path);
  g_menu_append_item (self->recent_menu, item);
}

void
td_window_show_recent (TdWindow *self)
{
  g_auto (GStrv) paths = g_settings_get_strv (self->settings, "recent-scans");
  GtkListBoxRow *row;

  while ((row = gtk_list_box_get_row_at_index (self->recent_list, 0)))
    gtk_list_box_remove (self->recent_list, GTK_WIDGET (row));
  g_menu_remove_all (self->recent_menu);
  for (guint i = 0; paths[i]; i++)
    add_recent (self, paths[i]);
  gtk_widget_set_visible (self->recent_box, paths[0] != NULL);
}

/* ── Dropping ───────────────────────────────────────────────────────────────────────────────── */

static gboolean
on_drop (GtkDropTarget *target, const GValue *value, double x, double y, TdWindow *self)
{
  GSList *files = g_value_get_boxed (value);
  g_autofree char *path = files ? g_file_get_path (files->data) : NULL;

  gtk_widget_remove_css_class (GTK_WIDGET (self->stack), "drop-here");
  if (!path) {
    td_window_toast (self, _("Only files on this machine’s disks can be used"));
    return FALSE;
  }
  if (td_session_scan (self->session) && g_str_has_suffix (path, ".recipe.json"))
    load_recipe (self, path);
  else
    td_window_open_path (self, path);
  return TRUE;
}

static GdkDragAction
on_drop_enter (GtkDropTarget *target, double x, double y, TdWindow *self)
{
  gtk_widget_add_css_class (GTK_WIDGET (self->stack), "drop-here");
  return GDK_ACTION_COPY;
}

static void
on_drop_leave (GtkDropTarget *target, TdWindow *self)
{
  gtk_widget_remove_css_class (GTK_WIDGET (self->stack), "drop-here");
}

void
td_window_add_drop_target (TdWindow *self)
{
  GtkDropTarget *target = gtk_drop_target_new (GDK_TYPE_FILE_LIST, GDK_ACTION_COPY);

  g_signal_connect (target, "drop", G_CALLBACK (on_drop), self);
  g_signal_connect (target, "enter", G_CALLBACK (on_drop_enter), self);
  g_signal_connect (target, "leave", G_CALLBACK (on_drop_leave), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (target));
}

void
td_window_add_open_actions (TdWindow *self)
{
  static const GActionEntry entries[] = {
    { .name = "open", .activate = on_open },
    { .name = "open-folder", .activate = on_open_folder },
    { .name = "open-path", .activate = on_open_path, .parameter_type = "s" },
    { .name = "close-scan", .activate = on_close_scan },
    { .name = "save-recipe", .activate = on_save_recipe },
    { .name = "load-recipe", .activate = on_load_recipe },
  };

  g_action_map_add_action_entries (G_ACTION_MAP (self), entries, G_N_ELEMENTS (entries), self);
}
