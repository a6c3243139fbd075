/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job of this computer as its process carries it out: what it tells, how it ends, and whose turn
   it is among others. */
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <math.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include "cluster/batch.h"
#include "cluster/job-file.h"
#include "dataset/json-walk.h"
#include "dataset/volume.h"
#include "tests/common/cli.h"
#include "tests/unit/test-folder.h"

#define COLUMNS 48
#define ROWS 7
#define WAIT_US (60 * G_USEC_PER_SEC)
#define ID "20261122-120000-00000002"

typedef struct {
  TestFolder *folder;
  char *root, *own; /* of the jobs, and of this one */
  TdJobFile file;
} Desk;

static void
desk_init (Desk *desk)
{
  g_auto (TdTestRun) run = { 0 };

  desk->folder = test_folder_new ();
  desk->root = test_folder_file (desk->folder, "jobs");
  desk->own = g_build_filename (desk->root, ID, NULL);
  g_assert_cmpint (g_mkdir_with_parents (desk->own, 0700), ==, 0);
  td_test_cli (&run, desk->folder->path, "phantom", "discs", "--output", "one.nxs", "--columns",
               G_STRINGIFY (COLUMNS), "--rows", G_STRINGIFY (ROWS), "--views", "60", "--centre",
               "23.5", NULL);
  g_assert_cmpint (run.status, ==, 0);
  td_job_file_init (&desk->file);
  desk->file.id = g_strdup (ID);
  desk->file.title = g_strdup ("one");
  desk->file.scan_path = test_folder_file (desk->folder, "one.nxs");
  desk->file.output = test_folder_file (desk->folder, "one.tif");
  desk->file.recipe.output_format = TD_VOLUME_BIGTIFF;
  g_assert_true (td_recipe_set (&desk->file.recipe, "device", "host", NULL));
  g_assert_true (td_recipe_set (&desk->file.recipe, "centre", "23.5", NULL));
}

static void
desk_clear (Desk *desk)
{
  td_job_file_clear (&desk->file);
  g_free (desk->root);
  g_free (desk->own);
  test_folder_free (desk->folder);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Desk, desk_clear)

static void
desk_save (Desk *desk)
{
  g_autoptr (GError) error = NULL;

  td_job_file_save (&desk->file, desk->own, &error);
  g_assert_no_error (error);
}

static void
desk_run (Desk *desk, TdTestRun *run)
{
  desk_save (desk);
  td_test_cli (run, desk->folder->path, "run", desk->own, NULL);
}

/* A file of the job's folder. */
static char *
desk_file (const Desk *desk, const char *name)
{
  return g_build_filename (desk->own, name, NULL);
}

static void
desk_write (const Desk *desk, const char *name, const char *text)
{
  g_autofree char *path = desk_file (desk, name);

  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

/* Another volume of this program has the output's name. */
static void
desk_write_volume (const Desk *desk)
{
  const TdVolumeSpec spec = { .path = desk->file.output,
                              .format = desk->file.recipe.output_format,
                              .bits = 32,
                              .nx = 2,
                              .ny = 2,
                              .n_slices = 1,
                              .units = "1/px" };
  const float slice[4] = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, &error);

  g_assert_no_error (error);
  g_assert_true (td_volume_writer_write (writer, 0, 1, slice, &error)
                 && td_volume_writer_finish (writer, "{}", &error));
}

/* What the job has told of that name, all of it (JsonNode). NULL: of any. */
static GPtrArray *
desk_told (const Desk *desk, const char *event)
{
  GPtrArray *told = g_ptr_array_new_with_free_func ((GDestroyNotify) json_node_unref);
  g_autofree char *path = desk_file (desk, "events.jsonl");
  g_autofree char *text = NULL;

  g_file_get_contents (path, &text, NULL, NULL);
  g_auto (GStrv) lines = g_strsplit (text ? text : "", "\n", -1);
  for (guint i = 0; lines[i] && lines[i + 1]; i++) {
    JsonNode *node = td_json_parse (lines[i]);
    g_assert_nonnull (node);
    if (!event || g_strcmp0 (td_json_string (node, "event"), event) == 0)
      g_ptr_array_add (told, node);
    else
      json_node_unref (node);
  }
  return told;
}

/* The only one, or the last one. (transfer full) */
static JsonNode *
desk_told_last (const Desk *desk, const char *event, guint n)
{
  g_autoptr (GPtrArray) told = desk_told (desk, event);

  if (n)
    g_assert_cmpuint (told->len, ==, n);
  return told->len ? json_node_ref (told->pdata[told->len - 1]) : NULL;
}

/* The names in the job's folder of pictures. */
static guint
desk_pictures (const Desk *desk)
{
  TestFolder slices = { desk_file (desk, "slices") };
  const guint n = test_folder_count (&slices);

  g_free (slices.path);
  return n;
}

/* The picture that stays is the volume's middle slice, which was shown once. */
static void
assert_middle_shown (const Desk *desk, guint n_columns, guint n_slices)
{
  const gsize n = (gsize) n_columns * n_columns;
  g_autofree float *written = g_new (float, n), *shown = g_new (float, n);
  g_autoptr (GPtrArray) pictures = desk_told (desk, "slice");
  JsonNode *middle = NULL;
  guint times = 0;
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < pictures->len; i++)
    if (td_json_count (pictures->pdata[i], "index") == n_slices / 2) {
      middle = pictures->pdata[i];
      times++;
    }
  g_assert_cmpuint (times, ==, 1);
  g_autofree char *picture = desk_file (desk, td_json_string (middle, "path"));
  g_autoptr (TdVolume) of_picture = td_volume_open (picture, &error);
  g_assert_no_error (error);
  g_autoptr (TdVolume) volume = td_volume_open (desk->file.output, &error);
  g_assert_no_error (error);
  g_assert_true (td_volume_read (of_picture, 0, 1, shown, NULL));
  g_assert_true (td_volume_read (volume, n_slices / 2, 1, written, NULL));
  g_assert_cmpmem (shown, n * sizeof *shown, written, n * sizeof *written);
  g_assert_cmpfloat (td_volume_facts (of_picture)->voxel_mm, ==,
                     td_volume_facts (volume)->voxel_mm);
}

/* What the volume is, the middle slice as it is written, and the whole at the end. A picture of an
   earlier run is gone, and an earlier wish to keep what is there. */
static void
test_tells (void)
{
  g_auto (Desk) desk = { 0 };
  g_auto (TdTestRun) run = { 0 };

  desk_init (&desk);
  g_autofree char *slices = desk_file (&desk, "slices"), *keep = desk_file (&desk, "keep");
  g_assert_cmpint (g_mkdir (slices, 0700), ==, 0);
  desk_write (&desk, "slices/000009.tif", "of an earlier run");
  desk_write (&desk, "keep", "");
  desk_write_volume (&desk);
  desk.file.overwrite = TRUE;
  desk_run (&desk, &run);
  g_assert_cmpint (run.status, ==, 0);
  g_assert_false (g_file_test (keep, G_FILE_TEST_EXISTS));
  g_autoptr (JsonNode) start = desk_told_last (&desk, "start", 1);
  g_assert_cmpuint (td_json_count (start, "ranks"), ==, 1);
  g_assert_cmpuint (td_json_count (start, "nx"), ==, COLUMNS);
  g_assert_cmpuint (td_json_count (start, "ny"), ==, COLUMNS);
  g_assert_cmpuint (td_json_count (start, "slices"), ==, ROWS);
  g_assert_cmpuint (td_json_count (start, "slice_rows"), ==, 1);
  g_assert_cmpfloat (td_json_number (start, "centre_px"), ==, 23.5);
  g_assert_cmpstr (td_json_string (start, "method"), ==, "fbp");
  g_autoptr (JsonNode) rank = desk_told_last (&desk, "rank", 1);
  g_assert_cmpstr (td_json_string (rank, "device"), ==, "host");
  g_assert_cmpstr (td_json_string (rank, "node"), ==, g_get_host_name ());
  g_autoptr (JsonNode) progress = desk_told_last (&desk, "progress", 0);
  g_assert_cmpfloat (td_json_number (progress, "done"), ==, 1);
  g_assert_cmpfloat (td_json_number (progress, "total"), ==, 1);
  g_assert_cmpuint (td_json_count (progress, "slices_done"), ==, ROWS);
  g_autoptr (JsonNode) done = desk_told_last (&desk, "done", 1);
  g_assert_cmpstr (td_json_string (done, "output"), ==, desk.file.output);
  g_assert_cmpfloat (td_json_number (done, "centre_px"), ==, 23.5);
  g_assert_cmpfloat (td_json_number (done, "seconds"), >, 0);
  g_assert_cmpfloat (td_json_number (done, "peak_bytes"), >, 0);
  g_assert_cmpfloat (td_json_number (done, "stages/back-project"), >, 0);

  g_assert_cmpuint (desk_pictures (&desk), ==, 1);
  assert_middle_shown (&desk, COLUMNS, ROWS);
}

/* The middle slice is shown however soon it comes after others: here in the second slab of 16. */
static void
test_middle (void)
{
  g_auto (Desk) desk = { 0 };
  g_auto (TdTestRun) phantom = { 0 }, run = { 0 };

  desk_init (&desk);
  td_test_cli (&phantom, desk.folder->path, "phantom", "discs", "--output", "one.nxs", "--columns",
               "16", "--rows", "40", "--views", "20", "--overwrite", NULL);
  g_assert_cmpint (phantom.status, ==, 0);
  g_assert_true (td_recipe_set (&desk.file.recipe, "centre", "7.5", NULL));
  desk_run (&desk, &run);
  g_assert_cmpint (run.status, ==, 0);
  assert_middle_shown (&desk, 16, 40);
}

/* A residual a pass, and each estimate says of which pass it is. */
static void
test_iterates (void)
{
  g_auto (Desk) desk = { 0 };
  g_auto (TdTestRun) run = { 0 };

  desk_init (&desk);
  g_assert_true (td_recipe_set (&desk.file.recipe, "method", "sirt", NULL));
  g_assert_true (td_recipe_set (&desk.file.recipe, "iterations", "4", NULL));
  g_assert_true (td_recipe_set (&desk.file.recipe, "subsets", "1", NULL));
  desk_run (&desk, &run);
  g_assert_cmpint (run.status, ==, 0);
  g_autoptr (JsonNode) progress = desk_told_last (&desk, "progress", 0);
  g_assert_cmpuint (td_json_count (progress, "passes"), ==, 4);
  JsonArray *residuals = json_node_get_array (td_json_at (progress, "residuals"));
  g_assert_cmpuint (json_array_get_length (residuals), ==, 4);
  for (guint i = 1; i < 4; i++)
    g_assert_cmpfloat (json_array_get_double_element (residuals, i), <,
                       json_array_get_double_element (residuals, i - 1));
  g_autoptr (GPtrArray) pictures = desk_told (&desk, "slice");
  guint estimates = 0;
  for (guint i = 0; i < pictures->len; i++) {
    const guint pass = td_json_count (pictures->pdata[i], "pass");
    g_autofree char *name = g_strdup_printf ("-pass-%u.tif", pass);
    estimates += pass > 0;
    g_assert_true (pass == 0
                   || g_str_has_suffix (td_json_string (pictures->pdata[i], "path"), name));
  }
  g_assert_cmpuint (estimates, >, 0);
  g_assert_cmpuint (desk_pictures (&desk), ==, 1); /* the volume's */
}

/* The job with storage that is so slow below @folder, in megabytes a second. */
static GSubprocess *
desk_start_slow (Desk *desk, const char *folder, const char *rate)
{
  g_autoptr (GSubprocessLauncher) launcher
      = g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDERR_SILENCE);
  g_autoptr (GError) error = NULL;

  desk_save (desk);
  g_subprocess_launcher_setenv (launcher, "LD_PRELOAD", g_getenv ("TOMODESK_SLOW_STORAGE"), TRUE);
  g_subprocess_launcher_setenv (launcher, "SLOW_STORAGE", folder, TRUE);
  g_subprocess_launcher_setenv (launcher, "SLOW_RATE", rate, TRUE);
  g_subprocess_launcher_setenv (launcher, "SLOW_LATENCY", "1", TRUE);
  GSubprocess *job = g_subprocess_launcher_spawn (launcher, &error, g_getenv ("TOMODESK_CLI"),
                                                  "run", desk->own, NULL);
  g_assert_no_error (error);
  return job;
}

/* The pass of the last estimate that was told; 0: none. */
static guint
desk_last_pass (const Desk *desk)
{
  g_autoptr (JsonNode) slice = desk_told_last (desk, "slice", 0);

  return slice ? td_json_count (slice, "pass") : 0;
}

/* Three estimates stay while others come, and the oldest goes. Pictures are written slowly, so that
   none comes too soon to be shown. */
static void
test_estimates (void)
{
  g_auto (Desk) desk = { 0 };
  guint looks = 0;

  if (!g_getenv ("TOMODESK_SLOW_STORAGE")) {
    g_test_skip ("by hand there is no slow storage");
    return;
  }
  desk_init (&desk);
  g_assert_true (td_recipe_set (&desk.file.recipe, "method", "sirt", NULL));
  g_assert_true (td_recipe_set (&desk.file.recipe, "iterations", "7", NULL));
  g_autofree char *slices = desk_file (&desk, "slices");
  g_autoptr (GSubprocess) job = desk_start_slow (&desk, slices, "0.016");
  while (g_subprocess_get_identifier (job)) {
    gboolean there[9] = { FALSE };
    const guint pass = desk_last_pass (&desk);
    for (guint i = 1; i < G_N_ELEMENTS (there); i++) {
      g_autofree char *name = g_strdup_printf ("slices/%06u-pass-%u.tif", ROWS / 2, i);
      g_autofree char *path = desk_file (&desk, name);
      there[i] = g_file_test (path, G_FILE_TEST_EXISTS);
    }
    g_main_context_iteration (NULL, FALSE);
    g_usleep (5000);
    /* Nothing was told meanwhile, and the job has not ended. */
    if (pass < 4 || desk_last_pass (&desk) != pass)
      continue;
    looks++;
    g_assert_true (there[pass] && there[pass - 1] && there[pass - 2]);
    g_assert_true (pass < 5 || !there[pass - 4]);
  }
  g_assert_true (g_subprocess_wait_check (job, NULL, NULL));
  g_test_message ("%u looks", looks);
  g_assert_cmpuint (desk_pictures (&desk), ==, 1);
  if (looks == 0)
    g_test_skip ("passes were too fast to be looked between");
}

/* What cannot be begun is told with the stage that it failed in. */
static void
test_fails (void)
{
  g_auto (Desk) desk = { 0 };
  g_auto (TdTestRun) missing = { 0 }, planned = { 0 }, foreign = { 0 };

  desk_init (&desk);
  g_autofree char *scan = g_steal_pointer (&desk.file.scan_path);
  desk.file.scan_path = test_folder_file (desk.folder, "none.nxs");
  desk_run (&desk, &missing);
  td_test_run_assert_refused (&missing, 1, "none.nxs");
  g_autoptr (JsonNode) first = desk_told_last (&desk, "failed", 1);
  g_assert_cmpstr (td_json_string (first, "stage"), ==, "opening the scan");
  g_assert_nonnull (strstr (td_json_string (first, "text"), "none.nxs"));
  g_assert_nonnull (td_json_string (first, "message"));

  g_free (desk.file.scan_path);
  desk.file.scan_path = g_steal_pointer (&scan);
  g_assert_true (td_recipe_set (&desk.file.recipe, "centre", "300", NULL));
  desk_run (&desk, &planned);
  g_assert_cmpint (planned.status, ==, 1);
  g_autoptr (JsonNode) second = desk_told_last (&desk, "failed", 2);
  g_assert_cmpstr (td_json_string (second, "stage"), ==, "planning");

  desk_write (&desk, "job.json", "{}");
  td_test_cli (&foreign, NULL, "run", desk.own, NULL);
  td_test_run_assert_refused (&foreign, 1, "does not say “format”");
  g_autoptr (JsonNode) third = desk_told_last (&desk, "failed", 3);
  g_assert_cmpstr (td_json_string (third, "stage"), ==, "waiting");
  g_assert_false (g_file_test (desk.file.output, G_FILE_TEST_EXISTS));
}

/* ── Turns ── */

static GSubprocess *
desk_start (Desk *desk)
{
  g_autoptr (GError) error = NULL;

  desk_save (desk);
  GSubprocess *job = g_subprocess_new (G_SUBPROCESS_FLAGS_STDERR_SILENCE, &error,
                                       g_getenv ("TOMODESK_CLI"), "run", desk->own, NULL);
  g_assert_no_error (error);
  return job;
}

static void
desk_await_queue (const Desk *desk, guint ahead, gboolean paused)
{
  const gint64 end = g_get_monotonic_time () + WAIT_US;

  for (;;) {
    g_autoptr (JsonNode) queue = desk_told_last (desk, "queue", 0);
    if (queue && td_json_count (queue, "ahead") == ahead
        && td_json_true (queue, "paused") == paused)
      return;
    if (g_get_monotonic_time () > end)
      g_error ("the job never told %u ahead, paused %d", ahead, paused);
    g_usleep (20000);
  }
}

/* Another job's folder; the lock that it waits with, or -1. */
static int
other_job (const Desk *desk, const char *id, const char *place, gboolean waits)
{
  g_autofree char *folder = g_build_filename (desk->root, id, NULL);
  g_autofree char *waiting = g_build_filename (folder, "waiting", NULL);
  g_autofree char *number = g_build_filename (folder, "place", NULL);

  g_assert_cmpint (g_mkdir (folder, 0700), ==, 0);
  const int file = open (waiting, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  g_assert_cmpint (file, >=, 0);
  if (place)
    g_assert_true (g_file_set_contents (number, place, -1, NULL));
  if (waits)
    g_assert_cmpint (flock (file, LOCK_EX), ==, 0);
  return file;
}

/* By places, then by ids; those that do not wait any more do not count. While all pause, or another
   one computes, nobody begins. */
static void
test_turns (void)
{
  g_auto (Desk) desk = { 0 };

  desk_init (&desk);
  const int others[] = { other_job (&desk, "20261122-120000-00000001", NULL, TRUE),
                         other_job (&desk, "20261122-120000-00000003", "0", TRUE),
                         other_job (&desk, "20261130-120000-00000001", "-1\n", TRUE),
                         other_job (&desk, "20261101-120000-00000001", "5", TRUE),
                         other_job (&desk, "20261101-120000-00000009", "-9", FALSE) };
  g_autofree char *pause = g_build_filename (desk.root, "pause", NULL);
  g_autofree char *turn = g_build_filename (desk.root, "turn", NULL);
  g_autofree char *waiting = desk_file (&desk, "waiting");

  g_autoptr (GSubprocess) job = desk_start (&desk);
  desk_await_queue (&desk, 2, FALSE);
  g_assert_true (g_file_set_contents (pause, "", -1, NULL));
  desk_await_queue (&desk, 2, TRUE);
  desk_write (&desk, "place", "-2");
  desk_await_queue (&desk, 0, TRUE);
  desk_write (&desk, "place", "6");
  desk_await_queue (&desk, 4, TRUE);
  desk_write (&desk, "place", "-2");
  desk_await_queue (&desk, 0, TRUE);
  const int running = open (turn, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  g_assert_cmpint (flock (running, LOCK_EX), ==, 0);
  g_assert_cmpint (g_unlink (pause), ==, 0);
  desk_await_queue (&desk, 0, FALSE);
  g_autoptr (GPtrArray) started = desk_told (&desk, "start");
  g_assert_cmpuint (started->len, ==, 0);
  g_assert_true (g_file_test (waiting, G_FILE_TEST_EXISTS));
  close (running);
  g_assert_true (g_subprocess_wait_check (job, NULL, NULL));
  g_assert_true (g_file_test (desk.file.output, G_FILE_TEST_EXISTS));
  g_assert_false (g_file_test (waiting, G_FILE_TEST_EXISTS));
  /* What has not changed is not told again. */
  g_autoptr (GPtrArray) queues = desk_told (&desk, "queue");
  for (guint i = 1; i < queues->len; i++)
    g_assert_true (td_json_count (queues->pdata[i], "ahead")
                       != td_json_count (queues->pdata[i - 1], "ahead")
                   || td_json_true (queues->pdata[i], "paused")
                          != td_json_true (queues->pdata[i - 1], "paused"));
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    close (others[i]);
}

/* Who waits can be cancelled. A signal from outside is a failure that is told, unless the
   cancelling came with it; a folder that is gone ends the job, too. */
static void
test_ends (void)
{
  for (guint way = 0; way < 4; way++) {
    g_auto (Desk) desk = { 0 };

    desk_init (&desk);
    const int other = other_job (&desk, "20261122-120000-00000001", NULL, TRUE);
    g_autoptr (GSubprocess) job = desk_start (&desk);
    desk_await_queue (&desk, 1, FALSE);
    if (way == 0 || way == 1)
      desk_write (&desk, "cancel", "");
    if (way == 1 || way == 2)
      g_subprocess_send_signal (job, SIGTERM);
    g_autofree char *waiting = desk_file (&desk, "waiting");
    if (way == 3)
      g_assert_cmpint (g_unlink (waiting), ==, 0);
    g_assert_true (g_subprocess_wait (job, NULL, NULL));
    g_assert_true (g_subprocess_get_if_exited (job));
    g_assert_cmpint (g_subprocess_get_exit_status (job), ==, way < 2 ? 130 : 1);
    g_autoptr (GPtrArray) cancelled = desk_told (&desk, "cancelled");
    g_assert_cmpuint (cancelled->len, ==, way < 2);
    if (way >= 2) {
      g_autoptr (JsonNode) failed = desk_told_last (&desk, "failed", 1);
      g_assert_nonnull (
          strstr (td_json_string (failed, "text"), way == 2 ? "ended from outside" : "folder"));
    }
    g_assert_false (g_file_test (desk.file.output, G_FILE_TEST_EXISTS));
    close (other);
  }
}

/* ── Batches ── */

static TdBatchRow *
row_told (const Desk *desk, guint index)
{
  g_autoptr (GPtrArray) told = desk_told (desk, "scan");

  for (guint i = told->len; i-- > 0;)
    if (td_json_count (told->pdata[i], "index") == index)
      return td_batch_row_of_json (told->pdata[i]);
  return NULL;
}

static void
desk_make_batch (Desk *desk, const char *const *scans)
{
  g_clear_pointer (&desk->file.scan_path, g_free);
  g_free (desk->file.output);
  desk->file.output = test_folder_file (desk->folder, "volumes");
  desk->file.batch.scans = g_new0 (char *, g_strv_length ((char **) scans) + 1);
  for (guint i = 0; scans[i]; i++)
    desk->file.batch.scans[i] = test_folder_file (desk->folder, scans[i]);
  td_recipe_state_axis (&desk->file.recipe, NAN, 0);
}

/* What the batch has besides "one.nxs" is the same scan; "none.nxs" is not there. */
static void
desk_copy_scan (const Desk *desk)
{
  g_autofree char *one = test_folder_file (desk->folder, "one.nxs");
  g_autoptr (GFile) from = g_file_new_for_path (one);

  for (char **scan = desk->file.batch.scans; *scan; scan++) {
    g_autoptr (GFile) to = g_file_new_for_path (*scan);
    if (!g_str_has_suffix (*scan, "/one.nxs") && !g_str_has_suffix (*scan, "/none.nxs"))
      g_assert_true (g_file_copy (from, to, G_FILE_COPY_NONE, NULL, NULL, NULL, NULL));
  }
}

/* With a little less memory than one slab of all slices needs there are several. */
static void
desk_make_slabs (Desk *desk)
{
  g_auto (TdTestRun) run = { 0 };

  td_test_cli_line (&run, desk->folder->path, "plan one.nxs --device host --json");
  g_assert_cmpint (run.status, ==, 0);
  g_autoptr (JsonObject) plan = td_test_run_json (&run);
  desk->file.recipe.memory_limit_bytes
      = (guint64) json_object_get_int_member (plan, "host_bytes") - COLUMNS * COLUMNS;
}

/* Another run tells of a volume that is there what the run that wrote it found. */
static void
test_recalls (void)
{
  static const char *const scans[] = { "one.nxs", NULL };
  g_auto (Desk) desk = { 0 };
  g_auto (TdTestRun) first = { 0 }, second = { 0 };

  desk_init (&desk);
  desk_make_batch (&desk, scans);
  desk_run (&desk, &first);
  g_assert_cmpint (first.status, ==, 0);
  g_autoptr (TdBatchRow) written = row_told (&desk, 0);
  g_assert_cmpint (written->state, ==, TD_BATCH_WRITTEN);
  g_assert_true (written->searched);
  g_assert_cmpfloat_with_epsilon (written->centre_px, 23.5, 0.3);
  g_assert_cmpfloat (written->sigma_px, >, 0);
  g_autoptr (GPtrArray) progress = desk_told (&desk, "progress");
  g_assert_cmpstr (td_json_string (progress->pdata[0], "stage"), ==, "finding the axis");
  g_assert_cmpfloat (td_json_number (progress->pdata[0], "done"), ==, 0);
  g_assert_cmpfloat (td_json_number (progress->pdata[0], "total"), ==, 1);
  /* As an earlier process of the job told it. */
  g_autofree char *told = desk_file (&desk, "events.jsonl");
  g_autofree char *before = desk_file (&desk, "events-20261122-110000.jsonl");
  g_assert_cmpint (g_rename (told, before), ==, 0);
  desk_run (&desk, &second);
  g_assert_cmpint (second.status, ==, 0);
  g_autoptr (TdBatchRow) there = row_told (&desk, 0);
  g_assert_cmpint (there->state, ==, TD_BATCH_THERE);
  g_assert_true (there->searched);
  g_assert_cmpint (there->agreed, ==, written->agreed);
  g_assert_cmpfloat (there->centre_px, ==, written->centre_px);
  g_assert_cmpfloat (there->sigma_px, ==, written->sigma_px);
  g_autoptr (JsonNode) done = desk_told_last (&desk, "done", 1);
  g_assert_cmpstr (td_json_string (done, "output"), ==, desk.file.output);
}

/* Of volumes that are there the last run knows what an earlier one wrote or searched for, if it was
   of this output. All else is as the volumes say. */
static void
test_recalls_some (void)
{
  static const char *const scans[] = { "one.nxs", "two.nxs", "three.nxs", "four.nxs", NULL };
  static const struct {
    const char *state, *output;
    gboolean searched, recalled;
  } rows[] = {
    { "done", "one.tif", FALSE, TRUE },
    { "there", "two.tif", TRUE, TRUE },
    { "there", "three.tif", FALSE, FALSE },
    { "done", "other.tif", TRUE, FALSE },
  };
  g_auto (Desk) desk = { 0 };
  g_auto (TdTestRun) first = { 0 }, second = { 0 };
  g_autoptr (GString) events = g_string_new ("no event\n{\"event\": \"scan\"}\n");

  desk_init (&desk);
  desk_make_batch (&desk, scans);
  td_recipe_state_axis (&desk.file.recipe, 23.5, 0);
  desk_copy_scan (&desk);
  desk_run (&desk, &first);
  g_assert_cmpint (first.status, ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    g_string_append_printf (
        events,
        "{\"event\": \"scan\", \"index\": %u, \"path\": \"%s\", \"output\": \"%s/%s\", "
        "\"state\": \"%s\", \"centre_px\": 20, \"sigma_px\": 0.5, \"searched\": %s, "
        "\"agreed\": true}\n",
        i, desk.file.batch.scans[i], desk.file.output, rows[i].output, rows[i].state,
        rows[i].searched ? "true" : "false");
  g_autofree char *told = desk_file (&desk, "events.jsonl");
  g_assert_cmpint (g_unlink (told), ==, 0);
  desk_write (&desk, "events-20261122-110000.jsonl", events->str);
  desk_run (&desk, &second);
  g_assert_cmpint (second.status, ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++) {
    g_autoptr (TdBatchRow) row = row_told (&desk, i);
    const gboolean recalled = rows[i].recalled;
    g_assert_cmpint (row->state, ==, TD_BATCH_THERE);
    g_assert_cmpfloat (row->centre_px, ==, recalled ? 20 : 23.5);
    g_assert_cmpint (isfinite (row->sigma_px) && row->sigma_px == 0.5, ==, recalled);
    g_assert_cmpint (row->searched, ==, recalled && rows[i].searched);
    g_assert_cmpint (row->agreed, ==, recalled);
  }
}

/* ── How far a batch is ── */

/* What was told of a batch until some event. */
typedef struct {
  guint index, n_ended, n_timed; /* the scan that runs; those that have ended, and were computed */
  double timed_s;
} SoFar;

/* Whether the progress is that of a batch of @n scans that has come so far. */
static gboolean
is_progress_of (JsonNode *progress, const SoFar *so_far, guint n)
{
  const double part = td_json_number (progress, "scan_done"),
               left_s = td_json_number (progress, "left_s");
  const guint more = n - so_far->n_ended - 1;
  const double others_s = so_far->n_timed ? more * so_far->timed_s / so_far->n_timed : 0;

  return td_json_count (progress, "scan") == so_far->index
         && fabs (td_json_number (progress, "done") - so_far->n_ended - part) < 1e-9 && part >= 0
         && part <= 1 && (isnan (left_s) || (left_s >= others_s && (!more || so_far->n_timed)));
}

/* A batch of volumes whose slabs are slowly written: each progress is that of the scan which runs,
   after so many that have ended. What is left is reckoned by those that were computed, once there
   are some. A slab takes longer than it takes until progress is told again. */
static void
test_batch_told (void)
{
  static const char *const scans[] = { "none.nxs", "one.nxs", "two.nxs", "three.nxs", NULL };
  const guint n = 4;
  g_auto (Desk) desk = { 0 };
  SoFar now = { 0 };
  guint estimates = 0, begun = 0;

  if (!g_getenv ("TOMODESK_SLOW_STORAGE")) {
    g_test_skip ("by hand there is no slow storage");
    return;
  }
  desk_init (&desk);
  desk_make_slabs (&desk);
  desk_make_batch (&desk, scans);
  td_recipe_state_axis (&desk.file.recipe, 23.5, 0);
  desk_copy_scan (&desk);
  g_autoptr (GSubprocess) job = desk_start_slow (&desk, desk.file.output, "0.04");
  g_assert_true (g_subprocess_wait (job, NULL, NULL));
  g_assert_cmpint (g_subprocess_get_exit_status (job), ==, 1); /* the first is not there */

  g_autoptr (GPtrArray) told = desk_told (&desk, NULL);
  for (guint i = 0; i < told->len; i++) {
    const char *event = td_json_string (told->pdata[i], "event");
    if (g_str_equal (event, "scan")) {
      g_autoptr (TdBatchRow) row = td_batch_row_of_json (told->pdata[i]);
      const guint index = td_json_count (told->pdata[i], "index");
      g_assert_cmpstr (row->path, ==, desk.file.batch.scans[index]);
      if (row->state == TD_BATCH_WAITING) {
        g_assert_cmpuint (index, ==, begun++);
        continue;
      }
      now.index = index;
      now.n_ended += row->state != TD_BATCH_RUNNING;
      now.n_timed += row->state == TD_BATCH_WRITTEN;
      now.timed_s += row->state == TD_BATCH_WRITTEN ? row->seconds : 0;
      g_assert_cmpuint (now.n_ended, ==, row->state == TD_BATCH_RUNNING ? index : index + 1);
    } else if (g_str_equal (event, "progress")) {
      g_assert_cmpfloat (td_json_number (told->pdata[i], "total"), ==, n);
      g_assert_true (is_progress_of (told->pdata[i], &now, n));
      g_assert_null (td_json_at (told->pdata[i], "slices_done"));
      estimates += now.n_timed > 0 && now.n_ended < n - 1
                   && !isnan (td_json_number (told->pdata[i], "left_s"));
    }
  }
  g_assert_cmpuint (begun, ==, n);
  g_assert_cmpuint (now.n_ended, ==, n);
  g_assert_cmpuint (now.n_timed, ==, n - 1);
  g_assert_cmpuint (estimates, >, 0);
}

/* Scans that fail are counted, and the others are written. */
static void
test_some_fail (void)
{
  static const char *const some[] = { "none.nxs", "one.nxs", NULL }, *const all[]
                                                                     = { "none.nxs", "no.nxs",
                                                                         NULL };
  const char *const *const cases[] = { some, all };
  static const char *const words[]
      = { "1 of 2 scans failed; the others are written", "No scan of 2 could be reconstructed" };

  for (guint i = 0; i < 2; i++) {
    g_auto (Desk) desk = { 0 };
    g_auto (TdTestRun) run = { 0 };

    desk_init (&desk);
    desk_make_batch (&desk, cases[i]);
    td_recipe_state_axis (&desk.file.recipe, 23.5, 0);
    desk_run (&desk, &run);
    g_assert_cmpint (run.status, ==, 1);
    g_assert_nonnull (strstr (run.error, words[i]));
    g_autoptr (JsonNode) start = desk_told_last (&desk, "start", 1);
    g_autoptr (TdBatchRow) first = row_told (&desk, 0), second = row_told (&desk, 1);
    g_assert_cmpint (first->state, ==, TD_BATCH_FAILED);
    g_assert_nonnull (strstr (first->why, "none.nxs"));
    g_assert_cmpint (second->state, ==, i ? TD_BATCH_FAILED : TD_BATCH_WRITTEN);
    g_assert_cmpint (g_file_test (second->output, G_FILE_TEST_EXISTS), ==, i == 0);
  }
}

/* A job that watches a folder says so before anything comes, and goes on until it is cancelled. */
static void
test_watches (void)
{
  const gint64 end = g_get_monotonic_time () + WAIT_US;
  g_auto (Desk) desk = { 0 };
  g_autoptr (JsonNode) progress = NULL;

  desk_init (&desk);
  g_clear_pointer (&desk.file.scan_path, g_free);
  desk.file.batch.watch = test_folder_file (desk.folder, "incoming");
  g_assert_cmpint (g_mkdir (desk.file.batch.watch, 0700), ==, 0);
  g_autoptr (GSubprocess) job = desk_start (&desk);
  while (!(progress = desk_told_last (&desk, "progress", 0)) && g_get_monotonic_time () < end)
    g_usleep (20000);
  g_assert_nonnull (progress);
  g_assert_cmpstr (td_json_string (progress, "stage"), ==, "watching");
  g_assert_cmpfloat (td_json_number (progress, "done"), ==, 0);
  g_assert_cmpfloat (td_json_number (progress, "total"), ==, 0);
  desk_write (&desk, "cancel", "");
  g_assert_true (g_subprocess_wait (job, NULL, NULL));
  g_assert_cmpint (g_subprocess_get_exit_status (job), ==, 130);
  g_autoptr (JsonNode) start = desk_told_last (&desk, "start", 1);
  g_assert_cmpuint (td_json_count (start, "ranks"), ==, 1);
}

/* A busy computer may stop for long between the start of a session's first process and what it
   does. A job that nobody sees yet is not lost. */
static void
test_begins_late (void)
{
  g_auto (Desk) desk = { 0 };
  g_auto (TdTestRun) run = { 0 };

  desk_init (&desk);
  g_autofree char *programs = test_folder_file (desk.folder, "programs");
  g_autofree char *late = g_build_filename (programs, "setsid", NULL);
  g_autofree char *real = g_find_program_in_path ("setsid");
  g_autofree char *script = g_strdup_printf ("#!/bin/sh\nsleep 0.5\nexec '%s' \"$@\"\n", real);
  g_autofree char *before = g_strdup (g_getenv ("PATH"));
  g_autofree char *path = g_strconcat (programs, ":", before, NULL);

  g_assert_cmpint (g_mkdir (programs, 0700), ==, 0);
  g_assert_true (g_file_set_contents_full (late, script, -1, G_FILE_SET_CONTENTS_NONE, 0700, NULL));
  g_setenv ("PATH", path, TRUE);
  g_setenv ("XDG_DATA_HOME", desk.folder->path, TRUE);
  td_test_cli (&run, desk.folder->path, "submit", "one.nxs", "--output", "late.tif", "--profile",
               "here", "--device", "host", NULL);
  g_setenv ("PATH", before, TRUE);
  g_unsetenv ("XDG_DATA_HOME");
  g_test_message ("%s", run.error);
  g_assert_cmpint (run.status, ==, 0);
  g_autofree char *output = test_folder_file (desk.folder, "late.tif");
  g_assert_true (g_file_test (output, G_FILE_TEST_EXISTS));
}

/* A job has a session of its own, and no other's share. */
static void
test_by_hand (void)
{
  static const char script[]
      = "show () { cat /proc/self/autogroup; }\n"
        "show && export TOMODESK_JOB_NICE=7\n"
        "\"$TOMODESK_CLI\" run /nowhere 2>/dev/null; show\n"
        "TOMODESK_JOB=/nowhere \"$TOMODESK_CLI\" run /nowhere 2>/dev/null; show";
  char *words[]
      = { (char *) "setsid", (char *) "-w", (char *) "sh", (char *) "-c", (char *) script, NULL };
  g_autofree char *said = NULL;

  if (!g_file_test ("/proc/self/autogroup", G_FILE_TEST_EXISTS)) {
    g_test_skip ("the kernel groups no sessions");
    return;
  }
  g_assert_true (
      g_spawn_sync (NULL, words, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &said, NULL, NULL, NULL));
  g_auto (GStrv) lines = g_strsplit (said, "\n", -1);
  g_assert_cmpuint (g_strv_length (lines), ==, 4);
  g_assert_cmpstr (lines[0], ==, lines[1]);
  g_assert_true (g_str_has_suffix (lines[2], "nice 7"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_setenv ("TOMODESK_JOB_NICE", "0", TRUE);
  g_test_add_func ("/own-job/tells", test_tells);
  g_test_add_func ("/own-job/middle", test_middle);
  g_test_add_func ("/own-job/iterates", test_iterates);
  g_test_add_func ("/own-job/estimates", test_estimates);
  g_test_add_func ("/own-job/fails", test_fails);
  g_test_add_func ("/own-job/turns", test_turns);
  g_test_add_func ("/own-job/ends", test_ends);
  g_test_add_func ("/own-job/recalls", test_recalls);
  g_test_add_func ("/own-job/recalls-some", test_recalls_some);
  g_test_add_func ("/own-job/batch-told", test_batch_told);
  g_test_add_func ("/own-job/some-fail", test_some_fail);
  g_test_add_func ("/own-job/watches", test_watches);
  g_test_add_func ("/own-job/begins-late", test_begins_late);
  g_test_add_func ("/own-job/by-hand", test_by_hand);
  return g_test_run ();
}
