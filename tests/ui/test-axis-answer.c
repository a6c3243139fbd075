/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the search for the axis found, as it is shown: words, headings, trials, and what a click
   takes. */
#include <math.h>

#include "ui/axis-answer.h"
#include "ui/ui.h"
#include "window-test.h"

#define ROWS 101

static TdAxisAnswer *answer;
static double taken[2];

static void
on_taken (TdAxisAnswer *self, double centre_px, double tilt_deg)
{
  taken[0] = centre_px;
  taken[1] = tilt_deg;
}

static TdAxisTrial trials[] = {
  { TD_AXIS_OVERLAP, 20, 64.125, 0.75, 0.1, TRUE },
  { TD_AXIS_OVERLAP, 80, NAN, 0, NAN, FALSE },
  { TD_AXIS_CORRELATION, 20, 63.5, 0.5, 0.1, FALSE },
  { TD_AXIS_CORRELATION, 50, 64, 0.9, 0.1, TRUE },
};

static TdAxisResult
found (void)
{
  return (TdAxisResult) { .centre_px = 64.25,
                          .uncertainty_px = 0.125,
                          .tilt_deg = 0.5,
                          .tilt_uncertainty_deg = 0.1,
                          .middle_row = 50,
                          .agreed = TRUE,
                          .trials = trials,
                          .n_trials = G_N_ELEMENTS (trials) };
}

static const char *
text_of (const char *part)
{
  return gtk_label_get_text (td_test_part (answer, part));
}

static gboolean
is_shown (const char *part)
{
  return gtk_widget_get_visible (td_test_part (answer, part));
}

/* ── Words ── */

static void
test_words (void)
{
  TdAxisResult result = found ();

  td_axis_answer_set_result (answer, &result, ROWS);
  g_assert_cmpstr (text_of ("consensus"), ==, "64.25 ± 0.12");
  g_assert_cmpstr (text_of ("tilt"), ==, "Tilt 0.500° ± 0.100°");
  g_assert_true (is_shown ("tilt") && is_shown ("plot"));
  g_assert_false (is_shown ("warning") || is_shown ("advice"));

  result.agreed = FALSE;
  result.advice = (char *) "Look again";
  result.tilt_deg = 0;
  td_axis_answer_set_result (answer, &result, ROWS);
  g_assert_true (is_shown ("warning") && is_shown ("advice") && is_shown ("tilt"));
  g_assert_cmpstr (text_of ("advice"), ==, "Look again");

  result.tilt_uncertainty_deg = 0; /* of one row there is none */
  td_axis_answer_set_result (answer, &result, ROWS);
  g_assert_false (is_shown ("tilt"));

  result = found ();
  result.centre_px = NAN;
  result.n_trials = 0;
  td_axis_answer_set_result (answer, &result, ROWS);
  g_assert_cmpstr (text_of ("consensus"), ==, "No centre found");
  g_assert_false (is_shown ("tilt") || is_shown ("plot"));
  g_assert_false (gtk_widget_get_sensitive (td_test_part (answer, "take")));
}

/* ── The table ── */

static GtkWidget *
cell (int column, int row)
{
  return gtk_grid_get_child_at (td_test_part (answer, "grid"), column, row);
}

static void
assert_label (int column, int row, const char *text)
{
  GtkWidget *label = cell (column, row);

  g_assert_nonnull (label);
  g_assert_cmpstr (gtk_label_get_text (GTK_LABEL (label)), ==, text);
}

static void
assert_trial (int column, int row, const char *text, const char *tip, gboolean used)
{
  GtkWidget *button = cell (column, row);

  g_assert_nonnull (button);
  g_assert_cmpstr (gtk_button_get_label (GTK_BUTTON (button)), ==, text);
  g_assert_cmpstr (gtk_widget_get_tooltip_text (button), ==, tip);
  g_assert_cmpint (gtk_widget_has_css_class (button, "dim-label"), ==, !used);
  g_assert_cmpint (gtk_widget_get_sensitive (button), ==, text[0] >= '0' && text[0] <= '9');
}

/* A column for each method, a line for each row, both in the order of the trials. */
static void
test_table (void)
{
  const TdAxisResult result = found ();
  const char *overlap = td_axis_method_title (TD_AXIS_OVERLAP);
  const char *correlation = td_axis_method_title (TD_AXIS_CORRELATION);
  g_autofree char *first
      = g_strdup_printf ("%s, row 20: confidence 0.75. Click to take it", overlap);
  g_autofree char *none = g_strdup_printf ("%s, row 80: confidence 0.00, left out of the "
                                           "consensus: weak, or far from the others. Click to "
                                           "take it",
                                           overlap);
  g_autofree char *far = g_strdup_printf ("%s, row 20: confidence 0.50, left out of the "
                                          "consensus: weak, or far from the others. Click to "
                                          "take it",
                                          correlation);
  g_autofree char *last
      = g_strdup_printf ("%s, row 50: confidence 0.90. Click to take it", correlation);

  for (guint i = 0; i < 2; i++) { /* the second takes the place of the first */
    td_axis_answer_set_result (answer, &result, ROWS);
    GtkWidget *legend = gtk_widget_get_first_child (td_test_part (answer, "legend"));
    g_assert_cmpstr (gtk_label_get_text (GTK_LABEL (legend)), ==, "● overlap");
    legend = gtk_widget_get_next_sibling (legend);
    g_assert_cmpstr (gtk_label_get_text (GTK_LABEL (legend)), ==, "● correlation");
    g_assert_null (gtk_widget_get_next_sibling (legend));
    assert_label (1, 0, "●");
    assert_label (2, 0, "●");
    g_assert_cmpstr (gtk_widget_get_tooltip_text (cell (1, 0)), ==, overlap);
    g_assert_cmpstr (gtk_widget_get_tooltip_text (cell (2, 0)), ==, correlation);
    assert_label (0, 1, "row 20");
    assert_label (0, 2, "row 80");
    assert_label (0, 3, "row 50");
    assert_trial (1, 1, "64.12", first, TRUE);
    assert_trial (1, 2, "–", none, FALSE);
    assert_trial (2, 1, "63.50", far, FALSE);
    assert_trial (2, 3, "64.00", last, TRUE);
    g_assert_null (cell (0, 0));
    g_assert_null (cell (1, 3));
    g_assert_null (cell (2, 2));
    g_assert_null (cell (3, 0));
    g_assert_null (cell (0, 4));
  }
}

/* Five methods have room beside each other in a panel, and each of their names is whole. */
static void
test_names (void)
{
  TdAxisTrial one_each[TD_AXIS_COUNT];
  TdAxisResult result = found ();
  int least;

  for (guint m = 0; m < TD_AXIS_COUNT; m++)
    one_each[m] = (TdAxisTrial) { m, 20, 164.125, 0.75, 0.1, TRUE };
  result.trials = one_each;
  result.n_trials = TD_AXIS_COUNT;
  td_axis_answer_set_result (answer, &result, ROWS);
  gtk_widget_measure (GTK_WIDGET (answer), GTK_ORIENTATION_HORIZONTAL, -1, &least, NULL, NULL,
                      NULL);
  g_assert_cmpint (least, <=, 318); /* what a panel leaves for it */
  for (GtkWidget *name = gtk_widget_get_first_child (td_test_part (answer, "legend")); name;
       name = gtk_widget_get_next_sibling (name))
    g_assert_cmpint (gtk_label_get_ellipsize (GTK_LABEL (name)), ==, PANGO_ELLIPSIZE_NONE);
}

/* ── Taking ── */

static void
test_take (void)
{
  TdAxisResult result = found ();

  td_axis_answer_set_result (answer, &result, ROWS);
  td_test_click (td_test_part (answer, "take"));
  g_assert_cmpfloat (taken[0], ==, 64.25);
  g_assert_cmpfloat (taken[1], ==, 0.5);
  result.tilt_uncertainty_deg = 0.251; /* no more than twice that: it is none */
  td_axis_answer_set_result (answer, &result, ROWS);
  td_test_click (td_test_part (answer, "take"));
  g_assert_cmpfloat (taken[1], ==, 0);
  result.tilt_deg = -0.503;
  g_assert_cmpfloat (td_axis_result_tilt (&result, ROWS), ==, -0.503);
  result.tilt_deg = -0.502;
  g_assert_cmpfloat (td_axis_result_tilt (&result, ROWS), ==, 0);
  /* A trial's row is 30 above the middle one: the tilt that is set brings it there. */
  td_axis_answer_set_centre (answer, 60, 2);
  td_test_click (cell (1, 1));
  g_assert_cmpfloat_with_epsilon (taken[0], 64.125 + 30 * tan (2 * G_PI / 180), 1e-9);
  g_assert_true (isnan (taken[1]));
  td_axis_answer_set_centre (answer, 60, 0);
  td_test_click (cell (2, 3));
  g_assert_cmpfloat_with_epsilon (taken[0], 64, 1e-12);
}

/* What is set already is not offered once more. */
static void
test_offer (void)
{
  static const struct {
    double centre_px, tilt_deg;
    gboolean offered;
  } set[] = {
    { 64.25, 0.5, FALSE },    { 64.2549, 0.5, FALSE },  { 64.2551, 0.5, TRUE },
    { 64.2451, 0.5, FALSE },  { 64.2449, 0.5, TRUE },   { 64.25, 0.50049, FALSE },
    { 64.25, 0.50051, TRUE }, { 64.25, 0.49949, TRUE }, { NAN, 0.5, TRUE },
  };
  const TdAxisResult result = found ();

  td_axis_answer_set_result (answer, &result, ROWS);
  for (guint i = 0; i < G_N_ELEMENTS (set); i++) {
    td_axis_answer_set_centre (answer, set[i].centre_px, set[i].tilt_deg);
    g_assert_cmpint (gtk_widget_get_sensitive (td_test_part (answer, "take")), ==, set[i].offered);
  }
  td_axis_answer_set_result (answer, NULL, 0);
  g_assert_null (td_axis_answer_get_result (answer));
  td_axis_answer_set_centre (answer, 1, 0);
  g_assert_false (gtk_widget_get_sensitive (td_test_part (answer, "take")));
}

/* A single row has no tilt: none is shown, offered or taken, whatever is set. */
static void
test_single_row (void)
{
  const TdAxisResult result = found ();

  td_axis_answer_set_result (answer, &result, 1);
  g_assert_false (is_shown ("tilt"));
  td_axis_answer_set_centre (answer, 64.25, 2);
  g_assert_false (gtk_widget_get_sensitive (td_test_part (answer, "take")));
  td_axis_answer_set_centre (answer, 60, 2);
  td_test_click (td_test_part (answer, "take"));
  g_assert_cmpfloat (taken[0], ==, 64.25);
  g_assert_true (isnan (taken[1]));
}

int
main (int argc, char **argv)
{
  gtk_test_init (&argc, &argv, NULL);
  adw_init ();
  td_ui_init ();
  answer = g_object_ref_sink (g_object_new (TD_TYPE_AXIS_ANSWER, NULL));
  g_signal_connect (answer, "taken", G_CALLBACK (on_taken), NULL);
  g_test_add_func ("/axis-answer/words", test_words);
  g_test_add_func ("/axis-answer/table", test_table);
  g_test_add_func ("/axis-answer/names", test_names);
  g_test_add_func ("/axis-answer/take", test_take);
  g_test_add_func ("/axis-answer/offer", test_offer);
  g_test_add_func ("/axis-answer/single-row", test_single_row);
  const int status = g_test_run ();
  g_object_unref (answer);
  return status;
}
