/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random scans with random recipes: what must not matter does not. Files of every kind, devices, memory, single
   rows, regions and the order of views give what the scan in memory gives on the host. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/prepare/steps.h"
#include "dataset/phantom-scan.h"
#include "dataset/scan-writer.h"
#include "dataset/tiff-save.h"
#include "tests/common/pipeline.h"
#include "tests/unit/test-folder.h"

/* Of the rms: the same arithmetic in other portions; where these have an error of their own (the Fourier method's
   grid has two slices or one, phase retrieval more rows or fewer); other devices' arithmetic. Steps that judge
   (hits, stripes) may judge a sample on the edge the other way elsewhere. */
#define SAME 2e-6
#define OTHER_PORTION 1.5e-4
#define OTHER_DEVICE 1e-4
#define OTHER_JUDGE 2e-2
#define OWN_BYTES ((guint64) 64 << 20)

static guint n_scans = 7, first_scan, seed = 1;
static gboolean talk;

typedef struct {
  GRand *rand;
  TdPhantomScan spec;
  TdScan *scan;
  TdRecipe recipe;
  double portions;        /* how far what is made in other portions may be off */
  gboolean judges;        /* a step decides sample by sample, or column by column */
  gboolean keeps_order;   /* the order of views matters */
  TdTestVolume expected;
  TdEngine *engine;
} Trial;

static gboolean
chance (Trial *trial, double part)
{
  return g_rand_double (trial->rand) < part;
}

static double
between (Trial *trial, double low, double high)
{
  return g_rand_double_range (trial->rand, low, high);
}

static guint
whole (Trial *trial, guint low, guint high)
{
  return (guint) g_rand_int_range (trial->rand, (gint) low, (gint) high + 1);
}

/* ── Inventing ────────────────────────────────────────────────────────────────────────────────── */

static void
invent_scan (Trial *trial)
{
  static const char *const objects[] = { "shepp-logan", "disc", "discs", "sphere", "ellipsoids", "boxes" };
  TdPhantomScan *spec = &trial->spec;

  td_phantom_scan_init (spec);
  spec->phantom = objects[whole (trial, 0, G_N_ELEMENTS (objects) - 1)];
  spec->n_columns = chance (trial, 0.1) ? whole (trial, 1, 5) : whole (trial, 9, 90);
  spec->n_rows = chance (trial, 0.2) ? 1 : whole (trial, 2, 40);
  spec->n_views = chance (trial, 0.1) ? whole (trial, 1, 3) : whole (trial, 4, 100);
  spec->centre_px = (spec->n_columns - 1) / 2.0 + between (trial, -0.4, 0.4) * spec->n_columns;
  spec->tilt_deg = chance (trial, 0.3) ? between (trial, -2, 2) : 0;
  spec->first_deg = between (trial, -200, 200);
  spec->range_deg = (chance (trial, 0.5) ? 180 : chance (trial, 0.7) ? 360 : between (trial, 60, 500))
                    * (chance (trial, 0.2) ? -1 : 1);
  spec->end_point = chance (trial, 0.5);
  spec->logged = chance (trial, 0.2);
  spec->attenuation = spec->logged ? 0 : 2;
  spec->n_flats = whole (trial, 1, 6);
  spec->n_darks = whole (trial, 0, 3);
  spec->dark_counts = spec->n_darks ? 200 : 0;
  spec->photons = chance (trial, 0.6) ? pow (10, between (trial, 2.5, 5)) : 0;
  spec->wander = chance (trial, 0.4) ? 0.2 : 0;
  spec->drift = chance (trial, 0.3) ? 0.2 : 0;
  spec->flicker = chance (trial, 0.3) ? 0.05 : 0;
  spec->zingers = chance (trial, 0.3) ? 1e-3 : 0;
  spec->rings = chance (trial, 0.3) ? 0.01 : 0;
  spec->n_dead = chance (trial, 0.3) ? spec->n_columns * spec->n_rows / 100 : 0;
  spec->seed = g_rand_int (trial->rand);
  if (chance (trial, 0.5))
    spec->geometry.pixel_width_mm = spec->geometry.pixel_height_mm = between (trial, 0.001, 0.5);
}

/* A parameter anywhere in its range is mostly absurd: near the preset, or another choice. */
static void
invent_parameters (Trial *trial, TdStep *step, const TdStepKind *kind)
{
  for (guint i = 0; i < kind->n_parameters; i++) {
    const TdStepParameter *parameter = &kind->parameters[i];

    if (chance (trial, 0.5))
      continue;
    double value = parameter->choices ? whole (trial, (guint) parameter->minimum, (guint) parameter->maximum)
                                      : parameter->preset * between (trial, 0.6, 1.5);
    if (parameter->digits == 0)
      value = round (value);
    step->values[i] = CLAMP (value, parameter->minimum, parameter->maximum);
  }
}

static void
invent_steps (Trial *trial)
{
  for (const TdStepKind *const *kind = td_prepare_steps (); *kind; kind++) {
    const gboolean preset = (*kind)->preset_on, rings = g_str_has_prefix ((*kind)->name, "rings");
    const gboolean orders = rings || g_str_equal ((*kind)->name, "zingers-angle");
    g_autoptr (GError) error = NULL;

    if (!preset && !chance (trial, rings ? 0.06 : 0.2))
      continue;
    if (g_str_equal ((*kind)->name, "dose") && trial->spec.n_columns < 12)
      continue;
    TdStep *step = td_recipe_add_step (&trial->recipe, (*kind)->name, &error);
    g_assert_no_error (error);
    if (preset || chance (trial, 0.5))
      invent_parameters (trial, step, *kind);
    if (g_str_equal (step->name, "flat-field"))
      step->values[TD_FLAT_FIELD_WHITE] = 0;
    if (g_str_equal (step->name, "minus-log"))
      step->values[0] = chance (trial, 0.5) ? 1e-5 : 1e-3;
    if (g_str_equal (step->name, "dose"))
      step->values[0] = chance (trial, 0.5); /* borders or rows: a region may lie outside */
    if (g_str_equal (step->name, "paganin")) {
      const double paganin[] = { 50, 25, 100, 1.5 }; /* a few columns wide */
      memcpy (step->values, paganin, sizeof paganin);
      trial->portions = OTHER_PORTION;
    }
    trial->keeps_order |= orders;
    trial->judges |= rings || strstr (step->name, "zingers") || g_str_equal (step->name, "bad-pixels")
                     || g_str_equal (step->name, "dose");
  }
}

static void
invent_frame (Trial *trial)
{
  const TdPhantomScan *spec = &trial->spec;
  TdRecipe *recipe = &trial->recipe;

  if (chance (trial, 0.35)) {
    recipe->crop[2] = whole (trial, (spec->n_columns + 1) / 2, spec->n_columns);
    recipe->crop[0] = whole (trial, 0, spec->n_columns - recipe->crop[2]);
    recipe->crop[3] = whole (trial, (spec->n_rows + 1) / 2, spec->n_rows);
    recipe->crop[1] = whole (trial, 0, spec->n_rows - recipe->crop[3]);
  }
  if (chance (trial, 0.3)) {
    recipe->bin[0] = whole (trial, 1, MIN (4, recipe->crop[2] ? recipe->crop[2] : spec->n_columns));
    recipe->bin[1] = whole (trial, 1, MIN (3, recipe->crop[3] ? recipe->crop[3] : spec->n_rows));
  }
  /* Views far from each other are no group. */
  if (chance (trial, 0.2) && fabs (spec->range_deg) < 5 * spec->n_views)
    recipe->bin_views = whole (trial, 1, 3);
}

static void
invent_recipe (Trial *trial)
{
  TdRecipe *recipe = &trial->recipe;

  td_recipe_init (recipe);
  invent_steps (trial);
  invent_frame (trial);
  recipe->centre_px = trial->spec.centre_px;
  recipe->tilt_deg = trial->spec.tilt_deg;
  recipe->filter.kind = whole (trial, 0, g_strv_length ((char **) td_filter_names ()) - 1);
  recipe->filter.cutoff = chance (trial, 0.5) ? 1 : between (trial, 0.3, 1);
  recipe->filter.extend_edges = chance (trial, 0.3);
  recipe->method = chance (trial, 0.15) ? TD_METHOD_FOURIER : TD_METHOD_FBP;
  if (recipe->method == TD_METHOD_FOURIER)
    trial->portions = OTHER_PORTION;
  recipe->interpolation = chance (trial, 0.15) ? TD_INTERPOLATION_NEAREST : TD_INTERPOLATION_LINEAR;
  if (recipe->interpolation == TD_INTERPOLATION_NEAREST) { /* midway between two columns it may be either */
    trial->judges = TRUE;
    trial->portions = OTHER_JUDGE;
  }
  recipe->angle_offset_deg = chance (trial, 0.3) ? between (trial, -360, 360) : 0;
  recipe->reverse_rotation = chance (trial, 0.2);
  recipe->field_of_view = whole (trial, TD_FIELD_AUTO, TD_FIELD_FULL);
  g_strlcpy (recipe->devices, "host", sizeof recipe->devices);
}

/* ── Comparing ────────────────────────────────────────────────────────────────────────────────── */

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
compare (const Trial *trial, const char *what, const TdTestVolume *a, guint slice, guint x, guint y,
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
  compare (trial, what, &trial->expected, 0, 0, 0, &volume, bound);
  td_test_volume_clear (&volume);
}

/* ── What must not matter ─────────────────────────────────────────────────────────────────────── */

static void
try_devices (Trial *trial)
{
  g_autoptr (GPtrArray) devices = td_test_devices ();
  TdRecipe recipe = trial->recipe;
  const double bound = trial->judges ? OTHER_JUDGE : MAX (OTHER_DEVICE, trial->portions);

  for (guint i = 1; i < devices->len; i++) {
    g_strlcpy (recipe.devices, devices->pdata[i], sizeof recipe.devices);
    expect (trial, devices->pdata[i], trial->scan, &recipe, bound);
  }
  if (devices->len > 1) {
    g_snprintf (recipe.devices, sizeof recipe.devices, "host,%s", (char *) devices->pdata[1]);
    expect (trial, "two devices", trial->scan, &recipe, bound);
  }
}

/* As little memory as is enough, and half of what is above it. */
static void
try_memory (Trial *trial)
{
  g_autoptr (GError) error = NULL;
  TdRecipe recipe = trial->recipe;
  g_autoptr (TdPlan) plan = td_plan_new (trial->engine, trial->scan, &recipe, NULL, NULL, &error);

  g_assert_no_error (error);
  const guint64 all = td_plan_facts (plan)->host_bytes;
  for (guint part = 1; part <= 7 && all > OWN_BYTES; part += 3) {
    TdTestVolume volume;

    recipe.memory_limit_bytes = OWN_BYTES + (all - OWN_BYTES) * part / 8;
    if (!td_test_reconstruct (trial->engine, trial->scan, &recipe, &volume, &error)) {
      g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
      g_clear_error (&error);
      continue;
    }
    compare (trial, "memory", &trial->expected, 0, 0, 0, &volume, trial->portions);
    td_test_volume_clear (&volume);
  }
}

static void
try_parts (Trial *trial)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdPlan) plan
      = td_plan_new (trial->engine, trial->scan, &trial->recipe, NULL, NULL, &error);
  const TdPlanFacts *facts = td_plan_facts (plan);

  for (guint i = 0; i < 3; i++) {
    TdRecipe recipe = trial->recipe;
    TdTestVolume volume;
    const guint slice = whole (trial, 0, facts->n_slices - 1);
    const guint count = whole (trial, 1, i == 0 ? 1 : facts->n_slices - slice);

    recipe.row_first = facts->first_row + slice * facts->slice_rows;
    recipe.row_end = recipe.row_first + count * facts->slice_rows;
    recipe.region[2] = (gint) whole (trial, 1, facts->nx);
    recipe.region[3] = (gint) whole (trial, 1, facts->ny);
    recipe.region[0] = (gint) whole (trial, 0, facts->nx - recipe.region[2]);
    recipe.region[1] = (gint) whole (trial, 0, facts->ny - recipe.region[3]);
    run (trial, trial->scan, &recipe, &volume);
    compare (trial, "part", &trial->expected, slice, recipe.region[0], recipe.region[1], &volume,
             trial->portions);
    td_test_volume_clear (&volume);
  }
}

static float *
read_all (TdScan *scan, TdFrameKind kind, guint n)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  float *frames = g_new (float, (gsize) MAX (n, 1) * facts->n_rows * facts->n_columns);
  g_autoptr (GError) error = NULL;

  td_scan_read (scan, kind, 0, n, 0, facts->n_rows, frames, NULL, &error);
  g_assert_no_error (error);
  return frames;
}

/* The file's own reader needs no option but the centre, which TIFF does not hold. */
static void
try_file (Trial *trial, const TestFolder *folder, TdScanFormat format, const char *name)
{
  const TdScanFacts *facts = td_scan_facts (trial->scan);
  const guint counts[] = { facts->n_views, facts->n_flats, facts->n_darks };
  const TdScanOptions options
      = { .values = facts->transmission_logged ? TD_SCAN_VALUES_ATTENUATIONS : TD_SCAN_VALUES_FOUND };
  g_autofree char *path = test_folder_file (folder, name);
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScanWriter) writer = td_scan_writer_new (path, format, facts, FALSE, &error);

  g_assert_no_error (error);
  for (guint kind = 0; kind < 3; kind++) {
    g_autofree float *frames = read_all (trial->scan, kind, counts[kind]);

    g_assert_true (td_scan_writer_write (writer, kind, 0, counts[kind], frames, &error));
  }
  g_assert_true (td_scan_writer_finish (writer, &error));
  g_autoptr (TdScan) scan = td_scan_open (path, &options, NULL, &error);
  g_assert_no_error (error);
  expect (trial, name, scan, &trial->recipe, trial->portions); /* angles have nine digits */
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
  const TdScanFacts *facts = td_scan_facts (trial->scan);
  const guint n_views = facts->n_views, n_rows = facts->n_rows, n_columns = facts->n_columns;
  TdRecipe recipe = trial->recipe;
  TdStep *flat_field = td_recipe_step (&recipe, "flat-field"), *bad = td_recipe_step (&recipe, "bad-pixels");
  TdTestVolume one_group, volume;

  /* What rounding of whole counts is worth is not known of floats. */
  if (n_views < 2 || bad)
    return;
  g_autofree float *rows = g_new (float, (gsize) n_views * n_rows * n_columns);
  g_autofree float *flats = read_all (trial->scan, TD_FRAME_FLAT, facts->n_flats);
  g_autofree float *darks = read_all (trial->scan, TD_FRAME_DARK, facts->n_darks);
  g_autofree char *path = test_folder_file (folder, "rows.tif"), *angles = test_folder_file (folder, "a.txt");
  g_autofree char *flat = test_folder_file (folder, "f.tif"), *dark = test_folder_file (folder, "d.tif");
  g_autoptr (GString) text = g_string_new ("angle_rad\n");
  g_autoptr (GError) error = NULL;

  g_assert_true (td_scan_read_sinograms (trial->scan, 0, n_views, 0, n_rows, rows, NULL, NULL));
  save_stack (folder, "rows.tif", n_columns, n_views, n_rows, rows);
  if (facts->n_flats)
    save_stack (folder, "f.tif", n_columns, n_rows, facts->n_flats, flats);
  if (facts->n_darks)
    save_stack (folder, "d.tif", n_columns, n_rows, facts->n_darks, darks);
  for (guint v = 0; v < n_views; v++)
    g_string_append_printf (text, "%.17g\n", facts->angles_rad[v]);
  g_assert_true (g_file_set_contents (angles, text->str, -1, NULL));
  const TdScanOptions options = {
    .sinograms = TRUE, .angles = angles, .flats = facts->n_flats ? flat : NULL,
    .darks = facts->n_darks ? dark : NULL, .pixel_mm = facts->geometry.pixel_width_mm,
    .values = facts->transmission_logged ? TD_SCAN_VALUES_ATTENUATIONS : TD_SCAN_VALUES_INTENSITIES,
  };
  g_autoptr (TdScan) scan = td_scan_open (path, &options, NULL, &error);
  g_assert_no_error (error);
  flat_field->values[TD_FLAT_FIELD_DRIFT] = TD_FLAT_FIELD_DRIFT_NONE;
  run (trial, trial->scan, &recipe, &one_group);
  run (trial, scan, &recipe, &volume);
  compare (trial, "sinograms", &one_group, 0, 0, 0, &volume, trial->portions);
  td_test_volume_clear (&volume);
  td_test_volume_clear (&one_group);
}

/* Views in another order, where no step knows of one. */
static void
try_order (Trial *trial)
{
  const TdScanFacts *facts = td_scan_facts (trial->scan);
  const gsize pixels = (gsize) facts->n_rows * facts->n_columns;
  TdRecipe recipe = trial->recipe;
  TdTestVolume one_group, volume;
  TdScanFacts other = *facts;

  if (trial->keeps_order || recipe.bin_views > 1)
    return;
  g_autofree float *views = read_all (trial->scan, TD_FRAME_PROJECTION, facts->n_views);
  g_autofree float *flats = read_all (trial->scan, TD_FRAME_FLAT, facts->n_flats);
  g_autofree float *darks = read_all (trial->scan, TD_FRAME_DARK, facts->n_darks);
  g_autofree float *shuffled = g_new (float, facts->n_views * pixels);
  g_autofree double *angles = g_new (double, facts->n_views);
  const guint turn = whole (trial, 0, facts->n_views - 1);

  for (guint v = 0; v < facts->n_views; v++) { /* the other way round, and from somewhere within */
    const guint from = (facts->n_views - 1 - v + turn) % facts->n_views;
    memcpy (shuffled + v * pixels, views + from * pixels, pixels * sizeof *views);
    angles[v] = facts->angles_rad[from] + 2 * G_PI * (v % 3);
  }
  other.angles_rad = angles;
  g_autoptr (TdScan) scan
      = td_scan_new_from_memory (&other, shuffled, facts->n_flats ? flats : NULL,
                                 facts->n_darks ? darks : NULL, NULL, NULL);
  td_recipe_step (&recipe, "flat-field")->values[TD_FLAT_FIELD_DRIFT] = TD_FLAT_FIELD_DRIFT_NONE;
  run (trial, trial->scan, &recipe, &one_group);
  run (trial, scan, &recipe, &volume);
  compare (trial, "order", &one_group, 0, 0, 0, &volume, trial->judges ? OTHER_JUDGE : MAX (1e-5, trial->portions));
  td_test_volume_clear (&volume);
  td_test_volume_clear (&one_group);
}

/* ── The trials ───────────────────────────────────────────────────────────────────────────────── */

static void
tell (const Trial *trial, guint number)
{
  g_autofree char *text = td_recipe_to_json (&trial->recipe);
  const TdPhantomScan *spec = &trial->spec;

  g_test_message ("scan %u: %s, %u columns, %u rows, %u views, %g from %g degrees, centre %g, tilt %g, %u flats, "
                  "%u darks%s", number, spec->phantom, spec->n_columns, spec->n_rows, spec->n_views,
                  spec->range_deg, spec->first_deg, spec->centre_px, spec->tilt_deg, spec->n_flats,
                  spec->n_darks, spec->logged ? ", logged" : "");
  g_test_message ("%s", text);
}

static void
test_trial (guint number)
{
  Trial trial = {
    .rand = g_rand_new_with_seed (seed * 100003 + number), .engine = td_engine_new (), .portions = SAME,
  };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autoptr (GError) error = NULL;

  invent_scan (&trial);
  invent_recipe (&trial);
  trial.scan = td_phantom_scan_new (&trial.spec, &error);
  g_assert_no_error (error);
  if (talk)
    tell (&trial, number);
  if (td_test_reconstruct (trial.engine, trial.scan, &trial.recipe, &trial.expected, &error)) {
    for (gsize i = 0; i < (gsize) trial.expected.nx * trial.expected.ny * trial.expected.n_slices; i++)
      g_assert_true (isfinite (trial.expected.slices[i]));
    try_devices (&trial);
    try_memory (&trial);
    try_parts (&trial);
    try_file (&trial, folder, TD_SCAN_NXTOMO, "scan.nxs");
    try_file (&trial, folder, TD_SCAN_TIFF, "scan");
    try_sinograms (&trial, folder);
    try_order (&trial);
    td_test_volume_clear (&trial.expected);
  } else { /* a sentence that says why, and no other end */
    g_assert_cmpint (error->domain, ==, TD_ERROR);
    if (talk)
      g_test_message ("refused: %s", error->message);
  }
  td_scan_unref (trial.scan);
  td_engine_unref (trial.engine);
  g_rand_free (trial.rand);
}

static void
test_trials (void)
{
  for (guint i = 0; i < n_scans; i++)
    test_trial (first_scan + i);
}

static void
take_options (int *argc, char **argv)
{
  int kept = 1;

  for (int i = 1; i < *argc; i++) {
    guint *number = g_str_equal (argv[i], "--scans")   ? &n_scans
                    : g_str_equal (argv[i], "--first") ? &first_scan
                    : g_str_equal (argv[i], "--seed")  ? &seed
                                                       : NULL;
    if (number && i + 1 < *argc)
      *number = (guint) atoi (argv[++i]);
    else if (g_str_equal (argv[i], "--talk"))
      talk = TRUE;
    else
      argv[kept++] = argv[i];
  }
  *argc = kept;
}

int
main (int argc, char **argv)
{
  take_options (&argc, argv);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/consistency", test_trials);
  return g_test_run ();
}
