/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/common/cli.h"
#include "tests/unit/test-folder.h"

/**
 * Under "ulimit -v" any allocation may fail, and GLib and FFTW would abort. Whatever the limit is,
 * a job succeeds, or fails with one sentence and without an output. Where the last kilobytes are
 * gone, GLib ends the process all the same, and says how much it wanted. That may only be little,
 * since the program itself asks for what grows with the scan. No output is left then either.
 */
#define LEAST_KIB 60000
#define MOST_KIB 600000
#define GLIB_BYTES 65536 /* less than a row's views, a frame, a line's workspace */
#define WRONG_ADDRESS 99 /* the program's status then (fail-at.c) */
#define WRONG_IN_HDF5 100

typedef struct {
  const char *name, *line;
} Job;

static const Job jobs[] = {
  { "fbp", "reconstruct scan.nxs --method fbp --device host --output out.tif --format bigtiff" },
  { "fourier",
    "reconstruct scan.nxs --method fourier --device host --output out.tif --format bigtiff" },
  { "paganin", "reconstruct scan.nxs --prepare paganin=100:energy=25:distance=20 --pixel-mm 0.001 "
               "--device host --output out.tif --format bigtiff" },
  { "rings",
    "reconstruct scan.nxs --prepare rings --device host --output out.tif --format bigtiff" },
  { "fdk", "reconstruct cone --method fdk --device host --output out.tif --format bigtiff" },
  { "centre", "centre rows.nxs" },
};

/* Whether the process ended since GLib got no memory for little, or no thread of its own. If there
   is none for its message either, it asks again and again, until the stack is full. */
static gboolean
is_glibs_end (int status, const char *said)
{
  const char *failed = strstr (said, "failed to allocate ");

  if (WTERMSIG (status) == SIGSEGV)
    return TRUE;
  if (WTERMSIG (status) == SIGABRT)
    return strstr (said, "GLib (gthread-posix.c): Unexpected error")
           || strstr (said, "GSlice: failed to allocate ");
  if (WTERMSIG (status) != SIGTRAP || !strstr (said, "GLib-ERROR"))
    return FALSE;
  return failed ? g_ascii_strtoull (failed + strlen ("failed to allocate "), NULL, 10) < GLIB_BYTES
                : strstr (said, "creating thread '") != NULL;
}

/* Of libhdf5, where an identifier finds no memory: exit (-1), without a word. Elsewhere
   version 1.10 follows the null pointer that it gets. */
static gboolean
is_hdf5s_end (int status, const char *said)
{
  return WIFEXITED (status) && !*said
         && ((gint8) WEXITSTATUS (status) == -1 || WEXITSTATUS (status) == WRONG_IN_HDF5);
}

/* The exit status; -1: GLib or libhdf5 ended the process. */
static gint
run_within (const char *folder, const char *line, guint kib)
{
  g_autofree char *shell
      = g_strdup_printf ("ulimit -v %u; exec env LD_PRELOAD='%s' FAIL_SEGV=%d '%s' %s", kib,
                         g_getenv ("FAIL_LIBRARY"), WRONG_ADDRESS, g_getenv ("TOMODESK_CLI"), line);
  const char *const words[] = { "sh", "-c", shell, NULL };
  g_autofree char *said = NULL, *output = g_build_filename (folder, "out.tif", NULL);
  g_autofree char *part = g_build_filename (folder, "out.tif.part", NULL);
  g_autoptr (GError) error = NULL;
  int status;

  g_remove (output);
  g_spawn_sync (folder, (char **) words, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL,
                NULL, NULL, NULL, &said, &status, &error);
  g_assert_no_error (error);
  g_test_message ("%u KiB: %s", kib, said);
  /* 127: the dynamic linker has no memory for the program's libraries. */
  if (WIFEXITED (status) && WEXITSTATUS (status) == 127)
    return 127;
  if (WIFSIGNALED (status) || is_hdf5s_end (status, said)) {
    g_assert_true (!WIFSIGNALED (status) || is_glibs_end (status, said));
    g_assert_false (g_file_test (output, G_FILE_TEST_EXISTS));
    g_remove (part);
    return -1;
  }
  g_assert_cmpint (WEXITSTATUS (status), <=, 1);
  g_assert_false (g_file_test (part, G_FILE_TEST_EXISTS));
  if (WEXITSTATUS (status) == 0)
    return 0;
  g_assert_true (g_str_has_prefix (said, "tomodesk-cli: "));
  g_assert_true (strchr (said, '\n') == said + strlen (said) - 1);
  g_assert_false (g_file_test (output, G_FILE_TEST_EXISTS));
  return 1;
}

static void
little_memory_make_scan (const Job *job, const char *folder)
{
  static const char *const scans[][9] = {
    { "scan.nxs", "shepp-logan", "--columns", "384", "--rows", "8", "--views", "240" },
    { "rows.nxs", "shepp-logan", "--columns", "384", "--rows", "3", "--views", "120" },
    { "cone", "sphere", "--columns", "96", "--rows", "96", "--views", "90", "--cone" },
  };
  g_auto (GStrv) words = g_strsplit (job->line, " ", 3);
  g_auto (TdTestRun) made = { 0 };
  guint i = 0;

  while (strcmp (scans[i][0], words[1]) != 0)
    i++;
  const char *const *s = scans[i];
  td_test_cli (&made, folder, "phantom", s[1], "--output", s[0], s[2], s[3], s[4], s[5], s[6], s[7],
               s[8], NULL);
  g_assert_cmpint (made.status, ==, 0);
}

static void
test_job (gconstpointer user)
{
  const Job *job = user;
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *cache = test_folder_file (folder, "cache");
  const double step = g_test_slow () ? 1.03 : 1.4;
  /* Each processor's thread has a stack and an arena. */
  const double most = MOST_KIB * MAX (1, g_get_num_processors () / 4.0);
  const guint wanted = g_test_slow () ? 2 : 1;
  guint ended = 0, limits = 0, enough = 0, refused = 0;

  g_setenv ("XDG_CACHE_HOME", cache, TRUE);
  g_setenv ("OCL_ICD_VENDORS", "/nowhere", TRUE);
  little_memory_make_scan (job, folder->path);
  /* More than enough is tried in the suite "slow" only. */
  for (double kib = LEAST_KIB; kib < most; kib *= step, limits++)
    if (enough < wanted || g_test_slow ()) {
      const gint status = run_within (folder->path, job->line, (guint) kib);
      ended += status < 0;
      enough += status == 0;
      refused += status == 1;
    }
  g_assert_cmpuint (enough, >=, wanted);
  g_test_message ("%u of %u limits: refused; at %u a library ended the process", refused, limits,
                  ended);
  g_assert_cmpuint (refused, >, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (jobs); i++) {
    g_autofree char *path = g_strconcat ("/little-memory/", jobs[i].name, NULL);
    g_test_add_data_func (path, &jobs[i], test_job);
  }
  return g_test_run ();
}
