/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random scans with random recipes: what must not matter does not. Files of every kind, devices,
   memory, single rows, regions and the order of views give what the scan in memory gives on the
   host. */
#include <math.h>
#include <string.h>

#include "compute/methods/methods.h"
#include "compute/prepare/steps.h"
#include "dataset/scan-writer.h"
#include "dataset/tiff-save.h"
#include "tests/common/cases.h"
#include "tests/common/invented.h"
#include "tests/common/pipeline.h"
#include "tests/unit/test-folder.h"

/* Of the rms: what other devices' arithmetic makes of it. */
#define OTHER_DEVICE 1e-4
#define OWN_BYTES ((guint64) 64 << 20)

static guint n_scans = 4, first_scan, seed = 1;
static gboolean talk;

typedef struct {
  TdTestInvented of;
  TdTestVolume expected;
  TdEngine *engine;
} Trial;

/* ── Comparing ── */

static double
rms (const float *values, gsize n)
{
  double sum = 0;

  for (gsize i = 0; i < n; i++)
    sum += (double) values[i] * values[i];
  return sqrt (sum / n);
}

/* Rectangles of @nx × @ny pixels of @a's slices from @slice, @x, @y on, against all of @b. */
static void
compare (const char *what, const TdTestVolume *a, guint slice, guint x, guint y,
         const TdTestVolume *b, double bound)
{
  const gsize n = (gsize) b->nx * b->ny * b->n_slices;
  const double scale = rms (a->slices, (gsize) a->nx * a->ny * a->n_slices);
  double sum = 0;

  g_assert_cmpuint (slice + b->n_slices, <=, a->n_slices);
  g_assert_true (x + b->nx <= a->nx && y + b->ny <= a->ny);
  for (guint s = 0; s < b->n_slices; s++)
    for (guint j = 0; j < b->ny; j++)
      for (guint i = 0; i < b->nx; i++) {
        const double of_a = a->slices[((gsize) (slice + s) * a->ny + y + j) * a->nx + x + i];
        const double away = b->slices[((gsize) s * b->ny + j) * b->nx + i] - of_a;
        sum += away * away;
      }
  const double error = sqrt (sum / n) / (scale > 0 ? scale : 1);
  if (talk)
    g_test_message ("%-12s %.2e", what, error);
  if (!(error <= bound))
    g_error ("%s: %.3g of the rms, and %.3g is allowed", what, error, bound);
}

static void
run (Trial *trial, TdScan *scan, const TdRecipe *recipe, TdTestVolume *volume)
{
  g_autoptr (GError) error = NULL;

  td_test_reconstruct (trial->engine, scan, recipe, volume, &error);
  g_assert_no_error (error);
}

/* All of what is expected. */
static void
expect (Trial *trial, const char *what, TdScan *scan, const TdRecipe *recipe, double bound)
{
  TdTestVolume volume;

  run (trial, scan, recipe, &volume);
  g_assert_cmpuint (volume.nx, ==, trial->expected.nx);
  g_assert_cmpuint (volume.n_slices, ==, trial->expected.n_slices);
  compare (what, &trial->expected, 0, 0, 0, &volume, bound);
  td_test_volume_clear (&volume);
}

/* ── What must not matter ── */

static void
try_devices (Trial *trial)
{
  g_autoptr (GPtrArray) devices = td_test_devices ();
  TdRecipe recipe = trial->of.recipe;
  const double bound
      = trial->of.judges ? TD_TEST_OTHER_JUDGE : MAX (OTHER_DEVICE, trial->of.portions);

  for (guint i = 1; i < devices->len; i++) {
    g_strlcpy (recipe.devices, devices->pdata[i], sizeof recipe.devices);
    expect (trial, devices->pdata[i], trial->of.scan, &recipe, bound);
  }
  if (devices->len > 1) {
    g_snprintf (recipe.devices, sizeof recipe.devices, "host,%s", (char *) devices->pdata[1]);
    expect (trial, "two devices", trial->of.scan, &recipe, bound);
  }
}

/* As little memory as is enough, and half of what is above it. */
static void
try_memory (Trial *trial)
{
  g_autoptr (GError) error = NULL;
  TdRecipe recipe = trial->of.recipe;
  g_autoptr (TdPlan) plan
      = td_plan_new (trial->engine, trial->of.scan, &recipe, NULL, NULL, &error);

  g_assert_no_error (error);
  const guint64 all = td_plan_facts (plan)->host_bytes;
  for (guint part = 1; part <= 7 && all > OWN_BYTES; part += 3) {
    TdTestVolume volume;

    recipe.memory_limit_bytes = OWN_BYTES + (all - OWN_BYTES) * part / 8;
    if (!td_test_reconstruct (trial->engine, trial->of.scan, &recipe, &volume, &error)) {
      g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
      g_clear_error (&error);
      continue;
    }
    compare ("memory", &trial->expected, 0, 0, 0, &volume, trial->of.portions);
    td_test_volume_clear (&volume);
  }
}

static void
try_parts (Trial *trial)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdPlan) plan
      = td_plan_new (trial->engine, trial->of.scan, &trial->of.recipe, NULL, NULL, &error);
  const TdPlanFacts *facts = td_plan_facts (plan);

  for (guint i = 0; i < 3; i++) {
    TdRecipe recipe = trial->of.recipe;
    TdTestVolume volume;
    const guint slice = td_test_whole (&trial->of, 0, facts->n_slices - 1);
    const guint count = td_test_whole (&trial->of, 1, i == 0 ? 1 : facts->n_slices - slice);

    recipe.row_first = facts->first_row + slice * facts->slice_rows;
    recipe.row_end = recipe.row_first + count * facts->slice_rows;
    recipe.region[2] = (gint) td_test_whole (&trial->of, 1, facts->nx);
    recipe.region[3] = (gint) td_test_whole (&trial->of, 1, facts->ny);
    recipe.region[0] = (gint) td_test_whole (&trial->of, 0, facts->nx - recipe.region[2]);
    recipe.region[1] = (gint) td_test_whole (&trial->of, 0, facts->ny - recipe.region[3]);
    run (trial, trial->of.scan, &recipe, &volume);
    compare ("part", &trial->expected, slice, recipe.region[0], recipe.region[1], &volume,
             trial->of.portions);
    td_test_volume_clear (&volume);
  }
}

static float *
read_all (TdScan *scan, TdFrameKind kind, guint n)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  float *frames = g_new (float, (gsize) MAX (n, 1) * facts->n_rows * facts->n_columns);
  g_autoptr (GError) error = NULL;

  td_scan_read (scan, &(TdFrameRange) { kind, 0, n, 0, facts->n_rows }, frames, NULL, &error);
  g_assert_no_error (error);
  return frames;
}

/* The file's own reader needs no option but the centre, which TIFF does not hold. */
static void
try_file (Trial *trial, const TestFolder *folder, TdScanFormat format, const char *name)
{
  const TdScanFacts *facts = td_scan_facts (trial->of.scan);
  const guint counts[] = { facts->n_views, facts->n_flats, facts->n_darks };
  const TdScanOptions options
      = { .values
          = facts->transmission_logged ? TD_SCAN_VALUES_ATTENUATIONS : TD_SCAN_VALUES_INTENSITIES };
  g_autofree char *path = test_folder_file (folder, name);
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScanWriter) writer = td_scan_writer_new (path, format, facts, FALSE, &error);

  g_assert_no_error (error);
  for (guint kind = 0; kind < 3; kind++) {
    g_autofree float *frames = read_all (trial->of.scan, kind, counts[kind]);

    g_assert_true (td_scan_writer_write (writer, kind, 0, counts[kind], frames, &error));
  }
  g_assert_true (td_scan_writer_finish (writer, &error));
  g_autoptr (TdScan) scan = td_scan_open (path, &options, NULL, &error);
  g_assert_no_error (error);
  expect (trial, name, scan, &trial->of.recipe, trial->of.portions); /* angles have nine digits */
}

static void
save_stack (const TestFolder *folder, const char *name, guint columns, guint rows, guint n,
            const float *frames)
{
  const TdTiffImage image = { columns, rows, TD_SAMPLE_FLOAT32, 0, NULL };
  g_autofree char *path = test_folder_file (folder, name);
  g_autoptr (TdTiffSave) save = td_tiff_save_new (path, name, &image, n, FALSE, NULL);

  for (guint i = 0; i < n; i++)
    g_assert_true (td_tiff_save_image (save, i, frames + (gsize) i * rows * columns, NULL));
  g_assert_true (td_tiff_save_close (g_steal_pointer (&save), NULL));
}

/* Floats, a page a row; flats and darks named, which then are of no known moment. */
static void
try_sinograms (Trial *trial, const TestFolder *folder)
{
  const TdScanFacts *facts = td_scan_facts (trial->of.scan);
  const guint n_views = facts->n_views, n_rows = facts->n_rows, n_columns = facts->n_columns;
  TdRecipe recipe = trial->of.recipe;
  TdStep *flat_field = td_recipe_step (&recipe, "flat-field"),
         *bad = td_recipe_step (&recipe, "bad-pixels");
  TdTestVolume one_group, volume;

  /* What rounding of whole counts is worth is not known of floats. */
  if (n_views < 2 || bad)
    return;
  g_autofree float *rows = g_new (float, (gsize) n_views *n_rows *n_columns);
  g_autofree float *flats = read_all (trial->of.scan, TD_FRAME_FLAT, facts->n_flats);
  g_autofree float *darks = read_all (trial->of.scan, TD_FRAME_DARK, facts->n_darks);
  g_autofree char *path = test_folder_file (folder, "rows.tif"),
                  *angles = test_folder_file (folder, "a.txt");
  g_autofree char *flat = test_folder_file (folder, "f.tif"),
                  *dark = test_folder_file (folder, "d.tif");
  g_autoptr (GString) text = g_string_new ("angle_rad\n");
  g_autoptr (GError) error = NULL;

  g_assert_true (td_scan_read_sinograms (
      trial->of.scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 0, n_views, 0, n_rows }, rows, NULL,
      NULL));
  save_stack (folder, "rows.tif", n_columns, n_views, n_rows, rows);
  if (facts->n_flats)
    save_stack (folder, "f.tif", n_columns, n_rows, facts->n_flats, flats);
  if (facts->n_darks)
    save_stack (folder, "d.tif", n_columns, n_rows, facts->n_darks, darks);
  for (guint v = 0; v < n_views; v++)
    g_string_append_printf (text, "%.17g\n", facts->angles_rad[v]);
  g_assert_true (g_file_set_contents (angles, text->str, -1, NULL));
  const TdScanOptions options = {
    .sinograms = TRUE,
    .angles = angles,
    .flats = facts->n_flats ? flat : NULL,
    .darks = facts->n_darks ? dark : NULL,
    .pixel_mm = facts->geometry.pixel_width_mm,
    .values = facts->transmission_logged ? TD_SCAN_VALUES_ATTENUATIONS : TD_SCAN_VALUES_INTENSITIES,
  };
  g_autoptr (TdScan) scan = td_scan_open (path, &options, NULL, &error);
  g_assert_no_error (error);
  flat_field->values[TD_FLAT_FIELD_DRIFT] = TD_FLAT_FIELD_DRIFT_NONE;
  run (trial, trial->of.scan, &recipe, &one_group);
  run (trial, scan, &recipe, &volume);
  compare ("sinograms", &one_group, 0, 0, 0, &volume, trial->of.portions);
  td_test_volume_clear (&volume);
  td_test_volume_clear (&one_group);
}

/* Views in another order, where no step knows of one. */
static void
try_order (Trial *trial)
{
  const TdScanFacts *facts = td_scan_facts (trial->of.scan);
  const gsize pixels = (gsize) facts->n_rows * facts->n_columns;
  TdRecipe recipe = trial->of.recipe;
  TdTestVolume one_group, volume;
  TdScanFacts other = *facts;

  if (trial->of.keeps_order || recipe.bin_views > 1)
    return;
  g_autofree float *views = read_all (trial->of.scan, TD_FRAME_PROJECTION, facts->n_views);
  g_autofree float *flats = read_all (trial->of.scan, TD_FRAME_FLAT, facts->n_flats);
  g_autofree float *darks = read_all (trial->of.scan, TD_FRAME_DARK, facts->n_darks);
  g_autofree float *shuffled = g_new (float, facts->n_views *pixels);
  g_autofree double *angles = g_new (double, facts->n_views);
  const guint turn = td_test_whole (&trial->of, 0, facts->n_views - 1);

  for (guint v = 0; v < facts->n_views; v++) { /* the other way round, and from somewhere within */
    const guint from = (facts->n_views - 1 - v + turn) % facts->n_views;
    memcpy (shuffled + v * pixels, views + from * pixels, pixels * sizeof *views);
    angles[v] = facts->angles_rad[from] + 2 * G_PI * (v % 3);
  }
  other.angles_rad = angles;
  g_autoptr (TdScan) scan = td_scan_new_from_memory (
      &other, shuffled, facts->n_flats ? flats : NULL, facts->n_darks ? darks : NULL, NULL, NULL);
  td_recipe_step (&recipe, "flat-field")->values[TD_FLAT_FIELD_DRIFT] = TD_FLAT_FIELD_DRIFT_NONE;
  run (trial, trial->of.scan, &recipe, &one_group);
  run (trial, scan, &recipe, &volume);
  compare ("order", &one_group, 0, 0, 0, &volume,
           trial->of.judges ? TD_TEST_OTHER_JUDGE : MAX (1e-5, trial->of.portions));
  td_test_volume_clear (&volume);
  td_test_volume_clear (&one_group);
}

/* What is counted the other way and turned back. */
static void
try_turned (Trial *trial)
{
  const TdScanFacts *facts = td_scan_facts (trial->of.scan);
  TdRecipe recipe = trial->of.recipe;
  TdScanFacts other = *facts;
  g_autofree double *angles = g_new (double, facts->n_views);
  g_autofree float *views = read_all (trial->of.scan, TD_FRAME_PROJECTION, facts->n_views);
  g_autofree float *flats = read_all (trial->of.scan, TD_FRAME_FLAT, facts->n_flats);
  g_autofree float *darks = read_all (trial->of.scan, TD_FRAME_DARK, facts->n_darks);

  /* The slice is turned by the offset, whichever way the stage turned. */
  for (guint v = 0; v < facts->n_views; v++)
    angles[v] = -facts->angles_rad[v] + 0.3;
  recipe.reverse_rotation = !recipe.reverse_rotation;
  recipe.angle_offset_deg += (recipe.reverse_rotation ? 0.3 : -0.3) * 180 / G_PI;
  other.angles_rad = angles;
  g_autoptr (TdScan) scan = td_scan_new_from_memory (&other, views, facts->n_flats ? flats : NULL,
                                                     facts->n_darks ? darks : NULL, NULL, NULL);
  expect (trial, "turned", scan, &recipe,
          trial->of.judges ? TD_TEST_OTHER_JUDGE : MAX (1e-5, trial->of.portions));
}

static void
mirror (float *frames, gsize n_lines, guint n_columns)
{
  for (gsize line = 0; line < n_lines; line++)
    for (guint a = 0, b = n_columns - 1; a < b; a++, b--) {
      float *row = frames + line * n_columns, left = row[a];
      row[a] = row[b];
      row[b] = left;
    }
}

/* Columns the other way round are half a turn. */
static void
try_mirrored (Trial *trial)
{
  const TdScanFacts *facts = td_scan_facts (trial->of.scan);
  const guint n = facts->n_columns;
  TdRecipe recipe = trial->of.recipe;
  TdScanFacts other = *facts;

  /* Sound neighbours are looked for to the left first, bins begin there, and edges may be continued
     by a sample more. */
  if (trial->of.judges || trial->of.spec.n_dead || recipe.bin[0] > 1 || recipe.filter.extend_edges)
    return;
  g_autofree float *views = read_all (trial->of.scan, TD_FRAME_PROJECTION, facts->n_views);
  g_autofree float *flats = read_all (trial->of.scan, TD_FRAME_FLAT, facts->n_flats);
  g_autofree float *darks = read_all (trial->of.scan, TD_FRAME_DARK, facts->n_darks);

  mirror (views, (gsize) facts->n_views * facts->n_rows, n);
  mirror (flats, (gsize) facts->n_flats * facts->n_rows, n);
  mirror (darks, (gsize) facts->n_darks * facts->n_rows, n);
  other.centre_px = NAN;
  recipe.centre_px = n - 1 - recipe.centre_px;
  recipe.tilt_deg = -recipe.tilt_deg;
  recipe.angle_offset_deg += 180;
  if (recipe.crop[2])
    recipe.crop[0] = n - recipe.crop[0] - recipe.crop[2];
  g_autoptr (TdScan) scan = td_scan_new_from_memory (&other, views, facts->n_flats ? flats : NULL,
                                                     facts->n_darks ? darks : NULL, NULL, NULL);
  expect (trial, "mirrored", scan, &recipe, MAX (1e-5, trial->of.portions));
}

/* The recipe that the plan made of it, by way of its text. */
static void
try_recipe (Trial *trial)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdPlan) plan
      = td_plan_new (trial->engine, trial->of.scan, &trial->of.recipe, NULL, NULL, &error);
  g_autofree char *text = td_recipe_to_json (td_plan_recipe (plan));
  TdRecipe recipe;

  td_recipe_from_json (&recipe, text, &error);
  g_assert_no_error (error);
  g_assert_true (td_recipe_equal (&recipe, td_plan_recipe (plan)));
  expect (trial, "recipe", trial->of.scan, &recipe, TD_TEST_SAME);
}

/* What is written is what was made; integers are within their steps. */
static void
try_output (Trial *trial, const TestFolder *folder)
{
  static const guint bits[] = { 32, 16, 8 };
  TdRecipe recipe = trial->of.recipe;
  g_autofree char *path = test_folder_file (folder, "volume");
  g_autoptr (GError) error = NULL;

  recipe.output_format = td_test_whole (&trial->of, TD_VOLUME_TIFF_STACK, TD_VOLUME_HDF5);
  recipe.output_bits = bits[td_test_whole (&trial->of, 0, 2)];
  g_autoptr (TdPlan) plan
      = td_plan_new (trial->engine, trial->of.scan, &recipe, path, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (TdJob) job = td_job_new (plan);
  td_job_run (job, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (TdVolume) volume = td_volume_open (path, &error);
  g_assert_no_error (error);
  const TdVolumeFacts *facts = td_volume_facts (volume);
  TdTestVolume read = { .nx = facts->nx, .ny = facts->ny, .n_slices = facts->n_slices };
  const gsize n = (gsize) read.nx * read.ny * read.n_slices;
  g_assert_true (facts->complete);
  g_assert_cmpuint (n, ==,
                    (gsize) trial->expected.nx * trial->expected.ny * trial->expected.n_slices);
  read.slices = g_new (float, n);
  td_volume_read (volume, 0, facts->n_slices, read.slices, &error);
  g_assert_no_error (error);
  const double step = recipe.output_bits == 32
                          ? 0
                          : (facts->high - facts->low) / (recipe.output_bits == 16 ? 65535 : 255);
  guint64 outside = 0;
  for (gsize i = 0; i < n; i++) {
    const double value = trial->expected.slices[i],
                 held = step > 0 ? CLAMP (value, facts->low, facts->high) : value;
    outside += fabs (value - held) > step / 2 * 1.001;
    g_assert_cmpfloat (fabs (read.slices[i] - held), <=,
                       0.51 * step + 1e-5 * (fabs (held) + fabs (facts->low)));
  }
  g_assert_cmpuint (td_job_result (job)->clamped_output, >=, outside);
  g_free (read.slices);
}

/* ── The trials ── */

static void
test_trial (guint number)
{
  Trial trial = { .engine = td_engine_new (td_methods) };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autoptr (GError) error = NULL;

  td_test_invent (&trial.of, seed, number);
  if (talk)
    td_test_invented_tell (&trial.of, number);
  if (td_test_reconstruct (trial.engine, trial.of.scan, &trial.of.recipe, &trial.expected,
                           &error)) {
    for (gsize i = 0; i < (gsize) trial.expected.nx * trial.expected.ny * trial.expected.n_slices;
         i++)
      g_assert_true (isfinite (trial.expected.slices[i]));
    try_devices (&trial);
    try_memory (&trial);
    try_parts (&trial);
    try_file (&trial, folder, TD_SCAN_NXTOMO, "scan.nxs");
    try_file (&trial, folder, TD_SCAN_TIFF, "scan");
    try_sinograms (&trial, folder);
    try_order (&trial);
    try_turned (&trial);
    try_mirrored (&trial);
    try_recipe (&trial);
    try_output (&trial, folder);
    td_test_volume_clear (&trial.expected);
  } else { /* a sentence that says why, and no other end */
    g_assert_cmpint (error->domain, ==, TD_ERROR);
    if (talk)
      g_test_message ("refused: %s", error->message);
  }
  td_test_invented_clear (&trial.of);
  td_engine_unref (trial.engine);
}

static void
test_trials (void)
{
  for (guint i = 0; i < n_scans; i++)
    test_trial (first_scan + i);
}

int
main (int argc, char **argv)
{
  const GOptionEntry options[] = {
    { "scans", 0, 0, G_OPTION_ARG_INT, &n_scans, NULL, NULL },
    { "first", 0, 0, G_OPTION_ARG_INT, &first_scan, NULL, NULL },
    { "seed", 0, 0, G_OPTION_ARG_INT, &seed, NULL, NULL },
    { "talk", 0, 0, G_OPTION_ARG_NONE, &talk, NULL, NULL },
    { NULL },
  };

  td_test_options (&argc, &argv, options);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/consistency", test_trials);
  return g_test_run ();
}
