/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random scans and recipes. What a plan says, its job keeps: bytes of memory and of files, updates,
   slabs, times. What a job says of itself is true: its result, and what it writes beside the
   volume. What an engine keeps from job to job shows in no slice. */
#include <glib/gstdio.h>
#include <math.h>
#include <sys/stat.h>

#include "compute/engine/job.h"
#include "compute/methods/methods.h"
#include "compute/recipe/json.h"
#include "dataset/volume.h"
#include "engine-scans.h"
#include "test-folder.h"
#include "tests/common/cases.h"
#include "tests/common/invented.h"
#include "tests/common/pins.h"

#define FIXED_BYTES (1 << 20) /* what threads and steps want of any scan, however small */

static guint n_scans = 8, first_scan;

/* ── A scan that counts what is read of it ── */

typedef struct {
  TdScan *inner;
  guint64 samples; /* atomic enough: readers take turns on the lock */
  GMutex lock;
} Counted;

static gboolean
counted_fill (gpointer source, const TdFrameRange *range, const TdFrameTarget *target,
              GCancellable *cancellable, GError **error)
{
  Counted *counted = source;

  g_mutex_lock (&counted->lock);
  if (range->kind == TD_FRAME_PROJECTION)
    counted->samples
        += (guint64) range->count * range->n_rows * td_scan_facts (counted->inner)->n_columns;
  g_mutex_unlock (&counted->lock);
  return td_scan_fill (counted->inner, range, target, cancellable, error);
}

static const TdScanSource counted_vtable = { .fill = counted_fill };

static TdScan *
counted_scan (Counted *counted, TdScan *inner)
{
  const TdScanFacts *facts = td_scan_facts (inner);

  *counted = (Counted) { inner };
  TdScan *scan = td_test_scan_around (inner, &counted_vtable, counted);
  td_geometry_copy (&scan->facts.geometry, &facts->geometry);
  scan->facts.centre_px = facts->centre_px;
  return scan;
}

/* ── What a plan and a job say ── */

typedef struct {
  const char *name;
  double value;
} Number;

static JsonObject *
parse (const char *json)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) node = json_from_string (json, &error);

  g_assert_no_error (error);
  return json_object_ref (json_node_get_object (node));
}

/* NaN: null. */
static void
assert_numbers (JsonObject *object, const Number *numbers, gsize n)
{
  for (gsize i = 0; i < n; i++) {
    JsonNode *node = json_object_get_member (object, numbers[i].name);

    g_assert_nonnull (node);
    if (isnan (numbers[i].value))
      g_assert_true (JSON_NODE_HOLDS_NULL (node));
    else
      g_assert_cmpfloat_with_epsilon (json_node_get_double (node), numbers[i].value,
                                      1e-12 * fabs (numbers[i].value) + 1e-300);
  }
}

static void
assert_plan_json (const TdPlan *plan)
{
  const TdPlanFacts *facts = td_plan_facts (plan);
  g_autofree char *json = td_plan_to_json (plan), *text = td_recipe_to_json (td_plan_recipe (plan));
  g_autoptr (JsonObject) object = parse (json);
  g_autoptr (JsonObject) recipe = parse (text);
  g_autoptr (JsonNode) kept = json_node_init_object (json_node_alloc (), recipe);
  const Number numbers[] = {
    { "nx", facts->nx },
    { "ny", facts->ny },
    { "first_slice", facts->first_slice },
    { "slices", facts->n_slices },
    { "slab_slices", facts->slab_slices },
    { "slabs", facts->n_slabs },
    { "centre_px", facts->centre_px },
    { "pixel_mm", facts->pixel_mm },
    { "read_bytes", facts->read_bytes },
    { "write_bytes", facts->write_bytes },
    { "host_bytes", facts->host_bytes },
    { "device_bytes", facts->device_bytes },
    { "updates", facts->updates },
    { "estimate_seconds", facts->estimate_s > 0 ? facts->estimate_s : NAN },
  };

  g_auto (GStrv) lines = g_strsplit (json, "\n", -1);
  for (guint i = 0; lines[i] && !strstr (lines[i], "\"recipe\""); i++)
    if (strpbrk (lines[i], "123456789"))
      td_test_pin ("%s", g_strstrip (lines[i]));
  assert_numbers (object, numbers, G_N_ELEMENTS (numbers));
  g_assert_cmpint (json_object_get_boolean_member (object, "half_acquisition"), ==,
                   facts->half_acquisition);
  g_assert_cmpstr (json_object_get_string_member (object, "method"), ==, facts->method);
  g_assert_cmpstr (json_object_get_string_member (object, "kernel"), ==, facts->family);
  g_assert_cmpstr (json_object_get_string_member (object, "units"), ==, facts->units);
  g_assert_cmpstr (json_object_get_string_member (object, "precision"), ==,
                   td_precision_names[facts->precision]);
  g_assert_cmpuint (json_array_get_length (json_object_get_array_member (object, "ways")), ==,
                    facts->n_ways);
  g_assert_true (json_node_equal (json_object_get_member (object, "recipe"), kept));
}

/* Busy seconds: of as many threads or queues as there are, within the job's own. */
static void
assert_times (TdJob *job)
{
  const TdJobResult *result = td_job_result (job);
  const char *written = result->output ? "write" : "read";
  gboolean read = FALSE, computed = FALSE, wrote = FALSE;
  guint n;
  const TdJobSpan *spans = td_job_spans (job, &n);

  for (guint i = 0; i < result->n_stages; i++) {
    const TdJobStage *stage = &result->stages[i];
    td_test_pin ("%s: %g of %g s", stage->name, stage->seconds, result->seconds);
    g_assert_cmpfloat (stage->seconds, >=, 0);
    g_assert_cmpfloat (stage->seconds, <=, 8 * result->seconds + 1e-3);
    read |= g_str_equal (stage->name, "read") && stage->seconds > 1e-7;
    computed |= g_str_equal (stage->name, "back-project") && stage->seconds > 1e-7;
    wrote |= g_str_equal (stage->name, written) && stage->seconds > 1e-7;
  }
  /* What was kept for previews was read at once. */
  g_assert_true ((read || td_plan_facts (td_job_plan (job))->n_slabs == 1) && computed && wrote);
  g_assert_cmpuint (n, >, 0);
  for (guint i = 0; i < n; i++) {
    g_assert_cmpfloat (spans[i].start_s, >=, 0);
    g_assert_cmpfloat (spans[i].end_s, >=, spans[i].start_s);
    g_assert_cmpfloat (spans[i].end_s, <=, result->seconds + 1e-3);
    g_assert_cmpuint (spans[i].device, <=, td_job_plan (job)->devices->len);
  }
}

static void
assert_stages (JsonObject *object, const TdJobResult *result)
{
  JsonArray *stages = json_object_get_array_member (object, "stages");

  g_assert_cmpuint (json_array_get_length (stages), <=, result->n_stages);
  for (guint i = 0; i < json_array_get_length (stages); i++) {
    JsonObject *stage = json_array_get_object_element (stages, i);
    g_assert_cmpstr (json_object_get_string_member (stage, "name"), ==, result->stages[i].name);
    g_assert_cmpfloat (json_object_get_double_member (stage, "seconds"), <=,
                       result->stages[i].seconds);
  }
}

static void
assert_counts (JsonObject *object, const TdPreparationCounts *counts)
{
  const Number numbers[] = {
    { "clamped_transmissions", counts->clamped_transmissions },
    { "bad_values", counts->bad_values },
    { "dead_pixels", counts->dead_pixels },
    { "stuck_pixels", counts->stuck_pixels },
    { "bad_pixels", counts->bad_pixels },
    { "zingers", counts->zingers },
    { "zingers_angle", counts->zingers_angle },
    { "dose_low", counts->dose_low },
    { "dose_high", counts->dose_high },
  };
  const gboolean doses = counts->dose_high > 0;

  g_assert_cmpint (json_object_has_member (object, "dose_high"), ==, doses);
  assert_numbers (object, numbers, G_N_ELEMENTS (numbers) - (doses ? 0 : 2));
}

static void
assert_result_json (TdJob *job)
{
  const TdJobResult *result = td_job_result (job);
  const TdPlanFacts *facts = td_plan_facts (td_job_plan (job));
  g_autofree char *json = td_job_result_json (job);
  g_autoptr (JsonObject) object = parse (json);
  const Number numbers[] = {
    { "centre_px", facts->centre_px },
    { "slices", facts->n_slices },
    { "seconds", result->seconds },
    { "updates_per_second", result->updates_per_s },
    { "clamped_output", result->clamped_output },
    { "host_peak_bytes", result->host_peak_bytes },
    { "device_peak_bytes", result->device_peak_bytes },
  };

  assert_numbers (object, numbers, G_N_ELEMENTS (numbers));
  if (facts->family) {
    g_assert_cmpstr (result->kernel, !=, NULL);
    g_assert_cmpstr (result->family, !=, NULL);
  }
  g_assert_cmpstr (json_object_get_string_member (object, "output"), ==, result->output);
  g_assert_cmpstr (json_object_get_string_member (object, "device"), ==, result->device);
  g_assert_cmpstr (json_object_get_string_member (object, "kernel"), ==, result->family);
  g_assert_cmpstr (json_object_get_string_member (object, "precision"), ==, result->precision);
  assert_stages (object, result);
  assert_counts (object, &result->counts);
  g_assert_cmpfloat_with_epsilon (result->updates_per_s * result->seconds, facts->updates,
                                  1e-6 * facts->updates);
}

/* The volume tells what made it. */
static void
assert_provenance (TdJob *job)
{
  const TdJobResult *result = td_job_result (job);
  const TdPlan *plan = td_job_plan (job);
  const TdPlanFacts *facts = td_plan_facts (plan);
  const TdScanFacts *scan = td_scan_facts (plan->measured);
  g_autoptr (GError) error = NULL;
  g_autoptr (TdVolume) volume = td_volume_open (result->output, &error);

  g_assert_no_error (error);
  g_autoptr (JsonObject) object = parse (td_volume_facts (volume)->provenance_json);
  g_autofree char *text = td_recipe_to_json (td_plan_recipe (plan));
  g_autoptr (JsonObject) recipe = parse (text);
  g_autoptr (JsonNode) kept = json_node_init_object (json_node_alloc (), recipe);
  JsonObject *of_scan = json_object_get_object_member (object, "scan");
  const Number numbers[] = {
    { "columns", scan->n_columns },
    { "rows", scan->n_rows },
    { "views", scan->n_views },
    { "flats", scan->n_flats },
    { "darks", scan->n_darks },
    { "first_angle_deg", scan->angles_rad[0] * 180 / G_PI },
    { "last_angle_deg", scan->angles_rad[scan->n_views - 1] * 180 / G_PI },
    { "pixel_mm", scan->geometry.pixel_width_mm },
  };

  assert_numbers (of_scan, numbers, G_N_ELEMENTS (numbers));
  g_assert_cmpstr (json_object_get_string_member (of_scan, "format"), ==, scan->format);
  g_assert_true (json_node_equal (json_object_get_member (object, "recipe"), kept));
  g_assert_cmpstr (json_object_get_string_member (object, "program"), ==, "Tomodesk");
  g_assert_cmpstr (json_object_get_string_member (object, "device"), ==, result->device);
  g_assert_cmpstr (json_object_get_string_member (object, "kernel"), ==, result->family);
  g_assert_cmpstr (json_object_get_string_member (object, "precision"), ==, result->precision);
  g_assert_cmpstr (json_object_get_string_member (object, "units"), ==, facts->units);
  const double seconds = json_object_get_double_member (object, "seconds");
  g_assert_cmpfloat (seconds, <=, result->seconds);
  /* The volume is finished after the last slab. */
  guint n;
  const TdJobSpan *spans = td_job_spans (job, &n);
  for (guint i = 0; i < n; i++)
    if (g_str_equal (spans[i].stage, "back-project"))
      g_assert_cmpfloat (seconds, >=, spans[i].end_s - 1e-3);
  assert_stages (object, result);
  assert_counts (object, &result->counts);
}

/* ── A plan and its job ── */

static guint64
bytes_of (const char *path)
{
  g_autoptr (GDir) folder = g_dir_open (path, 0, NULL);
  guint64 bytes = 0;
  const char *name;
  GStatBuf about;

  if (!folder)
    return g_stat (path, &about) == 0 ? (guint64) about.st_size : 0;
  while ((name = g_dir_read_name (folder))) {
    g_autofree char *file = g_build_filename (path, name, NULL);
    if (!g_str_has_suffix (name, ".json"))
      bytes += bytes_of (file);
  }
  return bytes;
}

static void
assert_bytes (TdJob *job, const Counted *counted)
{
  const TdJobResult *result = td_job_result (job);
  const TdPlan *plan = td_job_plan (job);
  const TdPlanFacts *facts = td_plan_facts (plan);
  const TdScanFacts *scan = td_scan_facts (plan->measured);
  const guint64 own = td_plan_own_bytes (plan->devices);
  const guint64 read = counted->samples * td_sample_size (scan->sample_type);

  td_test_pin ("host %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " KiB, device %" G_GUINT64_FORMAT
               " of %" G_GUINT64_FORMAT " KiB, read %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
               ", wrote %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT "; %u slabs of %u",
               result->host_peak_bytes >> 10, facts->host_bytes >> 10,
               result->device_peak_bytes >> 10, facts->device_bytes >> 10, read, facts->read_bytes,
               result->output ? bytes_of (result->output) : 0, facts->write_bytes, facts->n_slabs,
               facts->slab_slices);
  g_assert_cmpuint (result->host_peak_bytes, <=, facts->host_bytes);
  g_assert_cmpuint (result->device_peak_bytes, <=, facts->device_bytes);
  g_assert_cmpuint (facts->host_bytes, >=, own);
  g_assert_cmpuint (read, >=, facts->read_bytes);
  g_assert_cmpuint (facts->write_bytes, ==,
                    (guint64) facts->n_slices * facts->nx * facts->ny * plan->recipe.output_bits
                        / 8);
}

/* A plan that wants much more than its job takes would refuse jobs that fit. The job must take
   @part of the plan's figure, without what threads and steps want of a small scan too. */
static void
assert_not_wasted (TdJob *job, const Counted *counted, double part)
{
  const TdPlan *plan = td_job_plan (job);
  const TdPlanFacts *facts = td_plan_facts (plan);
  const guint64 read
      = counted->samples * td_sample_size (td_scan_facts (plan->measured)->sample_type);

  g_assert_cmpfloat (td_job_result (job)->device_peak_bytes, >=,
                     part * ((double) facts->device_bytes - FIXED_BYTES));
  if (td_scan_facts (plan->scan)->geometry.beam == TD_BEAM_PARALLEL)
    g_assert_cmpuint (read, <=, 3 * facts->read_bytes);
}

static void
run_plan (TdPlan *plan, const Counted *counted, double part)
{
  const TdPlanFacts *facts = td_plan_facts (plan);
  g_autoptr (GError) error = NULL;
  g_autoptr (TdJob) job = td_job_new (plan);

  assert_plan_json (plan);
  g_assert_cmpuint (facts->slab_slices, >=, 1);
  g_assert_cmpuint (facts->n_slabs, >=,
                    (facts->n_slices + facts->slab_slices - 1) / facts->slab_slices);
  td_job_keep_spans (job);
  td_job_set_overwrite (job, TRUE);
  td_job_run (job, NULL, &error);
  g_assert_no_error (error);
  assert_bytes (job, counted);
  assert_not_wasted (job, counted, part);
  assert_times (job);
  assert_result_json (job);
  assert_provenance (job);
}

static void
invent_output (TdTestInvented *trial)
{
  static const guint bits[] = { 32, 32, 16, 8 };

  trial->recipe.output_format = td_test_whole (trial, TD_VOLUME_TIFF_STACK, TD_VOLUME_HDF5);
  trial->recipe.output_bits = bits[td_test_whole (trial, 0, G_N_ELEMENTS (bits) - 1)];
}

static void
test_parallel (void)
{
  for (guint i = first_scan; i < first_scan + n_scans; i++) {
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *output = test_folder_file (folder, "out");
    g_autoptr (TdEngine) own = td_engine_new (td_methods);
    g_autoptr (GError) error = NULL;
    TdTestInvented trial;
    Counted counted;

    td_test_invent (&trial, 77, i);
    invent_output (&trial);
    td_test_invented_tell (&trial, i);
    g_autoptr (TdScan) scan = counted_scan (&counted, trial.scan);
    g_autoptr (TdPlan) plan = td_plan_new (own, scan, &trial.recipe, output, NULL, &error);
    g_assert_no_error (error);
    run_plan (plan, &counted, 0.2);
    td_test_invented_clear (&trial);
  }
}

/* ── Cone beams ── */

static double
invent_between (GRand *rand, double low, double high)
{
  return g_rand_double_range (rand, low, high);
}

static TdScan *
invent_cone (GRand *rand, TdPhantomScan *spec)
{
  g_autoptr (GError) error = NULL;

  td_phantom_scan_init (spec, "ellipsoids", 0, 0, 0);
  spec->n_columns = (guint) g_rand_int_range (rand, 12, 56);
  spec->n_rows = (guint) g_rand_int_range (rand, 8, 64);
  spec->n_views = (guint) g_rand_int_range (rand, 6, 40);
  spec->range_deg = g_rand_boolean (rand) ? 360 : 250;
  spec->logged = g_rand_boolean (rand);
  spec->attenuation = spec->logged ? 0 : 2;
  spec->n_flats = 3;
  spec->n_darks = 2;
  spec->geometry = (TdGeometry) {
    .beam = TD_BEAM_CONE,
    .pixel_width_mm = 0.4,
    .pixel_height_mm = 0.4,
    .source_axis_mm = invent_between (rand, 60, 300),
    .source_detector_mm = invent_between (rand, 310, 450),
    .detector_offset_v_px = invent_between (rand, -0.4, 0.4) * spec->n_rows,
  };
  if (g_rand_double (rand) < 0.3)
    spec->geometry.detector_tilt_rad[2] = invent_between (rand, -0.05, 0.05);
  TdScan *scan = td_phantom_scan_new (spec, &error);
  g_assert_no_error (error);
  return scan;
}

/* How the samples lie decides how rows are read; and so little memory that the volume is cut. */
static void
invent_ways (GRand *rand, TdScan *scan, TdRecipe *recipe)
{
  scan->facts.in_memory = g_rand_boolean (rand);
  scan->facts.sinogram_order = g_rand_boolean (rand);
  scan->facts.rows_together = g_rand_boolean (rand) ? 0 : (guint) g_rand_int_range (rand, 1, 12);
  recipe->memory_limit_bytes = (guint64) (16384 * exp2 (invent_between (rand, 0, 8)));
  recipe->filter_on = g_rand_boolean (rand) ? TD_FILTER_ON_DEVICE : TD_FILTER_ON_CPU;
}

/* The least limit from this one on, by doubling, with which there is a plan. */
static TdPlan *
plan_within (TdScan *scan, TdRecipe *recipe, const char *output)
{
  for (guint i = 0; i < 24; i++, recipe->memory_limit_bytes *= 2) {
    g_autoptr (GError) error = NULL;
    TdPlan *plan = td_plan_new (engine, scan, recipe, output, NULL, &error);

    if (plan)
      return plan;
    g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
  }
  g_assert_not_reached ();
}

/* However a volume is cut and its rows are read: a voxel is the same to the last bit. */
static void
test_cone (gconstpointer devices)
{
  const guint n = n_scans / (g_str_equal (devices, "host") ? 2 : 4);

  if (strstr (devices, "opencl:1") && !td_test_two_alike ())
    return;
  for (guint i = first_scan; i < first_scan + n; i++) {
    g_autoptr (GRand) rand = g_rand_new_with_seed (7001 + i);
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *output = test_folder_file (folder, "out.h5");
    g_autoptr (GError) error = NULL;
    TdTestVolume whole, cut;
    TdPhantomScan spec;
    TdRecipe recipe;
    g_autoptr (TdScan) inner = invent_cone (rand, &spec);
    Counted counted;
    g_autoptr (TdScan) scan = counted_scan (&counted, inner);

    recipe_init (&recipe, devices, NAN);
    recipe.share = TD_SHARE_VOLUME; /* sums of views come in another order where these are shared */
    td_test_pin ("%u × %u, %u views", spec.n_columns, spec.n_rows, spec.n_views);
    invent_ways (rand, scan, &recipe);
    const guint64 limit = recipe.memory_limit_bytes;
    recipe.memory_limit_bytes = 0;
    td_test_reconstruct (engine, inner, &recipe, &whole, &error);
    g_assert_no_error (error);
    recipe.memory_limit_bytes = limit;
    g_autoptr (TdPlan) plan = plan_within (scan, &recipe, output);
    run_plan (plan, &counted, strcmp (devices, "host") == 0 ? 0 : 0.5);
    g_assert_cmpuint (td_plan_facts (plan)->device_bytes, <=, recipe.memory_limit_bytes);
    td_test_reconstruct (engine, scan, &recipe, &cut, &error);
    g_assert_no_error (error);
    g_assert_cmpmem (cut.slices, (gsize) cut.nx * cut.ny * cut.n_slices * sizeof (float),
                     whole.slices, (gsize) whole.nx * whole.ny * whole.n_slices * sizeof (float));
    td_test_volume_clear (&cut);
    td_test_volume_clear (&whole);
  }
}

/* ── What is kept from job to job ── */

typedef struct {
  const char *name;
  const char *values[6];
} Edit;

static const Edit edits[] = {
  { "filter", { "ram-lak", "hann", "butterworth", "none" } },
  { "cutoff", { "1", "0.5", "0.3" } },
  { "order", { "2", "4" } },
  { "padding", { "zero", "edge" } },
  { "centre", { "20", "23.5", "31", "9.25" } },
  { "tilt", { "0", "1", "-2" } },
  { "field-of-view", { "half", "full", "auto" } },
  { "angle-offset", { "0", "20", "-7.5" } },
  { "interpolation", { "linear", "nearest" } },
  { "precision", { "single", "half" } },
  { "method", { "fbp", "fourier" } },
  { "region", { "all", "5,5,20,30", "6,5,20,30" } },
  { "rows", { "0:1", "1:2", "2:3", "1:3", "0:2" } },
  { "crop", { "all", "2,0,44,3", "3,0,44,3" } },
  { "bin-views", { "1", "2" } },
  { "prepare",
    { "zingers=0.1", "zingers=0.3,no-minus-log", "rings=5", "zingers-angle=0.3,rings=7",
      "minus-log:floor=0.2", "dose,beam-hardening" } },
};

/* The edits that are tried first. One sets a centre at which a blended row is as wide as the
   detector. Others want another slice of rows that are held, or a step that leaves those before it
   as they are. */
static const Edit first_edits[] = {
  { "centre", { "23.5" } },
  { "field-of-view", { "full" } },
  { "field-of-view", { "half" } },
  { "field-of-view", { "full" } },
  { "prepare", { "zingers=0.3:size=5x5" } },
  { "rows", { "0:1" } },
  { "rows", { "2:3" } },
  { "rows", { "1:2" } },
  { "padding", { "edge" } },
  { "padding", { "zero" } },
};

/* Each preview after any others is what it is on an engine that knows nothing. */
static void
test_edits (void)
{
  g_autoptr (TdEngine) warm = td_engine_new (td_methods);
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  TdPhantomScan spec;
  TdRecipe recipe;
  guint made = 0;

  td_phantom_scan_init (&spec, NULL, 48, 3, 44);
  spec.range_deg = 360;
  spec.centre_px = 20;
  spec.photons = 3000;
  spec.zingers = 0.002;
  spec.rings = 0.02;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, NULL);
  recipe_init (&recipe, "host", 20);
  recipe.row_first = 1;
  recipe.row_end = 2;
  for (guint i = 0; i < 10 * n_scans; i++) {
    const Edit *edit = i < G_N_ELEMENTS (first_edits)
                           ? &first_edits[i]
                           : &edits[g_rand_int_range (rand, 0, G_N_ELEMENTS (edits))];
    const guint n = g_strv_length ((char **) edit->values);
    const char *value = edit->values[g_rand_int_range (rand, 0, (gint) MIN (n, 6))];
    g_autoptr (TdEngine) cold = td_engine_new (td_methods);
    g_autoptr (GError) error = NULL, again = NULL;
    TdTestVolume a, b;
    const TdRecipe before = recipe;

    td_recipe_set (&recipe, edit->name, value, &error);
    g_assert_no_error (error);
    td_test_pin ("%s %s", edit->name, value);
    const gboolean good = td_test_reconstruct (warm, scan, &recipe, &a, &error);
    g_assert_cmpint (td_test_reconstruct (cold, scan, &recipe, &b, &again), ==, good);
    if (!good) {
      g_assert_cmpstr (error->message, ==, again->message);
      recipe = before;
      continue;
    }
    const gsize bytes = (gsize) b.nx * b.ny * b.n_slices * sizeof (float);
    g_assert_cmpmem (a.slices, (gsize) a.nx * a.ny * a.n_slices * sizeof (float), b.slices, bytes);
    g_assert_cmpuint (a.result.counts.zingers, ==, b.result.counts.zingers);
    g_assert_cmpuint (a.result.counts.clamped_transmissions, ==,
                      b.result.counts.clamped_transmissions);
    g_assert_cmpstr (a.family, ==, b.family);
    td_test_volume_clear (&a);
    td_test_volume_clear (&b);
    made++;
  }
  td_test_pin ("%u previews", made);
  g_assert_cmpuint (made, >, 5 * n_scans);
}

/* ── Storage that is unpacked ── */

static guint64
planned_bytes (TdScan *scan, TdMethodKind method, guint64 unpack_bytes)
{
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  recipe_init (&recipe, "host", NAN);
  recipe.method = method;
  scan->facts.unpack_bytes = unpack_bytes;
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  return td_plan_facts (plan)->host_bytes;
}

/* Two reads may overlap, and a little is there for them in any plan. */
static void
test_unpacking (void)
{
  static const TdMethodKind methods[] = { TD_METHOD_FBP, TD_METHOD_SIRT };
  const guint64 each = 100 << 20;

  for (guint i = 0; i < G_N_ELEMENTS (methods); i++) {
    g_autoptr (TdScan) scan = phantom_scan (40, 20, 30);
    const guint64 without = planned_bytes (scan, methods[i], 0);

    g_assert_cmpuint (planned_bytes (scan, methods[i], 1 << 20), ==, without);
    g_assert_cmpuint (planned_bytes (scan, methods[i], each), ==, without + 2 * each - (32 << 20));
  }
}

int
main (int argc, char **argv)
{
  const GOptionEntry options[] = {
    { "first", 0, 0, G_OPTION_ARG_INT, &first_scan, NULL, NULL },
    { "scans", 0, 0, G_OPTION_ARG_INT, &n_scans, NULL, NULL },
    { NULL },
  };

  g_setenv ("TOMODESK_THREADS", "2", TRUE);
  g_test_init (&argc, &argv, NULL);
  td_test_options (&argc, &argv, options);
  engine = td_engine_new (td_methods);
  g_test_add_func ("/plans/parallel", test_parallel);
  g_test_add_data_func ("/plans/cone/host", "host", test_cone);
  if (have_opencl ()) {
    g_test_add_data_func ("/plans/cone/opencl", "opencl:0", test_cone);
    g_test_add_data_func ("/plans/cone/two", "opencl:0,opencl:1", test_cone);
  }
  g_test_add_func ("/plans/edits", test_edits);
  g_test_add_func ("/plans/unpacking", test_unpacking);
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
