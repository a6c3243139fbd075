/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verb lab writes its table, curves and pictures, repeats a variants file, and refuses wrong
   variants. */
#include <math.h>
#include <string.h>

#include "compute/lab/lab.h"
#include "dataset/volume.h"
#include "tests/common/cli.h"
#include "tests/unit/test-folder.h"

static void
make_scan (TestFolder *folder)
{
  g_auto (TdTestRun) run = { 0 };

  td_test_cli (&run, folder->path, "phantom", "discs", "--output", "scan.nxs", "--columns", "80",
               "--rows", "6", "--views", "120", "--photons", "5000", NULL);
  g_assert_cmpint (run.status, ==, 0);
}

static char *
contents (TestFolder *folder, const char *name)
{
  g_autofree char *path = g_build_filename (folder->path, name, NULL);
  char *text = NULL;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  return text;
}

/* A slice at least. How much more a job has at once turns on which of its threads is first. */
static void
assert_memory (JsonObject *variant, JsonObject *lab)
{
  const gint64 bytes = json_object_get_int_member (variant, "device_bytes");

  g_assert_cmpint (bytes, >=,
                   4 * json_object_get_int_member (lab, "nx")
                       * json_object_get_int_member (lab, "ny"));
  g_assert_cmpint (bytes, <, 128 << 10);
}

/* The contract of --json, and the files beside it. */
static void
test_outputs (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) run = { 0 };

  make_scan (folder);
  td_test_cli (&run, folder->path, "lab", "scan.nxs", "--device", "host", "--row", "2",
               "--reference", "--variant", "", "--variant", "Half: --precision half", "--variant",
               "--interpolation nearest", "--csv", "lab.csv", "--picture", "lab.svg", "--save",
               "lab.json", "--json", NULL);
  g_autoptr (JsonObject) json = td_test_run_json (&run);
  g_assert_cmpint (json_object_get_int_member (json, "row"), ==, 2);
  g_assert_cmpint (json_object_get_int_member (json, "nx"), ==, 80);
  g_assert_cmpstr (json_object_get_string_member (json, "compared_with"), ==, "reference");
  g_assert_cmpfloat (json_object_get_double_member (json, "noise"), >, 0);
  JsonArray *variants = json_object_get_array_member (json, "variants");
  g_assert_cmpuint (json_array_get_length (variants), ==, 3);
  JsonObject *single = json_array_get_object_element (variants, 0);
  JsonObject *half = json_array_get_object_element (variants, 1);
  JsonObject *nearest = json_array_get_object_element (variants, 2);
  g_assert_cmpfloat (json_object_get_double_member (single, "arithmetic_error"), <,
                     json_object_get_double_member (single, "bound"));
  g_assert_true (json_object_get_null_member (single, "otherwise_than_asked"));
  g_assert_cmpstr (json_object_get_string_member (half, "name"), ==, "Half");
  g_assert_nonnull (json_object_get_string_member (half, "otherwise_than_asked"));
  g_assert_cmpstr (json_object_get_string_member (half, "precision"), ==, "single");
  g_assert_cmpfloat (json_object_get_double_member (nearest, "rms"), >,
                     100 * json_object_get_double_member (single, "rms"));
  assert_memory (single, json);

  g_autofree char *csv = contents (folder, "lab.csv"), *svg = contents (folder, "lab.svg");
  g_assert_true (g_str_has_prefix (csv, "variant,options,"));
  g_assert_nonnull (strstr (csv, "\r\nHalf,--precision half,"));
  g_assert_nonnull (strstr (svg, "Fourier ring correlation"));
  g_assert_true (g_str_has_suffix (svg, "</svg>\n"));
}

/* A region of a cone's slice has its reference, whose cost was told, and its noise. Of each of two
   filters a slice in double precision is made. The review's figures are of parallel beams. */
static void
test_cone (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) made = { 0 }, run = { 0 }, refused = { 0 };

  td_test_cli (&made, folder->path, "phantom", "discs", "--output", "cone.nxs", "--cone",
               "--columns", "48", "--rows", "32", "--views", "60", "--photons", "5000", NULL);
  g_assert_cmpint (made.status, ==, 0);
  td_test_cli (&run, folder->path, "lab", "cone.nxs", "--device", "host", "--row", "9", "--region",
               "4,10,30,20", "--reference", "--variant", "", "--variant", "--filter hann", "--json",
               NULL);
  g_autoptr (JsonObject) json = td_test_run_json (&run);
  g_assert_cmpint (json_object_get_int_member (json, "nx"), ==, 30);
  g_assert_cmpstr (json_object_get_string_member (json, "compared_with"), ==, "reference");
  g_assert_cmpint (json_object_get_int_member (json, "reference_slices"), ==, 2);
  g_assert_cmpfloat (json_object_get_double_member (json, "reference_estimate_s"), >, 0);
  g_assert_cmpfloat (json_object_get_double_member (json, "noise"), >, 0);
  JsonArray *variants = json_object_get_array_member (json, "variants");
  for (guint i = 0; i < 2; i++) {
    JsonObject *one = json_array_get_object_element (variants, i);
    g_assert_cmpfloat (json_object_get_double_member (one, "arithmetic_error"), <,
                       json_object_get_double_member (one, "bound"));
    assert_memory (one, json);
  }
  td_test_cli (&refused, folder->path, "lab", "cone.nxs", "--preset", "review", NULL);
  td_test_run_assert_refused (&refused, 2, "The review's figures are of parallel beams");
}

/* All pictures side by side, two in a line, as they are; and the line that was asked for. */
static void
test_pictures (void)
{
  enum { SIDE = 80, GAP = 4 };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = test_folder_file (folder, "lab.tif");
  g_auto (TdTestRun) run = { 0 }, wrong = { 0 };
  g_autoptr (GError) error = NULL;

  make_scan (folder);
  td_test_cli (&run, folder->path, "lab", "scan.nxs", "--device", "host", "--row", "3", "--quick",
               "--variant", "", "--variant", "--filter hann", "--variant", "--filter none",
               "--line", "5,6,50,60.5", "--picture", "lab.tif", "--save", "lab.json", NULL);
  g_assert_cmpint (run.status, ==, 0);
  g_autofree char *saved = contents (folder, "lab.json");
  g_autoptr (TdLab) lab = td_lab_from_json (saved, &error);
  g_assert_no_error (error);
  g_assert_true (lab->has_line);
  g_assert_true (lab->line.x0 == 5 && lab->line.y0 == 6 && lab->line.x1 == 50
                 && lab->line.y1 == 60.5);
  g_autoptr (TdVolume) mosaic = td_volume_open (path, &error);
  g_assert_no_error (error);
  const TdVolumeFacts *facts = td_volume_facts (mosaic);
  g_assert_cmpuint (facts->nx, >=, 2 * SIDE);
  g_assert_cmpuint (facts->nx, <=, 2 * (SIDE + GAP));
  g_assert_cmpuint (facts->ny, ==, facts->nx);
  g_autofree float *values = g_new (float, (gsize) facts->nx * facts->ny);
  g_assert_true (td_volume_read (mosaic, 0, 1, values, &error));
  /* The first one is the slice that reconstruct makes. */
  g_auto (TdTestRun) made = { 0 };
  g_autofree char *volume = test_folder_file (folder, "slices.tif");
  td_test_cli (&made, folder->path, "reconstruct", "scan.nxs", "--device", "host", "--rows", "3:4",
               "--format", "bigtiff", "-o", "slices.tif", NULL);
  g_assert_cmpint (made.status, ==, 0);
  g_autoptr (TdVolume) slices = td_volume_open (volume, &error);
  g_assert_no_error (error);
  float slice[SIDE * SIDE];
  g_assert_true (td_volume_read (slices, 0, 1, slice, &error));
  double largest = 0;
  for (guint i = 0; i < SIDE * SIDE; i++)
    largest = fmax (largest, fabs (slice[i] - values[i / SIDE * facts->nx + i % SIDE]));
  g_assert_cmpfloat (largest, <, 1e-5);
  td_test_cli (&wrong, folder->path, "lab", "scan.nxs", "--line", "1,2,3", NULL);
  g_assert_cmpint (wrong.status, ==, 2);
}

/* What was kept is the same lab again. */
static void
test_again (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) first = { 0 }, second = { 0 }, wrong = { 0 };

  make_scan (folder);
  td_test_cli (&first, folder->path, "lab", "scan.nxs", "--device", "host", "--filter", "hann",
               "--region", "10,12,40,32", "--quick", "--variant", "", "--variant",
               "--interpolation nearest", "--save", "kept.json", "--csv", "lab.csv", "--picture",
               "lab.svg", "--json", NULL);
  g_autoptr (JsonObject) a = td_test_run_json (&first);
  /* What is there stays, unless it may be replaced: then what the program wrote itself is. */
  static const char *const written[][2]
      = { { "--save", "a.json" }, { "--csv", "lab.csv" }, { "--picture", "lab.svg" } };
  g_autofree char *kept = contents (folder, "kept.json"),
                  *again = test_folder_file (folder, "a.json");
  g_assert_true (g_file_set_contents (again, kept, -1, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (written); i++) {
    g_auto (TdTestRun) refused = { 0 };
    td_test_cli (&refused, folder->path, "lab", "scan.nxs", "--variants", "kept.json",
                 written[i][0], written[i][1], NULL);
    td_test_run_assert_refused (&refused, 1, "exists already; --overwrite replaces it");
  }
  td_test_cli (&second, folder->path, "lab", "scan.nxs", "--variants", "kept.json", "--save",
               "a.json", "--csv", "lab.csv", "--picture", "lab.svg", "--overwrite", "--json", NULL);
  g_autoptr (JsonObject) b = td_test_run_json (&second);
  g_assert_cmpint (json_object_get_int_member (b, "nx"), ==, 40);
  g_assert_cmpstr (json_object_get_string_member (b, "compared_with"), ==, "variant");
  JsonArray *of_a = json_object_get_array_member (a, "variants");
  JsonArray *of_b = json_object_get_array_member (b, "variants");
  g_assert_cmpfloat (
      json_object_get_double_member (json_array_get_object_element (of_a, 1), "rms"), ==,
      json_object_get_double_member (json_array_get_object_element (of_b, 1), "rms"));
  td_test_cli (&wrong, folder->path, "lab", "scan.nxs", "--variants", "kept.json", "--filter",
               "none", NULL);
  td_test_run_assert_refused (&wrong, 2, "the recipe is in the variants file");
}

static void
test_preset (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) run = { 0 };

  make_scan (folder);
  td_test_cli (&run, folder->path, "lab", "scan.nxs", "--device", "host", "--preset", "review",
               "--picture", "review.svg", NULL);
  g_assert_cmpint (run.status, ==, 0);
  g_assert_nonnull (strstr (run.out, "emulated in double precision"));
  g_autofree char *svg = contents (folder, "review.svg");
  for (const char *const *words
       = (const char *const[]) { "Figure 7", "Figure 8", "Figure 18", "Figure 19", NULL };
       *words; words++)
    g_assert_nonnull (strstr (svg, *words));
}

static void
test_refused (void)
{
  static const struct {
    const char *words[4];
    int status;
    const char *says;
  } cases[] = {
    { { "--variant", "" }, 2, "say what to compare" },
    { { "--preset", "figures" }, 2, "no preset" },
    { { "--preset", "review", "--line", "1,2,3" }, 2, "--line" },
    { { "--preset", "review", "--rows", "1:2" }, 2, "--row says which" },
    { { "--preset", "review", "--picture", "a.jpg" }, 2, "ends in none" },
    { { "--preset", "review", "--row", "77" }, 2, "77" },
    { { "--preset", "review", "--csv", "scan.nxs" }, 1, "scan.nxs" },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();

  make_scan (folder);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_auto (TdTestRun) run = { 0 };
    const char *const *w = cases[i].words;
    td_test_cli (&run, folder->path, "lab", "scan.nxs", w[0], w[1], w[2], w[3], NULL);
    td_test_run_assert_refused (&run, cases[i].status, cases[i].says);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cli-lab/outputs", test_outputs);
  g_test_add_func ("/cli-lab/cone", test_cone);
  g_test_add_func ("/cli-lab/pictures", test_pictures);
  g_test_add_func ("/cli-lab/again", test_again);
  g_test_add_func ("/cli-lab/preset", test_preset);
  g_test_add_func ("/cli-lab/refused", test_refused);
  return g_test_run ();
}
