/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verb bench prints what its options ask for. */
#include "tests/common/cli.h"
#include "tests/unit/test-folder.h"

/* Every named problem is known, and shrunk ones come out in its proportions. */
static void
test_presets (void)
{
  static const struct {
    const char *name;
    int columns, size, slices, views;
  } presets[] = {
    { "512-512/16", 32, 32, 32, 64 },
    { "1k-128/16", 64, 8, 8, 64 },
    { "512-2k/16", 32, 64, 128, 64 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (presets); i++) {
    g_auto (TdTestRun) run = { 0 };

    td_test_cli (&run, NULL, "bench", "--cone", "--preset", presets[i].name, "--device", "host",
                 "--runs", "3", "--json", NULL);
    g_assert_cmpint (run.status, ==, 0);
    g_autoptr (JsonObject) object = td_test_run_json (&run);
    g_assert_cmpstr (json_object_get_string_member (object, "preset"), ==, presets[i].name);
    g_assert_cmpint (json_object_get_int_member (object, "columns"), ==, presets[i].columns);
    g_assert_cmpint (json_object_get_int_member (object, "size"), ==, presets[i].size);
    g_assert_cmpint (json_object_get_int_member (object, "slices"), ==, presets[i].slices);
    g_assert_cmpint (json_object_get_int_member (object, "views"), ==, presets[i].views);
    JsonArray *rows = json_object_get_array_member (object, "rows");
    g_assert_cmpuint (json_array_get_length (rows), >, 0);
    g_assert_cmpfloat (
        json_object_get_double_member (json_array_get_object_element (rows, 0), "error"), <, 1e-5);
  }
}

/* What cannot be measured is told, and is no success. */
static void
test_fails (void)
{
  static const char *const kinds[][2]
      = { { NULL }, { "--end-to-end" }, { "--prepare" }, { "--cone" }, { "--cone", "--project" } };

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++) {
    g_auto (TdTestRun) run = { 0 };
    td_test_cli (&run, NULL, "bench", "--device", "cuda:99", kinds[i][0], kinds[i][1], NULL);
    /* A driver that has no such device tells a wrong name, and no driver a lack. */
    td_test_run_assert_refused (&run, run.status == 2 ? 2 : 1, "tomodesk-cli: ");
  }
}

/* A job for each of the formats and depths that were asked for, and nothing is left in the folder.
 */
static void
test_disk (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) run = { 0 };

  td_test_cli (&run, NULL, "bench", "--disk", folder->path, "--device", "host", "--method",
               "fourier", "--columns", "48", "--rows-in-scan", "20", "--views", "40",
               "--storage-mb", "16", "--runs", "1", "--depths", "32,8", "--json", NULL);
  g_assert_cmpint (run.status, ==, 0);
  g_autoptr (JsonObject) object = td_test_run_json (&run);
  g_assert_cmpfloat (json_object_get_double_member (object, "read_many_per_s"), >, 0);
  g_assert_cmpfloat (json_object_get_double_member (object, "write_shared_per_s"), >, 0);
  JsonArray *jobs = json_object_get_array_member (object, "jobs");
  g_assert_cmpuint (json_array_get_length (jobs), ==, 3 * 3 * 2);
  for (guint i = 0; i < json_array_get_length (jobs); i++) {
    JsonObject *job = json_array_get_object_element (jobs, i);
    g_assert_cmpfloat (json_object_get_double_member (job, "limit_s"), >, 0);
    g_assert_cmpfloat_with_epsilon (json_object_get_double_member (job, "ratio"),
                                    json_object_get_double_member (job, "total_s")
                                        / json_object_get_double_member (job, "limit_s"),
                                    1e-3);
  }
  g_assert_cmpuint (test_folder_count (folder), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cli/bench/presets", test_presets);
  g_test_add_func ("/cli/bench/disk", test_disk);
  g_test_add_func ("/cli/bench/fails", test_fails);
  return g_test_run ();
}
