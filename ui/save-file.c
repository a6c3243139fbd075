/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "save-file.h"

#include "labels.h"
#include "ui.h"

typedef struct {
  char *heading, *path;
  TdSaveWork work;
  gpointer what;
  GDestroyNotify free_what;
  TdSaveEnd end;
} Save;

static void
save_file_free (gpointer user)
{
  Save *save = user;

  if (save->free_what)
    save->free_what (save->what);
  g_free (save->heading);
  g_free (save->path);
  g_free (save);
}

/* Worker thread. */
static void
save_file_run (GTask *task, gpointer widget, gpointer user, GCancellable *cancellable)
{
  const Save *save = user;
  GError *error = NULL;

  if (save->work (save->what, save->path, &error))
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_error (task, error);
}

static void
save_file_end (GObject *widget, GAsyncResult *result, gpointer application)
{
  const Save *save = g_task_get_task_data (G_TASK (result));
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (widget));
  g_autoptr (GError) error = NULL;

  const gboolean saved = g_task_propagate_boolean (G_TASK (result), &error);

  if (!saved) {
    g_autofree char *words = td_label_error (error);
    gtk_window_present (GTK_WINDOW (td_telling_dialog_new (
        GTK_IS_WINDOW (root) ? GTK_WINDOW (root) : NULL, save->heading, words)));
  }
  if (save->end)
    save->end (GTK_WIDGET (widget), save->path, saved);
  if (application)
    g_application_release (application);
}

gboolean
td_save_text (gpointer text, const char *path, GError **error)
{
  return g_file_set_contents (path, text, -1, error);
}

void
td_save_file (GtkWidget *widget, const char *heading, const char *path, TdSaveWork work,
              gpointer what, GDestroyNotify free_what, TdSaveEnd end)
{
  GApplication *application = g_application_get_default ();
  g_autoptr (GTask) task = g_task_new (widget, NULL, save_file_end, application);
  Save *save = g_new (Save, 1);

  *save = (Save) { g_strdup (heading), g_strdup (path), work, what, free_what, end };
  g_task_set_task_data (task, save, save_file_free);
  if (application)
    g_application_hold (application);
  g_task_run_in_thread (task, save_file_run);
}
