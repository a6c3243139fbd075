/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs of a cluster in the window. It finds one that was there before, and submits another. It
   shows that job's early slice, its log and its end. The worker computes nothing; the profile
   starts two of it on this computer. The tests run in order in one window. */
#include <glib/gstdio.h>
#include <string.h>

#include "ui-test.h"
#include "ui/job-row.h"
#include "ui/reconstruct-dialog.h"
#include "window-pins.h"
#include "window-test.h"

static TdApplication *application;
static char *scan_path;

static void
write_profile (void)
{
  g_autofree char *folder = g_build_filename (td_test_folder (), "tomodesk", "profiles", NULL);
  g_autofree char *path = g_build_filename (folder, "hall.ini", NULL);
  g_autofree char *broken = g_build_filename (folder, "broken.ini", NULL);
  g_autofree char *text
      = g_strdup_printf ("[Profile]\nkind = local\nranks-per-node = 2\nworker = %s\n"
                         "description = The cluster down the hall\n",
                         g_getenv ("TOMODESK_FAKE_WORKER"));

  g_assert_cmpint (g_mkdir_with_parents (folder, 0700), ==, 0);
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  g_assert_true (g_file_set_contents (broken, "[Profile]\n", -1, NULL));
}

/* A job that another program submitted. */
static void
submit_elsewhere (const char *name)
{
  g_autofree char *output = g_build_filename (td_test_folder (), name, NULL);
  const char *const words[] = { g_getenv ("TOMODESK_CLI"),
                                "submit",
                                scan_path,
                                "--output",
                                output,
                                "--profile",
                                "hall",
                                "--detach",
                                NULL };
  g_autoptr (GError) error = NULL;
  g_autofree char *said = NULL;
  int status;

  g_spawn_sync (NULL, (char **) words, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, &said,
                &status, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (said, ==, "");
  g_assert_cmpint (status, ==, 0);
}

static TdJobItem *
job_at (guint i)
{
  g_autoptr (TdJobItem) item = g_list_model_get_item (td_job_queue_model (td_test_jobs ()), i);
  return item; /* the queue keeps it */
}

static gboolean
matches_title (GtkWidget *row, gpointer title)
{
  return strcmp (gtk_label_get_text (td_test_part (row, "title")), title) == 0;
}

static GtkWidget *
row_of (const char *title)
{
  return td_test_find (GTK_WIDGET (td_test_window), TD_TYPE_JOB_ROW, matches_title,
                       (gpointer) title);
}

static gboolean
is_running (gpointer title)
{
  GtkWidget *row = row_of (title);

  return row && strstr (gtk_label_get_text (td_test_part (row, "status")), "back-project");
}

static gboolean
label_says (GtkWidget *label, gpointer words)
{
  return strstr (gtk_label_get_text (GTK_LABEL (label)), words) != NULL;
}

static gboolean
is_told (gpointer words)
{
  return td_test_find (GTK_WIDGET (td_test_window), GTK_TYPE_LABEL, label_says, words) != NULL;
}

/* Where jobs were looked for in vain is told, too. */
static void
test_found (void)
{
  td_test_wait (is_told, (gpointer) "broken.ini has no line", "the profile that is none");
  td_test_wait (is_running, "before-slow.tif", "the job that was there before");
  g_assert_cmpint (td_job_item_state (job_at (0)), ==, TD_JOB_RUNNING);
}

static void
test_submit (void)
{
  g_autofree char *output = g_build_filename (td_test_folder (), "window-slow.tif", NULL);

  g_autofree char *broken
      = g_build_filename (td_test_folder (), "tomodesk", "profiles", "broken.ini", NULL);

  td_test_open (scan_path);
  td_test_activate ("reconstruct", NULL);
  TdReconstructDialog *dialog
      = TD_RECONSTRUCT_DIALOG (td_test_other_window (TD_TYPE_RECONSTRUCT_DIALOG));
  GtkWidget *where = td_test_part (dialog, "where");
  td_test_wait (td_test_is_visible, where, "the places");
  g_assert_cmpint (g_unlink (broken), ==, 0);
  /* A place that is missing there has a reason. */
  g_assert_nonnull (strstr (adw_preferences_row_get_title (td_test_part (dialog, "no_profiles")),
                            "broken.ini has no line"));
  g_assert_true (adw_combo_row_get_use_subtitle (ADW_COMBO_ROW (where)));
  gtk_editable_set_text (td_test_part (dialog, "path"), output);
  td_test_wait (td_test_is_visible, td_test_part (dialog, "each_device"),
                "this computer's devices");
  adw_combo_row_set_selected (ADW_COMBO_ROW (where), 1);
  td_test_wait (td_test_plan_is_ready, dialog, "the plan");
  g_assert_nonnull (td_test_row (dialog, "The cluster down the hall"));
  GListModel *places = adw_combo_row_get_model (ADW_COMBO_ROW (where));
  const char *const names[] = { "This computer: ", "hall: " };
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    g_assert_true (
        g_str_has_prefix (gtk_string_list_get_string (GTK_STRING_LIST (places), i), names[i]));
  td_test_wait (td_test_is_hidden, td_test_part (dialog, "each_device"),
                "this computer's devices to go");
  td_test_pin_window ("cluster-reconstruct", dialog);
  td_test_click (td_test_part (dialog, "accept"));
  td_test_wait (is_running, "window-slow.tif", "the job to run");
}

static gboolean
slice_is_shown (gpointer unused)
{
  return td_image_pane_get_image (td_test_part (td_test_window, "volume_view.pane")) != NULL;
}

/* The slice that is computed first, long before the volume is there. */
static void
test_early_slice (void)
{
  td_test_show_page ("volume");
  td_test_wait (slice_is_shown, NULL, "the early slice");
  g_assert_cmpint (td_job_item_state (job_at (1)), ==, TD_JOB_RUNNING);
  TdImage *image = td_image_pane_get_image (td_test_part (td_test_window, "volume_view.pane"));
  g_assert_cmpfloat (image->pixels[0], ==, 0);
  g_assert_cmpfloat (image->pixels[15], ==, 15);
  td_test_screenshot (GTK_WIDGET (td_test_window), "cluster-window");
}

static gboolean
log_is_read (gpointer view)
{
  GtkTextBuffer *buffer = gtk_text_view_get_buffer (view);
  GtkTextIter start, end;

  gtk_text_buffer_get_bounds (buffer, &start, &end);
  g_autofree char *text = gtk_text_buffer_get_text (buffer, &start, &end, FALSE);
  return strstr (text, "launch.json") && strstr (text, "back-project");
}

static gboolean
is_log (GtkWidget *widget, gpointer unused)
{
  return gtk_widget_has_css_class (widget, "log");
}

static void
test_log (void)
{
  GtkWidget *view = NULL;
  GListModel *windows = gtk_window_get_toplevels ();

  td_test_click (td_test_part (row_of ("window-slow.tif"), "log"));
  for (guint i = 0; i < g_list_model_get_n_items (windows) && !view; i++) {
    g_autoptr (GtkWidget) window = g_list_model_get_item (windows, i);
    view = td_test_find (window, GTK_TYPE_TEXT_VIEW, is_log, NULL);
  }
  g_assert_nonnull (view);
  td_test_wait (log_is_read, view, "the log");
  GtkWidget *window = GTK_WIDGET (gtk_widget_get_root (view));
  td_test_screenshot (window, "cluster-log");
  gtk_window_destroy (GTK_WINDOW (window));
}

static gboolean
has_ended (gpointer item)
{
  return td_job_item_ended (item);
}

static gboolean
says_refusal (gpointer item)
{
  g_autofree char *status = td_job_item_status (item);

  return strstr (status, "The job goes on as it was: ") != NULL;
}

/* What was asked for and not done is told, until something else is asked for. */
static void
test_refused (void)
{
  TdJobItem *item = job_at (1);
  g_autofree char *taken = g_build_filename (td_job_item_facts (item)->folder, "keep", NULL);

  g_assert_cmpint (g_mkdir (taken, 0700), ==, 0);
  td_job_item_finish (item);
  td_test_wait (says_refusal, item, "why nothing was kept");
  g_assert_cmpint (g_rmdir (taken), ==, 0);
  td_job_item_finish (item);
  g_assert_false (says_refusal (item));
}

static void
test_cancel (void)
{
  for (guint i = 0; i < 2; i++) {
    TdJobItem *item = job_at (i);
    td_test_click (td_test_part (row_of (td_job_item_facts (item)->title), "cancel"));
    td_test_wait (has_ended, item, "the job's end");
    g_assert_cmpint (td_job_item_state (item), ==, TD_JOB_CANCELLED);
  }
  td_test_pin_window ("cluster-cancelled", td_test_window);
}

/* A job that fails says which rank did, where, and why; it can be launched again. */
static void
test_failure (void)
{
  g_autofree char *output = g_build_filename (td_test_folder (), "window-fails.tif", NULL);

  td_test_activate ("reconstruct", NULL);
  TdReconstructDialog *dialog
      = TD_RECONSTRUCT_DIALOG (td_test_other_window (TD_TYPE_RECONSTRUCT_DIALOG));
  td_test_wait (td_test_is_visible, td_test_part (dialog, "where"), "the places");
  gtk_editable_set_text (td_test_part (dialog, "path"), output);
  adw_combo_row_set_selected (td_test_part (dialog, "where"), 1);
  td_test_wait (td_test_plan_is_ready, dialog, "the plan");
  td_test_click (td_test_part (dialog, "accept"));
  td_test_wait (has_ended, job_at (2), "the failure");
  td_test_wait (td_test_message_is_shown, NULL, "the message");
  g_assert_cmpstr (td_job_item_error (job_at (2)), ==,
                   "rank 1 on node7, read: there is no space left");
  td_test_pin_window ("cluster-failed", td_test_window);
  g_assert_true (gtk_widget_get_visible (td_test_part (row_of ("window-fails.tif"), "again")));
}

int
main (int argc, char **argv)
{
  const char *options[] = { "--columns=48", "--rows=16", "--views=60", "--cone", NULL };

  g_test_init (&argc, &argv, NULL);
  g_setenv ("XDG_CONFIG_HOME", td_test_folder (), TRUE);
  g_setenv ("XDG_DATA_HOME", td_test_folder (), TRUE);
  g_setenv ("OMPI_ALLOW_RUN_AS_ROOT", "1", TRUE);
  g_setenv ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", TRUE);
  g_autofree char *mpirun = g_find_program_in_path ("mpirun");
  if (!mpirun) {
    g_test_message ("mpirun is not installed");
    return 77;
  }
  write_profile ();
  scan_path = td_test_phantom ("scan.nxs", options);
  submit_elsewhere ("before-slow.tif");
  application = td_test_start ();
  g_test_add_func ("/cluster/found", test_found);
  g_test_add_func ("/cluster/submit", test_submit);
  g_test_add_func ("/cluster/early-slice", test_early_slice);
  g_test_add_func ("/cluster/log", test_log);
  g_test_add_func ("/cluster/refused", test_refused);
  g_test_add_func ("/cluster/cancel", test_cancel);
  g_test_add_func ("/cluster/failure", test_failure);
  int status = g_test_run ();
  g_object_unref (application);
  td_test_folder_remove ();
  g_free (scan_path);
  td_device_leave (status);
}
