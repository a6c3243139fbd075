/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "window-private.h"

#include <glib/gi18n.h>

#include "demo-scan.h"
#include "settings.h"
#include "ui/open-dialog.h"
#include "ui/window-words.h"

/* ── Opening ── */

static void
open_in_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  const TdScanStatement *statement = data;
  TdScanOptions options;
  GError *error = NULL;
  TdScan *scan = td_scan_statement_options (statement, &options, &error)
                     ? td_scan_open (statement->path, &options, cancellable, &error)
                     : NULL;

  if (scan)
    g_task_return_pointer (task, scan, (GDestroyNotify) td_scan_unref);
  else
    g_task_return_error (task, error);
}

static void
keep_statement (TdWindow *self, const TdScanStatement *statement)
{
  TdScanStatement *old = self->statement;

  self->statement = statement ? td_scan_statement_copy (statement) : NULL;
  td_scan_statement_free (old);
}

/* The scan that is open, stated anew: what was chosen for it still holds. */
static gboolean
is_same_detector (const TdScanFacts *open, const TdScanFacts *opened)
{
  return open && g_strcmp0 (open->path, opened->path) == 0 && open->n_columns == opened->n_columns
         && open->n_rows == opened->n_rows && open->n_views == opened->n_views
         && open->geometry.beam == opened->geometry.beam;
}

static void
free_statement (gpointer statement)
{
  td_scan_statement_free (statement);
}

static void
on_details_accepted (TdOpenDialog *dialog, gpointer statement, TdWindow *self)
{
  td_window_open_statement (self, statement);
}

static void
ask_details (TdWindow *self, const TdScanStatement *statement, const char *problem)
{
  GtkWidget *dialog = td_open_dialog_new (GTK_WINDOW (self), statement, problem);

  g_signal_connect_object (dialog, "accepted", G_CALLBACK (on_details_accepted), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
on_failure_response (AdwMessageDialog *dialog, const char *response, TdWindow *self)
{
  if (g_strcmp0 (response, "details") == 0)
    ask_details (self, g_object_get_data (G_OBJECT (dialog), "statement"),
                 adw_message_dialog_get_body (dialog));
}

static void
offer_details (TdWindow *self, const TdScanStatement *statement, const char *problem)
{
  GtkWidget *dialog
      = adw_message_dialog_new (GTK_WINDOW (self), _ ("This scan does not open"), problem);

  adw_message_dialog_add_responses (ADW_MESSAGE_DIALOG (dialog), "details",
                                    _ ("Open with _Details…"), "close", _ ("_Close"), NULL);
  adw_message_dialog_set_default_response (ADW_MESSAGE_DIALOG (dialog), "close");
  adw_message_dialog_set_close_response (ADW_MESSAGE_DIALOG (dialog), "close");
  g_object_set_data_full (G_OBJECT (dialog), "statement", td_scan_statement_copy (statement),
                          free_statement);
  g_signal_connect_object (dialog, "response", G_CALLBACK (on_failure_response), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
show_failure (TdWindow *self, const TdScanStatement *statement, const GError *error)
{
  g_autofree char *words = td_window_words (error->message);
  g_autofree char *escaped = g_markup_escape_text (words, -1);

  /* An open scan stays: only the message says that the other did not open. */
  if (td_session_scan (self->session)) {
    gtk_stack_set_visible_child_name (self->stack, "scan");
    offer_details (self, statement, words);
    return;
  }
  keep_statement (self, statement);
  g_free (self->failure);
  self->failure = g_steal_pointer (&words);
  adw_status_page_set_description (self->failed_page, escaped);
  gtk_stack_set_visible_child_name (self->stack, "failed");
}

static void
on_opened (GObject *source, GAsyncResult *result, gpointer user)
{
  TdWindow *self = TD_WINDOW (source);
  const TdScanStatement *statement = g_task_get_task_data (G_TASK (result));
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = g_task_propagate_pointer (G_TASK (result), &error);

  /* A newer opening, or the window's end, has taken the place of this one. */
  if (self->opening != g_task_get_cancellable (G_TASK (result)))
    return;
  g_clear_object (&self->opening);
  if (!scan) {
    show_failure (self, statement, error);
    return;
  }
  const gboolean stated_anew
      = is_same_detector (td_session_facts (self->session), td_scan_facts (scan));
  TdRecipe recipe = *td_session_recipe (self->session);
  if (!stated_anew)
    td_window_preset_recipe (self, &recipe);
  td_window_remember_recipe (self);
  keep_statement (self, statement);
  td_settings_add_recent (self->settings, statement->path);
  td_settings_set_details (
      self->settings, statement->path,
      td_scan_statement_is_plain (statement) ? NULL : td_scan_statement_to_variant (statement));
  td_session_open (self->session, scan, &recipe);
  if (!stated_anew)
    td_window_recall_recipe (self);
}

static void
stop_opening (TdWindow *self)
{
  if (self->opening)
    g_cancellable_cancel (self->opening);
  g_clear_object (&self->opening);
}

void
td_window_open_statement (TdWindow *self, const TdScanStatement *statement)
{
  g_autofree char *name = g_path_get_basename (statement->path);
  g_autofree char *text = g_strdup_printf (_ ("Opening %s"), name);

  stop_opening (self);
  self->opening = g_cancellable_new ();
  gtk_label_set_text (self->opening_label, text);
  gtk_stack_set_visible_child_name (self->stack, "opening");
  g_autoptr (GTask) task = g_task_new (self, self->opening, on_opened, NULL);
  g_task_set_task_data (task, td_scan_statement_copy (statement), free_statement);
  g_task_run_in_thread (task, open_in_thread);
}

/* What was stated about a scan when it was opened last is stated again. */
void
td_window_open_path (TdWindow *self, const char *path)
{
  g_autoptr (GVariant) details = td_settings_get_details (self->settings, path);
  g_autoptr (TdScanStatement) statement
      = details ? td_scan_statement_from_variant (path, details) : td_scan_statement_new (path);

  td_window_open_statement (self, statement);
}

static void
on_open_details (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  TdWindow *self = user;
  const gboolean failed = g_strcmp0 (td_window_state (self), "failed") == 0;

  ask_details (self, self->statement, failed ? self->failure : NULL);
}

static void
on_close_scan (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  TdWindow *self = user;
  TdRecipe recipe;

  stop_opening (self);
  td_window_remember_recipe (self);
  keep_statement (self, NULL);
  td_window_preset_recipe (self, &recipe);
  td_session_open (self->session, NULL, &recipe);
}

/* The scan that was open before stays as it was. */
static void
on_cancel_opening (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  TdWindow *self = user;

  stop_opening (self);
  gtk_stack_set_visible_child_name (self->stack,
                                    td_session_scan (self->session) ? "scan" : "empty");
}

static void
on_open_demo (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  TdWindow *self = user;
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = td_demo_scan_new (&error);
  TdRecipe recipe;

  if (!scan) {
    td_window_error_dialog (self, _ ("There is no demonstration"), error->message);
    return;
  }
  stop_opening (self);
  td_window_remember_recipe (self);
  keep_statement (self, NULL);
  td_window_preset_recipe (self, &recipe);
  td_session_open (self->session, scan, &recipe);
}

static void
on_open_path (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  td_window_open_path (user, g_variant_get_string (parameter, NULL));
}

/* ── Choosing files ── */

typedef void (*Chosen) (TdWindow *self, const char *path);

static void
window_open_on_response (GtkNativeDialog *dialog, int response, TdWindow *self)
{
  Chosen chosen = g_object_get_data (G_OBJECT (dialog), "chosen");

  if (response == GTK_RESPONSE_ACCEPT) {
    g_autoptr (GFile) file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog));
    g_autofree char *path = file ? g_file_get_path (file) : NULL;
    if (path)
      chosen (self, path);
    else
      td_window_toast (self, _ ("Only files on this machine’s disks can be used"));
  }
  g_object_unref (dialog);
}

static GtkFileChooser *
window_open_choose (TdWindow *self, const char *title, GtkFileChooserAction action, Chosen chosen)
{
  GtkFileChooserNative *dialog
      = gtk_file_chooser_native_new (title, GTK_WINDOW (self), action, NULL, NULL);

  g_object_set_data (G_OBJECT (dialog), "chosen", chosen);
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (dialog), TRUE);
  g_signal_connect_object (dialog, "response", G_CALLBACK (window_open_on_response), self, 0);
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
  static const char *const scans[]
      = { "*.nxs", "*.nx",   "*.h5",  "*.hdf5", "*.hdf", "*.xtekct", "*.log", "*.rctd",
          "*.tif", "*.tiff", "*.TIF", "*.TIFF", "*.raw", "*.json",   NULL };
  static const char *const all[] = { "*", NULL };
  GtkFileChooser *chooser = window_open_choose (user, _ ("Open a Scan"),
                                                GTK_FILE_CHOOSER_ACTION_OPEN, td_window_open_path);

  add_filter (chooser, _ ("Scans"), scans);
  add_filter (chooser, _ ("All files"), all);
}

static void
on_open_folder (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  window_open_choose (user, _ ("Open a Scan's Folder"), GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER,
                      td_window_open_path);
}

/* ── Recipes ── */

static void
save_recipe (TdWindow *self, const char *path)
{
  g_autoptr (GError) error = NULL;

  if (td_recipe_save (td_session_recipe (self->session), path, &error))
    td_window_toast (self, _ ("Recipe saved"));
  else
    td_window_error_dialog (self, _ ("The recipe was not saved"), error->message);
}

static void
load_recipe (TdWindow *self, const char *path)
{
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  if (td_recipe_load (&recipe, path, &error))
    td_session_edit (self->session, &recipe, NULL);
  else
    td_window_error_dialog (self, _ ("The recipe does not load"), error->message);
}

static void
on_save_recipe (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  TdWindow *self = user;
  GtkFileChooser *chooser
      = window_open_choose (self, _ ("Save the Recipe"), GTK_FILE_CHOOSER_ACTION_SAVE, save_recipe);
  g_autofree char *name
      = g_strdup_printf ("%s.recipe.json", td_session_facts (self->session)->title);

  gtk_file_chooser_set_current_name (chooser, name);
}

static void
on_load_recipe (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  static const char *const recipes[] = { "*.json", NULL };
  GtkFileChooser *chooser
      = window_open_choose (user, _ ("Load a Recipe"), GTK_FILE_CHOOSER_ACTION_OPEN, load_recipe);

  add_filter (chooser, _ ("Recipes"), recipes);
}

/* ── Recent scans ── */

static void
add_recent (TdWindow *self, const char *path)
{
  g_autofree char *name = g_path_get_basename (path);
  g_autofree char *folder = g_path_get_dirname (path);
  GtkWidget *row
      = g_object_new (ADW_TYPE_ACTION_ROW, "use-markup", FALSE, "title", name, "subtitle", folder,
                      "subtitle-lines", 1, "activatable", TRUE, NULL);
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

/* ── Dropping ── */

static gboolean
window_open_on_drop (GtkDropTarget *target, const GValue *value, double x, double y, TdWindow *self)
{
  GSList *files = g_value_get_boxed (value);
  g_autofree char *path = files ? g_file_get_path (files->data) : NULL;

  gtk_widget_remove_css_class (GTK_WIDGET (self->stack), "drop-here");
  if (!path) {
    td_window_toast (self, _ ("Only files on this machine’s disks can be used"));
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

  g_signal_connect (target, "drop", G_CALLBACK (window_open_on_drop), self);
  g_signal_connect (target, "enter", G_CALLBACK (on_drop_enter), self);
  g_signal_connect (target, "leave", G_CALLBACK (on_drop_leave), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (target));
}

void
td_window_add_open_actions (TdWindow *self)
{
  static const GActionEntry entries[] = {
    { .name = "open", .activate = on_open },
    { .name = "open-details", .activate = on_open_details },
    { .name = "open-folder", .activate = on_open_folder },
    { .name = "open-demo", .activate = on_open_demo },
    { .name = "open-path", .activate = on_open_path, .parameter_type = "s" },
    { .name = "close-scan", .activate = on_close_scan },
    { .name = "cancel-opening", .activate = on_cancel_opening },
    { .name = "save-recipe", .activate = on_save_recipe },
    { .name = "load-recipe", .activate = on_load_recipe },
  };

  g_action_map_add_action_entries (G_ACTION_MAP (self), entries, G_N_ELEMENTS (entries), self);
}
