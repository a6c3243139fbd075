/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The geometry page in the window. */
#include <math.h>

#include "ui-test.h"
#include "window-test.h"

static TdGeometryView *
geometry (void)
{
  return td_window_geometry_view (td_test_window);
}

static void
test_cone (void)
{
  td_window_show_page (td_test_window, "geometry");
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-geometry");
  g_assert_cmpint (td_space_view_uses_gl (td_geometry_view_space (geometry ())), ==,
                   td_test_with_gl ());
}

/* The arrow keys turn it; 0 turns it back. */
static void
test_keys (void)
{
  TdSpaceView *space = td_geometry_view_space (geometry ());
  double yaw = td_space_view_camera (space)->yaw_rad;

  td_space_view_look_from (space, 90, 0);
  g_assert_cmpfloat (fabs (td_space_view_camera (space)->yaw_rad - G_PI / 2), <, 1e-9);
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-geometry-side");
  td_space_view_reset (space);
  g_assert_cmpfloat (td_space_view_camera (space)->yaw_rad, ==, yaw);
  td_geometry_view_set_view (geometry (), 40);
  td_space_view_look_from (space, 0, 90);
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-geometry-top");
  td_space_view_reset (space);
}

static void
test_parallel (void)
{
  const char *options[] = { "--columns=64", "--rows=16", "--views=90", "--centre=20.5", NULL };
  g_autofree char *path = td_test_phantom ("parallel.nxs", options);

  td_test_open (path);
  td_window_show_page (td_test_window, "geometry");
  td_test_screenshot (GTK_WIDGET (td_test_window), "window-geometry-parallel");
  /* The page follows the recipe while it is shown, and comes through the closing of its scan. */
  g_signal_emit_by_name (td_image_pane_view (td_test_slice_pane ()), "nudged", 1, 0, FALSE);
  td_test_activate ("undo", NULL);
  td_test_activate ("close-scan", NULL);
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
  g_test_add_func ("/window-geometry/keys", test_keys);
  g_test_add_func ("/window-geometry/parallel", test_parallel);
  int status = g_test_run ();
  gtk_window_close (GTK_WINDOW (td_test_window));
  g_object_unref (application);
  td_test_folder_remove ();
  return status;
}
