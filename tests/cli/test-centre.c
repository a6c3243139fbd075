/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verb centre and --centre auto find the known axis, and refuse what they cannot search. */
#include <glib/gstdio.h>
#include <string.h>

#include "dataset/tiff-save.h"
#include "dataset/volume.h"
#include "tests/common/cli.h"
#include "tests/common/png.h"
#include "tests/unit/test-folder.h"

#define CENTRE 43.3
#define WIDE (3 * 81 + 2 * 4) /* nine slices and what is between them */

static void
make_scan (TestFolder *folder, const char *range)
{
  g_auto (TdTestRun) run = { 0 };

  td_test_cli (&run, folder->path, "phantom", "discs", "--output", "scan.nxs", "--columns", "81",
               "--rows", "20", "--views", "180", "--centre", "43.3", "--photons", "20000",
               "--range", range, NULL);
  g_assert_cmpint (run.status, ==, 0);
}

/* The contract: these members, of these types. */
static void
test_json (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) run = { 0 };

  make_scan (folder, "360");
  td_test_cli (&run, folder->path, "centre", "scan.nxs", "--device", "host", "--json", NULL);
  g_autoptr (JsonObject) json = td_test_run_json (&run);
  g_assert_cmpfloat_with_epsilon (json_object_get_double_member (json, "centre_px"), CENTRE, 0.1);
  g_assert_cmpfloat (json_object_get_double_member (json, "uncertainty_px"), >, 0);
  g_assert_cmpfloat_with_epsilon (json_object_get_double_member (json, "tilt_deg"), 0, 0.5);
  g_assert_true (json_object_get_boolean_member (json, "agreed"));
  g_assert_true (json_object_get_null_member (json, "advice"));

  JsonArray *methods = json_object_get_array_member (json, "methods");
  g_assert_cmpuint (json_array_get_length (methods), ==, 5);
  for (guint i = 0; i < json_array_get_length (methods); i++) {
    JsonObject *method = json_array_get_object_element (methods, i);
    const char *name = json_object_get_string_member (method, "name");
    g_assert_nonnull (name);
    guint n = g_str_equal (name, "projections") ? 1 : 5;
    g_assert_cmpfloat_with_epsilon (json_object_get_double_member (method, "centre_px"), CENTRE,
                                    0.3);
    JsonArray *rows = json_object_get_array_member (method, "rows");
    g_assert_cmpuint (json_array_get_length (rows), ==, n);
    g_assert_cmpuint (json_array_get_length (json_object_get_array_member (method, "trials")), ==,
                      n);
    for (guint r = 0; r < n; r++)
      g_assert_cmpint (json_array_get_int_element (rows, r), <, 20);
  }
}

static void
test_options (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) run = { 0 };

  make_scan (folder, "180");
  td_test_cli (&run, folder->path, "centre", "scan.nxs", "--device", "host", "--rows", "5:15",
               "--method", "correlation", "--range", "38:48", "--json", NULL);
  g_autoptr (JsonObject) json = td_test_run_json (&run);
  JsonArray *methods = json_object_get_array_member (json, "methods");
  g_assert_cmpuint (json_array_get_length (methods), ==, 1);
  JsonObject *method = json_array_get_object_element (methods, 0);
  g_assert_cmpstr (json_object_get_string_member (method, "name"), ==, "correlation");
  g_assert_cmpint (json_array_get_int_element (json_object_get_array_member (method, "rows"), 0),
                   >=, 5);
  g_assert_cmpfloat_with_epsilon (json_object_get_double_member (json, "centre_px"), CENTRE, 0.3);
}

/* A file that says it was taken at 180° is no view, but is compared with the first one. */
static void
test_half_turn_frame (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *frames = g_build_filename (folder->path, "scan", "projections", NULL);
  g_autofree char *found = NULL, *other = g_build_filename (frames, "projection_180deg.tif", NULL);
  g_auto (TdTestRun) run = { 0 };
  const char *name;

  td_test_cli (&run, folder->path, "phantom", "ellipsoids", "--output", "scan", "--columns", "81",
               "--rows", "20", "--views", "61", "--centre", "43.3", "--end-point", NULL);
  g_assert_cmpint (run.status, ==, 0);
  g_autoptr (GDir) dir = g_dir_open (frames, 0, NULL);
  while ((name = g_dir_read_name (dir)))
    if (strstr (name, "0060.tif"))
      found = g_build_filename (frames, name, NULL);
  g_assert_nonnull (found);
  g_assert_cmpint (g_rename (found, other), ==, 0);

  td_test_run_clear (&run);
  td_test_cli (&run, folder->path, "centre", "scan", "--angles", "0:177.0492", "--device", "host",
               "--json", NULL);
  g_autoptr (JsonObject) json = td_test_run_json (&run);
  g_assert_cmpfloat_with_epsilon (json_object_get_double_member (json, "centre_px"), CENTRE, 0.05);
  g_assert_true (json_object_get_boolean_member (json, "agreed"));
  JsonArray *methods = json_object_get_array_member (json, "methods");
  gboolean compared = FALSE;
  for (guint i = 0; i < json_array_get_length (methods); i++)
    compared |= g_str_equal (
        json_object_get_string_member (json_array_get_object_element (methods, i), "name"),
        "projections");
  g_assert_true (compared);
}

/* Nine slices side by side, and a table that says which is which. */
static void
test_picture (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *png = g_build_filename (folder->path, "trials.png", NULL);
  g_autofree char *tiff = g_build_filename (folder->path, "trials.tif", NULL);
  g_auto (TdTestRun) run = { 0 }, table = { 0 }, refused = { 0 }, follow = { 0 };
  guint width, height;

  make_scan (folder, "360");
  td_test_cli (&run, folder->path, "centre", "scan.nxs", "--device", "host", "--picture",
               "trials.png", "--json", NULL);
  g_autoptr (JsonObject) json = td_test_run_json (&run);
  JsonObject *picture = json_object_get_object_member (json, "picture");
  JsonArray *centres = json_object_get_array_member (picture, "centres_px");
  g_assert_cmpuint (json_array_get_length (centres), ==, 9);
  g_assert_cmpfloat_with_epsilon (json_array_get_double_element (centres, 4), CENTRE, 0.2);
  g_autofree guint8 *grey = td_test_png_read (png, &width, &height);
  g_assert_cmpuint (width, ==, WIDE);
  g_assert_cmpuint (height, ==, WIDE);
  guint dark = 0;
  for (guint i = 0; i < width * height; i++)
    dark += grey[i] < 128;
  g_assert_cmpuint (dark, >, width * height / 4);
  g_assert_cmpuint (dark, <, width * height);

  /* what is there stays, unless it may be replaced */
  g_assert_true (g_file_set_contents (tiff, "", 0, NULL));
  td_test_cli (&refused, folder->path, "centre", "scan.nxs", "--device", "host", "--picture",
               "trials.tif", NULL);
  td_test_run_assert_refused (&refused, 1, "“trials.tif” exists already; --overwrite replaces it");
  td_test_cli (&follow, folder->path, "follow", "x", "--slice", "trials.tif", NULL);
  td_test_run_assert_refused (&follow, 1, "“trials.tif” exists already; --overwrite replaces it");
  td_test_cli (&table, folder->path, "centre", "scan.nxs", "--device", "host", "--picture",
               "trials.tif", "--overwrite", NULL);
  g_assert_cmpint (table.status, ==, 0);
  g_assert_nonnull (strstr (table.out, "picture"));
  g_assert_nonnull (strstr (table.out, "correlation"));
  g_autoptr (TdVolume) volume = td_volume_open (tiff, NULL);
  g_assert_nonnull (volume);
  g_assert_cmpuint (td_volume_facts (volume)->nx, ==, width);
  g_assert_cmpuint (td_volume_facts (volume)->n_slices, ==, 1);
}

/* The trial slices know the mask that the search knew, and are of the middle row: the ends of the
   object's height are empty. */
static void
test_picture_masked (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *mask = g_build_filename (folder->path, "mask.tif", NULL);
  g_autofree guint8 *bad = g_new0 (guint8, 81 * 81);
  const TdTiffImage image = { 81, 81, TD_SAMPLE_UINT8, 0, NULL };
  g_autofree char *tiff = g_build_filename (folder->path, "trials.tif", NULL);
  g_auto (TdTestRun) made = { 0 }, run = { 0 };

  td_test_cli (&made, folder->path, "phantom", "shepp-logan", "--output", "scan.nxs", "--columns",
               "81", "--rows", "81", "--views", "180", "--centre", "43.3", NULL);
  bad[5 * 81 + 30] = 1;
  g_assert_true (td_tiff_save_single (mask, "mask.tif", &image, bad, NULL));
  td_test_cli (&run, folder->path, "centre", "scan.nxs", "--device", "host", "--bad-pixels",
               "mask.tif", "--method", "correlation", "--picture", "trials.tif", NULL);
  g_assert_cmpstr (run.error, ==, "");
  g_assert_cmpint (run.status, ==, 0);
  g_autoptr (TdVolume) volume = td_volume_open (tiff, NULL);
  g_autofree float *values = g_new (float, (gsize) WIDE *WIDE);
  g_assert_cmpuint (td_volume_facts (volume)->nx, ==, WIDE);
  g_assert_true (td_volume_read (volume, 0, 1, values, NULL));
  float most = 0;
  for (guint i = 0; i < WIDE * WIDE; i++)
    most = MAX (most, values[i]);
  g_assert_cmpfloat (most, >, 0.01);
}

static void
test_auto (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) run = { 0 };

  make_scan (folder, "360");
  td_test_cli (&run, folder->path, "reconstruct", "scan.nxs", "--device", "host", "--output", "out",
               "--centre", "auto", "--json", NULL);
  g_autoptr (JsonObject) json = td_test_run_json (&run);
  g_assert_cmpfloat_with_epsilon (json_object_get_double_member (json, "centre_px"), CENTRE, 0.1);
}

/* A single row has no tilt, and none is told. */
static void
test_single_row (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) made = { 0 }, text = { 0 }, json = { 0 };

  td_test_cli (&made, folder->path, "phantom", "discs", "--output", "row.nxs", "--columns", "64",
               "--rows", "1", "--views", "90", NULL);
  td_test_cli (&text, folder->path, "centre", "row.nxs", "--device", "host", NULL);
  td_test_cli (&json, folder->path, "centre", "row.nxs", "--device", "host", "--json", NULL);
  g_assert_cmpint (made.status | text.status, ==, 0);
  g_assert_nonnull (strstr (text.out, "centre        column"));
  g_assert_null (strstr (text.out, "tilt"));
  g_autoptr (JsonObject) found = td_test_run_json (&json);
  g_assert_true (json_object_get_null_member (found, "tilt_deg"));
  g_assert_true (json_object_get_null_member (found, "tilt_uncertainty_deg"));
}

static void
test_refusals (void)
{
  static const struct {
    const char *words[2];
    int status;
    const char *says;
  } cases[] = {
    { { "--method", "magic" },
      2,
      "no method \"magic\"; the methods are correlation, fourier, sharpness, overlap and "
      "projections" },
    { { "--range", "40" }, 2, "--range \"40\" is not FIRST:LAST" },
    { { "--range", "50:40" }, 2, "--range \"50:40\" is not FIRST:LAST" },
    { { "--picture", "trials.jpg" }, 2, "\"trials.jpg\" must end in .png" },
    { { "--rows", "19:25" },
      2,
      "Rows 19:25 are not on the detector, which has rows 0 to 19 (--rows)" },
    { { "--range", "9000:9100" },
      2,
      "9000:9100 to search for the axis is not a rising range of columns near the detector's, "
      "0 to 80 (--range)" },
    { { "--picture", "nowhere/trials.png" }, 1, "nowhere" },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();

  make_scan (folder, "180");
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_auto (TdTestRun) run = { 0 };
    td_test_cli (&run, folder->path, "centre", "scan.nxs", "--device", "host", cases[i].words[0],
                 cases[i].words[1], NULL);
    td_test_run_assert_refused (&run, cases[i].status, cases[i].says);
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cli/centre/json", test_json);
  g_test_add_func ("/cli/centre/options", test_options);
  g_test_add_func ("/cli/centre/half-turn-frame", test_half_turn_frame);
  g_test_add_func ("/cli/centre/picture", test_picture);
  g_test_add_func ("/cli/centre/picture-masked", test_picture_masked);
  g_test_add_func ("/cli/centre/auto", test_auto);
  g_test_add_func ("/cli/centre/single-row", test_single_row);
  g_test_add_func ("/cli/centre/refusals", test_refusals);
  return g_test_run ();
}
