/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Preparation as it is typed: the mask of bad pixels is used, what was replaced is told, and the
   bench times each step. */
#include <stdio.h>
#include <string.h>

#include "compute/prepare/step.h"
#include "dataset/tiff-save.h"
#include "tests/common/cli.h"
#include "tests/unit/test-folder.h"

enum { ROWS = 6, COLUMNS = 48 };

static void
make_scan (const char *folder)
{
  g_auto (TdTestRun) run = { 0 };

  td_test_cli (&run, folder, "phantom", "discs", "--output", "scan.nxs", "--columns", "48",
               "--rows", "6", "--views", "70", "--zingers", "0.001", "--flicker", "0.05", "--drift",
               "0.1", "--dead", "3", NULL);
  g_assert_cmpint (run.status, ==, 0);
}

static void
write_mask (const char *folder, const char *name, guint columns, guint rows)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_autofree guint8 *mask = g_new0 (guint8, columns * rows);
  const TdTiffImage image = { .width = columns, .height = rows, .type = TD_SAMPLE_UINT8 };
  g_autoptr (GError) error = NULL;

  for (guint i = 5; i < columns * rows; i += 41)
    mask[i] = (guint8) i | 1;
  td_tiff_save_single (path, name, &image, mask, &error);
  g_assert_no_error (error);
}

static gint64
count (const TdTestRun *run, const char *name)
{
  g_autoptr (JsonObject) json = td_test_run_json (run);

  return json_object_get_int_member (json, name);
}

static void
test_bad_pixels (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) given = { 0 }, both = { 0 }, off = { 0 }, wrong = { 0 }, none = { 0 };
  g_auto (TdTestRun) plan = { 0 }, kept = { 0 }, info = { 0 };

  make_scan (folder->path);
  write_mask (folder->path, "mask.tif", COLUMNS, ROWS);
  write_mask (folder->path, "other.tif", COLUMNS, ROWS + 1);
  td_test_cli (&given, folder->path, "reconstruct", "scan.nxs", "--output", "a", "--device", "host",
               "--bad-pixels", "mask.tif", "--json", NULL);
  g_assert_cmpint (count (&given, "bad_pixels"), ==, 7);
  td_test_cli (&both, folder->path, "reconstruct", "scan.nxs", "--output", "b", "--device", "host",
               "--bad-pixels", "mask.tif", "--prepare", "bad-pixels=8", "--json", NULL);
  g_assert_cmpint (count (&both, "bad_pixels"), >=, 8);
  td_test_cli (&off, folder->path, "reconstruct", "scan.nxs", "--output", "c", "--device", "host",
               "--bad-pixels", "mask.tif", "--prepare", "no-bad-pixels", "--json", NULL);
  g_assert_cmpint (count (&off, "bad_pixels"), ==, 0);
  td_test_cli (&wrong, folder->path, "reconstruct", "scan.nxs", "--output", "d", "--bad-pixels",
               "other.tif", NULL);
  td_test_run_assert_refused (&wrong, 1, "48 × 7 pixels");
  td_test_cli (&none, folder->path, "reconstruct", "scan.nxs", "--output", "d", "--prepare",
               "bad-pixels=0", NULL);
  td_test_run_assert_refused (&none, 2, "--bad-pixels");
  td_test_cli (&info, folder->path, "info", "scan.nxs", "--bad-pixels", "other.tif", NULL);
  td_test_run_assert_refused (&info, 1, "48 × 7 pixels");

  /* The recipe remembers it. */
  td_test_cli (&plan, folder->path, "plan", "scan.nxs", "--bad-pixels", "mask.tif", "--device",
               "host", "--json", NULL);
  g_autoptr (JsonObject) planned = td_test_run_json (&plan);
  g_autofree char *recipe = json_to_string (json_object_get_member (planned, "recipe"), FALSE);
  g_autofree char *path = g_build_filename (folder->path, "recipe.json", NULL);
  g_assert_true (g_file_set_contents (path, recipe, -1, NULL));
  td_test_cli (&kept, folder->path, "reconstruct", "scan.nxs", "--output", "e", "--recipe",
               "recipe.json", "--json", NULL);
  g_assert_cmpint (count (&kept, "bad_pixels"), ==, 7);
}

static void
write_row_mask (const char *folder, guint first, guint end)
{
  g_autofree char *path = g_build_filename (folder, "rows.tif", NULL);
  guint8 mask[ROWS * COLUMNS] = { 0 };
  const TdTiffImage image = { .width = COLUMNS, .height = ROWS, .type = TD_SAMPLE_UINT8 };

  memset (mask + first * COLUMNS, 1, (end - first) * COLUMNS);
  g_assert_true (td_tiff_save_single (path, "rows.tif", &image, mask, NULL));
}

/* A mask that was meant the other way round, and rows without a good neighbour in reach. */
static void
test_masks_refused (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) most = { 0 }, rows = { 0 }, row = { 0 };

  make_scan (folder->path);
  write_row_mask (folder->path, 1, ROWS);
  td_test_cli (&most, folder->path, "plan", "scan.nxs", "--bad-pixels", "rows.tif", NULL);
  td_test_run_assert_refused (&most, 1, "turn the mask round");
  write_row_mask (folder->path, 0, 3);
  td_test_cli (&rows, folder->path, "reconstruct", "scan.nxs", "--output", "a", "--bad-pixels",
               "rows.tif", "--device", "host", NULL);
  td_test_run_assert_refused (&rows, 1, "column 0 of row 0");
  write_row_mask (folder->path, 2, 3);
  td_test_cli (&row, folder->path, "reconstruct", "scan.nxs", "--output", "b", "--bad-pixels",
               "rows.tif", "--device", "host", NULL);
  g_assert_cmpint (row.status, ==, 0);
}

/* Every step of this guide's order at once; what they replaced is told. */
static void
test_counts (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) run = { 0 };

  make_scan (folder->path);
  td_test_cli (&run, folder->path, "reconstruct", "scan.nxs", "--output", "a", "--device", "host",
               "--prepare",
               "zingers,zingers-angle,dose,double-flat,beam-hardening=0.8:a2=0.2,"
               "flat-field:average=median:drift=angles",
               "--json", NULL);
  g_autoptr (JsonObject) json = td_test_run_json (&run);
  /* A dead pixel in each of 70 views, and 22 hits: a thousandth of 20 160 samples. */
  g_assert_cmpint (json_object_get_int_member (json, "zingers"), >=, 90);
  g_assert_cmpint (json_object_get_int_member (json, "zingers"), <=, 94);
  g_assert_cmpfloat (json_object_get_double_member (json, "dose_low"), <, 0.95);
  g_assert_cmpfloat (json_object_get_double_member (json, "dose_high"), >, 1.05);
}

/* A part's time for one row is its time by the rows. */
static void
test_bench_parts (void)
{
  g_auto (TdTestRun) run = { 0 };
  guint rows = 0, parts = 0;

  td_test_cli (&run, NULL, "bench", "--prepare", "--device", "host", "--columns", "32", "--views",
               "20", "--rows", "3", "--step", "rings", "--rings", "0.01", "--parts", NULL);
  g_auto (GStrv) lines = g_strsplit (run.out, "\n", -1);
  for (guint i = 0; lines[i]; i++) {
    double ms, row_ms;
    guint n;
    if (sscanf (lines[i], "rings %u", &rows) == 1
        || sscanf (lines[i], "rings_%*s %u %lf %lf", &n, &ms, &row_ms) != 3)
      continue;
    g_assert_cmpfloat_with_epsilon (row_ms * rows, ms, 1e-3 + 1e-4 * rows);
    parts++;
  }
  g_assert_cmpuint (rows, >=, 3);
  g_assert_cmpuint (parts, >, 5);
}

/* Whatever steps there are, each is in the bench. */
static void
test_bench (void)
{
  g_auto (TdTestRun) run = { 0 }, csv = { 0 }, wrong = { 0 };
  guint at = 1, measured = 0;
  double sums[2] = { 0 }; /* of all steps, and without the alternatives to "rings" */

  td_test_cli (&run, NULL, "bench", "--prepare", "--device", "host", "--columns", "70", "--views",
               "50", "--runs", "5", "--json", NULL);
  g_autoptr (JsonObject) json = td_test_run_json (&run);
  g_assert_cmpfloat (json_object_get_double_member (json, "backproject_low_s"), >, 0);
  JsonArray *steps = json_object_get_array_member (json, "steps");
  for (const TdStepKind *const *kind = td_prepare_steps (); *kind; kind++, at++) {
    JsonObject *step = json_array_get_object_element (steps, at);
    g_assert_cmpstr (json_object_get_string_member (step, "step"), ==, (*kind)->name);
    if (json_object_has_member (step, "gigabytes_per_second")) {
      g_assert_cmpfloat (json_object_get_double_member (step, "gigabytes_per_second"), >, 0);
      g_assert_cmpfloat (json_object_get_double_member (step, "copy_gigabytes_per_second"), >, 0);
      g_assert_cmpfloat (json_object_get_double_member (step, "low_s"), <=,
                         json_object_get_double_member (step, "median_s"));
      measured++;
    }
  }
  g_assert_cmpuint (json_array_get_length (steps), ==, at);
  g_assert_cmpuint (measured, ==, at - 1);
  for (guint i = 0; i < at; i++) {
    JsonObject *step = json_array_get_object_element (steps, i);
    const double shared_s = json_object_get_double_member_with_default (step, "shared_s", 0);
    sums[0] += shared_s;
    if (!g_str_has_prefix (json_object_get_string_member (step, "step"), "rings-"))
      sums[1] += shared_s;
  }
  g_assert_cmpfloat_with_epsilon (json_object_get_double_member (json, "steps_shared_s"), sums[0],
                                  1e-9);
  g_assert_cmpfloat_with_epsilon (json_object_get_double_member (json, "recipe_shared_s"), sums[1],
                                  1e-9);

  td_test_cli (&csv, NULL, "bench", "--prepare", "--device", "host", "--columns", "70", "--views",
               "50", "--rows", "3", "--runs", "5", "--csv", NULL);
  g_auto (GStrv) lines = g_strsplit (g_strchomp (csv.out), "\n", -1);
  g_assert_cmpuint (g_strv_length (lines), ==, 1 + at);
  td_test_cli (&wrong, NULL, "bench", "--prepare", "--runs", "2", NULL);
  td_test_run_assert_refused (&wrong, 2, "--runs");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/prepare/masks-refused", test_masks_refused);
  g_test_add_func ("/prepare/bad-pixels", test_bad_pixels);
  g_test_add_func ("/prepare/counts", test_counts);
  g_test_add_func ("/prepare/bench", test_bench);
  g_test_add_func ("/prepare/bench-parts", test_bench_parts);
  return g_test_run ();
}
