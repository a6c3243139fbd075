/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Preparation in the window. Steps are added, changed, reset and removed, and the pictures before
   and after one differ. The part of the detector can be chosen. The tests run in order in one
   window. */
#include <string.h>

#include "dataset/tiff-save.h"
#include "ui-test.h"
#include "ui/file-row.h"
#include "ui/number-row.h"
#include "ui/step-chooser.h"
#include "ui/step-row.h"
#include "ui/steps-group.h"
#include "window-pins.h"
#include "window-test.h"

static TdApplication *application;

static gboolean
is_step (GtkWidget *row, gpointer name)
{
  return strcmp (td_step_row_kind (TD_STEP_ROW (row))->name, name) == 0;
}

static GtkWidget *
step_row (const char *name)
{
  return td_test_find (GTK_WIDGET (td_test_window), TD_TYPE_STEP_ROW, is_step, (gpointer) name);
}

static TdStepsGroup *
steps_group (void)
{
  return TD_STEPS_GROUP (
      td_test_find (GTK_WIDGET (td_test_window), TD_TYPE_STEPS_GROUP, NULL, NULL));
}

static void
add_step (const char *name)
{
  g_signal_emit_by_name (
      td_test_find (GTK_WIDGET (td_test_window), TD_TYPE_STEP_CHOOSER, NULL, NULL), "chosen", name);
}

static gboolean
has_step (const char *name)
{
  TdRecipe recipe = *td_session_recipe (td_test_session ());
  return td_recipe_step (&recipe, name) != NULL;
}

/* ── Tests ── */

static void
test_before (void)
{
  g_autoptr (TdImage) after = td_image_ref (td_test_shown_slice ());
  TdImagePane *pane = td_test_part (td_test_scan_view (), "sinogram");
  TdRecipe without = *td_session_recipe (td_test_session ());

  td_test_wait (td_test_scan_view_is_settled, NULL, "all pictures");
  g_autoptr (TdImage) sinogram = td_image_ref (td_image_pane_get_image (pane));
  td_recipe_step (&without, "flat-field")->enabled = FALSE;
  td_scan_view_set_before (td_test_scan_view (), "flat-field");
  td_test_wait (td_test_scan_view_is_settled, NULL, "the pictures without a step");
  td_test_assert_slice_is_right (&without);
  g_assert_true (td_test_shown_slice () != after);
  g_assert_true (td_image_pane_get_image (pane) != sinogram);
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-steps-before");
  /* Back at once: nothing is computed again. */
  td_scan_view_set_before (td_test_scan_view (), NULL);
  g_assert_true (td_test_shown_slice () == after);
  g_assert_true (td_image_pane_get_image (pane) == sinogram);
  /* And there again at once. */
  td_scan_view_set_before (td_test_scan_view (), "flat-field");
  g_assert_true (td_test_shown_slice () != after);
  g_assert_true (td_test_scan_view_is_settled (NULL));
  td_scan_view_set_before (td_test_scan_view (), NULL);
  /* All steps are left out while B is held, and no longer; other keys and shortcuts with it are
     not it. */
  for (guint key = 0; key < 2; key++) {
    const guint b = key ? GDK_KEY_B : GDK_KEY_b;
    g_assert_false (td_test_key (GDK_KEY_n, 0, TRUE));
    g_assert_false (td_test_key (b, GDK_CONTROL_MASK, TRUE));
    g_assert_false (td_test_key (b, GDK_ALT_MASK, TRUE));
    g_assert_true (td_test_shown_slice () == after);
    g_assert_true (td_test_key (b, 0, TRUE));
    td_test_wait (td_test_scan_view_is_settled, NULL, "the pictures without steps");
    g_assert_true (td_test_shown_slice () != after);
    td_test_key (GDK_KEY_n, 0, FALSE);
    g_assert_true (td_test_shown_slice () != after);
    td_test_key (b, 0, FALSE);
    g_assert_true (td_test_shown_slice () == after);
  }
  td_test_pin_window ("steps", td_test_window);
}

/* Another row while the pictures without a step are shown. */
static void
test_before_follows (void)
{
  TdRecipe without = *td_session_recipe (td_test_session ());

  td_recipe_step (&without, "flat-field")->enabled = FALSE;
  td_scan_view_set_before (td_test_scan_view (), "flat-field");
  gtk_adjustment_set_value (td_test_part (td_test_scan_view (), "row_adjustment"), 7);
  td_test_wait (td_test_scan_view_is_settled, NULL, "the pictures of another row");
  td_test_assert_slice_is_right (&without);
  td_scan_view_set_before (td_test_scan_view (), NULL);
  td_test_wait (td_test_scan_view_is_settled, NULL, "the recipe's pictures of another row");
  td_test_assert_shown_slice ();
}

/* What was asked for without a step, and is still on its way when the row changes, is not kept for
   the next look. */
static void
test_before_late (void)
{
  GtkAdjustment *rows = td_test_part (td_test_scan_view (), "row_adjustment");
  TdRecipe without = *td_session_recipe (td_test_session ());

  td_recipe_step (&without, "flat-field")->enabled = FALSE;
  gtk_adjustment_set_value (rows, 2);
  td_test_wait (td_test_scan_view_is_settled, NULL, "the recipe's pictures");
  td_scan_view_set_before (td_test_scan_view (), "flat-field");
  td_scan_view_set_before (td_test_scan_view (), NULL);
  gtk_adjustment_set_value (rows, 9);
  td_test_wait (td_test_scan_view_is_settled, NULL, "the recipe's pictures of another row");
  td_test_pause (300);
  td_scan_view_set_before (td_test_scan_view (), "flat-field");
  td_test_wait (td_test_scan_view_is_settled, NULL, "the pictures without a step");
  td_test_assert_slice_is_right (&without);
  td_scan_view_set_before (td_test_scan_view (), NULL);
}

/* A step that the recipe does not have begins, when it is switched on, with its presets, and not
   with what another recipe had. */
static void
test_begins_anew (void)
{
  const TdRecipe before = *td_session_recipe (td_test_session ());
  TdRecipe recipe = before;
  TdStep *flat = td_recipe_step (&recipe, "flat-field");
  const double preset = td_prepare_step ("flat-field", NULL)->parameters[0].preset;

  flat->values[0] = preset + 100;
  td_session_edit (td_test_session (), &recipe, NULL);
  const guint after = recipe.n_steps - (guint) (flat - recipe.steps) - 1;
  memmove (flat, flat + 1, after * sizeof *flat);
  memset (&recipe.steps[--recipe.n_steps], 0, sizeof *flat);
  td_session_edit (td_test_session (), &recipe, NULL);
  adw_expander_row_set_enable_expansion (ADW_EXPANDER_ROW (step_row ("flat-field")), TRUE);
  recipe = *td_session_recipe (td_test_session ());
  g_assert_nonnull (td_recipe_step (&recipe, "flat-field"));
  g_assert_cmpfloat (td_recipe_step (&recipe, "flat-field")->values[0], ==, preset);
  td_session_edit (td_test_session (), &before, NULL);
  td_test_wait (td_test_scan_view_is_settled, NULL, "the pictures");
}

/* The first optional step with a numeric parameter. */
static const TdStepKind *
optional_step (void)
{
  const TdStepKind *const *kinds = td_prepare_steps ();

  for (guint i = 0; kinds[i]; i++)
    if (!kinds[i]->preset_on && kinds[i]->n_parameters > 0)
      return kinds[i];
  return NULL;
}

static void
test_add_and_remove (void)
{
  const TdStepKind *kind = optional_step ();

  if (!kind) {
    g_test_skip ("no optional step");
    return;
  }
  GtkWidget *row = step_row (kind->name);
  g_assert_false (gtk_widget_get_visible (row));
  add_step (kind->name);
  g_assert_true (has_step (kind->name));
  g_assert_true (gtk_widget_get_visible (row));

  /* Off stays in the list; the button shows what it would be without. */
  adw_expander_row_set_enable_expansion (ADW_EXPANDER_ROW (row), FALSE);
  TdRecipe recipe = *td_session_recipe (td_test_session ());
  g_assert_false (td_recipe_step (&recipe, kind->name)->enabled);
  g_assert_true (gtk_widget_get_visible (row));
  adw_expander_row_set_enable_expansion (ADW_EXPANDER_ROW (row), TRUE);

  g_signal_emit_by_name (row, "removed");
  g_assert_false (has_step (kind->name));
  g_assert_false (gtk_widget_get_visible (row));
  td_test_activate ("undo", NULL);
  g_assert_true (has_step (kind->name));
  td_test_activate ("redo", NULL);
  g_assert_false (has_step (kind->name));
  td_test_pin_window ("steps", td_test_window);
}

/* Every step can be added, and the panel with all of them is drawn. */
static void
test_all_steps (void)
{
  const TdStepKind *const *kinds = td_prepare_steps ();
  guint n = 0;

  for (; kinds[n] && n < TD_RECIPE_MAX_STEPS; n++)
    if (!has_step (kinds[n]->name))
      add_step (kinds[n]->name);
  g_assert_cmpuint (td_session_recipe (td_test_session ())->n_steps, ==, n);
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-steps");
  for (guint i = 0; i < n; i++)
    if (!kinds[i]->preset_on)
      g_signal_emit_by_name (step_row (kinds[i]->name), "removed");
  TdRecipe presets;
  td_recipe_init (&presets);
  g_assert_cmpuint (td_session_recipe (td_test_session ())->n_steps, ==, presets.n_steps);
  td_test_wait (td_test_scan_view_is_settled, NULL, "the recipe's pictures");
  td_test_pin_window ("steps", td_test_window);
}

static char *
write_mask (const char *name, guint columns, guint rows)
{
  char *path = g_build_filename (td_test_folder (), name, NULL);
  g_autofree guint8 *mask = g_new0 (guint8, columns * rows);
  const TdTiffImage image = { .width = columns, .height = rows, .type = TD_SAMPLE_UINT8 };
  g_autoptr (GError) error = NULL;

  for (guint i = 40; i < columns * rows; i += columns)
    mask[i] = mask[i + 1] = 1;
  td_tiff_save_single (path, name, &image, mask, &error);
  g_assert_no_error (error);
  return path;
}

static TdFileRow *
mask_row (void)
{
  return TD_FILE_ROW (td_test_find (step_row ("bad-pixels"), TD_TYPE_FILE_ROW, NULL, NULL));
}

static gboolean
has_mask (gpointer user)
{
  return td_recipe_mask (td_session_recipe (td_test_session ())) != NULL
         && td_test_scan_view_is_settled (NULL);
}

static gboolean
has_problem (gpointer user)
{
  return gtk_widget_has_css_class (GTK_WIDGET (mask_row ()), "wrong");
}

/* A mask is looked at before it is taken, changes the pictures, and is undone like anything else.
 */
static void
test_mask (void)
{
  g_autofree char *mask = write_mask ("mask.tif", 96, 24),
                  *other = write_mask ("other.tif", 96, 23);
  g_autoptr (TdImage) before = td_image_ref (td_test_shown_slice ());

  add_step ("bad-pixels");
  g_signal_emit_by_name (mask_row (), "chosen", other);
  td_test_wait (has_problem, NULL, "the refusal of a mask of another size");
  g_assert_nonnull (strstr (adw_action_row_get_subtitle (ADW_ACTION_ROW (mask_row ())), "96 × 23"));
  g_assert_null (td_recipe_mask (td_session_recipe (td_test_session ())));
  g_signal_emit_by_name (mask_row (), "chosen", mask);
  td_test_wait (has_mask, NULL, "the mask");
  g_assert_cmpstr (adw_action_row_get_subtitle (ADW_ACTION_ROW (mask_row ())), ==, "mask.tif");
  td_test_wait (td_test_slice_is_there, before, "the slice with the mask");
  td_test_assert_shown_slice ();
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-steps-mask");
  td_test_activate ("undo", NULL);
  g_assert_null (td_recipe_mask (td_session_recipe (td_test_session ())));
  g_assert_null (td_file_row_get_path (mask_row ()));
  td_test_activate ("redo", NULL);
  g_assert_cmpstr (td_file_row_get_path (mask_row ()), ==, mask);
  g_signal_emit_by_name (mask_row (), "chosen", NULL);
  g_assert_null (td_recipe_mask (td_session_recipe (td_test_session ())));
  g_signal_emit_by_name (step_row ("bad-pixels"), "removed");
  td_test_wait (td_test_scan_view_is_settled, NULL, "the recipe's pictures");
  td_test_pin_window ("steps", td_test_window);
}

/* Point and comma are both decimal signs; what is no number changes nothing. */
static void
test_decimals (void)
{
  add_step ("zingers");
  GtkWidget *number = td_test_find (step_row ("zingers"), TD_TYPE_NUMBER_ROW, NULL, NULL);
  GtkSpinButton *spin = GTK_SPIN_BUTTON (td_test_find (number, GTK_TYPE_SPIN_BUTTON, NULL, NULL));
  const struct {
    const char *text;
    double value;
  } typed[] = { { "0,25", 0.25 }, { " 0.5", 0.5 }, { "1.2,3", 0.5 }, { "", 0.5 }, { "inf", 0.5 } };

  for (guint i = 0; i < G_N_ELEMENTS (typed); i++) {
    gtk_editable_set_text (GTK_EDITABLE (spin), typed[i].text);
    gtk_spin_button_update (spin);
    g_assert_cmpfloat_with_epsilon (gtk_spin_button_get_value (spin), typed[i].value, 1e-9);
  }
  g_signal_emit_by_name (step_row ("zingers"), "removed");
  td_test_wait (td_test_scan_view_is_settled, NULL, "the recipe's pictures");
  td_test_pin_window ("steps", td_test_window);
}

/* The button of all steps: pressed while all are left out, and not for one of them. */
static void
assert_before_all (gboolean active)
{
  GtkWidget *before = td_test_button (steps_group (), "Before");

  g_assert_null (gtk_widget_get_ancestor (before, TD_TYPE_STEP_ROW));
  g_assert_true (gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (before)) == active);
}

/* An edit shows what was edited. */
static void
test_edit_ends_before (void)
{
  TdStepsGroup *group = steps_group ();

  assert_before_all (FALSE);
  td_steps_group_set_before (group, TRUE);
  adw_expander_row_set_enable_expansion (ADW_EXPANDER_ROW (step_row ("minus-log")), FALSE);
  td_test_wait (td_test_scan_view_is_settled, NULL, "the slice without the logarithm");
  td_test_assert_shown_slice ();
  /* The key now leaves out the step that was touched; it is off, so nothing changes. */
  td_steps_group_set_before (group, TRUE);
  td_test_wait (td_test_scan_view_is_settled, NULL, "the slice without the logarithm, twice");
  td_test_assert_shown_slice ();
  assert_before_all (FALSE);
  td_steps_group_set_before (group, FALSE);
  assert_before_all (FALSE);
  td_test_activate ("undo", NULL);
  td_test_wait (td_test_scan_view_is_settled, NULL, "the slice with the logarithm");
}

static char *aimed; /* what is left out, as the group told last; NULL: nothing */

static void
on_before (TdStepsGroup *group, const char *target)
{
  g_free (aimed);
  aimed = g_strdup (target);
}

/* The buttons say from which step on the picture is without: one at a time, or all. */
static void
test_before_by_hand (void)
{
  TdStepsGroup *group = steps_group ();
  GtkToggleButton *all = GTK_TOGGLE_BUTTON (td_test_button (group, "Before"));
  const gulong handler = g_signal_connect (group, "before", G_CALLBACK (on_before), NULL);

  g_signal_emit_by_name (step_row ("flat-field"), "before-toggled", TRUE);
  g_assert_cmpstr (aimed, ==, "flat-field");
  g_signal_emit_by_name (step_row ("minus-log"), "before-toggled", TRUE);
  g_assert_cmpstr (aimed, ==, "minus-log");
  assert_before_all (FALSE);
  gtk_toggle_button_set_active (all, TRUE);
  g_assert_cmpstr (aimed, ==, "");
  g_signal_emit_by_name (step_row ("minus-log"), "before-toggled", TRUE);
  g_assert_cmpstr (aimed, ==, "minus-log");
  assert_before_all (FALSE);
  g_signal_emit_by_name (step_row ("minus-log"), "before-toggled", FALSE);
  g_assert_null (aimed);
  gtk_toggle_button_set_active (all, TRUE);
  gtk_toggle_button_set_active (all, FALSE);
  g_assert_null (aimed);
  g_signal_handler_disconnect (group, handler);
  td_test_wait (td_test_scan_view_is_settled, NULL, "the recipe's pictures");
  td_test_assert_shown_slice ();
}

static void
wait_for_recipe (void)
{
  td_test_wait (td_test_scan_view_is_settled, NULL, "the pictures");
  td_test_assert_shown_slice ();
}

/* A crop drawn in the projection, taken back. */
static void
test_crop (void)
{
  TdSliceView *projection = td_image_pane_view (td_test_part (td_test_scan_view (), "projection"));
  const guint crop[4] = { 10, 2, 70, 20 };

  g_signal_emit_by_name (projection, "region-drawn", 10.0, 2.0, 70.0, 20.0);
  g_assert_cmpmem (td_session_recipe (td_test_session ())->crop, sizeof crop, crop, sizeof crop);
  td_test_wait (td_test_scan_view_is_settled, NULL, "the slice of a part of the detector");
  g_assert_cmpuint (td_test_shown_slice ()->width, ==, 70);
  td_test_activate ("undo", NULL);
  wait_for_recipe ();
  td_test_pin_window ("steps", td_test_window);
}

/* The numbers under "Detector", and the button that takes them all back. */
static void
test_bin (void)
{
  TdRecipe recipe = *td_session_recipe (td_test_session ());

  recipe.bin[0] = recipe.bin[1] = 2;
  td_session_edit (td_test_session (), &recipe, NULL);
  td_test_wait (td_test_scan_view_is_settled, NULL, "the binned slice");
  g_assert_cmpuint (td_test_shown_slice ()->width, ==, 48);
  GtkWidget *detector = td_test_row (td_test_window, "Detector");
  TdNumberRow *views = td_test_row (detector, "Views averaged to one");
  g_assert_cmpfloat (td_number_row_get_value (td_test_row (detector, "Columns averaged to one")),
                     ==, 2);
  g_assert_cmpfloat (td_number_row_get_value (td_test_row (detector, "Columns")), ==, 96);
  td_number_row_set_value (views, 2); /* takes all numbers */
  recipe = *td_session_recipe (td_test_session ());
  g_assert_cmpuint (recipe.bin_views, ==, 2);
  g_assert_cmpuint (recipe.bin[0], ==, 2);
  g_assert_cmpuint (recipe.crop[2], ==, 0);
  td_test_activate ("undo", NULL);
  g_assert_cmpfloat (td_number_row_get_value (views), ==, 1);
  g_signal_emit_by_name (td_test_button (detector, "Whole"), "clicked");
  g_assert_cmpuint (td_session_recipe (td_test_session ())->bin[0], ==, 1);
  td_test_activate ("undo", NULL);
  td_test_activate ("undo", NULL);
  wait_for_recipe ();
  td_test_pin_window ("steps", td_test_window);
}

/* The last test: another scan is opened. A step that is on and does nothing says so. */
static void
test_left_out (void)
{
  const char *options[] = { "--columns=64", "--rows=4", "--views=90", "--logged", NULL };
  g_autofree char *path = td_test_phantom ("logged.nxs", options);
  AdwExpanderRow *row = ADW_EXPANDER_ROW (step_row ("flat-field"));

  g_assert_null (strstr (adw_expander_row_get_subtitle (row), "Left out"));
  td_test_open (path);
  g_assert_true (adw_expander_row_get_enable_expansion (row));
  g_assert_nonnull (strstr (adw_expander_row_get_subtitle (row), "Left out"));
  td_test_pin_window ("steps", td_test_window);
}

int
main (int argc, char **argv)
{
  const char *options[] = { "--columns=96", "--rows=24", "--views=120",     "--centre=48.7",
                            "--flats=2",    "--darks=2", "--photons=20000", NULL };

  g_test_init (&argc, &argv, NULL);
  g_autofree char *path = td_test_phantom ("steps.nxs", options);
  application = td_test_start ();
  td_test_open (path);
  g_test_add_func ("/window-steps/before", test_before);
  g_test_add_func ("/window-steps/before-follows", test_before_follows);
  g_test_add_func ("/window-steps/before-late", test_before_late);
  g_test_add_func ("/window-steps/begins-anew", test_begins_anew);
  g_test_add_func ("/window-steps/add-and-remove", test_add_and_remove);
  g_test_add_func ("/window-steps/all-steps", test_all_steps);
  g_test_add_func ("/window-steps/mask", test_mask);
  g_test_add_func ("/window-steps/decimals", test_decimals);
  g_test_add_func ("/window-steps/edit-ends-before", test_edit_ends_before);
  g_test_add_func ("/window-steps/before-by-hand", test_before_by_hand);
  g_test_add_func ("/window-steps/crop", test_crop);
  g_test_add_func ("/window-steps/bin", test_bin);
  g_test_add_func ("/window-steps/left-out", test_left_out);
  int status = g_test_run ();
  gtk_window_close (GTK_WINDOW (td_test_window));
  g_object_unref (application);
  td_test_folder_remove ();
  td_device_leave (status);
}
