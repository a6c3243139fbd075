/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/common/cli.h"
#include "tests/unit/test-folder.h"

/**
 * The last steps of a job. The disk is asked for room, what was written reaches it, and only a
 * whole volume replaces an older one. Control-C with --keep ends iterations and keeps what they
 * came to. Jobs short of memory begin again with smaller slabs. Calls of the system fail by
 * fail-at.c.
 */

static void
make_scan (const TestFolder *folder, const char *name)
{
  g_auto (TdTestRun) run = { 0 };

  g_setenv ("OCL_ICD_VENDORS", "/nowhere", TRUE);
  td_test_cli (&run, folder->path, "phantom", "shepp-logan", "--output", name, "--columns", "96",
               "--rows", "6", "--views", "90", NULL);
  g_assert_cmpint (run.status, ==, 0);
}

/* "tomodesk-cli LINE" where FAIL_AT=@fail; the exit status, or minus a signal. */
static int
run_failing (const TestFolder *folder, const char *fail, const char *line, char **said)
{
  g_autofree char *shell
      = g_strdup_printf ("FAIL_AT=%s FAIL_UNDER='%s' LD_PRELOAD='%s' exec '%s' %s", fail,
                         folder->path, g_getenv ("FAIL_LIBRARY"), g_getenv ("TOMODESK_CLI"), line);
  const char *const words[] = { "sh", "-c", shell, NULL };
  g_autoptr (GError) error = NULL;
  int status;

  g_spawn_sync (folder->path, (char **) words, NULL,
                G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, said, &status,
                &error);
  g_assert_no_error (error);
  g_test_message ("%s: %s", fail, *said);
  return WIFEXITED (status) ? WEXITSTATUS (status) : -WTERMSIG (status);
}

/* What reaches the disk is awaited: without that call nothing here could fail. */
static void
test_sync (gconstpointer output)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *line
      = g_strdup_printf ("reconstruct scan.nxs --device host --output %s", (const char *) output);
  g_autofree char *said = NULL, *path = test_folder_file (folder, output);

  make_scan (folder, "scan.nxs");
  g_assert_cmpint (run_failing (folder, "sync:1", line, &said), ==, 1);
  g_assert_nonnull (strstr (said, output));
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
  g_assert_cmpuint (test_folder_count (folder), ==, 1);
}

/* Within @limit of each other, of the second's root mean square. */
static gboolean
is_alike (const TestFolder *folder, const char *a, const char *b, const char *limit)
{
  g_auto (TdTestRun) run = { 0 };

  td_test_cli (&run, folder->path, "compare", a, b, "--limit", limit, NULL);
  return run.status == 0;
}

/* Signals that come while files are read and written change nothing. */
static void
test_interrupted (gconstpointer data)
{
  const char *const *names = data; /* scan, output */
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *line
      = g_strdup_printf ("reconstruct %s --device host --output %s", names[0], names[1]);
  g_autofree char *again
      = g_strdup_printf ("reconstruct %s --device host --output again-%s", names[0], names[1]);
  g_autofree char *other = g_strconcat ("again-", names[1], NULL);
  g_autofree char *said = NULL, *said_again = NULL;

  make_scan (folder, names[0]);
  g_assert_cmpint (run_failing (folder, "read:0", line, &said), ==, 0);
  g_setenv ("FAIL_INTERRUPTS", "1", TRUE);
  const int status = run_failing (folder, "read:0", again, &said_again);
  g_unsetenv ("FAIL_INTERRUPTS");
  g_assert_cmpint (status, ==, 0);
  g_assert_true (is_alike (folder, other, names[1], "0"));
}

/* A disk that is too full is told before anything is computed. */
static void
test_space (gconstpointer output)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *line
      = g_strdup_printf ("reconstruct scan.nxs --device host --output %s", (const char *) output);
  g_autofree char *said = NULL;

  make_scan (folder, "scan.nxs");
  g_assert_cmpint (run_failing (folder, "space:1+", line, &said), ==, 1);
  g_assert_nonnull (strstr (said, "are free there"));
  g_assert_cmpuint (test_folder_count (folder), ==, 1);
}

/* The lab asks for what grows with the slice itself: whichever piece it does not get, it says so or
   leaves something out. */
static void
test_lab_memory (void)
{
  const char *line = "lab row.nxs --device host --variant '' --variant '--filter hann' --budget";
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *cache = test_folder_file (folder, "cache");
  g_auto (TdTestRun) made = { 0 };

  g_setenv ("XDG_CACHE_HOME", cache, TRUE);
  /* Drivers of graphics cards may end the program when they get no memory. */
  g_setenv ("CUDA_VISIBLE_DEVICES", "", TRUE);
  g_setenv ("OCL_ICD_VENDORS", folder->path, TRUE);
  td_test_cli (&made, folder->path, "phantom", "shepp-logan", "--output", "row.nxs", "--columns",
               "200", "--rows", "3", "--views", "120", NULL);
  g_assert_cmpint (made.status, ==, 0);
  for (guint n = 2; n <= 48; n += g_test_slow () ? 1 : 9) {
    g_autofree char *fail = g_strdup_printf ("memory:%u", n), *said = NULL;
    const int status = run_failing (folder, fail, line, &said);

    g_assert_cmpint (status, >=, 0);
    g_assert_cmpint (status, <=, 1);
  }
}

/* What is said to be needed is more than what there is, also where a little more than the volume is
   asked for. */
static void
test_space_little (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *said = NULL;

  make_scan (folder, "scan.nxs");
  g_setenv ("FAIL_FREE", "524288", TRUE); /* the volume has 216 KiB */
  g_assert_cmpint (run_failing (folder, "space:1+",
                                "reconstruct scan.nxs --device host --output out.tif", &said),
                   ==, 1);
  g_unsetenv ("FAIL_FREE");
  g_assert_nonnull (strstr (said, "needs 1.2\302\240MiB, but only 512.0\302\240KiB are free"));
}

/* Whichever renaming fails, the old volume is there, or the new one; nothing else is. */
static void
test_older (gconstpointer output)
{
  static const char *const names[] = { "scan.nxs", "old", "new" };
  g_autoptr (TestFolder) folder = test_folder_new ();
  const char *format = strrchr (output, '.')
                           ? strcmp (strrchr (output, '.'), ".h5") == 0 ? "hdf5" : "bigtiff"
                           : "tiff";
  guint failed = 0, done = 0;

  make_scan (folder, "scan.nxs");
  for (guint i = 1; i < 3; i++) { /* truths */
    g_auto (TdTestRun) run = { 0 };
    td_test_cli (&run, folder->path, "reconstruct", "scan.nxs", "--device", "host", "--output",
                 names[i], "--format", "tiff", "--filter", i == 1 ? "hann" : "ram-lak", NULL);
    g_assert_cmpint (run.status, ==, 0);
  }
  for (guint n = 1; done == 0 && n < 40; n++) {
    g_autofree char *fail = g_strdup_printf ("name:%u", n), *said = NULL;
    g_autofree char *line
        = g_strdup_printf ("reconstruct scan.nxs --device host --filter ram-lak --output %s "
                           "--format %s --overwrite",
                           (const char *) output, format);
    g_auto (TdTestRun) old = { 0 };

    td_test_cli (&old, folder->path, "reconstruct", "scan.nxs", "--device", "host", "--filter",
                 "hann", "--output", output, "--format", format, "--overwrite", NULL);
    g_assert_cmpint (old.status, ==, 0);
    const int status = run_failing (folder, fail, line, &said);
    g_assert_cmpint (status, >=, 0);
    g_assert_cmpint (status, <=, 1);
    g_assert_true (is_alike (folder, output, status ? "old" : "new", "1e-6"));
    g_assert_cmpuint (test_folder_count (folder), ==, 4);
    failed += status;
    done += status == 0 && n > 6;
  }
  g_assert_cmpuint (failed, >, 0);
}

/* Control-C ends the iterations; what they came to is written, and what to go on from. */
static void
test_keep (void)
{
  const char *const words[] = { g_getenv ("TOMODESK_CLI"),
                                "reconstruct",
                                "scan.nxs",
                                "--device",
                                "host",
                                "--method",
                                "fista-tv",
                                "--iterations",
                                "10000",
                                "--tolerance",
                                "0",
                                "--output",
                                "out.tif",
                                "--format",
                                "bigtiff",
                                "--keep",
                                NULL };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *output = test_folder_file (folder, "out.tif");
  g_autofree char *momentum = test_folder_file (folder, "out.tif.momentum");
  g_autofree char *part = test_folder_file (folder, "out.tif.part");
  g_auto (TdTestRun) next = { 0 };
  g_autoptr (GError) error = NULL;
  GPid child;
  int status;

  make_scan (folder, "scan.nxs");
  g_spawn_async (folder->path, (char **) words, NULL,
                 G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL
                     | G_SPAWN_STDERR_TO_DEV_NULL,
                 NULL, NULL, &child, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 600 && !g_file_test (part, G_FILE_TEST_EXISTS); i++)
    g_usleep (50 * 1000);
  g_usleep (G_USEC_PER_SEC); /* some iterations */
  g_assert_cmpint (waitpid (child, &status, WNOHANG), ==, 0);
  kill (child, SIGINT);
  while (waitpid (child, &status, 0) < 0)
    g_assert_cmpint (errno, ==, EINTR);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 0);
  g_assert_true (g_file_test (output, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test (momentum, G_FILE_TEST_EXISTS));
  g_assert_cmpuint (test_folder_count (folder), ==, 3);
  td_test_cli (&next, folder->path, "reconstruct", "scan.nxs", "--device", "host", "--method",
               "fista-tv", "--iterations", "1", "--start", "out.tif", "--output", "next.tif",
               "--format", "bigtiff", NULL);
  g_assert_cmpint (next.status, ==, 0);
  g_assert_nonnull (strstr (next.out, "go on as if they had not stopped"));
}

/* A small job whose first allocations fail goes on with smaller slabs, and ends. Some of them are
   blocks of the file's headers, which are then read without. */
static void
test_short_memory (gconstpointer method)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) run = { 0 };

  make_scan (folder, "scan.nxs");
  td_test_cli (&run, folder->path, "reconstruct", "scan.nxs", "--device", "host", "--method",
               method, "--output", "whole", NULL);
  g_assert_cmpint (run.status, ==, 0);
  for (guint n = 1; n < 9; n++) {
    g_autofree char *fail = g_strdup_printf ("memory:%u", n), *said = NULL;
    g_autofree char *line = g_strdup_printf (
        "reconstruct scan.nxs --device host --method %s --output %u", (const char *) method, n);
    g_autofree char *output = g_strdup_printf ("%u", n);

    g_assert_cmpint (run_failing (folder, fail, line, &said), ==, 0);
    /* The Fourier method takes slices in other pairs then. */
    g_assert_true (is_alike (folder, output, "whole", "1e-4"));
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  static const char *const tiff[] = { "frames", "out" }, *const bigtiff[] = { "frames", "out.tif" },
                           *const hdf5[] = { "scan.nxs", "out.h5" };

  g_test_add_func ("/last-steps/lab-memory", test_lab_memory);
  g_test_add_data_func ("/last-steps/sync/tiff", "out", test_sync);
  g_test_add_data_func ("/last-steps/sync/bigtiff", "out.tif", test_sync);
  g_test_add_data_func ("/last-steps/sync/hdf5", "out.h5", test_sync);
  g_test_add_data_func ("/last-steps/interrupted/tiff", tiff, test_interrupted);
  g_test_add_data_func ("/last-steps/interrupted/bigtiff", bigtiff, test_interrupted);
  g_test_add_data_func ("/last-steps/interrupted/hdf5", hdf5, test_interrupted);
  g_test_add_data_func ("/last-steps/space/tiff", "out", test_space);
  g_test_add_data_func ("/last-steps/space/bigtiff", "out.tif", test_space);
  g_test_add_data_func ("/last-steps/space/hdf5", "out.h5", test_space);
  g_test_add_func ("/last-steps/space/little", test_space_little);
  g_test_add_data_func ("/last-steps/older/tiff", "out", test_older);
  g_test_add_data_func ("/last-steps/older/bigtiff", "out.tif", test_older);
  g_test_add_data_func ("/last-steps/older/hdf5", "out.h5", test_older);
  g_test_add_func ("/last-steps/keep", test_keep);
  g_test_add_data_func ("/last-steps/short-memory/fbp", "fbp", test_short_memory);
  g_test_add_data_func ("/last-steps/short-memory/fourier", "fourier", test_short_memory);
  return g_test_run ();
}
