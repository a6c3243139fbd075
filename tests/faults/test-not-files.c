/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/common/cli.h"
#include "tests/unit/test-folder.h"

/**
 * Named pipes and devices lie wherever the program expects a file. The program never waits for a
 * pipe and reads nothing from a device, and one sentence says so. Caches that are no files count as
 * none.
 */

static void
make_scan (const TestFolder *folder)
{
  g_auto (TdTestRun) run = { 0 };

  td_test_cli (&run, folder->path, "phantom", "disc", "--output", "scan.nxs", "--columns", "32",
               "--rows", "2", "--views", "40", NULL);
  g_assert_cmpint (run.status, ==, 0);
}

static void
make_pipe (const TestFolder *folder, const char *name)
{
  g_autofree char *path = test_folder_file (folder, name);
  g_autofree char *parent = g_path_get_dirname (path);

  g_mkdir_with_parents (parent, 0700);
  g_assert_cmpint (mkfifo (path, 0600), ==, 0);
}

/* Runs "reconstruct scan.nxs --output out.tif @option @what". */
static void
refuse_option (const TestFolder *folder, const char *option, const char *what)
{
  g_auto (TdTestRun) run = { 0 };

  if (strcmp (option, "--start") == 0)
    td_test_cli (&run, folder->path, "reconstruct", "scan.nxs", "--output", "out.tif", "--method",
                 "sirt", option, what, NULL);
  else
    td_test_cli (&run, folder->path, "reconstruct", "scan.nxs", "--output", "out.tif", option, what,
                 NULL);
  g_test_message ("%s %s", option, what);
  g_assert_cmpint (run.status, >, 0);
  td_test_run_assert_refused (&run, run.status, what);
}

static void
test_input (gconstpointer what)
{
  static const char *const options[]
      = { "--recipe", "--angles", "--geometry", "--flats", "--darks", "--start", "--bad-pixels" };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) scan = { 0 }, raw = { 0 }, volume = { 0 };

  make_scan (folder);
  make_pipe (folder, "pipe");
  for (guint i = 0; i < G_N_ELEMENTS (options); i++)
    refuse_option (folder, options[i], what);
  td_test_cli (&scan, folder->path, "info", what, NULL);
  td_test_run_assert_refused (&scan, 1, what);
  td_test_cli (&raw, folder->path, "info", what, "--raw", "8x4:uint16", "--angles", "0:180", NULL);
  td_test_run_assert_refused (&raw, 1, what);
  td_test_cli (&volume, folder->path, "compare", what, "scan.nxs", NULL);
  td_test_run_assert_refused (&volume, 1, what);
}

/* A pipe that a folder holds where images or scans are expected. */
static void
test_in_folder (gconstpointer name)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) run = { 0 };

  make_pipe (folder, name);
  td_test_cli (&run, folder->path, "info", ".", "--angles", "0:180", NULL);
  td_test_run_assert_refused (&run, 1, "");
}

static void
test_output (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) target = { 0 }, part = { 0 }, device = { 0 };
  struct stat status;
  g_autofree char *pipe = test_folder_file (folder, "pipe");

  make_scan (folder);
  make_pipe (folder, "pipe");
  make_pipe (folder, "out.tif.part");
  td_test_cli (&target, folder->path, "reconstruct", "scan.nxs", "--output", "pipe", "--format",
               "bigtiff", "--overwrite", NULL);
  td_test_run_assert_refused (&target, 1, "pipe");
  g_assert_true (stat (pipe, &status) == 0 && S_ISFIFO (status.st_mode));
  td_test_cli (&part, folder->path, "reconstruct", "scan.nxs", "--output", "out.tif", "--format",
               "bigtiff", "--overwrite", NULL);
  td_test_run_assert_refused (&part, 1, "out.tif.part");
  td_test_cli (&device, folder->path, "reconstruct", "scan.nxs", "--output", "/dev/zero",
               "--format", "bigtiff", "--overwrite", NULL);
  td_test_run_assert_refused (&device, 1, "/dev/zero");
}

/* Nothing beside the start's volume and no cache is waited for. */
static void
test_beside (void)
{
  static const char *const caches[] = { "rates.ini", "tuned.json", "drivers.ini", "fftwf-wisdom" };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *cache = test_folder_file (folder, "cache");
  g_auto (TdTestRun) first = { 0 }, second = { 0 };

  make_scan (folder);
  g_setenv ("XDG_CACHE_HOME", cache, TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (caches); i++) {
    g_autofree char *name = g_strdup_printf ("cache/tomodesk/%s", caches[i]);
    make_pipe (folder, name);
  }
  td_test_cli (&first, folder->path, "reconstruct", "scan.nxs", "--output", "first.tif", "--method",
               "sirt", "--iterations", "2", "--format", "bigtiff", NULL);
  g_assert_cmpint (first.status, ==, 0);
  make_pipe (folder, "first.tif.momentum");
  td_test_cli (&second, folder->path, "reconstruct", "scan.nxs", "--output", "second.tif",
               "--method", "fista-tv", "--iterations", "2", "--start", "first.tif", "--format",
               "bigtiff", NULL);
  g_assert_cmpint (second.status, ==, 0);
  g_assert_nonnull (strstr (second.out, "no file"));
}

/* A recipe whose brackets would overflow the parser's stack, and one that is too large. */
static void
test_recipe (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "deep.json");
  g_autofree char *large = test_folder_file (folder, "large.json");
  g_autofree char *brackets = g_strnfill (1000000, '[');
  g_autofree char *text = g_strconcat ("{\"tomodesk_recipe\": ", brackets, NULL);

  make_scan (folder);
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
  refuse_option (folder, "--recipe", "deep.json");
  g_assert_true (g_file_set_contents (large, "{", 1, NULL));
  g_assert_cmpint (truncate (large, (off_t) 3 << 30), ==, 0);
  refuse_option (folder, "--recipe", "large.json");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/not-files/pipe", "pipe", test_input);
  g_test_add_data_func ("/not-files/device", "/dev/zero", test_input);
  g_test_add_data_func ("/not-files/folder/tiff", "a_0001.tif", test_in_folder);
  g_test_add_data_func ("/not-files/folder/hdf5", "a.nxs", test_in_folder);
  g_test_add_data_func ("/not-files/folder/json", "a.json", test_in_folder);
  g_test_add_func ("/not-files/output", test_output);
  g_test_add_func ("/not-files/beside", test_beside);
  g_test_add_func ("/not-files/recipe", test_recipe);
  return g_test_run ();
}
