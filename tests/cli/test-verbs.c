/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each verb prints of small scans and writes as a text, compared with what it was when
   somebody last looked (tests/pins). Here only the status is asked. */
#include <string.h>

#include <glib/gstdio.h>

#include "tests/common/cli.h"
#include "tests/common/pins.h"
#include "tests/unit/test-folder.h"

static TestFolder *verbs_folder;

typedef enum {
  EXACT,
  TIMED,
  ABOVE, /* what is told of the best time has a plus */
} Times;

/* Where something is timed, numbers are "#", but for whole ones of JSON, and so is what took
   longest. Of the lab's table just the numbers between kernel and error are. */
static char *
verbs_without_times (const char *line, Times times)
{
  const gboolean row = g_regex_match_simple ("^[0-9] host", line, 0, 0);
  const gboolean limit = g_regex_match_simple ("^ *\"limit\" : \"", line, 0, 0);
  const gboolean whole = g_regex_match_simple ("^ *\"(?!\\w*bytes)\\w+\" : [0-9]+,?$", line, 0, 0);
  g_autoptr (GRegex) of_row = g_regex_new ("(?<=single)(\\s+[0-9.]+){4}", 0, 0, NULL);
  g_autoptr (GRegex) number = g_regex_new (times == ABOVE ? " *(\\+?)-?[0-9][0-9.]*(e[-+][0-9]+)?"
                                                          : " *()[-+]?[0-9][0-9.]*(e[-+][0-9]+)?",
                                           0, 0, NULL);

  return row               ? g_regex_replace_literal (of_row, line, -1, 0, " #", 0, NULL)
         : times && limit  ? g_strdup ("\"limit\" : #")
         : times && !whole ? g_regex_replace (number, line, -1, 0, " \\1#", 0, NULL)
                           : g_strdup (line);
}

static void
verbs_pin (const char *what, const char *text, Times times)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (guint i = 0; lines[i]; i++) {
    g_autofree char *line = verbs_without_times (lines[i], times);
    if (g_strchomp (line)[0] && !strstr (line, g_get_host_name ()) && !strstr (line, "Stages: "))
      td_test_pin ("%s %s", what, line);
  }
}

static void
verbs_run (const char *line, int status)
{
  const gboolean timed = g_str_has_prefix (line, "bench") || g_str_has_prefix (line, "tune");
  const Times times = g_str_has_prefix (line, "bench --prepare") ? ABOVE : timed ? TIMED : EXACT;
  g_auto (TdTestRun) run = { 0 };

  td_test_pin ("run %s", line);
  td_test_cli_line (&run, verbs_folder->path, line);
  verbs_pin ("out", run.out, times);
  verbs_pin ("error", run.error, EXACT);
  g_assert_cmpint (run.status, ==, status);
}

/* A text that was written. */
static void
verbs_look_at (const char *name)
{
  g_autofree char *path = g_build_filename (verbs_folder->path, name, NULL);
  g_autofree char *text = NULL;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  char *times = strstr (text, "M694.00 346.00L"); /* the chart of times, the last one */
  if (times)
    *times = 0;
  g_autoptr (GString) spaced = g_string_new (text);
  if (g_str_has_suffix (name, ".csv"))
    g_string_replace (spaced, ",", ", ", 0); /* a word a cell */
  verbs_pin (name, spaced->str, EXACT);
}

/* The others use what this one makes. */
static void
test_phantom (void)
{
  verbs_run ("phantom discs --output par.nxs --columns 48 --rows 4 --views 40 --pixel-mm 0.02"
             " --photons 20000 --seed 3",
             0);
  verbs_run ("phantom ellipsoids --cone --output cone.nxs --columns 24 --rows 16 --views 36", 0);
  verbs_run ("phantom discs --cone --output fan --columns 24 --rows 1 --views 30", 0);
  verbs_run ("phantom discs --output half.nxs --columns 24 --rows 2 --views 40 --range 360"
             " --centre 19.5 --offset-field --logged",
             0);
  verbs_run ("phantom disc --output rows --columns 16 --rows 4 --views 4 --logged", 0);
  verbs_run ("phantom discs --output poor --columns 24 --rows 6 --views 30 --attenuation 1"
             " --counts 5000 --dark-counts 90 --hardening 0.2 --tilt 1 --first-angle 20",
             0);
  verbs_run ("phantom ellipsoids --cone --output aside --columns 16 --rows 8 --views 12"
             " --detector-offset-u 2 --detector-offset-v 1 --detector-tilt 1,2,3",
             0);
  verbs_run ("phantom discs --cone --output wobble --columns 16 --rows 8 --views 12"
             " --wobble-mm 0.5",
             0);
}

static void
test_scans (void)
{
  static const char *const lines[] = {
    "info par.nxs",
    "info par.nxs --json",
    "info par.nxs --advice",
    "info cone.nxs",
    "info cone.nxs --json",
    "info fan",
    "info fan --json",
    "info half.nxs",
    "info half.nxs --json",
    "info rows --sinograms --angles 0:180",
    "info rows --sinograms --angles 0:180 --json",
    "info poor",
    "info aside",
    "info wobble",
    "info wobble --advice --json",
    "plan par.nxs --device host --bits 16",
    "plan par.nxs --device host --json",
    "plan par.nxs --device host --method sirt --iterations 5 --json",
    "plan par.nxs --device host --each-device",
    "plan par.nxs --device host --each-device --json",
    "plan cone.nxs --device host",
    "plan cone.nxs --device host --json",
    "plan fan --device host",
    "plan cone.nxs --device host --cluster local:4",
    "plan cone.nxs --device host --cluster local:4 --json",
    "plan par.nxs --device host --cluster local:2 --json",
  };

  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    verbs_run (lines[i], 0);
}

static void
test_volumes (void)
{
  static const char *const lines[] = {
    "reconstruct par.nxs --device host --output v.h5 --method fbp",
    "reconstruct par.nxs --device host --output v16 --bits 16 --range auto --method fbp --json",
    "reconstruct par.nxs --device host --output s.tif --method sirt --iterations 3",
    "reconstruct cone.nxs --device host --output c.tif --json",
    "reconstruct par.nxs --device host --output v.h5 --rows 1:3 --centre 23.25 --overwrite",
    "info v16 --volume",
    "info v16 --volume --json",
    "info v.h5 --volume",
    "slice v.h5",
    "slice v.h5 --json",
    "slice v16 --statistics",
    "slice c.tif --axis x --at 3 --output plane.png",
    "slice c.tif --axis y --output plane.tif --json",
    "reconstruct poor --device host --output p.tif --method fbp",
    "slice p.tif --statistics",
    "reconstruct aside --device host --output a.tif --method fdk",
    "slice a.tif --statistics",
    "compare s.tif v16",
    "compare s.tif v16 --circle 0.5 --json",
  };

  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    verbs_run (lines[i], 0);
  verbs_run ("compare s.tif v16 --limit 0.001", 1);
  verbs_run ("compare s.tif c.tif", 1);
  verbs_run ("slice v.h5 --at 9", 2);
  verbs_run ("slice v16 --output v16/slice_00000.tif --overwrite", 1);
  verbs_run ("compare v16 v16 --output v16/slice_00000.tif --overwrite", 1);
  verbs_run ("reconstruct par.nxs --device host --method sirt --start v16 "
             "--output v16/slice_00000.tif --overwrite",
             1);
}

static void
test_lab (void)
{
  verbs_run ("lab par.nxs --device host --variant '' --variant 'Soft: --filter hann'"
             " --variant '--interpolation nearest' --variant '--filter none' --csv lab.csv "
             "--picture lab.svg --save lab.json",
             0);
  verbs_look_at ("lab.csv");
  verbs_look_at ("lab.svg");
  verbs_look_at ("lab.json");
  verbs_run ("lab par.nxs --row 1 --variants lab.json --reference --json", 0);
  verbs_run ("lab par.nxs --device host --variant '' --variant '--filter hann' --budget --quick",
             0);
}

static void
test_devices (void)
{
  static const char *const lines[] = {
    "devices --device host",
    "devices --device host --json",
    "devices --device host --self-test",
    "devices --device host --self-test --json",
    "tune --device host --size 32 --runs 1",
    "tune --device host --size 32 --runs 1 --json",
    "bench --device host --size 16 --slices 1 --filter",
    "bench --device host --size 16 --slices 1,2 --csv",
    "bench --device host --size 16 --slices 1 --json",
    "bench --cone --device host --size 16 --views 16",
    "bench --cone --device host --size 16 --views 16 --json",
    "bench --cone --project --device host --size 16 --views 16",
    "bench --cone --project --device host --size 16 --views 16 --json",
    "bench --device host --size 16 --slices 1 --family host",
    "bench --cone --end-to-end --device host --size 16 --views 16 --runs 1 --notes",
    "bench --cone --end-to-end --device host --size 16 --views 16 --runs 1 --jobs-only --json",
    "bench --disk . --device host --in tiff --out hdf5 --depths 16 --columns 16 --rows-in-scan 8"
    " --views 12 --storage-mb 8 --runs 1",
    "bench --end-to-end --device host --columns 16 --rows-in-memory 2 --views 16",
    "bench --end-to-end --device host --columns 16 --rows-in-memory 2 --views 16 --json",
    "bench --prepare --device host --columns 32 --views 20 --step rings --json",
    "bench --disk . --device host --in tiff --out tiff --depths 8 --columns 16 --rows-in-scan 8"
    " --views 12 --storage-mb 8 --runs 1 --json",
    "bench --prepare --device host --columns 32 --views 20 --step rings --rings 0.01 --parts",
    "profiles",
    "profiles --json",
    "jobs",
    "jobs --json",
  };

  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    verbs_run (lines[i], 0);
}

/* Profiles, one of which is none, and a job as it is listed once it is done. */
static void
test_cluster (void)
{
  static const char *const profiles[][2] = {
    { "hall.ini", "[Profile]\nkind = local\nranks-per-node = 2\ndescription = Down the hall\n" },
    { "far.ini", "[Profile]\nkind = slurm\nhost = far\nnodes = 2\nranks-per-node = 4\n"
                 "worker = /opt/worker\n" },
    { "broken.ini", "[Profile]\n" },
  };
  g_autofree char *folder = g_build_filename (verbs_folder->path, "tomodesk", "profiles", NULL);
  g_auto (TdTestRun) job = { 0 };

  g_assert_cmpint (g_mkdir_with_parents (folder, 0700), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (profiles); i++) {
    g_autofree char *path = g_build_filename (folder, profiles[i][0], NULL);
    g_assert_true (g_file_set_contents (path, profiles[i][1], -1, NULL));
  }
  td_test_cli_line (&job, verbs_folder->path,
                    "submit rows --sinograms --angles 0:180 --device host --output job.tif"
                    " --profile here");
  g_assert_cmpint (job.status, ==, 0);
  verbs_run ("profiles", 0);
  verbs_run ("profiles --json", 0);
  g_autofree char *far = g_build_filename (folder, profiles[1][0], NULL);
  g_assert_cmpint (g_unlink (far), ==, 0); /* nobody is asked there */
  verbs_run ("jobs", 0);
  verbs_run ("jobs --json", 0);
  verbs_run ("cancel nothing", 1);
  verbs_run ("follow nothing", 1);
  verbs_run ("jobs --profile none", 2);
  verbs_run ("submit rows --output job.tif --profile none", 2);
}

/* What is refused says so in the name of its verb. */
static void
test_refused (void)
{
  static const char *const lines[] = {
    "lab par.nxs --row -2",
    "lab par.nxs --variants a --preset review",
    "bench --interpolation cubic",
    "bench --precision double",
    "bench --json --csv",
    "bench --model --csv",
    "bench --slices 1,2,999",
    "bench --prepare --rows 0",
    "bench --prepare --rings 2",
    "bench --prepare --json --csv",
    "bench --prepare --parts",
    "bench --cone --size 5000",
    "bench --cone --project --size 2000",
    "bench --cone --end-to-end --size 5000",
    "bench --cone --end-to-end --runs 0",
    "bench --end-to-end --columns 20000",
    "bench --disk nowhere",
    "bench --disk . --columns 1",
    "bench --disk . --storage-mb 1",
    "bench --disk . --json --csv",
    "bench --disk . --in png",
    "bench --disk . --depths 12",
    "plan par.nxs --sod-mm 5",
    "plan cone.nxs --sod-mm 300 --sdd-mm 200",
    "batch par.nxs",
    "batch par.nxs --output volumes --json --csv",
    "watch . --output volumes --settle -1",
    "phantom disc --output b --flats -1",
    "phantom disc --cone --output b --detector-tilt 1,2",
    "phantom cube --output b",
    "submit par.nxs --output b",
    "submit par.nxs --output b --profile local:2 --memory-limit 1G --device-memory-limit 1G",
    "submit par.nxs --output b --profile local:2 --cluster-mode cube",
    "submit par.nxs --output b --profile local:2 --grid 2",
    "devices --device cuda:99",
    "tune --device host --size 20000",
    "slice v.h5 --raw 10",
    "info par.nxs --volume --advice",
    "centre par.nxs --rows 1:3 --method eye",
    "centre par.nxs --picture trials.jpg",
    "centre par.nxs --crop 1,1,20,2",
  };

  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    verbs_run (lines[i], 2);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  verbs_folder = test_folder_new ();
  g_setenv ("XDG_CONFIG_HOME", verbs_folder->path, TRUE);
  g_setenv ("XDG_DATA_HOME", verbs_folder->path, TRUE);
  g_setenv ("XDG_CACHE_HOME", verbs_folder->path, TRUE); /* no rates are known, nothing is tuned */
  g_test_add_func ("/cli-verbs/phantom", test_phantom);
  g_test_add_func ("/cli-verbs/scans", test_scans);
  g_test_add_func ("/cli-verbs/volumes", test_volumes);
  g_test_add_func ("/cli-verbs/lab", test_lab);
  g_test_add_func ("/cli-verbs/devices", test_devices);
  g_test_add_func ("/cli-verbs/cluster", test_cluster);
  g_test_add_func ("/cli-verbs/refused", test_refused);
  const int status = g_test_run ();
  test_folder_free (verbs_folder);
  return status;
}
