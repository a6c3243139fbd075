/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Batches in the window reconstruct several scans by its recipe and try again what failed. A folder
   is watched while the window is closed. The tests run in order. */
#include <glib/gstdio.h>
#include <string.h>

#include "cluster/remote-job.h"
#include "dataset/volume.h"
#include "ui-test.h"
#include "ui/batch-dialog.h"
#include "ui/batch-window.h"
#include "ui/job-row.h"
#include "ui/jobs-window.h"
#include "ui/number-row.h"
#include "window-pins.h"
#include "window-test.h"

#define ROWS 4

static TdApplication *application;
static char *scans[3], *outputs;

static gboolean
item_has_ended (gpointer item)
{
  return td_job_item_ended (item);
}

static TdJobItem *
last_item (void)
{
  GListModel *model = td_job_queue_model (td_test_jobs ());
  g_autoptr (TdJobItem) item = g_list_model_get_item (model, g_list_model_get_n_items (model) - 1);

  return item; /* the queue keeps it */
}

static const TdBatchRow *
row_of (TdJobItem *item, const char *path)
{
  const GPtrArray *rows = td_job_item_facts (item)->scans;

  for (guint i = 0; i < rows->len; i++)
    if (g_str_equal (((const TdBatchRow *) rows->pdata[i])->path, path))
      return rows->pdata[i];
  return NULL;
}

static gboolean
has_text (GtkWidget *label, gpointer text)
{
  return strstr (gtk_label_get_text (GTK_LABEL (label)), text) != NULL;
}

static gboolean
table_says (gpointer window, const char *text)
{
  return td_test_find (td_test_part (window, "table"), GTK_TYPE_LABEL, has_text, (gpointer) text)
         != NULL;
}

static TdBatchDialog *
open_dialog (void)
{
  td_test_activate ("show-jobs", NULL);
  GtkWindow *jobs = td_test_other_window (TD_TYPE_JOBS_WINDOW);
  td_test_click (td_test_button (jobs, "Batch…"));
  GtkWindow *dialog = td_test_other_window (TD_TYPE_BATCH_DIALOG);
  g_assert_nonnull (dialog);
  return TD_BATCH_DIALOG (dialog);
}

static void
row_says (gpointer dialog, const char *title, const char *text)
{
  const char *subtitle = adw_action_row_get_subtitle (td_test_row (dialog, title));

  g_test_message ("%s: %s", title, subtitle);
  g_assert_nonnull (strstr (subtitle, text));
}

static gboolean
nothing_is_left_to_do (gpointer row)
{
  return strstr (adw_action_row_get_subtitle (row), "To reconstruct: 0.") != NULL;
}

/* What was stated of the scan that is open is shown for the others, if anything was. */
static void
test_stated (void)
{
  static const char *const none[] = { NULL }, *const some[] = { "angles", "0:180", NULL };
  static const char *const *const settings[] = { NULL, none, some };
  const TdRecipe *recipe = td_session_recipe (td_test_session ());

  for (guint i = 0; i < G_N_ELEMENTS (settings); i++) {
    GtkWidget *dialog
        = td_batch_dialog_new (GTK_WINDOW (td_test_window), td_session_engine (td_test_session ()),
                               recipe, (char *const *) settings[i], outputs);
    GtkWidget *stated = td_test_part (dialog, "stated");

    g_assert_cmpint (gtk_widget_get_visible (stated), ==, settings[i] == some);
    g_assert_cmpstr (adw_action_row_get_subtitle (ADW_ACTION_ROW (stated)), ==,
                     settings[i] == some ? "angles 0:180" : "");
    gtk_window_destroy (GTK_WINDOW (dialog));
  }
}

/* Escape closes the dialog and starts nothing. What is chosen decides what is seen, and what is
   missing is told. */
static void
test_states (void)
{
  static const struct {
    gboolean watches;
    guint n_scans;
    const char *folder, *watch, *tip;
  } states[] = {
    { FALSE, 0, "", "", "Needs scans, and a folder for the volumes" },
    { FALSE, 0, "/volumes", "", "Needs scans, and a folder for the volumes" },
    { FALSE, 1, "", "", "Needs scans, and a folder for the volumes" },
    { FALSE, 1, "/volumes", "", NULL },
    { TRUE, 0, "/volumes", "", "Needs a folder to watch, and one for the volumes" },
    { TRUE, 0, "", "/scans", "Needs a folder to watch, and one for the volumes" },
    { TRUE, 0, "/volumes", "/scans", NULL },
    { TRUE, 1, "/volumes", "/scans", NULL },
  };
  GType type = TD_TYPE_BATCH_DIALOG;

  for (guint i = 0; i < G_N_ELEMENTS (states); i++) {
    GtkWidget *dialog
        = td_batch_dialog_new (GTK_WINDOW (td_test_window), td_session_engine (td_test_session ()),
                               td_session_recipe (td_test_session ()), NULL, "");
    gtk_window_present (GTK_WINDOW (dialog));
    for (guint k = 0; k < states[i].n_scans; k++)
      for (guint twice = 0; twice < 2; twice++) /* it is in the list once */
        td_batch_dialog_add (TD_BATCH_DIALOG (dialog), scans[k]);
    gtk_editable_set_text (td_test_part (dialog, "folder"), states[i].folder);
    gtk_editable_set_text (td_test_part (dialog, "watch"), states[i].watch);
    g_object_set (td_test_part (dialog, "which"), "selected", states[i].watches, NULL);
    g_test_message ("state %u", i);
    g_assert_cmpint (gtk_widget_get_visible (td_test_part (dialog, "chosen")), ==,
                     !states[i].watches);
    g_assert_cmpint (gtk_widget_get_visible (td_test_part (dialog, "watched")), ==,
                     states[i].watches);
    g_assert_cmpint (gtk_widget_get_visible (td_test_part (dialog, "none")), ==,
                     states[i].n_scans == 0);
    g_assert_cmpint (gtk_widget_get_visible (td_test_part (dialog, "list")), ==,
                     states[i].n_scans > 0);
    GtkListBox *list = td_test_part (dialog, "list");
    g_assert_cmpint (gtk_list_box_get_row_at_index (list, 0) != NULL, ==, states[i].n_scans > 0);
    g_assert_null (gtk_list_box_get_row_at_index (list, (int) states[i].n_scans));
    g_assert_cmpint (gtk_widget_get_visible (td_test_part (dialog, "together")), ==,
                     !states[i].watches && states[i].n_scans > 0);
    g_assert_cmpstr (gtk_widget_get_tooltip_text (td_test_part (dialog, "accept")), ==,
                     states[i].tip);
    g_assert_false (gtk_widget_get_sensitive (td_test_part (dialog, "accept")));
    td_test_press (dialog, GDK_KEY_Escape);
    td_test_wait (td_test_window_is_gone, &type, "the dialog to close");
  }
}

static gboolean
batch_has_recipe (gpointer item)
{
  TdRecipe recipe;

  return td_job_item_recipe (item, &recipe);
}

/* Each scan's axis is looked for where that is asked, whatever the window's recipe has. */
static void
test_find (void)
{
  const TdRecipe before = *td_session_recipe (td_test_session ());

  g_assert_true (td_remote_jobs_pause (TRUE, NULL)); /* none begins */
  for (guint i = 0; i < 4; i++) {
    g_autofree char *folder = g_strdup_printf ("%s-%u", outputs, i);
    TdRecipe recipe = before, asked;
    recipe.centre_px = 60;
    recipe.centre_auto = i / 2;
    td_session_edit (td_test_session (), &recipe, NULL);
    TdBatchDialog *dialog = open_dialog ();
    gtk_editable_set_text (td_test_part (dialog, "folder"), folder);
    gtk_switch_set_active (td_test_part (dialog, "find"), i % 2);
    td_test_wait (td_test_is_sensitive, td_test_part (dialog, "accept"),
                  "the scan to be looked at");
    td_test_click (td_test_part (dialog, "accept"));
    TdJobItem *item = last_item ();
    td_test_wait (batch_has_recipe, item, "the job to have its recipe");
    g_assert_true (td_job_item_recipe (item, &asked));
    g_assert_cmpint (asked.centre_auto, ==, i > 0);
    gtk_window_destroy (td_test_other_window (TD_TYPE_BATCH_WINDOW));
    td_job_item_cancel (item);
    td_test_wait (item_has_ended, item, "the job's end");
    td_job_item_forget (item);
    td_job_queue_dismiss (td_test_jobs (), item);
  }
  g_assert_true (td_remote_jobs_pause (FALSE, NULL));
  td_session_edit (td_test_session (), &before, NULL);
}

/* What each scan takes, and which is refused, is said before anything starts. */
static void
test_looked_at (void)
{
  TdBatchDialog *dialog = open_dialog ();
  GtkWidget *accept = td_test_part (dialog, "accept");

  gtk_editable_set_text (td_test_part (dialog, "folder"), outputs);
  td_batch_dialog_add (dialog, scans[1]);
  td_batch_dialog_add (dialog, scans[2]);
  td_test_wait (td_test_is_sensitive, accept, "the scans to be looked at");
  row_says (dialog, "one.nxs", "4 of 128 × 128 pixels. Memory: ");
  row_says (dialog, "damaged.nxs", "HDF5");
  row_says (dialog, "two.nxs", "To write: 262.1");
  row_says (dialog, "In all", "To reconstruct: 2. There already: 0. Refused: 1");
  row_says (dialog, "In all", "To write: 524.3");
  row_says (dialog, "In all", "Reading alone: ");
  row_says (dialog, "In all", ". Computing alone: ");
  row_says (dialog, "In all", "Free in the folder: ");
  td_test_pin_window ("batch-looked-at", dialog);
  td_test_click (td_test_button (dialog, "Take one.nxs off the list"));
  td_test_click (td_test_button (dialog, "Take two.nxs off the list"));
  td_test_wait (nothing_is_left_to_do, td_test_row (dialog, "In all"),
                "the damaged scan to be looked at");
  g_assert_false (gtk_widget_get_sensitive (accept)); /* nothing can be done */
  gtk_window_close (GTK_WINDOW (dialog));
  gtk_window_close (td_test_other_window (TD_TYPE_JOBS_WINDOW));
}

/* What the row of problems says. */
static gboolean
begins_with (TdBatchDialog *dialog, const char *text)
{
  AdwPreferencesRow *row = td_test_part (dialog, "problem");

  return gtk_widget_get_visible (GTK_WIDGET (row))
         && g_str_has_prefix (adw_preferences_row_get_title (row), text);
}

static gboolean
is_damaged (GtkWidget *label, gpointer unused)
{
  return strcmp (gtk_label_get_text (GTK_LABEL (label)), "damaged.nxs") == 0;
}

static gboolean
is_listed (gpointer dialog)
{
  return td_test_find (td_test_part (dialog, "list"), GTK_TYPE_LABEL, is_damaged, NULL) != NULL;
}

static gboolean
is_refused (gpointer dialog)
{
  return gtk_widget_get_visible (td_test_part (dialog, "problem"))
         && !gtk_widget_get_sensitive (td_test_part (dialog, "accept"));
}

/* The scan in the window is in the list; the others are added. */
static void
test_dialog (void)
{
  TdBatchDialog *dialog = open_dialog ();
  GtkWidget *accept = td_test_part (dialog, "accept");
  g_autofree char *folder = g_path_get_dirname (scans[0]);
  g_autofree char *twin = g_build_filename (folder, "one.h5", NULL);

  g_autofree char *beside = g_build_filename (folder, "volumes", NULL);
  g_assert_cmpstr (gtk_editable_get_text (td_test_part (dialog, "folder")), ==, beside);
  td_test_wait (td_test_is_sensitive, accept, "a batch that needs nothing more");
  g_assert_null (gtk_widget_get_tooltip_text (accept));
  gtk_editable_set_text (td_test_part (dialog, "folder"), "");
  g_assert_false (gtk_widget_get_sensitive (accept));
  g_assert_cmpstr (gtk_widget_get_tooltip_text (accept), ==,
                   "Needs scans, and a folder for the volumes");
  gtk_editable_set_text (td_test_part (dialog, "folder"), outputs);
  g_assert_false (gtk_widget_get_sensitive (accept)); /* before the scan was looked at */
  td_test_wait (td_test_is_sensitive, accept, "the scan to be looked at");
  gtk_editable_set_text (td_test_part (dialog, "folder"), scans[0]);
  g_assert_false (gtk_widget_get_sensitive (accept)); /* before it is known what it is */
  td_test_wait (is_refused, dialog, "a file to be refused as a folder");
  gtk_editable_set_text (td_test_part (dialog, "folder"), outputs);
  td_test_wait (td_test_is_sensitive, accept, "the scan to be looked at");
  static const char *const rows[] = { "folder", "watch" }, *const titles[]
                                                           = { "Write the Volumes To; folder",
                                                               "Folder to Watch; folder" };
  for (guint i = 0; i < 2; i++) {
    gpointer row = td_test_part (dialog, rows[i]);
    g_autofree char *chosen = td_test_choose_by (td_test_button (row, "Choose…"), outputs);
    g_assert_cmpstr (chosen, ==, titles[i]);
    g_assert_cmpstr (gtk_editable_get_text (row), ==, outputs);
  }
  g_autofree char *files = td_test_choose_by (td_test_button (dialog, "Add Files…"), twin);
  g_assert_cmpstr (files, ==, "Scans of the Batch; open several");
  g_assert_false (gtk_widget_get_sensitive (accept)); /* two volumes of one name */
  g_assert_true (gtk_widget_get_visible (td_test_part (dialog, "problem")));
  td_test_click (td_test_button (dialog, "Take one.h5 off the list"));
  td_test_wait (td_test_is_sensitive, accept, "the scan to be looked at");
  g_autofree char *folders = td_test_choose_by (td_test_button (dialog, "Add Folders…"), beside);
  g_assert_cmpstr (folders, ==, "Folders That Are Scans; folder several");
  td_test_click (td_test_button (dialog, "Take volumes off the list"));
  g_autofree char *all
      = td_test_choose_by (td_test_button (dialog, "Add All in a Folder…"), folder);
  g_assert_cmpstr (all, ==, "A Folder of Scans; folder");
  g_assert_true (begins_with (dialog, "Looking for scans in “"));
  td_test_wait (is_listed, dialog, "the folder's scans");
  td_test_click (td_test_button (dialog, "Take one.nxs off the list"));
  td_batch_dialog_add (dialog, scans[0]);
  adw_combo_row_set_selected (td_test_part (dialog, "format"), TD_VOLUME_BIGTIFF);
  td_test_pin_window ("batch-dialog", dialog);
  gtk_window_close (GTK_WINDOW (dialog));
  gtk_window_close (td_test_other_window (TD_TYPE_JOBS_WINDOW));
}

/* Each scan has an axis of its own; the damaged one does not stop the others. */
static void
test_batch (void)
{
  TdBatchDialog *dialog = open_dialog ();

  td_batch_dialog_add (dialog, scans[1]);
  td_batch_dialog_add (dialog, scans[2]);
  gtk_editable_set_text (td_test_part (dialog, "folder"), outputs);
  adw_combo_row_set_selected (td_test_part (dialog, "format"), TD_VOLUME_BIGTIFF);
  td_test_wait (td_test_is_sensitive, td_test_part (dialog, "accept"), "the scans to be looked at");
  td_test_click (td_test_part (dialog, "accept"));
  TdJobItem *item = last_item ();
  GtkWindow *table = td_test_other_window (TD_TYPE_BATCH_WINDOW);
  g_assert_nonnull (table);
  td_test_wait (item_has_ended, item, "the batch");
  g_assert_cmpint (td_job_item_state (item), ==, TD_JOB_FAILED);
  const TdBatchRow *one = row_of (item, scans[0]), *bad = row_of (item, scans[1]),
                   *two = row_of (item, scans[2]);
  g_assert_cmpint (one->state, ==, TD_BATCH_WRITTEN);
  g_assert_cmpint (bad->state, ==, TD_BATCH_FAILED);
  g_assert_cmpint (two->state, ==, TD_BATCH_WRITTEN);
  g_assert_cmpfloat_with_epsilon (one->centre_px, 64.7, 0.3);
  g_assert_cmpfloat_with_epsilon (two->centre_px, 58.2, 0.3);
  g_assert_cmpfloat (one->sigma_px, >, 0);
  g_autoptr (TdVolume) volume = td_volume_open (two->output, NULL);
  g_assert_cmpuint (td_volume_facts (volume)->n_slices, ==, ROWS);
  g_assert_true (table_says (table, "damaged.nxs"));
  GtkWidget *why = td_test_find (td_test_part (table, "table"), GTK_TYPE_LABEL, has_text,
                                 (gpointer) "damaged, cut");
  td_test_frames (GTK_WIDGET (table));
  g_assert_false (pango_layout_is_ellipsized (gtk_label_get_layout (GTK_LABEL (why))));
  g_autofree char *axis = g_strdup_printf ("%.3f ± ", two->centre_px);
  g_assert_true (table_says (table, axis));
  g_assert_nonnull (strstr (gtk_label_get_text (td_test_part (table, "status")), "1 failed"));
  td_test_pin_window ("batch-window", table);
}

static gboolean
file_is_there (gpointer path)
{
  return g_file_test (path, G_FILE_TEST_EXISTS);
}

/* By the axis, the smaller first; the file has the table's order. */
static void
test_sorted (void)
{
  gpointer table = td_test_other_window (TD_TYPE_BATCH_WINDOW);
  g_autofree char *before = td_batch_window_text (table);

  g_assert_true (g_str_has_prefix (before, "scan,state,centre_px,sigma_px,agreed,seconds,output,"
                                           "error\n"));
  g_assert_true (strstr (before, "one.nxs,done,64.") < strstr (before, "two.nxs,done,58."));
  gtk_drop_down_set_selected (td_test_part (table, "order"), 3);
  g_autofree char *after = td_batch_window_text (table);
  g_assert_true (strstr (after, "two.nxs,done,58.") < strstr (after, "one.nxs,done,64."));
  g_autofree char *path = g_build_filename (td_test_folder (), "table.csv", NULL), *saved = NULL;
  g_autofree char *asked = td_test_choose_by (td_test_part (table, "save"), path);
  g_assert_cmpstr (asked, ==, "Save the Table; save; volumes.csv");
  td_test_wait (file_is_there, path, "the table's file");
  g_assert_true (g_file_get_contents (path, &saved, NULL, NULL));
  g_assert_cmpstr (saved, ==, after);
}

static gboolean
again_has_ended (gpointer old)
{
  return last_item () != old && td_job_item_ended (last_item ());
}

/* The damaged scan is whole now: it alone is computed, and the others keep their axes. */
static void
test_again (void)
{
  gpointer table = td_test_other_window (TD_TYPE_BATCH_WINDOW);
  TdJobItem *old = last_item ();
  g_autofree char *bytes = NULL;
  gsize n;
  GStatBuf before, after;
  g_autofree char *first = g_build_filename (outputs, "one.tif", NULL);

  g_assert_true (g_file_get_contents (scans[2], &bytes, &n, NULL));
  g_assert_true (g_file_set_contents (scans[1], bytes, (gssize) n, NULL));
  g_assert_cmpint (g_stat (first, &before), ==, 0);
  td_test_click (td_test_part (table, "again"));
  td_test_wait (again_has_ended, old, "the retry");
  TdJobItem *item = last_item ();
  g_assert_cmpstr (td_job_item_error (item), ==, NULL);
  g_assert_cmpint (row_of (item, scans[0])->state, ==, TD_BATCH_THERE);
  g_assert_cmpint (row_of (item, scans[1])->state, ==, TD_BATCH_WRITTEN);
  g_assert_cmpfloat (row_of (item, scans[0])->sigma_px, >, 0);
  g_assert_cmpint (g_stat (first, &after), ==, 0);
  g_assert_cmpuint (before.st_ino, ==, after.st_ino);
  g_assert_true (table_says (table, "Was there"));
  gtk_window_close (table);
  gtk_window_close (td_test_other_window (TD_TYPE_JOBS_WINDOW));
}

static gboolean
window_is_gone (gpointer user)
{
  return td_test_window == NULL;
}

static gboolean
item_runs (gpointer item)
{
  return td_job_item_state (item) == TD_JOB_RUNNING;
}

static gboolean
watch_is_found (gpointer unused)
{
  GListModel *model = td_job_queue_model (td_test_jobs ());
  const guint n = g_list_model_get_n_items (model);

  return n > 0 && td_job_item_is_batch (last_item ()) && td_job_item_facts (last_item ())->watch;
}

static gboolean
both_came (gpointer item)
{
  return td_job_item_facts (item)->scans->len == 2;
}

static gboolean
watches_again (gpointer item)
{
  return g_strcmp0 (td_job_item_facts (item)->stage, "watching") == 0;
}

/* Comes as a whole: while it is written in the folder it has another name, of which who watches
   would tell, too. */
static void
arrive (const char *path, const char *bytes, gssize n)
{
  g_autofree char *elsewhere = g_build_filename (td_test_folder (), "elsewhere", NULL);

  g_assert_true (g_file_set_contents (elsewhere, bytes, n, NULL));
  g_assert_cmpint (g_rename (elsewhere, path), ==, 0);
}

/* A scan comes while no window is open; the watching is found again, says what it passed over, and
   stops. */
static void
test_watch (void)
{
  TdBatchDialog *dialog = open_dialog ();
  g_autofree char *incoming = g_build_filename (td_test_folder (), "incoming", NULL);
  g_autofree char *volumes = g_build_filename (td_test_folder (), "came", NULL);
  g_autofree char *output = g_build_filename (volumes, "late.tif", NULL);
  g_autofree char *notes = g_build_filename (incoming, "notes.txt", NULL);
  g_autofree char *late = g_build_filename (incoming, "late.nxs", NULL);
  g_autofree char *bytes = NULL;
  gsize n;

  g_assert_cmpint (g_mkdir (incoming, 0700), ==, 0);
  adw_combo_row_set_selected (td_test_part (dialog, "which"), 1);
  gtk_editable_set_text (td_test_part (dialog, "folder"), volumes);
  g_assert_false (gtk_widget_get_sensitive (td_test_part (dialog, "accept")));
  gtk_editable_set_text (td_test_part (dialog, "watch"), incoming);
  td_number_row_set_value (td_test_part (dialog, "settle"), 0);
  adw_combo_row_set_selected (td_test_part (dialog, "format"), TD_VOLUME_BIGTIFF);
  td_test_wait (td_test_is_sensitive, td_test_part (dialog, "accept"),
                "the folders to be looked at");
  td_test_pin_window ("batch-watch-dialog", dialog);
  td_test_click (td_test_part (dialog, "accept"));
  td_test_wait (item_runs, last_item (), "the watching to begin");
  td_window_leave (td_test_window);
  td_test_wait (window_is_gone, NULL, "the window to be freed");

  arrive (notes, "no scan", -1);
  g_assert_true (g_file_get_contents (scans[0], &bytes, &n, NULL));
  arrive (late, bytes, (gssize) n);
  td_test_wait (file_is_there, output, "the volume");

  g_application_activate (G_APPLICATION (application));
  td_test_window = TD_WINDOW (gtk_application_get_active_window (GTK_APPLICATION (application)));
  g_object_add_weak_pointer (G_OBJECT (td_test_window), (gpointer *) &td_test_window);
  td_test_wait (watch_is_found, NULL, "the watching to be found");
  TdJobItem *item = last_item ();
  td_test_wait (both_came, item, "both rows");
  g_assert_cmpint (row_of (item, notes)->state, ==, TD_BATCH_PASSED);
  g_assert_nonnull (row_of (item, notes)->why);
  td_test_wait (watches_again, item, "the watching to go on");
  td_test_activate ("show-jobs", NULL);
  GtkWidget *row = td_test_find (GTK_WIDGET (td_test_other_window (TD_TYPE_JOBS_WINDOW)),
                                 TD_TYPE_JOB_ROW, NULL, NULL);
  td_test_screenshot (GTK_WIDGET (td_test_other_window (TD_TYPE_JOBS_WINDOW)), "batch-jobs");
  td_test_click (td_test_part (row, "table"));
  GtkWindow *table = td_test_other_window (TD_TYPE_BATCH_WINDOW);
  td_test_screenshot (GTK_WIDGET (table), "batch-watch");
  td_test_click (td_test_part (table, "stop"));
  td_test_wait (item_has_ended, item, "the watching to stop");
  g_assert_cmpint (td_job_item_state (item), ==, TD_JOB_CANCELLED);
  g_autofree char *status = td_job_item_status (item);
  g_assert_cmpstr (status, ==, "Stopped: 1 of 1 scan reconstructed");
}

int
main (int argc, char **argv)
{
  const char *one[] = { "--columns=128", "--rows=4", "--views=120", "--centre=64.7", NULL };
  const char *two[] = { "--columns=128", "--rows=4", "--views=120", "--centre=58.2", NULL };

  g_test_init (&argc, &argv, NULL);
  g_autofree char *folder = g_build_filename (td_test_folder (), "night", NULL);
  g_assert_cmpint (g_mkdir (folder, 0700), ==, 0);
  scans[0] = td_test_phantom ("night/one.nxs", one);
  scans[1] = g_build_filename (folder, "damaged.nxs", NULL);
  scans[2] = td_test_phantom ("night/two.nxs", two);
  outputs = g_build_filename (td_test_folder (), "volumes", NULL);
  g_assert_true (g_file_set_contents (scans[1], "\211HDF\r\n\032\nand no more", -1, NULL));
  application = td_test_start ();
  td_test_open (scans[0]);
  g_test_add_func ("/window-batch/dialog", test_dialog);
  g_test_add_func ("/window-batch/stated", test_stated);
  g_test_add_func ("/window-batch/states", test_states);
  g_test_add_func ("/window-batch/find", test_find);
  g_test_add_func ("/window-batch/looked-at", test_looked_at);
  g_test_add_func ("/window-batch/batch", test_batch);
  g_test_add_func ("/window-batch/sorted", test_sorted);
  g_test_add_func ("/window-batch/again", test_again);
  g_test_add_func ("/window-batch/watch", test_watch);
  int status = g_test_run ();
  g_object_unref (application);
  td_test_folder_remove ();
  for (guint i = 0; i < 3; i++)
    g_free (scans[i]);
  g_free (outputs);
  td_device_leave (status);
}
