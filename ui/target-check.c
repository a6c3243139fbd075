/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "target-check.h"

#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <unistd.h>

#include "dataset/error.h"
#include "dataset/file-bytes.h"

gboolean
td_target_check (const char *path, GError **error)
{
  g_autofree char *folder = g_path_get_dirname (path);

  if (!g_path_is_absolute (path))
    td_set_error (error, TD_ERROR_INVALID, "%s",
                  _ ("Give the whole path of the volume, or choose it with the folder button"));
  else if (g_file_test (path, G_FILE_TEST_EXISTS))
    td_set_error (error, TD_ERROR_INVALID,
                  _ ("%s exists already and is left as it is; choose another name"), path);
  else if (!g_file_test (folder, G_FILE_TEST_IS_DIR))
    td_set_error (error, TD_ERROR_NOT_FOUND,
                  _ ("There is no folder %s; choose another one, or make it first"), folder);
  else if (g_access (folder, W_OK) != 0)
    td_set_error (error, TD_ERROR_IO, _ ("Nothing can be written into %s; choose another folder"),
                  folder);
  else
    return TRUE;
  return FALSE;
}

gboolean
td_target_check_room (const char *path, guint64 bytes, GError **error)
{
  const guint64 available = td_file_room (path);

  if (bytes <= available)
    return TRUE;
  g_autofree char *folder = g_path_get_dirname (path);
  g_autofree char *need = g_format_size (bytes);
  g_autofree char *have = g_format_size (available);
  return td_set_error (
      error, TD_ERROR_IO,
      _ ("The volume takes %s, and %s has only %s free; free some space, choose another "
         "folder, or take fewer bits a sample"),
      need, folder, have);
}
