/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tuning from the window fills its table, shows its progress, and can be stopped. Devices that are
   not there cannot be tuned.
 */
#include <stdio.h>
#include <string.h>

#include "compute/device/device.h"
#include "ui-test.h"
#include "ui/tuning-row.h"
#include "window-test.h"

static GtkWidget *window;
static TdTuningRow *row;

static gboolean
is_busy (void)
{
  return gtk_widget_get_visible (td_test_button (row, "Stop"));
}

static gboolean
ended (gpointer user)
{
  return !is_busy ();
}

/* Lines of the table; an expander row has one more in itself, its heading. */
static gboolean
count_line (GtkWidget *widget, gpointer count)
{
  ++*(guint *) count;
  return FALSE;
}

static guint
lines (void)
{
  guint n = 0;

  td_test_find (GTK_WIDGET (row), ADW_TYPE_ACTION_ROW, count_line, &n);
  return n - 1;
}

static void
start (void)
{
  td_test_click (td_test_button (row, "Tune"));
}

static gboolean
progressed (gpointer user)
{
  return g_strcmp0 (adw_expander_row_get_subtitle (ADW_EXPANDER_ROW (row)), user) != 0;
}

static gboolean
laid_out (gpointer user)
{
  return gtk_widget_get_width (GTK_WIDGET (row)) > 0;
}

static void
open_row (const char *device, guint size)
{
  window = gtk_window_new ();
  row = g_object_new (TD_TYPE_TUNING_ROW, NULL);
  gtk_window_set_child (GTK_WINDOW (window), GTK_WIDGET (row));
  gtk_window_set_default_size (GTK_WINDOW (window), 340, 400);
  gtk_window_present (GTK_WINDOW (window));
  td_test_wait (laid_out, NULL, "the window");
  td_tuning_row_set_device (row, device, size);
  g_assert_false (is_busy ());
}

static void
close_row (void)
{
  gtk_window_destroy (GTK_WINDOW (window));
}

static void
test_table (void)
{
  open_row ("host,opencl:0", 64);
  start ();
  g_assert_true (is_busy ());
  td_test_wait (ended, NULL, "the table");
  g_assert_cmpuint (lines (), >, 0);
  g_assert_true (
      g_str_has_prefix (adw_expander_row_get_subtitle (ADW_EXPANDER_ROW (row)), "host: "));
  adw_expander_row_set_expanded (ADW_EXPANDER_ROW (row), TRUE);
  /* Once more: the old table goes, and only once. */
  const guint found = lines ();
  td_tuning_row_set_device (row, "host", 32);
  start ();
  td_test_click (td_test_button (row, "Stop"));
  start ();
  g_assert_cmpuint (lines (), ==, 0);
  td_test_wait (ended, NULL, "the table");
  g_assert_cmpuint (lines (), ==, found);
  close_row ();
}

/* The words and the bar count the same: the bar is within the case that the words name. */
static void
assert_one_progress (void)
{
  const char *words = adw_expander_row_get_subtitle (ADW_EXPANDER_ROW (row));
  GtkWidget *bar = td_test_find (GTK_WIDGET (row), GTK_TYPE_PROGRESS_BAR, NULL, NULL);
  const double done = gtk_progress_bar_get_fraction (GTK_PROGRESS_BAR (bar));
  guint number, n, variant, variants;

  g_assert_cmpint (sscanf (words, "Case %u of %u: ", &number, &n), ==, 2);
  g_assert_cmpint (sscanf (strrchr (words, ';'), "; variant %u of %u", &variant, &variants), ==, 2);
  g_assert_nonnull (strstr (words, "1 slice"));
  g_assert_cmpfloat_with_epsilon (done, (number - 1 + (variant - 1.0) / variants) / n, 1e-9);
}

static void
test_stop (void)
{
  open_row ("host", 1024);
  start ();
  g_autofree char *opening = g_strdup (adw_expander_row_get_subtitle (ADW_EXPANDER_ROW (row)));
  td_test_wait (progressed, opening, "progress");
  g_assert_true (is_busy ());
  assert_one_progress ();
  td_test_click (td_test_button (row, "Stop"));
  g_assert_false (is_busy ());
  g_assert_cmpuint (lines (), ==, 0);
  /* And while it runs the window goes. */
  start ();
  close_row ();
}

static void
test_absent (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (td_device_open ("cuda:97", &error));
  open_row ("cuda:97", 64);
  start ();
  td_test_wait (ended, NULL, "the reason");
  g_assert_cmpuint (lines (), ==, 0);
  g_assert_cmpstr (adw_expander_row_get_subtitle (ADW_EXPANDER_ROW (row)), ==, error->message);
  close_row ();
}

int
main (int argc, char **argv)
{
  gtk_test_init (&argc, &argv, NULL);
  adw_init ();
  g_test_add_func ("/tuning/table", test_table);
  g_test_add_func ("/tuning/stop", test_stop);
  g_test_add_func ("/tuning/absent", test_absent);
  td_device_leave (g_test_run ());
}
