/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "compute/engine/fbp-private.h"
#include "dataset/scan-private.h"
#include "tests/common/pipeline.h"
#include "tests/common/truth.h"

static TdEngine *engine;

/* ── Scans ────────────────────────────────────────────────────────────────────────────────────── */

/* A scan that counts how often it is read, and can spoil its samples. */
typedef struct {
  TdScan *inner;
  gint reads;
  void (*spoil) (TdFrameKind kind, guint first, guint row0, guint n_rows, guint n_columns,
                 guint count, float *frames);
} Counting;

static gboolean
counting_read (gpointer source, TdFrameKind kind, guint first, guint count, guint row0,
               guint n_rows, float *out, GCancellable *cancellable, GError **error)
{
  Counting *counting = source;

  if (kind == TD_FRAME_PROJECTION)
    g_atomic_int_inc (&counting->reads);
  if (!td_scan_read (counting->inner, kind, first, count, row0, n_rows, out, cancellable, error))
    return FALSE;
  if (counting->spoil)
    counting->spoil (kind, first, row0, n_rows, td_scan_facts (counting->inner)->n_columns, count,
                     out);
  return TRUE;
}

static const TdScanSource counting_vtable = { .read = counting_read };

static TdScan *
counting_scan (Counting *counting, TdScan *inner)
{
  const TdScanFacts *facts = td_scan_facts (inner);
  TdScan *scan = td_scan_alloc ("counting", &counting_vtable, counting);

  counting->inner = inner;
  scan->facts.format = g_strdup ("test");
  scan->facts.n_columns = facts->n_columns;
  scan->facts.n_rows = facts->n_rows;
  scan->facts.n_views = facts->n_views;
  scan->facts.n_flats = facts->n_flats;
  scan->facts.n_darks = facts->n_darks;
  scan->facts.sample_type = facts->sample_type;
  scan->facts.transmission_logged = facts->transmission_logged;
  scan->facts.angles_rad = g_memdup2 (facts->angles_rad, facts->n_views * sizeof (double));
  return scan;
}

static TdScan *
phantom_scan (guint n_columns, guint n_rows, guint n_views)
{
  TdPhantomScan spec;
  g_autoptr (GError) error = NULL;

  td_phantom_scan_init (&spec);
  spec.n_columns = n_columns;
  spec.n_rows = n_rows;
  spec.n_views = n_views;
  spec.centre_px = n_columns / 2.0 + 1.25;
  TdScan *scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  return scan;
}

static void
recipe_init (TdRecipe *recipe, const char *device, double centre_px)
{
  td_recipe_init (recipe);
  g_strlcpy (recipe->devices, device, sizeof recipe->devices);
  recipe->centre_px = centre_px;
}

static void
reconstruct (TdScan *scan, const TdRecipe *recipe, TdTestVolume *volume)
{
  g_autoptr (GError) error = NULL;

  td_test_reconstruct (engine, scan, recipe, volume, &error);
  g_assert_no_error (error);
}

static void
assert_close (const float *a, const float *b, gsize n, double limit)
{
  g_autofree double *reference = g_new (double, n);

  for (gsize i = 0; i < n; i++)
    reference[i] = b[i];
  g_assert_cmpfloat (td_truth_relative_rms (a, reference, n), <, limit);
}

static gboolean
have_opencl (void)
{
  g_autoptr (GPtrArray) devices = td_test_devices ();

  return g_ptr_array_find_with_equal_func (devices, "opencl:0", g_str_equal, NULL);
}

/* ── A volume is its slices ───────────────────────────────────────────────────────────────────── */

static void
test_rows_and_regions (void)
{
  g_autoptr (TdScan) scan = phantom_scan (65, 37, 60);
  TdTestVolume all, part, box;
  TdRecipe recipe;

  recipe_init (&recipe, "host", 33.75);
  reconstruct (scan, &recipe, &all);
  g_assert_cmpuint (all.nx, ==, 65);
  g_assert_cmpuint (all.n_slices, ==, 37);

  for (guint row = 0; row < 37; row += 12) {
    recipe.row_first = row;
    recipe.row_end = row + 1;
    reconstruct (scan, &recipe, &part);
    assert_close (part.slices, all.slices + row * 65 * 65, 65 * 65, 1e-5);
    td_test_volume_clear (&part);
  }

  recipe.row_first = 5;
  recipe.row_end = 26;
  const gint region[4] = { 3, 11, 50, 21 };
  memcpy (recipe.region, region, sizeof region);
  reconstruct (scan, &recipe, &box);
  g_assert_cmpuint (box.nx, ==, 50);
  g_assert_cmpuint (box.ny, ==, 21);
  g_autofree float *crop = g_new (float, 21 * 21 * 50);
  for (guint slice = 0; slice < 21; slice++)
    for (guint y = 0; y < 21; y++)
      memcpy (crop + (slice * 21 + y) * 50, all.slices + ((slice + 5) * 65 + y + 11) * 65 + 3,
              50 * sizeof *crop);
  assert_close (box.slices, crop, 21 * 21 * 50, 1e-5);
  td_test_volume_clear (&box);
  td_test_volume_clear (&all);
}

/* Turning the stage the other way mirrors the angles; an offset turns the slice. */
static void
test_turn (void)
{
  g_autoptr (TdScan) scan = phantom_scan (64, 1, 90);
  TdTestVolume plain, turned;
  TdRecipe recipe;

  recipe_init (&recipe, "host", 33.25);
  reconstruct (scan, &recipe, &plain);
  recipe.angle_offset_deg = 180;
  reconstruct (scan, &recipe, &turned);
  g_autofree float *expected = g_new (float, 64 * 64);
  for (guint i = 0; i < 64 * 64; i++)
    expected[i] = plain.slices[64 * 64 - 1 - i];
  assert_close (turned.slices, expected, 64 * 64, 1e-4);
  td_test_volume_clear (&turned);

  recipe.angle_offset_deg = 0;
  recipe.reverse_rotation = TRUE;
  reconstruct (scan, &recipe, &turned);
  for (guint y = 0; y < 64; y++)
    memcpy (expected + y * 64, plain.slices + (63 - y) * 64, 64 * sizeof (float));
  assert_close (turned.slices, expected, 64 * 64, 1e-4);
  td_test_volume_clear (&turned);
  td_test_volume_clear (&plain);
}

static void
test_tilt (void)
{
  g_autoptr (TdScan) scan = phantom_scan (48, 9, 50);
  TdTestVolume tilted, row;
  TdRecipe recipe;

  recipe_init (&recipe, "host", 25.25);
  recipe.tilt_deg = 2;
  reconstruct (scan, &recipe, &tilted);
  recipe.tilt_deg = 0;
  for (guint i = 0; i < 9; i += 4) {
    recipe.row_first = i;
    recipe.row_end = i + 1;
    recipe.centre_px = 25.25 + tan (2 * G_PI / 180) * (i - 4.0);
    reconstruct (scan, &recipe, &row);
    assert_close (tilted.slices + i * 48 * 48, row.slices, 48 * 48, 1e-5);
    td_test_volume_clear (&row);
  }
  td_test_volume_clear (&tilted);
}

/* ── Previews ─────────────────────────────────────────────────────────────────────────────────── */

static void
test_preview_reads_once (void)
{
  g_autoptr (TdScan) inner = phantom_scan (64, 8, 70);
  Counting counting = { NULL };
  g_autoptr (TdScan) scan = counting_scan (&counting, inner);
  TdTestVolume warm, cold;
  TdRecipe recipe;

  recipe_init (&recipe, "host", 33.25);
  recipe.row_first = 3;
  recipe.row_end = 4;
  reconstruct (scan, &recipe, &warm);
  td_test_volume_clear (&warm);
  gint reads = counting.reads;
  g_assert_cmpint (reads, >, 0);

  const char *const edits[][2] = {
    { "centre", "31.5" }, { "filter", "hann" }, { "cutoff", "0.5" }, { "angle-offset", "20" },
    { "prepare", "minus-log:floor=0.5" }, { "interpolation", "nearest" }, { "region", "5,5,20,30" },
    { "tilt", "1" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (edits); i++) {
    g_autoptr (GError) error = NULL;
    td_recipe_set (&recipe, edits[i][0], edits[i][1], &error);
    g_assert_no_error (error);
    reconstruct (scan, &recipe, &warm);
    g_assert_cmpint (counting.reads, ==, reads);

    /* And it is the same as from the start. */
    g_autoptr (TdEngine) other = td_engine_new ();
    td_test_reconstruct (other, inner, &recipe, &cold, &error);
    g_assert_no_error (error);
    assert_close (warm.slices, cold.slices, (gsize) cold.nx * cold.ny, 1e-6);
    td_test_volume_clear (&warm);
    td_test_volume_clear (&cold);
  }

  recipe.row_first = 4;
  recipe.row_end = 5;
  reconstruct (scan, &recipe, &warm);
  g_assert_cmpint (counting.reads, >, reads);
  td_test_volume_clear (&warm);
  td_engine_trim (engine);
}

static void
test_volume_reads_once (void)
{
  g_autoptr (TdScan) inner = phantom_scan (32, 200, 20);
  Counting counting = { NULL };
  g_autoptr (TdScan) scan = counting_scan (&counting, inner);
  TdTestVolume volume;
  TdRecipe recipe;

  recipe_init (&recipe, "host", 17.25);
  reconstruct (scan, &recipe, &volume);
  g_test_message ("%d reads for 13 slabs", counting.reads);
  td_test_volume_clear (&volume);
  td_engine_trim (engine);
}

/* ── Bad samples ──────────────────────────────────────────────────────────────────────────────── */

/* A NaN here and there, one view lost altogether, one dead pixel in the flats; in the last row a
   sample darker than the dark field. */
static void
spoil_a_little (TdFrameKind kind, guint first, guint row0, guint n_rows, guint n_columns,
                guint count, float *frames)
{
  for (guint f = 0; f < count; f++)
    for (guint r = 0; r < n_rows; r++) {
      float *line = frames + ((gsize) f * n_rows + r) * n_columns;
      if (kind == TD_FRAME_FLAT)
        line[20] = 0;
      if (kind != TD_FRAME_PROJECTION)
        continue;
      if (first + f == 7)
        line[10] = NAN;
      if (first + f == 8)
        line[0] = line[1] = INFINITY;
      if (first + f == 30)
        for (guint c = 0; c < n_columns; c++)
          line[c] = NAN;
      if (first + f == 31 && row0 + r == 2)
        line[40] = -1000;
    }
}

static void
test_bad_samples (gconstpointer device)
{
  g_autoptr (TdScan) inner = phantom_scan (64, 3, 200);
  Counting counting = { .spoil = spoil_a_little };
  g_autoptr (TdScan) scan = counting_scan (&counting, inner);
  TdTestVolume clean, spoilt;
  TdRecipe recipe;

  if (g_str_equal (device, "opencl:0") && !have_opencl ()) {
    g_test_skip ("no OpenCL device");
    return;
  }
  recipe_init (&recipe, device, 33.25);
  reconstruct (inner, &recipe, &clean);
  reconstruct (scan, &recipe, &spoilt);
  g_assert_cmpuint (spoilt.result.counts.bad_values, ==, 3 * (1 + 2 + 64));
  g_assert_cmpuint (spoilt.result.counts.dead_pixels, ==, 3);
  g_assert_cmpuint (spoilt.result.counts.clamped_transmissions, ==, 1);
  for (gsize i = 0; i < 3 * 64 * 64; i++)
    g_assert_true (isfinite (spoilt.slices[i]));
  /* The clamped sample is a streak of its own; the rest is mended nearly without trace. */
  assert_close (spoilt.slices, clean.slices, 2 * 64 * 64, 0.08);
  td_test_volume_clear (&clean);
  td_test_volume_clear (&spoilt);
  td_engine_trim (engine);
}

static void
spoil_flats (TdFrameKind kind, guint first, guint row0, guint n_rows, guint n_columns, guint count,
             float *frames)
{
  if (kind == TD_FRAME_FLAT)
    memset (frames, 0, (gsize) count * n_rows * n_columns * sizeof *frames);
}

static void
test_zero_flats (void)
{
  g_autoptr (TdScan) inner = phantom_scan (64, 3, 20);
  Counting counting = { .spoil = spoil_flats };
  g_autoptr (TdScan) scan = counting_scan (&counting, inner);
  g_autoptr (GError) error = NULL;
  TdTestVolume volume;
  TdRecipe recipe;

  recipe_init (&recipe, "host", 33.25);
  g_assert_false (td_test_reconstruct (engine, scan, &recipe, &volume, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
  g_assert_nonnull (strstr (error->message, "flat field"));
  td_engine_trim (engine);
}

/* ── Plans ────────────────────────────────────────────────────────────────────────────────────── */

static void
test_refusals (void)
{
  static const char *const cases[][3] = {
    { "rows", "5:9", "Rows" },
    { "region", "0,0,65,5", "region" },
    { "region", "-1,0,5,5", "region" },
    { "method", "fdk", "--method fbp" },
    { "device", "abacus", "abacus" },
    { "memory-limit", "100K", "memory" },
  };
  g_autoptr (TdScan) scan = phantom_scan (64, 8, 20);

  scan->facts.centre_px = NAN;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    recipe_init (&recipe, "host", NAN);
    td_recipe_set (&recipe, cases[i][0], cases[i][1], &error);
    g_assert_no_error (error);
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_null (plan);
    g_assert_nonnull (error);
    g_test_message ("%s", error->message);
    g_assert_nonnull (strstr (error->message, cases[i][2]));
  }
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, "host", NULL);
  td_device_set_memory_limit (devices->pdata[0], 0);
}

/* The job keeps to the plan's figure, and with less memory gives the same volume. */
static void
test_memory (gconstpointer device)
{
  g_autoptr (TdScan) scan = phantom_scan (96, 70, 80);
  g_autoptr (GError) error = NULL;
  TdTestVolume whole, small;
  TdRecipe recipe;

  if (g_str_equal (device, "opencl:0") && !have_opencl ()) {
    g_test_skip ("no OpenCL device");
    return;
  }
  recipe_init (&recipe, device, 49.25);
  reconstruct (scan, &recipe, &whole);

  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  const TdPlanFacts *facts = td_plan_facts (plan);
  g_test_message ("host %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT ", device %" G_GUINT64_FORMAT
                  " of %" G_GUINT64_FORMAT, whole.result.host_peak_bytes, facts->host_bytes,
                  whole.result.device_peak_bytes, facts->device_bytes);
  g_assert_cmpuint (whole.result.host_peak_bytes, <=, facts->host_bytes);
  g_assert_cmpuint (whole.result.device_peak_bytes, <=, facts->device_bytes);
  g_assert_cmpuint (whole.result.device_peak_bytes, >, facts->device_bytes / 3);

  recipe.memory_limit_bytes = facts->host_bytes - (1 << 20);
  g_autoptr (TdPlan) tight = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (td_plan_facts (tight)->slab_slices, <, facts->slab_slices);
  g_assert_cmpuint (td_plan_facts (tight)->host_bytes, <=, recipe.memory_limit_bytes);
  reconstruct (scan, &recipe, &small);
  g_assert_cmpuint (small.result.host_peak_bytes, <=, recipe.memory_limit_bytes);
  assert_close (small.slices, whole.slices, (gsize) 96 * 96 * 70, 1e-5);
  td_test_volume_clear (&small);
  td_test_volume_clear (&whole);
}

/* ── Devices ──────────────────────────────────────────────────────────────────────────────────── */

static void
test_two_devices (void)
{
  g_autoptr (TdScan) scan = phantom_scan (64, 150, 40);
  TdTestVolume one, two;
  TdRecipe recipe;

  if (!have_opencl ()) {
    g_test_skip ("no OpenCL device");
    return;
  }
  recipe_init (&recipe, "host", 33.25);
  reconstruct (scan, &recipe, &one);
  recipe_init (&recipe, "host,opencl:0", 33.25);
  reconstruct (scan, &recipe, &two);
  g_assert_cmpstr (two.device, ==, "host,opencl:0");
  assert_close (two.slices, one.slices, (gsize) 64 * 64 * 150, 1e-5);
  td_test_volume_clear (&one);
  td_test_volume_clear (&two);
}

/* As on a GPU: transfers on queues of their own, two slabs in flight. */
static void
test_two_lanes (void)
{
  g_autoptr (TdScan) scan = phantom_scan (64, 150, 40);
  TdTestVolume one, two;
  TdRecipe recipe;

  if (!have_opencl ()) {
    g_test_skip ("no OpenCL device");
    return;
  }
  recipe_init (&recipe, "host", 33.25);
  reconstruct (scan, &recipe, &one);
  recipe_init (&recipe, "opencl:0", 33.25);
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, "opencl:0", NULL);
  TdDevice *device = g_ptr_array_index (devices, 0);
  TdDeviceInfo info = device->info;
  device->info.cpu_shaped = device->info.host_pointers = FALSE;
  reconstruct (scan, &recipe, &two);
  device->info = info;
  assert_close (two.slices, one.slices, (gsize) 64 * 64 * 150, 1e-5);
  td_test_volume_clear (&one);
  td_test_volume_clear (&two);
}

static void
keep_slices (guint first, guint count, const float *slices, gpointer user)
{
  memcpy ((float *) user + first * 64 * 64, slices, count * 64 * 64 * sizeof *slices);
}

/* Slabs with rows around them, which one slab's reading leaves to the next. */
static void
test_halo (gconstpointer device)
{
  g_autoptr (TdScan) inner = phantom_scan (64, 150, 40);
  Counting counting = { NULL };
  g_autoptr (TdScan) scan = counting_scan (&counting, inner);
  g_autofree float *slices = g_new0 (float, 150 * 64 * 64);
  g_autoptr (GError) error = NULL;
  TdTestVolume plain;
  TdRecipe recipe;

  if (g_str_equal (device, "opencl:0") && !have_opencl ()) {
    g_test_skip ("no OpenCL device");
    return;
  }
  recipe_init (&recipe, device, 33.25);
  reconstruct (inner, &recipe, &plain);
  for (guint halo = 1; halo <= 40; halo += 13) {
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    ((TdFbp *) plan->extra)->halo = halo;
    g_autoptr (TdJob) job = td_job_new (plan);
    td_job_set_sink (job, keep_slices, slices);
    counting.reads = 0;
    td_job_run (job, NULL, &error);
    g_assert_no_error (error);
    g_assert_cmpint (counting.reads, <=, (gint) td_plan_facts (plan)->n_slabs);
    assert_close (slices, plain.slices, 150 * 64 * 64, 1e-6);
  }
  td_test_volume_clear (&plain);
  td_engine_trim (engine);
}

/* ── Jobs ─────────────────────────────────────────────────────────────────────────────────────── */

typedef struct {
  GMainLoop *loop;
  TdJobState state;
  gint64 cancelled_us, ended_us;
} Waiting;

static void
on_done (TdJob *job, const GError *error, gpointer user)
{
  Waiting *waiting = user;
  TdJobProgress progress;

  td_job_progress (job, &progress);
  waiting->state = progress.state;
  waiting->ended_us = g_get_monotonic_time ();
  if (progress.state == TD_JOB_CANCELLED)
    g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_main_loop_quit (waiting->loop);
}

static gboolean
cancel_it (gpointer job)
{
  td_job_cancel (job);
  return G_SOURCE_REMOVE;
}

static void
test_cancel (void)
{
  g_autoptr (TdScan) scan = phantom_scan (256, 128, 180);
  guint cancelled = 0;
  TdRecipe recipe;

  recipe_init (&recipe, "host", 129.25);
  for (guint delay_ms = 0; delay_ms <= 200; delay_ms += 20) {
    g_autoptr (GError) error = NULL;
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    g_autoptr (TdJob) job = td_job_new (plan);
    Waiting waiting = { .loop = g_main_loop_new (NULL, FALSE) };

    guint timer = g_timeout_add (delay_ms, cancel_it, job);
    td_job_start (job, on_done, &waiting);
    g_main_loop_run (waiting.loop);
    g_main_loop_unref (waiting.loop);
    if (g_main_context_find_source_by_id (NULL, timer))
      g_source_remove (timer);
    g_assert_true (waiting.state == TD_JOB_CANCELLED || waiting.state == TD_JOB_DONE);
    cancelled += waiting.state == TD_JOB_CANCELLED;
  }
  g_assert_cmpuint (cancelled, >, 0);
}

static void
test_progress (void)
{
  g_autoptr (TdScan) scan = phantom_scan (64, 40, 40);
  g_autoptr (GError) error = NULL;
  TdJobProgress progress;
  TdRecipe recipe;

  recipe_init (&recipe, "host", 33.25);
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (TdJob) job = td_job_new (plan);
  td_job_progress (job, &progress);
  g_assert_cmpint (progress.state, ==, TD_JOB_WAITING);
  g_assert_cmpfloat (progress.fraction, ==, 0);
  td_job_run (job, NULL, &error);
  g_assert_no_error (error);
  td_job_progress (job, &progress);
  g_assert_cmpint (progress.state, ==, TD_JOB_DONE);
  g_assert_cmpfloat (progress.fraction, ==, 1);
  g_assert_cmpuint (progress.slices_done, ==, 40);
  g_assert_cmpfloat (progress.remaining_s, ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new ();
  g_test_add_func ("/engine/rows-and-regions", test_rows_and_regions);
  g_test_add_func ("/engine/turn", test_turn);
  g_test_add_func ("/engine/tilt", test_tilt);
  g_test_add_func ("/engine/preview-reads-once", test_preview_reads_once);
  g_test_add_func ("/engine/volume-reads-once", test_volume_reads_once);
  g_test_add_data_func ("/engine/bad-samples/host", "host", test_bad_samples);
  g_test_add_data_func ("/engine/bad-samples/opencl", "opencl:0", test_bad_samples);
  g_test_add_func ("/engine/zero-flats", test_zero_flats);
  g_test_add_func ("/engine/refusals", test_refusals);
  g_test_add_data_func ("/engine/memory/host", "host", test_memory);
  g_test_add_data_func ("/engine/memory/opencl", "opencl:0", test_memory);
  g_test_add_func ("/engine/two-devices", test_two_devices);
  g_test_add_func ("/engine/two-lanes", test_two_lanes);
  g_test_add_data_func ("/engine/halo/host", "host", test_halo);
  g_test_add_data_func ("/engine/halo/opencl", "opencl:0", test_halo);
  g_test_add_func ("/engine/cancel", test_cancel);
  g_test_add_func ("/engine/progress", test_progress);
  int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
