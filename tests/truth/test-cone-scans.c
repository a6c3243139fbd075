/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "compute/methods/methods.h"
#include "dataset/scan-writer.h"
#include "tests/common/cases.h"
#include "tests/common/pipeline.h"
#include "tests/common/png.h"
#include "tests/common/segment.h"
#include "tests/unit/test-folder.h"

/* Whole cone- and fan-beam jobs agree with published segmentations of measured scans, and with the
   known object of generated ones. They do so in core and out of core. */
static TdEngine *engine;

static void
reconstruct (TdScan *scan, const TdRecipe *recipe, TdTestVolume *volume)
{
  g_autoptr (GError) error = NULL;

  td_test_reconstruct (engine, scan, recipe, volume, &error);
  g_assert_no_error (error);
  g_test_message ("%s, %s", volume->device, volume->family);
}

/* ── The Helsinki challenge's scans ── */

static void
test_htc (gconstpointer name)
{
  const char *folder = g_getenv ("TOMODESK_SCANS");
  g_autofree char *sinogram
      = g_strdup_printf ("%s/htc2022/htc2022_%s_sinogram.tif", folder, (const char *) name);
  g_autofree char *segmentation = g_strdup_printf ("%s/htc2022/htc2022_%s_full_recon_fbp_seg.png",
                                                   folder, (const char *) name);
  if (!folder || !g_file_test (sinogram, G_FILE_TEST_EXISTS)) {
    g_test_skip ("no scan");
    return;
  }

  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = td_scan_open (sinogram, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (td_scan_facts (scan)->geometry.beam, ==, TD_BEAM_FAN);

  TdRecipe recipe;
  TdTestVolume volume;
  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
  const gint region[4] = { 24, 24, 512, 512 };
  memcpy (recipe.region, region, sizeof region);
  reconstruct (scan, &recipe, &volume);

  guint width, height;
  g_autofree guint8 *truth = td_test_png_read (segmentation, &width, &height);
  g_assert_cmpuint (width, ==, volume.nx);
  g_assert_cmpuint (height, ==, volume.ny);
  const gsize n = (gsize) width * height;
  const double dice = td_segment_dice (volume.slices, n, td_segment_otsu (volume.slices, n), truth);
  g_test_message ("Dice %.5f", dice);
  g_assert_cmpfloat (dice, >=, 0.997);
  td_test_volume_clear (&volume);
}

/* ── Generated scans ── */

static TdScan *
phantom_scan (const char *phantom, guint n, guint n_views, TdPhantomScan *spec)
{
  g_autoptr (GError) error = NULL;

  td_phantom_scan_init (spec, phantom, n, n, n_views);
  spec->range_deg = 360;
  spec->logged = TRUE;
  spec->geometry = (TdGeometry) {
    .beam = TD_BEAM_CONE,
    .pixel_width_mm = 0.2,
    .pixel_height_mm = 0.2,
    .source_axis_mm = 300,
    .source_detector_mm = 450,
  };
  TdScan *scan = td_phantom_scan_new (spec, &error);
  g_assert_no_error (error);
  return scan;
}

/* Inside each ellipsoid, the slice of row @row is right within 1 % of the object's largest value.
   It is judged where the truth is flat for @margin voxels around. Nearer edges one sees the ramp
   filter's response to them. */
static void
check_inside (const TdPhantomScan *spec, guint row, int margin, const TdTestVolume *volume,
              const float *slice)
{
  const int nx = (int) volume->nx, ny = (int) volume->ny;
  g_autofree float *truth = g_new (float, (gsize) nx *ny);
  double error = 0, square = 0, peak = 0;
  guint count = 0;

  td_phantom_scan_truth (spec, row, volume->nx, volume->ny, 1, truth);
  for (int i = 0; i < nx * ny; i++)
    peak = MAX (peak, truth[i]);
  for (int y = margin; y + margin < ny; y++)
    for (int x = margin; x + margin < nx; x++) {
      const float value = truth[y * nx + x];
      gboolean flat = value > 0;
      for (int j = -margin; flat && j <= margin; j++)
        for (int i = -margin; flat && i <= margin; i++)
          flat = truth[(y + j) * nx + x + i] == value;
      if (!flat)
        continue;
      const double difference = (slice[y * nx + x] - value) / peak;
      error += difference;
      square += difference * difference;
      count++;
    }
  g_test_message ("mean error %.5f, RMS %.5f of the peak over %u voxels", error / count,
                  sqrt (square / count), count);
  g_assert_cmpuint (count, >, 50);
  g_assert_cmpfloat (fabs (error / count), <=, 0.003);
  g_assert_cmpfloat (sqrt (square / count), <=, 0.01);
}

static void
test_mid_plane (gconstpointer device)
{
  enum { N = 96 };
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = phantom_scan ("ellipsoids", N, 240, &spec);
  TdRecipe recipe;
  TdTestVolume volume;

  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, device, sizeof recipe.devices);
  recipe.row_first = N / 2 - 4;
  recipe.row_end = N / 2 + 4;
  reconstruct (scan, &recipe, &volume);
  check_inside (&spec, N / 2, 5, &volume, volume.slices + 4 * (gsize) volume.nx * volume.ny);
  td_test_volume_clear (&volume);
}

/* ── From files alone ── */

#define FILE_COLUMNS 97u
#define FILE_ROWS 76u

static const struct {
  const char *name;
  double offset_u, offset_v, tilt_deg[3], range_deg, centre, wobble_mm;
  gboolean fan;
} file_cases[] = {
  { "upright", 0, 0, { 0 }, 360, NAN, 0, FALSE },
  { "tilted", 0, 0, { 1.5, -1, 2 }, 360, NAN, 0, FALSE },
  { "offsets", 2.3, -4.2, { 0 }, 360, NAN, 0, FALSE },
  { "axis", 0, 0, { 0 }, 360, 50.7, 0, FALSE },
  { "short", 0, 0, { 0 }, 215, NAN, 0, FALSE },
  { "short-tilted", 1.2, 3, { 1, 1, -1 }, -220, NAN, 0, FALSE },
  { "offset-detector", 0, 0, { 0 }, 360, 33, 0, FALSE },
  { "offset-detector-tilted", 0, 2, { 1, -0.5, 0.3 }, 360, 64.4, 0, FALSE },
  { "wobble", 0, 0, { 0 }, 360, NAN, 0.6, FALSE },
  { "wobble-short", 0.8, 0, { 0 }, 225, NAN, 0.3, FALSE },
  { "fan", 1.3, 0, { 0 }, 360, NAN, 0, TRUE },
  { "fan-short", 0, 0, { 0 }, 220, NAN, 0, TRUE },
};

/* Frames of a generated scan into a folder or a file. */
static void
write_scan (TdScan *scan, const char *path, TdScanFormat format)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScanWriter) writer = td_scan_writer_new (path, format, facts, FALSE, &error);
  g_autofree float *frame = g_new (float, (gsize) facts->n_rows * facts->n_columns);
  const guint counts[] = { facts->n_views, facts->n_flats, facts->n_darks };

  g_assert_no_error (error);
  for (guint kind = 0; kind < 3; kind++)
    for (guint i = 0; i < counts[kind]; i++) {
      td_scan_read (scan, &(TdFrameRange) { kind, i, 1, 0, facts->n_rows }, frame, NULL, &error);
      td_scan_writer_write (writer, kind, i, 1, frame, &error);
      g_assert_no_error (error);
    }
  td_scan_writer_finish (writer, &error);
  g_assert_no_error (error);
}

/* What the files say is enough: geometry, angles and the size of the volume. */
static void
test_file (gconstpointer data)
{
  const guint which = GPOINTER_TO_UINT (data);
  const TdScanFormat formats[] = { TD_SCAN_TIFF, TD_SCAN_NXTOMO };
  g_autoptr (TestFolder) folder = test_folder_new ();
  TdPhantomScan spec;
  g_autoptr (GError) error = NULL;

  {
    g_autoptr (TdScan) unused = phantom_scan ("ellipsoids", FILE_COLUMNS, 260, &spec);
  }
  spec.n_rows = file_cases[which].fan ? 1 : FILE_ROWS;
  spec.logged = which % 2;
  spec.n_flats = 2;
  spec.n_darks = 1;
  spec.attenuation = 2;
  spec.range_deg = file_cases[which].range_deg;
  spec.centre_px = file_cases[which].centre;
  spec.offset_field = fabs (spec.centre_px - (FILE_COLUMNS - 1) / 2.0) > 0.05 * FILE_COLUMNS;
  spec.wobble_mm = file_cases[which].wobble_mm;
  spec.geometry.beam = file_cases[which].fan ? TD_BEAM_FAN : TD_BEAM_CONE;
  spec.geometry.detector_offset_u_px = file_cases[which].offset_u;
  spec.geometry.detector_offset_v_px = file_cases[which].offset_v;
  for (guint k = 0; k < 3; k++)
    spec.geometry.detector_tilt_rad[k] = file_cases[which].tilt_deg[k] * G_PI / 180;
  g_autoptr (TdScan) made = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);

  for (guint f = which / 2 % td_test_stride (2); f < G_N_ELEMENTS (formats);
       f += td_test_stride (2)) {
    g_autofree char *path
        = test_folder_file (folder, formats[f] == TD_SCAN_TIFF ? "scan" : "scan.nxs");
    TdRecipe recipe;
    TdTestVolume volume;

    write_scan (made, path, formats[f]);
    g_autoptr (TdScan) scan = td_scan_open (path, NULL, NULL, &error);
    g_assert_no_error (error);
    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
    /* The slice of the truth's row: slices lie about what the detector's middle sees. Matrices, of
       a wobble, have theirs about the origin. */
    recipe.row_first
        = (guint) ((gint) spec.n_rows / 2 + (gint) rint (spec.geometry.detector_offset_v_px));
    recipe.row_end = recipe.row_first + 1;
    reconstruct (scan, &recipe, &volume);
    g_assert_cmpuint (volume.nx, ==, td_phantom_scan_side (&spec));
    check_inside (&spec, spec.n_rows / 2, 5, &volume, volume.slices);
    td_test_volume_clear (&volume);
  }
}

/* As little memory as will do, and at least that of the volume. */
static void
tighten (TdScan *scan, TdRecipe *recipe)
{
  for (recipe->memory_limit_bytes = 1 << 20;; recipe->memory_limit_bytes += 256 << 10) {
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, recipe, NULL, NULL, NULL);
    if (plan)
      return;
    g_assert_cmpuint (recipe->memory_limit_bytes, <, 64 << 20);
  }
}

/* A small memory limit cuts the volume into slabs and the views into batches, and must change
   nothing but rounding; the plan's figure must hold. Rows then count from another one. So a
   coordinate of up to 64 pixels in single precision moves by up to 4e-6 of a pixel. Where it
   crosses a step of the texture unit's 8-bit weights, the step shows. */
static void
test_out_of_core (gconstpointer device)
{
  enum { N = 64 };
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = phantom_scan ("shepp-logan", N, 120, &spec);
  TdRecipe recipe;
  TdTestVolume whole, slabs;

  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, device, sizeof recipe.devices);
  reconstruct (scan, &recipe, &whole);
  tighten (scan, &recipe);
  g_assert_cmpuint (recipe.memory_limit_bytes, <, whole.result.device_peak_bytes);
  reconstruct (scan, &recipe, &slabs);
  g_assert_cmpuint (whole.n_slices, ==, slabs.n_slices);
  g_assert_cmpuint (slabs.result.device_peak_bytes, <=, recipe.memory_limit_bytes);
  g_assert_cmpuint (slabs.result.device_peak_bytes, <, whole.result.device_peak_bytes);

  double error = 0, norm = 0;
  for (gsize i = 0; i < (gsize) N * N * N; i++) {
    error += pow (slabs.slices[i] - whole.slices[i], 2);
    norm += pow (whole.slices[i], 2);
  }
  g_autoptr (GError) failure = NULL;
  g_autoptr (TdDevice) opened = td_device_open (device, &failure);
  g_assert_no_error (failure);
  const TdDeviceInfo *info = td_device_info (opened);
  const double bound = info->texture_linear && !info->texture_slow ? 1e-4 : 4e-6;
  g_test_message ("relative RMS %.2e, bound %.1e", sqrt (error / norm), bound);
  g_assert_cmpfloat (norm, >, 0);
  g_assert_cmpfloat (sqrt (error / norm), <=, bound);
  td_test_volume_clear (&whole);
  td_test_volume_clear (&slabs);
}

/* The recipe's centre and tilt against what the geometry would have said. */
static void
test_centre_and_tilt (void)
{
  enum { N = 48 };
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = phantom_scan ("shepp-logan", N, 90, &spec);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;
  TdTestVolume volume;
  double brightest[3];

  /* Off its place the axis smears the object: the true centre and no tilt give the sharpest slices.
   */
  const struct {
    double centre, tilt;
  } tries[3] = { { (N - 1) / 2.0, 0 }, { N / 2.0 + 2, 0 }, { (N - 1) / 2.0, 6 } };
  for (guint i = 0; i < 3; i++) {
    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
    recipe.centre_px = tries[i].centre;
    recipe.tilt_deg = tries[i].tilt;
    reconstruct (scan, &recipe, &volume);
    brightest[i] = 0;
    for (gsize v = 0; v < (gsize) N * N * N; v++)
      brightest[i] += volume.slices[v] * volume.slices[v];
    td_test_volume_clear (&volume);
  }
  g_test_message ("energy %.4f, off centre %.4f, tilted %.4f", brightest[0], brightest[1],
                  brightest[2]);
  g_assert_cmpfloat (brightest[1], <, 0.99 * brightest[0]);
  g_assert_cmpfloat (brightest[2], <, 0.99 * brightest[0]);

  recipe.interpolation = TD_INTERPOLATION_NEAREST;
  g_assert_false (td_test_reconstruct (engine, scan, &recipe, &volume, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  g_test_add_data_func ("/cone-scans/htc/ta", "ta", test_htc);
  g_test_add_data_func ("/cone-scans/htc/solid-disc", "solid_disc", test_htc);
  g_test_add_func ("/cone-scans/centre-and-tilt", test_centre_and_tilt);
  for (guint i = 0; i < G_N_ELEMENTS (file_cases); i++) {
    g_autofree char *name = g_strdup_printf ("/cone-scans/file/%s", file_cases[i].name);
    g_test_add_data_func (name, GUINT_TO_POINTER (i), test_file);
  }
  g_autoptr (GPtrArray) devices = td_test_devices ();
  for (guint i = 0; i < devices->len; i++) {
    g_autofree char *plane
        = g_strdup_printf ("/cone-scans/mid-plane/%s", (char *) devices->pdata[i]);
    g_autofree char *core
        = g_strdup_printf ("/cone-scans/out-of-core/%s", (char *) devices->pdata[i]);
    g_test_add_data_func (plane, devices->pdata[i], test_mid_plane);
    g_test_add_data_func (core, devices->pdata[i], test_out_of_core);
  }
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
