/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs of this computer in the window. They queue, a cancelled one leaves what it should, and one
   goes on while the window is closed. The tests run in order. */
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "dataset/volume.h"
#include "ui-test.h"
#include "ui/job-row.h"
#include "ui/devices-window.h"
#include "ui/jobs-window.h"
#include "ui/remote-follower.h"
#include "ui/volume-view.h"
#include "window-pins.h"
#include "window-test.h"

#define COLUMNS 128
#define ROWS 8
#define PASSES 10000 /* the most there may be: no computer is through with them soon */

static TdApplication *application;

static gboolean
folder_is_gone (gpointer folder)
{
  return !g_file_test (folder, G_FILE_TEST_EXISTS);
}

static gboolean
item_has_ended (gpointer item)
{
  return td_job_item_ended (item);
}

static gboolean
item_waits (gpointer item)
{
  return td_job_item_state (item) == TD_JOB_WAITING && td_job_item_facts (item)->paused;
}

static gboolean
item_waits_for_one (gpointer item)
{
  return td_job_item_facts (item)->ahead == 1;
}

/* Processes of the job in the folder: they have its name in their environment. */
static guint
count_processes (const char *folder)
{
  g_autofree char *wanted = g_strconcat ("TOMODESK_JOB=", folder, NULL);
  g_autoptr (GDir) dir = g_dir_open ("/proc", 0, NULL);
  const char *name;
  guint n = 0;

  while ((name = g_dir_read_name (dir))) {
    g_autofree char *path = g_build_filename ("/proc", name, "environ", NULL);
    g_autofree char *text = NULL;
    gsize length = 0;
    if (!g_ascii_isdigit (*name) || !g_file_get_contents (path, &text, &length, NULL))
      continue;
    for (const char *at = text; at < text + length; at += strlen (at) + 1)
      n += strcmp (at, wanted) == 0;
  }
  return n;
}

static char *
output_named (const char *name)
{
  return g_build_filename (td_test_folder (), name, NULL);
}

static gboolean
window_is_gone (gpointer user)
{
  return td_test_window == NULL;
}

/* Nothing begins while the queue pauses; who was asked to go first does. */
static void
test_queue (void)
{
  char *outputs[] = { output_named ("one.tif"), output_named ("two.tif") };
  TdRecipe recipe = *td_session_recipe (td_test_session ());

  recipe.output_format = TD_VOLUME_BIGTIFF;
  g_assert_true (td_remote_jobs_pause (TRUE, NULL));
  g_autoptr (TdJobItem) one = td_test_submit (&recipe, outputs[0]);
  td_test_wait (item_waits, one, "the first job to wait");
  /* Whoever looks for the volume reads how far it is, and is not asked to begin once more. */
  gpointer view = td_test_part (td_test_window, "volume_view");
  td_volume_view_show_job (view, one);
  g_assert_cmpstr (gtk_stack_get_visible_child_name (td_test_part (view, "stack")), ==, "waiting");
  g_autofree char *words = td_job_item_status (one);
  g_assert_cmpstr (adw_status_page_get_description (td_test_part (view, "waiting_page")), ==,
                   words);
  td_test_show_page ("volume");
  td_test_pin_window ("jobs-waiting", view);
  td_test_show_page ("slices");
  td_volume_view_show_job (view, NULL);
  g_autoptr (TdJobItem) two = td_test_submit (&recipe, outputs[1]);
  td_test_wait (item_waits_for_one, two, "the second job to stand behind it");
  td_test_pin_window ("jobs-queue", td_test_part (td_test_window, "jobs_list"));
  td_job_item_go_first (two);
  td_test_wait (item_waits_for_one, one, "the first job to stand behind the second");
  g_assert_true (td_remote_jobs_pause (FALSE, NULL));
  td_test_wait (item_has_ended, two, "the second job");
  td_test_wait (item_has_ended, one, "the first job");
  g_assert_cmpint (td_job_item_state (one), ==, TD_JOB_DONE);
  g_assert_cmpint (td_job_item_state (two), ==, TD_JOB_DONE);
  GStatBuf status[2];
  for (guint i = 0; i < 2; i++)
    g_assert_cmpint (g_stat (outputs[i], &status[i]), ==, 0);
  const gint64 apart_ns
      = (gint64) (status[0].st_mtim.tv_sec - status[1].st_mtim.tv_sec) * 1000000000
        + status[0].st_mtim.tv_nsec - status[1].st_mtim.tv_nsec;
  g_assert_cmpint (apart_ns, >, 0);
  g_free (outputs[0]);
  g_free (outputs[1]);
  td_test_pin_window ("jobs", td_test_part (td_test_window, "jobs_list"));
}

/* A job that waits and one that runs: nothing of either is left. */
static GtkWidget *job_row (const char *title);

static void
test_cancel (void)
{
  g_autofree char *output = output_named ("cancelled.tif");
  TdRecipe recipe = *td_session_recipe (td_test_session ());

  recipe.output_format = TD_VOLUME_BIGTIFF;
  g_assert_true (td_remote_jobs_pause (TRUE, NULL));
  g_autoptr (TdJobItem) item = td_test_submit (&recipe, output);
  td_test_wait (item_waits, item, "the job to wait");
  g_autofree char *folder = g_strdup (td_job_item_facts (item)->folder);
  g_assert_cmpuint (count_processes (folder), >, 0);
  td_job_item_cancel (item);
  /* It is said at once, and not asked for again. */
  GtkWidget *row = job_row ("cancelled.tif");
  g_assert_cmpstr (gtk_label_get_text (td_test_part (row, "status")), ==, "Cancelling");
  g_assert_false (gtk_widget_get_sensitive (td_test_part (row, "cancel")));
  td_test_wait (item_has_ended, item, "the job's end");
  g_assert_cmpint (td_job_item_state (item), ==, TD_JOB_CANCELLED);
  g_assert_cmpuint (count_processes (folder), ==, 0);
  g_assert_false (g_file_test (output, G_FILE_TEST_EXISTS));
  g_assert_true (td_remote_jobs_pause (FALSE, NULL));
  td_job_item_forget (item);
  td_job_queue_dismiss (td_test_jobs (), item);
}

static gboolean
row_has_picture (gpointer row)
{
  return gtk_widget_get_visible (td_test_part (row, "picture"));
}

static int
compare_floats (gconstpointer a, gconstpointer b)
{
  const float x = *(const float *) a, y = *(const float *) b;

  return (x > y) - (x < y);
}

/* The row's picture has every second pixel of the middle slice, grey between its percentiles. */
static void
check_picture (gpointer row, const char *output, guint nx, guint ny)
{
  const guint every = nx > 96 ? 2 : 1, width = MAX (nx / every, 1), height = MAX (ny / every, 1);
  const guint n = width * height;
  GdkPaintable *paintable = gtk_picture_get_paintable (td_test_part (row, "picture"));
  g_autoptr (TdVolume) volume = td_volume_open (output, NULL);
  g_autofree float *slice = g_new (float, nx *ny), *values = g_new (float, n);
  g_autofree float *sorted = g_new (float, n);
  g_autofree guchar *pixels = g_malloc (4 * (gsize) n);

  g_assert_cmpint (gdk_texture_get_width (GDK_TEXTURE (paintable)), ==, width);
  g_assert_cmpint (gdk_texture_get_height (GDK_TEXTURE (paintable)), ==, height);
  gdk_texture_download (GDK_TEXTURE (paintable), pixels, 4 * (gsize) width);
  g_assert_true (td_volume_read (volume, td_volume_facts (volume)->n_slices / 2, 1, slice, NULL));
  for (guint y = 0; y < height; y++)
    for (guint x = 0; x < width; x++)
      sorted[y * width + x] = values[y * width + x] = slice[y * every * nx + x * every];
  qsort (sorted, n, sizeof *sorted, compare_floats);
  const double low = sorted[n / 100], high = sorted[n - 1 - n / 100];
  for (guint i = 0; i < n; i++)
    for (guint c = 0; c < 3; c++)
      g_assert_cmpfloat_with_epsilon (pixels[4 * i + c],
                                      255 * CLAMP ((values[i] - low) / (high - low), 0, 1), 1.5);
}

/* A slice of one line of pixels has a picture as others have. */
static void
test_thin (void)
{
  g_autofree char *output = output_named ("thin.tif");
  TdRecipe recipe = *td_session_recipe (td_test_session ());

  recipe.output_format = TD_VOLUME_BIGTIFF;
  recipe.region[1] = COLUMNS / 2;
  recipe.region[2] = COLUMNS;
  recipe.region[3] = 1;
  g_autoptr (TdJobItem) item = td_test_submit (&recipe, output);
  td_test_wait (item_has_ended, item, "the job of a line");
  g_assert_cmpint (td_job_item_state (item), ==, TD_JOB_DONE);
  td_test_wait (row_has_picture, job_row ("thin.tif"), "the line's picture");
  check_picture (job_row ("thin.tif"), output, COLUMNS, 1);
  td_job_item_forget (item);
  td_job_queue_dismiss (td_test_jobs (), item);
}

static TdJobItem *
item_titled (const char *title)
{
  GListModel *model = td_job_queue_model (td_test_jobs ());

  for (guint i = 0; i < g_list_model_get_n_items (model); i++) {
    g_autoptr (TdJobItem) item = g_list_model_get_item (model, i);
    if (g_strcmp0 (td_job_item_facts (item)->title, title) == 0)
      return item; /* the queue keeps it */
  }
  return NULL;
}

static void
check_volume (const char *output, const TdRecipe *recipe)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdVolume) volume = td_volume_open (output, &error);
  g_autofree float *written = g_new (float, COLUMNS *COLUMNS);

  g_assert_no_error (error);
  g_assert_cmpuint (td_volume_facts (volume)->n_slices, ==, ROWS);
  for (guint row = 0; row < ROWS; row += 3) {
    g_autofree float *expected = td_test_slice_by_job (recipe, row);
    g_assert_true (td_volume_read (volume, row, 1, written, &error));
    g_assert_cmpfloat (td_test_rms_between (written, expected, (gsize) COLUMNS * COLUMNS), <, 1e-6);
  }
}

/* ── Try Again ── */

static GtkWidget *
job_row (const char *title)
{
  GtkListBox *list = td_test_part (td_test_window, "jobs_list");
  GtkListBoxRow *row;
  GtkWidget *found = NULL;

  for (int i = 0; (row = gtk_list_box_get_row_at_index (list, i)); i++) {
    GtkWidget *job = gtk_list_box_row_get_child (row);
    if (strcmp (gtk_label_get_text (td_test_part (job, "title")), title) == 0) {
      g_assert_null (found);
      found = job;
    }
  }
  return found;
}

static gboolean
named_has_ended (gpointer name)
{
  return td_job_item_ended (item_titled (name));
}

/* What its row says once it has ended; "": it is done. */
static char *
what_failed (const char *name)
{
  td_test_wait (named_has_ended, (gpointer) name, "the job's end");
  GtkWidget *row = job_row (name);
  const gboolean done = td_job_item_state (item_titled (name)) == TD_JOB_DONE;
  g_assert_cmpint (gtk_widget_get_visible (td_test_part (row, "again")), ==, !done);
  return g_strdup (done ? "" : gtk_label_get_text (td_test_part (row, "status")));
}

static void
assert_fails (const char *name, const char *words)
{
  g_autofree char *text = what_failed (name);

  if (!strstr (text, words))
    g_error ("%s failed so: %s", name, text);
}

static void
try_again (const char *name)
{
  GtkWindow *message = td_test_other_window (ADW_TYPE_MESSAGE_DIALOG);

  if (message)
    gtk_window_destroy (message);
  td_test_click (td_test_part (job_row (name), "again"));
  g_assert_false (td_job_item_ended (item_titled (name)));
}

static gboolean
is_unmounted (gpointer folder)
{
  return umount (folder) == 0;
}

/* A job fails for one reason and the next, then for none. Each time its row says why, and Try
   Again is there until it is done. */
static void
test_again (void)
{
  g_autofree char *folder = output_named ("again");
  g_autofree char *output = g_build_filename (folder, "again.tif", NULL);
  g_autofree char *filler = g_build_filename (folder, "filler", NULL);
  g_autofree char *scan = g_strdup (td_session_facts (td_test_session ())->path);
  g_autofree char *moved = g_strconcat (scan, ".moved", NULL);
  g_autofree char *zeros = g_malloc0 (4 << 20);
  TdRecipe recipe = *td_session_recipe (td_test_session ());

  recipe.output_format = TD_VOLUME_BIGTIFF;
  g_autoptr (TdJobItem) item = td_test_submit (&recipe, output);
  assert_fails ("again.tif", "again” does not exist");
  td_test_pin_window ("jobs-failed", job_row ("again.tif"));
  try_again ("again.tif");
  assert_fails ("again.tif", "again” does not exist");
  g_assert_cmpint (g_mkdir (folder, 0700), ==, 0);
  g_assert_cmpint (g_rename (scan, moved), ==, 0);
  try_again ("again.tif");
  assert_fails ("again.tif", "scan.nxs” does not exist");
  g_assert_cmpint (g_rename (moved, scan), ==, 0);
  const gboolean full = mount ("tmpfs", folder, "tmpfs", 0, "size=3m") == 0; /* by root */
  if (full) {
    g_assert_true (
        g_file_set_contents_full (filler, zeros, 2500000, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
    try_again ("again.tif");
    assert_fails ("again.tif", "free some space or write elsewhere");
    g_unlink (filler);
  }
  try_again ("again.tif");
  assert_fails ("again.tif", "");
  check_volume (output, &recipe);
  if (full) /* its small picture may still be read there */
    td_test_wait (is_unmounted, folder, "the small disk to be left");
}

static gboolean
passes_are_done (gpointer name)
{
  const TdRemoteFacts *facts = td_job_item_facts (item_titled (name));

  return facts->residuals->len >= 3 && facts->slices->len > 0;
}

static gboolean
named_waits (gpointer name)
{
  return item_waits (item_titled (name));
}

/* Kills a job without a word: the processes that have its folder in their environment. */
static void
kill_job (const char *folder)
{
  g_autofree char *wanted = g_strconcat ("TOMODESK_JOB=", folder, NULL);
  g_autoptr (GDir) dir = g_dir_open ("/proc", 0, NULL);
  const char *name;

  while ((name = g_dir_read_name (dir))) {
    g_autofree char *path = g_build_filename ("/proc", name, "environ", NULL);
    g_autofree char *text = NULL;
    gsize length = 0;
    if (g_ascii_isdigit (*name) && g_file_get_contents (path, &text, &length, NULL)
        && memmem (text, length, wanted, strlen (wanted) + 1))
      kill ((pid_t) g_ascii_strtoll (name, NULL, 10), SIGKILL);
  }
}

static gboolean
follower_is_over (gpointer follower)
{
  g_autofree char *problem = NULL;

  return td_remote_follower_is_over (follower, &problem);
}

/* The session's, by iterations that do not end soon. */
static TdRecipe
iterating_recipe (void)
{
  TdRecipe recipe = *td_session_recipe (td_test_session ());

  recipe.output_format = TD_VOLUME_BIGTIFF;
  recipe.method = TD_METHOD_SIRT;
  recipe.iterations = PASSES;
  recipe.tolerance = 0;
  return recipe;
}

typedef struct {
  GHashTable *before; /* threads that looked at jobs */
  char *task;         /* of the one that came */
} Follower;

/* Takes those there are, or finds one that was not. */
static gboolean
follower_came (gpointer user)
{
  Follower *follower = user;
  g_autoptr (GDir) tasks = g_dir_open ("/proc/self/task", 0, NULL);
  const gboolean first = !follower->before;

  if (first)
    follower->before = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (const char *id; (id = g_dir_read_name (tasks)) && !follower->task;) {
    g_autofree char *task = g_build_filename ("/proc/self/task", id, NULL);
    g_autofree char *path = g_build_filename (task, "comm", NULL);
    g_autofree char *name = NULL;
    if (!g_file_get_contents (path, &name, NULL, NULL) || !g_str_equal (name, "remote job\n"))
      continue;
    if (first)
      g_hash_table_add (follower->before, g_steal_pointer (&task));
    else if (!g_hash_table_contains (follower->before, task))
      follower->task = g_steal_pointer (&task);
  }
  return follower->task != NULL;
}

static gboolean
follower_went (gpointer follower)
{
  return !g_file_test (((Follower *) follower)->task, G_FILE_TEST_EXISTS);
}

/* Who is let go of looks at the job no more. */
static void
assert_follower_goes (TdJobItem *item)
{
  Follower follower = { NULL };

  follower_came (&follower);
  TdRemoteFollower *left = td_remote_follower_new (td_job_item_remote (item), TD_REMOTE_WATCH);
  td_test_wait (follower_came, &follower, "its thread to begin");
  td_remote_follower_free (left);
  td_test_wait (follower_went, &follower, "its thread to end");
  g_hash_table_unref (follower.before);
  g_free (follower.task);
}

/* Nothing of the run before is told of the next one: neither passes nor slices nor notes. */
static void
test_again_anew (void)
{
  g_autofree char *output = output_named ("anew.tif");
  TdRecipe recipe = iterating_recipe ();

  g_autoptr (TdJobItem) item = td_test_submit (&recipe, output);
  td_test_wait (passes_are_done, (gpointer) "anew.tif", "three passes");
  g_autofree char *folder = g_strdup (td_job_item_facts (item)->folder);
  kill_job (folder);
  assert_fails ("anew.tif", "gone without a word");
  g_assert_true (td_remote_jobs_pause (TRUE, NULL));
  try_again ("anew.tif");
  td_test_wait (named_waits, (gpointer) "anew.tif", "the job to wait");
  const TdRemoteFacts *facts = td_job_item_facts (item_titled ("anew.tif"));
  g_assert_cmpuint (facts->residuals->len, ==, 0);
  g_assert_cmpuint (facts->slices->len, ==, 0);
  g_assert_cmpuint (facts->nx, ==, 0);
  g_assert_cmpuint (g_strv_length (facts->notes), ==, 0);
  g_assert_cmpfloat (facts->fraction, ==, 0);
  assert_follower_goes (item_titled ("anew.tif"));
  td_job_item_cancel (item_titled ("anew.tif"));
  assert_fails ("anew.tif", "Cancelled");
  td_test_pin_window ("jobs-cancelled", job_row ("anew.tif"));
  g_assert_true (td_remote_jobs_pause (FALSE, NULL));
  /* Somebody cleared the jobs away: it cannot go on, and says why. */
  g_autofree char *away = g_strconcat (folder, ".away", NULL);
  g_assert_cmpint (g_rename (folder, away), ==, 0);
  try_again ("anew.tif");
  assert_fails ("anew.tif", "is gone: reconstruct the scan once more");
  /* The sentence can still be said in another language, with the window's names. */
  g_autofree char *problem = NULL;
  TdRemoteFollower *follower
      = td_remote_follower_new (td_job_item_remote (item_titled ("anew.tif")), TD_REMOTE_AGAIN);
  td_test_wait (follower_is_over, follower, "the follower to end");
  g_assert_true (td_remote_follower_is_over (follower, &problem));
  g_assert_true (g_str_has_prefix (problem, "{\"id\":"));
  td_remote_follower_free (follower);
  g_assert_cmpint (g_rename (away, folder), ==, 0);
  td_job_item_forget (item_titled ("anew.tif"));
  td_job_queue_dismiss (td_test_jobs (), item_titled ("anew.tif"));
}

static gboolean
is_found (gpointer title)
{
  GListModel *model = td_job_queue_model (td_test_jobs ());

  for (guint i = 0; i < g_list_model_get_n_items (model); i++) {
    g_autoptr (TdJobItem) item = g_list_model_get_item (model, i);
    if (g_strcmp0 (td_job_item_facts (item)->title, title) == 0)
      return TRUE;
  }
  return FALSE;
}

/* The window is closed before its job has begun. Another window finds the job. Its volume is that
   of a job in this program. */
static void
test_survives (void)
{
  g_autofree char *output = output_named ("survives.tif");
  TdRecipe recipe = *td_session_recipe (td_test_session ());

  recipe.output_format = TD_VOLUME_BIGTIFF;
  g_autoptr (TdScan) scan = td_scan_ref (td_session_scan (td_test_session ()));
  g_assert_true (td_remote_jobs_pause (TRUE, NULL));
  g_autoptr (TdJobItem) item = td_test_submit (&recipe, output);
  gtk_window_close (GTK_WINDOW (td_test_window));
  td_test_wait (window_is_gone, NULL, "the window to be freed");
  td_test_wait (item_waits, item, "the job to be launched all the same");
  g_clear_object (&item);

  g_application_activate (G_APPLICATION (application));
  td_test_window = TD_WINDOW (gtk_application_get_active_window (GTK_APPLICATION (application)));
  g_object_add_weak_pointer (G_OBJECT (td_test_window), (gpointer *) &td_test_window);
  td_test_wait (is_found, (gpointer) "survives.tif", "the job to be found");
  g_assert_true (td_remote_jobs_pause (FALSE, NULL)); /* one that has ended is not listed */
  TdJobItem *found = item_titled ("survives.tif");
  td_test_wait (item_has_ended, found, "the job's end");
  g_assert_cmpint (td_job_item_state (found), ==, TD_JOB_DONE);
  g_assert_true (td_job_item_recipe (found, &recipe));
  td_test_open (td_scan_facts (scan)->path);
  check_volume (output, &recipe);
  td_test_pin_window ("jobs-found", td_test_part (td_test_window, "jobs_list"));
}

/* The button of the window's list; the list comes out slowly. */
static GtkWidget *
show_button (const char *title)
{
  GtkListBox *list = td_test_part (td_test_window, "jobs_list");
  GtkListBoxRow *row;

  for (int i = 0; (row = gtk_list_box_get_row_at_index (list, i)); i++) {
    GtkWidget *job = gtk_list_box_row_get_child (row);
    if (strcmp (gtk_label_get_text (td_test_part (job, "title")), title) == 0)
      return td_test_part (job, "show");
  }
  return NULL;
}

static gboolean
button_is_there (gpointer title)
{
  return show_button (title) && gtk_widget_get_mapped (show_button (title));
}

static gboolean
volume_page_is_there (gpointer unused)
{
  AdwViewStack *pages = td_test_part (td_test_window, "pages");

  return td_test_in_state ((gpointer) "scan")
         && g_strcmp0 (adw_view_stack_get_visible_child_name (pages), "volume") == 0;
}

/* The job's button alone brings back its scan and its volume, also while that is computed. */
static void
jobs_show_without_scan (const char *title)
{
  td_test_activate ("close-scan", NULL);
  td_test_wait (td_test_in_state, (gpointer) "empty", "the scan to close");
  td_test_wait (button_is_there, (gpointer) title, "the job's button");
  td_test_click (show_button (title));
  td_test_wait (volume_page_is_there, NULL, "the job's volume");
}

static gboolean
plane_is_shown (gpointer unused)
{
  return td_image_pane_get_image (td_test_part (td_test_window, "volume_view.browser.z")) != NULL;
}

static void
test_shown_alone (void)
{
  g_autofree char *output = output_named ("alone.tif");
  TdRecipe recipe = *td_session_recipe (td_test_session ());

  recipe.output_format = TD_VOLUME_BIGTIFF;
  g_autoptr (TdJobItem) item = td_test_submit (&recipe, output);
  td_test_wait (item_has_ended, item, "the job's end");
  jobs_show_without_scan ("alone.tif");
  td_test_wait (plane_is_shown, NULL, "its planes");
  td_test_show_page ("slices");
}

static gboolean
has_picture (GtkWidget *row, gpointer unused)
{
  return gtk_picture_get_paintable (td_test_part (row, "picture")) != NULL;
}

static gboolean
is_of_survivor (GtkWidget *row, gpointer unused)
{
  return has_picture (row, NULL)
         && g_str_equal (gtk_label_get_text (td_test_part (row, "title")), "survives.tif");
}

static gboolean
picture_is_there (gpointer jobs)
{
  return td_test_find (jobs, TD_TYPE_JOB_ROW, is_of_survivor, NULL) != NULL;
}

static gboolean
is_laid_out (gpointer label)
{
  int width;

  pango_layout_get_pixel_size (gtk_label_get_layout (label), &width, NULL);
  return width > 300 || pango_layout_is_ellipsized (gtk_label_get_layout (label));
}

/* All jobs with their pictures; a recipe is taken; one is forgotten, and its volume stays. */
static void
test_history (void)
{
  g_autofree char *output = output_named ("survives.tif");
  TdRecipe recipe = *td_session_recipe (td_test_session ());
  TdJobItem *item = item_titled ("survives.tif");
  g_autofree char *folder = g_strdup (td_job_item_facts (item)->folder);

  td_test_activate ("show-jobs", NULL);
  GtkWindow *jobs = td_test_other_window (TD_TYPE_JOBS_WINDOW);
  g_assert_nonnull (jobs);
  td_test_wait (picture_is_there, jobs, "a picture");
  check_picture (td_test_find (GTK_WIDGET (jobs), TD_TYPE_JOB_ROW, is_of_survivor, NULL), output,
                 COLUMNS, COLUMNS);
  td_test_pin_window ("jobs-window", jobs);
  recipe.filter.kind = TD_FILTER_HANN;
  td_session_edit (td_test_session (), &recipe, NULL);
  GtkWidget *row = td_test_find (GTK_WIDGET (jobs), TD_TYPE_JOB_ROW, has_picture, NULL);
  /* A long name takes lines, and the buttons the next one. */
  GtkLabel *title = td_test_part (row, "title");
  gtk_label_set_text (title, "what somebody called a volume after a long night, to find it again, "
                             "with the sample's name and the day, 0042");
  td_test_wait (is_laid_out, title, "the long name");
  g_assert_false (pango_layout_is_ellipsized (gtk_label_get_layout (title)));
  td_test_click (td_test_part (row, "recipe"));
  g_assert_cmpint (td_session_recipe (td_test_session ())->filter.kind, !=, TD_FILTER_HANN);
  td_job_item_forget (item);
  td_job_queue_dismiss (td_test_jobs (), item);
  td_test_wait (folder_is_gone, folder, "the job's folder to go");
  g_assert_true (g_file_test (output, G_FILE_TEST_EXISTS));
  gtk_window_close (jobs);
  td_test_pin_window ("jobs", td_test_part (td_test_window, "jobs_list"));
}

static gboolean
iterates_visibly (gpointer item)
{
  TdSliceStore *store = td_job_item_slices (item);

  g_assert_false (td_job_item_ended (item));
  return td_job_item_can_finish (item) && td_job_item_facts (item)->residuals->len >= 3 && store
         && td_slice_store_has (store, ROWS / 2);
}

static gboolean
estimate_is_shown (gpointer pane)
{
  GtkWidget *badge = td_test_part (pane, "badge");
  const char *text = gtk_label_get_text (GTK_LABEL (badge));
  const char *row = gtk_label_get_text (GTK_LABEL (td_test_part (pane, "subtitle")));
  g_autofree char *middle = g_strdup_printf ("row %u; ", ROWS / 2);

  if (!td_image_pane_get_image (pane) || !gtk_widget_get_visible (badge)
      || !strstr (text, "passes"))
    return FALSE;
  if (!g_regex_match_simple ("^Iterative .SIRT.: the estimate after [1-9][0-9]* of 10000 passes$",
                             text, 0, 0))
    g_error ("The badge is “%s”", text);
  return g_str_has_prefix (row, middle) && !strstr (row, "shown at");
}

/* The slider's name and its number stand beside it, whatever is below. */
static void
assert_beside_slider (gpointer footer)
{
  double middles[3];

  for (int column = 0; column < 3; column++) {
    graphene_rect_t bounds;
    g_assert_true (
        gtk_widget_compute_bounds (gtk_grid_get_child_at (footer, column, 0), footer, &bounds));
    middles[column] = bounds.origin.y + bounds.size.height / 2;
    g_assert_cmpfloat_with_epsilon (middles[column], middles[0], 1);
  }
}

/* The estimate after each pass is shown with its method and its residuals; what it came to can be
   kept. */
static void
test_iterations (void)
{
  g_autofree char *output = output_named ("iterations.tif");
  gpointer view = td_test_part (td_test_window, "volume_view");
  TdRecipe recipe = iterating_recipe ();

  g_autoptr (TdJobItem) item = td_test_submit (&recipe, output);
  td_test_show_page ("volume");
  td_volume_view_show_job (view, item);
  td_test_wait (iterates_visibly, item, "three passes and an estimate");
  const GArray *residuals = td_job_item_facts (item)->residuals;
  g_assert_cmpfloat (g_array_index (residuals, double, 2), <, g_array_index (residuals, double, 0));
  td_test_wait (estimate_is_shown, td_test_part (view, "pane"), "the estimate in the window");
  g_assert_true (gtk_widget_get_visible (td_test_part (view, "curve")));
  td_test_frames (view);
  assert_beside_slider (td_test_part (view, "footer"));
  td_test_screenshot (GTK_WIDGET (td_test_window), "jobs-iterations");
  jobs_show_without_scan ("iterations.tif");
  td_test_wait (estimate_is_shown, td_test_part (view, "pane"), "the estimate once more");
  td_job_item_finish (item);
  td_test_wait (item_has_ended, item, "the iterations to end");
  g_assert_cmpint (td_job_item_state (item), ==, TD_JOB_DONE);
  g_assert_cmpuint (td_job_item_facts (item)->residuals->len, <, PASSES);
  g_assert_true (g_file_test (output, G_FILE_TEST_EXISTS));
  td_test_show_page ("slices");
  td_test_pin_window ("jobs", td_test_part (td_test_window, "jobs_list"));
}

static gboolean
demo_is_open (gpointer user)
{
  return td_session_scan (td_test_session ())
         && !g_file_test (td_session_facts (td_test_session ())->path, G_FILE_TEST_EXISTS);
}

/* Within what is shown of the list. */
static gboolean
last_job_is_seen (gpointer title)
{
  GtkWidget *list = td_test_part (td_test_window, "jobs_list"), *button = show_button (title);
  GtkAdjustment *along = gtk_list_box_get_adjustment (GTK_LIST_BOX (list));
  graphene_rect_t bounds;

  if (!button || !gtk_widget_compute_bounds (button, list, &bounds))
    return FALSE;
  const gboolean longer = gtk_adjustment_get_upper (along) > gtk_adjustment_get_page_size (along);
  const double top = gtk_adjustment_get_value (along);
  return longer && bounds.origin.y >= top
         && bounds.origin.y + bounds.size.height <= top + gtk_adjustment_get_page_size (along);
}

/* The demonstration is no file: the job gets one. */
static void
test_demonstration (void)
{
  g_autofree char *output = output_named ("demonstration.tif");

  td_test_activate ("open-demo", NULL);
  td_test_wait (demo_is_open, NULL, "the demonstration");
  TdRecipe recipe = *td_session_recipe (td_test_session ());
  recipe.output_format = TD_VOLUME_BIGTIFF;
  recipe.row_first = 40;
  recipe.row_end = 44;
  g_autoptr (TdJobItem) item = td_test_submit (&recipe, output);
  td_test_wait (item_has_ended, item, "the job's end");
  g_assert_cmpstr (td_job_item_error (item), ==, NULL);
  g_autoptr (TdVolume) volume = td_volume_open (output, NULL);
  g_assert_cmpuint (td_volume_facts (volume)->n_slices, ==, 4);
  td_test_wait (last_job_is_seen, (gpointer) "demonstration.tif", "its row among many");
}

static gboolean
switch_is_there (GtkWidget *widget, gpointer unused)
{
  return gtk_widget_is_sensitive (widget);
}

static gboolean
devices_are_there (gpointer devices)
{
  return td_test_find (devices, GTK_TYPE_SWITCH, switch_is_there, NULL) != NULL;
}

static gboolean
time_is_shown (gpointer row)
{
  g_autofree char *head = g_strconcat (td_session_recipe (td_test_session ())->devices, ": ", NULL);
  return strstr (adw_action_row_get_subtitle (row), head) != NULL;
}

/* Of a test that begins the number is told, and the bar is there. */
static void
on_told (GtkWidget *row, GParamSpec *property, guint *told)
{
  GtkWidget *bar = td_test_find (row, GTK_TYPE_PROGRESS_BAR, NULL, NULL);
  const char *words = adw_action_row_get_subtitle (ADW_ACTION_ROW (row));
  guint number, n;

  if (sscanf (words, "Test %u of %u: ", &number, &n) != 2)
    return;
  ++*told;
  g_assert_true (gtk_widget_get_visible (bar));
  g_assert_cmpfloat_with_epsilon (gtk_progress_bar_get_fraction (GTK_PROGRESS_BAR (bar)),
                                  (number - 1.0) / n, 1e-9);
}

static gboolean
tests_have_passed (gpointer row)
{
  return g_str_has_prefix (adw_action_row_get_subtitle (row), "All ");
}

static gboolean
is_host (GtkWidget *group, gpointer unused)
{
  const char *description = adw_preferences_group_get_description (ADW_PREFERENCES_GROUP (group));

  return description && g_str_has_prefix (description, "host");
}

static void
test_self_test (void)
{
  td_test_activate ("show-devices", NULL);
  GtkWidget *devices = GTK_WIDGET (td_test_other_window (TD_TYPE_DEVICES_WINDOW));
  GtkWidget *host = td_test_find (devices, ADW_TYPE_PREFERENCES_GROUP, is_host, NULL);
  GtkWidget *row = td_test_row (host, "Self-test");
  guint told = 0;
  gulong handler = g_signal_connect (row, "notify::subtitle", G_CALLBACK (on_told), &told);
  td_test_click (td_test_button (row, "Test"));
  g_assert_false (gtk_widget_get_sensitive (td_test_button (row, "Test")));
  g_assert_true (gtk_widget_get_visible (td_test_find (row, GTK_TYPE_PROGRESS_BAR, NULL, NULL)));
  td_test_wait (tests_have_passed, row, "the tests");
  g_assert_true (gtk_widget_get_sensitive (td_test_button (row, "Test")));
  g_assert_false (gtk_widget_get_visible (td_test_find (row, GTK_TYPE_PROGRESS_BAR, NULL, NULL)));
  g_signal_handler_disconnect (row, handler);
  g_assert_cmpuint (told, >, 10);
  /* The window goes while tests go on. */
  td_test_click (td_test_button (row, "Test"));
  gtk_window_close (GTK_WINDOW (devices));
}

/* Devices are switched live: the recipe has them, and the slice's time is shown. */
static void
test_devices (void)
{
  td_test_activate ("show-devices", NULL);
  GtkWindow *devices = td_test_other_window (TD_TYPE_DEVICES_WINDOW);
  g_assert_nonnull (devices);
  td_test_wait (devices_are_there, devices, "the devices");
  GtkWidget *use = td_test_find (GTK_WIDGET (devices), GTK_TYPE_SWITCH, switch_is_there, NULL);
  g_assert_nonnull (use);
  g_assert_cmpstr (td_session_recipe (td_test_session ())->devices, ==, "auto");
  gtk_switch_set_active (GTK_SWITCH (use), TRUE);
  /* The first that is listed: "opencl:0" or "host". */
  g_assert_cmpstr (td_session_recipe (td_test_session ())->devices, !=, "auto");
  td_test_wait (time_is_shown, td_test_row (devices, "The slice in the window"), "the time");
  td_test_screenshot (GTK_WIDGET (devices), "devices-window");
  td_test_activate ("undo", NULL);
  g_assert_false (gtk_switch_get_active (GTK_SWITCH (use)));
  gtk_window_close (devices);
}

int
main (int argc, char **argv)
{
  const char *options[] = { "--columns=128", "--rows=8",  "--views=120", "--centre=64.7",
                            "--flats=1",     "--darks=1", NULL };

  g_test_init (&argc, &argv, NULL);
  g_autofree char *path = td_test_phantom ("scan.nxs", options);
  application = td_test_start ();
  td_test_open (path);
  g_test_add_func ("/window-jobs/queue", test_queue);
  g_test_add_func ("/window-jobs/cancel", test_cancel);
  g_test_add_func ("/window-jobs/thin", test_thin);
  g_test_add_func ("/window-jobs/again", test_again);
  g_test_add_func ("/window-jobs/again-anew", test_again_anew);
  g_test_add_func ("/window-jobs/survives", test_survives);
  g_test_add_func ("/window-jobs/shown-alone", test_shown_alone);
  g_test_add_func ("/window-jobs/history", test_history);
  g_test_add_func ("/window-jobs/iterations", test_iterations);
  g_test_add_func ("/window-jobs/devices", test_devices);
  g_test_add_func ("/window-jobs/self-test", test_self_test);
  g_test_add_func ("/window-jobs/demonstration", test_demonstration);
  int status = g_test_run ();
  g_object_unref (application);
  td_test_folder_remove ();
  td_device_leave (status);
}
