/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The window finds the axis, shows disagreement, and takes the answer that a person picks. The
   tests run in order in one window. */
#include <math.h>

#include "ui-test.h"
#include "ui/axis-answer.h"
#include "ui/recipe-panel.h"
#include "window-pins.h"
#include "window-test.h"

#define CENTRE 131.3

static TdApplication *application;

static gpointer
group (const char *part)
{
  return td_test_part (td_test_part (td_test_window, "panel.centre"), part);
}

static gboolean
is_searching (void)
{
  return gtk_widget_get_visible (group ("searching"));
}

static gboolean
is_found (gpointer user)
{
  return !is_searching ();
}

static const TdAxisResult *
result_found (void)
{
  return td_axis_answer_get_result (group ("answer"));
}

static void
forget_centre (void)
{
  TdRecipe recipe = *td_session_recipe (td_test_session ());

  recipe.centre_px = 128.5;
  td_session_edit (td_test_session (), &recipe, NULL);
}

/* What the file says of the axis is taken, shown as such, and comes back. */
static void
test_stated (void)
{
  TdRecipePanel *panel = td_test_part (td_test_window, "panel");
  gpointer row = td_test_row (panel, "Centre stated by the file");

  g_assert_cmpfloat (gtk_spin_button_get_value (group ("spin")), ==, CENTRE);
  g_assert_cmpstr (adw_action_row_get_subtitle (row), ==, "131.30");
  g_assert_cmpint (td_recipe_panel_next (panel), !=, TD_FLOW_AXIS);
  td_test_assert_shown_slice ();
  forget_centre ();
  g_assert_cmpfloat (gtk_spin_button_get_value (group ("spin")), ==, 128.5);
  /* As the slider is drawn: to a hundredth. */
  gtk_range_set_value (group ("slider"), 129.123);
  g_assert_cmpfloat (td_session_recipe (td_test_session ())->centre_px, ==, 129.12);
  td_test_click (td_test_button (td_test_part (td_test_window, "panel.centre"), "Reset"));
  g_assert_cmpfloat (gtk_spin_button_get_value (group ("spin")), ==, CENTRE);
}

/* Cancelling ends it at once and leaves the recipe alone, also when the search comes to its end. */
static void
test_cancel (void)
{
  forget_centre ();
  td_test_click (group ("find"));
  g_assert_true (is_searching ());
  td_test_click (td_test_button (group ("searching"), "Cancel"));
  g_assert_false (is_searching ());
  for (guint i = 0; i < 20; i++)
    g_main_context_iteration (NULL, FALSE);
  g_assert_null (result_found ());
  g_assert_cmpfloat (td_session_recipe (td_test_session ())->centre_px, ==, 128.5);
}

static void
test_find (void)
{
  td_test_click (group ("find"));
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-centre-searching");
  td_test_wait (is_found, NULL, "the axis");
  const TdAxisResult *result = result_found ();
  g_assert_nonnull (result);
  g_test_message ("%.3f +- %.3f, %u trials", result->centre_px, result->uncertainty_px,
                  result->n_trials);
  g_assert_true (result->agreed);
  g_assert_cmpfloat (fabs (td_session_recipe (td_test_session ())->centre_px - CENTRE), <, 0.2);
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-centre");
  td_test_activate ("undo", NULL);
  g_assert_cmpfloat (td_session_recipe (td_test_session ())->centre_px, ==, 128.5);
  td_test_pin_window ("centre", td_test_window);
}

/* Another search begins anew: nothing of the one before is shown meanwhile. */
static void
test_again (void)
{
  GtkProgressBar *bar = group ("search_bar");
  GtkLabel *label = group ("search_label");

  /* What was told last, however far the search was then. */
  g_assert_cmpstr (gtk_label_get_text (label), !=, "Searching for the axis");
  gtk_progress_bar_set_fraction (bar, 0.75);
  td_test_click (group ("find"));
  g_assert_true (is_searching ());
  g_assert_cmpfloat (gtk_progress_bar_get_fraction (bar), ==, 0);
  g_assert_cmpstr (gtk_label_get_text (label), ==, "Searching for the axis");
  g_assert_null (result_found ());
  td_test_wait (is_found, NULL, "the axis again");
  td_test_activate ("undo", NULL);
  g_assert_cmpfloat (td_session_recipe (td_test_session ())->centre_px, ==, 128.5);
}

static gboolean
is_of_trial (GtkWidget *button, gpointer trial)
{
  return gtk_widget_has_css_class (button, "trial")
         && g_object_get_data (G_OBJECT (button), "trial") == trial;
}

/* A click takes one method's answer of one row. */
static void
test_take (void)
{
  const TdAxisResult *result = result_found ();
  guint taken = 0;

  while (taken < result->n_trials && !isfinite (result->trials[taken].centre_px))
    taken++;
  g_assert_cmpuint (taken, <, result->n_trials);
  double centre = result->trials[taken].centre_px;
  td_test_click (
      td_test_find (group ("answer"), GTK_TYPE_BUTTON, is_of_trial, GUINT_TO_POINTER (taken)));
  g_assert_cmpfloat (fabs (td_session_recipe (td_test_session ())->centre_px - centre), <, 1e-9);
  td_test_activate ("undo", NULL);
  g_assert_cmpfloat (td_session_recipe (td_test_session ())->centre_px, ==, 128.5);
  td_test_pin_window ("centre", td_test_window);
}

/* Nothing to be found in a scan of nothing: it says so and takes nothing. */
static void
test_disagreement (void)
{
  const char *options[]
      = { "--columns=128", "--rows=4", "--views=60", "--range=40", "--photons=300", NULL };
  g_autofree char *path = td_test_phantom ("little.nxs", options);

  td_test_open (path);
  g_assert_null (result_found ());
  double before = td_session_recipe (td_test_session ())->centre_px;
  td_test_click (group ("find"));
  td_test_wait (is_found, NULL, "the end of the search");
  const TdAxisResult *result = result_found ();
  if (result) {
    g_assert_false (result->agreed);
    g_assert_nonnull (result->advice);
  }
  double after = td_session_recipe (td_test_session ())->centre_px;
  g_assert_true (after == before || (isnan (after) && isnan (before)));
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-centre-doubt");
  td_test_pin_window ("centre", td_test_window);
}

/* A scan that no method is for: eyes decide, and the way goes on. */
static void
test_unsuited (void)
{
  const char *options[] = { "--columns=8", "--rows=4", "--views=12", "--centre-unsaid", NULL };
  g_autofree char *path = td_test_phantom ("tiny.nxs", options);
  GtkRevealer *revealer = td_test_part (td_test_window, "strip_revealer");
  GtkButton *next = td_test_part (td_test_part (td_test_window, "panel"), "next_button");

  td_test_open (path);
  g_assert_false (gtk_revealer_get_reveal_child (revealer));
  td_test_click (next);
  td_test_wait (is_found, NULL, "the end of the search");
  g_assert_null (result_found ());
  g_assert_true (gtk_widget_get_visible (group ("failed")));
  g_assert_true (gtk_revealer_get_reveal_child (revealer));
  g_signal_emit_by_name (td_test_part (td_test_window, "strip"), "taken", 3.25);
  g_assert_cmpfloat (td_session_recipe (td_test_session ())->centre_px, ==, 3.25);
  g_assert_cmpstr (gtk_button_get_label (next), !=, "Find the Axis");
}

/* Methods that are not sure find the same again: what comes next is to take what they found. */
static void
test_doubt (void)
{
  const char *options[] = { "--columns=128", "--rows=16",     "--views=200",     "--photons=20000",
                            "--rings=0.003", "--centre=66.3", "--centre-unsaid", NULL };
  g_autofree char *path = td_test_phantom ("doubt.nxs", options);

  td_test_open (path);
  GtkButton *next = td_test_part (td_test_part (td_test_window, "panel"), "next_button");
  td_test_click (next);
  td_test_wait (is_found, NULL, "the end of the search");
  g_assert_false (result_found ()->agreed);
  g_assert_true (g_str_has_prefix (gtk_button_get_label (next), "Take Centre 66."));
  td_test_click (next);
  g_assert_cmpfloat (fabs (td_session_recipe (td_test_session ())->centre_px - 66.3), <, 0.3);
  g_assert_false (g_str_has_prefix (gtk_button_get_label (next), "Take"));
  td_test_pin_window ("centre", td_test_window);
}

/* A single row: its axis has no tilt, which is grey and says why. Find leaves it as it is. */
static void
test_single_row (void)
{
  const char *options[] = { "--columns=128",    "--rows=1",        "--views=180", "--centre=66.3",
                            "--photons=100000", "--centre-unsaid", NULL };
  g_autofree char *path = td_test_phantom ("single.nxs", options);
  gpointer tilt = group ("tilt");
  gpointer projection = td_image_pane_view (td_test_part (td_test_scan_view (), "projection"));

  g_assert_true (gtk_widget_is_sensitive (tilt));
  td_test_open (path);
  g_assert_false (gtk_widget_is_sensitive (tilt));
  g_assert_cmpstr (gtk_widget_get_tooltip_text (tilt), ==, "The axis of a single row has no tilt");
  g_signal_emit_by_name (projection, "shifted", 0, 1, FALSE);
  g_assert_cmpfloat (td_session_recipe (td_test_session ())->tilt_deg, ==, 0);
  TdRecipe recipe = *td_session_recipe (td_test_session ());
  recipe.tilt_deg = 1; /* as a recipe of another scan may have it */
  td_session_edit (td_test_session (), &recipe, NULL);
  td_test_click (group ("find"));
  td_test_wait (is_found, NULL, "the axis");
  if (!result_found ()->agreed)
    td_test_click (td_test_part (group ("answer"), "take"));
  g_assert_cmpfloat (fabs (td_session_recipe (td_test_session ())->centre_px - 66.3), <, 0.3);
  g_assert_cmpfloat (td_session_recipe (td_test_session ())->tilt_deg, ==, 1);
  g_assert_false (gtk_widget_get_sensitive (td_test_part (group ("answer"), "take")));
  g_assert_false (gtk_widget_get_visible (td_test_part (group ("answer"), "tilt")));
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-centre-single-row");
}

/* A detector on its side: its axis has no column, which is grey and says why, and no key moves it.
   What another scan's recipe has goes by "Reset". */
static void
test_on_side (void)
{
  const char *options[] = { "--cone",   "--columns=32",           "--rows=32", "--views=40",
                            "--logged", "--detector-tilt=0,0,90", NULL };
  g_autofree char *path = td_test_phantom ("side.nxs", options);
  gpointer spin = group ("spin"), slider = group ("slider");
  gpointer slice = td_image_pane_view (td_test_part (td_test_scan_view (), "slice"));
  const char *why = "The detector lies on its side: the axis runs along its rows and has no column";

  g_assert_true (gtk_widget_is_sensitive (spin) && gtk_widget_is_sensitive (slider));
  td_test_open (path);
  g_assert_false (gtk_widget_is_sensitive (spin) || gtk_widget_is_sensitive (slider));
  g_assert_cmpstr (gtk_widget_get_tooltip_text (slider), ==, why);
  g_signal_emit_by_name (slice, "shifted", 1, 0, FALSE);
  g_assert_true (isnan (td_session_recipe (td_test_session ())->centre_px));
  TdRecipe recipe = *td_session_recipe (td_test_session ());
  recipe.centre_px = 12;
  td_session_edit (td_test_session (), &recipe, NULL);
  g_signal_emit_by_name (slice, "shifted", 1, 0, FALSE);
  g_assert_cmpfloat (td_session_recipe (td_test_session ())->centre_px, ==, 12);
  td_test_click (group ("reset"));
  g_assert_true (isnan (td_session_recipe (td_test_session ())->centre_px));
}

/* mantidimaging#2621: the centre stays when another method of reconstruction is chosen. */
static void
test_kept (void)
{
  const double before = td_session_recipe (td_test_session ())->centre_px;
  AdwComboRow *method = td_test_row (td_test_part (td_test_window, "panel"), "Method");

  for (guint i = 0; i < g_list_model_get_n_items (adw_combo_row_get_model (method)); i++) {
    adw_combo_row_set_selected (method, i);
    const double after = td_session_recipe (td_test_session ())->centre_px;
    g_assert_true (after == before || (isnan (after) && isnan (before)));
  }
  adw_combo_row_set_selected (method, 0);
}

/* A scan that is closed while it is searched. */
static void
test_close (void)
{
  td_test_click (group ("find"));
  td_test_activate ("close-scan", NULL);
  g_assert_false (is_searching ());
}

int
main (int argc, char **argv)
{
  const char *options[] = { "--columns=256",     "--rows=12", "--views=180", "--centre=131.3",
                            "--photons=1000000", "--flats=4", "--darks=2",   NULL };

  g_test_init (&argc, &argv, NULL);
  g_autofree char *path = td_test_phantom ("centre.nxs", options);
  application = td_test_start ();
  td_test_open (path);
  g_test_add_func ("/window-centre/stated", test_stated);
  g_test_add_func ("/window-centre/cancel", test_cancel);
  g_test_add_func ("/window-centre/find", test_find);
  g_test_add_func ("/window-centre/again", test_again);
  g_test_add_func ("/window-centre/take", test_take);
  g_test_add_func ("/window-centre/kept", test_kept);
  g_test_add_func ("/window-centre/unsuited", test_unsuited);
  g_test_add_func ("/window-centre/doubt", test_doubt);
  g_test_add_func ("/window-centre/disagreement", test_disagreement);
  g_test_add_func ("/window-centre/single-row", test_single_row);
  g_test_add_func ("/window-centre/on-side", test_on_side);
  g_test_add_func ("/window-centre/close", test_close);
  int status = g_test_run ();
  gtk_window_close (GTK_WINDOW (td_test_window));
  g_object_unref (application);
  td_test_folder_remove ();
  td_device_leave (status);
}
