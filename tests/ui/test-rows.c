/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of lists by themselves: a file by its name, and numbers as people type them. */
#include <string.h>

#include "ui-test.h"
#include "ui/file-row.h"
#include "ui/number-row.h"
#include "ui/ui.h"
#include "ui/wrap-layout.h"
#include "window-test.h"

/* ── Files ── */

static char *chosen;
static guint n_chosen;

static void
on_chosen (TdFileRow *row, const char *path)
{
  g_free (chosen);
  chosen = g_strdup (path);
  n_chosen++;
}

static gboolean
is_clear (GtkWidget *widget, gpointer user)
{
  return g_strcmp0 (gtk_widget_get_tooltip_text (widget), "None") == 0;
}

static void
assert_row (TdFileRow *row, const char *path, const char *subtitle, const char *tip, gboolean wrong,
            gboolean clears)
{
  GtkWidget *clear = td_test_find (GTK_WIDGET (row), GTK_TYPE_BUTTON, is_clear, NULL);

  g_assert_cmpstr (td_file_row_get_path (row), ==, path);
  g_assert_cmpstr (adw_action_row_get_subtitle (ADW_ACTION_ROW (row)), ==, subtitle);
  g_assert_cmpstr (gtk_widget_get_tooltip_text (GTK_WIDGET (row)), ==, tip);
  g_assert_cmpint (gtk_widget_has_css_class (GTK_WIDGET (row), "wrong"), ==, wrong);
  g_assert_nonnull (clear);
  g_assert_cmpint (gtk_widget_get_visible (clear), ==, clears);
}

static void
test_file (void)
{
  TdFileRow *row = g_object_ref_sink (TD_FILE_ROW (td_file_row_new ("Flats", "found", NULL)));

  g_signal_connect (row, "chosen", G_CALLBACK (on_chosen), NULL);
  g_assert_cmpstr (adw_preferences_row_get_title (ADW_PREFERENCES_ROW (row)), ==, "Flats");
  g_assert_false (adw_preferences_row_get_use_markup (ADW_PREFERENCES_ROW (row)));
  assert_row (row, NULL, "found", NULL, FALSE, FALSE);
  td_file_row_set_path (row, "/data/a & <b>.tif");
  assert_row (row, "/data/a & <b>.tif", "a & <b>.tif", "/data/a & <b>.tif", FALSE, TRUE);
  td_file_row_set_problem (row, "No such file");
  assert_row (row, "/data/a & <b>.tif", "No such file", "No such file", TRUE, TRUE);
  td_file_row_set_path (row, "/data/c");
  assert_row (row, "/data/c", "c", "/data/c", FALSE, TRUE);
  td_file_row_set_path (row, "");
  assert_row (row, NULL, "found", NULL, FALSE, FALSE);
  td_file_row_set_path (row, "/data/c");
  td_file_row_set_path (row, NULL);
  assert_row (row, NULL, "found", NULL, FALSE, FALSE);

  /* The button asks its owner, who may refuse. */
  td_file_row_set_path (row, "/data/c");
  td_test_click (td_test_find (GTK_WIDGET (row), GTK_TYPE_BUTTON, is_clear, NULL));
  g_assert_cmpuint (n_chosen, ==, 1);
  g_assert_null (chosen);
  g_assert_cmpstr (td_file_row_get_path (row), ==, "/data/c");
  g_object_unref (row);
}

/* ── Numbers ── */

static double changed;
static guint n_changed;

static void
on_changed (TdNumberRow *row, double value)
{
  changed = value;
  n_changed++;
}

/* A point or a comma, and either minus; what is no number leaves the value as it was. */
static void
test_number (void)
{
  static const struct {
    const char *text;
    double value;
  } texts[] = {
    { "190.75", 190.75 }, { "12,5", 12.5 }, { " 7 ", 7 },     { "-3.25", -3.25 }, { "−2,5", -2.5 },
    { "word", -2.5 },     { "", -2.5 },     { "1.5x", -2.5 }, { "inf", -2.5 },    { "nan", -2.5 },
    { "1e2", 100 },       { "500", 300 },   { "-500", -10 },  { "+4", 4 },
  };
  TdNumberRow *row = g_object_ref_sink (
      TD_NUMBER_ROW (td_number_row_new ("Centre", "in columns", -10, 300, 0.25, 2)));
  GtkWidget *spin = td_test_find (GTK_WIDGET (row), GTK_TYPE_SPIN_BUTTON, NULL, NULL);
  double step, page;

  g_signal_connect (row, "changed", G_CALLBACK (on_changed), NULL);
  g_assert_cmpstr (adw_action_row_get_subtitle (ADW_ACTION_ROW (row)), ==, "in columns");
  gtk_spin_button_get_increments (GTK_SPIN_BUTTON (spin), &step, &page);
  g_assert_cmpfloat (step, ==, 0.25);
  g_assert_cmpfloat (page, ==, 2.5);
  g_assert_cmpuint (gtk_spin_button_get_digits (GTK_SPIN_BUTTON (spin)), ==, 2);
  g_assert_cmpint (gtk_editable_get_width_chars (GTK_EDITABLE (spin)), ==, 6);
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    gtk_editable_set_text (GTK_EDITABLE (spin), texts[i].text);
    gtk_spin_button_update (GTK_SPIN_BUTTON (spin));
    g_test_message ("“%s”", texts[i].text);
    g_assert_cmpfloat (td_number_row_get_value (row), ==, texts[i].value);
    g_assert_cmpfloat (changed, ==, texts[i].value);
  }
  n_changed = 0;
  td_number_row_set_value (row, 8);
  td_number_row_set_value (row, 8);
  g_assert_cmpuint (n_changed, ==, 1);
  td_number_row_set_range (row, 0, 5);
  g_assert_cmpfloat (changed, ==, 5);
  td_number_row_set_steps (row, 0.001, 1, 5);
  g_assert_cmpint (gtk_editable_get_width_chars (GTK_EDITABLE (spin)), ==, 8);
  g_object_unref (row);
}

/* Whoever scrolls past a number does not change it. */
static void
test_wheel (void)
{
  GtkWidget *row = g_object_new (TD_TYPE_NUMBER_ROW, NULL);
  GtkWidget *widgets[] = { td_test_find (row, GTK_TYPE_SPIN_BUTTON, NULL, NULL),
                           gtk_scale_new_with_range (GTK_ORIENTATION_HORIZONTAL, 0, 1, 0.1) };

  g_object_ref_sink (row);
  td_ignore_scroll (g_object_ref_sink (widgets[1]));
  for (guint k = 0; k < G_N_ELEMENTS (widgets); k++) {
    g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (widgets[k]);
    guint n = 0;
    for (guint i = 0; i < g_list_model_get_n_items (controllers); i++) {
      g_autoptr (GtkEventController) one = g_list_model_get_item (controllers, i);
      if (!GTK_IS_EVENT_CONTROLLER_SCROLL (one))
        continue;
      g_assert_cmpint (gtk_event_controller_get_propagation_phase (one), ==, GTK_PHASE_NONE);
      n++;
    }
    g_assert_cmpuint (n, >, 0);
  }
  g_object_unref (widgets[1]);
  g_object_unref (row);
}

/* ── A row that does not apply ── */

static gboolean
is_active (gpointer window)
{
  return gtk_window_is_active (window);
}

/* It has the focus, and gives it on: else the toolkit warns when the cursor blinks next. */
static void
test_insensitive (void)
{
  GtkWidget *window = gtk_window_new (), *list = gtk_list_box_new ();
  GtkWidget *row = GTK_WIDGET (td_number_row_new ("Order", NULL, 1, 9, 1, 0));
  GtkWidget *button = gtk_button_new_with_label ("Next");
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  gtk_list_box_append (GTK_LIST_BOX (list), row);
  gtk_box_append (GTK_BOX (box), list);
  gtk_box_append (GTK_BOX (box), button);
  gtk_window_set_child (GTK_WINDOW (window), box);
  gtk_window_present (GTK_WINDOW (window));
  GtkWidget *text = td_test_find (row, GTK_TYPE_TEXT, NULL, NULL);
  gtk_widget_grab_focus (text);
  td_test_wait (is_active, window, "the window to be active");
  g_assert_true (gtk_widget_has_focus (text));
  td_set_sensitive (row, FALSE);
  g_assert_true (gtk_window_get_focus (GTK_WINDOW (window)) == button);
  td_test_pause (2500);
  td_set_sensitive (row, TRUE);
  g_assert_true (gtk_window_get_focus (GTK_WINDOW (window)) == button);
  gtk_window_destroy (GTK_WINDOW (window));
}

static gboolean
says (GtkWidget *label, gpointer text)
{
  return strcmp (gtk_label_get_text (GTK_LABEL (label)), text) == 0;
}

static GLogWriterOutput
count_log (GLogLevelFlags level, const GLogField *fields, gsize n, gpointer n_warnings)
{
  *(guint *) n_warnings += (level & G_LOG_LEVEL_MASK) <= G_LOG_LEVEL_WARNING;
  return G_LOG_WRITER_HANDLED;
}

/* What would be markup, were it not a name, is shown as it is, and nobody complains of it. */
static void
test_plain (void)
{
  static guint n_warnings;

  g_log_set_writer_func (count_log, &n_warnings, NULL);
  GtkWidget *row = g_object_ref_sink (td_plain_row_new ("a & <b>", "of R&D"));
  g_assert_cmpuint (n_warnings, ==, 0);
  g_assert_nonnull (td_test_find (row, GTK_TYPE_LABEL, says, (gpointer) "a & <b>"));
  g_assert_nonnull (td_test_find (row, GTK_TYPE_LABEL, says, (gpointer) "of R&D"));
  g_object_unref (row);
}

/* Lines of what has no room side by side, and room between them. */
static void
test_wrapped (void)
{
  enum { WIDE = 100, HIGH = 30, SPACING = 8 };
  GtkWidget *box = g_object_ref_sink (gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0));

  td_wrap (box, SPACING);
  for (guint i = 0; i < 3; i++) {
    GtkWidget *child = gtk_drawing_area_new ();
    gtk_widget_set_size_request (child, WIDE, HIGH);
    gtk_box_append (GTK_BOX (box), child);
  }
  for (int n = 1; n <= 3; n++) { /* side by side */
    const int lines = n == 1 ? 3 : n == 2 ? 2 : 1, least = n * WIDE + (n - 1) * SPACING;
    int high, wide;
    gtk_widget_measure (box, GTK_ORIENTATION_VERTICAL, least, NULL, &high, NULL, NULL);
    g_assert_cmpint (high, ==, lines * HIGH + (lines - 1) * SPACING);
    gtk_widget_measure (box, GTK_ORIENTATION_HORIZONTAL, -1, &wide, &high, NULL, NULL);
    g_assert_cmpint (wide, ==, WIDE);
    g_assert_cmpint (high, ==, 3 * WIDE + 2 * SPACING);
  }
  g_object_unref (box);
}

int
main (int argc, char **argv)
{
  gtk_test_init (&argc, &argv, NULL);
  adw_init ();
  td_ui_init ();
  g_test_add_func ("/rows/file", test_file);
  g_test_add_func ("/rows/number", test_number);
  g_test_add_func ("/rows/wheel", test_wheel);
  g_test_add_func ("/rows/insensitive", test_insensitive);
  g_test_add_func ("/rows/plain", test_plain);
  g_test_add_func ("/rows/wrapped",
                   test_wrapped); /* the last: from here on nobody writes warnings */
  const int status = g_test_run ();
  g_free (chosen);
  td_device_leave (status);
}
