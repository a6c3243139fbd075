/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options that do nothing, numbers that cannot be, and views by number: done, or refused with the
   option's name, never taken in silence. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/common/cli.h"
#include "tests/unit/test-folder.h"

static TestFolder *
make_scans (void)
{
  TestFolder *folder = test_folder_new ();
  g_autofree char *recipe = g_build_filename (folder->path, "iterations.json", NULL);
  g_auto (TdTestRun) parallel = { 0 }, cone = { 0 }, fan = { 0 }, shorter = { 0 }, wobble = { 0 };

  g_assert_true (g_file_set_contents (
      recipe, "{\"tomodesk_recipe\": 1, \"iterative\": {\"iterations\": 0}}", -1, NULL));
  td_test_cli (&parallel, folder->path, "phantom", "discs", "--output", "par.nxs", "--columns",
               "48", "--rows", "3", "--views", "40", NULL);
  td_test_cli (&cone, folder->path, "phantom", "ellipsoids", "--output", "cone.nxs", "--cone",
               "--columns", "24", "--rows", "16", "--views", "30", NULL);
  td_test_cli (&fan, folder->path, "phantom", "discs", "--output", "fan.nxs", "--cone", "--columns",
               "32", "--rows", "1", "--views", "30", NULL);
  td_test_cli (&shorter, folder->path, "phantom", "ellipsoids", "--output", "short.nxs", "--cone",
               "--columns", "24", "--rows", "16", "--views", "30", "--range", "90", NULL);
  td_test_cli (&wobble, folder->path, "phantom", "ellipsoids", "--output", "wobble", "--cone",
               "--columns", "24", "--rows", "16", "--views", "30", "--wobble-mm", "0.5", NULL);
  g_assert_cmpint (parallel.status | cone.status | fan.status | shorter.status | wobble.status, ==,
                   0);
  return folder;
}

typedef struct {
  const char *words[9];
  const char *says; /* NULL: done */
} Case;

static void
check_cases (const Case *cases, guint n, int status)
{
  g_autoptr (TestFolder) folder = make_scans ();

  for (guint i = 0; i < n; i++) {
    const char *const *w = cases[i].words;
    g_autofree char *line = g_strjoinv (" ", (char **) w);
    g_auto (TdTestRun) run = { 0 };

    g_test_message ("%s", line);
    td_test_cli (&run, folder->path, w[0], w[1], "--device", "host", w[2], w[3], w[4], w[5], w[6],
                 w[7], w[8], NULL);
    if (cases[i].says)
      td_test_run_assert_refused (&run, status, cases[i].says);
    else
      g_assert_cmpstr (run.error, ==, "");
  }
}

static void
test_unused (void)
{
  static const Case cases[] = {
    { { "plan", "par.nxs", "--method", "fbp", "--iterations", "5" }, "--iterations" },
    { { "plan", "par.nxs", "--method", "fbp", "--start", "zero" }, "--start" },
    { { "plan", "par.nxs", "--tolerance", "0.1" }, "--tolerance" },
    { { "plan", "par.nxs", "--stop-at", "0.1" }, "--stop-at" },
    { { "plan", "par.nxs", "--order", "3" }, "--order" },
    { { "plan", "par.nxs", "--filter", "ram-lak", "--order", "3" }, "--order" },
    { { "plan", "par.nxs", "--filter", "none", "--cutoff", "0.5" }, "--cutoff" },
    { { "plan", "par.nxs", "--filter", "none", "--padding", "edge" }, "--padding" },
    { { "plan", "par.nxs", "--filter", "none", "--extend-edges" }, "--extend-edges" },
    { { "plan", "par.nxs", "--method", "sirt", "--filter", "hann" }, "--filter" },
    { { "plan", "par.nxs", "--method", "sirt", "--cutoff", "0.5" }, "--cutoff" },
    { { "plan", "par.nxs", "--method", "sirt", "--tv", "0.1" }, "--tv" },
    { { "plan", "par.nxs", "--method", "cgls", "--relaxation", "0.5" }, "--relaxation" },
    { { "plan", "par.nxs", "--method", "cgls", "--subsets", "4" }, "--subsets" },
    { { "plan", "par.nxs", "--method", "cgls", "--non-negative", "true" }, "--non-negative" },
    { { "plan", "par.nxs", "--method", "fourier", "--kernel", "host" }, "--kernel" },
    { { "plan", "par.nxs", "--share", "volume" }, "--share" },
    { { "plan", "par.nxs", "--filter-on", "cpu" }, "--filter-on" },
    { { "plan", "cone.nxs", "--field-of-view", "half" }, "--field-of-view" },
    { { "plan", "par.nxs", "--range", "0:1" }, "--range" },
    { { "plan", "par.nxs", "--pixel-mm", "0" }, "--pixel-mm" },
    { { "plan", "cone.nxs", "--sod-mm", "0", "--sdd-mm", "0" }, "--sod-mm" },
    { { "reconstruct", "par.nxs", "--output", "out", "--keep" }, "--keep" },
    /* What does apply, and "auto", which asks for nothing. */
    { { "plan", "par.nxs", "--filter", "butterworth", "--order", "3" } },
    { { "plan", "par.nxs", "--method", "sirt", "--start", "fdk", "--filter", "hann" } },
    { { "plan", "par.nxs", "--method", "fista-tv", "--tv", "0.01" } },
    { { "plan", "par.nxs", "--share", "auto", "--filter-on", "auto" } },
    { { "plan", "cone.nxs", "--share", "volume", "--filter-on", "cpu" } },
    { { "plan", "par.nxs", "--bits", "16", "--range", "0:1" } },
  };

  check_cases (cases, G_N_ELEMENTS (cases), 2);
}

static void
test_absurd (void)
{
  static const Case cases[] = {
    { { "plan", "par.nxs", "--pixel-mm", "1e-40" }, "pixel" },
    { { "plan", "par.nxs", "--pixel-mm", "1e300" }, "pixel" },
    { { "plan", "par.nxs", "--centre", "300" }, "--centre" },
    { { "plan", "par.nxs", "--centre=-200" }, "--centre" },
    { { "plan", "par.nxs", "--angles", "0:1e308" }, "--angles" },
    { { "plan", "cone.nxs", "--sod-mm", "1e-30", "--sdd-mm", "1e30" }, "--sod-mm" },
    { { "plan", "cone.nxs", "--centre", "auto" }, "parallel beams only" },
    { { "plan", "fan.nxs", "--centre", "auto" }, "parallel beams only" },
    { { "plan", "par.nxs", "--views", "30:50" }, "--views" },
  };

  check_cases (cases, G_N_ELEMENTS (cases), 2);
}

/* Wrong usage (2) is what cannot be, or not of this scan or on this computer. What fails in the
   doing, and what is wrong with a file, also with one that an option names, is a failure (1). */
static void
test_status (void)
{
  static const Case asked[] = {
    { { "plan", "wobble", "--bin-views", "2" }, "--bin-views" },
    { { "plan", "wobble", "--sod-mm", "100", "--sdd-mm", "200" }, "--sod-mm" },
    { { "plan", "cone.nxs", "--sod-mm", "100", "--sdd-mm", "50" }, "--sdd-mm" },
    { { "plan", "cone.nxs", "--sdd-mm", "50" }, "--sod-mm" },
    { { "plan", "cone.nxs", "--interpolation", "nearest" }, "--interpolation" },
    { { "plan", "cone.nxs", "--kernel", "alu" }, "alu" },
    { { "plan", "par.nxs", "--kernel", "turned" }, "turned" },
    { { "plan", "par.nxs", "--kernel", "texture" }, "texture" },
    { { "plan", "cone.nxs", "--kernel", "texture" }, "texture" },
    { { "plan", "par.nxs", "--kernel", "foo" }, "foo" },
    { { "plan", "par.nxs", "--device", "foo" }, "foo" },
    { { "plan", "par.nxs", "--device", "host:1" }, "one host" },
    { { "plan", "par.nxs", "--device", "opencl:999" }, "opencl:999" },
    { { "plan", "par.nxs", "--angles", "a:b" }, "a:b" },
    { { "plan", "par.nxs", "--angles", "0:1e7" }, "--angles" },
    { { "plan", "par.nxs", "--sod-mm", "100", "--sdd-mm", "200" }, "--pixel-mm" },
    { { "plan", "par.nxs", "--dataset", "nope" }, "nope" },
    { { "plan", "par.nxs", "--sinograms" }, "--sinograms" },
    { { "plan", "par.nxs", "--raw", "10x10:uint8" }, "--raw" },
    { { "plan", "par.nxs", "--values", "colours" }, "--values" },
    { { "plan", "par.nxs", "--views", "3" }, "--views" },
    { { "plan", "cone.nxs", "--views", "0:9" }, "The views cover" },
    { { "plan", "cone.nxs", "--centre", "40" }, "The axis is projected" },
    { { "plan", "par.nxs", "--rows", "3:5" }, "--rows" },
    { { "plan", "cone.nxs", "--rows", "30:50" }, "--rows" },
    { { "plan", "par.nxs", "--rows", "1:2", "--crop", "0,2,48,1" }, "--rows" },
    { { "plan", "par.nxs", "--crop", "0,0,100,1" }, "crop" },
    { { "plan", "par.nxs", "--bin", "49" }, "49" },
    { { "plan", "par.nxs", "--bin-views", "20" }, "degrees apart" },
    { { "plan", "par.nxs", "--region", "0,0,99,99" }, "--region" },
    { { "plan", "par.nxs", "--field-of-view", "half" }, "--field-of-view" },
    { { "plan", "par.nxs", "--method", "fdk" }, "--method" },
    { { "plan", "cone.nxs", "--method", "fbp" }, "--method" },
    { { "plan", "cone.nxs", "--method", "fourier" }, "--method" },
    { { "plan", "par.nxs", "--method", "sirt", "--subsets", "99" }, "--subsets" },
    { { "plan", "par.nxs", "--method", "sirt", "--kernel", "host" }, "--kernel" },
    { { "plan", "par.nxs", "--method", "sirt", "--precision", "half" }, "--precision" },
    { { "plan", "par.nxs", "--prepare", "paganin" }, "--prepare paganin" },
    { { "plan", "par.nxs", "--prepare", "bad-pixels=0" }, "--bad-pixels" },
    { { "plan", "par.nxs", "--cluster", "foo" }, "foo" },
    { { "plan", "par.nxs", "--prepare", "dose=region:x=400:y=0:width=4:height=1" },
      "--prepare dose=region" },
    { { "plan", "wobble", "--precision", "half" }, "single precision" },
    { { "centre", "par.nxs", "--crop", "0,0,10,2" }, "--crop is not used here" },
    { { "centre", "par.nxs", "--share", "volume" }, "--share is not used here" },
    { { "centre", "par.nxs", "--filter", "hann" }, "--filter is not used here" },
    { { "centre", "par.nxs", "--rows", "5:9" }, "--rows" },
    { { "centre", "par.nxs", "--range", "100:200" }, "--range" },
    { { "centre", "par.nxs", "--method", "overlap" }, "cannot be searched for" },
  };
  static const Case failed[] = {
    { { "plan", "none.nxs" }, "none.nxs" },
    { { "plan", "par.nxs", "--recipe", "none" }, "none" },
    { { "plan", "par.nxs", "--recipe", "par.nxs" }, "par.nxs" },
    { { "plan", "par.nxs", "--recipe", "iterations.json" }, "iterations" },
    { { "plan", "par.nxs", "--flats", "none" }, "none" },
    { { "plan", "par.nxs", "--darks", "none" }, "none" },
    { { "plan", "par.nxs", "--angles", "none" }, "none" },
    { { "plan", "par.nxs", "--geometry", "none" }, "none" },
    { { "plan", "par.nxs", "--bad-pixels", "none" }, "none" },
    { { "plan", "par.nxs", "--method", "sirt", "--start", "none" }, "none" },
    { { "plan", "par.nxs", "--method", "sirt", "--start", "par.nxs" }, "--start" },
    { { "plan", "short.nxs" }, "The views cover" },
    { { "plan", "par.nxs", "--angles", "0:0" }, "along one line" },
    { { "plan", "par.nxs", "--memory-limit", "1K" }, "--memory-limit" },
    { { "reconstruct", "par.nxs", "--output", "none/out" }, "none" },
    { { "plan", "par.nxs", "--output", "none/out" }, "none" },
    { { "reconstruct", "par.nxs", "--output", "par.nxs" }, "par.nxs" },
    { { "centre", "par.nxs", "--picture", "none/x.png" }, "none" },
  };

  check_cases (asked, G_N_ELEMENTS (asked), 2);
  check_cases (failed, G_N_ELEMENTS (failed), 1);
}

static void
assert_harmless (const char *text)
{
  for (const char *at = text; *at; at = g_utf8_next_char (at))
    g_assert_true (*at == '\n' || !g_unichar_iscntrl (g_utf8_get_char (at)));
}

/* What a terminal would obey in a name is shown, in words and in JSON, also where no language is
   set. */
static void
test_escapes (gconstpointer language)
{
  g_autofree char *before = g_strdup (g_getenv ("LC_ALL"));
  g_autoptr (TestFolder) folder = make_scans ();
  static const char *const name = "a\033]0;title\007\033[31m\302\233 b\342\200\256c.nxs";
  static const char *const shown = "a\\u001b]0;title\\u0007\\u001b[31m\\u009b b\\u202ec.nxs";
  g_autofree char *from = g_build_filename (folder->path, "par.nxs", NULL);
  g_autofree char *to = g_build_filename (folder->path, name, NULL);
  const char *const lines[][4] = { { "info", name },
                                   { "info", name, "--json" },
                                   { "plan", name, "--method", name },
                                   { "info", name, name },
                                   { name } };

  g_assert_cmpint (rename (from, to), ==, 0);
  g_assert_true (g_setenv ("LC_ALL", language, TRUE));
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++) {
    g_auto (TdTestRun) run = { 0 };
    td_test_cli (&run, folder->path, lines[i][0], lines[i][1], lines[i][2], lines[i][3], NULL);
    assert_harmless (run.out);
    assert_harmless (run.error);
    g_assert_nonnull (strstr (i < 2 ? run.out : run.error, shown));
    if (i != 1)
      continue;
    g_autoptr (JsonObject) scan = td_test_run_json (&run);
    g_assert_true (g_str_has_suffix (json_object_get_string_member (scan, "path"), name));
  }
  if (before)
    g_setenv ("LC_ALL", before, TRUE);
  else
    g_unsetenv ("LC_ALL");
}

/* 32 bits are not enough for what is typed, and nothing wraps around. */
static void
test_large_numbers (void)
{
  static const Case cases[] = {
    { { "plan", "par.nxs", "--raw", "4294967306x10:uint8" }, "--raw" },
    { { "plan", "par.nxs", "--raw", "10x4294967306:uint8" }, "--raw" },
    { { "plan", "par.nxs", "--raw=-10x10:uint8" }, "--raw" },
    { { "plan", "par.nxs", "--raw", "10x10:uint8:99999999999999999999" }, "--raw" },
    { { "plan", "par.nxs", "--rows", "4294967296:4294967297" }, "--rows" },
    { { "plan", "par.nxs", "--views", "4294967296:4294967297" }, "--views" },
    { { "plan", "par.nxs", "--region", "0,0,4294967297,1" }, "--region" },
    { { "plan", "par.nxs", "--memory-limit", "99999999999999999999" }, "--memory-limit" },
    { { "centre", "par.nxs", "--range", "1e400:5" }, "--range" },
  };

  check_cases (cases, G_N_ELEMENTS (cases), 2);
}

/* A middle that nobody stated is not called the scan's. */
static void
test_assumed_middle (void)
{
  g_autoptr (TestFolder) folder = make_scans ();
  g_auto (TdTestRun) run = { 0 };

  td_test_cli (&run, folder->path, "plan", "cone.nxs", "--device", "host", NULL);
  g_assert_cmpint (run.status, ==, 0);
  g_assert_null (strstr (run.out, "as the scan says"));
  g_assert_nonnull (strstr (run.out, "taken at the detector's middle"));
}

/* Views of the second half only: the same as a scan that has no others. */
static void
test_views (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) whole = { 0 }, half = { 0 }, a = { 0 }, b = { 0 }, differ = { 0 };

  td_test_cli (&whole, folder->path, "phantom", "discs", "--output", "whole.nxs", "--columns", "40",
               "--rows", "2", "--views", "80", "--range", "360", NULL);
  td_test_cli (&half, folder->path, "phantom", "discs", "--output", "half.nxs", "--columns", "40",
               "--rows", "2", "--views", "40", "--first-angle", "180", "--range", "180", NULL);
  td_test_cli (&a, folder->path, "reconstruct", "whole.nxs", "--device", "host", "--views", "40:80",
               "--output", "a.tif", "--json", NULL);
  td_test_cli (&b, folder->path, "reconstruct", "half.nxs", "--device", "host", "--output", "b.tif",
               NULL);
  g_assert_cmpint (whole.status | half.status | a.status | b.status, ==, 0);
  td_test_cli (&differ, folder->path, "compare", "a.tif", "b.tif", "--limit", "1e-5", NULL);
  g_assert_cmpint (differ.status, ==, 0);
}

/* A volume of nothing is not left behind as a result. */
static void
test_empty_volume (void)
{
  static const float values[] = { 0, NAN };
  static const char *const says[] = { "0 or no number", "no number in any view" };

  for (guint k = 0; k < G_N_ELEMENTS (values); k++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *raw = g_build_filename (folder->path, "scan.raw", NULL);
    g_autofree char *output = g_build_filename (folder->path, "out.tif", NULL);
    g_auto (TdTestRun) run = { 0 };
    float frames[20 * 2 * 16];

    for (guint i = 0; i < G_N_ELEMENTS (frames); i++)
      frames[i] = values[k];
    g_assert_true (g_file_set_contents (raw, (const char *) frames, sizeof frames, NULL));
    td_test_cli (&run, folder->path, "reconstruct", "scan.raw", "--raw", "16x2:float32", "--values",
                 "attenuations", "--angles", "0:180", "--centre", "7.5", "--device", "host",
                 "--output", "out.tif", NULL);
    td_test_run_assert_refused (&run, 1, says[k]);
    g_assert_false (g_file_test (output, G_FILE_TEST_EXISTS));
  }
}

/* What made a volume makes another one: the recipe is taken out of any of this program's. */
static void
test_recipe_of_volume (void)
{
  static const char *const outputs[][2] = { { "out.tif", "out.tif" },
                                            { "out.h5", "out.h5" },
                                            { "slices", "slices" },
                                            { "slices2", "slices2/provenance.json" } };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *raw = g_build_filename (folder->path, "scan.raw", NULL);
  float frames[20 * 2 * 16];

  for (guint i = 0; i < G_N_ELEMENTS (frames); i++)
    frames[i] = i % 16 > 4 && i % 16 < 10 ? 1 : 0;
  g_assert_true (g_file_set_contents (raw, (const char *) frames, sizeof frames, NULL));
  for (guint k = 0; k < G_N_ELEMENTS (outputs); k++) {
    g_auto (TdTestRun) made = { 0 }, again = { 0 };

    td_test_cli (&made, folder->path, "reconstruct", "scan.raw", "--raw", "16x2:float32",
                 "--values", "attenuations", "--angles", "0:180", "--centre", "7.25", "--device",
                 "host", "--filter", "hann", "--output", outputs[k][0], NULL);
    g_assert_cmpint (made.status, ==, 0);
    td_test_cli (&again, folder->path, "plan", "scan.raw", "--raw", "16x2:float32", "--values",
                 "attenuations", "--angles", "0:180", "--recipe", outputs[k][1], NULL);
    g_assert_cmpint (again.status, ==, 0);
    g_assert_nonnull (strstr (again.out, "hann"));
    g_assert_nonnull (strstr (again.out, "7.250"));
  }
}

/* Nor one whose values all lie beside the range of its integers: its samples are the range's end.
 */
static void
test_range_beside (void)
{
  static const struct {
    const char *range;
    gboolean beside;
  } cases[] = { { "1000:2000", TRUE }, { "-2000:-1000", TRUE }, { "-2000:2000", FALSE } };
  static const char *const bits[] = { "8", "16" };
  float frames[20 * 2 * 16];

  for (guint i = 0; i < G_N_ELEMENTS (frames); i++)
    frames[i] = i % 16 > 4 && i % 16 < 10 ? 1 : 0;
  for (guint k = 0; k < 2 * G_N_ELEMENTS (cases); k++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *raw = g_build_filename (folder->path, "scan.raw", NULL);
    g_autofree char *output = g_build_filename (folder->path, "out.tif", NULL);
    g_auto (TdTestRun) run = { 0 };

    g_assert_true (g_file_set_contents (raw, (const char *) frames, sizeof frames, NULL));
    td_test_cli (&run, folder->path, "reconstruct", "scan.raw", "--raw", "16x2:float32", "--values",
                 "attenuations", "--angles", "0:180", "--centre", "7.5", "--device", "host",
                 "--bits", bits[k % 2], "--range", cases[k / 2].range, "--output", "out.tif", NULL);
    if (cases[k / 2].beside)
      td_test_run_assert_refused (&run, 1, "outside the range");
    else
      g_assert_cmpint (run.status, ==, 0);
    g_assert_cmpint (g_file_test (output, G_FILE_TEST_EXISTS), ==, !cases[k / 2].beside);
  }
}

/* What matrices say is no part of the command line: it is wrong usage, whichever option it is. */
static void
test_matrices (void)
{
  static const char *const options[][2] = { { "--tilt", "1" }, { "--reverse-rotation", NULL } };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) made = { 0 };

  td_test_cli (&made, folder->path, "phantom", "ellipsoids", "--output", "wobble", "--cone",
               "--columns", "24", "--rows", "16", "--views", "30", "--wobble-mm", "0.5", NULL);
  g_assert_cmpint (made.status, ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (options); i++) {
    g_auto (TdTestRun) run = { 0 };
    td_test_cli (&run, folder->path, "plan", "wobble", options[i][0], options[i][1], NULL);
    td_test_run_assert_refused (&run, 2, "is not used here: The matrices of the views say how");
  }
}

/* What an option is beside others for nothing is refused, too. */
static void
test_beside (void)
{
  static const Case cases[] = {
    { { "submit", "--again", "x", "--grid", "2x2" }, "--again goes on as the job was submitted" },
    { { "submit", "--again", "x", "--overwrite" }, "--again goes on as the job was submitted" },
    { { "submit", "--again", "x", "--angles", "0:90" },
      "--again goes on as the job was submitted" },
    { { "profiles", "--read", "x" }, "--read is used with" },
    { { "profiles", "benchmark", "x", "--read", "x" }, "--read is used with" },
    { { "profiles", "test", "x", "--json" }, "--json with the list alone" },
    { { "follow", "x", "--log", "--json" }, "--log prints and ends" },
    { { "follow", "x", "--log", "--slice", "x.tif" }, "--log prints and ends" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const char *const *w = cases[i].words;
    g_auto (TdTestRun) run = { 0 };

    td_test_cli (&run, NULL, w[0], w[1], w[2], w[3], w[4], NULL);
    td_test_run_assert_refused (&run, 2, cases[i].says);
  }
}

/* Where what is printed does not arrive, the status says so, whatever is printed and how. */
static void
test_full (void)
{
  static const char *const words[]
      = { "--help",  "--version", "info --help",   "info par.nxs", "info par.nxs --json",
          "devices", "profiles",  "centre par.nxs" };
  g_autoptr (TestFolder) folder = make_scans ();

  for (guint i = 0; i < G_N_ELEMENTS (words); i++) {
    g_autofree char *line = g_strdup_printf ("\"$TOMODESK_CLI\" %s >/dev/full", words[i]);
    char *shell[] = { (char *) "sh", (char *) "-c", line, NULL };
    g_autofree char *said = NULL;
    int status;

    g_test_message ("%s", words[i]);
    g_assert_true (g_spawn_sync (folder->path, shell, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
                                 &said, &status, NULL));
    g_assert_cmpstr (said, ==,
                     "tomodesk-cli: standard output cannot be written: No space left on device\n");
    g_assert_cmpint (WEXITSTATUS (status), ==, 1);
  }
}

/* On a detector that lies on its side the axis has no column: none is told, and none is taken. */
static void
test_on_side (void)
{
  static const char *const centres[] = { "7.5", "9" };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) made = { 0 }, info = { 0 }, plan = { 0 }, done = { 0 };

  td_test_cli (&made, folder->path, "phantom", "ellipsoids", "--output", "side", "--cone",
               "--columns", "16", "--rows", "24", "--views", "30", "--detector-tilt", "0,0,90",
               NULL);
  td_test_cli (&info, folder->path, "info", "side", NULL);
  td_test_cli (&plan, folder->path, "plan", "side", "--device", "host", NULL);
  td_test_cli (&done, folder->path, "reconstruct", "side", "--device", "host", "--output", "out",
               NULL);
  g_assert_cmpint (made.status | info.status | plan.status | done.status, ==, 0);
  g_assert_nonnull (strstr (info.out, "on its side: the axis runs along its rows"));
  g_assert_null (strstr (info.out, "centre"));
  g_assert_nonnull (strstr (plan.out, "centre   no column: the detector lies on its side"));
  g_assert_null (strstr (plan.out, "The rotation axis is"));
  g_assert_null (strstr (done.out, "centre"));
  g_assert_null (strstr (done.out, "The rotation axis is"));
  for (guint i = 0; i < G_N_ELEMENTS (centres); i++) {
    g_auto (TdTestRun) run = { 0 };
    td_test_cli (&run, folder->path, "plan", "side", "--centre", centres[i], NULL);
    td_test_run_assert_refused (&run, 2,
                                "--centre is not used here: The detector lies on its side");
  }
  g_auto (TdTestRun) found = { 0 }, again = { 0 };
  td_test_cli (&found, folder->path, "plan", "side", "--centre", "auto", NULL);
  td_test_run_assert_refused (&found, 2, "The detector lies on its side");
  /* One row is one column of a detector that stands, and sees nothing across the axis. */
  g_auto (TdTestRun) one = { 0 };
  td_test_cli (&one, folder->path, "plan", "side", "--crop", "0,0,16,1", NULL);
  td_test_run_assert_refused (&one, 2, "lies otherwise to the axis");
  /* What made the volume makes it again. */
  td_test_cli (&again, folder->path, "plan", "side", "--recipe", "out", NULL);
  g_assert_cmpint (again.status, ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cli/options/unused", test_unused);
  g_test_add_func ("/cli/options/beside", test_beside);
  g_test_add_func ("/cli/options/full", test_full);
  g_test_add_func ("/cli/options/absurd", test_absurd);
  g_test_add_func ("/cli/options/status", test_status);
  g_test_add_data_func ("/cli/options/escapes", "C.UTF-8", test_escapes);
  g_test_add_data_func ("/cli/options/no-language", "C", test_escapes);
  g_test_add_func ("/cli/options/large-numbers", test_large_numbers);
  g_test_add_func ("/cli/options/assumed-middle", test_assumed_middle);
  g_test_add_func ("/cli/options/matrices", test_matrices);
  g_test_add_func ("/cli/options/on-side", test_on_side);
  g_test_add_func ("/cli/options/views", test_views);
  g_test_add_func ("/cli/options/empty-volume", test_empty_volume);
  g_test_add_func ("/cli/options/range-beside", test_range_beside);
  g_test_add_func ("/cli/options/recipe-of-volume", test_recipe_of_volume);
  return g_test_run ();
}
