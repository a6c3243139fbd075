/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs-window.h"

#include <glib/gi18n.h>

#include "job-row.h"
#include "save-file.h"
#include "ui.h"

struct _TdJobsWindow {
  AdwWindow parent_instance;
  GListModel *jobs;
  GtkStack *stack;
  GtkListBox *list;
  GtkToggleButton *pause;
};

static guint requested;

G_DEFINE_FINAL_TYPE (TdJobsWindow, td_jobs_window, ADW_TYPE_WINDOW)

static void jobs_window_on_pause (GtkToggleButton *button, TdJobsWindow *self);

/* Worker thread. */
static void
jobs_window_look (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  g_task_return_boolean (task, td_remote_jobs_are_paused ());
}

static void
jobs_window_on_looked (GObject *window, GAsyncResult *result, gpointer user)
{
  TdJobsWindow *self = TD_JOBS_WINDOW (window);
  const gboolean paused = g_task_propagate_boolean (G_TASK (result), NULL);

  if (!self->jobs) /* the window has gone */
    return;
  g_signal_handlers_block_by_func (self->pause, jobs_window_on_pause, self);
  gtk_toggle_button_set_active (self->pause, paused);
  g_signal_handlers_unblock_by_func (self->pause, jobs_window_on_pause, self);
}

/* The button says what is so. */
static void
jobs_window_show_pause (TdJobsWindow *self)
{
  g_autoptr (GTask) task = g_task_new (self, NULL, jobs_window_on_looked, NULL);

  g_task_run_in_thread (task, jobs_window_look);
}

static gboolean
jobs_window_pause (gpointer pause, const char *unused, GError **error)
{
  return td_remote_jobs_pause (pause != NULL, error);
}

static void
jobs_window_on_paused (GtkWidget *window, const char *unused, gboolean done)
{
  if (!done)
    jobs_window_show_pause (TD_JOBS_WINDOW (window));
}

static void
jobs_window_on_pause (GtkToggleButton *button, TdJobsWindow *self)
{
  td_save_file (GTK_WIDGET (self), _ ("The queue goes on as it was"), NULL, jobs_window_pause,
                gtk_toggle_button_get_active (button) ? self : NULL, NULL, jobs_window_on_paused);
}

static void
jobs_window_on_batch (GtkButton *button, TdJobsWindow *self)
{
  g_signal_emit_by_name (self, "batch-requested");
}

static void
jobs_window_on_changed (TdJobsWindow *self)
{
  gtk_stack_set_visible_child_name (self->stack,
                                    g_list_model_get_n_items (self->jobs) > 0 ? "jobs" : "empty");
}

static void
jobs_window_on_requested (GtkWidget *row, TdJobItem *item, TdJobsWindow *self)
{
  g_signal_emit (self, requested, g_signal_get_invocation_hint (row)->detail, item);
}

/* Ids begin with the time. */
static int
jobs_window_newest_first (gconstpointer a, gconstpointer b, gpointer user)
{
  return -g_strcmp0 (td_job_item_facts ((gpointer) a)->id, td_job_item_facts ((gpointer) b)->id);
}

static GtkWidget *
jobs_window_make_row (gpointer item, gpointer self)
{
  GtkWidget *row = td_job_row_new (item);

  g_signal_connect_object (row, "requested", G_CALLBACK (jobs_window_on_requested), self, 0);
  return row;
}

TD_DISPOSE (TdJobsWindow, td_jobs_window)
{
  g_clear_object (&self->jobs);
}

static void
td_jobs_window_class_init (TdJobsWindowClass *class)
{
  G_OBJECT_CLASS (class)->dispose = td_jobs_window_dispose;
  td_close_on_escape (class);
  td_bind_template (class, TdJobsWindow, "/org/tomodesk/ui/jobs-window.ui", stack, list, pause);
  td_bind_callbacks (class, jobs_window_on_pause, jobs_window_on_batch);
  td_signal_new (class, "batch-requested", 0);
  requested = td_signal_new (class, "requested", 1, TD_TYPE_JOB_ITEM);
}

static void
td_jobs_window_init (TdJobsWindow *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  td_size_for_text (GTK_WINDOW (self));
  jobs_window_show_pause (self);
}

GtkWidget *
td_jobs_window_new (GtkWindow *parent, TdJobQueue *jobs)
{
  TdJobsWindow *self = g_object_new (TD_TYPE_JOBS_WINDOW, "transient-for", parent, NULL);

  self->jobs = g_object_ref (td_job_queue_model (jobs));
  GtkSorter *newest = GTK_SORTER (gtk_custom_sorter_new (jobs_window_newest_first, NULL, NULL));
  g_autoptr (GtkSortListModel) sorted = gtk_sort_list_model_new (g_object_ref (self->jobs), newest);
  gtk_list_box_bind_model (self->list, G_LIST_MODEL (sorted), jobs_window_make_row, self, NULL);
  g_signal_connect_object (self->jobs, "items-changed", G_CALLBACK (jobs_window_on_changed), self,
                           G_CONNECT_SWAPPED);
  jobs_window_on_changed (self);
  return GTK_WIDGET (self);
}
