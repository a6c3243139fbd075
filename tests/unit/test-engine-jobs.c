/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans, several devices, jobs: refusing, sharing, cancelling. */
#include "engine-scans.h"

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
                  " of %" G_GUINT64_FORMAT,
                  whole.result.host_peak_bytes, facts->host_bytes, whole.result.device_peak_bytes,
                  facts->device_bytes);
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

typedef struct {
  TdPlan *plan;
  guint64 peak_bytes;
  char *notes;
} Tight;

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
  tight->notes = g_strjoinv ("\n", td_job_result (job)->notes);
}

/* Neither job feels the other one's limit. */
static void
test_two_limits (void)
{
  g_autoptr (TdScan) scan = phantom_scan (96, 70, 80);
  g_autoptr (GError) error = NULL;
  Tight tight = { NULL };
  TdRecipe recipe;

  if (!have_opencl ()) {
    g_test_skip ("no OpenCL device");
    return;
  }
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
  g_autofree char *notes = g_strjoinv ("\n", td_job_result (job)->notes);
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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new ();
  g_test_add_func ("/engine/refusals", test_refusals);
  g_test_add_data_func ("/engine/memory/host", "host", test_memory);
  g_test_add_data_func ("/engine/memory/opencl", "opencl:0", test_memory);
  g_test_add_func ("/engine/two-limits", test_two_limits);
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
