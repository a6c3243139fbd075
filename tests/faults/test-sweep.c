/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/common/cli.h"
#include "tests/unit/test-folder.h"

/**
 * Every call of the system that a reconstruction makes fails in turn, once and for ever (fail-at.c;
 * after SQLite's anomaly tests). Whatever fails, the program ends by itself: with what it would
 * have written anyway, or with one sentence and nothing written. The quick test takes some calls of
 * each kind, which fail once or from then on, and more of one job, which fail once. The slow test
 * (-m slow) takes all calls, up to MOST of them, either way.
 */
#define SOME 2
#define MORE 5
#define MOST 400
#define LONGEST_S "60"

typedef struct {
  const char *name, *kinds;
  const char *words[20];
  gboolean more; /* MORE calls in the quick test, too */
} Job;

/* Each kind where it says something: host jobs for memory and files. */
static const Job jobs[] = {
  { "parallel-hdf5-to-bigtiff",
    "memory open read write sync space name thread",
    { "reconstruct", "scan.nxs", "--device", "host", "--output", "out.tif", "--format",
      "bigtiff" } },
  { "parallel-tiff-to-tiff",
    "open read write sync space name",
    { "reconstruct", "frames", "--device", "host", "--output", "out", "--format", "tiff" } },
  { "parallel-to-hdf5",
    "open read write sync space name",
    { "reconstruct", "scan.nxs", "--device", "host", "--output", "out.h5" } },
  { "fourier",
    "memory write thread",
    { "reconstruct", "scan.nxs", "--device", "host", "--method", "fourier", "--output", "out.tif",
      "--format", "bigtiff" } },
  { "cone",
    "memory read write thread",
    { "reconstruct", "cone", "--device", "host", "--output", "out.tif", "--format", "bigtiff" } },
  { "iterative",
    "memory write thread",
    { "reconstruct", "scan.nxs", "--device", "host", "--method", "sirt", "--iterations", "2",
      "--output", "out.tif", "--format", "bigtiff" } },
  { "iterative-cone",
    "memory thread",
    { "reconstruct", "cone", "--device", "host", "--method", "sirt", "--iterations", "2",
      "--output", "out.tif", "--format", "bigtiff" } },
  /* Rows so wide that what is allocated for one line counts. */
  { "wide",
    "memory",
    { "reconstruct", "wide.nxs", "--device", "host", "--method", "fbp", "--prepare",
      "paganin=100:energy=25:distance=20", "--pixel-mm", "0.001", "--region", "4400,4400,64,64",
      "--output", "out.tif", "--format", "bigtiff" },
    TRUE },
  { "info", "memory open read", { "info", "scan.nxs" } },
  { "plan", "memory open read thread", { "plan", "scan.nxs", "--device", "host" } },
  { "centre", "memory open read thread", { "centre", "scan.nxs", "--device", "host" } },
  { "parallel-opencl",
    "device",
    { "reconstruct", "scan.nxs", "--device", "opencl:0", "--output", "out.tif", "--format",
      "bigtiff" } },
  { "cone-opencl",
    "device",
    { "reconstruct", "cone", "--device", "opencl:0", "--output", "out.tif", "--format",
      "bigtiff" } },
};

static const char *
output_of (const Job *job)
{
  for (guint i = 0; job->words[i]; i++)
    if (strcmp (job->words[i], "--output") == 0)
      return job->words[i + 1];
  return NULL;
}

static void
make_scan (const Job *job, const char *folder)
{
  static const char *const scans[][9] = {
    { "scan.nxs", "disc", "--columns", "96", "--rows", "12", "--views", "60" },
    { "frames", "disc", "--columns", "96", "--rows", "12", "--views", "60" },
    { "cone", "sphere", "--columns", "48", "--rows", "40", "--views", "40", "--cone" },
    { "wide.nxs", "disc", "--columns", "9000", "--rows", "2", "--views", "6" },
  };
  g_auto (TdTestRun) made = { 0 };
  guint i = 0;

  while (strcmp (scans[i][0], job->words[1]) != 0)
    i++;
  const char *const *s = scans[i];
  td_test_cli (&made, folder, "phantom", s[1], "--output", s[0], s[2], s[3], s[4], s[5], s[6], s[7],
               s[8], NULL);
  g_assert_cmpint (made.status, ==, 0);
}

/* Runs the job with the call failing; the exit status, or minus the signal that ended it. */
static int
run (const Job *job, const char *folder, const char *fail, char **said)
{
  g_auto (GStrv) environment = g_get_environ ();
  g_autoptr (GPtrArray) words = g_ptr_array_new ();
  g_autofree char *counts = g_build_filename (folder, "counts", NULL);
  g_autofree char *cache = g_build_filename (folder, "cache", NULL);
  g_autofree char *preload = g_strconcat ("LD_PRELOAD=", g_getenv ("FAIL_LIBRARY"), NULL);
  g_autoptr (GError) error = NULL;
  int status;

  g_ptr_array_add (words, "timeout");
  g_ptr_array_add (words, "--signal=KILL");
  g_ptr_array_add (words, LONGEST_S);
  g_ptr_array_add (words, "env"); /* "timeout" itself is not to fail */
  g_ptr_array_add (words, preload);
  g_ptr_array_add (words, (char *) g_getenv ("TOMODESK_CLI"));
  for (guint i = 0; job->words[i]; i++)
    g_ptr_array_add (words, (char *) job->words[i]);
  if (output_of (job))
    g_ptr_array_add (words, "--overwrite");
  g_ptr_array_add (words, NULL);
  environment = g_environ_setenv (environment, "FAIL_UNDER", folder, TRUE);
  environment = g_environ_setenv (environment, "XDG_CACHE_HOME", cache, TRUE);
  if (!strstr (job->kinds, "device"))
    environment = g_environ_setenv (environment, "OCL_ICD_VENDORS", "/nowhere", TRUE);
  if (fail)
    environment = g_environ_setenv (environment, "FAIL_AT", fail, TRUE);
  else
    environment = g_environ_setenv (environment, "FAIL_COUNTS", counts, TRUE);
  g_spawn_sync (folder, (char **) words->pdata, environment,
                G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, said, &status,
                &error);
  g_assert_no_error (error);
  return WIFEXITED (status) ? WEXITSTATUS (status) : -WTERMSIG (status);
}

static guint
count_of (const char *folder, const char *kind)
{
  g_autofree char *path = g_build_filename (folder, "counts", NULL);
  g_autofree char *text = NULL;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  const char *at = strstr (text, kind);
  g_assert_nonnull (at);
  return (guint) strtoul (at + strlen (kind), NULL, 10);
}

/* What holds of every run: it ends by itself, a failure with one sentence. NULL: well. */
static char *
fault_of_end (int status, const char *said)
{
  const char *end = strchr (said, '\n');

  if (status == 137 || status == 124)
    return g_strdup ("it did not end within " LONGEST_S " s");
  if (status != 0 && status != 1)
    return g_strdup_printf ("it ended with %d: %.300s", status, said);
  if (status == 1 && (!end || end[1] || !g_str_has_prefix (said, "tomodesk-cli: ")))
    return g_strdup_printf ("it did not fail with one sentence: %.300s", said);
  return NULL;
}

/* Why the run is not as it should be, or NULL. (transfer full) */
static char *
fault (const Job *job, const char *folder, int status, const char *said)
{
  char *ended = fault_of_end (status, said);
  if (ended || !output_of (job))
    return ended;
  g_autofree char *output = g_build_filename (folder, output_of (job), NULL);
  g_autofree char *part = g_strconcat (output, ".part", NULL);
  const gboolean there = g_file_test (output, G_FILE_TEST_EXISTS);
  if (g_file_test (part, G_FILE_TEST_EXISTS))
    return g_strdup ("it left a .part behind");
  if (status == 1 && there)
    return g_strdup_printf ("it failed, and the output is there: %.200s", said);
  if (status == 1)
    return NULL;
  if (!there)
    return g_strdup ("it says that all is well, and there is no output");
  g_auto (TdTestRun) compared = { 0 };
  td_test_cli (&compared, folder, "compare", output_of (job), "truth", "--limit", "1e-6", NULL);
  return compared.status == 0 ? NULL : g_strdup_printf ("the output is wrong: %s", compared.error);
}

static void
clean (const Job *job, const char *folder)
{
  if (!output_of (job))
    return;
  g_autofree char *shell
      = g_strdup_printf ("cd '%s' && rm -rf %s %s.part", folder, output_of (job), output_of (job));
  g_assert_cmpint (system (shell), ==, 0);
}

/* The calls to be tried of @n: all, or some from the first to the last. */
static guint
pick (const Job *job, guint n, guint i)
{
  const guint most = g_test_slow () ? MOST : job->more ? MORE : SOME;

  if (n <= most)
    return i < n ? i + 1 : 0;
  return i < most ? 1 + (guint) ((guint64) i * (n - 1) / (most - 1)) : 0;
}

static guint
sweep (const Job *job, const char *folder, const char *kind)
{
  const guint n = count_of (folder, kind);
  guint runs = 0, failures = 0, call;

  for (guint i = 0; (call = pick (job, n, i)) > 0; i++)
    for (guint on = 0; on < 2; on++) {
      if (!g_test_slow () && on != (job->more ? 0 : i & 1))
        continue;
      g_autofree char *fail = g_strdup_printf ("%s:%u%s", kind, call, on ? "+" : "");
      g_autofree char *said = NULL;
      const int status = run (job, folder, fail, &said);
      g_autofree char *why = fault (job, folder, status, said);
      if (why)
        g_test_message ("FAILED: FAIL_AT=%s: %s", fail, why);
      failures += why != NULL;
      runs++;
      clean (job, folder);
    }
  g_test_message ("%s: %u calls, %u runs, %u of them wrong", kind, n, runs, failures);
  return failures;
}

static void
test_job (gconstpointer data)
{
  const Job *job = data;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (GStrv) kinds = g_strsplit (job->kinds, " ", -1);
  g_autofree char *said = NULL;
  guint failures = 0;

  make_scan (job, folder->path);
  /* Twice: what the first run keeps for the next, the next need not do. */
  for (guint i = 0; i < 2; i++) {
    clean (job, folder->path);
    g_clear_pointer (&said, g_free);
    const int status = run (job, folder->path, NULL, &said);
    if (status != 0 && strstr (job->kinds, "device")) {
      g_test_skip (said); /* there is no OpenCL device */
      return;
    }
    g_test_message ("%s", said);
    g_assert_cmpint (status, ==, 0);
  }
  if (output_of (job)) {
    g_autofree char *shell
        = g_strdup_printf ("cd '%s' && mv %s truth", folder->path, output_of (job));
    g_assert_cmpint (system (shell), ==, 0);
  }
  for (guint i = 0; kinds[i]; i++)
    failures += sweep (job, folder->path, kinds[i]);
  g_assert_cmpuint (failures, ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (jobs); i++) {
    g_autofree char *path = g_strconcat ("/sweep/", jobs[i].name, NULL);
    g_test_add_data_func (path, &jobs[i], test_job);
  }
  return g_test_run ();
}
