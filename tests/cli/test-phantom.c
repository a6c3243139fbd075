/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verb phantom writes scans that open and reconstruct, and the verb compare judges the
   volumes. */
#include <math.h>

#include <json-glib/json-glib.h>

#include "dataset/phantom-scan.h"
#include "dataset/volume.h"
#include "tests/common/cli.h"
#include "tests/unit/test-folder.h"

/* What lies on the disk is the scan that the library describes, sample by sample. */
static void
check_scan (const char *path, const TdPhantomScan *spec)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = td_scan_open (path, NULL, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (TdScan) truth = td_phantom_scan_new (spec, &error);
  g_assert_no_error (error);
  const TdScanFacts *a = td_scan_facts (scan), *b = td_scan_facts (truth);
  const TdFrameKind kinds[] = { TD_FRAME_PROJECTION, TD_FRAME_FLAT, TD_FRAME_DARK };
  const guint counts[] = { b->n_views, b->n_flats, b->n_darks };

  g_assert_cmpuint (a->n_columns, ==, b->n_columns);
  g_assert_cmpuint (a->n_rows, ==, b->n_rows);
  g_assert_cmpuint (a->n_views, ==, b->n_views);
  g_assert_cmpuint (a->n_flats, ==, b->n_flats);
  g_assert_cmpuint (a->n_darks, ==, b->n_darks);
  for (guint v = 0; v < a->n_views; v++)
    g_assert_cmpfloat_with_epsilon (a->angles_rad[v], b->angles_rad[v], 1e-6);
  for (guint k = 0; k < 3; k++) {
    gsize n = (gsize) counts[k] * a->n_rows * a->n_columns;
    g_autofree float *read = g_new (float, n);
    g_autofree float *expected = g_new (float, n);
    td_scan_read (scan, &(TdFrameRange) { kinds[k], 0, counts[k], 0, a->n_rows }, read, NULL,
                  &error);
    g_assert_no_error (error);
    td_scan_read (truth, &(TdFrameRange) { kinds[k], 0, counts[k], 0, a->n_rows }, expected, NULL,
                  &error);
    g_assert_no_error (error);
    g_assert_cmpmem (read, n * sizeof (float), expected, n * sizeof (float));
  }
}

static void
test_phantom (gconstpointer name)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder->path, name, NULL);
  g_auto (TdTestRun) run = { 0 };
  TdPhantomScan spec;

  td_test_cli (&run, folder->path, "phantom", "discs", "--output", name, "--columns", "40",
               "--rows", "3", "--views", "17", "--centre", "18.4", "--photons", "900", "--wander",
               "0.05", "--rings", "0.01", "--dead", "4", "--seed", "77", "--flats", "3", "--darks",
               "2", "--range", "360", "--json", NULL);
  g_autoptr (JsonObject) json = td_test_run_json (&run);
  g_assert_cmpint (json_object_get_int_member (json, "views"), ==, 17);
  g_assert_cmpfloat (json_object_get_double_member (json, "centre_px"), ==, 18.4);

  td_phantom_scan_init (&spec, "discs", 40, 3, 17);
  spec.centre_px = 18.4;
  spec.photons = 900;
  spec.wander = 0.05;
  spec.rings = 0.01;
  spec.n_dead = 4;
  spec.seed = 77;
  spec.n_flats = 3;
  spec.n_darks = 2;
  spec.range_deg = 360;
  check_scan (path, &spec);
}

static void
test_cone (gconstpointer name)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder->path, name, NULL);
  g_auto (TdTestRun) run = { 0 };
  g_autoptr (GError) error = NULL;

  td_test_cli (&run, folder->path, "phantom", "ellipsoids", "--output", name, "--cone", "--columns",
               "20", "--rows", "18", "--views", "5", "--sod-mm", "150", "--sdd-mm", "450",
               "--pixel-mm", "2", "--json", NULL);
  g_assert_cmpint (run.status, ==, 0);
  g_autoptr (TdScan) scan = td_scan_open (path, NULL, NULL, &error);
  g_assert_no_error (error);
  const TdGeometry *geometry = &td_scan_facts (scan)->geometry;
  g_assert_cmpint (geometry->beam, ==, TD_BEAM_CONE);
  g_assert_cmpfloat_with_epsilon (geometry->source_axis_mm, 150, 1e-6);
  g_assert_cmpfloat_with_epsilon (geometry->source_detector_mm, 450, 1e-6);
  g_assert_cmpfloat_with_epsilon (geometry->pixel_width_mm, 2, 1e-6);
}

/* The object of a detector that stands lower than the source has the volume's slices. */
static void
test_truth_of_cone (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) made = { 0 }, volume = { 0 }, compared = { 0 };
  g_autoptr (GError) error = NULL;

  td_test_cli (&made, folder->path, "phantom", "ellipsoids", "--cone", "--columns", "48", "--rows",
               "32", "--views", "90", "--detector-offset-v", "9", "--output", "s.nxs", "--truth",
               "t.tif", NULL);
  g_assert_cmpint (made.status, ==, 0);
  td_test_cli (&volume, folder->path, "reconstruct", "s.nxs", "--output", "v.tif", "--format",
               "bigtiff", "--device", "host", NULL);
  g_assert_cmpint (volume.status, ==, 0);
  td_test_cli (&compared, folder->path, "compare", "v.tif", "t.tif", "--circle", "0.8", "--json",
               NULL);
  g_assert_cmpint (compared.status, ==, 0);
  g_autoptr (JsonNode) root = json_from_string (compared.out, &error);
  g_assert_no_error (error);
  const double off = json_object_get_double_member (json_node_get_object (root), "relative_rms");
  g_test_message ("relative %.3f", off);
  g_assert_cmpfloat (off, <, 0.15); /* two slices off: 0.3 */
}

static void
test_refusals (void)
{
  const struct {
    const char *words[8];
    int status;
    const char *says;
  } wrong[] = {
    { { "teapot", "--output", "x" }, 2, "shepp-logan" },
    { { "disc" }, 2, "--output" },
    { { "disc", "--output", "x", "--columns", "0" }, 2, "at least 1" },
    { { "disc", "--output", "x", "--columns", "many" }, 2, "many" },
    { { "disc", "--output", "x", "--photons", "-3" }, 2, "negative" },
    { { "disc", "--output", "x", "--format", "jpeg" }, 2, "jpeg" },
    { { "disc", "--output", "missing/x.nxs" }, 1, "missing" },
    { { "disc", "--output", "x", "--columns", "2000000", "--rows", "2000000" }, 2, "fewer" },
    { { "disc", "ring", "--output", "x" }, 2, "ring" },
    { { "disc", "--output", "x", "--wobble-mm", "1" }, 2, "--cone" },
    { { "disc", "--output", "x", "--sod-mm", "100" }, 2, "--cone" },
    { { "disc", "--output", "x", "--sdd-mm", "400" }, 2, "--cone" },
    { { "disc", "--output", "x", "--cone", "--detector-tilt", "1,2" }, 2, "three angles" },
    { { "disc", "--output", "x", "--cone", "--detector-tilt", "60,0,0" }, 2, "45°" },
    { { "disc", "--output", "x", "--cone", "--wobble-mm", "50" }, 2, "wobble" },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++) {
    const char *const *w = wrong[i].words;
    g_auto (TdTestRun) run = { 0 };
    td_test_cli (&run, folder->path, "phantom", w[0], w[1], w[2], w[3], w[4], w[5], w[6], NULL);
    td_test_run_assert_refused (&run, wrong[i].status, wrong[i].says);
  }
  g_assert_cmpuint (test_folder_count (folder), ==, 0);
}

/* An existing scan stays, unless it is to be overwritten. */
static void
test_overwrite (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) first = { 0 }, second = { 0 }, third = { 0 };

  td_test_cli (&first, folder->path, "phantom", "disc", "--output", "a.nxs", "--columns", "8",
               NULL);
  g_assert_cmpint (first.status, ==, 0);
  td_test_cli (&second, folder->path, "phantom", "disc", "--output", "a.nxs", "--columns", "8",
               NULL);
  td_test_run_assert_refused (&second, 1, "a.nxs");
  td_test_cli (&third, folder->path, "phantom", "disc", "--output", "a.nxs", "--columns", "8",
               "--overwrite", NULL);
  g_assert_cmpint (third.status, ==, 0);
  g_assert_cmpuint (test_folder_count (folder), ==, 1);
}

static void
write_volume (const TestFolder *folder, const char *name, TdVolumeFormat format, guint nx,
              guint n_slices, const float *slices)
{
  g_autofree char *path = g_build_filename (folder->path, name, NULL);
  TdVolumeSpec spec = { .path = path,
                        .format = format,
                        .bits = 32,
                        .nx = nx,
                        .ny = 2,
                        .n_slices = n_slices,
                        .units = "1/px" };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, &error);

  g_assert_no_error (error);
  td_volume_writer_write (writer, 0, n_slices, slices, &error);
  g_assert_no_error (error);
  td_volume_writer_finish (writer, "{}", &error);
  g_assert_no_error (error);
}

/* Numbers that can be checked by hand: B is 1 … 12, A differs by 3 and 4 in two places. */
static void
test_compare (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  float b[12], a[12];
  double squares = 0;

  for (guint i = 0; i < 12; i++) {
    a[i] = b[i] = i + 1;
    squares += b[i] * b[i];
  }
  a[1] -= 3;
  a[11] += 4;
  write_volume (folder, "a.tif", TD_VOLUME_BIGTIFF, 3, 2, a);
  write_volume (folder, "b.h5", TD_VOLUME_HDF5, 3, 2, b);

  g_auto (TdTestRun) run = { 0 }, same = { 0 }, limit = { 0 }, none = { 0 }, text = { 0 };
  td_test_cli (&run, folder->path, "compare", "a.tif", "b.h5", "--json", "--output", "d", NULL);
  g_autoptr (JsonObject) json = td_test_run_json (&run);
  g_assert_cmpfloat_with_epsilon (json_object_get_double_member (json, "rms"), 5 / sqrt (12), 1e-9);
  g_assert_cmpfloat_with_epsilon (json_object_get_double_member (json, "relative_rms"),
                                  5 / sqrt (squares), 1e-9);
  g_assert_cmpfloat (json_object_get_double_member (json, "max_abs"), ==, 4);
  g_assert_cmpint (json_object_get_int_member (json, "max_x"), ==, 2);
  g_assert_cmpint (json_object_get_int_member (json, "max_y"), ==, 1);
  g_assert_cmpint (json_object_get_int_member (json, "max_slice"), ==, 1);
  g_assert_cmpfloat_with_epsilon (json_object_get_double_member (json, "psnr_db"),
                                  20 * log10 (11 / (5 / sqrt (12))), 1e-9);

  g_autofree char *difference = g_build_filename (folder->path, "d", NULL);
  g_autoptr (TdVolume) volume = td_volume_open (difference, NULL);
  float d[12];
  g_assert_nonnull (volume);
  g_assert_true (td_volume_read (volume, 0, 2, d, NULL));
  for (guint i = 0; i < 12; i++)
    g_assert_cmpfloat (d[i], ==, a[i] - b[i]);

  td_test_cli (&same, folder->path, "compare", "a.tif", "a.tif", "--json", NULL);
  g_autoptr (JsonObject) zero = td_test_run_json (&same);
  g_assert_cmpfloat (json_object_get_double_member (zero, "rms"), ==, 0);
  g_assert_true (json_object_get_null_member (zero, "psnr_db"));

  td_test_cli (&limit, folder->path, "compare", "a.tif", "b.h5", "--limit", "0.1", NULL);
  g_assert_cmpint (limit.status, ==, 1);
  g_assert_nonnull (strstr (limit.error, "above the limit"));
  td_test_cli (&none, folder->path, "compare", "a.tif", "b.h5", "--limit", "0", NULL);
  g_assert_cmpint (none.status, ==, 1);
  td_test_cli (&text, folder->path, "compare", "a.tif", "b.h5", "--limit", "0.5", NULL);
  g_assert_cmpint (text.status, ==, 0);
  g_assert_nonnull (strstr (text.out, "pixel (2, 1) of slice 1"));
}

/* What a job counted is told by its volume as well, which others open later. */
static void
test_counts_kept (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder->path, "v", "provenance.json", NULL);
  g_autofree char *text = NULL;
  g_auto (TdTestRun) made = { 0 }, run = { 0 };

  td_test_cli (&made, folder->path, "phantom", "shepp-logan", "--output", "s.nxs", "--columns",
               "20", "--rows", "4", "--views", "12", "--dead", "3", NULL);
  g_assert_cmpint (made.status, ==, 0);
  td_test_cli (&run, folder->path, "reconstruct", "s.nxs", "--output", "v", "--device", "host",
               NULL);
  g_assert_cmpint (run.status, ==, 0);
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  for (guint i = 0; i < 2; i++) {
    const char *told = strstr (i ? run.out : text, "no usable flat field and took");
    g_assert_nonnull (told);
    g_assert_true (i == 0 || !strstr (told + 1, "no usable flat field and took")); /* once */
  }
}

/* Numbers of what is not whole, or of volumes that lie elsewhere, are given with a word of it. */
static void
test_compare_notes (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  const float slices[6] = { 1, 2, 3, 4, 5, 6 };
  static const char *const says[] = { "“b.part” is still being written",
                                      "“a.tif” begins with slice 0 of its scan, “b.part” with "
                                      "slice 7",
                                      "“a.tif” has voxels of 0.5 mm, “b.part” of "
                                      "0.25 mm",
                                      "“a.tif” are in 1/mm, those of “b.part” in "
                                      "1/px" };

  for (guint i = 0; i < 2; i++) {
    const TdVolumeSpec spec
        = { .path = g_build_filename (folder->path, i ? "b.part" : "a.tif", NULL),
            .format = TD_VOLUME_BIGTIFF,
            .bits = 32,
            .nx = 3,
            .ny = 1,
            .n_slices = 2,
            .first_slice = 7 * i,
            .voxel_mm = i ? 0.25 : 0.5,
            .units = i ? "1/px" : "1/mm" };
    g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, NULL);

    g_assert_true (td_volume_writer_write (writer, 0, 2, slices, NULL));
    g_assert_true (td_volume_writer_finish (writer, "{}", NULL));
    g_free (spec.path);
  }
  g_auto (TdTestRun) run = { 0 }, text = { 0 }, same = { 0 };
  td_test_cli (&run, folder->path, "compare", "a.tif", "b.part", "--json", NULL);
  g_autoptr (JsonObject) json = td_test_run_json (&run);
  JsonArray *notes = json_object_get_array_member (json, "notes");
  td_test_cli (&text, folder->path, "compare", "a.tif", "b.part", NULL);
  g_assert_cmpuint (json_array_get_length (notes), ==, G_N_ELEMENTS (says));
  for (guint i = 0; i < G_N_ELEMENTS (says); i++) {
    g_assert_nonnull (strstr (json_array_get_string_element (notes, i), says[i]));
    g_assert_nonnull (strstr (text.error, says[i]));
    g_assert_null (strstr (text.out, says[i]));
  }
  td_test_cli (&same, folder->path, "compare", "a.tif", "a.tif", NULL);
  g_assert_cmpstr (same.error, ==, "");
}

static void
test_compare_refusals (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  const float small[4] = { 1, 2, 3, 4 };
  const float wide[12] = { 1, 2, 3, NAN, 5, 6, 7, 8, 9, 10, 11, 12 };

  write_volume (folder, "small.tif", TD_VOLUME_BIGTIFF, 2, 1, small);
  write_volume (folder, "wide.tif", TD_VOLUME_BIGTIFF, 3, 2, wide);

  g_auto (TdTestRun) sizes = { 0 }, missing = { 0 }, nan = { 0 }, words = { 0 }, circle = { 0 };
  td_test_cli (&sizes, folder->path, "compare", "small.tif", "wide.tif", NULL);
  td_test_run_assert_refused (&sizes, 1, "1 slice of 2 × 2");
  td_test_cli (&missing, folder->path, "compare", "small.tif", "none.tif", NULL);
  td_test_run_assert_refused (&missing, 1, "none.tif");
  td_test_cli (&nan, folder->path, "compare", "wide.tif", "wide.tif", "--output", "d.tif", NULL);
  td_test_run_assert_refused (&nan, 1, "not finite at pixel (0, 1) of slice 0");
  /* What lies outside the circle is not compared. */
  g_auto (TdTestRun) inner = { 0 };
  td_test_cli (&inner, folder->path, "compare", "wide.tif", "wide.tif", "--circle", "0.9", NULL);
  g_assert_cmpint (inner.status, ==, 0);
  td_test_cli (&words, folder->path, "compare", "small.tif", NULL);
  td_test_run_assert_refused (&words, 2, "missing");
  td_test_cli (&circle, folder->path, "compare", "small.tif", "small.tif", "--circle", "0.1", NULL);
  td_test_run_assert_refused (&circle, 2, "larger fraction");
  g_assert_cmpuint (test_folder_count (folder), ==, 2);
}

/* A plane of 1 … 12 across each axis, as values and as figures; what is not there is refused. */
static void
test_slice (void)
{
  static const struct {
    const char *axis, *at;
    guint n;
    float values[6];
  } cases[] = {
    { "x", "2", 4, { 3, 6, 9, 12 } },
    { "y", "0", 6, { 1, 2, 3, 7, 8, 9 } },
    { "z", "1", 6, { 7, 8, 9, 10, 11, 12 } },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *plane = test_folder_file (folder, "plane.tif");
  float values[12];

  for (guint i = 0; i < 12; i++)
    values[i] = i + 1;
  write_volume (folder, "v.h5", TD_VOLUME_HDF5, 3, 2, values);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_auto (TdTestRun) run = { 0 };
    float out[6];
    double sum = 0;

    td_test_cli (&run, folder->path, "slice", "v.h5", "--axis", cases[i].axis, "--at", cases[i].at,
                 "--output", "plane.tif", "--overwrite", "--json", NULL);
    g_autoptr (JsonObject) json = td_test_run_json (&run);
    g_autoptr (TdVolume) volume = td_volume_open (plane, NULL);
    g_assert_nonnull (volume);
    g_assert_true (td_volume_read (volume, 0, 1, out, NULL));
    for (guint k = 0; k < cases[i].n; k++) {
      g_assert_cmpfloat (out[k], ==, cases[i].values[k]);
      sum += out[k];
    }
    g_assert_cmpfloat_with_epsilon (json_object_get_double_member (json, "mean"), sum / cases[i].n,
                                    1e-12);
  }
  g_auto (TdTestRun) all = { 0 }, exists = { 0 }, beyond = { 0 }, name = { 0 }, info = { 0 };
  td_test_cli (&all, folder->path, "slice", "v.h5", "--statistics", "--json", NULL);
  g_autoptr (JsonObject) json = td_test_run_json (&all);
  g_assert_cmpfloat_with_epsilon (json_object_get_double_member (json, "deviation"), sqrt (13.0),
                                  1e-12);
  td_test_cli (&exists, folder->path, "slice", "v.h5", "--output", "plane.tif", NULL);
  td_test_run_assert_refused (&exists, 1, "--overwrite");
  td_test_cli (&beyond, folder->path, "slice", "v.h5", "--axis", "x", "--at", "3", NULL);
  td_test_run_assert_refused (&beyond, 2, "3 planes across x");
  td_test_cli (&name, folder->path, "slice", "v.h5", "--output", "plane.jpg", NULL);
  td_test_run_assert_refused (&name, 2, ".png");
  td_test_cli (&info, folder->path, "info", "v.h5", "--volume", "--json", NULL);
  g_autoptr (JsonObject) facts = td_test_run_json (&info);
  g_assert_cmpint (json_object_get_int_member (facts, "slices"), ==, 2);
}

/* ── What is told of a scan ── */

/* What a scan states is told by info, line by line; what it does not state has no line. */
static void
test_info (void)
{
  static const struct {
    const char *options[4], *lines[6]; /* of phantom; that info prints */
    const char *none;
  } scans[] = {
    { { "--cone" },
      { "\n  projections  12 of 20 columns × 8 rows, uint16", "\n  beam         cone\n",
        "\n  pixel        5 mm × 5 mm\n",
        "\n  source       200 mm to the axis, 400 mm to the detector\n", "\n  flats        10\n",
        "\n  darks        5\n" },
      "a projection matrix" },
    { { "--cone", "--wobble-mm", "0.5" },
      { "\n  geometry     a projection matrix for each of the 12 views\n" },
      "size unknown" },
    { { "--logged", "--pixel-mm", "0.25" },
      { "\n  beam         parallel\n", "\n  pixel        0.25 mm × 0.25 mm\n",
        "\n  values       -log of the transmission already\n", "\n  flats        0\n",
        "\n  centre       column 9.50, the file's estimate\n", "float32" },
      "\n  source " },
    { { "--centre-unsaid" },
      { "\n  pixel        size unknown: values come out per pixel (--pixel-mm)\n",
        "\n  angles       0° to 165°: " },
      "\n  centre " },
  };

  for (guint i = 0; i < G_N_ELEMENTS (scans); i++) {
    const char *const *more = scans[i].options;
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_auto (TdTestRun) made = { 0 }, told = { 0 };

    td_test_cli (&made, folder->path, "phantom", "discs", "--output", "scan.nxs", "--columns", "20",
                 "--rows", "8", "--views", "12", more[0], more[1], more[2], NULL);
    g_assert_cmpint (made.status, ==, 0);
    td_test_cli (&told, folder->path, "info", "scan.nxs", NULL);
    g_assert_cmpint (told.status, ==, 0);
    for (guint k = 0; k < G_N_ELEMENTS (scans[i].lines) && scans[i].lines[k]; k++)
      if (!strstr (told.out, scans[i].lines[k]))
        g_error ("“%s” is not in: %s", scans[i].lines[k], told.out);
    g_assert_null (strstr (told.out, scans[i].none));
  }
}

/* ── What a cluster would take ── */

static void
check_grids (JsonArray *grids, const char *mode, const char *text)
{
  static const char *const stages[]
      = { "load", "filter", "gather", "back-project", "download", "reduce", "store", "fill" };
  double last = 0;

  g_assert_cmpuint (json_array_get_length (grids), ==, 3); /* 1 × 4, 2 × 2, 4 × 1 */
  for (guint i = 0; i < 3; i++) {
    JsonObject *grid = json_array_get_object_element (grids, i);
    JsonObject *times = json_object_get_object_member (grid, "stages");
    const double seconds = json_object_get_double_member (grid, "seconds");
    const char *bound = json_object_get_string_member (grid, "bound");
    const gint64 rows = json_object_get_int_member (grid, "rows"),
                 columns = json_object_get_int_member (grid, "columns");
    g_autofree char *line
        = g_strdup_printf ("\n  %-8s %d × %d: %.3g s, bound by %s%s\n", mode, (int) rows,
                           (int) columns, seconds, bound, i == 0 ? "; the fastest" : "");
    g_assert_cmpint (rows * columns, ==, 4);
    g_assert_cmpfloat (seconds, >=, last);
    last = seconds;
    const char *there = strstr (text, line);
    if (!there)
      g_error ("“%s” is not in: %s", line, text);
    for (guint k = 0; k < G_N_ELEMENTS (stages); k++) {
      const double stage = json_object_get_double_member (times, stages[k]);
      g_autofree char *one = g_strdup_printf (" %s %.3g", stages[k], stage);
      const char *end = strchr (there + strlen (line), '\n');
      g_autofree char *told = g_strndup (there, (gsize) (end - there));
      g_assert_cmpint (strstr (told, one) != NULL, ==, stage > 0);
    }
    g_assert_cmpfloat (json_object_get_double_member (times, bound), >, 0);
  }
}

static void
test_plan (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_auto (TdTestRun) made = { 0 }, text = { 0 }, run = { 0 };

  td_test_cli (&made, folder->path, "phantom", "discs", "--output", "scan.nxs", "--cone",
               "--columns", "20", "--rows", "12", "--views", "30", NULL);
  td_test_cli (&text, folder->path, "plan", "scan.nxs", "--device", "host", "--cluster",
               "nodes:2 gpu:2", "--each-device", NULL);
  td_test_cli (&run, folder->path, "plan", "scan.nxs", "--device", "host", "--cluster",
               "nodes:2 gpu:2", "--each-device", "--json", NULL);
  g_assert_cmpint (text.status, ==, 0);
  g_autoptr (JsonObject) json = td_test_run_json (&run);
  JsonObject *cluster = json_object_get_object_member (json, "cluster");
  g_assert_cmpuint (json_object_get_size (cluster), ==, 2);
  check_grids (json_object_get_array_member (cluster, "slab"), "slab", text.out);
  check_grids (json_object_get_array_member (cluster, "ifdk"), "ifdk", text.out);
  /* Each device with what it needs, the host among them. */
  JsonArray *devices = json_object_get_array_member (json, "each_device");
  gboolean host = FALSE;
  for (guint i = 0; i < json_array_get_length (devices); i++) {
    JsonObject *device = json_array_get_object_element (devices, i);
    const char *id = json_object_get_string_member (device, "id");
    g_autofree char *line = g_strdup_printf ("\n  %-10s ", id);
    host = host || strcmp (id, "host") == 0;
    g_assert_true (json_object_get_null_member (device, "problem"));
    g_assert_cmpint (json_object_get_int_member (device, "host_bytes"), >, 0);
    g_assert_cmpint (json_object_get_int_member (device, "device_bytes"), >, 0);
    g_assert_true (json_object_has_member (device, "estimate_seconds"));
    g_assert_nonnull (strstr (text.out, line));
  }
  g_assert_true (host);
}

/* What takes next to no time takes less than something, and not "0 ms". */
static void
test_plan_moments (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *own = g_build_filename (folder->path, "tomodesk", NULL);
  g_autofree char *path = g_build_filename (own, "rates.ini", NULL);
  g_autofree char *before = g_strdup (g_getenv ("XDG_CACHE_HOME"));
  g_auto (TdTestRun) made = { 0 }, ran = { 0 }, planned = { 0 };
  g_autoptr (GKeyFile) rates = g_key_file_new ();

  g_assert_cmpint (g_mkdir (own, 0700), ==, 0);
  g_setenv ("XDG_CACHE_HOME", folder->path, TRUE);
  td_test_cli (&made, folder->path, "phantom", "disc", "--output", "a.nxs", "--columns", "8",
               "--rows", "1", "--views", "8", NULL);
  td_test_cli (&ran, folder->path, "reconstruct", "a.nxs", "--output", "volume", "--device", "host",
               NULL);
  g_assert_cmpint (ran.status, ==, 0);
  /* A disk as fast as none is. */
  g_assert_true (g_key_file_load_from_file (rates, path, G_KEY_FILE_NONE, NULL));
  g_auto (GStrv) groups = g_key_file_get_groups (rates, NULL);
  for (guint i = 0; groups[i]; i++) {
    g_auto (GStrv) keys = g_key_file_get_keys (rates, groups[i], NULL, NULL);
    for (guint k = 0; keys[k]; k++)
      g_key_file_set_double (rates, groups[i], keys[k], 1e15);
  }
  g_assert_true (g_key_file_save_to_file (rates, path, NULL));
  td_test_cli (&planned, folder->path, "plan", "a.nxs", "--device", "host", NULL);
  if (before)
    g_setenv ("XDG_CACHE_HOME", before, TRUE);
  else
    g_unsetenv ("XDG_CACHE_HOME");
  g_assert_cmpint (planned.status, ==, 0);
  g_assert_nonnull (strstr (planned.out, "writing less than 1 ms"));
  g_assert_null (strstr (planned.out, " 0 ms"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/cli/phantom/nxtomo", "scan.nxs", test_phantom);
  g_test_add_data_func ("/cli/phantom/tiff", "scan", test_phantom);
  g_test_add_data_func ("/cli/phantom/cone/nxtomo", "cone.nxs", test_cone);
  g_test_add_data_func ("/cli/phantom/cone/tiff", "cone", test_cone);
  g_test_add_func ("/cli/phantom/truth-of-cone", test_truth_of_cone);
  g_test_add_func ("/cli/phantom/refusals", test_refusals);
  g_test_add_func ("/cli/phantom/overwrite", test_overwrite);
  g_test_add_func ("/cli/compare", test_compare);
  g_test_add_func ("/cli/counts-kept", test_counts_kept);
  g_test_add_func ("/cli/compare-notes", test_compare_notes);
  g_test_add_func ("/cli/compare/refusals", test_compare_refusals);
  g_test_add_func ("/cli/slice", test_slice);
  g_test_add_func ("/cli/info", test_info);
  g_test_add_func ("/cli/plan", test_plan);
  g_test_add_func ("/cli/plan-moments", test_plan_moments);
  return g_test_run ();
}
