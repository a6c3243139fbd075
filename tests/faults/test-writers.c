/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several threads write a volume beside each other when the job is cancelled or the disk is full:
   one sentence, and nothing is left. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dataset/file-bytes.h"
#include "dataset/volume.h"
#include "tests/common/cli.h"
#include "tests/unit/test-folder.h"

/* 48 slices of 256 KiB as floats. */
#define COLUMNS "256"
#define ROWS "48"
#define VOLUME_BYTES (48u * 256 * 256 * 4)
#define RATE "4" /* MB/s: who is told to stop has seconds for that before all is written */
#define PATIENCE_US (120 * G_USEC_PER_SEC)

static const struct {
  const char *format, *name, *bits;
  const char *processors; /* that the job sees: with many, it maps what lies in memory */
} cases[] = {
  { "tiff", "out", "32", "2" },        { "tiff", "out", "16", "8" },
  { "bigtiff", "out.tif", "32", "2" }, { "bigtiff", "out.tif", "32", "8" },
  { "hdf5", "out.h5", "32", "2" },     { "hdf5", "out.h5", "32", "8" },
};

typedef struct {
  guint number;
  TestFolder *folder;  /* of the scan */
  TestFolder *disk;    /* nothing but the volume is there */
  char *output, *part; /* where the volume will be, and where it is written */
  char *gate;          /* while this file is there, writing stands still (slow-storage.c) */
  char *said;          /* a file */
  GPid pid;
} Writing;

static void
writing_clear (Writing *writing)
{
  test_folder_free (writing->folder);
  test_folder_free (writing->disk);
  g_free (writing->output);
  g_free (writing->part);
  g_free (writing->gate);
  g_free (writing->said);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Writing, writing_clear)

static void
writing_prepare (Writing *writing, guint number)
{
  g_auto (TdTestRun) run = { 0 };

  writing->number = number;
  writing->folder = test_folder_new ();
  writing->disk = test_folder_new ();
  writing->output = test_folder_file (writing->disk, cases[number].name);
  writing->part = g_strconcat (writing->output, ".part", NULL);
  writing->gate = test_folder_file (writing->folder, "gate");
  writing->said = test_folder_file (writing->folder, "said");
  td_test_cli (&run, writing->folder->path, "phantom", "disc", "--output", "scan.nxs", "--columns",
               COLUMNS, "--rows", ROWS, "--views", "20", NULL);
  g_assert_cmpint (run.status, ==, 0);
}

static void
keep_words (gpointer path)
{
  const int file = open (path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

  dup2 (file, STDERR_FILENO);
  close (file);
}

/* The disk is slow, and slabs have a few slices, so that several of them are being written. */
static void
writing_start (Writing *writing)
{
  const char *words[] = { g_getenv ("TOMODESK_CLI"),
                          "reconstruct",
                          "scan.nxs",
                          "--device",
                          "host",
                          "--memory-limit",
                          "256MiB",
                          "--output",
                          writing->output,
                          "--format",
                          cases[writing->number].format,
                          "--bits",
                          cases[writing->number].bits,
                          strcmp (cases[writing->number].bits, "32") == 0 ? NULL : "--range",
                          "0:1",
                          NULL };
  g_auto (GStrv) environment = g_get_environ ();
  g_autofree char *preload
      = g_strdup_printf ("%s:%s", g_getenv ("TOMODESK_SLOW_STORAGE"), g_getenv ("FAIL_LIBRARY"));
  const char *const variables[][2] = { { "LD_PRELOAD", preload },
                                       { "FAIL_PROCESSORS", cases[writing->number].processors },
                                       { "SLOW_STORAGE", writing->disk->path },
                                       { "SLOW_GATE", writing->gate },
                                       { "SLOW_RATE", RATE },
                                       { "SLOW_LATENCY", "1" } };
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (variables); i++)
    environment = g_environ_setenv (environment, variables[i][0], variables[i][1], TRUE);
  g_spawn_async (writing->folder->path, (char **) words, environment,
                 G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL, keep_words, writing->said,
                 &writing->pid, &error);
  g_assert_no_error (error);
}

static guint64
room_of (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  GStatBuf status;
  guint64 room = g_stat (path, &status) == 0 ? (guint64) status.st_blocks * 512 : 0;

  for (const char *name; dir && (name = g_dir_read_name (dir));) {
    g_autofree char *child = g_build_filename (path, name, NULL);
    room += room_of (child);
  }
  return room;
}

static gboolean
writing_runs (const Writing *writing)
{
  siginfo_t info = { 0 };

  return waitid (P_PID, (id_t) writing->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0
         && info.si_pid == 0;
}

/* Of a file in memory a job with many processors fills the pages itself: nothing makes it slow. */
static gboolean
writing_is_slow (const Writing *writing)
{
  const int folder = open (writing->disk->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const gboolean in_memory = folder >= 0 && td_file_lies_in_memory (folder);

  close (folder);
  return !in_memory || strcmp (cases[writing->number].format, "tiff") == 0
         || strcmp (cases[writing->number].processors, "2") == 0;
}

/* Some of the volume is there, and no more is written until the gate opens. Where nothing is slow
   some has room, or all was written in the meantime. */
static void
writing_await (const Writing *writing)
{
  const gint64 deadline = g_get_monotonic_time () + PATIENCE_US;
  const gboolean slow = writing_is_slow (writing);

  while ((slow ? !g_file_test (writing->gate, G_FILE_TEST_EXISTS)
               : room_of (writing->part) < VOLUME_BYTES / 16)
         && g_get_monotonic_time () < deadline && writing_runs (writing))
    g_usleep (5000);
  g_assert_cmpint (g_file_test (writing->gate, G_FILE_TEST_EXISTS), ==, slow);
}

/* Its exit status. */
static int
writing_end (const Writing *writing)
{
  int status = 0;

  g_assert_cmpint (waitpid (writing->pid, &status, 0), ==, writing->pid);
  g_assert_true (WIFEXITED (status));
  return WEXITSTATUS (status);
}

static void
fill (const char *path)
{
  static const char zeros[65536];
  const int file = open (path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

  for (gsize bytes = sizeof zeros; bytes > 0;)
    if (write (file, zeros, bytes) <= 0)
      bytes /= 2;
  close (file);
}

/* Another program fills the disk while the volume is being written. Room that was taken before
   suffices, or nothing is left. */
static void
test_full (gconstpointer data)
{
  g_auto (Writing) writing = { 0 };
  const guint bits = (guint) g_ascii_strtoull (cases[GPOINTER_TO_UINT (data)].bits, NULL, 10);
  g_autofree char *options = g_strdup_printf ("size=%u", VOLUME_BYTES / 32 * bits + (3u << 20));

  writing_prepare (&writing, GPOINTER_TO_UINT (data));
  if (mount ("tmpfs", writing.disk->path, "tmpfs", 0, options) != 0) {
    g_test_skip ("only root may mount a small disk");
    return;
  }
  g_autofree char *filler = test_folder_file (writing.disk, "filler");
  writing_start (&writing);
  writing_await (&writing);
  fill (filler);
  g_remove (writing.gate);
  const int status = writing_end (&writing);
  g_autofree char *said = NULL;
  g_assert_true (g_file_get_contents (writing.said, &said, NULL, NULL));
  g_test_message ("%d: %s", status, said);
  g_assert_false (g_file_test (writing.part, G_FILE_TEST_EXISTS));
  if (status == 0) {
    g_autoptr (TdVolume) volume = td_volume_open (writing.output, NULL);
    g_assert_nonnull (volume);
    g_assert_false (writing_is_slow (&writing));
  } else {
    g_assert_cmpint (status, ==, 1);
    g_assert_nonnull (strstr (said, "the disk is full"));
    g_assert_cmpuint (test_folder_count (writing.disk), ==, 1);
  }
  g_assert_cmpint (umount (writing.disk->path), ==, 0);
}

static void
test_cancelled (gconstpointer data)
{
  g_auto (Writing) writing = { 0 };

  writing_prepare (&writing, GPOINTER_TO_UINT (data));
  if (!writing_is_slow (&writing)) {
    g_test_skip ("the temporary folder lies in memory");
    return;
  }
  writing_start (&writing);
  writing_await (&writing);
  const gint64 start = g_get_monotonic_time ();
  kill (writing.pid, SIGINT);
  g_remove (writing.gate);
  g_assert_cmpint (writing_end (&writing), ==, 130);
  g_test_message ("cancelled after %.0f ms", (g_get_monotonic_time () - start) * 1e-3);
  g_assert_cmpuint (test_folder_count (writing.disk), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *full = g_strdup_printf ("/writers/full/%s/%s/%s", cases[i].format,
                                             cases[i].bits, cases[i].processors);
    g_autofree char *cancelled = g_strdup_printf ("/writers/cancelled/%s/%s/%s", cases[i].format,
                                                  cases[i].bits, cases[i].processors);
    g_test_add_data_func (full, GUINT_TO_POINTER (i), test_full);
    g_test_add_data_func (cancelled, GUINT_TO_POINTER (i), test_cancelled);
  }
  return g_test_run ();
}
