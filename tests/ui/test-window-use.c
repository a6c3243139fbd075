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

/* ── Three pictures of one scan ── */

static gpointer
scan_pane (const char *name)
{
  return td_test_part (td_test_scan_view (), name);
}

static guint
value_of (const char *adjustment)
{
  return (guint) gtk_adjustment_get_value (td_test_part (td_test_scan_view (), adjustment));
}

/* What is done in one picture moves the others, and nothing leaves the scan. */
static void
test_pictures_follow (void)
{
  static const struct {
    const char *pane, *signal;
    double a, b;
    guint row, view;
  } hands[] = {
    { "projection", "picked", 40, 5.2, 5, 30 },    { "projection", "picked", 40, 1000, 23, 30 },
    { "projection", "line-moved", 7.4, 0, 7, 30 }, { "projection", "nudged", 1, -2, 10, 31 },
    { "sinogram", "picked", 3, 77.3, 12, 77 },     { "sinogram", "picked", 3, -9, 12, 0 },
    { "sinogram", "picked", 3, 1000, 12, 119 },    { "sinogram", "line-moved", 15, 0, 12, 15 },
    { "sinogram", "nudged", 2, -3, 14, 27 },       { "slice", "nudged", 0, 2, 14, 30 },
    { "row_adjustment", "slider", 3, 0, 3, 30 },   { "view_adjustment", "slider", 3, 0, 12, 3 },
  };
  const TdScanFacts *facts = td_session_facts (td_test_session ());
  GtkAdjustment *row = scan_pane ("row_adjustment"), *view = scan_pane ("view_adjustment");
  const double first_row = gtk_adjustment_get_value (row),
               first_view = gtk_adjustment_get_value (view);

  for (guint i = 0; i < G_N_ELEMENTS (hands); i++) {
    gtk_adjustment_set_value (row, 12);
    gtk_adjustment_set_value (view, 30);
    gpointer pane = scan_pane (hands[i].pane);
    if (strcmp (hands[i].signal, "slider") == 0)
      gtk_adjustment_set_value (pane, hands[i].a);
    else if (strcmp (hands[i].signal, "picked") == 0)
      g_signal_emit_by_name (td_image_pane_view (pane), "picked", hands[i].a, hands[i].b);
    else if (strcmp (hands[i].signal, "line-moved") == 0)
      g_signal_emit_by_name (td_image_pane_view (pane), "line-moved", hands[i].a);
    else
      g_signal_emit_by_name (td_image_pane_view (pane), "nudged", (int) hands[i].a,
                             (int) hands[i].b, FALSE);
    g_test_message ("%s %s: row %u, view %u", hands[i].pane, hands[i].signal,
                    value_of ("row_adjustment"), value_of ("view_adjustment"));
    g_assert_cmpuint (value_of ("row_adjustment"), ==, hands[i].row);
    g_assert_cmpuint (value_of ("view_adjustment"), ==, hands[i].view);
    g_assert_cmpuint (td_scan_view_get_row (td_test_scan_view ()), ==, hands[i].row);
    g_autofree char *angle
        = g_strdup_printf ("%.2f°", facts->angles_rad[hands[i].view] * 180 / G_PI);
    g_autofree char *words = g_strdup_printf ("row %u", hands[i].row);
    g_assert_cmpstr (gtk_label_get_text (scan_pane ("projection.subtitle")), ==, angle);
    g_assert_cmpstr (gtk_label_get_text (scan_pane ("sinogram.subtitle")), ==, words);
  }
  gtk_adjustment_set_value (row, first_row);
  gtk_adjustment_set_value (view, first_view);
  td_test_wait (td_test_slice_is_there, NULL, "the slice");
}

/* The axis moves by so much, across from any picture, and tilts in the projection alone. */
static void
test_axis_moves (void)
{
  static const struct {
    const char *pane, *signal;
    int dx, dy;
    gboolean fine;
    double tilt_deg, centre_by, tilt_by;
  } moves[] = {
    { "slice", "nudged", 1, 0, FALSE, 0, 0.5, 0 },
    { "slice", "nudged", -1, 0, TRUE, 0, -0.1, 0 },
    { "slice", "shifted", -1, 0, FALSE, 0, -0.5, 0 },
    { "slice", "shifted", 0, 1, FALSE, 0, 0, 0 },
    { "sinogram", "shifted", 1, 0, TRUE, 0, 0.1, 0 },
    { "sinogram", "shifted", 0, 1, FALSE, 0, 0, 0 },
    { "projection", "shifted", 1, 0, FALSE, 0, 0.5, 0 },
    { "projection", "shifted", 0, -1, FALSE, 0, 0, -0.05 },
    { "projection", "shifted", 0, 1, TRUE, 0, 0, 0.01 },
    { "projection", "shifted", 0, 1, FALSE, 9.98, 0, 0.02 },
    { "projection", "shifted", 0, -1, FALSE, -9.98, 0, -0.02 },
  };
  const guint done = td_session_n_done (td_test_session ());

  for (guint i = 0; i < G_N_ELEMENTS (moves); i++) {
    TdRecipe recipe = *td_session_recipe (td_test_session ());
    recipe.centre_px = 44;
    recipe.tilt_deg = moves[i].tilt_deg;
    td_session_edit (td_test_session (), &recipe, NULL);
    g_signal_emit_by_name (td_image_pane_view (scan_pane (moves[i].pane)), moves[i].signal,
                           moves[i].dx, moves[i].dy, moves[i].fine);
    const TdRecipe *now = td_session_recipe (td_test_session ());
    g_test_message ("%u: %g, %g", i, now->centre_px, now->tilt_deg);
    g_assert_cmpfloat_with_epsilon (now->centre_px, 44 + moves[i].centre_by, 1e-9);
    g_assert_cmpfloat_with_epsilon (now->tilt_deg, moves[i].tilt_deg + moves[i].tilt_by, 1e-9);
  }
  td_session_undo (td_test_session (), td_session_n_done (td_test_session ()) - done);
  td_test_wait (td_test_slice_is_there, NULL, "the slice");
  /* A box in the slice is the region. */
  g_signal_emit_by_name (td_image_pane_view (scan_pane ("slice")), "region-drawn", 10.0, 12.0, 30.0,
                         20.0);
  const TdRecipe *now = td_session_recipe (td_test_session ());
  g_assert_true (now->region[0] == 10 && now->region[1] == 12 && now->region[2] == 30
                 && now->region[3] == 20);
  td_test_activate ("undo", NULL);
  td_test_wait (td_test_slice_is_there, NULL, "the slice");
}

/* Counts are thousands, and what flats and the logarithm make of them is a few. */
static gboolean
shows_counts (const char *pane)
{
  td_test_wait (td_test_scan_view_is_settled, NULL, "the pictures");
  return td_image_pane_get_image (scan_pane (pane))->maximum > 100;
}

/* Pictures as they are stored stay so wherever one goes, and come back prepared. */
static void
test_as_stored (void)
{
  static const char *const panes[] = { "projection", "sinogram" };
  GtkAdjustment *row = scan_pane ("row_adjustment"), *view = scan_pane ("view_adjustment");
  static const char *const labels[] = { "Flat field and logarithm", "All preparation steps" };
  const double first_row = gtk_adjustment_get_value (row),
               first_view = gtk_adjustment_get_value (view);
  const guint done = td_session_n_done (td_test_session ());

  for (guint i = 0; i < 2; i++) {
    GMenuModel *section = td_test_part (scan_pane (panes[i]), "option_section");
    g_autofree char *label = NULL;
    g_assert_cmpint (g_menu_model_get_n_items (section), ==, 1);
    g_assert_true (
        g_menu_model_get_item_attribute (section, 0, G_MENU_ATTRIBUTE_LABEL, "s", &label));
    g_assert_cmpstr (label, ==, labels[i]);
    g_assert_false (shows_counts (panes[i]));
    gtk_widget_activate_action (scan_pane (panes[i]), "pane.option", NULL);
    g_assert_true (shows_counts (panes[i]));
    g_assert_false (shows_counts (panes[1 - i]));
    gtk_adjustment_set_value (row, 7 + i);
    gtk_adjustment_set_value (view, 50 + i);
    g_assert_true (shows_counts (panes[i]));
    g_assert_false (shows_counts (panes[1 - i]));
    TdRecipe recipe = *td_session_recipe (td_test_session ());
    g_assert_nonnull (td_recipe_add_step (&recipe, "rings", NULL));
    td_session_edit (td_test_session (), &recipe, NULL);
    g_assert_true (shows_counts (panes[i]));
    gtk_widget_activate_action (scan_pane (panes[i]), "pane.option", NULL);
    g_assert_false (shows_counts (panes[i]));
    td_test_activate ("undo", NULL);
  }
  g_assert_cmpint (g_menu_model_get_n_items (scan_pane ("slice.option_section")), ==, 0);
  g_assert_cmpuint (td_session_n_done (td_test_session ()), ==, done);
  gtk_adjustment_set_value (row, first_row);
  gtk_adjustment_set_value (view, first_view);
  td_test_wait (td_test_slice_is_there, NULL, "the slice");
}

/* One picture has all the room, and gives it back. */
static void
test_enlarged (void)
{
  static const char *const panes[] = { "projection", "sinogram", "slice" };

  for (guint i = 0; i < G_N_ELEMENTS (panes); i++)
    for (guint back = 0; back < 2; back++) {
      gtk_toggle_button_set_active (td_test_part (scan_pane (panes[i]), "enlarge"), back == 0);
      for (guint k = 0; k < G_N_ELEMENTS (panes); k++)
        g_assert_cmpint (gtk_widget_get_visible (scan_pane (panes[k])), ==, back || k == i);
      g_assert_cmpint (gtk_widget_get_visible (scan_pane ("down")), ==, back || i < 2);
    }
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

static TdReconstructDialog *
reconstruct_by (const TdRecipe *recipe)
{
  return TD_RECONSTRUCT_DIALOG (td_reconstruct_dialog_new (
      GTK_WINDOW (td_test_window), td_session_engine (td_test_session ()),
      td_session_scan (td_test_session ()), recipe, NULL, NULL));
}

static gboolean
path_is_proposed (gpointer path)
{
  return *gtk_editable_get_text (path) != 0;
}

static TdRecipe accepted;
static char *accepted_path;

static void
on_accepted (TdReconstructDialog *dialog, const TdRecipe *recipe, const char *path)
{
  accepted = *recipe;
  g_free (accepted_path);
  accepted_path = g_strdup (path);
}

static gboolean
is_of_limits (GtkWidget *row, gpointer unused)
{
  return g_str_equal (adw_preferences_row_get_title (ADW_PREFERENCES_ROW (row)), "Memory limit");
}

static gboolean
label_says (GtkWidget *label, gpointer text)
{
  return g_str_equal (gtk_label_get_text (GTK_LABEL (label)), text);
}

/* What the recipe allows of memory stands among what is planned, if it is less than all. */
static void
test_memory_limits (void)
{
  static const struct {
    guint64 both_gib, device_gib;
    const char *says;
  } limits[] = { { 0, 0, NULL },
                 { 8, 0, "8.0\u00a0GiB" },
                 { 0, 4, "4.0\u00a0GiB on the device" },
                 { 8, 4, "8.0\u00a0GiB, 4.0\u00a0GiB on the device" } };

  for (guint i = 0; i < G_N_ELEMENTS (limits); i++) {
    TdRecipe recipe = *td_session_recipe (td_test_session ());
    recipe.memory_limit_bytes = limits[i].both_gib << 30;
    recipe.device_memory_limit_bytes = limits[i].device_gib << 30;
    TdReconstructDialog *dialog = reconstruct_by (&recipe);
    td_test_wait (path_is_proposed, td_test_part (dialog, "path"), "a name");
    td_test_wait (td_test_plan_is_ready, dialog, "the plan");
    GtkWidget *row = td_test_find (GTK_WIDGET (dialog), ADW_TYPE_ACTION_ROW, is_of_limits, NULL);
    g_assert_cmpint (row != NULL, ==, limits[i].says != NULL);
    g_assert_true (!row
                   || td_test_find (row, GTK_TYPE_LABEL, label_says, (gpointer) limits[i].says));
    gtk_window_destroy (GTK_WINDOW (dialog));
  }
}

/* How a volume is written: what the recipe has is shown, and what is chosen is the recipe's. The
   name has the ending of its format. */
static void
test_written_as (void)
{
  static const struct {
    guint bits, chosen;
  } samples[] = { { 32, 0 }, { 16, 1 }, { 8, 2 } };
  static const struct {
    const char *typed;
    guint format;
    const char *path;
  } names[] = { { "/data/a.tif", TD_VOLUME_HDF5, "/data/a.h5" },
                { "/data/a.h5", TD_VOLUME_TIFF_STACK, "/data/a" },
                { "/data/a", TD_VOLUME_BIGTIFF, "/data/a.tif" },
                { "/data/a.raw", TD_VOLUME_HDF5, "/data/a.raw.h5" } };
  TdRecipe recipe = *td_session_recipe (td_test_session ());

  for (guint i = 0; i < 2 * G_N_ELEMENTS (samples); i++) {
    const gboolean scaled = samples[i / 2].bits != 32, own = i % 2 == 0;
    recipe.output_bits = samples[i / 2].bits;
    recipe.output_range_auto = own;
    recipe.output_low = -0.25;
    recipe.output_high = 0.75;
    recipe.output_format = TD_VOLUME_HDF5;
    TdReconstructDialog *dialog = reconstruct_by (&recipe);
    g_assert_cmpuint (adw_combo_row_get_selected (td_test_part (dialog, "bits")), ==,
                      samples[i / 2].chosen);
    g_assert_cmpuint (adw_combo_row_get_selected (td_test_part (dialog, "format")), ==,
                      TD_VOLUME_HDF5);
    g_assert_cmpfloat (td_number_row_get_value (td_test_part (dialog, "low")), ==, -0.25);
    g_assert_cmpfloat (td_number_row_get_value (td_test_part (dialog, "high")), ==, 0.75);
    g_assert_cmpint (gtk_switch_get_active (td_test_part (dialog, "range_auto")), ==, own);
    g_assert_cmpint (gtk_widget_get_visible (td_test_part (dialog, "range_row")), ==, scaled);
    g_assert_cmpint (gtk_widget_get_visible (td_test_part (dialog, "low")), ==, scaled && !own);
    g_assert_cmpint (gtk_widget_get_visible (td_test_part (dialog, "high")), ==, scaled && !own);
    gtk_window_destroy (GTK_WINDOW (dialog));
  }
  recipe.output_bits = 32;
  recipe.output_format = TD_VOLUME_TIFF_STACK;
  recipe.output_range_auto = TRUE;
  TdReconstructDialog *dialog = reconstruct_by (&recipe);
  g_signal_connect (dialog, "accepted", G_CALLBACK (on_accepted), NULL);
  GtkWidget *path = td_test_part (dialog, "path"), *accept = td_test_part (dialog, "accept");
  td_test_wait (path_is_proposed, path, "a name");
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    gtk_editable_set_text (GTK_EDITABLE (path), names[i].typed);
    g_object_set (td_test_part (dialog, "format"), "selected", names[i].format, NULL);
    g_assert_cmpstr (gtk_editable_get_text (GTK_EDITABLE (path)), ==, names[i].path);
    g_assert_false (gtk_widget_get_sensitive (accept)); /* before it is planned */
    g_assert_true (gtk_spinner_get_spinning (td_test_part (dialog, "spinner")));
  }
  g_autofree char *output = g_build_filename (td_test_folder (), "written-as.h5", NULL);
  gtk_editable_set_text (GTK_EDITABLE (path), output);
  g_object_set (td_test_part (dialog, "bits"), "selected", 2, NULL);
  g_assert_true (gtk_widget_get_visible (td_test_part (dialog, "range_row")));
  gtk_switch_set_active (td_test_part (dialog, "range_auto"), FALSE);
  GtkWidget *low = td_test_find (td_test_part (dialog, "low"), GTK_TYPE_SPIN_BUTTON, NULL, NULL);
  gtk_spin_button_set_value (GTK_SPIN_BUTTON (low), -0.5);
  td_test_wait (td_test_plan_is_ready, dialog, "the plan");
  g_assert_false (gtk_spinner_get_spinning (td_test_part (dialog, "spinner")));
  td_test_click (accept);
  g_assert_cmpstr (accepted_path, ==, output);
  g_assert_true (accepted.output_bits == 8 && accepted.output_format == TD_VOLUME_HDF5
                 && !accepted.output_range_auto && accepted.output_low == -0.5
                 && accepted.output_high == 0.75);
  g_clear_pointer (&accepted_path, g_free);
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
  g_test_add_func ("/window-use/pictures-follow", test_pictures_follow);
  g_test_add_func ("/window-use/axis-moves", test_axis_moves);
  g_test_add_func ("/window-use/as-stored", test_as_stored);
  g_test_add_func ("/window-use/one-at-a-time", test_one_at_a_time);
  g_test_add_func ("/window-use/iterative-label", test_iterative_label);
  g_test_add_func ("/window-use/iterated-slice", test_iterated_slice);
  g_test_add_func ("/window-use/iterated-reduced", test_iterated_reduced);
  g_test_add_func ("/window-use/kernel-name", test_kernel_name);
  g_test_add_func ("/window-use/writing-status", test_writing_status);
  g_test_add_func ("/window-use/labels", test_labels);
  g_test_add_func ("/window-use/missing-flats", test_missing_flats);
  g_test_add_func ("/window-use/memory-limits", test_memory_limits);
  g_test_add_func ("/window-use/written-as", test_written_as);
  g_test_add_func ("/window-use/enlarged", test_enlarged);
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
