/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The geometry page shows how the open scan was taken, and its controls turn the picture and the
   sample. */
#include "ui-test.h"
#include "window-pins.h"
#include "window-test.h"

static void
test_cone (void)
{
  td_test_show_page ("geometry");
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-geometry");
  GtkWidget *space = td_test_part (td_test_window, "geometry_view.space");
  g_assert_cmpint (td_test_find (space, GTK_TYPE_GL_AREA, NULL, NULL) != NULL, ==,
                   td_test_with_gl ());
  /* The tilt of the axis is a parallel scan's. */
  g_signal_emit_by_name (td_image_pane_view (td_test_part (td_test_scan_view (), "projection")),
                         "shifted", 0, 1, FALSE);
  g_assert_cmpfloat (td_session_recipe (td_test_session ())->tilt_deg, ==, 0);
  td_test_pin_window ("geometry", td_test_window);
}

/* The buttons turn it, and turn it back; the slider turns the sample. */
static void
test_turning (void)
{
  GtkWidget *view = td_test_part (td_test_window, "geometry_view");
  GtkWidget *space = td_test_part (view, "space");

  g_autoptr (GBytes) first = td_test_picture_at_rest (space);
  td_test_click (td_test_button (view, "Side"));
  td_test_pin_window ("window-geometry-side", td_test_part (td_test_window, "geometry_view"));
  g_autoptr (GBytes) side = td_test_picture (space);
  g_assert_false (g_bytes_equal (side, first));
  td_test_click (td_test_button (view, "As at first (0)"));
  g_autoptr (GBytes) back = td_test_picture (space);
  g_assert_true (g_bytes_equal (back, first));
  gtk_adjustment_set_value (td_test_part (view, "view_adjustment"), 40);
  g_autoptr (GBytes) later = td_test_picture (space);
  g_assert_false (g_bytes_equal (later, first));
  td_test_click (td_test_button (view, "Top"));
  td_test_pin_window ("window-geometry-top", td_test_part (td_test_window, "geometry_view"));
  td_test_click (td_test_button (view, "As at first (0)"));
  td_test_pin_window ("geometry", td_test_window);
}

static gboolean
says_column (GtkWidget *label, gpointer words)
{
  return g_str_has_prefix (gtk_label_get_text (GTK_LABEL (label)), words);
}

/* The facts tell of the axis that the recipe has now. */
static gboolean
facts_follow (gpointer unused)
{
  g_autofree char *words
      = g_strdup_printf ("column %.2f, row ", td_session_recipe (td_test_session ())->centre_px);

  return td_test_find (td_test_part (td_test_window, "geometry_view"), GTK_TYPE_LABEL, says_column,
                       words)
         != NULL;
}

static void
test_parallel (void)
{
  const char *options[] = { "--columns=64", "--rows=16", "--views=90", "--centre=20.5", NULL };
  g_autofree char *path = td_test_phantom ("parallel.nxs", options);

  td_test_open (path);
  td_test_show_page ("geometry");
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-geometry-parallel");
  td_test_reaches_all (td_test_part (td_test_window, "geometry_view.view_adjustment"), 90);
  td_test_reaches_all (td_test_part (td_test_scan_view (), "view_adjustment"), 90);
  td_test_reaches_all (td_test_part (td_test_scan_view (), "row_adjustment"), 16);
  /* The page follows the recipe while it is shown, and comes through the closing of its scan. */
  g_signal_emit_by_name (td_image_pane_view (td_test_slice_pane ()), "nudged", 1, 0, FALSE);
  g_assert_cmpfloat (td_session_recipe (td_test_session ())->centre_px, >, 20.5);
  td_test_wait (facts_follow, NULL, "the facts of another axis");
  td_test_activate ("undo", NULL);
  td_test_activate ("close-scan", NULL);
  td_test_pin_window ("geometry", td_test_window);
}

int
main (int argc, char **argv)
{
  const char *options[]
      = { "--cone", "--columns=64", "--rows=48", "--views=90", "--range=240", "--centre=34", NULL };

  g_test_init (&argc, &argv, NULL);
  g_autofree char *path = td_test_phantom ("cone.nxs", options);
  TdApplication *application = td_test_start ();
  td_test_open (path);
  g_test_add_func ("/window-geometry/cone", test_cone);
  g_test_add_func ("/window-geometry/turning", test_turning);
  g_test_add_func ("/window-geometry/parallel", test_parallel);
  int status = g_test_run ();
  gtk_window_close (GTK_WINDOW (td_test_window));
  g_object_unref (application);
  td_test_folder_remove ();
  td_device_leave (status);
}
