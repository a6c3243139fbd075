/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "job-row.h"

#include <glib/gi18n.h>

#include "job-log.h"
#include "labels.h"
#include "job-picture.h"
#include "ui.h"

struct _TdJobRow {
  GtkBox parent_instance;
  TdJobItem *item;
  GtkLabel *title, *status, *notes_label;
  GtkMenuButton *notes;
  GtkProgressBar *bar;
  GtkPicture *picture;
  gboolean has_picture; /* or was looked for */
  GtkWidget *again, *table, *first, *recipe, *log, *show, *folder, *finish, *cancel, *dismiss;
};

enum {
  SHOW_REQUESTED,
  AGAIN_REQUESTED,
  DISMISS_REQUESTED,
  RECIPE_REQUESTED,
  TABLE_REQUESTED,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (TdJobRow, td_job_row, GTK_TYPE_BOX)

static void
show_notes (TdJobRow *self)
{
  char **notes = td_job_item_facts (self->item)->notes;
  const guint n = notes ? g_strv_length (notes) : 0;
  g_autofree char *label = g_strdup_printf (ngettext ("%u note", "%u notes", n), n);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < n; i++) {
    g_autofree char *words = td_remote_words (notes[i], td_label_naming);
    g_string_append_printf (text, "%s%s", i ? "\n\n" : "", words);
  }
  gtk_menu_button_set_label (self->notes, label);
  gtk_label_set_text (self->notes_label, text->str);
  gtk_widget_set_visible (GTK_WIDGET (self->notes), n > 0);
}

static void
job_row_update (TdJobRow *self)
{
  TdJobState state = td_job_item_state (self->item);
  gboolean ended = td_job_item_ended (self->item);
  const gboolean is_batch = td_job_item_is_batch (self->item);
  const gboolean is_watch = is_batch && td_job_item_facts (self->item)->watch;
  g_autofree char *status = td_job_item_status (self->item);

  gtk_label_set_text (self->status, status);
  gtk_widget_set_tooltip_text (GTK_WIDGET (self->status), td_job_item_error (self->item));
  gtk_progress_bar_set_fraction (self->bar, td_job_item_fraction (self->item));
  gtk_widget_set_visible (GTK_WIDGET (self->bar), !ended && !is_watch);
  gtk_widget_set_visible (self->table, is_batch);
  gtk_widget_set_visible (self->show,
                          (state == TD_JOB_DONE && !is_batch)
                              || (state == TD_JOB_RUNNING && td_job_item_slices (self->item)));
  gtk_widget_set_visible (self->again, state == TD_JOB_FAILED || state == TD_JOB_CANCELLED);
  gtk_widget_set_visible (self->log, td_job_item_remote (self->item) != NULL);
  gtk_widget_set_visible (self->first, td_job_item_is_own (self->item) && state == TD_JOB_WAITING);
  gtk_widget_set_visible (self->recipe, ended && td_job_item_remote (self->item));
  gtk_widget_set_visible (self->folder, state == TD_JOB_DONE || (is_batch && ended));
  gtk_widget_set_visible (self->finish, td_job_item_can_finish (self->item));
  gtk_widget_set_visible (self->cancel, !ended);
  gtk_widget_set_visible (self->dismiss, ended);
  if (ended)
    show_notes (self);
  if (state == TD_JOB_DONE && !self->has_picture && !is_batch)
    td_job_picture_load (self->picture, self->item);
  self->has_picture = self->has_picture || state == TD_JOB_DONE;
  if (state == TD_JOB_FAILED)
    gtk_widget_add_css_class (GTK_WIDGET (self->status), "error");
}

void
td_job_show_folder (GtkWindow *window, TdJobItem *item)
{
  g_autofree char *folder = td_job_item_is_batch (item)
                                ? g_strdup (td_job_item_output (item))
                                : g_path_get_dirname (td_job_item_output (item));
  g_autoptr (GError) error = NULL;
  g_autofree char *uri = g_filename_to_uri (folder, NULL, &error);

  if (uri)
    gtk_show_uri (window, uri, GDK_CURRENT_TIME);
  else
    g_warning ("%s", error->message);
}

static void
on_show (GtkButton *button, TdJobRow *self)
{
  g_signal_emit (self, signals[SHOW_REQUESTED], 0, self->item);
}

static void
on_again (GtkButton *button, TdJobRow *self)
{
  g_signal_emit (self, signals[AGAIN_REQUESTED], 0, self->item);
}

static void
job_row_on_log (GtkButton *button, TdJobRow *self)
{
  td_job_log_show (GTK_WINDOW (gtk_widget_get_root (GTK_WIDGET (self))),
                   td_job_item_remote (self->item));
}

static void
on_folder (GtkButton *button, TdJobRow *self)
{
  td_job_show_folder (GTK_WINDOW (gtk_widget_get_root (GTK_WIDGET (self))), self->item);
}

static void
on_finish (GtkButton *button, TdJobRow *self)
{
  td_job_item_finish (self->item);
  gtk_widget_set_sensitive (self->finish, FALSE);
}

static void
job_row_on_cancel (GtkButton *button, TdJobRow *self)
{
  td_job_item_cancel (self->item);
}

static void
job_row_on_first (GtkButton *button, TdJobRow *self)
{
  td_job_item_go_first (self->item);
}

static void
job_row_on_recipe (GtkButton *button, TdJobRow *self)
{
  g_signal_emit (self, signals[RECIPE_REQUESTED], 0, self->item);
}

static void
job_row_on_table (GtkButton *button, TdJobRow *self)
{
  g_signal_emit (self, signals[TABLE_REQUESTED], 0, self->item);
}

static void
on_dismiss (GtkButton *button, TdJobRow *self)
{
  g_signal_emit (self, signals[DISMISS_REQUESTED], 0, self->item);
}

static void
td_job_row_finalize (GObject *object)
{
  g_clear_object (&TD_JOB_ROW (object)->item);
  G_OBJECT_CLASS (td_job_row_parent_class)->finalize (object);
}

static void
td_job_row_class_init (TdJobRowClass *class)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS (class);

  G_OBJECT_CLASS (class)->finalize = td_job_row_finalize;
  gtk_widget_class_set_template_from_resource (widget, "/org/tomodesk/ui/job-row.ui");
  td_bind_children (widget, TdJobRow, title, status, notes, notes_label, bar, again, picture, table,
                    first, recipe, log, show, folder, finish, cancel, dismiss);
  td_bind_callbacks (widget, on_show, on_again, on_folder, job_row_on_log, job_row_on_first,
                     job_row_on_table, job_row_on_recipe, on_finish, job_row_on_cancel, on_dismiss);
  signals[SHOW_REQUESTED] = td_signal_new (TD_TYPE_JOB_ROW, "show-requested", 1, TD_TYPE_JOB_ITEM);
  signals[AGAIN_REQUESTED]
      = td_signal_new (TD_TYPE_JOB_ROW, "again-requested", 1, TD_TYPE_JOB_ITEM);
  signals[RECIPE_REQUESTED]
      = td_signal_new (TD_TYPE_JOB_ROW, "recipe-requested", 1, TD_TYPE_JOB_ITEM);
  signals[TABLE_REQUESTED]
      = td_signal_new (TD_TYPE_JOB_ROW, "table-requested", 1, TD_TYPE_JOB_ITEM);
  signals[DISMISS_REQUESTED]
      = td_signal_new (TD_TYPE_JOB_ROW, "dismiss-requested", 1, TD_TYPE_JOB_ITEM);
}

static void
td_job_row_init (TdJobRow *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
}

GtkWidget *
td_job_row_new (TdJobItem *item)
{
  TdJobRow *self = g_object_new (TD_TYPE_JOB_ROW, NULL);

  self->item = g_object_ref (item);
  gtk_label_set_text (self->title, td_job_item_facts (item)->title);
  gtk_widget_set_tooltip_text (GTK_WIDGET (self->title), td_job_item_output (item));
  g_signal_connect_object (item, "changed", G_CALLBACK (job_row_update), self, G_CONNECT_SWAPPED);
  job_row_update (self);
  return GTK_WIDGET (self);
}
