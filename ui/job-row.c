/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "job-row.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <math.h>

#include "labels.h"
#include "ui.h"
#include "wrap-layout.h"
#include "cluster/remote-job.h"
#include "dataset/sort.h"
#include "dataset/volume.h"

#define MOST_PX 96 /* on a dense screen */
/* Part of the values that are as black or as white as can be. */
#define TAIL 0.01

static char *
job_picture_path (TdJobItem *item)
{
  const TdRemoteFacts *facts = td_job_item_facts (item);
  g_autofree char *name = g_strdup_printf ("%06u.tif", facts->n_slices / 2);

  return facts->folder ? g_build_filename (facts->folder, "slices", name, NULL) : NULL;
}

/* Every so manyth pixel, as grey levels. A slice may be a single row or column of a region. */
static GdkTexture *
job_picture_draw (const float *slice, guint nx, guint ny)
{
  const guint every = MAX (nx, ny) / MOST_PX + 1;
  const guint width = MAX (nx / every, 1), height = MAX (ny / every, 1);
  const gsize n = (gsize) width * height;
  g_autofree float *values = g_new (float, n);
  g_autofree float *sorted = g_new (float, n);
  guchar *pixels = g_malloc (3 * n);

  for (gsize i = 0; i < n; i++) {
    const float value = slice[(i / width) * every * nx + (i % width) * every];
    sorted[i] = values[i] = isfinite (value) ? value : 0;
  }
  const float low = td_float_at_rank (sorted, n, (gsize) (TAIL * n));
  const float high = td_float_at_rank (sorted, n, n - 1 - (gsize) (TAIL * n));
  for (gsize i = 0; i < n; i++) {
    const float level = high > low ? (values[i] - low) / (high - low) : 0;
    pixels[3 * i] = pixels[3 * i + 1] = pixels[3 * i + 2]
        = (guchar) (255 * CLAMP (level, 0, 1) + 0.5f);
  }
  g_autoptr (GBytes) bytes = g_bytes_new_take (pixels, 3 * n);
  return gdk_memory_texture_new ((int) width, (int) height, GDK_MEMORY_R8G8B8, bytes, 3 * width);
}

static void
job_picture_read (GTask *task, gpointer source, gpointer path, GCancellable *cancellable)
{
  GError *error = NULL;
  g_autoptr (TdVolume) volume = td_volume_open (path, &error);
  const TdVolumeFacts *facts = volume ? td_volume_facts (volume) : NULL;
  g_autofree float *slice = facts ? g_try_new (float, (gsize) facts->nx * facts->ny) : NULL;

  if (slice && td_volume_read (volume, 0, 1, slice, &error))
    g_task_return_pointer (task, job_picture_draw (slice, facts->nx, facts->ny), g_object_unref);
  else if (error)
    g_task_return_error (task, error);
  else
    g_task_return_pointer (task, NULL, NULL);
}

static void
job_picture_on_read (GObject *picture, GAsyncResult *result, gpointer user)
{
  g_autoptr (GdkTexture) texture = g_task_propagate_pointer (G_TASK (result), NULL);

  if (!texture)
    return;
  gtk_picture_set_paintable (GTK_PICTURE (picture), GDK_PAINTABLE (texture));
  gtk_widget_set_visible (GTK_WIDGET (picture), TRUE);
}

/* Shows a small picture of the job's middle slice, which stays in the job's folder, as soon as it
   is read. Nothing is shown where there is none. Main thread. */
static void
job_picture_load (GtkPicture *picture, TdJobItem *item)
{
  char *path = job_picture_path (item);

  if (!path)
    return;
  g_autoptr (GTask) task = g_task_new (picture, NULL, job_picture_on_read, NULL);
  g_task_set_task_data (task, path, g_free);
  g_task_run_in_thread (task, job_picture_read);
}

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

/* A window with what a job of a cluster printed, as it is now. Main thread. */
static void
job_log_show (GtkWindow *parent, TdRemoteJob *job)
{
  g_auto (TdRemoteFacts) facts = { 0 };

  td_remote_job_facts (job, &facts);
  g_autofree char *title = g_strdup_printf (_ ("Log of %s"), facts.title);
  GtkWidget *window = g_object_new (ADW_TYPE_WINDOW, "transient-for", parent, "title", title,
                                    "default-width", 760, "default-height", 480, NULL);
  GtkWidget *scroller = gtk_scrolled_window_new ();
  GtkWidget *view
      = g_object_new (GTK_TYPE_TEXT_VIEW, "editable", FALSE, "monospace", TRUE, "left-margin", 12,
                      "right-margin", 12, "top-margin", 6, "bottom-margin", 6, NULL);
  g_autoptr (GTask) task = g_task_new (view, NULL, job_log_on_read, NULL);

  gtk_widget_set_vexpand (scroller, TRUE);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), view);
  adw_window_set_content (ADW_WINDOW (window), td_box_new (GTK_ORIENTATION_VERTICAL, 0,
                                                           adw_header_bar_new (), scroller, NULL));
  gtk_widget_add_css_class (view, "log");
  gtk_text_buffer_set_text (gtk_text_view_get_buffer (GTK_TEXT_VIEW (view)), _ ("Reading the log"),
                            -1);
  GtkEventController *keys = gtk_shortcut_controller_new ();
  gtk_shortcut_controller_add_shortcut (
      GTK_SHORTCUT_CONTROLLER (keys), gtk_shortcut_new (gtk_keyval_trigger_new (GDK_KEY_Escape, 0),
                                                        gtk_named_action_new ("window.close")));
  gtk_widget_add_controller (window, keys);
  g_task_set_task_data (task, td_remote_job_ref (job), (GDestroyNotify) td_remote_job_unref);
  g_task_run_in_thread (task, job_log_read);
  gtk_window_present (GTK_WINDOW (window));
}

struct _TdJobRow {
  GtkBox parent_instance;
  TdJobItem *item;
  GtkLabel *title, *status, *notes_label;
  GtkMenuButton *notes;
  GtkProgressBar *bar;
  GtkPicture *picture;
  gboolean has_picture; /* or was looked for */
  GtkWidget *again, *table, *first, *recipe, *log, *show, *folder, *finish, *cancel, *dismiss;
  GtkWidget *parts, *buttons;
};

static guint requested;

G_DEFINE_FINAL_TYPE (TdJobRow, td_job_row, GTK_TYPE_BOX)

static void
job_row_show_notes (TdJobRow *self)
{
  char **notes = td_job_item_facts (self->item)->notes;
  const guint n = notes ? g_strv_length (notes) : 0;
  g_autofree char *label = g_strdup_printf (ngettext ("%u note", "%u notes", n), n);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < n; i++) {
    g_autofree char *words = td_message_words (notes[i], td_label_naming);
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
  gtk_widget_set_sensitive (self->cancel, !td_job_item_is_cancelling (self->item));
  gtk_widget_set_visible (self->dismiss, ended);
  if (ended)
    job_row_show_notes (self);
  if (state == TD_JOB_DONE && !self->has_picture && !is_batch)
    job_picture_load (self->picture, self->item);
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

/* What is asked for is the button's name. */
static void
job_row_on_request (GtkButton *button, TdJobRow *self)
{
  const char *what = gtk_buildable_get_buildable_id (GTK_BUILDABLE (button));

  g_signal_emit (self, requested, g_quark_from_string (what), self->item);
}

static void
job_row_on_log (GtkButton *button, TdJobRow *self)
{
  job_log_show (GTK_WINDOW (gtk_widget_get_root (GTK_WIDGET (self))),
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

TD_FINALIZE (TdJobRow, td_job_row)
{
  g_clear_object (&self->item);
}

static void
td_job_row_class_init (TdJobRowClass *class)
{
  G_OBJECT_CLASS (class)->finalize = td_job_row_finalize;
  td_bind_template (class, TdJobRow, "/org/tomodesk/ui/job-row.ui", title, status, notes,
                    notes_label, bar, again, picture, table, first, recipe, log, show, folder,
                    finish, cancel, dismiss, parts, buttons);
  td_bind_callbacks (class, job_row_on_request, on_folder, job_row_on_log, job_row_on_first,
                     on_finish, job_row_on_cancel);
  requested = td_signal_new (class, "requested", 1, TD_TYPE_JOB_ITEM);
}

static void
td_job_row_init (TdJobRow *self)
{
  gtk_widget_init_template (GTK_WIDGET (self));
  td_wrap (self->parts, 6);
  td_wrap (self->buttons, 0);
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
