/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "job-log.h"

#include <glib/gi18n.h>

static void
job_log_read (GTask *task, gpointer source, gpointer job, GCancellable *cancellable)
{
  GError *error = NULL;
  char *text = td_remote_job_log (job, cancellable, &error);

  if (text)
    g_task_return_pointer (task, text, g_free);
  else
    g_task_return_error (task, error);
}

static void
job_log_on_read (GObject *view, GAsyncResult *result, gpointer user)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *text = g_task_propagate_pointer (G_TASK (result), &error);
  g_autofree char *valid = g_utf8_make_valid (text ? text : error->message, -1);

  gtk_text_buffer_set_text (gtk_text_view_get_buffer (GTK_TEXT_VIEW (view)), valid, -1);
}

void
td_job_log_show (GtkWindow *parent, TdRemoteJob *job)
{
  g_auto (TdRemoteFacts) facts = { 0 };

  td_remote_job_facts (job, &facts);
  g_autofree char *title = g_strdup_printf (_ ("Log of %s"), facts.title);
  GtkWidget *window = g_object_new (ADW_TYPE_WINDOW, "transient-for", parent, "title", title,
                                    "default-width", 760, "default-height", 480, NULL);
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *scroller = gtk_scrolled_window_new ();
  GtkWidget *view
      = g_object_new (GTK_TYPE_TEXT_VIEW, "editable", FALSE, "monospace", TRUE, "left-margin", 12,
                      "right-margin", 12, "top-margin", 6, "bottom-margin", 6, NULL);
  g_autoptr (GTask) task = g_task_new (view, NULL, job_log_on_read, NULL);

  gtk_widget_set_vexpand (scroller, TRUE);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), view);
  gtk_box_append (GTK_BOX (box), adw_header_bar_new ());
  gtk_box_append (GTK_BOX (box), scroller);
  adw_window_set_content (ADW_WINDOW (window), box);
  gtk_widget_add_css_class (view, "log");
  g_task_set_task_data (task, td_remote_job_ref (job), (GDestroyNotify) td_remote_job_unref);
  g_task_run_in_thread (task, job_log_read);
  gtk_window_present (GTK_WINDOW (window));
}
