/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The window warns of a target that would replace something or lacks room, before a volume is
   written there. */
#include <glib/gstdio.h>

#include "dataset/error.h"
#include "ui/target-check.h"

static void
test_paths (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *folder = g_dir_make_tmp ("tomodesk-target-XXXXXX", &error);
  g_assert_no_error (error);
  g_autofree char *fresh = g_build_filename (folder, "volume", NULL);
  g_autofree char *deeper = g_build_filename (folder, "nowhere", "volume", NULL);

  g_assert_true (td_target_check (fresh, &error));
  g_assert_no_error (error);
  g_assert_false (td_target_check ("volume", &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
  g_clear_error (&error);
  g_assert_false (td_target_check (folder, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
  g_clear_error (&error);
  g_assert_false (td_target_check (deeper, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_NOT_FOUND);
  g_rmdir (folder);
}

static void
test_room (void)
{
  g_autofree char *path = g_build_filename (g_get_tmp_dir (), "volume", NULL);
  g_autoptr (GError) error = NULL;

  g_assert_true (td_target_check_room (path, 0, &error));
  g_assert_no_error (error);
  if (td_target_check_room (path, G_MAXUINT64 - 1, &error)) {
    g_test_skip ("the file system does not tell what is free");
    return;
  }
  g_assert_error (error, TD_ERROR, TD_ERROR_IO);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/target/paths", test_paths);
  g_test_add_func ("/target/room", test_room);
  return g_test_run ();
}
