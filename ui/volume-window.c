/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "volume-window.h"

#include <glib/gi18n.h>
#include <string.h>

#include "dataset/volume.h"
#include "labels.h"
#include "number-row.h"
#include "ui.h"

struct _TdVolumeWindow {
  AdwWindow parent_instance;
  AdwWindowTitle *title;
  TdVolumeBrowser *browser;
  char *path;
  char *dataset;         /* as it was stated; NULL: it was not */
  TdScanOptions options; /* what was stated last */
  gboolean undecided;    /* it did not open because nothing says which data set to take */
  GCancellable *asking;  /* ends with the window */
};

G_DEFINE_FINAL_TYPE (TdVolumeWindow, td_volume_window, ADW_TYPE_WINDOW)

/* ── Asking what the files do not say ── */

#define LIST_PX 200 /* a list of data sets is scrolled from that height on */
#define WIDE_PX 440

typedef struct {
  TdVolumeWindow *window;
  char **datasets;     /* path, size, path, size …; NULL: it is no HDF5 file */
  const char *dataset; /* the chosen one */
  GtkWidget *raw, *voxel;
} Question;

static void
question_free (gpointer user, GClosure *closure)
{
  Question *question = user;

  g_strfreev (question->datasets);
  g_free (question);
}

static void
volume_window_close_unanswered (gpointer self)
{
  gtk_window_close (self);
  g_object_unref (self);
}

static void
question_on_response (AdwMessageDialog *dialog, const char *response, Question *question)
{
  TdVolumeWindow *self = question->window;
  g_autoptr (GError) error = NULL;

  /* The dialog is still being closed: a window that goes before it takes what it needs for that. */
  if (strcmp (response, "open") != 0) {
    g_idle_add_once (volume_window_close_unanswered, g_object_ref (self));
    return;
  }
  g_clear_pointer (&self->dataset, g_free);
  self->options
      = (TdScanOptions) { .pixel_mm = td_number_row_get_value (TD_NUMBER_ROW (question->voxel)) };
  if (question->dataset) {
    self->options.dataset = self->dataset = g_strdup (question->dataset);
  } else {
    g_autofree char *raw = g_strdup (gtk_editable_get_text (GTK_EDITABLE (question->raw)));
    g_strstrip (raw);
    if (raw[0] && !td_scan_options_set_raw (&self->options, raw, &error)) {
      g_signal_emit_by_name (self->browser, "failed", error);
      return;
    }
  }
  td_volume_browser_open (self->browser, self->path, &self->options);
}

/* NULL: the list goes. */
static void
question_on_dataset (GtkListBox *list, GtkListBoxRow *row, Question *question)
{
  if (!row)
    return;
  gtk_check_button_set_active (g_object_get_data (G_OBJECT (row), "check"), TRUE);
  question->dataset = question->datasets[2 * gtk_list_box_row_get_index (row)];
}

/* Paths may be long, and differ in any part: each has as many lines as it needs. A hyphen at a
   line's end would be one more letter. */
static GtkWidget *
question_make_dataset (const char *path, const char *size, GtkCheckButton *first)
{
  GtkWidget *row = gtk_list_box_row_new (), *check = gtk_check_button_new ();
  g_autofree char *text = g_strdup_printf ("%s\n%s", path, size);
  g_autoptr (PangoAttrList) attributes = pango_attr_list_new ();

  pango_attr_list_insert (attributes, pango_attr_insert_hyphens_new (FALSE));
  gtk_check_button_set_group (GTK_CHECK_BUTTON (check), first);
  gtk_check_button_set_active (GTK_CHECK_BUTTON (check), !first);
  g_object_set (check, "focusable", FALSE, "can-target", FALSE, "valign", GTK_ALIGN_CENTER, NULL);
  td_set_spoken_name (check, text);
  td_set_spoken_name (row, text);
  g_object_set_data (G_OBJECT (row), "check", check);
  GtkWidget *words = td_label_new (text, NULL);
  g_object_set (words, "hexpand", TRUE, "wrap", TRUE, "wrap-mode", PANGO_WRAP_WORD_CHAR,
                "attributes", attributes, NULL);
  GtkWidget *box = td_box_new (GTK_ORIENTATION_HORIZONTAL, 12, check, words, NULL);
  g_object_set (box, "margin-start", 12, "margin-end", 12, "margin-top", 8, "margin-bottom", 8,
                NULL);
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), box);
  return row;
}

static GtkWidget *
question_make_datasets (Question *question)
{
  GtkWidget *list = gtk_list_box_new (), *scrolled = gtk_scrolled_window_new ();
  GtkCheckButton *first = NULL;
  int high;

  for (char **at = question->datasets; *at; at += 2) {
    GtkWidget *row = question_make_dataset (at[0], at[1], first);
    if (!first)
      first = g_object_get_data (G_OBJECT (row), "check");
    gtk_list_box_append (GTK_LIST_BOX (list), row);
  }
  question->dataset = question->datasets[0];
  /* What the arrows go to is chosen, since Return opens it. */
  gtk_list_box_set_selection_mode (GTK_LIST_BOX (list), GTK_SELECTION_BROWSE);
  gtk_list_box_select_row (GTK_LIST_BOX (list),
                           gtk_list_box_get_row_at_index (GTK_LIST_BOX (list), 0));
  g_signal_connect (list, "row-selected", G_CALLBACK (question_on_dataset), question);
  td_set_spoken_name (list, _ ("Data set"));
  gtk_widget_add_css_class (list, "boxed-list");
  gtk_widget_measure (list, GTK_ORIENTATION_VERTICAL, WIDE_PX, NULL, &high, NULL, NULL);
  g_object_set (scrolled, "child", list, "hscrollbar-policy", GTK_POLICY_NEVER,
                "min-content-height", MIN (high, LIST_PX), NULL);
  return scrolled;
}

static void
volume_window_ask (TdVolumeWindow *self, const char *problem, char **datasets)
{
  GtkWidget *dialog
      = adw_message_dialog_new (GTK_WINDOW (self), _ ("What is this volume?"), problem);
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12);
  GtkWidget *list = gtk_list_box_new ();
  Question *question = g_new0 (Question, 1);

  question->window = self;
  if (datasets && datasets[0]) {
    question->datasets = datasets;
    gtk_widget_set_size_request (box, WIDE_PX, -1);
    gtk_box_append (GTK_BOX (box), question_make_datasets (question));
  } else {
    g_strfreev (datasets);
    question->raw = g_object_new (
        ADW_TYPE_ENTRY_ROW, "title", _ ("No header, as 1024x768:uint16"), "tooltip-text",
        _ ("Headerless slices: WIDTHxHEIGHT:TYPE[be][:SKIP], for example 512x512:uint16"),
        "activates-default", TRUE, NULL);
    gtk_list_box_append (GTK_LIST_BOX (list), question->raw);
  }
  question->voxel = td_number_row_new (_ ("Voxel (mm)"), _ ("0: not known"), 0, 1000, 0.001, 6);
  gtk_list_box_append (GTK_LIST_BOX (list), question->voxel);
  gtk_list_box_set_selection_mode (GTK_LIST_BOX (list), GTK_SELECTION_NONE);
  gtk_widget_add_css_class (list, "boxed-list");
  gtk_box_append (GTK_BOX (box), list);
  adw_message_dialog_set_extra_child (ADW_MESSAGE_DIALOG (dialog), box);
  adw_message_dialog_add_responses (ADW_MESSAGE_DIALOG (dialog), "close", _ ("_Close"), "open",
                                    _ ("_Open"), NULL);
  adw_message_dialog_set_response_appearance (ADW_MESSAGE_DIALOG (dialog), "open",
                                              ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (ADW_MESSAGE_DIALOG (dialog), "open");
  adw_message_dialog_set_close_response (ADW_MESSAGE_DIALOG (dialog), "close");
  g_signal_connect_data (dialog, "response", G_CALLBACK (question_on_response), question,
                         question_free, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
volume_window_list (GTask *task, gpointer object, gpointer path, GCancellable *cancellable)
{
  g_task_return_pointer (task, td_volume_datasets (path, NULL), (GDestroyNotify) g_strfreev);
}

static void
volume_window_on_listed (GObject *object, GAsyncResult *result, gpointer problem)
{
  TdVolumeWindow *self = TD_VOLUME_WINDOW (object);
  g_autofree char *words = problem;
  char **datasets = g_task_propagate_pointer (G_TASK (result), NULL);

  if (g_cancellable_is_cancelled (self->asking))
    g_strfreev (datasets);
  else if (self->undecided && datasets && datasets[0])
    volume_window_ask (self, _ ("The file holds several data sets. Which one is it?"), datasets);
  else
    volume_window_ask (self, words, datasets);
}

static void
volume_window_on_failed (TdVolumeBrowser *browser, const GError *error, TdVolumeWindow *self)
{
  g_autoptr (GTask) task
      = g_task_new (self, self->asking, volume_window_on_listed, td_label_volume_error (error));

  g_autoptr (TdMessage) message = td_error_message (error);
  g_autofree char *field = td_message_field (message);

  self->undecided = !self->dataset && g_strcmp0 (field, "dataset") == 0;
  g_task_set_check_cancellable (task, FALSE);
  g_task_set_task_data (task, g_strdup (self->path), g_free);
  g_task_run_in_thread (task, volume_window_list);
}

/* ── Object ── */

TdVolumeWindow *
td_volume_window_open (GtkApplication *application, const char *path, const char *colour_map)
{
  TdVolumeWindow *self = g_object_new (TD_TYPE_VOLUME_WINDOW, "application", application,
                                       "default-width", 1100, "default-height", 800, NULL);
  g_autofree char *name = g_path_get_basename (path);
  g_autofree char *folder = g_path_get_dirname (path);

  self->path = g_strdup (path);
  gtk_window_set_title (GTK_WINDOW (self), name);
  adw_window_title_set_title (self->title, name);
  adw_window_title_set_subtitle (self->title, folder);
  td_volume_browser_set_colour_map (self->browser, colour_map);
  td_volume_browser_open (self->browser, path, &self->options);
  gtk_window_present (GTK_WINDOW (self));
  return self;
}

TD_DISPOSE (TdVolumeWindow, td_volume_window)
{
  g_cancellable_cancel (self->asking);
}

TD_FINALIZE (TdVolumeWindow, td_volume_window)
{
  g_object_unref (self->asking);
  g_free (self->path);
  g_free (self->dataset);
}

static void
td_volume_window_class_init (TdVolumeWindowClass *class)
{
  G_OBJECT_CLASS (class)->dispose = td_volume_window_dispose;
  G_OBJECT_CLASS (class)->finalize = td_volume_window_finalize;
}

static void
td_volume_window_init (TdVolumeWindow *self)
{
  GtkWidget *bar = adw_header_bar_new ();

  self->asking = g_cancellable_new ();
  self->title = ADW_WINDOW_TITLE (adw_window_title_new ("", ""));
  adw_header_bar_set_title_widget (ADW_HEADER_BAR (bar), GTK_WIDGET (self->title));
  self->browser = g_object_new (TD_TYPE_VOLUME_BROWSER, "vexpand", TRUE, NULL);
  g_signal_connect_object (self->browser, "failed", G_CALLBACK (volume_window_on_failed), self, 0);
  adw_window_set_content (ADW_WINDOW (self),
                          td_box_new (GTK_ORIENTATION_VERTICAL, 0, bar, self->browser, NULL));
}
