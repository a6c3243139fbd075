/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opening scans in the window. It says why one cannot be opened, stops when asked, asks for what
   must be stated, and remembers the answer. The tests run in order in one window. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "ui-test.h"
#include "ui/number-row.h"
#include "ui/open-dialog.h"
#include "ui/reconstruct-dialog.h"
#include "ui/volume-view.h"
#include "ui/volume-window.h"
#include "ui/advice-group.h"
#include "window-pins.h"
#include "window-test.h"

static char *scan_path;

/* ── Short messages ── */

#define TOAST_MS 5000 /* how long libadwaita shows one */

static gboolean toasts_stay; /* those that come now go by nothing but the program */

guint
g_timeout_add (guint interval, GSourceFunc function, gpointer user)
{
  return g_timeout_add_full (G_PRIORITY_DEFAULT,
                             interval == TOAST_MS && toasts_stay ? G_MAXINT : interval, function,
                             user, NULL);
}

/* ── Tests ── */

static const char *
failure (void)
{
  return adw_status_page_get_description (td_test_part (td_test_window, "failed_page"));
}

static void
test_bad_file (void)
{
  g_autofree char *bad = g_build_filename (td_test_folder (), "bad.nxs", NULL);
  g_autoptr (GError) error = NULL;

  g_file_set_contents (bad, "this is no scan", -1, &error);
  g_assert_no_error (error);
  /* With a scan open: a message, and the scan stays. */
  td_window_open_path (td_test_window, bad);
  td_test_wait (td_test_message_is_shown, NULL, "the message");
  g_assert_cmpstr (td_test_state (), ==, "scan");
  td_test_pin_window ("window-message", td_test_other_window (ADW_TYPE_MESSAGE_DIALOG));
  gtk_window_close (td_test_other_window (ADW_TYPE_MESSAGE_DIALOG));
  /* With none: the message takes the window. */
  td_test_activate ("close-scan", NULL);
  g_assert_cmpstr (td_test_state (), ==, "empty");
  td_window_open_path (td_test_window, bad);
  td_test_wait (td_test_in_state, (gpointer) "failed", "the message in the window");
  g_assert_cmpuint (strlen (failure ()), >, 20);
  td_test_pin_window ("window-failed", td_test_window);
}

/* Thinking better of opening another scan leaves the one that is open, and what was chosen for it.
 */
static void
test_cancel_opening (void)
{
  TdSession *session = td_test_session ();

  td_test_open (scan_path);
  TdScan *scan = td_session_scan (session);
  TdRecipe recipe = *td_session_recipe (session);
  recipe.centre_px = 41.25;
  td_session_edit (session, &recipe, NULL);
  td_window_open_path (td_test_window, scan_path);
  g_assert_cmpstr (td_test_state (), ==, "opening");
  td_test_activate ("cancel-opening", NULL);
  g_assert_cmpstr (td_test_state (), ==, "scan");
  g_assert_true (td_session_scan (session) == scan);
  g_assert_cmpfloat (td_session_recipe (session)->centre_px, ==, 41.25);
  g_assert_true (td_session_can_undo (session));
  td_test_activate ("undo", NULL);
}

/* The scan that needs no file: a right slice, and a place for its volume. */
static void
test_demonstration (void)
{
  td_test_activate ("close-scan", NULL);
  td_test_activate ("open-demo", NULL);
  g_assert_cmpstr (td_test_state (), ==, "scan");
  td_test_wait (td_test_slice_is_there, NULL, "its slice");
  td_test_assert_shown_slice ();
  td_test_activate ("reconstruct", NULL);
  TdReconstructDialog *dialog
      = TD_RECONSTRUCT_DIALOG (td_test_other_window (TD_TYPE_RECONSTRUCT_DIALOG));
  td_test_wait (td_test_plan_is_ready, dialog, "the plan");
  gtk_window_close (GTK_WINDOW (dialog));
}

static gboolean
begins_afresh (GtkWidget *button, gpointer unused)
{
  return g_strcmp0 (gtk_button_get_label (GTK_BUTTON (button)), "Begin Afresh") == 0;
}

static gboolean
afresh_is_offered (gpointer offered)
{
  return GPOINTER_TO_INT (offered)
         == (td_test_find (GTK_WIDGET (td_test_window), GTK_TYPE_BUTTON, begins_afresh, NULL)
             != NULL);
}

/* A scan that is opened again is as it was left, and undoing goes to how it would have begun. */
static void
test_recall (void)
{
  TdSession *session = td_test_session ();

  td_test_activate ("close-scan", NULL);
  td_test_open (scan_path);
  TdRecipe recipe = *td_session_recipe (session);
  recipe.centre_px = 43.5;
  recipe.memory_limit_bytes = 123456789;
  g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
  td_session_edit (session, &recipe, NULL);
  td_test_activate ("close-scan", NULL);
  toasts_stay = TRUE;
  td_test_open (scan_path);
  g_assert_cmpfloat (td_session_recipe (session)->centre_px, ==, 43.5);
  g_assert_cmpuint (td_session_recipe (session)->memory_limit_bytes, ==, 0);
  g_assert_cmpstr (td_session_recipe (session)->devices, ==, "auto");
  g_assert_true (td_session_can_undo (session));
  /* What is offered for the scan goes with it, as long as there is of its time. */
  td_test_wait (afresh_is_offered, GINT_TO_POINTER (TRUE), "the offer to begin afresh");
  td_test_activate ("close-scan", NULL);
  td_test_wait (afresh_is_offered, GINT_TO_POINTER (FALSE), "the offer to go with its scan");
  toasts_stay = FALSE;
  td_test_open (scan_path);
  g_assert_true (td_session_can_undo (session));
  while (td_session_can_undo (session))
    td_test_activate ("undo", NULL);
  g_assert_true (isnan (td_session_recipe (session)->centre_px));
  /* As it would begin anyway: nothing to come back to. */
  td_test_activate ("close-scan", NULL);
  td_test_open (scan_path);
  g_assert_false (td_session_can_undo (session));
}

/* A scan whose files do not say its angles: what is stated opens it, and is remembered with it. */
static gboolean
says_both_ends (GtkWidget *row, gpointer unused)
{
  const char *title = adw_preferences_row_get_title (ADW_PREFERENCES_ROW (row));

  return gtk_widget_get_mapped (row) && strstr (title, "count both ends");
}

static void
test_details (void)
{
  const char *options[] = { "--columns=48", "--rows=6", "--views=60", NULL };
  g_autofree char *folder = td_test_phantom ("no-angles", options);
  g_autofree char *angles = g_build_filename (folder, "angles.txt", NULL);

  g_assert_cmpint (g_unlink (angles), ==, 0);
  td_test_activate ("close-scan", NULL);
  td_window_open_path (td_test_window, folder);
  td_test_wait (td_test_in_state, (gpointer) "failed", "the message in the window");
  g_assert_nonnull (strstr (failure (), "angles"));
  td_test_activate ("open-details", NULL);
  TdOpenDialog *dialog = TD_OPEN_DIALOG (td_test_other_window (TD_TYPE_OPEN_DIALOG));
  td_test_pin_window ("window-details", dialog);
  gtk_editable_set_text (td_test_row (dialog, "Angles (°), as 0:180"), " 0:180 ");
  td_number_row_set_value (td_test_row (dialog, "Detector pixel (mm)"), 0.25);
  td_test_click (td_test_button (dialog, "Open"));
  td_test_wait (td_test_in_state, (gpointer) "scan", "the scan with its angles");
  const TdScanFacts *facts = td_session_facts (td_test_session ());
  g_assert_cmpfloat_with_epsilon (facts->angles_rad[59], G_PI, 1e-9);
  g_assert_cmpfloat (facts->geometry.pixel_width_mm, ==, 0.25);
  /* What such a range means is open to the eye; where flats and darks lie is no news. */
  AdwExpanderRow *notes = td_test_row (td_test_window, "1 note about this scan");
  g_assert_true (adw_expander_row_get_expanded (notes));
  g_assert_nonnull (td_test_find (GTK_WIDGET (notes), ADW_TYPE_ACTION_ROW, says_both_ends, NULL));
  td_test_activate ("close-scan", NULL);
  td_window_open_path (td_test_window, folder);
  td_test_wait (td_test_in_state, (gpointer) "scan", "the scan once more");
  g_assert_cmpfloat (td_session_facts (td_test_session ())->geometry.pixel_width_mm, ==, 0.25);
  td_test_wait (td_test_slice_is_there, NULL, "its slice");
}

/* The dialog says what was filled in. */
static void
on_accepted (TdOpenDialog *dialog, gpointer statement, gpointer user)
{
  *(TdScanStatement **) user = td_scan_statement_copy (statement);
}

static gboolean
count_switch (GtkWidget *widget, gpointer n)
{
  ++*(guint *) n;
  return FALSE;
}

static void
test_details_dialog (void)
{
  g_autoptr (TdScanStatement) statement = td_scan_statement_new ("/scan");
  g_autoptr (TdScanStatement) back = NULL;

  for (guint i = 0; i < TD_N_STATED; i++) {
    g_autofree char *text = g_strdup_printf ("/stated %u", i);
    td_scan_statement_set (statement, i, text);
  }
  td_scan_statement_set (statement, TD_STATED_VALUES, "attenuations");
  statement->sinograms = TRUE;
  statement->pixel_mm = 0.0125;
  statement->source_axis_mm = 200;
  statement->source_detector_mm = 410.5;
  GtkWidget *dialog = td_open_dialog_new (GTK_WINDOW (td_test_window), statement, NULL);
  g_signal_connect (dialog, "accepted", G_CALLBACK (on_accepted), &back);
  guint n_switches = 0;
  td_test_find (dialog, GTK_TYPE_SWITCH, count_switch, &n_switches);
  g_assert_cmpuint (n_switches, ==, 2);
  td_test_click (td_test_button (dialog, "Open"));
  g_assert_nonnull (back);
  g_autoptr (GVariant) a = g_variant_ref_sink (td_scan_statement_to_variant (statement));
  g_autoptr (GVariant) b = g_variant_ref_sink (td_scan_statement_to_variant (back));
  g_assert_true (g_variant_equal (a, b));
  g_assert_cmpstr (back->path, ==, "/scan");
}

static gboolean
volume_is_shown (gpointer unused)
{
  return td_image_pane_get_image (td_test_part (td_test_window, "volume_view.browser.z")) != NULL;
}

/* A volume brings back its scan, its recipe and its slices, by whichever of its files. */
static void
test_volume (void)
{
  static const struct {
    const char *name, *inside;
    const char *options[8];
  } cases[] = {
    { "slices", NULL, { "--centre=47.25", "--filter=hann", "--rows=3:9", "--device=host" } },
    { "slices", "provenance.json", { NULL } },
    { "slices", "slice_00004.tif", { NULL } },
    { "volume.tif", NULL, { "--format=bigtiff", "--centre=47.25", "--filter=hann", "--rows=3:9" } },
    { "volume.h5", NULL, { "--format=hdf5", "--centre=47.25", "--filter=hann", "--rows=3:9" } },
  };
  TdSession *session = td_test_session ();

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *made
        = cases[i].inside
              ? g_build_filename (td_test_folder (), cases[i].name, NULL)
              : td_test_made ("reconstruct", scan_path, cases[i].name, cases[i].options);
    g_autofree char *path = g_build_filename (made, cases[i].inside, NULL);
    td_test_activate ("close-scan", NULL);
    td_window_open_path (td_test_window, path);
    td_test_wait (td_test_in_state, (gpointer) "scan", "the volume's scan");
    const TdRecipe *recipe = td_session_recipe (session);
    g_assert_cmpstr (td_session_facts (session)->path, ==, scan_path);
    g_assert_cmpfloat (recipe->centre_px, ==, 47.25);
    g_assert_cmpint (recipe->filter.kind, ==, TD_FILTER_HANN);
    g_assert_cmpuint (recipe->row_first, ==, 3);
    g_assert_cmpuint (recipe->row_end, ==, 9);
    g_assert_cmpstr (recipe->devices, ==, "auto"); /* the machine's, not the volume's */
    g_assert_cmpstr (adw_view_stack_get_visible_child_name (td_test_part (td_test_window, "pages")),
                     ==, "volume");
    /* It is there: nothing asks for it again. What was opened is the recent one, not its scan. */
    g_assert_false (gtk_widget_has_css_class (td_test_part (td_test_window, "reconstruct_button"),
                                              "suggested-action"));
    g_autofree char *recent = NULL;
    g_assert_true (g_menu_model_get_item_attribute (td_test_part (td_test_window, "recent_menu"), 0,
                                                    G_MENU_ATTRIBUTE_TARGET, "s", &recent));
    g_assert_cmpstr (recent, ==, made);
    td_test_wait (volume_is_shown, NULL, "a slice of the volume");
    TdImage *image
        = td_image_pane_get_image (td_test_part (td_test_window, "volume_view.browser.z"));
    g_autofree float *truth = td_test_slice_by_job (recipe, 5); /* the third of six */
    g_assert_cmpuint (image->width, ==, 96);
    g_assert_cmpfloat (td_test_rms_between (image->pixels, truth, 96 * 96), <,
                       1e-4 * (image->maximum - image->minimum));
  }
  td_test_pin_window ("window-volume-opened", td_test_window);
}

/* What was done to one scan's pictures says nothing about another's: a box to measure in, a
   contrast that makes it white, a volume. */
static void
test_another (void)
{
  const char *options[] = { "--columns=80", "--rows=4", "--views=100", NULL };
  g_autofree char *path = td_test_phantom ("another.nxs", options);
  TdImagePane *pane = td_test_slice_pane ();
  GtkWidget *statistics = td_test_part (pane, "statistics");
  double low, high;

  g_assert_nonnull (td_volume_view_get_job (td_test_part (td_test_window, "volume_view")));
  td_test_show_page ("slices");
  td_test_wait (td_test_scan_view_is_settled, NULL, "the slice");
  g_signal_emit_by_name (td_image_pane_view (pane), "measured", 20.0, 20.0, 9.0, 9.0);
  td_image_pane_set_range (pane, -1, -0.5);
  g_assert_true (gtk_widget_get_visible (statistics));
  td_test_open (path);
  g_assert_false (gtk_widget_get_visible (statistics));
  const TdStyle *style = td_slice_view_get_style (td_image_pane_view (pane));
  td_image_range (td_image_pane_get_image (pane), 0.005, &low, &high);
  g_assert_cmpfloat (style->low, ==, low);
  g_assert_cmpfloat (style->high, ==, high);
  g_assert_null (td_volume_view_get_job (td_test_part (td_test_window, "volume_view")));
}

static gboolean
lone_volume_is_shown (gpointer alone)
{
  GtkWidget *browser = td_test_find (alone, TD_TYPE_VOLUME_BROWSER, NULL, NULL);

  return td_image_pane_get_image (td_test_part (browser, "z")) != NULL;
}

/* A volume whose scan is gone says so, and keeps the window as it was. */
static void
test_lone_volume (void)
{
  const char *options[] = { "--columns=32", "--rows=2", "--views=40", NULL }, *none[] = { NULL };
  g_autofree char *scan = td_test_phantom ("gone.nxs", options);
  g_autofree char *volume = td_test_made ("reconstruct", scan, "of-gone", none);

  g_assert_cmpint (g_unlink (scan), ==, 0);
  td_test_activate ("close-scan", NULL);
  td_window_open_path (td_test_window, volume);
  td_test_wait (td_test_in_state, (gpointer) "failed", "the message in the window");
  g_assert_nonnull (strstr (failure (), "gone.nxs"));
  g_assert_nonnull (strstr (failure (), "was made of"));
  /* Its slices are there all the same, in a window of their own. */
  GtkWindow *alone = td_test_other_window (TD_TYPE_VOLUME_WINDOW);
  td_test_wait (lone_volume_is_shown, alone, "its slices");
  td_test_pin_window ("window-lone-volume", alone);
  gtk_window_close (alone);
}

/* Scans come and go while slices are on their way. */
static void
test_replace (void)
{
  for (guint i = 0; i < 4; i++) {
    td_window_open_path (td_test_window, scan_path);
    td_test_wait (td_test_in_state, (gpointer) "scan", "the scan to open");
    for (guint k = 0; k < 5; k++)
      g_main_context_iteration (NULL, FALSE);
    if (i % 2)
      td_test_activate ("close-scan", NULL);
  }
  td_window_open_path (td_test_window, scan_path);
  td_test_wait (td_test_in_state, (gpointer) "scan", "the scan to open");
  td_test_wait (td_test_slice_is_there, NULL, "a slice after all");
  td_test_assert_shown_slice ();
}

static gboolean
is_told_of_files (GtkWidget *label, gpointer unused)
{
  return strstr (gtk_label_get_text (GTK_LABEL (label)), "first of 300 files") != NULL;
}

static gboolean
files_are_told_of (gpointer unused)
{
  return td_test_find (GTK_WIDGET (td_test_window), GTK_TYPE_LABEL, is_told_of_files, NULL) != NULL;
}

/* Of many files that are dropped at once the first is opened, and that is said. */
static void
test_drop_many (void)
{
  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (GTK_WIDGET (td_test_window));
  g_auto (GValue) value = G_VALUE_INIT;
  GSList *files = NULL;

  for (guint i = 0; i < 300; i++)
    files = g_slist_prepend (files, g_file_new_for_path (scan_path));
  g_value_init (&value, GDK_TYPE_FILE_LIST);
  g_value_take_boxed (&value, files);
  for (guint i = 0; i < g_list_model_get_n_items (controllers); i++) {
    g_autoptr (GtkEventController) one = g_list_model_get_item (controllers, i);
    gboolean taken = FALSE;
    if (GTK_IS_DROP_TARGET (one))
      g_signal_emit_by_name (one, "drop", &value, 0.0, 0.0, &taken);
    g_assert_true (!GTK_IS_DROP_TARGET (one) || taken);
  }
  td_test_wait (files_are_told_of, NULL, "words about the files");
  td_test_wait (td_test_in_state, (gpointer) "scan", "the scan to open");
  td_test_wait (td_test_slice_is_there, NULL, "its slice");
}

/* The dialog that asks where the volume goes is about the scan that it was opened for. */
static void
test_asked_for_another (void)
{
  GType type = TD_TYPE_RECONSTRUCT_DIALOG;

  for (guint i = 0; i < 2; i++) {
    td_test_open (scan_path);
    td_test_activate ("reconstruct", NULL);
    td_test_wait (td_test_window_is_mapped, &type, "the dialog");
    if (i == 0)
      td_test_activate ("close-scan", NULL);
    else
      td_test_open (scan_path);
    td_test_wait (td_test_window_is_gone, &type, "the dialog to go");
  }
}

/* Somebody still holds what looks for advice, as a screen reader may, and it comes to its end. The
   last test: the window is gone. */
static void
test_closed_early (void)
{
  g_autoptr (GtkWidget) advice
      = g_object_ref (td_test_find (GTK_WIDGET (td_test_window), TD_TYPE_ADVICE_GROUP, NULL, NULL));

  gtk_window_destroy (GTK_WINDOW (td_test_window));
  td_test_window = NULL;
  td_test_pause (300);
  g_assert_false (g_signal_has_handler_pending (
      advice, g_signal_lookup ("changed", TD_TYPE_ADVICE_GROUP), 0, TRUE));
  g_signal_emit_by_name (advice, "changed");
  td_test_pause (200);
}

/* A scan of one row has no projections to look at, and no row to choose. */
static void
test_one_row (void)
{
  const char *one[] = { "--columns=48", "--rows=1", "--views=60", NULL };
  const char *two[] = { "--columns=48", "--rows=2", "--views=60", NULL };
  char *paths[] = { td_test_phantom ("one-row.nxs", one), td_test_phantom ("two-rows.nxs", two) };
  GtkWidget *scale = td_test_find (GTK_WIDGET (td_test_slice_pane ()), GTK_TYPE_SCALE, NULL, NULL);

  for (guint i = 0; i < 2; i++) {
    td_test_open (paths[i]);
    g_assert_cmpint (gtk_widget_is_visible (td_test_part (td_test_scan_view (), "projection")), ==,
                     i);
    g_assert_cmpint (gtk_widget_is_visible (scale), ==, i);
    g_free (paths[i]);
  }
}

int
main (int argc, char **argv)
{
  const char *options[] = { "--columns=96", "--rows=24", "--views=120", "--centre=48.7",
                            "--flats=2",    "--darks=2", NULL };

  g_test_init (&argc, &argv, NULL);
  scan_path = td_test_phantom ("scan.nxs", options);
  TdApplication *application = td_test_start ();
  td_test_open (scan_path);
  g_test_add_func ("/window-opening/bad-file", test_bad_file);
  g_test_add_func ("/window-opening/cancel-opening", test_cancel_opening);
  g_test_add_func ("/window-opening/demonstration", test_demonstration);
  g_test_add_func ("/window-opening/recall", test_recall);
  g_test_add_func ("/window-opening/details", test_details);
  g_test_add_func ("/window-opening/details-dialog", test_details_dialog);
  g_test_add_func ("/window-opening/volume", test_volume);
  g_test_add_func ("/window-opening/another", test_another);
  g_test_add_func ("/window-opening/lone-volume", test_lone_volume);
  g_test_add_func ("/window-opening/replace", test_replace);
  g_test_add_func ("/window-opening/drop-many", test_drop_many);
  g_test_add_func ("/window-opening/asked-for-another", test_asked_for_another);
  g_test_add_func ("/window-opening/one-row", test_one_row);
  g_test_add_func ("/window-opening/closed-early", test_closed_early);
  int status = g_test_run ();
  if (td_test_window)
    gtk_window_close (GTK_WINDOW (td_test_window));
  g_object_unref (application);
  td_test_folder_remove ();
  g_free (scan_path);
  td_device_leave (status);
}
