/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Crop and bins of a recipe. Whole jobs agree with scans cropped and binned by hand. Where the axis
   is tilted or the beam is a cone, they agree with the object. */
#include <math.h>
#include <string.h>

#include "compute/methods/methods.h"
#include "tests/common/devices.h"
#include "tests/common/pipeline.h"
#include "tests/common/truth.h"

static TdEngine *engine;

#define COLUMNS 75
#define ROWS 13
#define VIEWS 60

typedef struct {
  float *projections, *flats, *darks;
} Frames;

static void
frames_clear (Frames *frames)
{
  g_free (frames->projections);
  g_free (frames->flats);
  g_free (frames->darks);
}

static float *
noise (guint n, double low, double high, guint seed)
{
  float *values = g_new (float, n);

  td_test_random (values, n, seed);
  for (guint i = 0; i < n; i++)
    values[i] = (float) (low + (values[i] + 1) / 2 * (high - low));
  return values;
}

static TdScan *
scan_of (const Frames *frames, guint columns, guint rows, guint views, guint n_flats,
         const double *angles, double pixel_mm)
{
  TdScanFacts facts = {
    .n_columns = columns,
    .n_rows = rows,
    .n_views = views,
    .n_flats = n_flats,
    .n_darks = 2,
    .sample_type = TD_SAMPLE_UINT16,
    .angles_rad = (double *) angles,
    .centre_px = NAN,
  };

  td_geometry_init_parallel (&facts.geometry);
  facts.geometry.pixel_width_mm = facts.geometry.pixel_height_mm = pixel_mm;
  return td_scan_new_from_memory (&facts, frames->projections, frames->flats, frames->darks, NULL,
                                  NULL);
}

/* Crop to (column, row, columns, rows), then bins of columns and rows, of @n frames; views in
   groups of @group. */
static float *
by_hand (const float *in, guint n, guint group, const guint crop[4], const guint bin[2])
{
  const guint column = crop[0], row = crop[1], columns = crop[2], rows = crop[3];
  const guint bin_columns = bin[0], bin_rows = bin[1];
  const guint nx = columns / bin_columns, ny = rows / bin_rows, nv = n / group;
  float *out = g_new (float, nx *ny *nv);

  for (guint v = 0; v < nv; v++)
    for (guint y = 0; y < ny; y++)
      for (guint x = 0; x < nx; x++) {
        double sum = 0;
        for (guint g = 0; g < group; g++)
          for (guint j = 0; j < bin_rows; j++)
            for (guint i = 0; i < bin_columns; i++)
              sum += in[((v * group + g) * ROWS + row + y * bin_rows + j) * COLUMNS + column
                        + x * bin_columns + i];
        out[(v * ny + y) * nx + x] = (float) (sum / (group * bin_columns * bin_rows));
      }
  return out;
}

static const struct {
  guint crop[4], bin[2], bin_views;
  double centre_px, seen_px;
  guint rows[2], seen_rows[2];
} regions[] = {
  { { 0 }, { 2, 2 }, 1, 36.5, 18, { 0, 0 }, { 0, 0 } },
  { { 9, 3, 50, 8 }, { 1, 1 }, 1, 33.25, 24.25, { 4, 9 }, { 1, 6 } },
  { { 9, 3, 50, 8 }, { 3, 2 }, 4, 33.25, 23.25 / 3, { 6, 8 }, { 1, 3 } },
  { { 0 }, { 1, 4 }, 1, 36.5, 36.5, { 5, 6 }, { 1, 2 } },
  { { 0 }, { 4, 1 }, 3, 36.5, 8.75, { 12, 13 }, { 12, 13 } },
};

static void
test_by_hand (gconstpointer device)
{
  const guint pixels = COLUMNS * ROWS;
  Frames frames = { noise (VIEWS * pixels, 200, 900, 1), noise (3 * pixels, 950, 1000, 2),
                    noise (2 * pixels, 90, 110, 3) };
  double angles[VIEWS];

  for (guint v = 0; v < VIEWS; v++)
    angles[v] = G_PI * v / VIEWS;
  g_autoptr (TdScan) scan = scan_of (&frames, COLUMNS, ROWS, VIEWS, 3, angles, 0.5);
  for (guint i = 0; i < G_N_ELEMENTS (regions); i++) {
    const gboolean cropped = regions[i].crop[2] > 0;
    const guint *crop = regions[i].crop, *bin = regions[i].bin, bc = bin[0], br = bin[1];
    const guint columns = cropped ? crop[2] : COLUMNS, rows = cropped ? crop[3] : ROWS;
    const guint kept[4] = { crop[0], crop[1], columns, rows };
    const guint group = regions[i].bin_views, views = VIEWS / group;
    Frames hand = {
      by_hand (frames.projections, VIEWS, group, kept, bin),
      by_hand (frames.flats, 3, 1, kept, bin),
      by_hand (frames.darks, 2, 1, kept, bin),
    };
    g_autofree double *seen_angles = g_new (double, views);
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;
    TdTestVolume volume, expected;

    for (guint v = 0; v < views; v++)
      seen_angles[v] = G_PI * (v * group + (group - 1) / 2.0) / VIEWS;
    g_autoptr (TdScan) seen
        = scan_of (&hand, columns / bc, rows / br, views, 3, seen_angles, 0.5 * bc);
    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, device, sizeof recipe.devices);
    recipe.centre_px = regions[i].seen_px;
    recipe.row_first = regions[i].seen_rows[0];
    recipe.row_end = regions[i].seen_rows[1];
    td_test_reconstruct (engine, seen, &recipe, &expected, &error);
    g_assert_no_error (error);

    memcpy (recipe.crop, crop, sizeof recipe.crop);
    memcpy (recipe.bin, regions[i].bin, sizeof recipe.bin);
    recipe.bin_views = group;
    recipe.centre_px = regions[i].centre_px;
    recipe.row_first = regions[i].rows[0];
    recipe.row_end = regions[i].rows[1];
    td_test_reconstruct (engine, scan, &recipe, &volume, &error);
    g_assert_no_error (error);
    g_assert_cmpuint (volume.nx, ==, columns / bc);
    g_assert_cmpuint (volume.n_slices, ==, expected.n_slices);
    const gsize n = (gsize) volume.nx * volume.ny * volume.n_slices;
    g_autofree double *truth = g_new (double, n);
    for (gsize k = 0; k < n; k++)
      truth[k] = expected.slices[k];
    g_assert_cmpfloat (td_truth_relative_rms (volume.slices, truth, n), <, 1e-6);
    td_test_volume_clear (&volume);
    td_test_volume_clear (&expected);
    frames_clear (&hand);
  }
  frames_clear (&frames);
}

/* Relative error of square slices against the object binned as they are, within most of the field.
 */
static double
error_of (const TdPhantomScan *spec, guint row, const float *slice, guint n, guint bin)
{
  const guint fine = n * bin;
  g_autofree float *truth = g_new (float, (gsize) fine *fine);
  double squares = 0, reference = 0;

  td_phantom_scan_truth (spec, row, fine, fine, 2, truth);
  for (guint j = 0; j < n; j++)
    for (guint i = 0; i < n; i++) {
      double value = 0;
      if (hypot (i - (n - 1) / 2.0, j - (n - 1) / 2.0) > 0.42 * n)
        continue;
      for (guint k = 0; k < bin * bin; k++)
        value += truth[(gsize) (j * bin + k / bin) * fine + i * bin + k % bin] / (bin * bin);
      squares += pow (slice[(gsize) j * n + i] - value, 2);
      reference += value * value;
    }
  return sqrt (squares / reference);
}

static double
reconstruct_one (TdScan *scan, const TdRecipe *recipe, const TdPhantomScan *spec, guint row,
                 guint side, guint bin)
{
  g_autoptr (GError) error = NULL;
  TdTestVolume volume;

  td_test_reconstruct (engine, scan, recipe, &volume, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (volume.nx, ==, side);
  g_assert_cmpuint (volume.ny, ==, side);
  g_assert_cmpuint (volume.n_slices, ==, 1);
  const double off = error_of (spec, row, volume.slices, side, bin);
  td_test_volume_clear (&volume);
  return off;
}

/* A tilted axis: the centre of a cropped and binned row far from the middle. */
static void
test_tilted (gconstpointer device)
{
  TdPhantomScan spec;
  TdRecipe recipe;

  td_phantom_scan_init (&spec, "discs", 120, 81, 190);
  spec.centre_px = 61.2;
  spec.tilt_deg = 3;
  spec.geometry.pixel_width_mm = spec.geometry.pixel_height_mm = 0.25;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, NULL);
  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, device, sizeof recipe.devices);
  recipe.filter.kind = TD_FILTER_HANN;
  recipe.tilt_deg = 3;
  recipe.row_first = 70;
  recipe.row_end = 71;
  const double plain = reconstruct_one (scan, &recipe, &spec, 70, 120, 1);
  recipe.crop[0] = 2;
  recipe.crop[1] = 20;
  recipe.crop[2] = 118;
  recipe.crop[3] = 60;
  const double cropped = reconstruct_one (scan, &recipe, &spec, 70, 118, 1);
  recipe.bin[0] = 2;
  const double binned = reconstruct_one (scan, &recipe, &spec, 70, 59, 2);
  recipe.bin[1] = 3;
  const double rows = reconstruct_one (scan, &recipe, &spec, 70, 59, 2);
  g_test_message ("relative error %.4f, cropped %.4f, binned columns %.4f, rows too %.4f", plain,
                  cropped, binned, rows);
  g_assert_cmpfloat (plain, <, 0.08);
  g_assert_cmpfloat (cropped, <, 1.1 * plain);
  g_assert_cmpfloat (binned, <, 0.14);
  g_assert_cmpfloat (rows, <, 1.1 * binned);
}

static void
test_cone (gconstpointer device)
{
  TdPhantomScan spec;
  TdRecipe recipe;

  td_phantom_scan_init (&spec, "ellipsoids", 96, 96, 160);
  spec.range_deg = 360;
  spec.geometry.beam = TD_BEAM_CONE;
  spec.geometry.pixel_width_mm = spec.geometry.pixel_height_mm = 0.5;
  spec.geometry.source_axis_mm = 300;
  spec.geometry.source_detector_mm = 500;
  spec.geometry.detector_offset_v_px = 2.5;
  spec.centre_px = 45.7;
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, device, sizeof recipe.devices);
  recipe.filter.kind = TD_FILTER_HANN;
  /* The detector sees two slices and a half more above the source than below. */
  recipe.row_first = 49;
  recipe.row_end = 50;
  const double plain = reconstruct_one (scan, &recipe, &spec, 47, 96, 1);
  recipe.bin[0] = recipe.bin[1] = 2;
  recipe.row_first = 24;
  recipe.row_end = 25;
  const double binned = reconstruct_one (scan, &recipe, &spec, 47, 48, 2);
  recipe.bin[0] = recipe.bin[1] = 1;
  recipe.crop[0] = 1;
  recipe.crop[1] = 20;
  recipe.crop[2] = 92;
  recipe.crop[3] = 57;
  recipe.row_first = 30;
  recipe.row_end = 31;
  const double cropped = reconstruct_one (scan, &recipe, &spec, 48, 92, 1);
  /* Slices are those of the rows that are left, however far these are from the middle. */
  recipe.crop[1] = 8;
  recipe.crop[3] = 40;
  recipe.row_first = 24;
  recipe.row_end = 25;
  const double above = reconstruct_one (scan, &recipe, &spec, 30, 92, 1);
  recipe.crop[1] = 47;
  recipe.crop[3] = 49;
  recipe.row_first = 22;
  recipe.row_end = 23;
  const double below = reconstruct_one (scan, &recipe, &spec, 67, 92, 1);
  g_test_message ("relative error %.4f, binned %.4f, cropped %.4f, %.4f above, %.4f below", plain,
                  binned, cropped, above, below);
  g_assert_cmpfloat (above, <, 1.5 * plain);
  g_assert_cmpfloat (below, <, 1.5 * plain);
  g_assert_cmpfloat (plain, <, 0.15);
  g_assert_cmpfloat (binned, <, 0.2);
  g_assert_cmpfloat (cropped, <, 1.2 * plain);
}

/* What cannot be is refused, with the reason. */
static void
test_refused (void)
{
  static const char *const cases[][3] = {
    { "crop", "70,0,10,5", "crop" },
    { "bin", "40", "larger" },
    { "bin-views", "61", "larger" },
  };
  Frames frames = { noise (VIEWS * COLUMNS * ROWS, 0.2, 0.9, 1), NULL, NULL };
  double angles[VIEWS];

  for (guint v = 0; v < VIEWS; v++)
    angles[v] = G_PI * v / VIEWS;
  g_autoptr (TdScan) scan = scan_of (&frames, COLUMNS, ROWS, VIEWS, 0, angles, 0);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;
    td_recipe_init (&recipe);
    td_recipe_set (&recipe, "prepare", "none", NULL);
    g_assert_true (td_recipe_set (&recipe, cases[i][0], cases[i][1], NULL));
    g_assert_null (td_plan_new (engine, scan, &recipe, NULL, NULL, &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
    g_assert_nonnull (strstr (error->message, cases[i][2]));
  }
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;
  td_recipe_init (&recipe);
  td_recipe_set (&recipe, "prepare", "none", NULL);
  td_recipe_set (&recipe, "crop", "0,3,75,5", NULL);
  td_recipe_set (&recipe, "rows", "7:9", NULL);
  g_assert_null (td_plan_new (engine, scan, &recipe, NULL, NULL, &error));
  g_assert_nonnull (strstr (error->message, "3 to 7"));
  frames_clear (&frames);
}

int
main (int argc, char **argv)
{
  static const TdDeviceTest tests[] = {
    { "by-hand", test_by_hand },
    { "tilted", test_tilted },
    { "cone", test_cone },
  };

  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  g_test_add_func ("/region/refused", test_refused);
  td_test_each_device ("region", tests, G_N_ELEMENTS (tests));
  int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
