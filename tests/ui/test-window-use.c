/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a person meets while using the window. Names show as they are, the keyboard works after a
   choice, and lines can be dragged. Labels say what is shown, and the program ends when told to.
   The tests run in order in one window. */
#include <math.h>
#include <signal.h>
#include <string.h>

#include "compute/recipe/field.h"
#include "held-time.h"
#include "ui-test.h"
#include "ui/devices-window.h"
#include "ui/file-row.h"
#include "ui/method-choices.h"
#include "ui/number-row.h"
#include "ui/open-dialog.h"
#include "ui/preferences-window.h"
#include "ui/quantity.h"
#include "ui/reconstruct-dialog.h"
#include "ui/step-chooser.h"
#include "ui/step-row.h"
#include "ui/ui.h"
#include "window-pins.h"
#include "window-test.h"

static TdApplication *application;
static char *scan_path;

/* A menu takes an underscore for a mnemonic; the file's name keeps its own. */
static void
test_recent_name (void)
{
  gpointer menu = td_test_part (td_test_window, "recent_menu");
  g_autofree char *label = NULL;

  g_assert_true (g_menu_model_get_item_attribute (G_MENU_MODEL (menu), 0, G_MENU_ATTRIBUTE_LABEL,
                                                  "s", &label));
  g_assert_cmpstr (label, ==, "a__scan__of__2.nxs");
}

static gboolean
is_typed_into (GtkWidget *spin, gpointer unused)
{
  return gtk_widget_get_mapped (spin) && gtk_widget_is_sensitive (spin);
}

static gboolean
is_unmapped (gpointer widget)
{
  return !gtk_widget_get_mapped (widget);
}

/* The chosen step has the focus: the keyboard goes on with it. */
static void
test_focus_after_add (void)
{
  GtkWidget *chooser = td_test_find (GTK_WIDGET (td_test_window), TD_TYPE_STEP_CHOOSER, NULL, NULL);
  GtkWidget *list = td_test_find (chooser, GTK_TYPE_LIST_BOX, NULL, NULL);
  GtkListBoxRow *choice = NULL;

  gtk_popover_popup (GTK_POPOVER (chooser));
  td_test_wait (td_test_is_mapped, chooser, "the list of steps");
  for (int i = 0; !choice || !gtk_widget_get_visible (GTK_WIDGET (choice)); i++)
    choice = gtk_list_box_get_row_at_index (GTK_LIST_BOX (list), i);
  gtk_widget_grab_focus (GTK_WIDGET (choice));
  const guint before = td_session_recipe (td_test_session ())->n_steps;
  g_signal_emit_by_name (list, "row-activated", choice);
  td_test_wait (is_unmapped, chooser, "the list of steps to close");
  g_assert_cmpuint (td_session_recipe (td_test_session ())->n_steps, ==, before + 1);
  TdRecipe recipe = *td_session_recipe (td_test_session ());
  td_test_activate ("undo", NULL);
  td_test_activate ("redo", NULL);
  GtkWidget *focus = gtk_window_get_focus (GTK_WINDOW (td_test_window));
  g_assert_nonnull (focus);
  g_assert_true (gtk_widget_get_mapped (focus));
  GtkWidget *row = gtk_widget_get_ancestor (focus, TD_TYPE_STEP_ROW);
  g_assert_nonnull (row);
  g_assert_nonnull (td_recipe_step (&recipe, td_step_row_kind (TD_STEP_ROW (row))->name));
  td_test_activate ("undo", NULL);
}

/* The line of the axis sets the centre, by its place at the row that is shown. */
static void
test_axis_line (void)
{
  TdScanView *view = td_test_scan_view ();
  TdRecipe recipe = *td_session_recipe (td_test_session ());
  const double middle = (td_session_facts (td_test_session ())->n_rows - 1) / 2.0;

  recipe.tilt_deg = 2;
  td_session_edit (td_test_session (), &recipe, NULL);
  gtk_adjustment_set_value (td_test_part (view, "row_adjustment"), 20);
  hold_time (TRUE); /* both are one change only if they are soon after each other */
  g_signal_emit_by_name (td_image_pane_view (td_test_part (view, "sinogram")), "column-moved",
                         44.5);
  const double expected = 44.5 - tan (2 * G_PI / 180) * (20 - middle);
  g_assert_cmpfloat_with_epsilon (td_session_recipe (td_test_session ())->centre_px, expected,
                                  0.011);
  g_signal_emit_by_name (td_image_pane_view (td_test_part (view, "projection")), "column-moved",
                         46.5);
  hold_time (FALSE);
  g_assert_cmpfloat_with_epsilon (td_session_recipe (td_test_session ())->centre_px, expected + 2,
                                  0.011);
  /* One drag is one step to undo. */
  td_test_activate ("undo", NULL);
  g_assert_true (isnan (td_session_recipe (td_test_session ())->centre_px));
  td_test_activate ("undo", NULL);
  td_test_wait (td_test_slice_is_there, NULL, "the slice");
}

static GtkGesture *
drag_of (gpointer view)
{
  g_autoptr (GListModel) all = gtk_widget_observe_controllers (view);

  for (guint i = 0; i < g_list_model_get_n_items (all); i++) {
    g_autoptr (GtkEventController) one = g_list_model_get_item (all, i);
    if (GTK_IS_GESTURE_DRAG (one))
      return GTK_GESTURE (one);
  }
  g_assert_not_reached ();
}

/* From a place of the picture by so many of its pixels, in two moves that are far apart in time.
   The pictures are there, and have their room: else it would be another place. */
static void
drag_from (gpointer view, double column, double row, double by_columns, double by_rows)
{
  td_test_wait (td_test_scan_view_is_settled, NULL, "the pictures");
  td_test_frames (view);
  const TdView *at = td_slice_view_get_view (view, NULL);
  GtkGesture *drag = drag_of (view);
  const double w = gtk_widget_get_width (view), h = gtk_widget_get_height (view);
  const double down = td_view_zoom_down (at);
  const TdImage *image = td_slice_view_get_image (view);
  double x, y;

  td_view_from_picture (at, w, h, column - (image->extent_width - 1) / 2.0,
                        row - (image->extent_height - 1) / 2.0, &x, &y);
  g_signal_emit_by_name (drag, "drag-begin", x, y);
  g_signal_emit_by_name (drag, "drag-update", by_columns * at->zoom / 2, by_rows * down / 2);
  g_usleep (1.1 * G_USEC_PER_SEC);
  g_signal_emit_by_name (drag, "drag-update", by_columns * at->zoom, by_rows * down);
  g_signal_emit_by_name (drag, "drag-end", by_columns * at->zoom, by_rows * down);
}

static gboolean
is_test_button (GtkWidget *button, gpointer unused)
{
  return g_strcmp0 (gtk_button_get_label (GTK_BUTTON (button)), "Test") == 0;
}

static gboolean
devices_are_there (gpointer unused)
{
  GtkWindow *devices = td_test_other_window (TD_TYPE_DEVICES_WINDOW);

  return devices
         && td_test_find (GTK_WIDGET (devices), GTK_TYPE_BUTTON, is_test_button, NULL) != NULL;
}

/* A device is not tested while its kernels are timed, nor timed while it is tested. */
static void
test_one_at_a_time (void)
{
  GType type = TD_TYPE_DEVICES_WINDOW;

  td_test_activate ("show-devices", NULL);
  td_test_wait (devices_are_there, NULL, "the devices");
  GtkWindow *devices = td_test_other_window (type);
  GtkWidget *test = td_test_button (devices, "Test");
  GtkWidget *group = gtk_widget_get_ancestor (test, ADW_TYPE_PREFERENCES_GROUP);
  GtkWidget *tune = td_test_button (group, "Tune");
  td_test_click (tune);
  g_assert_false (gtk_widget_is_sensitive (test));
  td_test_click (td_test_button (group, "Stop"));
  g_assert_true (gtk_widget_is_sensitive (test) && gtk_widget_is_sensitive (tune));
  td_test_click (test);
  g_assert_false (gtk_widget_is_sensitive (test) || gtk_widget_is_sensitive (tune));
  gtk_window_close (devices);
  td_test_wait (td_test_window_is_gone, &type, "the devices to close");
}

/* The axis is dragged in the slice, and tilted by its ends in the projection; each drag is one step
   to undo, however slow. Alt and the arrows do the same. */
static void
test_axis_grips (void)
{
  TdScanView *scan = td_test_scan_view ();
  gpointer slice = td_image_pane_view (td_test_part (scan, "slice"));
  gpointer projection = td_image_pane_view (td_test_part (scan, "projection"));
  const TdScanFacts *facts = td_session_facts (td_test_session ());
  const double middle = (facts->n_columns - 1) / 2.0, last = facts->n_rows - 1.0;
  TdRecipe recipe = *td_session_recipe (td_test_session ());
  const guint done = td_session_n_done (td_test_session ());

  recipe.centre_px = 44;
  recipe.tilt_deg = 0;
  td_session_edit (td_test_session (), &recipe, NULL);
  td_test_wait (td_test_slice_is_there, NULL, "the slice");
  drag_from (slice, middle, middle, 3, 5);
  g_assert_cmpfloat_with_epsilon (td_session_recipe (td_test_session ())->centre_px, 47, 0.02);
  g_assert_cmpfloat (td_session_recipe (td_test_session ())->tilt_deg, ==, 0);
  g_assert_cmpuint (td_session_n_done (td_test_session ()), ==, done + 2);
  /* The lower end goes two columns to the right, and the upper one stays. */
  drag_from (projection, 47, 0.9 * last, 2, 0);
  const double slope = 2 / (0.8 * last);
  const TdRecipe *now = td_session_recipe (td_test_session ());
  g_assert_cmpfloat_with_epsilon (now->tilt_deg, atan (slope) * 180 / G_PI, 0.002);
  g_assert_cmpfloat_with_epsilon (now->centre_px, 48, 0.02);
  g_assert_cmpuint (td_session_n_done (td_test_session ()), ==, done + 3);
  td_test_wait (td_test_slice_is_there, NULL, "the slice");
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-use-axis");
  td_test_activate ("undo", NULL);
  g_assert_cmpfloat (td_session_recipe (td_test_session ())->tilt_deg, ==, 0);
  g_signal_emit_by_name (projection, "shifted", 0, 1, FALSE);
  g_assert_cmpfloat_with_epsilon (td_session_recipe (td_test_session ())->tilt_deg, 0.05, 1e-9);
  g_signal_emit_by_name (projection, "shifted", 1, 0, TRUE);
  g_assert_cmpfloat_with_epsilon (td_session_recipe (td_test_session ())->centre_px, 47.1, 0.02);
  td_session_undo (td_test_session (), td_session_n_done (td_test_session ()) - done);
  td_test_wait (td_test_slice_is_there, NULL, "the slice");
}

/* Each pane's lines stand where they can be taken hold of: the row, the view, and the axis in both.
 */
static void
test_lines_dragged (void)
{
  TdScanView *scan = td_test_scan_view ();
  gpointer sinogram = td_image_pane_view (td_test_part (scan, "sinogram"));
  gpointer projection = td_image_pane_view (td_test_part (scan, "projection"));
  GtkAdjustment *row = td_test_part (scan, "row_adjustment");
  GtkAdjustment *view = td_test_part (scan, "view_adjustment");
  const double middle = (td_session_facts (td_test_session ())->n_rows - 1) / 2.0;
  TdRecipe recipe = *td_session_recipe (td_test_session ());
  const guint done = td_session_n_done (td_test_session ());
  const double slope = tan (4 * G_PI / 180);

  recipe.centre_px = 44;
  recipe.tilt_deg = 4;
  td_session_edit (td_test_session (), &recipe, NULL);
  gtk_adjustment_set_value (row, 18);
  gtk_adjustment_set_value (view, 30);
  td_test_wait (td_test_slice_is_there, NULL, "the slice");
  /* It is upright in a sinogram, and at each row another one. */
  drag_from (sinogram, 44 + slope * (18 - middle), 70, 3, 0);
  g_assert_cmpfloat_with_epsilon (td_session_recipe (td_test_session ())->centre_px, 47, 0.02);
  drag_from (projection, 47 + slope * (8 - middle), 8, -2, 0);
  g_assert_cmpfloat_with_epsilon (td_session_recipe (td_test_session ())->centre_px, 45, 0.02);
  g_assert_cmpfloat_with_epsilon (td_session_recipe (td_test_session ())->tilt_deg, 4, 1e-9);
  drag_from (sinogram, 80, 30, 0, 20);
  g_assert_cmpfloat (gtk_adjustment_get_value (view), ==, 50);
  drag_from (projection, 80, 18, 0, -6);
  g_assert_cmpfloat (gtk_adjustment_get_value (row), ==, 12);
  td_session_undo (td_test_session (), td_session_n_done (td_test_session ()) - done);
  td_test_wait (td_test_slice_is_there, NULL, "the slice");
}

/* Where the whole run iterates and the preview does not, the picture says so. */
static void
test_iterative_label (void)
{
  TdRecipe recipe = *td_session_recipe (td_test_session ());
  GtkWidget *badge = td_test_part (td_test_slice_pane (), "badge");

  g_assert_false (gtk_widget_get_visible (badge));
  recipe.method = TD_METHOD_SIRT;
  recipe.iterations = 2;
  td_session_edit (td_test_session (), &recipe, NULL);
  g_assert_true (gtk_widget_get_visible (badge));
  g_assert_nonnull (strstr (gtk_label_get_text (GTK_LABEL (badge)), "Filtered slice"));
  td_test_wait (td_test_slice_is_there, NULL, "the slice");
  td_test_activate ("undo", NULL);
  g_assert_false (gtk_widget_get_visible (badge));
  /* Where no such slice follows, the picture says why. */
  recipe.bin[0] = recipe.bin[1] = 2;
  td_session_edit (td_test_session (), &recipe, NULL);
  g_assert_nonnull (strstr (gtk_label_get_text (GTK_LABEL (badge)), "a part of the scan or bins"));
  td_test_activate ("undo", NULL);
  td_test_wait (td_test_slice_is_there, NULL, "the slice");
  td_test_pin_window ("use", td_test_window);
}

static gboolean
badge_says (gpointer text)
{
  GtkWidget *badge = td_test_part (td_test_slice_pane (), "badge");

  return gtk_widget_get_visible (badge)
         && strstr (gtk_label_get_text (GTK_LABEL (badge)), text) != NULL;
}

/* The slice comes by the method itself, pass by pass, and is what a job makes; a change ends it. */
static void
test_iterated_slice (void)
{
  TdRecipe recipe = *td_session_recipe (td_test_session ());
  const TdRecipe before = recipe;
  const guint row = td_scan_view_get_row (td_test_scan_view ());
  GtkLabel *heading = td_test_part (td_test_slice_pane (), "subtitle");

  recipe.method = TD_METHOD_SIRT;
  recipe.iterations = 2;
  td_session_edit (td_test_session (), &recipe, NULL);
  td_test_wait (badge_says, (gpointer) "2 of 2 passes", "the last pass");
  g_assert_nonnull (strstr (gtk_label_get_text (heading), "2 of 2 passes"));
  const TdImage *image = td_test_shown_slice ();
  g_autofree float *expected = td_test_slice_by_job (&recipe, row);
  const gsize n = (gsize) image->width * image->height;
  g_assert_cmpfloat (td_test_rms_between (image->pixels, expected, n), <, 1e-5);
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-use-iterative");
  recipe.iterations = 5000;
  td_session_edit (td_test_session (), &recipe, NULL);
  g_assert_true (badge_says ("Filtered slice"));
  td_test_wait (badge_says, (gpointer) "of 5000 passes", "a pass");
  /* Another row's slice is the filtered one at first, and is not called anything else. */
  GtkAdjustment *rows = td_test_part (td_test_scan_view (), "row_adjustment");
  gtk_adjustment_set_value (rows, row + 1);
  g_assert_true (badge_says ("Filtered slice"));
  gtk_adjustment_set_value (rows, row);
  td_session_edit (td_test_session (), &before, NULL);
  g_assert_false (gtk_widget_get_visible (td_test_part (td_test_slice_pane (), "badge")));
  td_test_wait (td_test_slice_is_there, NULL, "the slice");
}

/* A large slice is reduced, and says so; its values are those of the whole one. */
static void
test_iterated_reduced (void)
{
  const char *options[] = { "--columns=300", "--rows=2", "--views=240", NULL };
  g_autofree char *path = td_test_phantom ("wide.nxs", options);
  g_autofree char *old = g_strdup (td_session_facts (td_test_session ())->path);
  double sums[2] = { 0 };

  td_test_open (path);
  TdRecipe recipe = *td_session_recipe (td_test_session ());
  recipe.method = TD_METHOD_SIRT;
  recipe.iterations = 2;
  td_session_edit (td_test_session (), &recipe, NULL);
  td_test_wait (badge_says, (gpointer) "2 of 2 passes, reduced 2 times", "the last pass");
  const TdImage *image = td_test_shown_slice ();
  g_assert_cmpuint (image->width, ==, 150);
  g_assert_cmpfloat (image->extent_width, ==, 300);
  recipe.method = TD_METHOD_AUTO;
  g_autofree float *filtered = td_test_slice_by_job (&recipe, 1);
  for (guint i = 0; i < 150 * 150; i++)
    sums[0] += 4 * image->pixels[i];
  for (guint i = 0; i < 300 * 300; i++)
    sums[1] += filtered[i];
  /* The filtered slice has a little beside the object, the other one nothing. */
  g_assert_cmpfloat_with_epsilon (sums[0] / sums[1], 1, 0.15);
  td_test_open (old);
}

/* A kernel's name is not cut where it is chosen, and is the same in every list. */
static void
test_kernel_name (void)
{
  GtkWidget *kernel = td_test_row (td_test_window, "Kernel");
  GtkWidget *device = td_test_row (td_test_window, "Compute on");

  g_assert_true (adw_combo_row_get_use_subtitle (ADW_COMBO_ROW (kernel)));
  g_assert_cmpint (adw_action_row_get_subtitle_lines (ADW_ACTION_ROW (kernel)), ==, 0);
  g_assert_true (adw_combo_row_get_use_subtitle (ADW_COMBO_ROW (device)));
  g_assert_cmpint (adw_action_row_get_subtitle_lines (ADW_ACTION_ROW (device)), ==, 0);
  for (guint i = 0; i < g_list_model_get_n_items (td_choices (TD_CHOICE_KERNEL, FALSE)); i++) {
    const char *label = td_choice_text (TD_CHOICE_KERNEL, i, TRUE);
    g_assert_true (g_str_has_prefix (td_choice_text (TD_CHOICE_KERNEL, i, FALSE), label));
    g_assert_cmpstr (td_choice_label (TD_CHOICE_KERNEL, td_family_choice_value (i)), ==, label);
  }
  td_test_pin_window ("use", td_test_window);
}

/* The count of written slices stays behind the bar, and says why. */
static void
test_writing_status (void)
{
  const TdJobProgress progress = {
    .fraction = 0.95, .slices_done = 16, .n_slices = 32, .stage = "writing", .remaining_s = -1
  };
  g_autofree char *text = td_progress_text (&progress);

  g_assert_nonnull (strstr (text, "16 of 32"));
  g_assert_nonnull (strstr (text, "written"));

  const TdJobProgress building
      = { .n_slices = 32, .stage = "building kernels, once", .remaining_s = 1260 };
  g_autofree char *first = td_progress_text (&building);
  g_assert_nonnull (strstr (first, "Building kernels"));
  g_assert_null (strstr (first, "left"));
}

static gboolean
remedies_are_offered (gpointer pane)
{
  return gtk_widget_get_visible (
      GTK_WIDGET (gtk_widget_get_template_child (pane, TD_TYPE_IMAGE_PANE, "message_box")));
}

static guint
count_remedies (gpointer pane)
{
  GtkWidget *box
      = GTK_WIDGET (gtk_widget_get_template_child (pane, TD_TYPE_IMAGE_PANE, "remedies"));
  guint n = 0;

  for (GtkWidget *child = gtk_widget_get_first_child (box); child;
       child = gtk_widget_get_next_sibling (child))
    n++;
  return n;
}

/* ── Labels ── */

/* Titles, from the widget's own to that of its dialog: one string, so that a path can be sought. */
static void
collect_titles (GtkWidget *widget, const char *above, GPtrArray *titles)
{
  const char *title = ADW_IS_PREFERENCES_ROW (widget)
                          ? adw_preferences_row_get_title (ADW_PREFERENCES_ROW (widget))
                      : ADW_IS_PREFERENCES_GROUP (widget)
                          ? adw_preferences_group_get_title (ADW_PREFERENCES_GROUP (widget))
                      : GTK_IS_WINDOW (widget) ? gtk_window_get_title (GTK_WINDOW (widget))
                                               : NULL;
  g_autofree char *path
      = title && *title ? g_strdup_printf ("%s/%s", above, title) : g_strdup (above);

  if (title && *title)
    g_ptr_array_add (titles, g_utf8_casefold (path, -1));
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child;
       child = gtk_widget_get_next_sibling (child))
    collect_titles (child, path, titles);
}

/* Some widget has the label's parts in its titles, in their order. */
static gboolean
label_is_there (const char *label, GPtrArray *titles)
{
  g_autofree char *folded = g_utf8_casefold (label, -1);
  g_autoptr (GString) plain = g_string_new (folded);

  g_string_replace (plain, " (ctrl+d)", "", 0);
  g_auto (GStrv) parts = g_strsplit (plain->str, ": ", -1);
  for (guint i = 0; i < titles->len; i++) {
    const char *at = titles->pdata[i];
    guint found = 0;
    while (parts[found] && at && (at = strstr (at, parts[found])))
      at += strlen (parts[found++]);
    if (!parts[found])
      return TRUE;
  }
  return FALSE;
}

/* What messages name is in the window under that name. */
static void
test_labels (void)
{
  g_autoptr (GPtrArray) titles = g_ptr_array_new_with_free_func (g_free);
  const TdField *const tables[] = { td_recipe_fields, td_scan_fields };
  GtkWidget *details = td_open_dialog_new (GTK_WINDOW (td_test_window), NULL, NULL);
  GtkWidget *reconstruct = td_reconstruct_dialog_new (
      GTK_WINDOW (td_test_window), td_session_engine (td_test_session ()),
      td_session_scan (td_test_session ()), td_session_recipe (td_test_session ()), NULL, NULL);

  collect_titles (GTK_WIDGET (td_test_window), "", titles);
  collect_titles (details, "", titles);
  collect_titles (reconstruct, "", titles);
  g_assert_cmpuint (titles->len, >, 40);
  for (guint t = 0; t < G_N_ELEMENTS (tables); t++)
    for (const TdField *field = tables[t]; field->option; field++)
      if (field->label && !label_is_there (field->label, titles))
        g_error ("“%s” (--%s) is nowhere in the window", field->label, field->option);
  g_assert_false (label_is_there ("Region: columns of the sky", titles));
  gtk_window_destroy (GTK_WINDOW (details));
  gtk_window_destroy (GTK_WINDOW (reconstruct));
}

/* Counts without flats: the message has buttons that lead to what is missing. */
static void
test_missing_flats (void)
{
  const char *options[]
      = { "--columns=96", "--rows=4", "--views=120", "--flats=0", "--darks=0", NULL };
  g_autofree char *path = td_test_phantom ("without-flats.nxs", options);
  GtkWidget *pane = GTK_WIDGET (td_test_slice_pane ());

  td_window_open_path (td_test_window, path);
  td_test_wait (td_test_in_state, (gpointer) "scan", "the scan to open");
  td_test_wait (remedies_are_offered, pane, "the message");
  g_assert_cmpuint (count_remedies (pane), ==, 2);
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-use-flats");

  td_test_activate ("choose-flats", NULL);
  GtkWindow *dialog = td_test_other_window (TD_TYPE_OPEN_DIALOG);
  GtkWidget *focus = gtk_window_get_focus (dialog);
  g_assert_nonnull (focus);
  GtkWidget *row = gtk_widget_get_ancestor (focus, TD_TYPE_FILE_ROW);
  g_assert_cmpstr (adw_preferences_row_get_title (ADW_PREFERENCES_ROW (row)), ==, "Flats");
  gtk_window_close (dialog);

  td_test_activate ("state-empty-beam", NULL);
  focus = gtk_window_get_focus (GTK_WINDOW (td_test_window));
  row = gtk_widget_get_ancestor (focus, TD_TYPE_NUMBER_ROW);
  g_assert_nonnull (row);
  td_number_row_set_value (TD_NUMBER_ROW (row), 40000);
  td_test_wait (td_test_slice_is_there, NULL, "the slice by the open beam");
  g_assert_false (remedies_are_offered (pane));
  g_assert_cmpuint (count_remedies (pane), ==, 0);
  /* While there is none, the picture below the message is no longer what is asked for. */
  g_autoptr (GError) error = g_error_new_literal (TD_ERROR, TD_ERROR_IO, "The disk is gone");
  GtkWidget *view = GTK_WIDGET (td_image_pane_view (TD_IMAGE_PANE (pane)));
  g_assert_false (gtk_widget_has_css_class (view, "stale"));
  td_image_pane_set_problem (TD_IMAGE_PANE (pane), error);
  g_assert_true (gtk_widget_has_css_class (view, "stale"));
  g_autoptr (TdImage) shown = td_image_ref (td_image_pane_get_image (TD_IMAGE_PANE (pane)));
  td_image_pane_set_image (TD_IMAGE_PANE (pane), shown);
  g_assert_false (gtk_widget_has_css_class (view, "stale"));
  td_test_pin_window ("use", td_test_window);
}

static gboolean
window_is_gone (gpointer user)
{
  return td_test_window == NULL;
}

static gboolean
item_has_ended (gpointer item)
{
  return td_job_item_ended (item);
}

/* The signal that a session's end sends: no question, and the job goes on. */
static void
test_terminated (void)
{
  const char *options[] = { "--columns=256", "--rows=16", "--views=200", NULL };
  g_autofree char *path = td_test_phantom ("long.nxs", options);
  g_autofree char *output = g_build_filename (td_test_folder (), "terminated", NULL);
  GtkWidget *dialog;

  td_test_open (path);
  TdRecipe recipe = *td_session_recipe (td_test_session ());
  g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
  g_autoptr (TdJobItem) item = td_test_submit (&recipe, output);
  dialog = adw_message_dialog_new (GTK_WINDOW (td_test_window), "A question", "that stands open");
  gtk_window_present (GTK_WINDOW (dialog));
  /* A number that was typed is taken while the window goes. */
  GtkWidget *spin = td_test_find (td_test_part (td_test_window, "panel"), GTK_TYPE_SPIN_BUTTON,
                                  is_typed_into, NULL);
  g_assert_nonnull (spin);
  gtk_widget_grab_focus (spin);
  gtk_editable_set_text (GTK_EDITABLE (spin), "30");
  g_assert_cmpint (raise (SIGTERM), ==, 0);
  td_test_wait (window_is_gone, NULL, "the window to be freed");
  g_assert_null (td_test_other_window (ADW_TYPE_MESSAGE_DIALOG));
  td_test_wait (item_has_ended, item, "the job's end");
  g_assert_cmpint (td_job_item_state (item), ==, TD_JOB_DONE);
  g_assert_true (g_file_test (output, G_FILE_TEST_EXISTS));
}

static gboolean
driver_is_loaded (GPid process)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/maps", process), *maps = NULL;

  return g_file_get_contents (path, &maps, NULL, NULL) && strstr (maps, "fake-icd");
}

static void
on_child_ended (GPid process, int status, gpointer told)
{
  g_spawn_close_pid (process);
  *(int *) told = status;
}

static gboolean
has_ended (gpointer status)
{
  return *(int *) status != -1;
}

/* The program ends by itself, though a driver hangs at its end. A driver that is put away while
   another thread still loads it does so. */
static void
test_leaves (void)
{
  const char *library = g_getenv ("TOMODESK_FAKE_ICD");
  g_autofree char *icd = g_build_filename (td_test_folder (), "a.icd", NULL);
  g_autofree char *folder = g_path_get_dirname (g_getenv ("TOMODESK_CLI"));
  g_autofree char *program = g_build_filename (folder, "tomodesk", NULL);
  char *const words[] = { program, NULL };
  g_auto (GStrv) environment = g_get_environ ();
  g_autoptr (GError) error = NULL;
  GPid process;
  int status = -1;

  if (!library) {
    g_test_skip ("built without OpenCL");
    return;
  }
  g_assert_true (g_file_set_contents (icd, library, -1, NULL));
  environment = g_environ_setenv (environment, "OCL_ICD_VENDORS", td_test_folder (), TRUE);
  environment = g_environ_setenv (environment, "XDG_CACHE_HOME", td_test_folder (), TRUE);
  environment = g_environ_setenv (environment, "FAKE_ICD", "stay", TRUE);
  g_spawn_async (NULL, (char **) words, environment, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
                 &process, &error);
  g_assert_no_error (error);
  g_child_watch_add (process, on_child_ended, &status);
  while (status == -1 && !driver_is_loaded (process))
    td_test_pause (20);
  g_assert_cmpint (kill (process, SIGTERM), ==, 0);
  td_test_wait (has_ended, &status, "the program's end");
  g_assert_cmpint (status, ==, 0);
}

/* A path that is longer than its row shows its end: the volume's own name. */
static void
test_path_end (void)
{
  GType type = TD_TYPE_RECONSTRUCT_DIALOG;

  td_test_activate ("reconstruct", NULL);
  td_test_wait (td_test_window_is_mapped, &type, "the dialog");
  GtkWindow *dialog = td_test_other_window (type);
  GtkWidget *row = td_test_part (dialog, "path");
  GtkWidget *text = GTK_WIDGET (gtk_editable_get_delegate (GTK_EDITABLE (row)));
  td_test_wait (td_test_plan_is_ready, dialog, "the plan");
  g_autofree char *folder = g_strnfill (100, 'm');
  g_autofree char *path = g_strconcat (folder, gtk_editable_get_text (GTK_EDITABLE (row)), NULL);
  g_assert_cmpint (gtk_editable_get_position (GTK_EDITABLE (row)) + 100, ==, strlen (path));
  td_set_path (row, path);
  td_test_frames (GTK_WIDGET (dialog));
  g_autoptr (PangoLayout) layout = gtk_widget_create_pango_layout (text, path);
  int width, offset;
  pango_layout_get_pixel_size (layout, &width, NULL);
  g_object_get (text, "scroll-offset", &offset, NULL);
  g_assert_cmpint (width - offset, <=, gtk_widget_get_width (text));
  gtk_window_close (dialog);
  td_test_wait (td_test_window_is_gone, &type, "the dialog to close");
}

/* A number that was typed is taken when the focus leaves it, which it does while the dialog goes.
 */
static void
test_closed_while_typing (void)
{
  const struct {
    const char *action;
    GType type;
  } dialogs[] = { { "reconstruct", TD_TYPE_RECONSTRUCT_DIALOG },
                  { "open-details", TD_TYPE_OPEN_DIALOG },
                  { "preferences", TD_TYPE_PREFERENCES_WINDOW } };

  for (guint i = 0; i < G_N_ELEMENTS (dialogs); i++) {
    GType type = dialogs[i].type;
    if (g_action_map_lookup_action (G_ACTION_MAP (td_test_window), dialogs[i].action))
      td_test_activate (dialogs[i].action, NULL);
    else
      g_action_group_activate_action (G_ACTION_GROUP (application), dialogs[i].action, NULL);
    td_test_wait (td_test_window_is_mapped, &type, dialogs[i].action);
    GtkWindow *dialog = td_test_other_window (type);
    if (type == TD_TYPE_RECONSTRUCT_DIALOG) {
      g_object_set (td_test_part (dialog, "bits"), "selected", 1, NULL);
      gtk_switch_set_active (td_test_part (dialog, "range_auto"), FALSE);
    }
    td_test_frames (GTK_WIDGET (dialog));
    GtkWidget *spin = td_test_find (GTK_WIDGET (dialog), GTK_TYPE_SPIN_BUTTON, is_typed_into, NULL);
    g_assert_nonnull (spin);
    gtk_widget_grab_focus (spin);
    gtk_editable_set_text (GTK_EDITABLE (spin), "3");
    gtk_window_close (dialog);
    td_test_wait (td_test_window_is_gone, &type, "the dialog to close");
    td_test_pause (20);
  }
}

static gboolean
is_below_and_takes_focus (GtkWidget *row, gpointer unused)
{
  GtkWidget *port = gtk_widget_get_ancestor (row, GTK_TYPE_VIEWPORT);
  graphene_rect_t at;

  return gtk_widget_get_mapped (row) && gtk_widget_compute_bounds (row, port, &at)
         && at.origin.y > gtk_widget_get_height (port) && gtk_widget_grab_focus (row)
         && gtk_widget_has_focus (row);
}

static gboolean
is_in_sight (gpointer row)
{
  GtkWidget *port = gtk_widget_get_ancestor (row, GTK_TYPE_VIEWPORT);
  graphene_rect_t at;

  return gtk_widget_compute_bounds (row, port, &at) && at.origin.y >= 0
         && at.origin.y + at.size.height <= gtk_widget_get_height (port);
}

static gboolean
is_laid_out (gpointer adjustment)
{
  return gtk_adjustment_get_upper (adjustment) > 0;
}

/* A key does nothing to what was scrolled away: GTK gives a list beyond all monitors any size.
 */
static void
test_key_out_of_sight (void)
{
  GtkWidget *panel = td_test_part (td_test_window, "panel.scroller");
  GtkAdjustment *down = gtk_scrolled_window_get_vadjustment (GTK_SCROLLED_WINDOW (panel));

  td_test_wait (is_laid_out, down, "the panel");
  gtk_adjustment_set_value (down, 0);
  td_test_frames (GTK_WIDGET (td_test_window));
  GtkWidget *row = td_test_find (panel, ADW_TYPE_PREFERENCES_ROW, is_below_and_takes_focus, NULL);
  g_assert_nonnull (row);
  td_test_wait (is_in_sight, row, "the row to be seen");
  g_assert_false (td_test_key (GDK_KEY_space, 0, TRUE));
  gtk_adjustment_set_value (down, 0);
  td_test_frames (GTK_WIDGET (td_test_window));
  g_assert_false (is_in_sight (row));
  g_assert_true (td_test_key (GDK_KEY_space, 0, TRUE));
  td_test_wait (is_in_sight, row, "the row to come back");

  /* A list that drops down meanwhile stays where it is. */
  GtkWidget *chooser = td_test_find (panel, TD_TYPE_STEP_CHOOSER, NULL, NULL);
  gtk_adjustment_set_value (down, 0);
  td_test_frames (GTK_WIDGET (td_test_window));
  td_scroll_into_sight (row);
  gtk_popover_popup (GTK_POPOVER (chooser));
  td_test_wait (td_test_is_mapped, chooser, "the list of steps");
  const double value = gtk_adjustment_get_value (down);
  td_test_pause (600);
  g_assert_cmpfloat (gtk_adjustment_get_value (down), ==, value);
  gtk_popover_popdown (GTK_POPOVER (chooser));
}

/* What drops down at the foot of the panel has the focus, and does not scroll the panel. */
static void
test_list_at_foot (void)
{
  GtkWidget *panel = td_test_part (td_test_window, "panel.scroller");
  GtkAdjustment *down = gtk_scrolled_window_get_vadjustment (GTK_SCROLLED_WINDOW (panel));
  GtkWidget *chooser = td_test_find (panel, TD_TYPE_STEP_CHOOSER, NULL, NULL);
  GtkWidget *button = gtk_widget_get_parent (chooser);
  graphene_rect_t at;

  gtk_adjustment_set_value (down, 0);
  td_test_frames (GTK_WIDGET (td_test_window));
  g_assert_true (
      gtk_widget_compute_bounds (button, gtk_widget_get_ancestor (button, GTK_TYPE_VIEWPORT), &at));
  const double foot = at.origin.y + at.size.height - gtk_adjustment_get_page_size (down);
  gtk_adjustment_set_value (down, foot);
  const double value = gtk_adjustment_get_value (down);
  td_test_frames (GTK_WIDGET (td_test_window));
  gtk_popover_popup (GTK_POPOVER (chooser));
  td_test_wait (td_test_is_mapped, chooser, "the list of steps");
  GtkWidget *list = td_test_find (chooser, GTK_TYPE_LIST_BOX, NULL, NULL);
  for (GtkWidget *row = gtk_widget_get_first_child (list); row;
       row = gtk_widget_get_next_sibling (row)) {
    gtk_widget_grab_focus (row);
    td_test_pause (20);
  }
  td_test_pause (300);
  g_assert_cmpfloat (gtk_adjustment_get_value (down), ==, value);
  gtk_popover_popdown (GTK_POPOVER (chooser));
}

/* What drops down closes when its button leaves sight: scrolled away, or folded in by a key. */
static void
test_list_leaves (void)
{
  GtkWidget *panel = td_test_part (td_test_window, "panel.scroller");
  GtkAdjustment *down = gtk_scrolled_window_get_vadjustment (GTK_SCROLLED_WINDOW (panel));
  GtkWidget *chooser = td_test_find (panel, TD_TYPE_STEP_CHOOSER, NULL, NULL);
  GtkWidget *button = gtk_widget_get_parent (chooser);
  GtkWidget *content
      = gtk_viewport_get_child (GTK_VIEWPORT (gtk_widget_get_ancestor (button, GTK_TYPE_VIEWPORT)));
  graphene_rect_t at;

  td_test_wait (is_laid_out, down, "the panel");
  g_assert_true (gtk_widget_compute_bounds (button, content, &at));
  gtk_adjustment_set_value (down, at.origin.y);
  td_test_wait (is_in_sight, button, "the button");
  gtk_popover_popup (GTK_POPOVER (chooser));
  td_test_wait (td_test_is_mapped, chooser, "the list of steps");
  g_assert_true (gtk_widget_compute_bounds (button, content, &at));
  gtk_adjustment_set_value (down, at.origin.y + at.size.height / 2);
  g_assert_true (gtk_widget_get_visible (chooser));
  gtk_adjustment_set_value (down, at.origin.y + at.size.height);
  g_assert_false (gtk_widget_get_visible (chooser));
  gtk_adjustment_set_value (down, at.origin.y);
  td_test_wait (is_in_sight, button, "the button to come back");
  gtk_popover_popup (GTK_POPOVER (chooser));
  td_test_wait (td_test_is_mapped, chooser, "the list of steps");
  td_test_activate ("toggle-sidebar", NULL);
  g_assert_false (gtk_widget_get_visible (chooser));
  td_test_activate ("toggle-sidebar", NULL);
}

int
main (int argc, char **argv)
{
  const char *options[] = { "--columns=96",    "--rows=24", "--views=120", "--centre=48.7",
                            "--pixel-mm=0.25", "--flats=2", "--darks=2",   NULL };

  g_test_init (&argc, &argv, NULL);
  scan_path = td_test_phantom ("a_scan_of_2.nxs", options);
  application = td_test_start ();
  td_test_open (scan_path);
  g_test_add_func ("/window-use/recent-name", test_recent_name);
  g_test_add_func ("/window-use/focus-after-add", test_focus_after_add);
  g_test_add_func ("/window-use/axis-line", test_axis_line);
  g_test_add_func ("/window-use/axis-grips", test_axis_grips);
  g_test_add_func ("/window-use/lines-dragged", test_lines_dragged);
  g_test_add_func ("/window-use/one-at-a-time", test_one_at_a_time);
  g_test_add_func ("/window-use/iterative-label", test_iterative_label);
  g_test_add_func ("/window-use/iterated-slice", test_iterated_slice);
  g_test_add_func ("/window-use/iterated-reduced", test_iterated_reduced);
  g_test_add_func ("/window-use/kernel-name", test_kernel_name);
  g_test_add_func ("/window-use/writing-status", test_writing_status);
  g_test_add_func ("/window-use/labels", test_labels);
  g_test_add_func ("/window-use/missing-flats", test_missing_flats);
  g_test_add_func ("/window-use/path-end", test_path_end);
  g_test_add_func ("/window-use/closed-while-typing", test_closed_while_typing);
  g_test_add_func ("/window-use/key-out-of-sight", test_key_out_of_sight);
  g_test_add_func ("/window-use/list-at-foot", test_list_at_foot);
  g_test_add_func ("/window-use/list-leaves", test_list_leaves);
  g_test_add_func ("/window-use/terminated", test_terminated);
  g_test_add_func ("/window-use/leaves", test_leaves);
  int status = g_test_run ();
  g_object_unref (application);
  td_test_folder_remove ();
  g_free (scan_path);
  td_device_leave (status);
}
