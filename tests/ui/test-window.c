/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The window as a person uses it, from an open scan to the written volume. The tests run in order
   in one window: what one leaves, the next goes on with. */
#include <math.h>
#include <string.h>

#include "app/settings.h"
#include "dataset/volume.h"
#include "ui-test.h"
#include "ui/preferences-window.h"
#include "ui/reconstruct-dialog.h"
#include "window-test.h"

#define COLUMNS 96
#define ROWS 24

static TdApplication *application;
static char *scan_path;

/* ── Conditions ── */

static gboolean
no_job_is_active (gpointer user)
{
  return td_test_active_jobs () == 0;
}

static gboolean
item_has_ended (gpointer item)
{
  return td_job_item_ended (item);
}

/* ── Tests ── */

static void
test_empty (void)
{
  g_assert_cmpstr (td_test_state (), ==, "empty");
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-empty");
}

static void
test_open (void)
{
  td_test_open (scan_path);
  td_test_assert_shown_slice ();
  GtkWidget *drawn_by_gl
      = td_test_find (GTK_WIDGET (td_test_slice_pane ()), GTK_TYPE_GL_AREA, NULL, NULL);
  g_assert_cmpint (drawn_by_gl != NULL, ==, td_test_with_gl ());
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-slices");
}

static void
test_centre (void)
{
  g_autoptr (TdImage) before = td_image_ref (td_test_shown_slice ());
  TdSession *session = td_test_session ();
  TdSliceView *view = td_image_pane_view (td_test_slice_pane ());

  /* As the right arrow key in the slice. */
  g_signal_emit_by_name (view, "nudged", 1, 0, FALSE);
  double centre = td_session_recipe (session)->centre_px;
  g_assert_cmpfloat (fabs (centre - (COLUMNS - 1) / 2.0), >, 0.4);
  td_test_wait (td_test_slice_is_there, before, "the slice to follow the centre");
  td_test_assert_shown_slice ();
  gsize n = (gsize) COLUMNS * COLUMNS;
  g_assert_cmpfloat (td_test_rms_between (before->pixels, td_test_shown_slice ()->pixels, n), >,
                     0.01 * (before->maximum - before->minimum));

  g_signal_emit_by_name (view, "nudged", 1, 0, TRUE);
  g_assert_cmpfloat (fabs (td_session_recipe (session)->centre_px - centre - 0.1), <, 1e-9);

  g_autoptr (TdImage) moved = td_image_ref (td_test_shown_slice ());
  td_test_activate ("undo", NULL);
  g_assert_true (td_session_can_redo (session));
  td_test_wait (td_test_slice_is_there, moved, "the slice to follow the undoing");
}

static void
test_row (void)
{
  TdScanView *view = td_test_scan_view ();
  TdImagePane *sinogram = td_test_part (view, "sinogram");
  g_autoptr (TdImage) before = td_image_ref (td_test_shown_slice ());
  g_autoptr (TdImage) row = td_image_ref (td_image_pane_get_image (sinogram));

  g_signal_emit_by_name (td_image_pane_view (td_test_part (view, "projection")), "picked", 40.0,
                         5.2);
  g_assert_cmpuint (td_scan_view_get_row (view), ==, 5);
  td_test_wait (td_test_slice_is_there, before, "the slice of another row");
  td_test_assert_shown_slice ();
  td_test_wait (td_test_scan_view_is_settled, NULL, "the sinogram");
  g_assert_true (td_image_pane_get_image (sinogram) != row);
}

static gboolean
projection_is_another (gpointer before)
{
  TdImage *image = td_image_pane_get_image (td_test_part (td_test_scan_view (), "projection"));
  return image && image != before;
}

/* A click in the sinogram takes the projection to that view. */
static void
test_view (void)
{
  TdScanView *view = td_test_scan_view ();
  TdImagePane *pane = td_test_part (view, "projection");
  g_autoptr (TdImage) before = td_image_ref (td_image_pane_get_image (pane));

  g_signal_emit_by_name (td_image_pane_view (td_test_part (view, "sinogram")), "picked", 3.0, 77.0);
  td_test_wait (projection_is_another, before, "the projection of another view");
  g_assert_cmpuint (before->width, ==, COLUMNS);
  g_assert_cmpuint (before->height, ==, ROWS);
}

/* What the toolkit is to draw of the slice, as text; NULL: nothing yet. */
static char *
slice_nodes (void)
{
  GtkWidget *view = GTK_WIDGET (td_image_pane_view (td_test_slice_pane ()));
  g_autoptr (GdkPaintable) paintable = gtk_widget_paintable_new (view);
  GtkSnapshot *snapshot = gtk_snapshot_new ();

  gdk_paintable_snapshot (paintable, snapshot, 64, 64);
  GskRenderNode *node = gtk_snapshot_free_to_node (snapshot);
  if (!node)
    return NULL;
  g_autoptr (GBytes) bytes = gsk_render_node_serialize (node);
  gsk_render_node_unref (node);
  return g_strndup (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
}

static gboolean
slice_is_drawn (gpointer text)
{
  char **nodes = text;

  *nodes = slice_nodes ();
  return *nodes != NULL;
}

/* Drawn by the processor, pictures are no textures: the toolkit would copy them in every frame. */
static void
test_surface (void)
{
  g_autofree char *nodes = NULL;

  if (td_test_with_gl ()) {
    g_test_skip ("OpenGL draws here");
    return;
  }
  td_test_wait (slice_is_drawn, &nodes, "the slice to be drawn");
  g_assert_nonnull (strstr (nodes, "cairo {"));
  g_assert_null (strstr (nodes, "texture {"));
}

static TdReconstructDialog *
open_dialog (const char *output)
{
  td_test_activate ("reconstruct", NULL);
  TdReconstructDialog *dialog
      = TD_RECONSTRUCT_DIALOG (td_test_other_window (TD_TYPE_RECONSTRUCT_DIALOG));
  g_assert_nonnull (dialog);
  gtk_editable_set_text (td_test_part (dialog, "path"), output);
  return dialog;
}

static void
test_reconstruct (void)
{
  g_autofree char *output = g_build_filename (td_test_folder (), "volume.tif", NULL);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe = *td_session_recipe (td_test_session ());

  recipe.output_format = TD_VOLUME_BIGTIFF;
  td_session_edit (td_test_session (), &recipe, NULL);
  TdReconstructDialog *dialog = open_dialog (output);
  td_test_wait (td_test_plan_is_ready, dialog, "the plan");
  td_test_screenshot (GTK_WIDGET (dialog), "reconstruct-dialog");
  td_test_click (td_test_part (dialog, "accept"));
  /* That folder is the scan's own: another scan's volume goes beside that one. */
  g_autoptr (GSettings) settings = td_settings_new (&error);
  g_autofree char *chosen = g_settings_get_string (settings, "output-folder");
  g_assert_cmpstr (chosen, ==, "");
  td_test_show_page ("volume");
  td_test_wait (no_job_is_active, NULL, "the volume");

  g_autoptr (TdVolume) volume = td_volume_open (output, &error);
  g_assert_no_error (error);
  g_assert_true (td_volume_facts (volume)->complete);
  g_assert_cmpuint (td_volume_facts (volume)->n_slices, ==, ROWS);
  g_autofree float *slice = g_new (float, COLUMNS *COLUMNS);
  g_assert_true (td_volume_read (volume, 5, 1, slice, &error));
  TdImage *shown = td_test_shown_slice ();
  g_assert_cmpfloat (td_test_rms_between (shown->pixels, slice, (gsize) COLUMNS * COLUMNS), <,
                     1e-4 * (shown->maximum - shown->minimum));
}

static gboolean
volume_is_shown (gpointer user)
{
  return td_image_pane_get_image (td_test_part (td_test_window, "volume_view.browser.z")) != NULL;
}

static void
test_browse (void)
{
  td_test_wait (volume_is_shown, NULL, "a slice of the volume");
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-volume");
  td_test_show_page ("slices");
}

/* A target that is taken is refused before anything runs, with the reason. */
static gboolean
plan_is_refused (gpointer dialog)
{
  return !td_test_plan_is_ready (dialog)
         && gtk_widget_get_visible (td_test_part (dialog, "problem"));
}

static gboolean
says_bytes (GtkWidget *label, gpointer unused)
{
  return g_ascii_isdigit (*gtk_label_get_text (GTK_LABEL (label)))
         && strstr (gtk_label_get_text (GTK_LABEL (label)), "MiB");
}

static gboolean
says_slabs (GtkWidget *label, gpointer unused)
{
  guint n = 0, slices = 0;

  return sscanf (gtk_label_get_text (GTK_LABEL (label)), "%u of up to %u slices", &n, &slices) == 2
         && n < slices && n * slices >= ROWS && (n - 1) * slices < ROWS;
}

/* How much memory it takes is told before anything runs, and so is that there is too little. */
static void
test_no_room (void)
{
  g_autofree char *output = g_build_filename (td_test_folder (), "no-room.tif", NULL);
  TdRecipe recipe = *td_session_recipe (td_test_session ());

  TdReconstructDialog *dialog = open_dialog (output);
  td_test_wait (td_test_plan_is_ready, dialog, "the plan");
  g_assert_nonnull (
      td_test_find (td_test_row (dialog, "Memory"), GTK_TYPE_LABEL, says_bytes, NULL));
  /* Few slabs of many slices. */
  g_assert_nonnull (td_test_find (td_test_row (dialog, "Slabs"), GTK_TYPE_LABEL, says_slabs, NULL));
  gtk_window_close (GTK_WINDOW (dialog));
  recipe.memory_limit_bytes = 1 << 20;
  td_session_edit (td_test_session (), &recipe, NULL);
  dialog = open_dialog (output);
  td_test_wait (plan_is_refused, dialog, "the plan to be refused");
  const char *problem = adw_preferences_row_get_title (td_test_part (dialog, "problem"));
  g_test_message ("%s", problem);
  g_assert_nonnull (strstr (problem, "may be used"));
  g_assert_nonnull (strstr (problem, "Memory limit"));
  gtk_window_close (GTK_WINDOW (dialog));
  td_test_activate ("undo", NULL);
}

static void
test_taken_output (void)
{
  g_autofree char *output = g_build_filename (td_test_folder (), "volume.tif", NULL);
  TdReconstructDialog *dialog = open_dialog (output);

  td_test_wait (plan_is_refused, dialog, "the plan to be refused");
  const char *problem = adw_preferences_row_get_title (td_test_part (dialog, "problem"));
  g_assert_nonnull (strstr (problem, "exists already"));
  gtk_window_close (GTK_WINDOW (dialog));
}

static gboolean
path_is_proposed (gpointer row)
{
  return *gtk_editable_get_text (row) != 0;
}

static char *
proposed_output (void)
{
  td_test_activate ("reconstruct", NULL);
  GtkWindow *dialog = td_test_other_window (TD_TYPE_RECONSTRUCT_DIALOG);
  GtkEditable *row = td_test_part (dialog, "path");

  /* Storage is not asked while the window waits. */
  g_assert_cmpstr (gtk_editable_get_text (row), ==, "");
  td_test_wait (path_is_proposed, row, "a name");
  char *path = g_strdup (gtk_editable_get_text (row));
  gtk_window_destroy (dialog);
  return path;
}

/* The name that a job will write to is taken, though nothing has that name yet. */
static void
test_proposal (void)
{
  const TdRecipe *recipe = td_session_recipe (td_test_session ());
  g_autofree char *first = proposed_output ();

  g_assert_true (td_remote_jobs_pause (TRUE, NULL)); /* else it may be done before this goes on */
  g_autoptr (TdJobItem) job = td_test_submit (recipe, first);
  g_autofree char *second = proposed_output ();
  g_assert_false (g_file_test (first, G_FILE_TEST_EXISTS));
  g_assert_cmpstr (second, !=, first);
  td_job_item_cancel (job);
  td_test_wait (no_job_is_active, NULL, "the job to stop");
  g_assert_true (td_remote_jobs_pause (FALSE, NULL));
  g_assert_cmpint (td_job_item_state (job), ==, TD_JOB_CANCELLED);
  g_autofree char *again = proposed_output ();
  g_assert_cmpstr (again, ==, first);
}

static void
test_cancel (void)
{
  g_autofree char *first = g_build_filename (td_test_folder (), "first.h5", NULL);
  g_autofree char *second = g_build_filename (td_test_folder (), "second.h5", NULL);
  TdRecipe recipe = *td_session_recipe (td_test_session ());

  recipe.output_format = TD_VOLUME_HDF5;
  g_assert_true (td_remote_jobs_pause (TRUE, NULL)); /* until the second has been cancelled */
  g_autoptr (TdJobItem) one = td_test_submit (&recipe, first);
  g_autoptr (TdJobItem) two = td_test_submit (&recipe, second);
  td_job_item_cancel (two);
  td_test_wait (item_has_ended, two, "the second job to stop");
  g_assert_true (td_remote_jobs_pause (FALSE, NULL));
  td_job_item_cancel (one);
  td_test_wait (no_job_is_active, NULL, "the jobs to stop");
  if (td_job_item_state (one) == TD_JOB_CANCELLED)
    g_assert_false (g_file_test (first, G_FILE_TEST_EXISTS));

  /* What was cancelled can be had all the same. */
  g_assert_cmpint (td_job_item_state (two), ==, TD_JOB_CANCELLED);
  g_assert_false (g_file_test (second, G_FILE_TEST_EXISTS));
  g_autoptr (TdJobItem) again = td_job_item_again (two);
  g_assert_nonnull (again);
  td_job_queue_add (td_test_jobs (), again);
  g_assert_null (td_job_item_again (again));
  td_test_wait (no_job_is_active, NULL, "the volume after all");
  g_assert_cmpint (td_job_item_state (again), ==, TD_JOB_DONE);
  g_assert_true (g_file_test (second, G_FILE_TEST_EXISTS));
  g_assert_null (td_job_item_again (again));
}

typedef struct {
  GPtrArray *images; /* each slice that was shown */
  guint coarse, full;
} Shown;

static const char *
slice_says (void)
{
  return gtk_label_get_text (td_test_part (td_test_slice_pane (), "subtitle"));
}

static void
on_slice_shown (TdScanView *view, gboolean coarse, Shown *shown)
{
  const char *says = slice_says ();

  g_ptr_array_add (shown->images, td_image_ref (td_test_shown_slice ()));
  g_assert_true (
      g_str_has_prefix (says, coarse ? "coarse; the full one follows" : "640 × 640 on "));
  g_assert_null (strstr (says, "samples"));
  if (coarse)
    shown->coarse++;
  else
    shown->full++;
}

static gboolean
full_slice_is_shown (gpointer user)
{
  return ((Shown *) user)->full > 0;
}

/* A large slice: a coarse one comes first, and it is the same picture in the same place. */
static void
test_coarse_first (void)
{
  const char *options[] = { "--columns=640", "--rows=2",  "--views=200", "--centre=312.3",
                            "--flats=1",     "--darks=1", NULL };
  g_autofree char *path = td_test_phantom ("large.nxs", options);
  Shown shown = { g_ptr_array_new_with_free_func ((GDestroyNotify) td_image_unref), 0, 0 };
  TdScanView *view = td_test_scan_view ();
  gulong handler = g_signal_connect (view, "slice-shown", G_CALLBACK (on_slice_shown), &shown);

  td_window_open_path (td_test_window, path);
  td_test_wait (full_slice_is_shown, &shown, "the full slice");
  g_signal_handler_disconnect (view, handler);
  g_assert_cmpuint (shown.coarse, ==, 1);
  const TdImage *coarse = g_ptr_array_index (shown.images, 0);
  const TdImage *full = g_ptr_array_index (shown.images, 1);
  g_assert_cmpuint (full->width, ==, 640);
  g_assert_cmpuint (coarse->width, <, full->width);
  g_assert_cmpfloat (coarse->extent_width, ==, full->extent_width);
  double sum = 0, difference = 0;
  for (guint y = 0; y < 640; y += 3)
    for (guint x = 0; x < 640; x += 3) {
      float a, b;
      g_assert_true (td_image_value (full, x, y, &a));
      g_assert_true (td_image_value (coarse, x, y, &b));
      sum += (double) a * a;
      difference += ((double) a - b) * ((double) a - b);
    }
  g_test_message ("relative RMS of the coarse slice: %.3f", sqrt (difference / sum));
  g_assert_cmpfloat (sqrt (difference / sum), <, 0.35);
  g_ptr_array_unref (shown.images);
}

/* Where nothing came through, the slice says so; elsewhere it does not. */
static void
test_opaque (void)
{
  for (guint photons = 2; photons <= 20000; photons *= 10000) {
    g_autofree char *option = g_strdup_printf ("--photons=%u", photons);
    const char *options[] = { "--columns=64", "--rows=3", "--views=48", option, NULL };
    g_autofree char *name = g_strdup_printf ("photons-%u.nxs", photons);
    g_autofree char *path = td_test_phantom (name, options);

    td_test_open (path);
    g_test_message ("%s", slice_says ());
    g_assert_true (g_str_has_prefix (slice_says (), "64 × 64 on "));
    g_assert_true (!strstr (slice_says (), " opaque samples raised") == (photons > 2));
    g_assert_null (strstr (slice_says (), "bad samples replaced"));
  }
}

static gboolean
slice_is_coloured (gpointer user)
{
  return td_slice_view_get_style (td_image_pane_view (td_test_slice_pane ()))->map
         == TD_COLOUR_VIRIDIS;
}

static void
test_preferences (void)
{
  g_autoptr (GSettings) settings = td_settings_new (NULL);

  g_settings_set_string (settings, "colour-map", "viridis");
  td_test_wait (slice_is_coloured, NULL, "the colours");
  g_settings_set_string (settings, "theme", "dark");
  g_settings_set_double (settings, "memory-limit-gib", 6);
  g_settings_set_double (settings, "device-memory-limit-gib", 2.5);
  td_test_activate ("close-scan", NULL);
  td_test_open (scan_path);
  const TdRecipe *recipe = td_session_recipe (td_test_session ());
  g_assert_cmpuint (recipe->memory_limit_bytes, ==, G_GUINT64_CONSTANT (6) << 30);
  g_assert_cmpuint (recipe->device_memory_limit_bytes, ==, G_GUINT64_CONSTANT (5) << 29);
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-dark");
  /* The window of the preferences shows and keeps them, by halves of a GiB. */
  g_settings_set_string (settings, "device", "cuda:7");
  GtkWidget *preferences = td_preferences_window_new (GTK_WINDOW (td_test_window), settings);
  g_autoptr (GtkStringObject) device
      = g_list_model_get_item (adw_combo_row_get_model (td_test_part (preferences, "device")),
                               adw_combo_row_get_selected (td_test_part (preferences, "device")));
  g_assert_cmpstr (gtk_string_object_get_string (device), ==, "cuda:7");
  static const char *const keys[] = { "memory-limit-gib", "device-memory-limit-gib" };
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++) {
    GtkWidget *row = td_test_part (preferences, i ? "device_memory" : "memory");
    GtkSpinButton *spin = GTK_SPIN_BUTTON (td_test_find (row, GTK_TYPE_SPIN_BUTTON, NULL, NULL));
    g_assert_cmpfloat (gtk_spin_button_get_value (spin), ==, i ? 2.5 : 6);
    gtk_spin_button_spin (spin, GTK_SPIN_STEP_FORWARD, 0);
    g_assert_cmpfloat (g_settings_get_double (settings, keys[i]), ==, i ? 3 : 6.5);
    gtk_spin_button_spin (spin, GTK_SPIN_PAGE_FORWARD, 0);
    g_assert_cmpfloat (g_settings_get_double (settings, keys[i]), ==, i ? 7 : 10.5);
    gtk_spin_button_set_value (spin, i ? 2.5 : 6);
  }
  gtk_window_destroy (GTK_WINDOW (preferences));
}

int
main (int argc, char **argv)
{
  const char *options[] = { "--columns=96", "--rows=24", "--views=120", "--centre=48.7",
                            "--flats=2",    "--darks=2", NULL };

  g_test_init (&argc, &argv, NULL);
  scan_path = td_test_phantom ("scan.nxs", options);
  application = td_test_start ();
  g_test_add_func ("/window/empty", test_empty);
  g_test_add_func ("/window/open", test_open);
  g_test_add_func ("/window/centre", test_centre);
  g_test_add_func ("/window/row", test_row);
  g_test_add_func ("/window/view", test_view);
  g_test_add_func ("/window/surface", test_surface);
  g_test_add_func ("/window/reconstruct", test_reconstruct);
  g_test_add_func ("/window/browse", test_browse);
  /* "drawing": what depends on who draws, and what that needs. */
  if (argc < 2 || strcmp (argv[1], "drawing") != 0) {
    g_test_add_func ("/window/taken-output", test_taken_output);
    g_test_add_func ("/window/no-room", test_no_room);
    g_test_add_func ("/window/proposal", test_proposal);
    g_test_add_func ("/window/cancel", test_cancel);
    g_test_add_func ("/window/coarse-first", test_coarse_first);
    g_test_add_func ("/window/opaque", test_opaque);
  }
  g_test_add_func ("/window/preferences", test_preferences);
  int status = g_test_run ();
  g_object_unref (application);
  td_test_folder_remove ();
  g_free (scan_path);
  td_device_leave (status);
}
