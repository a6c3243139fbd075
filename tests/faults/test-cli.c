/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dataset/tiff-save.h"
#include "dataset/volume.h"
#include "tests/common/cli.h"
#include "tests/unit/test-folder.h"

/* What tomodesk-cli does with what it should not get: one clear sentence, the right exit status,
   nothing half-written under a final name. */
#define COLUMNS 48
#define ROWS 6
#define VIEWS 40

/* ── Scans ── */

static void
write_frame (const char *folder, const char *name, guint number, const float *frame)
{
  const TdTiffImage image = { .width = COLUMNS, .height = ROWS, .type = TD_SAMPLE_FLOAT32 };
  g_autofree char *file = g_strdup_printf ("%s_%04u.tif", name, number);
  g_autofree char *path = g_build_filename (folder, "scan", file, NULL);
  g_autoptr (GError) error = NULL;

  td_tiff_save_single (path, path, &image, frame, &error);
  g_assert_no_error (error);
}

typedef enum { SOUND, ZERO_FLATS, NANS, NO_FLATS } Fault;

/* A cylinder off the axis, as transmissions of a beam of 1000 counts. */
static void
write_scan (const char *folder, Fault fault)
{
  g_autofree char *scan = g_build_filename (folder, "scan", NULL);
  float frame[ROWS * COLUMNS];

  g_assert_cmpint (g_mkdir (scan, 0755), ==, 0);
  for (guint i = 0; i < ROWS * COLUMNS; i++)
    frame[i] = fault == ZERO_FLATS ? 0 : 1000 + i % 7;
  if (fault != NO_FLATS)
    write_frame (folder, "flat", 0, frame);
  for (guint v = 0; v < VIEWS; v++) {
    for (guint i = 0; i < ROWS * COLUMNS; i++) {
      double u = i % COLUMNS - 23.5 - 8 * cos (v * G_PI / VIEWS);
      double path = u * u < 64 ? 2 * sqrt (64 - u * u) : 0;
      frame[i] = (float) ((1000 + i % 7) * exp (-0.05 * path));
      if (fault == NANS && (i + v) % 97 == 0)
        frame[i] = v % 2 ? NAN : INFINITY;
    }
    write_frame (folder, "frame", v, frame);
  }
}

static guint
count_entries (const char *folder, const char *name)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  guint n = 0;

  while (dir && g_dir_read_name (dir))
    n++;
  return n;
}

/* ── Wrong usage ── */

static void
test_usage (void)
{
  static const struct {
    const char *words[8];
    const char *says;
  } cases[] = {
    { { NULL }, "--help" },
    { { "dance" }, "\"dance\"" },
    { { "info" }, "SCAN" },
    { { "info", "a", "b" }, "one word too many" },
    { { "info", "a", "--colour" }, "--colour" },
    { { "plan", "a", "--filter", "sharp" }, "ram-lak" },
    { { "plan", "a", "--rows", "9:2" }, "--rows" },
    { { "plan", "a", "--prepare", "polish" }, "polish" },
    { { "plan", "a", "--memory-limit", "lots" }, "lots" },
    { { "plan", "a", "--raw", "10:20" }, "--raw" },
    { { "reconstruct", "a" }, "--output" },
    { { "reconstruct", "a", "--output", "b", "--centre", "nan" }, "nan" },
    { { "reconstruct", "a", "--output", "b", "--sod-mm", "nan", "--sdd-mm", "3" }, "--sod-mm" },
    { { "reconstruct", "a", "--output", "b", "--pixel-mm", "inf" }, "--pixel-mm" },
    { { "plan", "a", "--filter", "a\nb" }, "a b" },
    { { "phantom", "disc", "--output", "b", "--rows", "0" }, "rows" },
    { { "phantom", "disc", "--output", "b", "--views", "0" }, "views" },
    { { "phantom", "disc", "--output", "b", "--range", "0" }, "--range" },
    { { "phantom", "disc", "--output", "b", "--range=nan" }, "--range" },
    { { "phantom", "disc", "--output", "b", "--centre", "inf" }, "--centre" },
    { { "compare", "a", "b", "--limit", "nan" }, "--limit" },
    { { "compare", "a", "b", "--circle", "0" }, "above 0 up to 1" },
    { { "compare", "a", "b", "--circle", "1.5" }, "above 0 up to 1" },
    { { "slice", "a", "--axis", "w" }, "--axis" },
    { { "slice", "a", "--raw", "10:20" }, "--raw" },
    { { "slice", "a", "--statistics", "--at", "3" }, "--statistics" },
    { { "slice", "a", "--at", "-1" }, "--at" },
    { { "slice", "a", "--pixel-mm", "0" }, "--pixel-mm" },
    { { "bench", "--cone", "--preset", "3k-1k" }, "3k-1k" },
    { { "bench", "--views", "0" }, "--views" },
    { { "bench", "--columns", "0" }, "--columns" },
    { { "bench", "--cone", "--colour" }, "bench --cone --help" },
    { { "bench", "--cone", "--project", "--runs", "0" }, "bench --cone --project --help" },
    { { "bench", "--cone", "--preset", "1k-512/3" }, "1k-512/3" },
    { { "reconstruct", "a", "--output" }, "--output" },
    { { "reconstruct", "a", "--output", "b", "--bits", "12" }, "12" },
    { { "reconstruct", "a", "--output", "b", "--centre", "left" }, "left" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const char *const *w = cases[i].words;
    g_auto (TdTestRun) run = { 0 };
    td_test_cli (&run, NULL, w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], NULL);
    td_test_run_assert_refused (&run, 2, cases[i].says);
  }
}

/* Every verb is listed, has examples, and tells of all its options: @options by their long names
   alone. */
static void
test_help (void)
{
  static const struct {
    const char *verb, *more[2];
    guint options;
  } verbs[] = {
    { "phantom", { NULL }, 38 },      { "info", { NULL }, 16 },
    { "centre", { NULL }, 57 },       { "plan", { NULL }, 55 },
    { "reconstruct", { NULL }, 55 },  { "batch", { NULL }, 56 },
    { "watch", { NULL }, 57 },        { "submit", { NULL }, 61 },
    { "jobs", { NULL }, 2 },          { "follow", { NULL }, 4 },
    { "cancel", { NULL }, 0 },        { "run", { NULL }, 0 },
    { "profiles", { NULL }, 2 },      { "lab", { NULL }, 65 },
    { "compare", { NULL }, 4 },       { "slice", { NULL }, 8 },
    { "devices", { NULL }, 3 },       { "tune", { NULL }, 5 },
    { "bench", { NULL }, 13 },        { "bench", { "--cone" }, 8 },
    { "bench", { "--prepare" }, 11 }, { "bench", { "--cone", "--project" }, 7 },
  };
  g_auto (TdTestRun) run = { 0 };

  td_test_cli (&run, NULL, "--help", NULL);
  g_assert_cmpint (run.status, ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (verbs); i++) {
    g_auto (TdTestRun) one = { 0 };
    g_autofree char *usage = g_strdup_printf ("Usage:\n  tomodesk-cli %s ", verbs[i].verb);
    g_autofree char *listed = g_strdup_printf ("\n  %s ", verbs[i].verb);
    const char *const *more = verbs[i].more;
    guint options = 0;
    g_assert_nonnull (strstr (run.out, listed));
    td_test_cli (&one, NULL, verbs[i].verb, more[0] ? more[0] : "--help",
                 more[1]   ? more[1]
                 : more[0] ? "--help"
                           : NULL,
                 more[1] ? "--help" : NULL, NULL);
    g_test_message ("%s %s", verbs[i].verb, more[0] ? more[0] : "");
    g_assert_cmpint (one.status, ==, 0);
    g_assert_true (g_str_has_prefix (one.out, usage));
    g_assert_nonnull (strstr (one.out, "Examples:"));
    for (const char *at = one.out; (at = strstr (at, "\n  --")); at++)
      options++;
    g_assert_cmpuint (options, ==, verbs[i].options);
  }
}

/* ── Scans that cannot be used ── */

static void
assert_refused (const char *folder, const char *words, const char *more, const char *value)
{
  g_auto (TdTestRun) run = { 0 };

  td_test_cli (&run, folder, "reconstruct", "scan", "--output", "out", "--device", "host", more,
               value, NULL);
  td_test_run_assert_refused (&run, 1, words);
  g_assert_cmpuint (count_entries (folder, "."), <=, 1);
}

static void
test_scans (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();

  assert_refused (folder->path, "scan", NULL, NULL); /* not there */
  write_scan (folder->path, SOUND);
  assert_refused (folder->path, "angles", NULL, NULL);
  assert_refused (folder->path, "angles", "--angles", "nowhere.txt");
  assert_refused (folder->path, "along one line", "--angles", "0:0");
}

static void
test_zero_flats (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();

  write_scan (folder->path, ZERO_FLATS);
  assert_refused (folder->path, "flat field", "--angles", "0:180");
}

static void
test_recipe_and_scan (void)
{
  static const struct {
    const char *option, *value, *says;
    int status;
  } cases[] = {
    { "--rows", "3:9", "Rows", 2 },
    { "--region", "40,0,20,5", "region", 2 },
    { "--device", "abacus", "abacus", 2 },
    { "--memory-limit", "1M", "memory", 1 },
    { "--method", "fdk", "cone", 2 },
    { "--recipe", "/nowhere/recipe.json", "/nowhere/recipe.json", 1 },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();

  write_scan (folder->path, SOUND);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_auto (TdTestRun) run = { 0 };
    td_test_cli (&run, folder->path, "reconstruct", "scan", "--angles", "0:180", "--output", "out",
                 cases[i].option, cases[i].value, NULL);
    td_test_run_assert_refused (&run, cases[i].status, cases[i].says);
    g_assert_cmpuint (count_entries (folder->path, "."), ==, 1);
  }
}

static void
test_nans (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder->path, "out.tif", NULL);
  g_autoptr (GError) error = NULL;
  g_auto (TdTestRun) run = { 0 };
  float slices[ROWS * COLUMNS * COLUMNS];

  write_scan (folder->path, NANS);
  td_test_cli (&run, folder->path, "reconstruct", "scan", "--angles", "0:175.5", "--output",
               "out.tif", "--device", "host", "--json", NULL);
  g_autoptr (JsonObject) json = td_test_run_json (&run);
  g_assert_cmpint (json_object_get_int_member (json, "bad_values"), >, 50);
  g_autoptr (TdVolume) volume = td_volume_open (path, &error);
  g_assert_no_error (error);
  td_volume_read (volume, 0, ROWS, slices, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (slices); i++)
    g_assert_true (isfinite (slices[i]));
}

/* ── Outputs that cannot be written ── */

static void
test_output_places (void)
{
  static const char *const places[]
      = { "scan/frame_0000.tif/out", "/proc/out.tif", "/proc/out.h5", "nowhere/deep/out.tif" };
  g_autoptr (TestFolder) folder = test_folder_new ();

  write_scan (folder->path, SOUND);
  for (guint i = 0; i < G_N_ELEMENTS (places); i++) {
    g_auto (TdTestRun) run = { 0 };
    td_test_cli (&run, folder->path, "reconstruct", "scan", "--angles", "0:175.5", "--output",
                 places[i], "--device", "host", NULL);
    td_test_run_assert_refused (&run, 1, "out");
    g_assert_cmpuint (count_entries (folder->path, "."), ==, 1);
  }
}

static void
test_existing_output (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder->path, "out.tif", NULL);
  g_autofree char *kept = NULL;

  write_scan (folder->path, SOUND);
  g_assert_true (g_file_set_contents (path, "precious", -1, NULL));
  g_auto (TdTestRun) refused = { 0 }, foreign = { 0 }, written = { 0 }, replaced = { 0 };
  td_test_cli (&refused, folder->path, "reconstruct", "scan", "--angles", "0:175.5", "--output",
               "out.tif", "--device", "host", NULL);
  td_test_run_assert_refused (&refused, 1, "out.tif");
  g_assert_true (g_file_get_contents (path, &kept, NULL, NULL));
  g_assert_cmpstr (kept, ==, "precious");
  g_clear_pointer (&kept, g_free);
  /* Only what this program wrote is replaced, whatever is asked for. */
  td_test_cli (&foreign, folder->path, "reconstruct", "scan", "--angles", "0:175.5", "--output",
               "out.tif", "--device", "host", "--overwrite", NULL);
  td_test_run_assert_refused (&foreign, 1, "out.tif");
  g_assert_true (g_file_get_contents (path, &kept, NULL, NULL));
  g_assert_cmpstr (kept, ==, "precious");
  g_remove (path);
  td_test_cli (&written, folder->path, "reconstruct", "scan", "--angles", "0:175.5", "--output",
               "out.tif", "--device", "host", NULL);
  g_assert_cmpint (written.status, ==, 0);
  td_test_cli (&replaced, folder->path, "reconstruct", "scan", "--angles", "0:175.5", "--output",
               "out.tif", "--device", "host", "--overwrite", NULL);
  g_assert_cmpint (replaced.status, ==, 0);
}

/* ── Stopped while writing ── */

static void
make_long_scan (const char *folder)
{
  g_auto (TdTestRun) run = { 0 };

  td_test_cli (&run, folder, "phantom", "disc", "--output", "long.nxs", "--columns", "192",
               "--rows", "96", "--views", "150", NULL);
  g_assert_cmpint (run.status, ==, 0);
}

static void
limit_file_size (gpointer bytes)
{
  const struct rlimit limit = { GPOINTER_TO_UINT (bytes), GPOINTER_TO_UINT (bytes) };

  signal (SIGXFSZ, SIG_IGN); /* write () fails instead, as on a full disk */
  setrlimit (RLIMIT_FSIZE, &limit);
}

/* Files cannot grow: what a full disk does to a job that has begun. */
static void
test_full_disk (gconstpointer output)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autoptr (GError) error = NULL;
  const char *words[] = { g_getenv ("TOMODESK_CLI"),
                          "reconstruct",
                          "long.nxs",
                          "--device",
                          "host",
                          "--output",
                          output,
                          NULL };
  g_auto (TdTestRun) run = { 0 };
  int status;

  make_long_scan (folder->path);
  g_spawn_sync (folder->path, (char **) words, NULL, G_SPAWN_DEFAULT, limit_file_size,
                GUINT_TO_POINTER (100 * 1000), &run.out, &run.error, &status, &error);
  g_assert_no_error (error);
  run.status = WIFEXITED (status) ? WEXITSTATUS (status) : -1;
  td_test_run_assert_refused (&run, 1, "");
  g_assert_cmpuint (count_entries (folder->path, "."), ==, 1);
}

#define MOMENTS 24 /* at which it comes */

/* @twice: another signal comes at the same time, as when a terminal closes. */
static int
interrupt_after (const char *folder, guint delay_us, gboolean twice, const char *output)
{
  const char *words[] = { g_getenv ("TOMODESK_CLI"),
                          "reconstruct",
                          "long.nxs",
                          "--device",
                          "host",
                          "--output",
                          output,
                          NULL };
  g_autoptr (GError) error = NULL;
  int status;
  GPid pid;

  g_spawn_async (folder, (char **) words, NULL,
                 G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL
                     | G_SPAWN_STDERR_TO_DEV_NULL,
                 NULL, NULL, &pid, &error);
  g_assert_no_error (error);
  g_usleep (delay_us);
  kill (pid, SIGINT);
  if (twice)
    kill (pid, SIGHUP);
  while (waitpid (pid, &status, 0) < 0)
    g_assert_cmpint (errno, ==, EINTR);
  g_spawn_close_pid (pid);
  /* Before the program has asked for the signal, it simply ends. */
  return WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status);
}

/* How long the job takes here by itself, in microseconds. */
static gint
uninterrupted_us (const char *folder, const char *output)
{
  g_autofree char *path = g_build_filename (folder, output, NULL);
  const gint64 start = g_get_monotonic_time ();
  g_auto (TdTestRun) run = { 0 };

  td_test_cli (&run, folder, "reconstruct", "long.nxs", "--device", "host", "--output", output,
               NULL);
  const gint64 took = g_get_monotonic_time () - start;
  g_assert_cmpint (run.status, ==, 0);
  test_folder_remove (path);
  return (gint) MIN (took, 3 * G_USEC_PER_SEC);
}

/* At any moment of the job, from its first to its last. */
static void
test_interrupt (gconstpointer output)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  guint cancelled = 0;

  make_long_scan (folder->path);
  const gint part_us = MAX (uninterrupted_us (folder->path, output) / MOMENTS, 1);
  for (guint i = 0; i < MOMENTS; i++) {
    guint delay_us = (guint) g_test_rand_int_range ((gint) i * part_us, (gint) (i + 1) * part_us);
    int status = interrupt_after (folder->path, delay_us, i % 2, output);
    g_test_message ("after %u ms: %d", delay_us / 1000, status);
    if (status == 0) {
      g_autofree char *path = g_build_filename (folder->path, output, NULL);
      test_folder_remove (path);
    } else {
      g_assert_true (status == 130 || (i % 2 && status == 128 + SIGHUP));
      cancelled++;
    }
    g_assert_cmpuint (count_entries (folder->path, "."), ==, 1);
  }
  g_assert_cmpuint (cancelled, >, 0);
}

/* A folder for temporary files that is none is not one without room, for the plan as for the job.
 */
static void
test_temporary_folder (void)
{
  static const struct {
    const char *folder, *says;
  } cases[] = { { "/no/such/folder", "No such file" }, { "/dev/null", "Not a directory" } };
  static const char *const verbs[] = { "plan", "reconstruct" };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) made = { 0 };
  g_auto (GStrv) before = g_get_environ ();

  td_test_cli (&made, folder->path, "phantom", "ellipsoids", "--output", "cone.nxs", "--cone",
               "--columns", "128", "--rows", "128", "--views", "240", NULL);
  g_assert_cmpint (made.status, ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (cases) * G_N_ELEMENTS (verbs); i++) {
    g_auto (TdTestRun) run = { 0 };
    const gboolean plans = i % 2 == 0;

    g_setenv ("TMPDIR", cases[i / 2].folder, TRUE);
    td_test_cli (&run, folder->path, verbs[i % 2], "cone.nxs", "--device", "host", "--memory-limit",
                 "16M", plans ? NULL : "--output", "out.tif", NULL);
    g_unsetenv ("TMPDIR");
    td_test_run_assert_refused (&run, 1, cases[i / 2].says);
    g_assert_nonnull (strstr (run.error, cases[i / 2].folder));
    g_assert_cmpuint (count_entries (folder->path, "."), ==, 1);
  }
  if (g_environ_getenv (before, "TMPDIR"))
    g_setenv ("TMPDIR", g_environ_getenv (before, "TMPDIR"), TRUE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cli/usage", test_usage);
  g_test_add_func ("/cli/help", test_help);
  g_test_add_func ("/cli/scans", test_scans);
  g_test_add_func ("/cli/zero-flats", test_zero_flats);
  g_test_add_func ("/cli/recipe-and-scan", test_recipe_and_scan);
  g_test_add_func ("/cli/nans", test_nans);
  g_test_add_func ("/cli/output-places", test_output_places);
  g_test_add_func ("/cli/existing-output", test_existing_output);
  g_test_add_data_func ("/cli/full-disk/tiff", "out", test_full_disk);
  g_test_add_data_func ("/cli/full-disk/bigtiff", "out.tif", test_full_disk);
  g_test_add_data_func ("/cli/full-disk/hdf5", "out.h5", test_full_disk);
  g_test_add_func ("/cli/temporary-folder", test_temporary_folder);
  g_test_add_data_func ("/cli/interrupt/tiff", "out", test_interrupt);
  g_test_add_data_func ("/cli/interrupt/bigtiff", "out.tif", test_interrupt);
  g_test_add_data_func ("/cli/interrupt/hdf5", "out.h5", test_interrupt);
  return g_test_run ();
}
