/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans refuse what cannot work, several devices share a job with the same result, and jobs stop
   when cancelled. */
#include "compute/engine/engine-private.h"
#include "compute/engine/job-private.h"
#include "compute/engine/preview.h"
#include "compute/device/host.h"
#include "compute/methods/methods.h"
#include "dataset/sort.h"
#include "engine-scans.h"
#include "tests/common/devices.h"
#include "tests/common/cone-scan.h"
#include "tests/common/iterative.h"
#include "tests/common/scarce.h"

/* ── Plans ── */

static void
test_refusals (void)
{
  static const char *const cases[][3] = {
    { "rows", "5:9", "Rows" },          { "region", "0,0,65,5", "region" },
    { "region", "-1,0,5,5", "region" }, { "method", "fdk", "--method fbp" },
    { "device", "abacus", "abacus" },   { "memory-limit", "100K", "memory" },
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
}

/* What to raise is the limit that holds: on a device of its own that may be the device's. */
static void
test_limits (void)
{
  static const struct {
    const char *both, *alone, *says;
  } cases[] = {
    { "0", "30K", "raise --device-memory-limit" },
    { "1G", "30K", "raise --device-memory-limit" },
    { "30K", "0", "raise --memory-limit" },
    { "30K", "1G", "raise --memory-limit" },
  };
  g_autoptr (TdScan) scan = phantom_scan (64, 8, 20);

  if (!have_opencl ()) {
    g_test_skip ("no opencl:0");
    return;
  }
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    recipe_init (&recipe, "opencl:0", 31.5);
    g_assert_true (td_recipe_set (&recipe, "memory-limit", cases[i].both, NULL));
    g_assert_true (td_recipe_set (&recipe, "device-memory-limit", cases[i].alone, NULL));
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_null (plan);
    g_test_message ("%s", error->message);
    g_assert_nonnull (strstr (error->message, cases[i].says));
  }
}

/* Nothing is reconstructed from one angle; one other view is enough to try. */
static void
test_one_angle (void)
{
  g_autoptr (TdScan) scan = phantom_scan (64, 4, 5);
  TdRecipe recipe;

  recipe_init (&recipe, "host", 33.25);
  for (guint others = 0; others < 3; others++) {
    g_autoptr (GError) error = NULL;

    for (guint i = 0; i < 5; i++)
      scan->facts.angles_rad[i] = i < others ? 0.5 * G_PI * (i + 1) / others : 0;
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    if (others == 0)
      g_assert_error (error, TD_ERROR, TD_ERROR_ANGLES);
    else
      g_assert_no_error (error);
  }
}

/* The job keeps to the plan's figure, and with less memory gives the same volume. */
static void
test_memory (gconstpointer device)
{
  g_autoptr (TdScan) scan = phantom_scan (96, 70, 80);
  g_autoptr (GError) error = NULL;
  TdTestVolume whole, small;
  TdRecipe recipe;

  if (!have_device (device))
    return;
  recipe_init (&recipe, device, 49.25);
  reconstruct (scan, &recipe, &whole);

  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  const TdPlanFacts *facts = td_plan_facts (plan);
  g_test_message ("host %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT ", device %" G_GUINT64_FORMAT
                  " of %" G_GUINT64_FORMAT,
                  whole.result.host_peak_bytes, facts->host_bytes, whole.result.device_peak_bytes,
                  facts->device_bytes);
  g_assert_cmpuint (whole.result.host_peak_bytes, <=, facts->host_bytes);
  g_assert_cmpuint (whole.result.device_peak_bytes, <=, facts->device_bytes);
  /* The figure holds what each of the host's threads needs besides, which the peak does not. */
  g_assert_cmpuint (whole.result.device_peak_bytes, >,
                    facts->device_bytes / (3 + td_host_threads () / 4));

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

typedef struct {
  TdPlan *plan;
  guint64 peak_bytes;
  char *notes;
} Tight;

/* The range of 8 and 16 bits is the middle slice's, a tenth wider to either side. Two
   ten-thousandths of the values at either end do not count. */
static void
check_output_range (TdScan *scan, TdRecipe *recipe)
{
  g_autoptr (GError) error = NULL;
  TdTestVolume volume;
  double low, high;

  recipe->output_range_auto = TRUE;
  reconstruct (scan, recipe, &volume);
  const gsize n = (gsize) volume.nx * volume.ny, tail = (gsize) (0.0002 * n);
  float *slice = volume.slices + volume.n_slices / 2 * n;
  const double first = td_float_at_rank (slice, n, tail);
  const double last = td_float_at_rank (slice, n, n - 1 - tail);
  td_test_volume_clear (&volume);
  for (recipe->output_bits = 8; recipe->output_bits <= 16; recipe->output_bits *= 2) {
    g_autofree char *output = g_build_filename (g_get_tmp_dir (), "no-volume.tif", NULL);
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, recipe, output, NULL, &error);
    g_assert_no_error (error);
    g_autoptr (TdJob) job = td_job_new (plan);
    g_assert_true (td_job_output_range (job, &low, &high, &error));
    g_assert_cmpfloat_with_epsilon (low, first - 0.1 * (last - first), 1e-5 * (last - first));
    g_assert_cmpfloat_with_epsilon (high, last + 0.1 * (last - first), 1e-5 * (last - first));
  }
}

static void
test_output_range (void)
{
  g_autoptr (TdScan) scan = phantom_scan (128, 6, 80);
  TdRecipe recipe;

  recipe_init (&recipe, "host", 65.25);
  check_output_range (scan, &recipe);
}

/* Of views that are too few for filtering, iterations say the range. */
static void
test_output_range_of_arc (void)
{
  TdPhantomScan spec;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, 24, 12, 20, 120, TRUE);
  TdRecipe recipe;

  td_test_recipe (&recipe, "sirt", "host");
  recipe.iterations = 2;
  check_output_range (scan, &recipe);
}

/* Within the other job, as a preview beside a reconstruction. */
static void
run_tight (guint first, guint count, const float *slices, gpointer user)
{
  Tight *tight = user;
  g_autoptr (GError) error = NULL;

  if (tight->peak_bytes)
    return;
  g_autoptr (TdJob) job = td_job_new (tight->plan);
  g_assert_true (td_job_run (job, NULL, &error));
  g_assert_no_error (error);
  tight->peak_bytes = td_job_result (job)->device_peak_bytes;
  tight->notes = td_messages_join (td_job_result (job)->notes, "\n", NULL);
}

/* Neither job feels the other one's limit. */
static void
test_two_limits (void)
{
  g_autoptr (TdScan) scan = phantom_scan (96, 70, 80);
  g_autoptr (GError) error = NULL;
  Tight tight = { NULL };
  TdRecipe recipe;

  if (!have_device ("opencl:0"))
    return;
  recipe_init (&recipe, "opencl:0", 49.25);
  g_autoptr (TdPlan) roomy = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  const guint64 needed = td_plan_facts (roomy)->device_bytes;
  recipe.device_memory_limit_bytes = needed / 3;
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  tight.plan = plan;

  g_autoptr (TdJob) job = td_job_new (roomy);
  td_job_set_sink (job, run_tight, &tight);
  g_assert_true (td_job_run (job, NULL, &error));
  g_assert_no_error (error);
  g_autofree char *notes = td_messages_join (td_job_result (job)->notes, "\n", NULL);
  const guint64 peak = td_job_result (job)->device_peak_bytes;
  g_test_message ("%" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT " bytes of %" G_GUINT64_FORMAT,
                  peak, tight.peak_bytes, needed);
  g_assert_null (strstr (notes, "opencl:0"));
  g_assert_null (strstr (tight.notes, "opencl:0"));
  g_assert_cmpuint (peak, >, recipe.device_memory_limit_bytes);
  g_assert_cmpuint (peak, <=, needed);
  g_assert_cmpuint (tight.peak_bytes, >, 0);
  g_assert_cmpuint (tight.peak_bytes, <=, recipe.device_memory_limit_bytes);
  g_free (tight.notes);
}

/* ── Devices ── */

static void
test_two_devices (void)
{
  g_autoptr (TdScan) scan = phantom_scan (64, 150, 40);
  TdTestVolume one, two;
  TdRecipe recipe;

  if (!have_device ("opencl:0"))
    return;
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

  if (!have_device ("opencl:0"))
    return;
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

  if (!have_device (device))
    return;
  recipe_init (&recipe, device, 33.25);
  reconstruct (inner, &recipe, &plain);
  for (guint halo = 1; halo <= 40; halo += 13) {
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    ((TdFbp *) plan->extra)->halo = halo;
    g_autoptr (TdJob) job = td_job_new (plan);
    td_job_set_sink (job, keep_slices, slices);
    td_job_share_sink (job);
    counting.reads = 0;
    td_job_run (job, NULL, &error);
    g_assert_no_error (error);
    g_assert_cmpint (counting.reads, <=, (gint) td_plan_facts (plan)->n_slabs);
    assert_close (slices, plain.slices, 150 * 64 * 64, 1e-6);
  }
  td_test_volume_clear (&plain);
  td_engine_trim (engine);
}

/* ── Jobs ── */

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

/* ── What was really done ── */

/* What the reader noted about the scan is among the plan's notes. */
static void
test_reader_notes (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = phantom_scan (64, 8, 40);
  TdRecipe recipe;

  td_scan_note (scan, "Image %u is missing.", 3u);
  recipe_init (&recipe, "host", 33.25);
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  g_autofree char *json = td_plan_to_json (plan);
  g_assert_nonnull (strstr (json, "Image 3 is missing."));
}

/* What computes in single precision says so, whatever was asked for. */
static void
test_precision (gconstpointer device)
{
  static const struct {
    TdPrecision asked;
    gboolean noted;
  } cases[] = { { TD_PRECISION_SINGLE, FALSE },
                { TD_PRECISION_HALF, TRUE },
                { TD_PRECISION_HALF_RUN, TRUE } };
  g_autoptr (TdScan) scan = phantom_scan (64, 8, 40);

  if (!have_device (device))
    return;
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, device, NULL);
  if (td_device_info (devices->pdata[0])->kind != TD_DEVICE_CPU) {
    g_test_skip ("the device is not a CPU");
    return;
  }
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    recipe_init (&recipe, device, 33.25);
    g_strlcpy (recipe.family, "host", sizeof recipe.family); /* a CPU's, on either device */
    recipe.precision = cases[i].asked;
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    g_autofree char *notes = td_messages_join (td_plan_facts (plan)->notes, "\n", NULL);
    g_test_message ("%s", notes);
    g_assert_cmpint (strstr (notes, "in single precision") != NULL, ==, cases[i].noted);
    g_autoptr (TdJob) job = td_job_new (plan);
    g_assert_true (td_job_run (job, NULL, &error));
    g_assert_cmpstr (td_job_result (job)->precision, ==, "single");
    g_autofree char *json = td_job_result_json (job);
    g_assert_nonnull (strstr (json, "\"precision\" : \"single\""));
    g_assert_cmpint (strstr (json, "in single precision") != NULL, ==, cases[i].noted);
    g_autofree char *kept = td_job_provenance_json (job);
    g_assert_cmpint (strstr (kept, "in single precision") != NULL, ==, cases[i].noted);
  }
}

/* ── Building kernels ── */

static struct {
  const TdDeviceOps *sound;
  TdJob *job;
  gint launches, stages;
  gint64 over_us; /* when the first launch was over */
} slow;

#define SLOW_S 0.6
#define LONG_S 20

/* As a driver that compiles at the first launch. */
static gboolean
slow_launch (TdQueue *queue, TdKernel *kernel, const guint groups[3], const guint local[3],
             const TdArg *args, guint n_args, GError **error)
{
  if (g_atomic_int_add (&slow.launches, 1) == 0) {
    g_usleep ((gulong) (SLOW_S * G_USEC_PER_SEC));
    slow.over_us = g_get_monotonic_time ();
  }
  return slow.sound->launch (queue, kernel, groups, local, args, n_args, error);
}

static gboolean
slow_build (TdProgram *program, const char *name, const char *source, const char *const *defines,
            GError **error)
{
  TdJobProgress progress;

  td_job_progress (slow.job, &progress);
  slow.stages += g_str_equal (progress.stage, "building kernels, once");
  return slow.sound->program_build (program, name, source, defines, error);
}

/* What a first run takes for its kernels is no rate for later plans, and is called what it is. */
static void
test_building (void)
{
  g_autoptr (TdScan) scan = phantom_scan (64, 40, 40);
  g_autoptr (TdEngine) own = td_engine_new (td_methods);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  if (!have_device ("opencl:0"))
    return;
  recipe_init (&recipe, "opencl:0", 33.25);
  g_autoptr (GPtrArray) devices = td_engine_devices (own, "opencl:0", NULL);
  TdDevice *device = devices->pdata[0];
  TdDeviceOps ops = *device->ops;
  g_autoptr (TdPlan) plan = td_plan_new (own, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  const TdFbp *fbp = plan->extra;
  g_autofree char *key
      = td_fbp_rate_key (device, fbp->families[0], TD_INTERPOLATION_LINEAR, TD_PRECISION_SINGLE);
  const double updates = td_plan_facts (plan)->updates;
  const double before = td_engine_rate (own, key, updates); /* of other tests */
  g_autoptr (TdJob) job = td_job_new (plan);
  td_test_free_programs (device);
  slow.sound = device->ops;
  slow.job = job;
  slow.launches = slow.stages = 0;
  ops.launch = slow_launch;
  ops.program_build = slow_build;
  device->ops = &ops;
  const gint64 begun = g_get_monotonic_time ();
  const gboolean ok = td_job_run (job, NULL, &error);
  const double after_s = (g_get_monotonic_time () - slow.over_us) * 1e-6;
  device->ops = slow.sound;
  g_assert_no_error (error);
  g_assert_true (ok);
  g_assert_cmpint (slow.launches, >, 0);
  g_assert_cmpint (slow.stages, >, 0);
  /* One that took very long counts, whatever it built (job.c). */
  const gboolean warm = td_job_is_warm (job);
  g_assert_true (!warm || g_get_monotonic_time () - begun > LONG_S * G_USEC_PER_SEC);
  const double rate = td_engine_rate (own, key, updates);
  /* Two slabs may be under way beside each other, and a busy machine takes long for them. */
  g_assert_true (rate == before || updates / rate < MAX (SLOW_S, 3 * after_s));
}

/* ── Frames that are unpacked whole ── */

static void
halve (TdFrameKind kind, guint first, guint row0, guint n_rows, guint n_columns, guint count,
       float *frames)
{
  for (gsize i = 0; i < (gsize) count * n_rows * n_columns; i++)
    frames[i] = kind == TD_FRAME_PROJECTION ? frames[i] * 0.5f : frames[i];
}

/* However many slabs want their rows, such frames are read once and give the same slices. Whole
   numbers are copied as they are stored, and others as floats. */
static void
test_rows_together (gconstpointer data)
{
  const gboolean whole = GPOINTER_TO_INT (data);
  const guint n_rows = 80;
  g_autoptr (TdScan) inner = phantom_scan (64, n_rows, 60);
  Counting counting = { .spoil = whole ? NULL : halve };
  g_autoptr (TdScan) apart = counting_scan (&counting, inner);
  g_autoptr (TdScan) together = counting_scan (&counting, inner);
  g_autoptr (GError) error = NULL;
  TdTestVolume expected, volume;
  TdRecipe recipe;

  recipe_init (&recipe, "host", 33.25);
  apart->facts.in_memory = together->facts.in_memory = FALSE;
  together->facts.rows_together = n_rows;
  g_assert_cmpint (together->facts.sample_type, ==, TD_SAMPLE_UINT16);
  g_autoptr (TdPlan) plan = td_plan_new (engine, together, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_nonnull (((TdFbp *) plan->extra)->spool);
  reconstruct (apart, &recipe, &expected);
  g_assert_cmpint (counting.reads, >=, (gint) td_plan_facts (plan)->n_slabs);
  counting.reads = 0;
  reconstruct (together, &recipe, &volume);
  g_assert_cmpint (counting.reads, <=, whole ? 1 : 2);
  g_assert_cmpmem (volume.slices, (gsize) volume.nx * volume.ny * n_rows * sizeof (float),
                   expected.slices, (gsize) volume.nx * volume.ny * n_rows * sizeof (float));
  td_test_volume_clear (&expected);
  td_test_volume_clear (&volume);
}

static void
dawdle (TdFrameKind kind, guint first, guint row0, guint n_rows, guint n_columns, guint count,
        float *frames)
{
  if (kind == TD_FRAME_PROJECTION)
    g_usleep (100000);
}

/* All of them are unpacked before the first slab: the next plan adds that to what overlaps. */
static void
test_rows_together_time (void)
{
  g_autoptr (TdScan) inner = phantom_scan (64, 80, 60);
  Counting counting = { .spoil = dawdle };
  g_autoptr (TdScan) together = counting_scan (&counting, inner);
  g_autoptr (GError) error = NULL;
  TdTestVolume volume;
  TdPlanTimes times;
  TdRecipe recipe;

  recipe_init (&recipe, "host", 33.25);
  together->facts.in_memory = FALSE;
  together->facts.rows_together = 80;
  reconstruct (together, &recipe, &volume);
  td_test_volume_clear (&volume);
  g_autoptr (TdPlan) plan = td_plan_new (engine, together, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  td_plan_times (plan, &times);
  g_assert_cmpfloat (times.first, >=, 0.1);
  g_assert_cmpfloat (times.read, >=, times.first);
  const double without = td_plan_estimate (plan, &(TdPlanTimes) { 0 }, 1e9, 2);
  g_assert_cmpfloat (td_plan_estimate (plan, &times, 1e9, 2), >=, without + times.first);
}

/* ── Short of memory ── */

typedef struct {
  const char *name;
  guint n_rows;
  gboolean cone, lines;   /* counts of a camera with flats, or line integrals */
  const char *options[9]; /* option and value in turns */
} ScarceCase;

static const ScarceCase scarce_cases[] = {
  { "steps", 3, FALSE, FALSE, { "prepare", "paganin=100:energy=25:distance=20:pixel=5", NULL } },
  { "rings", 3, FALSE, TRUE, { "prepare", "rings", "prepare", "rings-all", NULL } },
  { "fourier", 3, FALSE, TRUE, { "method", "fourier", "bin", "2", NULL } },
  { "fdk-tilted", 12, TRUE, TRUE, { "tilt", "2", NULL } },
  { "cgls", 1, TRUE, TRUE, { "method", "cgls", "iterations", "1", "start", "zero", NULL } },
};

typedef struct {
  TdScan *scan;
  TdRecipe recipe;
  TdTestVolume whole; /* nothing was missing */
} Scarce;

static gboolean
scarce_reconstruct (gpointer user, GError **error)
{
  Scarce *self = user;
  TdTestVolume volume;

  td_engine_trim (engine);
  if (!td_test_reconstruct (engine, self->scan, &self->recipe, &volume, error))
    return FALSE;
  assert_close (volume.slices, self->whole.slices, (gsize) volume.nx * volume.ny * volume.n_slices,
                1e-5);
  td_test_volume_clear (&volume);
  return TRUE;
}

/* What is shown before a volume is made. */
static gboolean
scarce_look (gpointer user, GError **error)
{
  Scarce *self = user;
  const guint views[] = { 0, 6 };
  const TdAxisLine axis = { .centre_px = 7.5 };
  td_engine_trim (engine);
  g_autofree float *projection
      = td_preview_projection (engine, self->scan, 1, &self->recipe, NULL, error);
  g_autofree float *opposite = projection ? td_preview_opposite (engine, self->scan, views,
                                                                 &self->recipe, &axis, NULL, error)
                                          : NULL;
  g_autofree float *sinogram
      = opposite ? td_preview_sinogram (engine, self->scan, 1, &self->recipe, NULL, error) : NULL;
  g_autoptr (TdScan) coarse
      = sinogram ? td_preview_coarse_scan (self->scan, &self->recipe, 1, 2, NULL, error) : NULL;

  return coarse != NULL;
}

/* Whichever piece of memory is missing, a job makes the same volume all the same, or says why it
   does not. Pieces that jobs have in common are taken in turns. */
static void
test_scarce (gconstpointer data)
{
  const ScarceCase *scarce = data;
  const guint first = (scarce - scarce_cases) % 3;
  Scarce self = { 0 };
  TdPhantomScan spec;

  td_phantom_scan_init (&spec, "ellipsoids", 16, scarce->n_rows, 12);
  spec.n_flats = 4;
  spec.logged = scarce->lines;
  if (scarce->cone) {
    spec.range_deg = 360;
    spec.geometry = TD_TEST_CONE_BEAM;
    if (scarce->n_rows == 1)
      spec.geometry.beam = TD_BEAM_FAN;
  }
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, NULL);
  self.scan = scan;
  recipe_init (&self.recipe, "host", 7.5);
  for (guint i = 0; scarce->options[i]; i += 2) {
    g_autoptr (GError) error = NULL;
    td_recipe_set (&self.recipe, scarce->options[i], scarce->options[i + 1], &error);
    g_assert_no_error (error);
  }
  reconstruct (self.scan, &self.recipe, &self.whole);
  g_assert_cmpuint (td_test_scarce (first, 3, scarce_reconstruct, &self), >, 10);
  if (scarce->n_rows == 3 && !scarce->lines)
    g_assert_cmpuint (td_test_scarce (first, 3, scarce_look, &self), >, 5);
  td_test_volume_clear (&self.whole);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  g_test_add_func ("/engine/refusals", test_refusals);
  g_test_add_func ("/engine/limits", test_limits);
  g_test_add_func ("/engine/one-angle", test_one_angle);
  g_test_add_data_func ("/engine/memory/host", "host", test_memory);
  g_test_add_data_func ("/engine/memory/opencl", "opencl:0", test_memory);
  g_test_add_func ("/engine/two-limits", test_two_limits);
  g_test_add_func ("/engine/output-range", test_output_range);
  g_test_add_func ("/engine/output-range-of-arc", test_output_range_of_arc);
  g_test_add_data_func ("/engine/precision/host", "host", test_precision);
  g_test_add_data_func ("/engine/precision/opencl", "opencl:0", test_precision);
  g_test_add_func ("/engine/building", test_building);
  g_test_add_func ("/engine/two-devices", test_two_devices);
  g_test_add_func ("/engine/two-lanes", test_two_lanes);
  g_test_add_data_func ("/engine/halo/host", "host", test_halo);
  g_test_add_data_func ("/engine/halo/opencl", "opencl:0", test_halo);
  g_test_add_data_func ("/engine/rows-together/counts", GINT_TO_POINTER (TRUE), test_rows_together);
  g_test_add_data_func ("/engine/rows-together/fractions", GINT_TO_POINTER (FALSE),
                        test_rows_together);
  g_test_add_func ("/engine/rows-together/time", test_rows_together_time);
  g_test_add_func ("/engine/cancel", test_cancel);
  g_test_add_func ("/engine/progress", test_progress);
  g_test_add_func ("/engine/reader-notes", test_reader_notes);
  for (guint i = 0; i < G_N_ELEMENTS (scarce_cases); i++) {
    g_autofree char *name = g_strconcat ("/engine/scarce/", scarce_cases[i].name, NULL);
    g_test_add_data_func (name, &scarce_cases[i], test_scarce);
  }
  int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
