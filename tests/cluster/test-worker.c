/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs run on several ranks of this machine, as mpirun starts them. Whatever the grid, the volume
   is that of a single process. A job that cannot be done ends, says why, and goes on later. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/job-file.h"
#include "cluster/model.h"
#include "cluster/worker.h"
#include "compute/device/host-fft.h"
#include "compute/device/host.h"
#include "compute/engine/engine.h"
#include "compute/methods/methods.h"
#include "compute/filter.h"
#include "config.h"
#include "dataset/json-walk.h"
#include "dataset/volume.h"
#include "tests/common/cli.h"
#include "tests/unit/test-folder.h"

static TestFolder *home; /* of all scans and jobs */

/* ── Scans, and what a single process makes of them ── */

/* Views that do not divide, drifting flats; a short scan of a tilted detector; an offset one. */
static const struct {
  const char *name, *options;
} scans[] = {
  { "parallel", "--columns 41 --rows 23 --views 57" },
  { "full", "--cone --columns 37 --rows 29 --views 45 --wander 0.1 --drift 0.05" },
  { "short", "--cone --columns 40 --rows 24 --views 60 --range 225 --detector-tilt 1,0.5,-2" },
  { "sideways", "--cone --columns 20 --rows 34 --views 50 --detector-tilt 0,0,90" },
  { "offset", "--cone --columns 36 --rows 20 --views 64 --detector-offset-u 9" },
  { "long", "--cone --columns 220 --rows 220 --views 440 --logged" },
  { "held", "--cone --columns 64 --rows 64 --views 160 --logged" },
  { "poor", "--cone --columns 37 --rows 29 --views 46 --dead 12" },
  { "quarters", "--cone --columns 40 --rows 32 --views 48 --drift 0.05" },
  { "wide", "--cone --columns 200 --rows 8 --views 24 --drift 0.05" },
};

/* What the command line said on standard error; NULL: it did what was asked. (transfer full) */
static char *
try_cli (const char *words)
{
  g_auto (TdTestRun) run = { 0 };

  td_test_cli_line (&run, home->path, words);
  return run.status == 0 ? NULL : g_steal_pointer (&run.error);
}

static void
run_cli (const char *words)
{
  g_autofree char *said = try_cli (words);

  if (said)
    g_error ("%s: %s", words, said);
}

static char *
scan_path (const char *name)
{
  char *path = test_folder_file (home, name);

  for (guint i = 0; i < G_N_ELEMENTS (scans) && !g_file_test (path, G_FILE_TEST_EXISTS); i++)
    if (strcmp (name, scans[i].name) == 0) {
      g_autofree char *words
          = g_strdup_printf ("phantom ellipsoids --output %s %s", name, scans[i].options);
      run_cli (words);
    }
  return path;
}

typedef struct {
  guint ranks, rows, columns;
  gboolean ordered;
  const char *scan, *device, *recipe; /* options of the command line; NULL: none */
  const char *format;                 /* NULL: bigtiff */
  TdClusterMode mode;
  guint64 memory; /* of each rank; 0: what is there */
} Case;

static char *
case_volume (const Case *test, const char *folder, const char *name)
{
  const char *format = test->format ? test->format : "bigtiff";
  const char *ending = strcmp (format, "tiff") == 0   ? ""
                       : strcmp (format, "hdf5") == 0 ? ".h5"
                                                      : ".tif";

  return g_strconcat (folder, "/", name, ending, NULL);
}

/* By one process, once for each scan, device and recipe. (transfer full) */
static char *
single_volume (const Case *test)
{
  g_autofree char *scan = scan_path (test->scan);
  g_autofree char *name
      = g_strdup_printf ("%s %s %s", test->scan, test->device, test->recipe ? test->recipe : "");
  g_strdelimit (name, " :=/", '_');
  char *path = case_volume (test, home->path, name);

  if (!g_file_test (path, G_FILE_TEST_EXISTS)) {
    g_autofree char *words = g_strdup_printf (
        "reconstruct %s --output %s --format %s --device %s %s", scan, path,
        test->format ? test->format : "bigtiff", test->device, test->recipe ? test->recipe : "");
    run_cli (words);
  }
  return path;
}

/* ── Jobs ── */

typedef struct {
  char *folder, *output;
  GPid pid;
  gint64 begun_us;
  int status;   /* exit status of mpirun; -1: by a signal */
  double taken; /* seconds that were waited for its end */
  double lived; /* from before its start to its end */
} Work;

static double usual_s; /* what a job took that was done last */

static void
work_clear (Work *work)
{
  g_free (work->folder);
  g_free (work->output);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Work, work_clear)

static void
recipe_take (TdRecipe *recipe, const char *options)
{
  g_auto (GStrv) words = g_strsplit (options ? options : "", " ", -1);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; words[i] && words[i + 1]; i += 2)
    td_recipe_set (recipe, words[i] + 2, words[i + 1], &error);
  g_assert_no_error (error);
}

/* @disk: where the volume goes; NULL: to the job. */
static void
work_submit_to (Work *work, const char *disk, const Case *test, const TdClusterWish *wish)
{
  static guint number;
  g_auto (TdJobFile) job;
  g_autoptr (GError) error = NULL;

  *work = (Work) { 0 };
  td_job_file_init (&job);
  job.id = g_strdup_printf ("20261122-120000-%08u", number++);
  work->folder = test_folder_file (home, job.id);
  work->output = case_volume (test, disk ? disk : work->folder, "volume");
  job.output = g_strdup (work->output);
  g_assert_cmpint (g_mkdir (work->folder, 0700), ==, 0);
  job.scan_path = scan_path (test->scan);
  recipe_take (&job.recipe, test->recipe);
  recipe_take (&job.recipe, "--format bigtiff");
  if (test->format) {
    g_autofree char *format = g_strconcat ("--format ", test->format, NULL);
    recipe_take (&job.recipe, format);
  }
  job.cluster = *wish;
  job.cluster.mode = test->mode;
  job.cluster.device = g_strdup (test->device);
  job.cluster.rows = test->rows;
  job.cluster.columns = test->columns;
  job.cluster.ordered = test->ordered;
  g_assert_true (td_job_file_save (&job, work->folder, &error));
}

static void
work_submit (Work *work, const Case *test, const TdClusterWish *wish)
{
  work_submit_to (work, NULL, test, wish);
}

static void
work_spawn (Work *work, const char *const *argv, char **environment)
{
  g_autoptr (GError) error = NULL;

  work->begun_us = g_get_monotonic_time ();
  g_spawn_async (NULL, (char **) argv, environment,
                 G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL
                     | G_SPAWN_STDERR_TO_DEV_NULL,
                 NULL, NULL, &work->pid, &error);
  g_assert_no_error (error);
}

static void
work_start_in (Work *work, guint ranks, char **environment)
{
  g_autofree char *n = g_strdup_printf ("%u", ranks);
  const char *const argv[] = { g_getenv ("TOMODESK_MPIRUN"), "--bind-to", "none",       "-n", n,
                               g_getenv ("TOMODESK_WORKER"), "run",       work->folder, NULL };

  work_spawn (work, argv, environment);
}

static void
work_start (Work *work, guint ranks)
{
  g_auto (GStrv) environment = g_get_environ ();

  work_start_in (work, ranks, environment);
}

/* A job that has not ended by then never will. */
#define LONGEST_S 300

static double
seconds_since (gint64 start_us)
{
  return (g_get_monotonic_time () - start_us) * 1e-6;
}

static void
work_wait_for (Work *work, guint longest_s)
{
  const gint64 start = g_get_monotonic_time ();
  int status;
  pid_t ended;

  while ((ended = waitpid (work->pid, &status, WNOHANG)) == 0 && seconds_since (start) < longest_s)
    g_usleep (20000);
  if (ended == 0) {
    kill (work->pid, SIGKILL);
    g_error ("%s: the job hangs", work->folder);
  }
  work->taken = seconds_since (start);
  work->lived = seconds_since (work->begun_us);
  g_test_message ("ended after %.1f s", work->taken);
  work->status = WIFEXITED (status) ? WEXITSTATUS (status) : -1;
}

static void
work_wait (Work *work)
{
  work_wait_for (work, LONGEST_S);
}

/* Whoever waits is told within ten seconds, or in the time of a few jobs where a busy computer
   takes long for each. */
static void
work_assert_soon (const Work *work)
{
  g_assert_cmpfloat (work->taken, <, MAX (10, 5 * usual_s));
}

/* The last event of that name; NULL: none. (transfer full) */
static JsonNode *
work_event (const Work *work, const char *name)
{
  g_autofree char *path = g_build_filename (work->folder, "events.jsonl", NULL);
  g_autofree char *text = NULL;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    return NULL;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (guint i = g_strv_length (lines); i-- > 0;) {
    g_autoptr (JsonNode) root = td_json_parse (lines[i]);
    if (root && g_strcmp0 (td_json_string (root, "event"), name) == 0)
      return g_steal_pointer (&root);
  }
  return NULL;
}

/* Whether a note of the job begins with @text. */
static gboolean
work_notes (const Work *work, const char *text)
{
  g_autofree char *path = g_build_filename (work->folder, "events.jsonl", NULL);
  g_autofree char *events = NULL;
  gboolean found = FALSE;

  g_assert_true (g_file_get_contents (path, &events, NULL, NULL));
  g_auto (GStrv) lines = g_strsplit (events, "\n", -1);
  for (guint i = 0; lines[i] && !found; i++) {
    g_autoptr (JsonNode) root = td_json_parse (lines[i]);
    found = root && g_strcmp0 (td_json_string (root, "event"), "note") == 0
            && g_str_has_prefix (td_json_string (root, "text"), text);
  }
  return found;
}

/* Slices of which was told that they are on the disk. */
static guint
work_parts (const Work *work)
{
  g_autofree char *path = g_build_filename (work->folder, "events.jsonl", NULL);
  g_autofree char *events = NULL;
  guint slices = 0;

  g_assert_true (g_file_get_contents (path, &events, NULL, NULL));
  g_auto (GStrv) lines = g_strsplit (events, "\n", -1);
  for (guint i = 0; lines[i]; i++) {
    g_autoptr (JsonNode) root = td_json_parse (lines[i]);
    if (root && g_strcmp0 (td_json_string (root, "event"), "part") == 0)
      slices += td_json_count (root, "count");
  }
  return slices;
}

/* How many slices an earlier run has left, as a note says; -1: no note does. */
static int
work_notes_left (const Work *work, guint n_slices)
{
  for (guint left = 0; left <= n_slices; left++) {
    g_autofree char *text = g_strdup_printf (
        "An earlier run of the job left %u of %u slices, which stay", left, n_slices);
    if (work_notes (work, text))
      return (int) left;
  }
  return -1;
}

static gboolean
work_runs (const Work *work)
{
  siginfo_t info = { 0 };

  return waitid (P_PID, (id_t) work->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0
         && info.si_pid == 0;
}

/* As the desktop does. */
static void
work_cancel (const Work *work)
{
  g_autofree char *flag = g_build_filename (work->folder, "cancel", NULL);

  g_assert_true (g_file_set_contents (flag, "", 0, NULL));
}

/* TRUE: the moment came before the job's end. A job that waits for ever is ended. */
static gboolean
work_await (const Work *work, gboolean (*when) (const Work *work))
{
  const gint64 start = g_get_monotonic_time ();
  gboolean came = FALSE;

  while (!came && work_runs (work) && seconds_since (start) < LONGEST_S) {
    came = when (work);
    g_usleep (5000);
  }
  g_autoptr (JsonNode) failed = came ? NULL : work_event (work, "failed");
  if (!came) {
    kill (work->pid, SIGTERM);
    g_test_message ("%s", failed ? td_json_string (failed, "text") : "the moment never came");
  }
  return came;
}

/* MPI runs, and the first rank says from now on what it does. */
static gboolean
has_begun (const Work *work)
{
  g_autofree char *path = g_build_filename (work->folder, "events.jsonl", NULL);

  return g_file_test (path, G_FILE_TEST_EXISTS);
}

static void
work_assert_done (const Work *work)
{
  g_autoptr (JsonNode) done = work_event (work, "done"), failed = work_event (work, "failed");

  if (work->status != 0)
    g_error ("%s: status %d: %s", work->folder, work->status,
             failed ? td_json_string (failed, "text") : "no reason");
  g_assert_nonnull (done);
  g_assert_cmpstr (td_json_string (done, "output"), ==, work->output);
  g_assert_cmpfloat (td_json_number (done, "peak_bytes"), >, 1000); /* rows and slices at least */
  g_assert_cmpfloat (td_json_number (done, "resident_bytes"), >, 1 << 20);
  g_autofree char *part = g_path_get_basename (work->folder);
  g_autofree char *left = g_strconcat (work->output, ".", part, ".part", NULL);
  g_assert_false (g_file_test (left, G_FILE_TEST_EXISTS));
  usual_s = work->lived;
}

/* ── Volumes ── */

static float *
read_volume (const char *path, gsize *n)
{
  g_autoptr (GError) error = NULL;
  TdVolume *volume = td_volume_open (path, &error);

  g_assert_no_error (error);
  const TdVolumeFacts *facts = td_volume_facts (volume);
  g_assert_true (facts->complete);
  *n = (gsize) facts->nx * facts->ny * facts->n_slices;
  float *values = g_new (float, *n);
  td_volume_read (volume, 0, facts->n_slices, values, &error);
  g_assert_no_error (error);
  td_volume_free (volume);
  return values;
}

static void
assert_same (const char *path, const char *single, gboolean to_the_bit)
{
  gsize n, n_single;
  g_autofree float *values = read_volume (path, &n), *wanted = read_volume (single, &n_single);
  double off = 0, norm = 0;

  g_assert_cmpuint (n, ==, n_single);
  for (gsize i = 0; i < n; i++) {
    off += pow ((double) values[i] - wanted[i], 2);
    norm += pow (wanted[i], 2);
  }
  g_test_message ("relative RMS %.2g", sqrt (off / norm));
  g_assert_cmpfloat (norm, >, 0);
  if (to_the_bit)
    g_assert_cmpmem (values, n * sizeof *values, wanted, n * sizeof *wanted);
  else
    g_assert_cmpfloat (sqrt (off / norm), <=, 1e-6);
}

/* Each rank is told of once, with its slices. The views in a row of the grid follow each other, and
   are all. */
static void
assert_told (const Work *work, const Case *test)
{
  g_autofree char *path = g_build_filename (work->folder, "events.jsonl", NULL);
  g_autofree char *events = NULL;
  g_autoptr (JsonNode) start = work_event (work, "start");
  const gboolean half = test->recipe && strstr (test->recipe, "--precision half");
  guint told = 0, slices = 0, views = 0, all_views = 0;

  g_assert_cmpuint (td_json_count (start, "ranks"), ==, test->ranks);
  g_assert_cmpuint (td_json_count (start, "rows"), ==, test->rows);
  g_assert_cmpuint (td_json_count (start, "columns"), ==, test->columns);
  g_assert_cmpstr (td_json_string (start, "mode"), ==, td_cluster_mode_name (test->mode));
  g_assert_true (g_file_get_contents (path, &events, NULL, NULL));
  g_auto (GStrv) lines = g_strsplit (events, "\n", -1);
  for (guint i = 0; lines[i]; i++) {
    g_autoptr (JsonNode) root = td_json_parse (lines[i]);
    const char *name = root ? td_json_string (root, "event") : NULL;

    if (g_strcmp0 (name, "rank") != 0)
      continue;
    g_assert_cmpuint (td_json_count (root, "rank"), ==, told++);
    if (strcmp (test->device, "auto") != 0)
      g_assert_cmpstr (td_json_string (root, "device"), ==, test->device);
    g_assert_cmpfloat (td_json_number (root, "memory"), >, 1000);
    g_assert_cmpstr (td_json_string (root, "node"), ==, g_get_host_name ());
    g_assert_cmpstr (td_json_string (root, "precision"), ==, half ? "half" : "single");
    g_assert_cmpuint (strlen (td_json_string (root, "kernel")), >, 3);
    const guint parts = td_json_count (root, "view_parts");
    g_assert_cmpuint (parts, >, 0);
    if (test->columns == 1)
      g_assert_cmpuint (parts, ==, 1);
    if (test->columns == 1 || (told - 1) % test->columns == 0) {
      g_assert_cmpuint (td_json_count (root, "first"), ==, slices);
      slices += td_json_count (root, "count");
      views = 0;
    }
    g_assert_cmpuint (td_json_count (root, "first") + td_json_count (root, "count"), ==, slices);
    /* Of each part of the turn, if there are several. */
    g_assert_cmpuint (td_json_count (root, "first_view") * parts, ==, views);
    views += td_json_count (root, "views");
    if (told % test->columns == 0) {
      g_assert_cmpuint (views, >, 0);
      g_assert_true (all_views == 0 || all_views == views);
      all_views = views;
    }
  }
  g_assert_cmpuint (told, ==, test->ranks);
  g_assert_cmpuint (slices, ==, td_json_count (start, "slices"));
}

/* Each rank has left its mark before it asked for MPI, and the start is told with where and what.
 */
static void
assert_begun (const Work *work, guint ranks)
{
  TestFolder marks = { g_build_filename (work->folder, TD_WORKER_RANKS, NULL) };
  g_autoptr (JsonNode) start = work_event (work, "start"), done = work_event (work, "done");
  g_autoptr (GError) error = NULL;
  g_autoptr (TdVolume) volume = td_volume_open (work->output, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (test_folder_count (&marks), ==, ranks);
  for (guint i = 0; i < ranks; i++) {
    g_autofree char *name = g_strdup_printf ("%u-%u-%s", i, ranks, g_get_host_name ());
    g_autofree char *path = test_folder_file (&marks, name);
    g_assert_true (g_file_test (path, G_FILE_TEST_EXISTS));
  }
  g_free (marks.path);
  const TdVolumeFacts *facts = td_volume_facts (volume);
  g_autofree char *nodes = td_json_text (td_json_at (start, "nodes"), FALSE);
  g_autofree char *here = g_strdup_printf ("[\"%s\"]", g_get_host_name ());
  g_assert_cmpstr (nodes, ==, here);
  g_assert_cmpstr (td_json_string (start, "version"), ==, TD_VERSION);
  g_assert_cmpuint (td_json_count (start, "nx"), ==, facts->nx);
  g_assert_cmpuint (td_json_count (start, "ny"), ==, facts->ny);
  g_assert_cmpuint (td_json_count (start, "slices"), ==, facts->n_slices);
  g_assert_cmpfloat_with_epsilon (td_json_number (start, "pixel_mm"), facts->voxel_mm, 1e-9);
  /* The end tells each stage, none of which took longer than the whole. */
  static const char *const stages[] = { "start",    "read",   "filter", "gather", "back-project",
                                        "transfer", "reduce", "store",  "compute" };
  JsonObject *took = json_node_get_object (td_json_at (done, "stages"));
  g_assert_cmpuint (json_object_get_size (took), ==, G_N_ELEMENTS (stages));
  for (guint i = 0; i < G_N_ELEMENTS (stages); i++) {
    g_assert_cmpfloat (json_object_get_double_member (took, stages[i]), >=, 0);
    if (strcmp (stages[i], "gather") != 0 && strcmp (stages[i], "reduce") != 0) /* which are sums */
      g_assert_cmpfloat (json_object_get_double_member (took, stages[i]), <=,
                         td_json_number (done, "seconds") * ranks);
  }
  g_assert_cmpfloat (json_object_get_double_member (took, "compute"), >, 0);
  g_assert_cmpfloat (td_json_number (done, "seconds"), <=, work->lived);
}

/* What is told to be on the disk is of the slices that one row of ranks was told to have. */
static void
assert_parts (const Work *work)
{
  g_autofree char *path = g_build_filename (work->folder, "events.jsonl", NULL);
  g_autofree char *events = NULL;
  g_autoptr (GPtrArray) ranks = g_ptr_array_new_with_free_func ((GDestroyNotify) json_node_unref);

  g_assert_true (g_file_get_contents (path, &events, NULL, NULL));
  g_auto (GStrv) lines = g_strsplit (events, "\n", -1);
  for (guint i = 0; lines[i]; i++) {
    g_autoptr (JsonNode) root = td_json_parse (lines[i]);
    const char *name = root ? td_json_string (root, "event") : NULL;
    const guint first = root ? td_json_count (root, "first") : 0;
    gboolean found = FALSE;

    if (g_strcmp0 (name, "rank") == 0)
      g_ptr_array_add (ranks, g_steal_pointer (&root));
    if (g_strcmp0 (name, "part") != 0)
      continue;
    for (guint k = 0; k < ranks->len; k++) {
      const guint begin = td_json_count (ranks->pdata[k], "first");
      found |= first >= begin
               && first + td_json_count (root, "count")
                      <= begin + td_json_count (ranks->pdata[k], "count");
    }
    g_assert_true (found);
  }
}

static JsonNode *
read_provenance (const char *path)
{
  g_autoptr (GError) error = NULL;
  TdVolume *volume = td_volume_open (path, &error);

  g_assert_no_error (error);
  JsonNode *root = td_json_parse (td_volume_facts (volume)->provenance_json);
  td_volume_free (volume);
  g_assert_nonnull (root);
  return root;
}

/* The volume says of itself what that of a single process says, and how it was shared. */
static void
assert_provenance (const Work *work, const char *single, const Case *test)
{
  static const char *const same[]
      = { "program", "version", "scan", "recipe", "units", "centre_px" };
  g_autoptr (JsonNode) shared = read_provenance (work->output), alone = read_provenance (single);
  g_autofree char *id = g_path_get_basename (work->folder);

  for (guint i = 0; i < G_N_ELEMENTS (same); i++) {
    JsonNode *one = td_json_at (shared, same[i]), *other = td_json_at (alone, same[i]);
    g_autofree char *text = one ? td_json_text (one, FALSE) : NULL;
    g_autofree char *wanted = other ? td_json_text (other, FALSE) : NULL;
    g_assert_cmpstr (text, ==, wanted);
  }
  g_assert_cmpstr (td_json_string (shared, "cluster/id"), ==, id);
  g_assert_cmpstr (td_json_string (shared, "cluster/mode"), ==, td_cluster_mode_name (test->mode));
  g_assert_cmpuint (td_json_count (shared, "cluster/ranks"), ==, test->ranks);
  g_assert_cmpuint (td_json_count (shared, "cluster/rows"), ==, test->rows);
  g_assert_cmpuint (td_json_count (shared, "cluster/columns"), ==, test->columns);
  g_assert_cmpfloat (td_json_number (shared, "seconds"), >, 0);
  g_assert_cmpfloat (td_json_number (shared, "seconds"), <=, work->lived);
}

/* What ranks take is what a plan takes, and what they exchange. That is an eighth of the memory
   that they may take, or a quarter where they gather views. The host's is shared by its ranks. */
static void
assert_memory (const Work *work, const Case *test)
{
  const guint64 exchanged = test->memory / 8 * (test->mode == TD_CLUSTER_IFDK ? 2 : 1);
  g_autofree char *path = scan_path (test->scan);
  g_autoptr (JsonNode) rank = work_event (work, "rank");
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = td_scan_open (path, NULL, NULL, &error);
  TdRecipe recipe;

  g_assert_no_error (error);
  td_recipe_init (&recipe);
  recipe_take (&recipe, test->recipe);
  recipe.output_format = TD_VOLUME_BIGTIFF;
  g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
  recipe.memory_limit_bytes = test->memory - exchanged;
  recipe.device_memory_limit_bytes = td_host_memory_bytes () / test->ranks;
  if (test->memory)
    recipe.device_memory_limit_bytes
        = MIN (recipe.device_memory_limit_bytes, test->memory - exchanged);
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, work->output, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (td_json_number (rank, "memory"), ==,
                     (double) (td_plan_facts (plan)->host_bytes + exchanged));
  g_assert_cmpfloat (td_json_number (rank, "device_memory"), ==,
                     (double) td_plan_facts (plan)->device_bytes);
}

static void
check_case (const Case *test)
{
  const TdClusterWish wish = { .view_slice = -1, .memory_bytes = test->memory };
  g_autofree char *single = single_volume (test);
  g_auto (Work) work;

  g_test_message ("%u ranks, %s %u x %u%s, %s on %s %s", test->ranks,
                  td_cluster_mode_name (test->mode), test->rows, test->columns,
                  test->ordered ? " in order" : "", test->scan, test->device,
                  test->recipe ? test->recipe : "");
  work_submit (&work, test, &wish);
  work_start (&work, test->ranks);
  work_wait (&work);
  work_assert_done (&work);
  assert_same (work.output, single, test->ordered || test->columns == 1);
  assert_told (&work, test);
  assert_parts (&work);
  assert_begun (&work, test->ranks);
  assert_provenance (&work, single, test);
  if (strcmp (test->device, "host") == 0)
    assert_memory (&work, test);
  /* Ranks of a computer share its memory. */
  g_autoptr (JsonNode) rank = work_event (&work, "rank");
  g_assert_cmpfloat (td_json_number (rank, "memory_there") * test->ranks, <=,
                     (double) td_host_memory_bytes ());
}

/* Every grid of these ranks, in both modes, as sums and in order. */
static void
check_grids (guint ranks, const char *scan, const char *device, const char *recipe)
{
  for (guint rows = 1; rows <= ranks; rows++)
    for (guint way = 0; ranks % rows == 0 && way < 4; way++)
      check_case (&(Case) { ranks, rows, ranks / rows, way % 2 == 1, scan, device, recipe,
                            .mode = way / 2 ? TD_CLUSTER_IFDK : TD_CLUSTER_SLAB });
}

static void
test_grids (gconstpointer ranks)
{
  check_grids (GPOINTER_TO_UINT (ranks), "full", "host", NULL);
}

/* With a kernel that adds views of all quarters of the turn together. */
static void
test_grids_opencl (gconstpointer ranks)
{
  check_grids (GPOINTER_TO_UINT (ranks), "quarters", "opencl:0", "--kernel arithmetic");
}

/* The first of some cases are for every day, and all for the slow suite. */
static void
check_cases (const Case *cases, guint n, guint quick)
{
  for (guint i = 0; i < (g_test_slow () ? n : quick); i++)
    check_case (&cases[i]);
}

/* Both ways to add up, both modes, and the formats. */
static void
test_few_grids (void)
{
  static const Case cases[] = {
    { 6, 3, 2, TRUE, "short", "host" },
    { 4, 2, 2, FALSE, "offset", "host", NULL, "hdf5", .memory = 70 << 20 },
    { 4, 2, 2, TRUE, "full", "host", NULL, "tiff", .mode = TD_CLUSTER_IFDK, .memory = 90 << 20 },
    { 3, 1, 3, FALSE, "offset", "host", .mode = TD_CLUSTER_IFDK },
    { 6, 3, 2, TRUE, "full", "host", .mode = TD_CLUSTER_IFDK },
    { 4, 2, 2, FALSE, "full", "host" },
  };

  check_cases (cases, G_N_ELEMENTS (cases), 4);
}

static void
test_opencl (void)
{
  /* The kernel adds views of all quarters of the turn together, also those of a group. */
  static const Case cases[] = {
    { 2, 1, 2, TRUE, "wide", "opencl:0", "--kernel arithmetic" },
    { 4, 2, 2, FALSE, "quarters", "opencl:0", "--kernel arithmetic --prepare dose" },
    { 6, 2, 3, TRUE, "quarters", "opencl:0", "--kernel arithmetic" },
    { 4, 2, 2, TRUE, "quarters", "opencl:0", "--kernel arithmetic", .mode = TD_CLUSTER_IFDK },
    { 3, 1, 3, FALSE, "quarters", "opencl:0", "--kernel arithmetic", .mode = TD_CLUSTER_IFDK },
    { 2, 1, 2, TRUE, "full", "opencl:0", "--kernel standard" },
    { 4, 2, 2, TRUE, "full", "opencl:0", "--kernel standard" },
    { 4, 2, 2, FALSE, "offset", "opencl:0", .mode = TD_CLUSTER_IFDK },
    { 2, 1, 2, FALSE, "full", "opencl:0" },
    { 2, 2, 1, FALSE, "full", "opencl:0" },
    { 4, 2, 2, FALSE, "offset", "opencl:0" },
    { 2, 2, 1, FALSE, "full", "opencl:0", .mode = TD_CLUSTER_IFDK },
    { 3, 1, 3, TRUE, "full", "opencl:0", "--kernel standard", .mode = TD_CLUSTER_IFDK },
    { 6, 3, 2, FALSE, "short", "opencl:0", .mode = TD_CLUSTER_IFDK },
  };

  check_cases (cases, G_N_ELEMENTS (cases), 1);
}

static void
test_scans (void)
{
  static const Case cases[] = {
    { 3, 1, 3, TRUE, "short", "host" },
    { 4, 2, 2, FALSE, "offset", "host", .mode = TD_CLUSTER_IFDK },
    { 2, 1, 2, TRUE, "full", "host", "--rows 5:17 --views 3:40", .mode = TD_CLUSTER_IFDK },
    { 4, 2, 2, FALSE, "short", "host" },
    { 4, 2, 2, FALSE, "offset", "host" },
    { 4, 1, 4, TRUE, "offset", "host" },
    { 3, 3, 1, FALSE, "full", "host", "--prepare rings" }, /* all views of a row */
    { 2, 1, 2, TRUE, "full", "host", "--rows 5:17 --views 3:40" },
    { 6, 3, 2, TRUE, "short", "host", .mode = TD_CLUSTER_IFDK },
    { 4, 2, 2, FALSE, "short", "host", .mode = TD_CLUSTER_IFDK },
    { 4, 1, 4, TRUE, "offset", "host", .mode = TD_CLUSTER_IFDK },
    { 3, 3, 1, FALSE, "offset", "host", .mode = TD_CLUSTER_IFDK },
    { 6, 2, 3, FALSE, "sideways", "host", .mode = TD_CLUSTER_IFDK },
    { 6, 2, 3, TRUE, "sideways", "host" },
  };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (cases); i++) {
    Case test = cases[i / 2];
    test.device = i % 2 ? "opencl:0" : "host";
    check_case (&test);
  }
}

/* Any device keeps halves of four views a texel; other ways to keep them are for cards. */
static void
test_half (void)
{
  static const Case quarters[] = {
    { 3, 3, 1, FALSE, "quarters", "opencl:0", "--precision half --kernel turned" },
    { 2, 2, 1, FALSE, "quarters", "opencl:0", "--precision half --kernel turned",
      .mode = TD_CLUSTER_IFDK },
    { 2, 2, 1, TRUE, "quarters", "opencl:0", "--precision half --kernel turned" },
    { 4, 2, 2, TRUE, "quarters", "opencl:0", "--precision half --kernel turned" },
    { 6, 2, 3, FALSE, "quarters", "opencl:0", "--precision half --kernel turned",
      .mode = TD_CLUSTER_IFDK },
  };
  static const Case cases[] = {
    { 4, 2, 2, TRUE, "full", "auto", "--precision half" },
    { 4, 2, 2, FALSE, "offset", "auto", "--precision half", .mode = TD_CLUSTER_IFDK },
    { 2, 2, 1, FALSE, "short", "auto", "--precision half" },
    { 3, 1, 3, TRUE, "short", "auto", "--precision half", .mode = TD_CLUSTER_IFDK },
  };
  g_autofree char *scan = scan_path ("full"), *volume = test_folder_file (home, "half.tif");
  g_autofree char *words
      = g_strdup_printf ("reconstruct %s --output %s --precision half", scan, volume);
  g_autofree char *said = try_cli (words);

  check_cases (quarters, G_N_ELEMENTS (quarters), 1);
  if (said && strstr (said, "stores projections in single precision"))
    g_test_message ("no device here keeps single views in half precision");
  else
    check_cases (cases, G_N_ELEMENTS (cases), G_N_ELEMENTS (cases));
}

static void
test_formats (void)
{
  static const Case cases[] = {
    { 2, 2, 1, FALSE, "full", "host", "--bits 16", "hdf5" },
    { 3, 3, 1, FALSE, "full", "host", NULL, "tiff" },
    { 3, 3, 1, FALSE, "full", "host", NULL, "hdf5" },
    { 2, 2, 1, FALSE, "full", "host", "--bits 8", "bigtiff" },
    { 4, 2, 2, FALSE, "full", "host", NULL, "hdf5", .mode = TD_CLUSTER_IFDK },
  };

  check_cases (cases, G_N_ELEMENTS (cases), G_N_ELEMENTS (cases));
}

/* Ranks of one job on devices of two kinds, which share by what they did before, if they did. The
   sum is that of either kind to its rounding. */
static void
test_mixed (void)
{
  static const Case alone = { 2, 1, 1, FALSE, "full", "host" };
  static const Case cases[] = {
    { 2, 2, 1, FALSE, "full", "host,opencl:0", .mode = TD_CLUSTER_IFDK },
    { 4, 2, 2, FALSE, "full", "host,opencl:0" },
    { 4, 2, 2, FALSE, "full", "host,opencl:0", .mode = TD_CLUSTER_IFDK },
    { 3, 3, 1, FALSE, "full", "host,opencl:0" },
    { 3, 1, 3, FALSE, "full", "host,opencl:0" },
  };
  const TdClusterWish wish = { .view_slice = -1 };
  g_autofree char *single = single_volume (&alone);

  for (guint i = 0; i < (g_test_slow () ? G_N_ELEMENTS (cases) : 1); i++) {
    g_auto (Work) work;
    work_submit (&work, &cases[i], &wish);
    work_start (&work, cases[i].ranks);
    work_wait (&work);
    work_assert_done (&work);
    assert_same (work.output, single, FALSE);
    g_autoptr (JsonNode) rank = work_event (&work, "rank");
    g_assert_cmpstr (td_json_string (rank, "device"), ==, cases[i].ranks % 2 ? "host" : "opencl:0");
  }
}

/* Rows are handed out; a slab of them is a slab of a parallel beam. */
static void
test_parallel (void)
{
  static const Case cases[] = {
    { 3, 0, 0, FALSE, "parallel", "host" },
    { 2, 0, 0, FALSE, "parallel", "opencl:0", NULL, "tiff" },
    { 3, 0, 0, FALSE, "parallel", "host", "--prepare rings --rows 3:20", "hdf5" },
  };

  for (TdClusterMode mode = g_test_slow () ? TD_CLUSTER_SLAB : TD_CLUSTER_SLICES;
       mode <= TD_CLUSTER_SLICES; mode += TD_CLUSTER_SLICES)
    for (guint i = 0; i < (g_test_slow () ? G_N_ELEMENTS (cases) : 1); i++) {
      const TdClusterWish wish = { .view_slice = 7 };
      g_autofree char *single = single_volume (&cases[i]);
      Case test = cases[i];
      g_auto (Work) work;

      test.mode = mode;
      work_submit (&work, &test, &wish);
      work_start (&work, cases[i].ranks);
      work_wait (&work);
      work_assert_done (&work);
      assert_same (work.output, single, FALSE);
      g_autoptr (JsonNode) slice = work_event (&work, "slice");
      g_assert_nonnull (slice);
    }
}

/* Ranks share slices of which each comes out alike alone. The others want one rank, which begins
   anew where an earlier run has left some. */
static void
test_iterative (void)
{
  static const struct {
    const char *scan, *recipe;
    gboolean shared;
    const char *quick; /* ways of the quick test */
  } recipes[] = {
    { "parallel", "--method sirt --iterations 3", TRUE, "24" },
    { "parallel", "--method cgls --iterations 3", FALSE, "01" },
    { "parallel", "--method fista-tv --iterations 3", FALSE, "0" },
    { "parallel", "--method sirt --iterations 3 --tolerance 0.2", FALSE, "1" },
    { "full", "--method sirt --iterations 1", FALSE, "04" },
  };
  const TdClusterWish wish = { .view_slice = 9 };

  for (guint i = 0; i < G_N_ELEMENTS (recipes); i++)
    for (guint way = 0; way < 6; way++) {
      const guint ranks = 1 + way % 3;
      const Case test = { ranks,
                          0,
                          0,
                          FALSE,
                          recipes[i].scan,
                          "host",
                          recipes[i].recipe,
                          .mode = way < 3 ? TD_CLUSTER_SLAB : TD_CLUSTER_SLICES };
      const gboolean refused = !recipes[i].shared && way > 0;
      if (!g_test_slow () && !strchr (recipes[i].quick, '0' + (int) way))
        continue;
      g_auto (Work) work;
      g_test_message ("%s, %u ranks, %s", test.recipe, ranks, td_cluster_mode_name (test.mode));
      work_submit (&work, &test, &wish);
      g_autofree char *machine = g_build_filename (work.folder, "machine.txt", NULL);
      g_assert_true (g_file_set_contents (machine, "ranks:2 update:1G", -1, NULL));
      work_start (&work, ranks);
      work_wait (&work);
      if (refused) {
        g_autoptr (JsonNode) failed = work_event (&work, "failed");
        g_assert_nonnull (failed);
        g_assert_nonnull (strstr (td_json_string (failed, "text"),
                                  strcmp (test.scan, "full") == 0 && test.mode == TD_CLUSTER_SLICES
                                      ? "take the mode slab"
                                      : "Take one rank and the mode slab"));
        continue;
      }
      g_autofree char *single = single_volume (&test);
      work_assert_done (&work);
      assert_same (work.output, single, FALSE);
      g_autoptr (JsonNode) slice = work_event (&work, "slice");
      g_assert_true (recipes[i].shared == (slice != NULL));
      g_assert_true (recipes[i].shared != work_notes (&work, "No slice is shown first: "));
      g_autoptr (JsonNode) start = work_event (&work, "start"), done = work_event (&work, "done");
      g_assert_nonnull (strstr (recipes[i].recipe, td_json_string (start, "method")));
      g_assert_cmpuint (td_json_count (start, "slice_rows"), ==, 1);
      g_assert_null (td_json_at (done, "predicted")); /* the model knows no iterations */
    }
}

/* ── What a job tells ── */

#define MACHINE                                                                                    \
  "nodes:1 ranks:2 links:1 load:0.01+1G filter:0.02+2G update:1G link:0.03+3G reduce:0.04+4G "     \
  "store:0.05+5G queue:0"

/* What the model says of the job, at its start and at its end. */
static void
assert_predicted (const Work *work, const Case *test, const char *words)
{
  g_autoptr (JsonNode) plan = work_event (work, "plan"), done = work_event (work, "done");
  g_autofree char *path = scan_path (test->scan);
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = td_scan_open (path, NULL, NULL, &error);
  g_autoptr (JsonNode) said = json_node_ref (td_json_at (done, "predicted"));
  TdModelMachine machine;
  TdModelTimes times;
  TdRecipe recipe;

  g_assert_no_error (error);
  td_recipe_init (&recipe);
  recipe.output_format = TD_VOLUME_BIGTIFF;
  g_strlcpy (recipe.devices, test->device, sizeof recipe.devices);
  g_autoptr (TdPlan) whole = td_plan_new (engine, scan, &recipe, work->output, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (td_model_machine_parse (&machine, words, &error));
  const TdModelProblem problem
      = td_model_problem (td_scan_facts (scan), td_plan_facts (whole), &recipe);
  td_model_predict (&machine, &problem, test->mode, test->rows, test->columns, &times);
  const struct {
    const char *name;
    double seconds;
  } stages[] = { { "back-project", times.back_project },
                 { "compute", times.total },
                 { "read", times.load },
                 { "filter", times.filter },
                 { "gather", times.gather },
                 { "transfer", times.upload + times.download },
                 { "reduce", times.reduce },
                 { "store", times.store } };
  JsonNode *const told[] = { plan, said };
  for (guint k = 0; k < G_N_ELEMENTS (told); k++) {
    for (guint i = 0; i < G_N_ELEMENTS (stages); i++)
      g_assert_cmpfloat_with_epsilon (td_json_number (told[k], stages[i].name), stages[i].seconds,
                                      1e-6 * stages[i].seconds + 1e-12);
    g_assert_cmpstr (td_json_string (told[k], "bound"), ==, times.bound);
  }
}

static void
test_slice_first (void)
{
  static const Case test = { 2, 1, 2, TRUE, "full", "host" };
  const TdClusterWish wish = { .view_slice = 18 };
  g_autofree char *single = single_volume (&test);
  gsize n, n_slice;
  g_auto (Work) work;

  work_submit (&work, &test, &wish);
  g_autofree char *machine = g_build_filename (work.folder, "machine.txt", NULL);
  g_assert_true (g_file_set_contents (machine, MACHINE, -1, NULL));
  work_start (&work, test.ranks);
  work_wait (&work);
  work_assert_done (&work);
  assert_predicted (&work, &test, MACHINE);
  g_autoptr (JsonNode) done = work_event (&work, "done");
  g_assert_cmpfloat (td_json_number (done, "stages/back-project"), >, 0);
  g_autoptr (JsonNode) start = work_event (&work, "start");
  const double all_s = td_json_number (done, "time") - td_json_number (start, "time");
  g_assert_cmpfloat (td_json_number (done, "stages/store"), >, 0);
  g_assert_cmpfloat (td_json_number (done, "stages/store"), <=, all_s);
  g_autoptr (JsonNode) event = work_event (&work, "slice"), part = work_event (&work, "part");
  g_assert_nonnull (event);
  g_assert_cmpuint (td_json_count (event, "index"), ==, 18);
  g_assert_cmpfloat (td_json_number (event, "time"), <=, td_json_number (part, "time"));
  g_autofree char *path = g_build_filename (work.folder, td_json_string (event, "path"), NULL);
  g_autofree float *slice = read_volume (path, &n_slice), *volume = read_volume (single, &n);
  g_assert_cmpmem (slice, n_slice * sizeof *slice, volume + 18 * n_slice, n_slice * sizeof *slice);
}

/* What one process tells of a scan is told by ranks, however they share it. Twelve pixels are dead,
   one of which both rows of ranks see. */
static void
test_notes (void)
{
  static const struct {
    Case test;
    const char *says[5], *omits;
  } cases[] = {
    { { 2, 1, 2, FALSE, "poor", "host", "--bits 16" },
      { "Views: a full turn, 46 views", "The output's range, ", "12 detector pixels have no usable",
        "0.9 % of the flats' samples are 65535" } },
    { { 2, 1, 2, FALSE, "poor", "host", .mode = TD_CLUSTER_IFDK },
      { "12 detector pixels have no usable", "0.9 % of the flats' samples are 65535" } },
    { { 2, 2, 1, FALSE, "poor", "host", .mode = TD_CLUSTER_IFDK },
      { "12 detector pixels have no usable", "0.9 % of the flats' samples are 65535" } },
    /* Bands of a slab's rows are enough turns. Kernels for cards take a slab at once. */
    { { 2, 1, 2, TRUE, "poor", "host" },
      { "12 detector pixels have no usable" },
      "In the order of views 2 ranks take turns" },
    { { 2, 1, 2, TRUE, "quarters", "opencl:0", "--kernel arithmetic" },
      { "In the order of views 2 ranks take turns with 1 pieces. Computing takes about 100 % "
        "longer" } },
    { { 2, 2, 1, FALSE, "poor", "host" },
      { "13 detector pixels have no usable", "0.9 % of the flats' samples are 65535" } },
    { { 2, 0, 0, FALSE, "parallel", "host", "--method sirt --iterations 1" },
      { "Slices 0 to 11, on ", "Slices 12 to 22, on " } },
    { { 1, 1, 1, FALSE, "poor", "host,host:0,opencl:97,none" },
      { "No rank uses opencl:97, none of " } },
  };
  const TdClusterWish wish = { .view_slice = -1 };

  /* Ranks of which no rates are known have equal shares, and so the rows that both see. */
  g_autofree char *fresh = test_folder_file (home, "notes-cache");
  g_autofree char *cache = g_strdup (g_getenv ("XDG_CACHE_HOME"));

  g_setenv ("XDG_CACHE_HOME", fresh, TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_auto (Work) work;
    work_submit (&work, &cases[i].test, &wish);
    work_start (&work, cases[i].test.ranks);
    work_wait (&work);
    work_assert_done (&work);
    g_autoptr (JsonNode) kept = read_provenance (work.output);
    g_autofree char *kept_text = td_json_text (kept, FALSE);
    for (guint k = 0; cases[i].says[k]; k++) {
      if (!work_notes (&work, cases[i].says[k]))
        g_error ("%u: no note begins with \"%s\"", i, cases[i].says[k]);
      /* The volume keeps what is told of the scan's samples. */
      if (strstr (cases[i].says[k], "detector pixels") || strstr (cases[i].says[k], "samples"))
        g_assert_nonnull (strstr (kept_text, cases[i].says[k]));
    }
    g_assert_false (cases[i].omits && work_notes (&work, cases[i].omits));
  }
  if (cache)
    g_setenv ("XDG_CACHE_HOME", cache, TRUE);
  else
    g_unsetenv ("XDG_CACHE_HOME");
}

static void
test_idle_ranks (void)
{
  static const Case test = { 3, 0, 0, FALSE, "full", "host", "--rows 5:7 --prepare rings" };
  const TdClusterWish wish = { .view_slice = -1 };
  g_autofree char *single = single_volume (&test);
  g_auto (Work) work;

  work_submit (&work, &test, &wish);
  work_start (&work, test.ranks);
  work_wait (&work);
  work_assert_done (&work);
  assert_same (work.output, single, TRUE);
  g_assert_true (work_notes (&work, "Ranks 2 to 2"));
}

/* Another plan of the same transform than anybody measures: one without vectors, whose wisdom is
   then told apart from a measured one no more. */
static void
plant_wisdom (const char *home_of_rank)
{
  const guint n = td_filter_padded_size (37); /* columns of the scan "full" */
  g_autofree char *folder = g_build_filename (home_of_rank, "tomodesk", NULL);
  g_autofree char *path = td_fftw_wisdom_file (folder);
  fftwf_complex *from = fftwf_alloc_complex (n), *to = fftwf_alloc_complex (n);
  const guint no_vectors = 1u << 17;
  fftwf_plan plan = fftwf_plan_dft_1d ((int) n, from, to, FFTW_FORWARD, FFTW_MEASURE | no_vectors);
  char *text = fftwf_export_wisdom_to_string ();
  g_auto (GStrv) parts = g_strsplit (text, "#x13b", -1);
  g_autofree char *planted = g_strjoinv ("#x11b", parts);

  g_assert_cmpuint (g_strv_length (parts), >, 1);
  g_assert_cmpint (g_mkdir_with_parents (folder, 0700), ==, 0);
  g_assert_true (g_file_set_contents (path, planted, -1, NULL));
  free (text);
  fftwf_destroy_plan (plan);
  fftwf_free (from);
  fftwf_free (to);
}

/* Ranks whose homes know another plan of the filter's transform. */
static void
test_wisdom (void)
{
  static const Case test = { 2, 1, 2, TRUE, "full", "host" };
  const TdClusterWish wish = { .view_slice = -1 };
  g_autofree char *single = single_volume (&test), *other = test_folder_file (home, "other-home");
  g_autofree char *cache = g_strconcat ("XDG_CACHE_HOME=", other, NULL);
  g_auto (GStrv) environment = g_get_environ ();
  g_auto (Work) work;

  plant_wisdom (other);
  work_submit (&work, &test, &wish);
  const char *const argv[] = { g_getenv ("TOMODESK_MPIRUN"),
                               "--bind-to",
                               "none",
                               "-n",
                               "1",
                               g_getenv ("TOMODESK_WORKER"),
                               "run",
                               work.folder,
                               ":",
                               "-n",
                               "1",
                               "env",
                               cache,
                               g_getenv ("TOMODESK_WORKER"),
                               "run",
                               work.folder,
                               NULL };
  work_spawn (&work, argv, environment);
  work_wait (&work);
  work_assert_done (&work);
  assert_same (work.output, single, TRUE);
}

/* A job of two ranks. The second alone has @variables (with blanks between) and a library that
   makes calls of the system fail. */
static void
work_start_spoilt (Work *work, const char *variables)
{
  g_auto (GStrv) environment = g_get_environ ();
  g_autofree char *line = g_strdup_printf (
      "%s --bind-to none -n 1 %s run %s : -n 1 env LD_PRELOAD=%s %s %s run %s",
      g_getenv ("TOMODESK_MPIRUN"), g_getenv ("TOMODESK_WORKER"), work->folder,
      g_getenv ("TOMODESK_FAIL_AT"), variables, g_getenv ("TOMODESK_WORKER"), work->folder);
  g_auto (GStrv) argv = g_strsplit (line, " ", -1);

  work_spawn (work, (const char *const *) argv, environment);
}

/* The job ended, and told that the other rank cannot read the scan. */
static void
assert_unreadable (const Work *work, const char *scan)
{
  g_autoptr (JsonNode) failed = work_event (work, "failed");

  g_assert_cmpint (work->status, !=, 0);
  g_assert_nonnull (failed);
  g_test_message ("%s: %s", td_json_string (failed, "stage"), td_json_string (failed, "text"));
  g_assert_cmpuint (td_json_count (failed, "rank"), ==, 1);
  g_assert_nonnull (strstr (td_json_string (failed, "text"), scan));
  g_assert_false (g_file_test (work->output, G_FILE_TEST_EXISTS));
}

/* One of the nodes cannot read the scan: which one is told, and why. */
static void
test_unreadable (void)
{
  static const Case test = { 2, 2, 1, FALSE, "full", "host" };
  const TdClusterWish wish = { .view_slice = -1 };
  g_autofree char *scan = scan_path (test.scan);
  g_autofree char *variables = g_strdup_printf ("FAIL_AT=open:1+ FAIL_UNDER=%s", scan);
  g_auto (Work) work;

  work_submit (&work, &test, &wish);
  work_start_spoilt (&work, variables);
  g_assert_true (work_await (&work, has_begun)); /* what mpirun takes before is the computer's */
  work_wait (&work);
  work_assert_soon (&work);
  assert_unreadable (&work, scan);
}

/* The same once all compute: of the frames that a rank wants it can read some. Others wait for its
   sums, or for its views. */
static void
test_unreadable_late (void)
{
  static const Case cases[] = { { 2, 1, 2, TRUE, "full", "host" },
                                { 2, 2, 1, FALSE, "full", "host", .mode = TD_CLUSTER_IFDK } };
  const TdClusterWish wish = { .view_slice = -1 };
  g_autofree char *scan = scan_path (cases[0].scan);
  /* A frame is opened twice by then, and read by four calls or so. */
  g_autofree char *variables = g_strdup_printf ("FAIL_AT=read:180+ FAIL_UNDER=%s", scan);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_auto (Work) work;

    work_submit (&work, &cases[i], &wish);
    work_start_spoilt (&work, variables);
    work_wait (&work);
    assert_unreadable (&work, scan);
    g_autoptr (JsonNode) start = work_event (&work, "start");
    g_assert_nonnull (start);
  }
}

/* What jobs of the device left in a home, whatever their sizes. */
static void
plant_rate (const char *home_of_rank, const char *rate)
{
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, "host", NULL);
  g_autofree char *folder = g_build_filename (home_of_rank, "tomodesk", NULL);
  g_autofree char *path = g_build_filename (folder, "rates.ini", NULL);
  g_autofree char *key = g_strdup_printf ("fdk %s host", td_device_info (devices->pdata[0])->name);
  g_autoptr (GString) text = g_string_new ("[per second, by size]\n");

  g_strdelimit (key, "=[]", '-');
  for (guint size = 0; size < 16; size++)
    g_string_append_printf (text, "%s 8^%u=%s\n", key, size, rate);
  g_assert_cmpint (g_mkdir_with_parents (folder, 0700), ==, 0);
  g_assert_true (g_file_set_contents (path, text->str, -1, NULL));
}

/* Two nodes with the same device, of which one is three times as fast. */
static void
test_shares (void)
{
  static const Case test = { 2, 2, 1, FALSE, "full", "host" };
  const TdClusterWish wish = { .view_slice = -1 };
  static const char *const rates[] = { "1e9", "3e9" };
  g_autofree char *single = single_volume (&test);
  g_auto (GStrv) environment = g_get_environ ();
  g_auto (Work) work;

  work_submit (&work, &test, &wish);
  GString *line = g_string_new (g_getenv ("TOMODESK_MPIRUN"));
  for (guint i = 0; i < 2; i++) {
    g_autofree char *name = g_strdup_printf ("home-%u", i), *own = test_folder_file (home, name);
    plant_rate (own, rates[i]);
    g_string_append_printf (line,
                            "%s -n 1 env SLURM_JOB_ID=77 SLURM_RESTART_COUNT=2 "
                            "XDG_CACHE_HOME=%s %s run %s",
                            i == 0 ? " --bind-to none" : " :", own, g_getenv ("TOMODESK_WORKER"),
                            work.folder);
  }
  g_auto (GStrv) argv = g_strsplit (line->str, " ", -1);
  g_string_free (line, TRUE);
  work_spawn (&work, (const char *const *) argv, environment);
  work_wait (&work);
  work_assert_done (&work);
  assert_same (work.output, single, FALSE);               /* these homes plan transforms anew */
  g_autoptr (JsonNode) rank = work_event (&work, "rank"); /* the last one */
  g_assert_cmpuint (td_json_count (rank, "rank"), ==, 1);
  g_assert_cmpuint (td_json_count (rank, "first"), ==, 7);
  g_assert_cmpuint (td_json_count (rank, "count"), ==, 22);
  g_assert_cmpuint (td_json_count (rank, "views"), ==, 45);
  /* Slurm's number of the job, and how often it began it anew. */
  g_autoptr (JsonNode) start = work_event (&work, "start");
  g_assert_cmpstr (td_json_string (start, "job"), ==, "77");
  g_assert_cmpuint (td_json_count (start, "restarts"), ==, 2);
}

static const struct {
  const char *name;
  Case test;
  const char *mentions;
} refused[] = {
  { "gathered",
    { 2, 2, 1, FALSE, "full", "host", "--prepare rings", .mode = TD_CLUSTER_IFDK },
    "without gathering views" },
  { "device", { 2, 0, 0, FALSE, "full", "opencl:97" }, "opencl:97" },
  { "range", { 2, 2, 1, FALSE, "full", "host", "--bits 8 --range 100:200" }, "outside the range" },
  { "nothing", { 2, 1, 2, FALSE, "held", "host", "--rows 0:1" }, "0 or no number" },
  { "slices", { 3, 3, 1, FALSE, "full", "host", "--rows 5:7", NULL }, "2 slices" },
  { "ranks", { 2, 2, 2, FALSE, "full", "host" }, "needs 4 ranks" },
  { "steps", { 2, 1, 2, FALSE, "full", "host", "--prepare rings", NULL }, "rings" },
  { "parallel",
    { 2, 0, 0, FALSE, "parallel", "host", .mode = TD_CLUSTER_IFDK },
    "take the mode slices" },
  { "scan", { 2, 0, 0, FALSE, "absent", "host" }, "absent" },
};

#define QUICK_REFUSED 4

static void
test_refused (gconstpointer data)
{
  const guint at = GPOINTER_TO_UINT (data);
  const TdClusterWish wish = { .view_slice = -1 };
  g_auto (Work) work;

  work_submit (&work, &refused[at].test, &wish);
  work_start (&work, refused[at].test.ranks);
  work_wait (&work);
  g_assert_cmpint (work.status, ==, 1);
  g_autoptr (JsonNode) failed = work_event (&work, "failed");
  g_assert_nonnull (failed);
  g_assert_nonnull (strstr (td_json_string (failed, "text"), refused[at].mentions));
  g_assert_false (g_file_test (work.output, G_FILE_TEST_EXISTS));
}

/* Two ranks measure this machine: every stage's cost, in words that a plan takes, and no file
 * stays. */
static void
test_benchmark (void)
{
  g_autofree char *folder = test_folder_file (home, "measured"), *said = NULL;
  const char *const argv[] = { g_getenv ("TOMODESK_MPIRUN"), "--bind-to", "none", "-n", "2",
                               g_getenv ("TOMODESK_WORKER"), "benchmark", folder, NULL };
  g_autoptr (GError) error = NULL;
  TdModelMachine machine, preset;
  int status;

  g_assert_cmpint (g_mkdir (folder, 0700), ==, 0);
  g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &said, NULL,
                &status, &error);
  g_assert_no_error (error);
  g_assert_cmpint (status, ==, 0);
  const char *words = strstr (said, "machine ");
  g_assert_nonnull (words);
  g_test_message ("%s", words);
  g_assert_true (td_model_machine_parse (&machine, words + strlen ("machine "), &error));
  g_assert_true (td_model_machine_parse (&preset, "", &error));
  g_assert_cmpuint (machine.nodes, ==, 1);
  g_assert_cmpuint (machine.ranks, ==, 2);
  const TdModelCost *const costs[][2] = {
    { &machine.load, &preset.load },   { &machine.filter, &preset.filter },
    { &machine.copy, &preset.copy },   { &machine.update, &preset.update },
    { &machine.link, &preset.link },   { &machine.reduce, &preset.reduce },
    { &machine.store, &preset.store }, { &machine.stack, &preset.stack },
    { &machine.added, &preset.added },
  };
  for (guint i = 0; i < G_N_ELEMENTS (costs); i++) {
    g_assert_cmpfloat (costs[i][0]->m, >, 0);
    g_assert_cmpfloat (costs[i][0]->m, !=, costs[i][1]->m);
  }
  g_assert_cmpint (g_rmdir (folder), ==, 0);
}

/* ── Memory ── */

/* The volume is many times the memory of its ranks. By the kernel's figures, no rank had more
   memory than its plan says. */
static void
test_memory (void)
{
  static const struct {
    const char *scan, *geometry;
    guint side;
    guint64 memory;
    TdClusterMode mode;
  } cases[] = {
    { "--columns 256 --rows 256 --views 180", "0.390625", 512, 64 << 20, TD_CLUSTER_IFDK },
    { "--columns 512 --rows 512 --views 360", "0.1953125", 1024, 256 << 20, TD_CLUSTER_SLAB },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *name = g_strdup_printf ("cube-%u", cases[i].side);
    g_autofree char *scan = test_folder_file (home, name);
    g_autofree char *geometry = g_strconcat (scan, ".json", NULL);
    g_autofree char *words
        = g_strdup_printf ("phantom ellipsoids --cone %s --output %s", cases[i].scan, name);
    g_autofree char *text = g_strdup_printf (
        "{\"beam\": \"cone\", \"source_axis_mm\": 200, \"source_detector_mm\": 400, "
        "\"pixel_width_mm\": %s, \"pixel_height_mm\": %s, \"voxel_mm\": %.9g, "
        "\"volume_size\": [%u, %u, %u]}",
        cases[i].geometry, cases[i].geometry, 50.0 / cases[i].side, cases[i].side, cases[i].side,
        cases[i].side);
    const TdClusterWish wish
        = { .mode = cases[i].mode, .view_slice = -1, .memory_bytes = cases[i].memory };
    const Case test = { 2, 2, 1, FALSE, name, "host", .mode = cases[i].mode };
    char *settings[] = { "geometry", geometry, NULL };
    g_autoptr (GError) error = NULL;
    g_auto (TdJobFile) job;
    g_auto (Work) work;

    run_cli (words);
    g_assert_true (g_file_set_contents (geometry, text, -1, NULL));
    work_submit (&work, &test, &wish);
    g_assert_true (td_job_file_load (&job, work.folder, &error));
    job.scan_settings = g_strdupv (settings);
    g_assert_true (td_job_file_save (&job, work.folder, &error));
    work_start (&work, test.ranks);
    work_wait_for (&work, 7200);
    work_assert_done (&work);
    g_autoptr (JsonNode) rank = work_event (&work, "rank"), done = work_event (&work, "done");
    const double stated = td_json_number (rank, "memory"),
                 had = td_json_number (done, "resident_bytes");
    g_test_message ("%u³, %" G_GUINT64_FORMAT " MiB a rank: %.0f MiB stated, %.0f MiB had, "
                    "%.0f MiB counted, %.0f s",
                    cases[i].side, cases[i].memory >> 20, stated / (1 << 20), had / (1 << 20),
                    td_json_number (done, "peak_bytes") / (1 << 20), work.taken);
    g_assert_cmpfloat (had, <=, stated);
    g_assert_cmpfloat (td_json_number (done, "peak_bytes"), <=, (double) cases[i].memory);
    g_unlink (work.output);
  }
}

/* ── Faults ── */

/* Slabs of a few slices, so that the job takes its time. */
static const TdClusterWish long_wish = { .view_slice = -1, .memory_bytes = 128 << 20 };
static const Case long_case = { 4, 2, 2, TRUE, "long", "host" };

/* A small one, whose storage is so slow that its end can be waited for, but does not come. */
static const TdClusterWish held_wish = { .view_slice = -1 };
static const Case held_case = { 2, 1, 2, TRUE, "held", "host" };
#define HELD_MB_PER_S "0.1"

static void
work_start_held (Work *work, guint ranks, const char *silence_s)
{
  g_auto (GStrv) environment = g_get_environ ();
  g_autofree char *scan = scan_path (held_case.scan);

  environment
      = g_environ_setenv (environment, "LD_PRELOAD", g_getenv ("TOMODESK_SLOW_STORAGE"), TRUE);
  environment = g_environ_setenv (environment, "SLOW_STORAGE", scan, TRUE);
  environment = g_environ_setenv (environment, "SLOW_RATE", HELD_MB_PER_S, TRUE);
  environment = g_environ_setenv (environment, "SLOW_LATENCY", "0", TRUE);
  environment = g_environ_setenv (environment, "TOMODESK_SILENCE_S", silence_s, TRUE);
  work_start_in (work, ranks, environment);
}

/* The process of a rank; 0: not there. */
static pid_t
find_rank (const Work *work, guint rank)
{
  g_autoptr (GDir) proc = g_dir_open ("/proc", 0, NULL);
  g_autofree char *wanted = g_strdup_printf ("OMPI_COMM_WORLD_RANK=%u", rank);
  const char *name;

  while ((name = g_dir_read_name (proc))) {
    g_autofree char *environment = g_strdup_printf ("/proc/%s/environ", name);
    g_autofree char *command = g_strdup_printf ("/proc/%s/cmdline", name);
    g_autofree char *text = NULL, *words = NULL;
    gsize n, n_words;

    if (!g_ascii_isdigit (*name) || !g_file_get_contents (command, &words, &n_words, NULL)
        || !g_file_get_contents (environment, &text, &n, NULL)
        || !memmem (words, n_words, work->folder, strlen (work->folder)))
      continue;
    for (const char *at = text; at < text + n; at += strlen (at) + 1)
      if (strcmp (at, wanted) == 0)
        return (pid_t) atoi (name);
  }
  return 0;
}

static guint
count_ranks (const Work *work, guint ranks)
{
  guint n = 0;

  for (guint i = 0; i < ranks; i++)
    n += find_rank (work, i) > 0;
  return n;
}

static gboolean
computes (const Work *work)
{
  g_autoptr (JsonNode) progress = work_event (work, "progress");

  return progress && td_json_number (progress, "done") > 0;
}

static gboolean
reads (const Work *work)
{
  g_autoptr (JsonNode) progress = work_event (work, "progress");

  return progress && td_json_number (progress, "total") > 0;
}

static gboolean
has_part (const Work *work)
{
  g_autoptr (JsonNode) part = work_event (work, "part");

  return part != NULL;
}

static gboolean
has_ranks (const Work *work)
{
  g_autoptr (JsonNode) start = work_event (work, "rank");

  return start != NULL;
}

static const struct {
  const char *name;
  gboolean (*when) (const Work *work);
  guint rank;
  TdClusterMode mode;
  gboolean held;
} deaths[] = {
  { "gathering", reads, 1, TD_CLUSTER_IFDK, TRUE }, /* each day's */
  { "computing", computes, 2, TD_CLUSTER_SLAB },
  { "planning", has_ranks, 1, TD_CLUSTER_SLAB },
  { "computing-first", computes, 0, TD_CLUSTER_SLAB },
  { "storing", has_part, 3, TD_CLUSTER_SLAB },
  { "gathering-first", computes, 0, TD_CLUSTER_IFDK },
  { "gathered-storing", has_part, 3, TD_CLUSTER_IFDK },
};
#define QUICK_DEATHS 1

/* A rank that is killed ends the job within 10 s, and it is told. No volume has its final name. The
   same job then goes on. */
static void
test_death (gconstpointer data)
{
  const guint at = GPOINTER_TO_UINT (data);
  Case test = long_case;
  g_auto (Work) work;

  if (deaths[at].held)
    test.scan = held_case.scan;
  test.mode = deaths[at].mode;
  g_autofree char *single = single_volume (&test);
  work_submit (&work, &test, deaths[at].held ? &held_wish : &long_wish);
  if (deaths[at].held)
    work_start_held (&work, test.ranks, "7");
  else
    work_start (&work, test.ranks);
  g_assert_true (work_await (&work, deaths[at].when));
  const pid_t victim = find_rank (&work, deaths[at].rank);
  g_assert_cmpint (victim, >, 0);
  kill (victim, SIGKILL);
  work_wait (&work);
  g_assert_cmpint (work.status, !=, 0);
  work_assert_soon (&work);
  g_assert_cmpuint (count_ranks (&work, test.ranks), ==, 0);
  g_autoptr (JsonNode) failed = work_event (&work, "failed");
  g_autofree char *who = g_strdup_printf ("Rank %u has ended", deaths[at].rank);
  g_assert_nonnull (failed);
  g_assert_true (g_str_has_prefix (td_json_string (failed, "text"), who));
  g_assert_false (g_file_test (work.output, G_FILE_TEST_EXISTS));
  const guint told = work_parts (&work);

  work_start (&work, test.ranks);
  work_wait (&work);
  work_assert_done (&work);
  assert_same (work.output, single, TRUE);
  g_autoptr (JsonNode) start = work_event (&work, "start");
  g_assert_cmpint (work_notes_left (&work, td_json_count (start, "slices")), >=, (int) told);
}

/* What an earlier run has left is not made whole from slices that were computed without it. */
static void
test_iterative_again (void)
{
  static const Case test = { 1, 0, 0, FALSE, "parallel", "host", "--method cgls --iterations 3" };
  const TdClusterWish wish = { .view_slice = -1 };
  g_autofree char *single = single_volume (&test);
  g_auto (GStrv) environment = g_get_environ ();
  g_autoptr (TestFolder) disk = test_folder_new ();
  g_auto (Work) work;

  work_submit_to (&work, disk->path, &test, &wish);
  environment
      = g_environ_setenv (environment, "LD_PRELOAD", g_getenv ("TOMODESK_SLOW_STORAGE"), TRUE);
  environment = g_environ_setenv (environment, "SLOW_STORAGE", work.output, TRUE);
  environment = g_environ_setenv (environment, "SLOW_RATE", "0.01", TRUE);
  work_start_in (&work, test.ranks, environment);
  g_assert_true (work_await (&work, has_part));
  const pid_t victim = find_rank (&work, 0);
  g_assert_cmpint (victim, >, 0);
  kill (victim, SIGKILL);
  work_wait (&work);
  g_assert_cmpint (work.status, !=, 0);
  g_assert_false (g_file_test (work.output, G_FILE_TEST_EXISTS));
  work_start (&work, test.ranks);
  work_wait (&work);
  work_assert_done (&work);
  assert_same (work.output, single, FALSE);
}

static void
send_all (const Work *work, guint ranks, int number)
{
  for (guint i = 0; i < ranks; i++) {
    const pid_t rank = find_rank (work, i);
    if (rank > 0)
      kill (rank, number);
  }
}

/* The thread of a process that has this name; 0: none. */
static pid_t
find_thread (pid_t process, const char *wanted)
{
  g_autofree char *tasks = g_strdup_printf ("/proc/%d/task", (int) process);
  g_autoptr (GDir) dir = g_dir_open (tasks, 0, NULL);

  for (const char *name; dir && (name = g_dir_read_name (dir));) {
    g_autofree char *path = g_build_filename (tasks, name, "comm", NULL), *text = NULL;
    if (g_file_get_contents (path, &text, NULL, NULL) && strcmp (g_strchomp (text), wanted) == 0)
      return (pid_t) atoi (name);
  }
  return 0;
}

/* A rank's watching thread stands still, as one does that waits for its disk; its process lives. */
static void
hold_watch (pid_t rank, gulong held_us)
{
  const pid_t thread = find_thread (rank, "watch");
  int status;

  g_assert_cmpint (thread, >, 0);
  if (ptrace (PTRACE_SEIZE, thread, NULL, NULL) != 0) {
    g_test_message ("threads of others cannot be held here: %s", g_strerror (errno));
    return;
  }
  g_assert_cmpint (ptrace (PTRACE_INTERRUPT, thread, NULL, NULL), ==, 0);
  g_assert_cmpint (waitpid (thread, &status, __WALL), ==, thread);
  g_usleep (held_us);
  g_assert_cmpint (ptrace (PTRACE_DETACH, thread, NULL, NULL), ==, 0);
}

/* Ranks may be silent for a second. A computer that stood still for longer, and a process that is
   seen to live, end no job. A process that is stopped is as good as dead. */
static void
test_silence (void)
{
  const gulong longer_us = 1600000;
  g_auto (Work) work;

  work_submit (&work, &held_case, &held_wish);
  work_start_held (&work, held_case.ranks, "1");
  g_assert_true (work_await (&work, reads));
  send_all (&work, held_case.ranks, SIGSTOP);
  g_usleep (longer_us);
  send_all (&work, held_case.ranks, SIGCONT);
  hold_watch (find_rank (&work, 1), longer_us);
  g_assert_true (work_runs (&work));
  g_autoptr (JsonNode) early = work_event (&work, "failed");
  g_assert_null (early);

  const pid_t victim = find_rank (&work, 1);
  g_assert_cmpint (victim, >, 0);
  kill (victim, SIGSTOP);
  work_wait (&work);
  kill (victim, SIGKILL);
  g_assert_cmpint (work.status, !=, 0);
  g_autoptr (JsonNode) failed = work_event (&work, "failed");
  g_assert_nonnull (failed);
  g_assert_nonnull (strstr (td_json_string (failed, "text"), "Rank 1 has not been heard of"));
}

/* A rank that hangs in a call of MPI, from the first to the last, or is killed there. Whoever waits
   for it ends, and the reason is told. The same job then goes on. */
static const struct {
  const char *call, *rank;
  gboolean done; /* all was done by then */
  TdClusterMode mode;
  gboolean killed, early; /* before anybody could tell */
} hangs[] = {
  { "MPI_Init_thread:1", "1" },
  { "MPI_Ibarrier:2", "1", TRUE },
  { "MPI_Iallgather:3", "0" },
  { "MPI_Iallgather:4", "1" },
  { "MPI_Comm_dup:1", "0" },
  { "MPI_Comm_split_type:1", "1" },
  { "MPI_Bcast:1", "0" },
  { "MPI_Ibcast:1", "1" },
  { "MPI_Ibcast:3", "0" },
  { "MPI_Iallgather:1", "0" },
  { "MPI_Iallgather:2", "1" },
  { "MPI_Comm_split:1", "1" },
  { "MPI_Comm_split:2", "0" },
  { "MPI_Isend:2", "1" },
  { "MPI_Irecv:1", "1" },
  { "MPI_Iallgather:3", "1", .mode = TD_CLUSTER_IFDK },
  { "MPI_Irecv:1", "0", .mode = TD_CLUSTER_IFDK },
  { "MPI_Ibarrier:2", "0", TRUE },
  { "MPI_Comm_free:2", "0", TRUE },
  { "MPI_Comm_free:2", "1", TRUE },
  { "MPI_Finalize:1", "1", TRUE },
  { "MPI_Init_thread:1", "1", .killed = TRUE, .early = TRUE },
  { "MPI_Comm_dup:1", "0", .killed = TRUE, .early = TRUE },
  { "MPI_Iallgather:1", "0", .killed = TRUE },
  { "MPI_Comm_split:2", "1", .killed = TRUE },
  { "MPI_Isend:2", "0", .killed = TRUE },
  { "MPI_Irecv:1", "1", .killed = TRUE },
  { "MPI_Irecv:1", "0", .killed = TRUE, .mode = TD_CLUSTER_IFDK },
  { "MPI_Iallgather:3", "0", .killed = TRUE },
  { "MPI_Ibarrier:2", "1", TRUE, .killed = TRUE },
  { "MPI_Finalize:1", "0", TRUE, .killed = TRUE },
};
#define QUICK_HANGS 2

static void
test_hang (gconstpointer data)
{
  const guint at = GPOINTER_TO_UINT (data);
  const Case test = { 2,      hangs[at].mode ? 2 : 1, hangs[at].mode ? 1 : 2, TRUE, "full",
                      "host", .mode = hangs[at].mode };
  const TdClusterWish wish = { .view_slice = -1 };
  /* A busy computer takes longer for a start that does not hang. */
  const gboolean starts = g_str_has_prefix (hangs[at].call, "MPI_Init_thread")
                          || g_str_has_prefix (hangs[at].call, "MPI_Comm_dup");
  g_autofree char *single = single_volume (&test);
  g_auto (GStrv) environment = g_get_environ ();
  const char *const variables[][2] = { { "LD_PRELOAD", g_getenv ("TOMODESK_STOP_AT") },
                                       { "STOP_AT", hangs[at].call },
                                       { "STOP_RANK", hangs[at].rank },
                                       { "STOP_BY", hangs[at].killed ? "9" : "19" },
                                       { "TOMODESK_START_S", starts ? "3" : "300" },
                                       { "TOMODESK_END_S", "3" },
                                       { "TOMODESK_SILENCE_S", "5" } };
  g_auto (Work) work;

  for (guint i = 0; i < G_N_ELEMENTS (variables); i++)
    environment = g_environ_setenv (environment, variables[i][0], variables[i][1], TRUE);
  g_test_message ("rank %s, %s%s", hangs[at].rank, hangs[at].call,
                  hangs[at].killed ? ", killed" : "");
  work_submit (&work, &test, &wish);
  work_start_in (&work, test.ranks, environment);
  work_wait (&work);
  g_assert_cmpuint (count_ranks (&work, test.ranks), ==, 0);
  g_autoptr (JsonNode) failed = work_event (&work, "failed"), done = work_event (&work, "done");
  if (hangs[at].done) {
    g_assert_null (failed);
    g_assert_nonnull (done);
  } else {
    g_assert_null (done);
    g_assert_true (hangs[at].early == (failed == NULL));
    if (failed) {
      g_test_message ("%s", td_json_string (failed, "text"));
      g_assert_cmpuint (strlen (td_json_string (failed, "text")), >, 20);
    }
    g_assert_cmpint (work.status, !=, 0);
    g_assert_false (g_file_test (work.output, G_FILE_TEST_EXISTS));
    work_start (&work, test.ranks);
    work_wait (&work);
    work_assert_done (&work);
  }
  assert_same (work.output, single, TRUE);
}

static void
test_cancel (void)
{
  g_auto (Work) work;

  work_submit (&work, &held_case, &held_wish);
  work_start_held (&work, held_case.ranks, "7");
  g_assert_true (work_await (&work, reads));
  work_cancel (&work);
  work_wait (&work);
  g_assert_cmpint (work.status, ==, 75);
  work_assert_soon (&work);
  g_assert_cmpuint (count_ranks (&work, held_case.ranks), ==, 0);
  g_autoptr (JsonNode) cancelled = work_event (&work, "cancelled");
  g_assert_nonnull (cancelled);
  g_autoptr (GDir) dir = g_dir_open (work.folder, 0, NULL);
  for (const char *name; (name = g_dir_read_name (dir));)
    g_assert_false (g_str_has_prefix (name, "volume"));
}

/* All that the volume and its part take in @folder. */
static guint64
count_volume (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  guint64 n = 0;

  for (const char *name; (name = g_dir_read_name (dir));)
    n += g_str_has_prefix (name, "volume");
  return n;
}

/* Ranks that are cancelled while they write to a slow disk write no more, and leave nothing. A
   folder into which somebody still writes would stay. Each write takes a second, however many
   there are at once: that is the computer's. */
static void
test_cancel_writing (gconstpointer format)
{
  g_autoptr (TestFolder) disk = test_folder_new ();
  g_auto (GStrv) environment = g_get_environ ();
  Case test = held_case;
  g_auto (Work) work;

  test.format = format;
  work_submit_to (&work, disk->path, &test, &held_wish);
  environment
      = g_environ_setenv (environment, "LD_PRELOAD", g_getenv ("TOMODESK_SLOW_STORAGE"), TRUE);
  environment = g_environ_setenv (environment, "SLOW_STORAGE", work.output, TRUE);
  environment = g_environ_setenv (environment, "SLOW_LATENCY", "1000", TRUE);
  if (strcmp (format, "tiff") == 0) { /* of the others all ranks wait for the first write */
    g_autofree char *flag = g_build_filename (work.folder, "cancel", NULL);
    environment = g_environ_setenv (environment, "SLOW_UNTIL", flag, TRUE);
  }
  work_start_in (&work, test.ranks, environment);
  g_assert_true (work_await (&work, computes));
  g_usleep (G_USEC_PER_SEC);
  work_cancel (&work);
  work_wait (&work);
  g_assert_cmpint (work.status, ==, 75);
  work_assert_soon (&work);
  g_assert_cmpuint (count_ranks (&work, test.ranks), ==, 0);
  g_assert_cmpuint (count_volume (disk->path), ==, 0);
  g_autoptr (JsonNode) cancelled = work_event (&work, "cancelled");
  g_assert_nonnull (cancelled);
  g_assert_cmpuint (td_json_count (cancelled, "ended_by_force"), ==, 0);
}

static void
fill_disk (const char *path)
{
  static const char zeros[65536];
  const int file = open (path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

  for (gsize bytes = sizeof zeros; bytes > 0;)
    if (write (file, zeros, bytes) <= 0)
      bytes /= 2;
  close (file);
}

static const struct {
  const char *format, *processors; /* that ranks see: with many they map what lies in memory */
} full_disks[] = { { "tiff", "2" },    { "bigtiff", "8" }, { "hdf5", "8" },
                   { "bigtiff", "2" }, { "hdf5", "2" },    { "tiff", "8" } };
#define QUICK_FULL_DISKS 2

/* Another program fills the disk of the volume while ranks read, which takes until it is full. All
   of them end, the reason is told, and once there is room the job goes on. */
static void
test_disk_fills (gconstpointer data)
{
  const guint at = GPOINTER_TO_UINT (data);
  g_autoptr (TestFolder) disk = test_folder_new ();
  g_autofree char *filler = test_folder_file (disk, "filler");
  g_autofree char *preload = g_strdup_printf ("%s:%s", g_getenv ("TOMODESK_SLOW_STORAGE"),
                                              g_getenv ("TOMODESK_FAIL_AT"));
  g_auto (GStrv) environment = g_get_environ ();
  Case test = held_case;
  g_auto (Work) work;

  if (mount ("tmpfs", disk->path, "tmpfs", 0, "size=4m") != 0) { /* for a volume of 1 MiB */
    g_test_skip ("only root may mount a small disk");
    return;
  }
  test.format = full_disks[at].format;
  g_autofree char *single = single_volume (&test), *scan = scan_path (test.scan);
  work_submit_to (&work, disk->path, &test, &held_wish);
  g_autofree char *full = g_build_filename (work.folder, "full", NULL);
  /* Ten views, none of which is looked at when the scan is opened. */
  g_autofree char *late = g_build_filename (scan, "projections", "projection_0012", NULL);
  const char *const variables[][2] = { { "LD_PRELOAD", preload },
                                       { "FAIL_PROCESSORS", full_disks[at].processors },
                                       { "SLOW_STORAGE", late },
                                       { "SLOW_UNTIL", full } };
  for (guint i = 0; i < G_N_ELEMENTS (variables); i++)
    environment = g_environ_setenv (environment, variables[i][0], variables[i][1], TRUE);
  work_start_in (&work, test.ranks, environment);
  g_assert_true (work_await (&work, reads));
  fill_disk (filler);
  g_assert_true (g_file_set_contents (full, "", 0, NULL));
  work_wait (&work);
  g_autoptr (JsonNode) failed = work_event (&work, "failed");
  /* Some was taken ahead, and an HDF5 file has some for what is no sample. */
  const gboolean room = full_disks[at].processors[0] == '8' || strcmp (test.format, "hdf5") == 0;
  g_assert_true (room || failed);
  if (failed) {
    g_assert_cmpint (work.status, !=, 0);
    g_assert_nonnull (strstr (td_json_string (failed, "text"), "the disk is full"));
    g_assert_cmpuint (count_ranks (&work, test.ranks), ==, 0);
    g_assert_false (g_file_test (work.output, G_FILE_TEST_EXISTS));
    g_remove (filler);
    work_start (&work, test.ranks);
    work_wait (&work);
  }
  work_assert_done (&work);
  assert_same (work.output, single, TRUE);
  g_assert_cmpint (umount (disk->path), ==, 0);
}

/* The disk is full from some write on. */
static void
test_disk_full (void)
{
  g_auto (GStrv) environment = g_get_environ ();
  g_auto (Work) work;

  work_submit (&work, &held_case, &held_wish);
  environment = g_environ_setenv (environment, "LD_PRELOAD", g_getenv ("TOMODESK_FAIL_AT"), TRUE);
  environment = g_environ_setenv (environment, "FAIL_AT", "write:12+", TRUE);
  environment = g_environ_setenv (environment, "FAIL_UNDER", work.folder, TRUE);
  work_start_in (&work, held_case.ranks, environment);
  work_wait (&work);
  g_assert_cmpint (work.status, !=, 0);
  g_assert_cmpfloat (work.taken, <, 60);
  g_assert_false (g_file_test (work.output, G_FILE_TEST_EXISTS));
}

int
main (int argc, char **argv)
{
  static const guint ranks[] = { 1, 2, 3, 4, 6 };

  g_test_init (&argc, &argv, NULL);
  if (!g_getenv ("TOMODESK_MPIRUN")) {
    g_print ("1..0 # SKIP mpirun is not installed\n");
    return 0;
  }
  g_setenv ("OMPI_ALLOW_RUN_AS_ROOT", "1", TRUE);
  g_setenv ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", TRUE);
  g_setenv ("OMPI_MCA_rmaps_base_oversubscribe", "1", TRUE);
  home = test_folder_new ();
  if (argc > 1 && strcmp (argv[1], "memory") == 0) {
    g_test_add_func ("/worker/memory", test_memory);
    const int status = g_test_run ();
    test_folder_free (home);
    return status;
  }
  for (guint i = 0; g_test_slow () && i < G_N_ELEMENTS (ranks); i++) {
    g_autofree char *name = g_strdup_printf ("/worker/grids/%u", ranks[i]);
    g_test_add_data_func (name, GUINT_TO_POINTER (ranks[i]), test_grids);
    g_autofree char *other = g_strdup_printf ("/worker/grids-opencl/%u", ranks[i]);
    g_test_add_data_func (other, GUINT_TO_POINTER (ranks[i]), test_grids_opencl);
  }
  g_test_add_func ("/worker/few-grids", test_few_grids);
  g_test_add_func ("/worker/opencl", test_opencl);
  g_test_add_func ("/worker/half", test_half);
  g_test_add_func ("/worker/mixed", test_mixed);
  if (g_test_slow ())
    g_test_add_func ("/worker/scans", test_scans);
  g_test_add_func ("/worker/parallel", test_parallel);
  g_test_add_func ("/worker/iterative", test_iterative);
  g_test_add_func ("/worker/iterative-again", test_iterative_again);
  if (g_test_slow ())
    g_test_add_func ("/worker/formats", test_formats);
  g_test_add_func ("/worker/slice-first", test_slice_first);
  g_test_add_func ("/worker/notes", test_notes);
  g_test_add_func ("/worker/idle-ranks", test_idle_ranks);
  g_test_add_func ("/worker/wisdom", test_wisdom);
  g_test_add_func ("/worker/shares", test_shares);
  g_test_add_func ("/worker/unreadable", test_unreadable);
  g_test_add_func ("/worker/unreadable-late", test_unreadable_late);
  if (g_test_slow ())
    g_test_add_func ("/worker/benchmark", test_benchmark);
  for (guint i = 0; i < (g_test_slow () ? G_N_ELEMENTS (refused) : QUICK_REFUSED); i++) {
    g_autofree char *name = g_strconcat ("/worker/refused/", refused[i].name, NULL);
    g_test_add_data_func (name, GUINT_TO_POINTER (i), test_refused);
  }
  for (guint i = 0; i < (g_test_slow () ? G_N_ELEMENTS (deaths) : QUICK_DEATHS); i++) {
    g_autofree char *name = g_strconcat ("/worker/death/", deaths[i].name, NULL);
    g_test_add_data_func (name, GUINT_TO_POINTER (i), test_death);
  }
  for (guint i = 0; i < (g_test_slow () ? G_N_ELEMENTS (hangs) : QUICK_HANGS); i++) {
    g_autofree char *name = g_strdup_printf ("/worker/hang/%u", i);
    g_test_add_data_func (name, GUINT_TO_POINTER (i), test_hang);
  }
  g_test_add_func ("/worker/silence", test_silence);
  g_test_add_func ("/worker/cancel", test_cancel);
  g_test_add_func ("/worker/disk-full", test_disk_full);
  g_test_add_data_func ("/worker/cancel-writing/tiff", "tiff", test_cancel_writing);
  if (g_test_slow ()) {
    g_test_add_data_func ("/worker/cancel-writing/bigtiff", "bigtiff", test_cancel_writing);
    g_test_add_data_func ("/worker/cancel-writing/hdf5", "hdf5", test_cancel_writing);
  }
  for (guint i = 0; i < (g_test_slow () ? G_N_ELEMENTS (full_disks) : QUICK_FULL_DISKS); i++) {
    g_autofree char *name = g_strdup_printf ("/worker/disk-fills/%s/%s", full_disks[i].format,
                                             full_disks[i].processors);
    g_test_add_data_func (name, GUINT_TO_POINTER (i), test_disk_fills);
  }
  const int status = g_test_run ();
  test_folder_free (home);
  return status;
}
