/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verbs batch, watch and run. A damaged scan does not stop the others, and a scan that comes
   slowly is taken once it is complete. */
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>

#include "dataset/volume.h"
#include "tests/common/cli.h"
#include "tests/common/pins.h"
#include "tests/unit/test-folder.h"

#define CENTRE 43.3

static void
make_scan (TestFolder *folder, const char *name)
{
  g_auto (TdTestRun) run = { 0 };

  td_test_cli (&run, folder->path, "phantom", "discs", "--output", name, "--columns", "81",
               "--rows", "6", "--views", "120", "--centre", "43.3", NULL);
  g_assert_cmpint (run.status, ==, 0);
}

static void
run_batch (TestFolder *folder, TdTestRun *run, const char *more)
{
  td_test_cli (run, folder->path, "batch", "one.nxs", "damaged.nxs", "two.nxs", "--output",
               "volumes", "--device", "host", "--json", more, NULL);
}

static JsonObject *
row_of (JsonObject *json, guint i)
{
  return json_array_get_object_element (json_object_get_array_member (json, "scans"), i);
}

static const char *
state_of (JsonObject *json, guint i)
{
  return json_object_get_string_member (row_of (json, i), "state");
}

/* What failed is said, and the others are there; again, only what is missing is computed. */
static void
test_batch (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *damaged = g_build_filename (folder->path, "damaged.nxs", NULL);
  g_autofree char *second = g_build_filename (folder->path, "volumes", "two.tif", NULL);
  g_autofree char *first = g_build_filename (folder->path, "volumes", "one.tif", NULL);
  GStatBuf before, after;

  make_scan (folder, "one.nxs");
  make_scan (folder, "two.nxs");
  g_assert_true (g_file_set_contents (damaged, "\211HDF\r\n\032\nand no more", -1, NULL));
  for (guint round = 0; round < 3; round++) {
    g_auto (TdTestRun) run = { 0 };
    run_batch (folder, &run, NULL);
    g_assert_cmpint (run.status, ==, 1);
    g_assert_nonnull (strstr (run.error, "1 of 3 scans failed"));
    run.status = 0; /* the table is whole all the same */
    g_autoptr (JsonObject) json = td_test_run_json (&run);
    g_assert_cmpstr (state_of (json, 0), ==, round == 0 ? "done" : "there");
    g_assert_cmpstr (state_of (json, 1), ==, "failed");
    g_assert_nonnull (
        strstr (json_object_get_string_member (row_of (json, 1), "error"), "damaged.nxs"));
    g_assert_cmpstr (state_of (json, 2), ==, round == 1 ? "there" : "done");
    g_assert_cmpstr (json_object_get_string_member (row_of (json, 0), "agreed"), ==, "yes");
    g_assert_cmpfloat (json_object_get_double_member (row_of (json, 0), "sigma_px"), >, 0);
    g_assert_cmpfloat (json_object_get_double_member (row_of (json, 0), "sigma_px"), <, 0.1);
    g_assert_nonnull (strstr (run.error, "note  Views: half a turn"));
    g_assert_nonnull (strstr (run.out, "\"The rotation axis was found at column 43."));
    if (round == 0) {
      g_assert_cmpfloat_with_epsilon (json_object_get_double_member (row_of (json, 0), "centre_px"),
                                      CENTRE, 0.1);
      g_assert_cmpint (g_stat (first, &before), ==, 0);
    }
    g_assert_true (g_file_test (second, G_FILE_TEST_EXISTS));
    if (round == 1)
      g_assert_cmpint (g_unlink (second), ==, 0);
  }
  g_assert_cmpint (g_stat (first, &after), ==, 0);
  g_assert_cmpuint (before.st_ino, ==, after.st_ino);
}

/* What the search said of the axis is told of a volume that is there, too. */
static void
test_disagreed (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path
      = g_build_filename (folder->path, "volumes", "one", "provenance.json", NULL);
  g_autofree char *text = NULL;

  make_scan (folder, "one.nxs");
  for (guint round = 0; round < 2; round++) {
    g_auto (TdTestRun) run = { 0 };
    td_test_cli (&run, folder->path, "batch", "one.nxs", "-o", "volumes", "--format", "tiff",
                 "--device", "host", "--csv", NULL);
    g_assert_cmpint (run.status, ==, 0);
    g_assert_nonnull (strstr (run.out, round ? "one.nxs,there,43." : "one.nxs,done,43."));
    g_assert_nonnull (strstr (run.out, round ? ",no," : ",yes,"));
    g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
    char *agreed = strstr (text, "\"agreed\":true");
    g_assert_true (round || agreed);
    if (agreed)
      memcpy (agreed, "\"agreed\":null", 13);
    g_assert_true (g_file_set_contents (path, text, -1, NULL));
    g_clear_pointer (&text, g_free);
  }
}

/* Another recipe does not take a volume for its own. */
static void
test_other_recipe (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) first = { 0 }, second = { 0 }, third = { 0 };

  make_scan (folder, "one.nxs");
  td_test_cli (&first, folder->path, "batch", "one.nxs", "-o", "volumes", "--device", "host",
               "--centre", "43.3", NULL);
  g_assert_cmpint (first.status, ==, 0);
  td_test_cli (&second, folder->path, "batch", "one.nxs", "-o", "volumes", "--device", "host",
               "--centre", "43.3", "--filter", "hann", NULL);
  g_assert_cmpint (second.status, ==, 1);
  g_assert_nonnull (strstr (second.error, "not what this recipe makes"));
  td_test_cli (&third, folder->path, "batch", "one.nxs", "-o", "volumes", "--device", "host",
               "--centre", "43.3", "--filter", "hann", "--overwrite", "--csv", NULL);
  g_assert_cmpint (third.status, ==, 0);
  g_assert_nonnull (strstr (third.out, "\none.nxs,done,43.3,"));
}

/* ── Watching ── */

/* The verb watch, which watches "incoming" until it gets a signal, or nobody is left to send one.
 */
typedef struct {
  GSubprocess *process;
  GDataInputStream *lines; /* of standard error */
} Watching;

static void
watching_begin (Watching *watching, const TestFolder *folder, const char *output,
                const char *settle)
{
  g_autoptr (GSubprocessLauncher) launcher
      = g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE);
  g_autoptr (GError) error = NULL;

  g_subprocess_launcher_set_cwd (launcher, folder->path);
  watching->process = g_subprocess_launcher_spawn (
      launcher, &error, g_getenv ("TOMODESK_CLI"), "watch", "incoming", "-o", output, "--device",
      "host", "--centre", "43.3", "--settle", settle, "--idle", "300", "--json", NULL);
  g_assert_no_error (error);
  watching->lines = g_data_input_stream_new (g_subprocess_get_stderr_pipe (watching->process));
}

/* Waits until it says so. TRUE: it did not say before that a scan failed. */
static gboolean
watching_await (Watching *watching, const char *words)
{
  for (gboolean failed = FALSE;;) {
    g_autofree char *line = g_data_input_stream_read_line (watching->lines, NULL, NULL, NULL);
    g_assert_nonnull (line);
    if (strstr (line, words))
      return !failed;
    failed |= strstr (line, " failed") != NULL;
  }
}

/* The table that it prints at its end. (transfer full) */
static JsonObject *
watching_end (Watching *watching)
{
  g_autofree char *said = NULL;

  g_subprocess_send_signal (watching->process, SIGINT);
  g_assert_true (g_subprocess_communicate_utf8 (watching->process, NULL, NULL, &said, NULL, NULL));
  g_assert_cmpint (g_subprocess_get_exit_status (watching->process), ==, 0);
  g_object_unref (watching->lines);
  g_object_unref (watching->process);
  g_auto (GStrv) lines = g_strsplit (said, "\n", -1);
  for (guint i = 0; lines[i]; i++)
    if (*lines[i])
      td_test_pin ("out %s", lines[i]);
  const TdTestRun run = { 0, said, NULL };
  return td_test_run_json (&run);
}

/* The file comes in six parts. Returns the longest time for which it was the same, or a little
   more: a busy computer may stop in between. */
static double
grow (const TestFolder *folder)
{
  g_autofree char *from = g_build_filename (folder->path, "whole.nxs", NULL);
  g_autofree char *to = g_build_filename (folder->path, "incoming", "slow.nxs", NULL);
  g_autofree char *bytes = NULL;
  gint64 before_us = 0, longest_us = 0;
  gsize n;

  g_assert_true (g_file_get_contents (from, &bytes, &n, NULL));
  for (guint part = 1; part <= 6; part++) {
    const gsize begin = n * (part - 1) / 6, end = n * part / 6;
    const gint64 now_us = g_get_monotonic_time ();
    FILE *file = fopen (to, "ab");
    g_assert_cmpuint (fwrite (bytes + begin, 1, end - begin, file), ==, end - begin);
    fclose (file);
    if (part > 1)
      longest_us = MAX (longest_us, g_get_monotonic_time () - before_us);
    before_us = now_us;
    if (part < 6)
      g_usleep (G_USEC_PER_SEC / 5);
  }
  return longest_us * 1e-6;
}

/* A file that grows is not read before it is whole, and only once. */
static void
test_watch (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *incoming = g_build_filename (folder->path, "incoming", NULL);
  g_auto (TdTestRun) idle = { 0 };
  Watching watching;

  make_scan (folder, "whole.nxs");
  g_assert_cmpint (g_mkdir (incoming, 0700), ==, 0);
  g_autofree char *notes = g_build_filename (incoming, "notes.txt", NULL);
  g_assert_true (g_file_set_contents (notes, "no scan", -1, NULL));
  watching_begin (&watching, folder, "incoming/volumes", "0.7");
  watching_await (&watching, "notes.txt passed over");
  const double longest_s = grow (folder);
  g_assert_true (watching_await (&watching, "slow.nxs done") || longest_s >= 0.7);
  g_autoptr (JsonObject) json = watching_end (&watching);
  g_assert_cmpuint (json_array_get_length (json_object_get_array_member (json, "scans")), ==, 2);
  g_assert_cmpstr (state_of (json, 0), ==, "passed over");
  g_assert_cmpstr (state_of (json, 1), ==, "done");
  g_autofree char *output = g_build_filename (incoming, "volumes", "slow.tif", NULL);
  g_autoptr (TdVolume) volume = td_volume_open (output, NULL);
  g_assert_cmpuint (td_volume_facts (volume)->n_slices, ==, 6);
  /* Where nothing comes for a while it ends by itself. */
  td_test_cli (&idle, folder->path, "watch", "incoming", "-o", "incoming/volumes", "--device",
               "host", "--centre", "43.3", "--settle", "0", "--idle", "0.1", "--json", NULL);
  g_autoptr (JsonObject) again = td_test_run_json (&idle);
  g_assert_cmpuint (json_array_get_length (json_object_get_array_member (again, "scans")), ==, 2);
}

/* Half of a file that stops growing is tried, and fails. Once it is whole it has not failed. */
static void
test_watch_halves (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *incoming = g_build_filename (folder->path, "incoming", NULL);
  g_autofree char *whole = g_build_filename (folder->path, "whole.nxs", NULL);
  g_autofree char *halves = g_build_filename (incoming, "halves.nxs", NULL);
  g_autofree char *bytes = NULL;
  Watching watching;
  gsize n;

  make_scan (folder, "whole.nxs");
  g_assert_cmpint (g_mkdir (incoming, 0700), ==, 0);
  g_assert_true (g_file_get_contents (whole, &bytes, &n, NULL));
  g_assert_true (g_file_set_contents (halves, bytes, n / 2, NULL));
  watching_begin (&watching, folder, "volumes", "0.3");
  watching_await (&watching, "halves.nxs failed");
  g_assert_cmpint (g_rename (whole, halves), ==, 0); /* no other name is seen there */
  g_assert_true (watching_await (&watching, "halves.nxs done"));
  g_autoptr (JsonObject) json = watching_end (&watching);
  g_assert_cmpuint (json_array_get_length (json_object_get_array_member (json, "scans")), ==, 1);
  g_assert_cmpstr (state_of (json, 0), ==, "done");
}

static void
test_names (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) twice = { 0 }, nothing = { 0 };

  td_test_cli (&twice, folder->path, "batch", "a/x.nxs", "a/x.h5", "-o", "volumes", NULL);
  td_test_run_assert_refused (&twice, 2, "two of the scans");
  td_test_cli (&nothing, folder->path, "batch", "-o", "volumes", NULL);
  td_test_run_assert_refused (&nothing, 2, "name the scans");
}

/* Where no other is written, none is said to be. */
static void
test_all_fail (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) run = { 0 };

  make_scan (folder, "one.h5");
  make_scan (folder, "two.h5");
  td_test_cli (&run, folder->path, "batch", "one.h5", "two.h5", "--output", ".", "--format", "hdf5",
               "--device", "host", "--overwrite", NULL);
  g_assert_cmpint (run.status, ==, 1);
  g_assert_nonnull (strstr (run.error, "all 2 scans failed; nothing is written"));
  g_assert_null (strstr (run.error, "the others"));
}

/* What each takes, and all, before anything runs: nothing is written, not even the folder. */
static void
test_plan (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *volumes = g_build_filename (folder->path, "volumes", NULL);
  g_autofree char *damaged = g_build_filename (folder->path, "damaged.nxs", NULL);
  const gint64 bytes = 6 * 81 * 81 * 4; /* of a volume */

  make_scan (folder, "one.nxs");
  make_scan (folder, "two.nxs");
  g_assert_true (g_file_set_contents (damaged, "\211HDF\r\n\032\nand no more", -1, NULL));
  for (guint round = 0; round < 2; round++) {
    g_auto (TdTestRun) run = { 0 };
    run_batch (folder, &run, "--plan");
    g_assert_cmpint (run.status, ==, 1);
    g_assert_nonnull (strstr (run.error, "1 of 3 scans would be refused"));
    run.status = 0;
    g_autoptr (JsonObject) json = td_test_run_json (&run);
    JsonObject *all = json_object_get_object_member (json, "all");
    g_assert_cmpstr (state_of (json, 0), ==, round ? "there" : "to do");
    g_assert_cmpstr (state_of (json, 1), ==, "refused");
    g_assert_cmpstr (state_of (json, 2), ==, "to do");
    g_assert_nonnull (
        strstr (json_object_get_string_member (row_of (json, 1), "error"), "damaged.nxs"));
    g_assert_nonnull (strstr (run.out, "\"Views: half a turn"));
    g_assert_true ((strstr (run.out, "\"The rotation axis") != NULL) == (round > 0));
    g_assert_cmpint (json_object_get_int_member (all, "write_bytes"), >=, (2 - round) * bytes);
    g_assert_cmpint (json_object_get_int_member (all, "write_bytes"), <, (3 - round) * bytes);
    g_assert_cmpint (json_object_get_int_member (all, "host_bytes"), ==,
                     json_object_get_int_member (row_of (json, 2), "host_bytes"));
    g_assert_cmpint (json_object_get_int_member (all, "free_bytes"), >, 0);
    g_assert_true (g_file_test (volumes, G_FILE_TEST_EXISTS) == (round > 0));
    g_auto (TdTestRun) one = { 0 };
    td_test_cli (&one, folder->path, "batch", "one.nxs", "-o", "volumes", "--device", "host", NULL);
    g_assert_cmpint (one.status, ==, 0);
  }
}

/* What would be refused is so before it runs, too. */
static void
test_plan_cone (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) made = { 0 };

  td_test_cli (&made, folder->path, "phantom", "discs", "--output", "cone.nxs", "--columns", "32",
               "--rows", "6", "--views", "20", "--cone", NULL);
  g_assert_cmpint (made.status, ==, 0);
  for (guint planned = 0; planned < 2; planned++) {
    g_auto (TdTestRun) run = { 0 };
    td_test_cli (&run, folder->path, "batch", "cone.nxs", "-o", "volumes", "--device", "host",
                 "--centre", "auto", planned ? "--plan" : NULL, NULL);
    g_assert_cmpint (run.status, ==, 1);
    g_assert_nonnull (strstr (run.out, "searched for in parallel beams only"));
  }
}

/* A row of the table is a line, whatever a scan is called. */
static void
test_line_ends (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) run = { 0 };

  td_test_cli (&run, folder->path, "batch", "not\nthere.h5", "--output", "volumes", NULL);
  g_assert_cmpint (run.status, ==, 1);
  g_assert_nonnull (strstr (run.out, "not there.h5"));
  g_assert_nonnull (strstr (run.error, "the scan failed; nothing is written"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/batch/one-damaged", test_batch);
  g_test_add_func ("/batch/other-recipe", test_other_recipe);
  g_test_add_func ("/batch/disagreed", test_disagreed);
  g_test_add_func ("/batch/names", test_names);
  g_test_add_func ("/batch/plan", test_plan);
  g_test_add_func ("/batch/plan-cone", test_plan_cone);
  g_test_add_func ("/batch/all-fail", test_all_fail);
  g_test_add_func ("/batch/line-ends", test_line_ends);
  g_test_add_func ("/watch/slow", test_watch);
  g_test_add_func ("/watch/halves", test_watch_halves);
  return g_test_run ();
}
