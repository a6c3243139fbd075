/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/common/cli.h"
#include "tests/unit/test-folder.h"

/* No output destroys anything: a file that is read, or one that another run writes. A reader who
   goes away ends the program well.
 */

static void
phantom (const char *folder, const char *output, const char *rows)
{
  g_auto (TdTestRun) run = { 0 };

  td_test_cli (&run, folder, "phantom", "disc", "--output", output, "--columns", "64", "--rows",
               rows, "--views", "40", NULL);
  g_assert_cmpint (run.status, ==, 0);
}

static char *
sums (const char *folder)
{
  g_autofree char *out = NULL;
  g_autoptr (GError) error = NULL;
  const char *words[]
      = { "sh", "-c", "find . -type f ! -name '*.part' -exec md5sum {} + | sort", NULL };

  g_spawn_sync (folder, (char **) words, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, NULL, NULL,
                &error);
  g_assert_no_error (error);
  return g_steal_pointer (&out);
}

/* Whatever it is called. */
static void
test_input_is_output (void)
{
  static const struct {
    const char *words[10];
  } runs[] = {
    { { "reconstruct", "scan.nxs", "--output", "a.tif", "--method", "sirt", "--start", "a.tif" } },
    { { "reconstruct", "scan.nxs", "--output", "slices", "--format", "tiff", "--method", "sirt",
        "--start", "slices" } },
    { { "reconstruct", "scan.nxs", "--output", "kept", "--format", "tiff", "--recipe",
        "kept/provenance.json" } },
    { { "reconstruct", "scan.nxs", "--output", "scan.nxs" } },
    { { "reconstruct", "scan.nxs", "--output", "./frames/../scan.nxs", "--format", "hdf5" } },
    { { "reconstruct", "scan.nxs", "--output", "alias.h5" } },
    { { "reconstruct", "alias.h5", "--output", "scan.nxs", "--format", "hdf5" } },
    { { "reconstruct", "frames", "--output", "frames" } },
    { { "reconstruct", "frames/", "--output", "folder/", "--format", "tiff" } },
    { { "reconstruct", "frames/projections", "--angles", "0:180", "--output", "frames" } },
    { { "reconstruct", "scan.nxs", "--output", ".", "--format", "tiff" } },
    { { "compare", "a.tif", "b.tif", "--output", "a.tif" } },
    { { "compare", "a.tif", "b.tif", "--output", "./b.tif" } },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) made = { 0 };

  phantom (folder->path, "scan.nxs", "4");
  phantom (folder->path, "frames", "4");
  td_test_cli (&made, folder->path, "reconstruct", "scan.nxs", "--output", "a.tif", NULL);
  g_assert_cmpint (made.status, ==, 0);
  g_auto (TdTestRun) slices = { 0 };
  td_test_cli (&slices, folder->path, "reconstruct", "scan.nxs", "--output", "slices", "--format",
               "tiff", NULL);
  g_assert_cmpint (slices.status, ==, 0);
  g_autofree char *shell
      = g_strdup_printf ("cd '%s' && cp a.tif b.tif && ln -s scan.nxs alias.h5 && "
                         "ln -s frames folder && mkdir kept && "
                         "echo '{\"tomodesk_recipe\": 1}' > kept/provenance.json",
                         folder->path);
  g_assert_cmpint (system (shell), ==, 0);
  /* A plan writes nothing, whatever there is; it says what the scan's reader concluded. */
  g_auto (TdTestRun) plan = { 0 };
  td_test_cli (&plan, folder->path, "plan", "frames/projections", "--angles", "0:180", "--flats",
               "frames/flats", "--method", "sirt", "--start", "slices", NULL);
  g_assert_cmpint (plan.status, ==, 0);
  g_assert_nonnull (strstr (plan.out, "Flats: "));
  g_autofree char *before = sums (folder->path);
  for (guint i = 0; i < G_N_ELEMENTS (runs); i++) {
    const char *const *w = runs[i].words;
    g_auto (TdTestRun) run = { 0 };
    td_test_cli (&run, folder->path, w[0], "--overwrite", w[1], w[2], w[3], w[4], w[5], w[6], w[7],
                 w[8], w[9], NULL);
    td_test_run_assert_refused (&run, 1, "is not replaced");
    g_autofree char *after = sums (folder->path);
    g_assert_cmpstr (after, ==, before);
  }
}

typedef struct {
  GPid pid;
  int status;
} Child;

static void
start (Child *child, const char *folder, const char *const *words)
{
  g_autoptr (GError) error = NULL;

  g_spawn_async (folder, (char **) words, NULL,
                 G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL
                     | G_SPAWN_STDERR_TO_DEV_NULL,
                 NULL, NULL, &child->pid, &error);
  g_assert_no_error (error);
}

static void
wait_for (Child *child)
{
  g_assert_cmpint (waitpid (child->pid, &child->status, 0), ==, child->pid);
  g_spawn_close_pid (child->pid);
}

/* Two runs into one place: at least one is done, what lies there is whole, and nothing else does.
 */
static void
test_at_once (gconstpointer output)
{
  const char *words[] = { g_getenv ("TOMODESK_CLI"),
                          "reconstruct",
                          "scan.nxs",
                          "--device",
                          "host",
                          "--output",
                          output,
                          NULL };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) truth = { 0 }, compared = { 0 };

  phantom (folder->path, "scan.nxs", "60");
  td_test_cli (&truth, folder->path, "reconstruct", "scan.nxs", "--device", "host", "--output",
               "truth.tif", NULL);
  g_assert_cmpint (truth.status, ==, 0);
  for (guint round = 0; round < 3; round++) {
    Child children[3];
    guint done = 0;
    for (guint i = 0; i < G_N_ELEMENTS (children); i++)
      start (&children[i], folder->path, words);
    for (guint i = 0; i < G_N_ELEMENTS (children); i++) {
      wait_for (&children[i]);
      g_assert_true (WIFEXITED (children[i].status));
      g_assert_cmpint (WEXITSTATUS (children[i].status), <=, 1);
      done += WEXITSTATUS (children[i].status) == 0;
    }
    g_assert_cmpuint (done, >=, 1);
    td_test_cli (&compared, folder->path, "compare", output, "truth.tif", "--limit", "1e-6", NULL);
    g_assert_cmpint (compared.status, ==, 0);
    td_test_run_clear (&compared);
    g_autofree char *part = g_strdup_printf ("%s/%s.part", folder->path, (const char *) output);
    g_assert_false (g_file_test (part, G_FILE_TEST_EXISTS));
    g_autofree char *shell = g_strdup_printf ("rm -r '%s/%s'", folder->path, (const char *) output);
    g_assert_cmpint (system (shell), ==, 0);
  }
}

/* Who reads standard output goes away, or never was there: no hang, no signal, and a volume that
   was written stays. */
static void
test_no_reader (void)
{
  static const char *const commands[] = {
    "\"$TOMODESK_CLI\" reconstruct scan.nxs --device host --output v.tif --json | true",
    "\"$TOMODESK_CLI\" reconstruct scan.nxs --device host --output v.tif --json >&-",
    "\"$TOMODESK_CLI\" info scan.nxs >&-",
    "\"$TOMODESK_CLI\" devices --json | head -c 1 > /dev/null",
    "\"$TOMODESK_CLI\" reconstruct scan.nxs --device host --output w.tif --json 2>&- < /dev/null > "
    "/dev/null",
    "\"$TOMODESK_CLI\" info scan.nxs > /dev/full; test $? = 1",
    "\"$TOMODESK_CLI\" devices > /dev/full; test $? = 1",
    "\"$TOMODESK_CLI\" plan scan.nxs --json > /dev/full; test $? = 1",
  };
  g_autoptr (TestFolder) folder = test_folder_new ();

  phantom (folder->path, "scan.nxs", "4");
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++) {
    g_autofree char *command = g_strdup_printf (
        "cd '%s' && rm -f v.tif && { %s; } 2> /dev/null; s=$?; test $s -le 1 && test ! -e "
        "v.tif.part",
        folder->path, commands[i]);
    g_test_message ("%s", commands[i]);
    g_assert_cmpint (system (command), ==, 0);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cli-outputs/input", test_input_is_output);
  g_test_add_data_func ("/cli-outputs/at-once/tiff", "out", test_at_once);
  g_test_add_data_func ("/cli-outputs/at-once/bigtiff", "out.tif", test_at_once);
  g_test_add_data_func ("/cli-outputs/at-once/hdf5", "out.h5", test_at_once);
  g_test_add_func ("/cli-outputs/no-reader", test_no_reader);
  return g_test_run ();
}
