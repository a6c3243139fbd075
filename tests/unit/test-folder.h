/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

#include "tests/common/pins.h"

/* A folder for one test, gone when the test ends. */
typedef struct {
  char *path;
} TestFolder;

static inline TestFolder *
test_folder_new (void)
{
  TestFolder *folder = g_new0 (TestFolder, 1);
  g_autoptr (GError) error = NULL;

  folder->path = g_dir_make_tmp ("tomodesk-test-XXXXXX", &error);
  g_assert_no_error (error);
  return folder;
}

static inline void
test_folder_remove (const char *path)
{
  GDir *dir = g_file_test (path, G_FILE_TEST_IS_SYMLINK) ? NULL : g_dir_open (path, 0, NULL);
  const char *name;

  while (dir && (name = g_dir_read_name (dir))) {
    g_autofree char *child = g_build_filename (path, name, NULL);

    test_folder_remove (child);
  }
  if (dir)
    g_dir_close (dir);
  g_remove (path);
}

static inline void
test_folder_free (TestFolder *folder)
{
  test_folder_remove (folder->path);
  g_free (folder->path);
  g_free (folder);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TestFolder, test_folder_free)

/* How many things lie in it. */
static inline guint
test_folder_count (const TestFolder *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder->path, 0, NULL);
  guint n = 0;

  while (g_dir_read_name (dir))
    n++;
  return n;
}

static inline char *
test_folder_file (const TestFolder *folder, const char *name)
{
  return g_build_filename (folder->path, name, NULL);
}

/* An error for a person: one line, one sentence, naming @mentioned (NULL: nothing in particular).
   The whole of it is kept. */
static inline void
test_assert_sentence (const GError *error, const char *mentioned)
{
  g_assert_nonnull (error);
  td_test_pin_refused (error);
  g_assert_null (strchr (error->message, '\n'));
  g_assert_null (strstr (error->message, ". "));
  g_assert_cmpuint (strlen (error->message), >, 15);
  g_assert_cmpuint (strlen (error->message), <, 700);
  g_assert_true (g_utf8_validate (error->message, -1, NULL));
  if (mentioned && !strstr (error->message, mentioned))
    g_error ("“%s” does not mention %s", error->message, mentioned);
}

/* A real scan of the collection, or NULL after skipping the test. */
static inline char *
test_scan_path (const char *name)
{
  const char *scans = g_getenv ("TOMODESK_SCANS");
  char *path = scans ? g_build_filename (scans, name, NULL) : NULL;

  if (!path || !g_file_test (path, G_FILE_TEST_EXISTS)) {
    g_test_skip ("no scan");
    g_clear_pointer (&path, g_free);
  }
  return path;
}
