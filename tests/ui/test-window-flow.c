/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From opening to a volume as the window leads through it, and what takes steps back. The tests run
   in order in one window, on a scan that does not say where its axis is. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "app/presets.h"
#include "held-time.h"
#include "ui-test.h"
#include "ui/advice-group.h"
#include "ui/facts-group.h"
#include "ui/guide-window.h"
#include "ui/recipe-panel.h"
#include "ui/reconstruct-dialog.h"
#include "ui/toasts.h"
#include "ui/volume-window.h"
#include "window-pins.h"
#include "window-test.h"

#define CENTRE 131.4

static TdApplication *application;

static TdRecipePanel *
panel (void)
{
  return td_test_part (td_test_window, "panel");
}

static const TdRecipe *
recipe (void)
{
  return td_session_recipe (td_test_session ());
}

static gboolean
panel_is_quiet (gpointer user)
{
  return !td_test_is_updating (panel ());
}

static const char *
next_label (void)
{
  return gtk_button_get_label (td_test_part (panel (), "next_button"));
}

static gboolean
axis_is_found (gpointer user)
{
  return gtk_widget_get_sensitive (td_test_part (panel (), "next_button"))
         && isfinite (recipe ()->centre_px);
}

static gboolean
reconstruct_is_marked (void)
{
  return gtk_widget_has_css_class (td_test_part (td_test_window, "reconstruct_button"),
                                   "suggested-action");
}

/* Return does what comes next: the keyboard is there, also after a search. */
static gboolean
next_has_focus (gpointer unused)
{
  return gtk_window_get_focus (GTK_WINDOW (td_test_window))
         == td_test_part (panel (), "next_button");
}

/* The first lines of the row of a step that was brought. */
static gboolean
step_is_in_sight (gpointer title)
{
  GtkWidget *row = td_test_row (td_test_window, title),
            *scroller = td_test_part (panel (), "scroller");
  graphene_rect_t bounds;

  return gtk_widget_compute_bounds (row, scroller, &bounds) && bounds.origin.y >= 0
         && bounds.origin.y + 60 < gtk_widget_get_height (scroller);
}

/* Find, rings, reconstruct: the same button three times. Where the panel is hidden it comes, for it
   has what the button does. */
static void
test_next (void)
{
  const char *options[]
      = { "--columns=256",   "--rows=16", "--photons=20000", "--rings=0.003", "--centre=131.4",
          "--centre-unsaid", NULL };
  g_autofree char *path = td_test_phantom ("flow_demo.nxs", options);

  g_assert_false (adw_view_switcher_bar_get_reveal (td_test_part (td_test_window, "pages_bar")));
  td_test_open (path);
  td_test_wait (panel_is_quiet, NULL, "the data to be looked at");
  g_assert_true (isnan (td_session_facts (td_test_session ())->centre_px));
  g_assert_true (next_has_focus (NULL));
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-flow-1");
  g_assert_cmpint (td_recipe_panel_next (panel ()), ==, TD_FLOW_AXIS);
  g_assert_cmpstr (next_label (), ==, "Find the Axis");
  g_assert_false (reconstruct_is_marked ());
  td_test_click (td_test_part (panel (), "next_button"));
  td_test_wait (axis_is_found, NULL, "the axis");
  g_assert_cmpfloat (fabs (recipe ()->centre_px - CENTRE), <, 0.2);
  g_assert_cmpint (td_recipe_panel_next (panel ()), ==, TD_FLOW_PREPARE);
  g_assert_cmpstr (next_label (), ==, "Remove Rings");
  td_test_wait (next_has_focus, NULL, "the keyboard to be back");
  td_test_wait (td_test_slice_is_there, NULL, "the centred slice");
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-flow-2");
  gtk_toggle_button_set_active (td_test_part (td_test_window, "sidebar_button"), FALSE);
  td_test_activate ("do-next", NULL);
  td_test_wait (step_is_in_sight, (gpointer) "Rings", "the step");
  TdRecipe copy = *recipe ();
  g_assert_nonnull (td_recipe_step (&copy, "rings"));
  g_assert_cmpint (td_recipe_panel_next (panel ()), ==, TD_FLOW_RECONSTRUCT);
  g_assert_true (reconstruct_is_marked ());
  td_test_wait (td_test_slice_is_there, NULL, "the clean slice");
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-flow-3");
  td_test_pin_window ("flow", td_test_window);
}

static gboolean
no_job_runs (gpointer unused)
{
  return td_test_active_jobs () == 0;
}

static gboolean
volume_is_chosen (gpointer unused)
{
  return g_strcmp0 (adw_view_stack_get_visible_child_name (td_test_part (td_test_window, "pages")),
                    "volume")
         == 0;
}

static gboolean
focus_is_seen (gpointer unused)
{
  GtkWidget *focus = gtk_root_get_focus (GTK_ROOT (td_test_window));

  return focus && gtk_widget_get_mapped (focus);
}

/* What is written is looked at next, while that goes on too, until the recipe is another. */
static void
test_written (void)
{
  g_autofree char *output = g_build_filename (td_test_folder (), "flow-written", NULL);
  const guint n_done = td_session_n_done (td_test_session ());
  TdRecipe rows = *recipe ();

  rows.row_first = 4;
  rows.row_end = 8;
  td_session_edit (td_test_session (), &rows, NULL);
  g_assert_cmpstr (next_label (), ==, "Reconstruct…");
  td_test_activate ("do-next", NULL);
  GtkWindow *dialog = td_test_other_window (TD_TYPE_RECONSTRUCT_DIALOG);
  gtk_editable_set_text (td_test_part (dialog, "path"), output);
  td_test_wait (td_test_plan_is_ready, dialog, "the plan");
  td_test_click (td_test_part (dialog, "accept"));
  g_assert_cmpstr (next_label (), ==, "Look at the Volume");
  td_test_wait (no_job_runs, NULL, "the volume");
  g_assert_cmpstr (next_label (), ==, "Look at the Volume");
  g_assert_false (reconstruct_is_marked ());
  /* By the keyboard: what was pressed goes, and the focus does not go with it. */
  gtk_widget_grab_focus (td_test_part (panel (), "next_button"));
  td_test_activate ("do-next", NULL);
  g_assert_true (volume_is_chosen (NULL));
  g_assert_false (gtk_widget_get_visible (td_test_part (panel (), "next_button")));
  td_test_wait (focus_is_seen, NULL, "the focus");
  td_test_show_page ("slices");
  g_assert_cmpstr (next_label (), ==, "Look at the Volume");
  g_assert_true (gtk_widget_get_visible (td_test_part (panel (), "next_button")));
  td_test_show_page ("volume");
  g_assert_false (gtk_widget_get_visible (td_test_part (panel (), "next_button")));
  rows.row_end = 7;
  td_session_edit (td_test_session (), &rows, NULL);
  g_assert_cmpstr (next_label (), ==, "Reconstruct…");
  g_assert_true (reconstruct_is_marked ());
  td_test_activate ("undo", NULL);
  g_assert_cmpstr (next_label (), ==, "Look at the Volume");
  while (td_session_n_done (td_test_session ()) > n_done)
    td_test_activate ("undo", NULL);
  td_test_show_page ("slices");
}

static void
on_accepted (gpointer dialog, TdRecipe *accepted, const char *output, TdRecipe *taken)
{
  *taken = *accepted;
}

/* Who types a number and presses the button by its key has that number. */
static void
test_typed (void)
{
  g_autofree char *output = g_build_filename (td_test_folder (), "flow-typed", NULL);
  const guint n_done = td_session_n_done (td_test_session ());
  TdRecipe taken, rows = *recipe ();

  rows.row_first = 4;
  rows.row_end = 5;
  rows.output_bits = 16;
  rows.output_range_auto = FALSE;
  rows.output_low = 0;
  rows.output_high = 1;
  td_session_edit (td_test_session (), &rows, NULL);
  td_test_activate ("reconstruct", NULL);
  GtkWindow *dialog = td_test_other_window (TD_TYPE_RECONSTRUCT_DIALOG);
  g_signal_connect (dialog, "accepted", G_CALLBACK (on_accepted), &taken);
  gtk_editable_set_text (td_test_part (dialog, "path"), output);
  td_test_wait (td_test_plan_is_ready, dialog, "the plan");
  GtkWidget *spin = td_test_find (td_test_part (dialog, "high"), GTK_TYPE_SPIN_BUTTON, NULL, NULL);
  g_assert_true (gtk_widget_grab_focus (spin));
  gtk_editable_set_text (GTK_EDITABLE (spin), "0.75");
  td_test_click (td_test_part (dialog, "accept"));
  g_assert_cmpfloat (taken.output_high, ==, 0.75);
  td_test_wait (no_job_runs, NULL, "the volume");
  while (td_session_n_done (td_test_session ()) > n_done)
    td_test_activate ("undo", NULL);
}

/* ── What a change does on the main thread ── */

static void
on_told (guint *told)
{
  (*told)++;
}

/* @connect: else the handlers go. */
static void
count_tooltips (GtkWidget *widget, guint *told, gboolean connect)
{
  if (connect)
    g_signal_connect_swapped (widget, "notify::tooltip-text", G_CALLBACK (on_told), told);
  else
    g_signal_handlers_disconnect_by_func (widget, on_told, told);
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child;
       child = gtk_widget_get_next_sibling (child))
    count_tooltips (child, told, connect);
}

/* The window tells the toolkit only what has changed. Otherwise the toolkit would ask the display
   server about each tooltip, lay out each text and make each entry of a closed menu. */
static void
test_change_is_small (void)
{
  GMenuModel *menu = td_test_part (td_test_window, "done_menu");
  TdRecipe next = *recipe ();
  guint tooltips = 0, entries = 0;

  td_test_wait (panel_is_quiet, NULL, "what was done before to be looked at");
  td_test_wait (td_test_scan_view_is_settled, NULL, "its pictures");
  count_tooltips (GTK_WIDGET (td_test_window), &tooltips, TRUE);
  g_signal_connect_swapped (menu, "items-changed", G_CALLBACK (on_told), &entries);
  next.centre_px += 0.25;
  td_session_edit (td_test_session (), &next, NULL);
  td_test_wait (td_test_slice_is_there, NULL, "the slice");
  td_session_undo (td_test_session (), 1);
  td_test_wait (td_test_slice_is_there, NULL, "the slice");
  count_tooltips (GTK_WIDGET (td_test_window), &tooltips, FALSE);
  g_signal_handlers_disconnect_by_func (menu, on_told, &entries);
  g_assert_cmpuint (tooltips, ==, 0);
  g_assert_cmpuint (entries, ==, 0);
}

static void
open_done (void)
{
  GtkMenuButton *button = td_test_part (td_test_window, "done_button");

  gtk_menu_button_popup (button);
  gtk_menu_button_popdown (button);
}

/* What was done stands in words, and one click goes back to before it. */
static void
test_done (void)
{
  GMenuModel *menu = td_test_part (td_test_window, "done_menu");
  g_autofree char *last = NULL, *first = NULL;
  const TdRecipe now = *recipe ();

  open_done ();
  g_assert_cmpint (g_menu_model_get_n_items (menu), ==, 2);
  g_menu_model_get_item_attribute (menu, 0, "label", "s", &last);
  g_menu_model_get_item_attribute (menu, 1, "label", "s", &first);
  g_test_message ("%s; %s", first, last);
  g_assert_cmpstr (last, ==, "Rings: added");
  g_assert_true (g_str_has_prefix (first, "Centre of rotation: none → 131."));
  td_test_activate ("undo-to", g_variant_new_uint32 (2));
  g_assert_true (isnan (recipe ()->centre_px));
  g_assert_false (gtk_widget_get_sensitive (td_test_part (td_test_window, "done_button")));
  open_done ();
  g_assert_cmpint (g_menu_model_get_n_items (menu), ==, 0);
  td_test_activate ("redo", NULL);
  td_test_activate ("redo", NULL);
  g_assert_true (td_recipe_equal (recipe (), &now));
  td_test_pin_window ("flow", td_test_window);
}

static gboolean
is_reset_of (GtkWidget *button, gpointer row)
{
  return gtk_widget_has_css_class (button, "reset")
         && gtk_widget_is_ancestor (button, GTK_WIDGET (row));
}

/* A row that was changed goes back by itself. */
static void
test_reset (void)
{
  gpointer row = td_test_row (panel (), "Filter");
  GtkWidget *reset = td_test_find (row, GTK_TYPE_BUTTON, is_reset_of, row);
  const TdRecipe before = *recipe ();

  g_assert_nonnull (reset);
  g_assert_false (gtk_widget_get_visible (reset));
  adw_combo_row_set_selected (row, TD_FILTER_HANN);
  g_assert_cmpint (recipe ()->filter.kind, ==, TD_FILTER_HANN);
  g_assert_true (gtk_widget_get_visible (reset));
  td_test_click (reset);
  g_assert_true (td_recipe_equal (recipe (), &before));
  g_assert_false (gtk_widget_get_visible (reset));
}

/* What the planner would refuse is not selected, whatever way it is tried. */
static void
test_impossible (void)
{
  gpointer row = td_test_row (panel (), "Method");
  const TdRecipe before = *recipe ();

  td_test_wait (panel_is_quiet, NULL, "the choices");
  adw_combo_row_set_selected (row, TD_METHOD_FDK);
  g_assert_true (td_recipe_equal (recipe (), &before));
  g_assert_cmpuint (adw_combo_row_get_selected (row), ==, TD_METHOD_AUTO);
  /* What it can do stays free. */
  adw_combo_row_set_selected (row, TD_METHOD_FOURIER);
  g_assert_cmpint (recipe ()->method, ==, TD_METHOD_FOURIER);
  td_test_activate ("undo", NULL);
  g_assert_true (td_recipe_equal (recipe (), &before));
  td_test_wait (panel_is_quiet, NULL, "the choices");
  td_test_pin_window ("flow", td_test_window);
}

static gboolean
is_in_sight (gpointer widget)
{
  graphene_rect_t at;

  return gtk_widget_compute_bounds (widget, GTK_WIDGET (td_test_window), &at) && at.origin.y > 0
         && at.origin.y + at.size.height < gtk_widget_get_height (GTK_WIDGET (td_test_window));
}

/* A choice of an open list is grey and says why, or is neither. */
static void
choice_is_grey (GtkWidget *list, guint position, gboolean grey)
{
  GtkWidget *item = gtk_widget_get_first_child (list);

  for (guint i = 0; i < position; i++)
    item = gtk_widget_get_next_sibling (item);
  GtkWidget *box = gtk_widget_get_first_child (item), *name = gtk_widget_get_first_child (box);
  GtkWidget *why = gtk_widget_get_next_sibling (name);
  g_test_message ("%s: %s", gtk_label_get_text (GTK_LABEL (name)),
                  gtk_label_get_text (GTK_LABEL (why)));
  g_assert_cmpint (gtk_widget_get_sensitive (box), ==, !grey);
  g_assert_cmpint (gtk_widget_get_visible (why), ==, grey);
  g_assert_cmpint (*gtk_label_get_text (GTK_LABEL (why)) != 0, ==, grey);
  g_assert_null (gtk_widget_get_next_sibling (why));
}

/* The keyboard passes a choice that cannot be taken, and does not take it. */
static void
test_impossible_by_keyboard (void)
{
  gpointer row = td_test_row (panel (), "Method");
  const TdRecipe before = *recipe ();

  td_test_wait (panel_is_quiet, NULL, "the choices");
  gtk_widget_grab_focus (row);
  td_test_wait (is_in_sight, row, "the row to scroll into sight");
  gtk_widget_activate (row);
  GtkWidget *popover = td_test_find (row, GTK_TYPE_POPOVER, NULL, NULL);
  GtkWidget *list = td_test_find (popover, GTK_TYPE_LIST_VIEW, NULL, NULL);
  td_test_wait (td_test_is_mapped, list, "the list of methods");
  GtkSingleSelection *marked
      = GTK_SINGLE_SELECTION (gtk_list_view_get_model (GTK_LIST_VIEW (list)));
  g_assert_cmpuint (gtk_single_selection_get_selected (marked), ==, TD_METHOD_AUTO);
  choice_is_grey (list, TD_METHOD_AUTO, FALSE);
  choice_is_grey (list, TD_METHOD_FOURIER, FALSE);
  choice_is_grey (list, TD_METHOD_FDK, TRUE);
  for (guint i = TD_METHOD_AUTO; i < TD_METHOD_FDK; i++)
    td_test_press (list, GDK_KEY_Down);
  g_assert_cmpuint (gtk_single_selection_get_selected (marked), ==, TD_METHOD_FDK);
  td_test_press (gtk_window_get_focus (GTK_WINDOW (td_test_window)), GDK_KEY_Return);
  g_assert_true (td_recipe_equal (recipe (), &before));
  td_test_press (list, GDK_KEY_Down);
  g_assert_cmpuint (gtk_single_selection_get_selected (marked), ==, TD_METHOD_FOURIER);
  td_test_press (gtk_window_get_focus (GTK_WINDOW (td_test_window)), GDK_KEY_Return);
  g_assert_cmpint (recipe ()->method, ==, TD_METHOD_FOURIER);
  td_test_activate ("undo", NULL);
  td_test_wait (panel_is_quiet, NULL, "the choices");
}

static gboolean
has_preset (const char *name)
{
  g_auto (GStrv) names = td_presets_list ();

  return g_strv_contains ((const char *const *) names, name);
}

/* Whether a menu has an entry of that label, however deep. */
static gboolean
menu_offers (GMenuModel *menu, const char *label)
{
  for (int i = 0; menu && i < g_menu_model_get_n_items (menu); i++) {
    g_autofree char *own = NULL;
    g_autoptr (GMenuModel) section = g_menu_model_get_item_link (menu, i, G_MENU_LINK_SECTION);
    g_autoptr (GMenuModel) below = g_menu_model_get_item_link (menu, i, G_MENU_LINK_SUBMENU);
    g_menu_model_get_item_attribute (menu, i, G_MENU_ATTRIBUTE_LABEL, "s", &own);
    if (g_strcmp0 (own, label) == 0 || menu_offers (section, label) || menu_offers (below, label))
      return TRUE;
  }
  return FALSE;
}

static gboolean
is_main_menu (GtkWidget *button, gpointer unused)
{
  return menu_offers (gtk_menu_button_get_menu_model (GTK_MENU_BUTTON (button)), "Presets");
}

static gboolean
preset_is_applied (gpointer unused)
{
  return recipe ()->filter.kind == TD_FILTER_HANN;
}

/* Only a preset that is there can be taken away. */
static gboolean
offers_remove (gpointer name)
{
  GtkWidget *button
      = td_test_find (GTK_WIDGET (td_test_window), GTK_TYPE_MENU_BUTTON, is_main_menu, NULL);

  GMenuModel *menu = gtk_menu_button_get_menu_model (GTK_MENU_BUTTON (button));
  return menu_offers (menu, "Remove") && menu_offers (menu, name);
}

static gboolean
offers_no_remove (gpointer unused)
{
  return !offers_remove ((gpointer) "another");
}

/* A preset brings how, and leaves where: the axis is the scan's. */
static void
test_presets (void)
{
  g_autoptr (GError) error = NULL;
  TdRecipe smooth = *recipe ();
  const double centre = smooth.centre_px;

  smooth.filter.kind = TD_FILTER_HANN;
  smooth.centre_px = 7;
  smooth.row_first = 2;
  smooth.row_end = 3;
  g_strlcpy (smooth.devices, "cuda:7", sizeof smooth.devices);
  g_assert_true (td_presets_save ("test_of flow", &smooth, &error));
  g_assert_true (has_preset ("test_of flow"));
  td_test_activate ("apply-preset", g_variant_new_string ("test_of flow"));
  g_assert_cmpint (recipe ()->filter.kind, !=, TD_FILTER_HANN); /* the window waits for no file */
  td_test_wait (preset_is_applied, NULL, "the preset");
  g_assert_cmpfloat (recipe ()->centre_px, ==, centre);
  g_assert_cmpuint (recipe ()->row_end, ==, 0);
  g_assert_cmpstr (recipe ()->devices, !=, "cuda:7");
  td_test_activate ("undo", NULL);
  g_autoptr (GVariant) name = g_variant_ref_sink (g_variant_new_string ("another"));
  g_assert_true (td_presets_save ("another", &smooth, &error));
  td_test_activate ("remove-preset", g_variant_new_string ("test_of flow"));
  td_test_wait (offers_remove, (gpointer) "another", "the list of the other one");
  g_assert_false (has_preset ("test_of flow"));
  td_test_activate ("remove-preset", name);
  td_test_wait (offers_no_remove, NULL, "the empty list");
  g_assert_false (td_presets_save ("../away", &smooth, &error));
  g_assert_nonnull (strstr (error->message, "slash"));
  td_test_pin_window ("flow", td_test_window);
}

static gboolean
trials_are_there (gpointer strip)
{
  return !gtk_spinner_get_spinning (td_test_part (strip, "spinner"));
}

static gboolean
is_sensitive_trial (GtkWidget *button, gpointer number)
{
  return gtk_widget_has_css_class (button, "trial-picture") && gtk_widget_is_sensitive (button)
         && g_object_get_data (G_OBJECT (button), "trial") == number;
}

/* Trials stand around the centre that is set; a click takes one, and undo gives it back. */
static void
test_trials (void)
{
  GtkWidget *strip = td_test_part (td_test_window, "strip");
  const double centre = recipe ()->centre_px;

  td_test_activate ("show-trials", NULL);
  g_assert_true (gtk_revealer_get_reveal_child (td_test_part (td_test_window, "strip_revealer")));
  td_test_wait (trials_are_there, strip, "the trials");
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-flow-trials");
  GtkWidget *third
      = td_test_find (strip, GTK_TYPE_BUTTON, is_sensitive_trial, GUINT_TO_POINTER (2));
  g_assert_nonnull (third);
  td_test_click (third);
  g_assert_cmpfloat_with_epsilon (recipe ()->centre_px, centre - 1, 1e-6);
  g_assert_true (gtk_widget_has_css_class (third, "current"));
  td_test_activate ("undo", NULL);
  g_assert_cmpfloat (recipe ()->centre_px, ==, centre);
  td_test_click (td_test_button (strip, "Finer"));
  td_test_wait (trials_are_there, strip, "finer trials");
  td_test_click (third);
  g_assert_cmpfloat_with_epsilon (recipe ()->centre_px, centre - 0.5, 1e-6);
  td_test_activate ("undo", NULL);
  td_test_activate ("show-trials", NULL);
  g_assert_false (gtk_revealer_get_reveal_child (td_test_part (td_test_window, "strip_revealer")));
  td_test_pin_window ("flow", td_test_window);
}

/* Where the methods disagree, the trials come by themselves. */
static void
test_disagreement (void)
{
  TdCentreGroup *group = td_recipe_panel_centre (panel ());

  g_signal_emit_by_name (group, "trials-wanted", 120.0, 136.0);
  g_assert_true (gtk_revealer_get_reveal_child (td_test_part (td_test_window, "strip_revealer")));
  td_test_wait (trials_are_there, td_test_part (td_test_window, "strip"), "the trials");
  td_test_activate ("show-trials", NULL);
  td_test_pin_window ("flow", td_test_window);
}

static double
left_over (void)
{
  TdImage *image = td_image_pane_get_image (td_test_part (td_test_scan_view (), "projection"));
  TdImageStatistics statistics;

  td_test_wait (td_test_scan_view_is_settled, NULL, "the pictures");
  image = td_image_pane_get_image (td_test_part (td_test_scan_view (), "projection"));
  g_assert_true (td_image_statistics (image, 60, 0, 140, 16, &statistics));
  return statistics.deviation;
}

/* Opposite views cancel where the axis is right, and follow it; a fine nudge is a tenth. */
static void
test_opposite (void)
{
  GtkToggleButton *toggle = td_test_part (td_test_scan_view (), "opposite_button");
  TdSliceView *slice = td_image_pane_view (td_test_slice_pane ());
  const double centre = recipe ()->centre_px, plain = left_over ();

  g_assert_true (gtk_widget_is_sensitive (GTK_WIDGET (toggle)));
  gtk_toggle_button_set_active (toggle, TRUE);
  const double right = left_over ();
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-flow-opposite");
  hold_time (TRUE); /* they are one change, as a key that is held makes them */
  for (guint i = 0; i < 30; i++)
    g_signal_emit_by_name (slice, "nudged", 1, 0, TRUE);
  hold_time (FALSE);
  g_assert_cmpfloat_with_epsilon (recipe ()->centre_px, centre + 3, 1e-6);
  const double wrong = left_over ();
  g_test_message ("%g left of %g, %g three columns off", right, plain, wrong);
  g_assert_cmpfloat (right, <, 0.3 * plain);
  g_assert_cmpfloat (wrong, >, 1.5 * right);
  gtk_toggle_button_set_active (toggle, FALSE);
  td_test_activate ("undo", NULL);
  g_assert_cmpfloat_with_epsilon (left_over (), plain, 1e-9);
  td_test_pin_window ("flow", td_test_window);
}

/* A file that holds several scans lists them, the one that is open marked. */
static void
test_entries (void)
{
  TdScanFacts facts = *td_session_facts (td_test_session ());
  g_autoptr (TdFactsGroup) group = g_object_ref_sink (g_object_new (TD_TYPE_FACTS_GROUP, NULL));

  facts.notes = NULL;
  td_facts_group_show (group, &facts);
  g_assert_false (gtk_widget_get_visible (td_test_row (group, "Scan in the file")));
  td_messages_add (&facts.notes,
                   td_message_new ("The file holds %u scans (%s); %s was taken, {dataset:ENTRY} "
                                   "takes another.",
                                   2, "/entry0000, /entry0001", "/entry0001"));
  td_facts_group_show (group, &facts);
  AdwComboRow *row = td_test_row (group, "Scan in the file");
  g_assert_true (gtk_widget_get_visible (GTK_WIDGET (row)));
  g_assert_cmpuint (g_list_model_get_n_items (adw_combo_row_get_model (row)), ==, 2);
  g_assert_cmpuint (adw_combo_row_get_selected (row), ==, 1);
  td_messages_free (facts.notes);
}

/* Letters and figures of a page, without marks: of a link its words, of a picture nothing. */
static char **
guide_words (const char *text, gboolean is_source)
{
  static const char *const left_out[]
      = { "(?m)^```.*$", "(?m)^\\|[-|: ]+$", "!\\[[^]]*\\]\\([^)]*\\)", "\\]\\([^)]*\\)" };
  g_autofree char *rest = g_strdup (text);

  for (guint i = 0; is_source && i < G_N_ELEMENTS (left_out); i++) {
    g_autoptr (GRegex) regex = g_regex_new (left_out[i], 0, 0, NULL);
    char *less = g_regex_replace_literal (regex, rest, -1, 0, " ", 0, NULL);
    g_free (rest);
    rest = less;
  }
  return g_regex_split_simple ("[^\\p{L}\\p{N}]+", rest, 0, 0);
}

/* The first line of a page, without its mark. */
static gboolean
is_title_of (GtkWidget *label, gpointer page)
{
  const char *title = (char *) page + strlen ("# "), *text = gtk_label_get_text (GTK_LABEL (label));

  return g_str_has_prefix (title, text) && title[strlen (text)] == '\n';
}

/* Every word of each page is there, in its order, and headings have lost their marks. */
static void
guide_is_whole (gpointer guide)
{
  static const char place[] = "/org/tomodesk/guide";
  g_auto (GStrv) pages = g_resources_enumerate_children (place, 0, NULL);
  GtkTextBuffer *buffer = gtk_text_view_get_buffer (td_test_part (guide, "view"));

  g_assert_cmpuint (g_strv_length (pages), >, 8);
  for (guint i = 0; pages[i]; i++) {
    g_autofree char *path = g_build_filename (place, pages[i], NULL), *text = NULL;
    g_autoptr (GBytes) source = g_resources_lookup_data (path, 0, NULL);
    g_autofree char *copy = g_strndup (g_bytes_get_data (source, NULL), g_bytes_get_size (source));
    g_assert_true (td_guide_window_show (guide, pages[i]));
    g_assert_nonnull (
        td_test_find (td_test_part (guide, "list"), GTK_TYPE_LABEL, is_title_of, copy));
    g_object_get (buffer, "text", &text, NULL);
    g_assert_false (g_regex_match_simple ("^#+ \\p{Lu}", text, G_REGEX_MULTILINE, 0));
    g_auto (GStrv) now = guide_words (text, FALSE), then = guide_words (copy, TRUE);
    const guint n = g_strv_length (then), last = n - (n > 0 && then[n - 1][0] == 0);
    for (guint k = then[0][0] == 0; k < last; k++) {
      const guint at = k - (then[0][0] == 0) + (now[0][0] == 0);
      if (at >= g_strv_length (now) || !g_str_equal (now[at], then[k]))
        g_error ("%s has “%s %s” in place of “%s %s”", pages[i], k > 0 ? then[k - 1] : "",
                 at < g_strv_length (now) ? now[at] : "", k > 0 ? then[k - 1] : "", then[k]);
    }
  }
}

/* The pages of the guide are in the program, and links lead from one to the next. */
static void
test_guide (void)
{
  g_action_group_activate_action (G_ACTION_GROUP (application), "guide", NULL);
  GtkWindow *guide = td_test_other_window (TD_TYPE_GUIDE_WINDOW);

  g_assert_nonnull (guide);
  g_assert_true (td_guide_window_show (TD_GUIDE_WINDOW (guide), "guide-centre.md"));
  g_assert_true (td_guide_window_show (TD_GUIDE_WINDOW (guide), "guide-lab.md"));
  g_assert_false (td_guide_window_show (TD_GUIDE_WINDOW (guide), "nowhere.md"));
  guide_is_whole (guide);
  td_test_screenshot (GTK_WIDGET (guide), "window-flow-guide");
  gtk_window_close (guide);
}

/* Labels below @widget that tell of keys; each of these does something in the program. */
static guint
n_shortcuts (GtkWidget *widget)
{
  guint n = GTK_IS_SHORTCUT_LABEL (widget);

  if (n) {
    const char *keys = gtk_shortcut_label_get_accelerator (GTK_SHORTCUT_LABEL (widget));
    const char *first = g_str_equal (keys, "<Alt>1...4") ? "<Alt>1" : keys;
    g_auto (GStrv) actions
        = gtk_application_get_actions_for_accel (GTK_APPLICATION (application), first);
    if (!actions[0])
      g_error ("%s does nothing", first);
  }
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child;
       child = gtk_widget_get_next_sibling (child))
    n += n_shortcuts (child);
  return n;
}

static gboolean
is_of_program (GtkWidget *group, gpointer unused)
{
  return g_strcmp0 (adw_preferences_group_get_title (ADW_PREFERENCES_GROUP (group)), "Program")
         == 0;
}

static void
test_shortcuts (void)
{
  g_autoptr (GtkBuilder) builder
      = gtk_builder_new_from_resource ("/org/tomodesk/Tomodesk/shortcuts.ui");
  GtkWidget *shown = GTK_WIDGET (gtk_builder_get_object (builder, "shortcuts"));
  GtkWidget *group = td_test_find (shown, ADW_TYPE_PREFERENCES_GROUP, is_of_program, NULL);

  g_assert_cmpuint (n_shortcuts (group), >, 10);
  gtk_window_destroy (GTK_WINDOW (shown));
}

/* Labels below @widget whose words are shortened, or that lie outside of it. */
static guint
n_cut (GtkWidget *widget, GtkWidget *within)
{
  guint n = 0;

  if (!gtk_widget_get_mapped (widget))
    return 0;
  if (GTK_IS_LABEL (widget)) {
    graphene_rect_t bounds;
    const gboolean shortened
        = pango_layout_is_ellipsized (gtk_label_get_layout (GTK_LABEL (widget)));
    const gboolean outside
        = gtk_widget_compute_bounds (widget, within, &bounds)
          && (bounds.origin.x < -1
              || bounds.origin.x + bounds.size.width > gtk_widget_get_width (within) + 1);
    if (shortened || outside) {
      g_test_message ("%s: “%s”", shortened ? "shortened" : "outside",
                      gtk_label_get_text (GTK_LABEL (widget)));
      n++;
    }
  }
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child;
       child = gtk_widget_get_next_sibling (child))
    n += n_cut (child, within);
  return n;
}

/* Also where there is little room: what comes next stands there. */
static gboolean
panel_is_there (gpointer user)
{
  return gtk_widget_get_mapped (GTK_WIDGET (panel ()));
}

static gboolean
nothing_is_cut (gpointer unused)
{
  return panel_is_there (NULL) && n_cut (GTK_WIDGET (panel ()), GTK_WIDGET (panel ())) == 0;
}

static void
assert_nothing_cut (const char *name)
{
  td_test_wait (panel_is_there, NULL, "the panel");
  td_test_screenshot (GTK_WIDGET (td_test_window), name);
  td_test_wait (nothing_is_cut, NULL, "all words of the panel");
}

static gboolean
is_narrow (gpointer window)
{
  return gtk_widget_get_width (window) <= 800;
}

/* Which of its siblings a button is. */
static guint
page_of (GtkWidget *button)
{
  guint n = 0;

  while ((button = gtk_widget_get_prev_sibling (button)))
    n++;
  return n;
}

static gboolean
is_page_button (GtkWidget *button, gpointer page)
{
  GtkWidget *bar = td_test_part (td_test_window, "pages_bar");

  return gtk_widget_is_ancestor (button, bar) && gtk_widget_get_mapped (button)
         && page_of (button) == GPOINTER_TO_UINT (page);
}

/* What the pointer would be over. */
static GtkWidget *
picked_in (GtkWidget *button)
{
  double x, y;

  gtk_widget_translate_coordinates (button, GTK_WIDGET (td_test_window),
                                    gtk_widget_get_width (button) / 2.0,
                                    gtk_widget_get_height (button) / 2.0 - 8, &x, &y);
  return gtk_widget_pick (GTK_WIDGET (td_test_window), x, y, GTK_PICK_DEFAULT);
}

static gboolean
is_high (gpointer bar)
{
  return gtk_widget_get_height (bar) > 20;
}

/* Nothing lies over it, as long as it comes and later. */
static gboolean
is_picked (gpointer button)
{
  return picked_in (button) == button;
}

static gboolean
is_chosen (gpointer button)
{
  return gtk_toggle_button_get_active (button);
}

/* As many as there are pages, the first one last. What the pointer is over must be the button: a
   part of it would outlive it when the window goes, and warn. */
static void
choose_pages_below (void)
{
  GtkWidget *bar = td_test_part (td_test_window, "pages_bar");

  for (guint page = 5; page-- > 0;) {
    GtkWidget *button
        = td_test_find (bar, GTK_TYPE_TOGGLE_BUTTON, is_page_button, GUINT_TO_POINTER (page));
    if (!button)
      continue;
    gtk_widget_grab_focus (GTK_WIDGET (td_image_pane_view (td_test_slice_pane ())));
    td_test_wait (is_picked, button, "the button to be where the pointer reaches it");
    gtk_widget_activate (button); /* takes no focus, as a click does not */
    td_test_wait (is_chosen, button, "the page to be chosen");
    td_test_frames (GTK_WIDGET (td_test_window));
  }
}

/* In 800 pixels, and with text of twice the size in as few as the window takes: all words of the
   panel are there. */
static void
test_large_text (void)
{
  GtkSettings *settings = gtk_settings_get_default ();
  int dpi;

  g_object_get (settings, "gtk-xft-dpi", &dpi, NULL);
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (td_test_part (panel (), "more")), TRUE);
  gtk_window_set_default_size (GTK_WINDOW (td_test_window), 800, 760);
  td_test_wait (is_narrow, td_test_window, "the window to be narrow");
  assert_nothing_cut ("window-flow-narrow");
  td_test_wait (is_high, td_test_part (td_test_window, "pages_bar"), "the buttons below");
  choose_pages_below ();
  g_object_set (settings, "gtk-xft-dpi", 2 * 96 * 1024, NULL);
  assert_nothing_cut ("window-flow-large");
  g_object_set (settings, "gtk-xft-dpi", dpi, NULL);
  gtk_window_set_default_size (GTK_WINDOW (td_test_window), 1280, 800);
}

static guint
n_messages (void)
{
  GListModel *windows = gtk_window_get_toplevels ();
  guint n = 0;

  for (guint i = 0; i < g_list_model_get_n_items (windows); i++) {
    g_autoptr (GtkWidget) window = g_list_model_get_item (windows, i);
    n += ADW_IS_MESSAGE_DIALOG (window) && gtk_widget_get_visible (window);
  }
  return n;
}

static gboolean
message_names (gpointer name)
{
  GtkWindow *dialog = td_test_other_window (ADW_TYPE_MESSAGE_DIALOG);

  return dialog && strstr (adw_message_dialog_get_body (ADW_MESSAGE_DIALOG (dialog)), name);
}

/* The next thing that goes wrong takes the message's place. */
static void
test_messages (void)
{
  static const char *const names[] = { "not there", "nor there" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    td_test_activate ("apply-preset", g_variant_new_string (names[i]));
    td_test_wait (message_names, (gpointer) names[i], "the message");
    g_assert_cmpuint (n_messages (), ==, 1);
  }
  gtk_window_close (td_test_other_window (ADW_TYPE_MESSAGE_DIALOG));
  td_test_pin_window ("flow", td_test_window);
}

/* ── Short messages ── */

static gboolean
is_toast (GtkWidget *widget, gpointer user)
{
  return g_str_equal (G_OBJECT_TYPE_NAME (widget), "AdwToastWidget");
}

static gboolean
says (GtkWidget *label, gpointer text)
{
  return g_str_equal (gtk_label_get_text (GTK_LABEL (label)), text);
}

static gboolean
is_toast_of (GtkWidget *widget, gpointer title)
{
  return is_toast (widget, NULL) && td_test_find (widget, GTK_TYPE_LABEL, says, title);
}

static guint n_dismissed;

static gboolean
toast_is_there (gpointer toast)
{
  return td_test_find (GTK_WIDGET (td_test_window), GTK_TYPE_WIDGET, is_toast_of,
                       (gpointer) adw_toast_get_title (toast))
         != NULL;
}

static gboolean
toasts_are_gone (gpointer unused)
{
  return n_dismissed == 3
         && !td_test_find (GTK_WIDGET (td_test_window), GTK_TYPE_WIDGET, is_toast, NULL);
}

static void
on_dismissed (AdwToast *toast, gpointer unused)
{
  n_dismissed++;
}

static gboolean
more_are_dismissed (gpointer than)
{
  return n_dismissed > GPOINTER_TO_UINT (than);
}

/* Messages that are closed as soon as they come, also the next one. One that is closed while it
   waits for them never comes. */
static void
test_toasts (void)
{
  AdwToastOverlay *overlay = td_test_part (td_test_window, "toasts");
  AdwToast *toasts[3], *never = g_object_ref (adw_toast_new ("Never"));

  /* They would cover a job's buttons, and those of the pages in a narrow window. */
  g_assert_false (gtk_widget_is_ancestor (td_test_part (td_test_window, "jobs_revealer"),
                                          GTK_WIDGET (overlay)));
  g_assert_false (
      gtk_widget_is_ancestor (td_test_part (td_test_window, "pages_bar"), GTK_WIDGET (overlay)));
  for (guint i = 0; i < G_N_ELEMENTS (toasts); i++) {
    g_autofree char *title = g_strdup_printf ("Short %u", i + 1);
    toasts[i] = g_object_ref (adw_toast_new (title));
    adw_toast_set_timeout (toasts[i], 0); /* none goes by itself, however slow all else is */
    td_toasts_show (overlay, toasts[i]);
    g_signal_connect_after (toasts[i], "dismissed", G_CALLBACK (on_dismissed), NULL);
  }
  td_toasts_show (overlay, never);
  td_toasts_dismiss (overlay, never);
  g_assert_cmpuint (G_OBJECT (never)->ref_count, ==, 1);
  g_object_unref (never);
  for (guint i = 0; i < G_N_ELEMENTS (toasts); i++) {
    td_test_wait (toast_is_there, toasts[i], "the message");
    td_test_pause (50);
    td_toasts_dismiss (overlay, toasts[i]);
    td_test_wait (more_are_dismissed, GUINT_TO_POINTER (i), "the message to be closed");
    g_assert_cmpuint (n_dismissed, ==, i + 1);
  }
  td_test_wait (toasts_are_gone, NULL, "the messages to go");
  for (guint i = 0; i < G_N_ELEMENTS (toasts); i++)
    g_object_unref (toasts[i]);
}

static gboolean
shows_not_now (GtkWidget *button, gpointer user)
{
  return gtk_widget_is_visible (button)
         && g_strcmp0 (gtk_button_get_label (GTK_BUTTON (button)), "Not Now") == 0;
}

static gboolean
has_advice (gpointer group)
{
  return panel_is_quiet (NULL) && td_advice_group_first (group) != NULL;
}

/* Advice that is left be goes, and none but that. */
static void
test_not_now (void)
{
  TdAdviceGroup *group
      = TD_ADVICE_GROUP (td_test_find (GTK_WIDGET (panel ()), TD_TYPE_ADVICE_GROUP, NULL, NULL));
  TdRecipe plain = *recipe ();
  const TdAdvice *first;
  guint n = 0;

  g_assert_nonnull (td_recipe_step (&plain, "rings"));
  td_recipe_step (&plain, "rings")->enabled = FALSE;
  td_session_edit (td_test_session (), &plain, NULL);
  td_test_wait (has_advice, group, "the advice");
  for (; (first = td_advice_group_first (group)); n++) {
    const TdAdviceKind kind = first->kind;
    td_test_click (td_test_find (GTK_WIDGET (group), GTK_TYPE_BUTTON, shows_not_now, NULL));
    g_assert_true (!td_advice_group_first (group) || td_advice_group_first (group)->kind != kind);
  }
  g_assert_cmpuint (n, >, 0);
}

/* ── Files ── */

static void
choose_by_action (gpointer action)
{
  td_test_activate (action, NULL);
}

static void
choose_for_picture (gpointer pane)
{
  gtk_widget_activate_action (pane, "pane.save", NULL);
}

static gboolean
file_is_whole (gpointer path)
{
  GStatBuf status;

  return g_stat (path, &status) == 0 && status.st_size > 0;
}

static gboolean
recipe_is (gpointer other)
{
  return td_recipe_equal (recipe (), other);
}

static gboolean
scan_is (gpointer path)
{
  const TdScanFacts *facts = td_session_facts (td_test_session ());

  return facts && g_str_equal (facts->path, path);
}

/* What each dialog asks, and what is done with its answer; without one nothing is. */
static void
test_files (void)
{
  const char *options[] = { "--columns=32", "--rows=4", "--views=30", NULL }, *none[] = { NULL };
  g_autofree char *other = td_test_phantom ("other.nxs", options);
  g_autofree char *folder = td_test_phantom ("folder", options);
  g_autofree char *volume = td_test_made ("reconstruct", other, "volume-of-other", none);
  g_autofree char *saved = g_build_filename (td_test_folder (), "saved.json", NULL);
  const struct {
    const char *action, *asked, *path;
    GType opens; /* 0: a scan */
  } places[] = {
    { "open", "Open a Scan; open; Scans; All files", other, 0 },
    { "open-folder", "Open a Scan's Folder; folder", folder, 0 },
    { "open-volume", "Open as a Volume; open; Volumes; All files", volume, TD_TYPE_VOLUME_WINDOW },
    { "open-volume-folder", "Open a Folder of Slices; folder", volume, TD_TYPE_VOLUME_WINDOW },
  };

  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    for (guint pass = 0; pass < 2; pass++) {
      const char *path = pass ? places[i].path : NULL;
      const TdScan *before = td_session_scan (td_test_session ());
      g_autofree char *asked = td_test_choose (path, choose_by_action, (gpointer) places[i].action);
      g_assert_cmpstr (asked, ==, places[i].asked);
      if (path && places[i].opens) {
        td_test_wait (td_test_window_is_mapped, (gpointer) &places[i].opens, "the volume");
        gtk_window_close (td_test_other_window (places[i].opens));
        continue;
      }
      if (path)
        td_test_wait (scan_is, (gpointer) path, "the scan");
      else
        g_assert_true (td_session_scan (td_test_session ()) == before);
      g_assert_null (td_test_other_window (TD_TYPE_VOLUME_WINDOW));
    }
  TdRecipe changed = *recipe ();
  changed.centre_px = 14.25;
  td_session_edit (td_test_session (), &changed, NULL);
  g_autofree char *recipe_asked = td_test_choose (saved, choose_by_action, "save-recipe");
  g_assert_true (g_str_has_prefix (recipe_asked, "Save the Recipe; save; "));
  g_assert_true (g_str_has_suffix (recipe_asked, ".recipe.json"));
  td_test_wait (file_is_whole, saved, "the recipe's file");
  td_test_activate ("undo", NULL);
  g_assert_false (recipe_is (&changed));
  g_autofree char *load_asked = td_test_choose (saved, choose_by_action, "load-recipe");
  g_assert_cmpstr (load_asked, ==, "Load a Recipe; open; Recipes");
  td_test_wait (recipe_is, &changed, "the recipe of the file");
  td_test_wait (td_test_scan_view_is_settled, NULL, "the pictures");
  for (guint i = 0; i < 2; i++) {
    const char *const names[] = { "picture.png", "picture.tif" }, *const begin[]
                                                                  = { "\x89PNG", "II" };
    g_autofree char *path = g_build_filename (td_test_folder (), names[i], NULL), *bytes = NULL;
    g_autofree char *asked = td_test_choose (path, choose_for_picture, td_test_slice_pane ());
    g_assert_cmpstr (
        asked, ==, "Save the Picture; save; slice.png; PNG: as it looks; TIFF: the values (.tif)");
    td_test_wait (file_is_whole, path, "the picture");
    g_assert_true (g_file_get_contents (path, &bytes, NULL, NULL));
    g_assert_true (g_str_has_prefix (bytes, begin[i]));
  }
  td_test_activate ("reconstruct", NULL);
  GtkWindow *dialog = td_test_other_window (TD_TYPE_RECONSTRUCT_DIALOG);
  g_autofree char *target = g_build_filename (td_test_folder (), "chosen.tif", NULL);
  gpointer row = td_test_part (dialog, "path");
  g_autofree char *proposed = g_path_get_basename (gtk_editable_get_text (row));
  g_autofree char *target_asked = td_test_choose_by (td_test_button (row, "Choose…"), target);
  g_autofree char *meant = g_strconcat ("Write the Volume To; save; ", proposed, NULL);
  g_assert_cmpstr (target_asked, ==, meant);
  g_assert_cmpstr (gtk_editable_get_text (row), ==, target);
  gtk_window_close (dialog);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  application = td_test_start ();
  g_test_add_func ("/window-flow/next", test_next);
  g_test_add_func ("/window-flow/done", test_done);
  g_test_add_func ("/window-flow/change-is-small", test_change_is_small);
  g_test_add_func ("/window-flow/reset", test_reset);
  g_test_add_func ("/window-flow/impossible", test_impossible);
  g_test_add_func ("/window-flow/impossible-by-keyboard", test_impossible_by_keyboard);
  g_test_add_func ("/window-flow/presets", test_presets);
  g_test_add_func ("/window-flow/trials", test_trials);
  g_test_add_func ("/window-flow/disagreement", test_disagreement);
  g_test_add_func ("/window-flow/opposite", test_opposite);
  g_test_add_func ("/window-flow/entries", test_entries);
  g_test_add_func ("/window-flow/guide", test_guide);
  g_test_add_func ("/window-flow/shortcuts", test_shortcuts);
  g_test_add_func ("/window-flow/large-text", test_large_text);
  g_test_add_func ("/window-flow/messages", test_messages);
  g_test_add_func ("/window-flow/not-now", test_not_now);
  g_test_add_func ("/window-flow/toasts", test_toasts);
  g_test_add_func ("/window-flow/written", test_written);
  g_test_add_func ("/window-flow/typed", test_typed);
  g_test_add_func ("/window-flow/files", test_files);
  int status = g_test_run ();
  gtk_window_close (GTK_WINDOW (td_test_window));
  g_object_unref (application);
  td_test_folder_remove ();
  td_device_leave (status);
}
