/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs by several ranks of this machine, as mpirun starts them: the volume is that of a single
   process, whatever the grid; and a job that cannot be done ends, says why, and goes on later. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "cluster/job-file.h"
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
  { "offset", "--cone --columns 36 --rows 20 --views 64 --detector-offset-u 9" },
  { "long", "--cone --columns 220 --rows 220 --views 440 --logged" },
};

static void
run_cli (const char *words)
{
  g_autofree char *line = g_strdup_printf ("%s %s", g_getenv ("TOMODESK_CLI"), words);
  g_auto (GStrv) argv = NULL;
  g_autofree char *said = NULL;
  g_autoptr (GError) error = NULL;
  int status;

  g_assert_true (g_shell_parse_argv (line, NULL, &argv, &error));
  g_spawn_sync (home->path, argv, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, &said,
                &status, &error);
  g_assert_no_error (error);
  if (status != 0)
    g_error ("%s: %s", line, said);
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
  int status;   /* exit status of mpirun; -1: by a signal */
  double taken; /* seconds */
} Work;

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

static void
work_submit (Work *work, const Case *test, const TdClusterWish *wish)
{
  static guint number;
  g_auto (TdJobFile) job;
  g_autoptr (GError) error = NULL;

  *work = (Work) { 0 };
  td_job_file_init (&job);
  job.id = g_strdup_printf ("20261122-120000-%08u", number++);
  work->folder = test_folder_file (home, job.id);
  work->output = case_volume (test, work->folder, "volume");
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
  job.cluster.device = g_strdup (test->device);
  job.cluster.rows = test->rows;
  job.cluster.columns = test->columns;
  job.cluster.ordered = test->ordered;
  g_assert_true (td_job_file_save (&job, work->folder, &error));
}

static void
work_start (Work *work, guint ranks, const char *preload)
{
  g_autofree char *n = g_strdup_printf ("%u", ranks);
  g_auto (GStrv) environment = g_get_environ ();
  const char *argv[] = { g_getenv ("TOMODESK_MPIRUN"), "--bind-to", "none",       "-n", n,
                         g_getenv ("TOMODESK_WORKER"), "run",       work->folder, NULL };
  g_autoptr (GError) error = NULL;

  if (preload)
    environment = g_environ_setenv (environment, "LD_PRELOAD", preload, TRUE);
  g_spawn_async (NULL, (char **) argv, environment,
                 G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL
                     | G_SPAWN_STDERR_TO_DEV_NULL,
                 NULL, NULL, &work->pid, &error);
  g_assert_no_error (error);
}

/* A job that has not ended by then never will. */
#define LONGEST_S 120

static void
work_wait (Work *work)
{
  const gint64 start = g_get_monotonic_time ();
  int status;
  pid_t ended;

  while ((ended = waitpid (work->pid, &status, WNOHANG)) == 0
         && g_get_monotonic_time () - start < LONGEST_S * G_USEC_PER_SEC)
    g_usleep (20000);
  if (ended == 0) {
    kill (work->pid, SIGKILL);
    g_error ("%s: the job hangs", work->folder);
  }
  work->taken = (g_get_monotonic_time () - start) * 1e-6;
  work->status = WIFEXITED (status) ? WEXITSTATUS (status) : -1;
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

static void
work_assert_done (const Work *work)
{
  g_autoptr (JsonNode) done = work_event (work, "done"), failed = work_event (work, "failed");

  if (work->status != 0)
    g_error ("%s: status %d: %s", work->folder, work->status,
             failed ? td_json_string (failed, "text") : "no reason");
  g_assert_nonnull (done);
  g_assert_cmpstr (td_json_string (done, "output"), ==, work->output);
  g_autofree char *part = g_path_get_basename (work->folder);
  g_autofree char *left = g_strconcat (work->output, ".", part, ".part", NULL);
  g_assert_false (g_file_test (left, G_FILE_TEST_EXISTS));
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

static void
check_case (const Case *test)
{
  const TdClusterWish wish = { .view_slice = -1 };
  g_autofree char *single = single_volume (test);
  g_auto (Work) work;

  g_test_message ("%u ranks, %u x %u%s, %s on %s %s", test->ranks, test->rows, test->columns,
                  test->ordered ? " in order" : "", test->scan, test->device,
                  test->recipe ? test->recipe : "");
  work_submit (&work, test, &wish);
  work_start (&work, test->ranks, NULL);
  work_wait (&work);
  work_assert_done (&work);
  assert_same (work.output, single, test->ordered || test->columns == 1);
}

/* Every grid of these ranks, as sums and in order. */
static void
test_grids (gconstpointer data)
{
  const guint ranks = GPOINTER_TO_UINT (data);

  for (guint rows = 1; rows <= ranks; rows++)
    for (guint ordered = 0; ranks % rows == 0 && ordered < 2; ordered++)
      check_case (&(Case) { ranks, rows, ranks / rows, ordered, "full", "host", NULL, NULL });
}

static void
test_opencl (void)
{
  static const Case cases[] = {
    { 2, 1, 2, FALSE, "full", "opencl:0", NULL, NULL },
    { 2, 2, 1, FALSE, "full", "opencl:0", NULL, NULL },
    { 4, 2, 2, FALSE, "offset", "opencl:0", NULL, NULL },
    { 4, 2, 2, TRUE, "full", "opencl:0", "--kernel standard", NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    check_case (&cases[i]);
}

static void
test_scans (void)
{
  static const Case cases[] = {
    { 4, 2, 2, FALSE, "short", "host", NULL, NULL },
    { 3, 1, 3, TRUE, "short", "host", NULL, NULL },
    { 4, 2, 2, FALSE, "offset", "host", NULL, NULL },
    { 4, 1, 4, TRUE, "offset", "host", NULL, NULL },
    { 3, 3, 1, FALSE, "full", "host", "--prepare rings", NULL }, /* all views of a row */
    { 2, 1, 2, TRUE, "full", "host", "--rows 5:17 --views 3:40", NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    check_case (&cases[i]);
}

static void
test_formats (void)
{
  static const Case cases[] = {
    { 3, 3, 1, FALSE, "full", "host", NULL, "tiff" },
    { 3, 3, 1, FALSE, "full", "host", NULL, "hdf5" },
    { 2, 2, 1, FALSE, "full", "host", "--bits 16", "hdf5" },
    { 2, 2, 1, FALSE, "full", "host", "--bits 8", "bigtiff" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    check_case (&cases[i]);
}

/* Rows are handed out; a slab of them is a slab of a parallel beam. */
static void
test_parallel (void)
{
  static const Case cases[] = {
    { 3, 0, 0, FALSE, "parallel", "host", NULL, NULL },
    { 2, 0, 0, FALSE, "parallel", "opencl:0", NULL, "tiff" },
    { 3, 0, 0, FALSE, "parallel", "host", "--prepare rings --rows 3:20", "hdf5" },
  };

  for (TdClusterMode mode = TD_CLUSTER_SLAB; mode <= TD_CLUSTER_SLICES; mode += TD_CLUSTER_SLICES)
    for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
      const TdClusterWish wish = { .mode = mode, .view_slice = 7 };
      g_autofree char *single = single_volume (&cases[i]);
      g_auto (Work) work;

      work_submit (&work, &cases[i], &wish);
      work_start (&work, cases[i].ranks, NULL);
      work_wait (&work);
      work_assert_done (&work);
      assert_same (work.output, single, FALSE);
      g_autoptr (JsonNode) slice = work_event (&work, "slice");
      g_assert_nonnull (slice);
    }
}

/* ── What a job tells ── */

static void
test_slice_first (void)
{
  static const Case test = { 4, 2, 2, TRUE, "full", "host", NULL, NULL };
  const TdClusterWish wish = { .view_slice = 18 };
  g_autofree char *single = single_volume (&test);
  gsize n, n_slice;
  g_auto (Work) work;

  work_submit (&work, &test, &wish);
  g_autofree char *machine = g_build_filename (work.folder, "machine.txt", NULL);
  g_assert_true (g_file_set_contents (machine, "ranks:4 update:1G", -1, NULL));
  work_start (&work, test.ranks, NULL);
  work_wait (&work);
  work_assert_done (&work);
  g_autoptr (JsonNode) done = work_event (&work, "done");
  g_assert_cmpfloat (td_json_number (done, "predicted/back-project"), >, 0);
  g_assert_cmpfloat (td_json_number (done, "stages/back-project"), >, 0);
  g_autoptr (JsonNode) event = work_event (&work, "slice"), part = work_event (&work, "part");
  g_assert_nonnull (event);
  g_assert_cmpuint (td_json_count (event, "index"), ==, 18);
  g_assert_cmpfloat (td_json_number (event, "time"), <=, td_json_number (part, "time"));
  g_autofree char *path = g_build_filename (work.folder, td_json_string (event, "path"), NULL);
  g_autofree float *slice = read_volume (path, &n_slice), *volume = read_volume (single, &n);
  g_assert_cmpmem (slice, n_slice * sizeof *slice, volume + 18 * n_slice, n_slice * sizeof *slice);
}

static void
test_idle_ranks (void)
{
  static const Case test = { 3, 0, 0, FALSE, "full", "host", "--rows 5:7 --prepare rings", NULL };
  const TdClusterWish wish = { .view_slice = -1 };
  g_autofree char *single = single_volume (&test);
  g_auto (Work) work;

  work_submit (&work, &test, &wish);
  work_start (&work, test.ranks, NULL);
  work_wait (&work);
  work_assert_done (&work);
  assert_same (work.output, single, TRUE);
  g_autoptr (JsonNode) note = work_event (&work, "note");
  g_assert_nonnull (strstr (td_json_string (note, "text"), "Ranks 2 to 2"));
}

static const struct {
  const char *name;
  Case test;
  const char *mentions;
} refused[] = {
  { "ranks", { 2, 2, 2, FALSE, "full", "host", NULL, NULL }, "needs 4 ranks" },
  { "slices", { 3, 3, 1, FALSE, "full", "host", "--rows 5:7", NULL }, "2 slices" },
  { "steps", { 2, 1, 2, FALSE, "full", "host", "--prepare rings", NULL }, "rings" },
  { "device", { 2, 0, 0, FALSE, "full", "opencl:97", NULL, NULL }, "opencl:97" },
  { "scan", { 2, 0, 0, FALSE, "absent", "host", NULL, NULL }, "absent" },
};

static void
test_refused (gconstpointer data)
{
  const guint at = GPOINTER_TO_UINT (data);
  const TdClusterWish wish = { .view_slice = -1 };
  g_auto (Work) work;

  work_submit (&work, &refused[at].test, &wish);
  work_start (&work, refused[at].test.ranks, NULL);
  work_wait (&work);
  g_assert_cmpint (work.status, ==, 1);
  g_autoptr (JsonNode) failed = work_event (&work, "failed");
  g_assert_nonnull (failed);
  g_assert_nonnull (strstr (td_json_string (failed, "text"), refused[at].mentions));
  g_assert_false (g_file_test (work.output, G_FILE_TEST_EXISTS));
}

/* ── Faults ── */

/* Slabs of a few slices, so that the job takes its time. */
static const TdClusterWish long_wish = { .view_slice = -1, .memory_bytes = 128 << 20 };
static const Case long_case = { 4, 2, 2, TRUE, "long", "host", NULL, NULL };

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
} deaths[] = {
  { "planning", has_ranks, 1 },
  { "computing", computes, 2 },
  { "computing-first", computes, 0 },
  { "storing", has_part, 3 },
};

static gboolean
work_runs (const Work *work)
{
  siginfo_t info = { 0 };

  return waitid (P_PID, (id_t) work->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0
         && info.si_pid == 0;
}

/* TRUE: the moment came before the job's end. */
static gboolean
work_await (const Work *work, gboolean (*when) (const Work *work))
{
  gboolean came = FALSE;

  while (!came && work_runs (work)) {
    came = when (work);
    g_usleep (5000);
  }
  return came;
}

/* A rank that is killed ends the job within 10 s, and it is told. No volume has its final name. The
   same job then goes on. */
static void
test_death (gconstpointer data)
{
  const guint at = GPOINTER_TO_UINT (data);
  g_autofree char *single = single_volume (&long_case);
  g_auto (Work) work;

  work_submit (&work, &long_case, &long_wish);
  work_start (&work, long_case.ranks, NULL);
  g_assert_true (work_await (&work, deaths[at].when));
  const pid_t victim = find_rank (&work, deaths[at].rank);
  g_assert_cmpint (victim, >, 0);
  kill (victim, SIGKILL);
  work_wait (&work);
  g_test_message ("ended after %.1f s", work.taken);
  g_assert_cmpint (work.status, !=, 0);
  g_assert_cmpfloat (work.taken, <, 10);
  g_assert_cmpuint (count_ranks (&work, long_case.ranks), ==, 0);
  g_autoptr (JsonNode) failed = work_event (&work, "failed");
  g_assert_nonnull (failed);
  g_assert_cmpuint (strlen (td_json_string (failed, "text")), >, 20);
  g_assert_false (g_file_test (work.output, G_FILE_TEST_EXISTS));

  work_start (&work, long_case.ranks, NULL);
  work_wait (&work);
  work_assert_done (&work);
  assert_same (work.output, single, TRUE);
}

/* A rank that hangs is as good as dead. */
static void
test_hang (void)
{
  g_auto (Work) work;

  work_submit (&work, &long_case, &long_wish);
  work_start (&work, long_case.ranks, NULL);
  g_assert_true (work_await (&work, computes));
  const pid_t victim = find_rank (&work, 1);
  kill (victim, SIGSTOP);
  work_wait (&work);
  kill (victim, SIGKILL);
  g_assert_cmpint (work.status, !=, 0);
  g_autoptr (JsonNode) failed = work_event (&work, "failed");
  g_assert_nonnull (failed);
  g_assert_nonnull (strstr (td_json_string (failed, "text"), "Rank 1 has not been heard of"));
}

static void
test_cancel (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Work) work;

  work_submit (&work, &long_case, &long_wish);
  work_start (&work, long_case.ranks, NULL);
  g_assert_true (work_await (&work, computes));
  g_assert_true (td_job_ask_cancel (work.folder, &error));
  work_wait (&work);
  g_assert_cmpint (work.status, ==, 75);
  g_assert_cmpfloat (work.taken, <, 10);
  g_assert_cmpuint (count_ranks (&work, long_case.ranks), ==, 0);
  g_autoptr (JsonNode) cancelled = work_event (&work, "cancelled");
  g_assert_nonnull (cancelled);
  g_autoptr (GDir) dir = g_dir_open (work.folder, 0, NULL);
  for (const char *name; (name = g_dir_read_name (dir));)
    g_assert_false (g_str_has_prefix (name, "volume"));
}

/* The disk is full from some write on. */
static void
test_disk_full (void)
{
  const char *preload = g_getenv ("TOMODESK_FAIL_AT");
  g_auto (Work) work;

  work_submit (&work, &long_case, &long_wish);
  g_setenv ("FAIL_AT", "write:12+", TRUE);
  g_setenv ("FAIL_UNDER", work.folder, TRUE);
  work_start (&work, long_case.ranks, preload);
  g_unsetenv ("FAIL_AT");
  g_unsetenv ("FAIL_UNDER");
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
  for (guint i = 0; i < G_N_ELEMENTS (ranks); i++) {
    g_autofree char *name = g_strdup_printf ("/worker/grids/%u", ranks[i]);
    g_test_add_data_func (name, GUINT_TO_POINTER (ranks[i]), test_grids);
  }
  g_test_add_func ("/worker/opencl", test_opencl);
  g_test_add_func ("/worker/scans", test_scans);
  g_test_add_func ("/worker/parallel", test_parallel);
  g_test_add_func ("/worker/formats", test_formats);
  g_test_add_func ("/worker/slice-first", test_slice_first);
  g_test_add_func ("/worker/idle-ranks", test_idle_ranks);
  for (guint i = 0; i < G_N_ELEMENTS (refused); i++) {
    g_autofree char *name = g_strconcat ("/worker/refused/", refused[i].name, NULL);
    g_test_add_data_func (name, GUINT_TO_POINTER (i), test_refused);
  }
  for (guint i = 0; i < G_N_ELEMENTS (deaths); i++) {
    g_autofree char *name = g_strconcat ("/worker/death/", deaths[i].name, NULL);
    g_test_add_data_func (name, GUINT_TO_POINTER (i), test_death);
  }
  g_test_add_func ("/worker/hang", test_hang);
  g_test_add_func ("/worker/cancel", test_cancel);
  g_test_add_func ("/worker/disk-full", test_disk_full);
  const int status = g_test_run ();
  test_folder_free (home);
  return status;
}
