/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a job says of itself while it runs and at its end, by a method that does as each test wants.
   Every figure is computed again here. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "compute/engine/engine-private.h"
#include "compute/engine/job-private.h"
#include "compute/engine/provenance.h"
#include "compute/recipe/json.h"
#include "dataset/volume.h"
#include "engine-scans.h"
#include "test-folder.h"
#include "tests/common/devices.h"
#include "tests/common/pins.h"

#define COLUMNS 16
#define ROWS 12
#define VIEWS 20

/* ── A method that does as it is told ── */

static gboolean (*told_run) (TdJob *job, GCancellable *cancellable, GError **error);

static gboolean
told_plan (TdPlan *plan, GCancellable *cancellable, GError **error)
{
  TdPlanFacts *facts = &plan->facts;

  facts->family = "told";
  facts->nx = facts->ny = COLUMNS;
  facts->slab_slices = facts->n_slabs = 1;
  facts->units = "1/px";
  facts->scale = 1;
  facts->updates = (double) facts->n_slices * COLUMNS * COLUMNS * VIEWS;
  return TRUE;
}

static gboolean
told_runs (TdJob *job, GCancellable *cancellable, GError **error)
{
  return told_run (job, cancellable, error);
}

static const TdMethod told
    = { .name = "fbp", .kind = TD_METHOD_FBP, .plan = told_plan, .run = told_runs };
static const TdMethod *const told_methods[] = { &told, NULL };

static TdScan *scan;

static TdPlan *
told_plan_new (const char *output)
{
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  recipe_init (&recipe, "host", 8);
  recipe.method = TD_METHOD_FBP;
  TdPlan *plan = td_plan_new (engine, scan, &recipe, output, NULL, &error);
  g_assert_no_error (error);
  return plan;
}

/* ── Progress ── */

typedef struct {
  const char *says;
  double updates, first_updates; /* parts of all */
  double since_s, first_s;       /* since the start, and since the first update; 0: none came */
  guint slices;                  /* of ROWS */
  double estimate_s;             /* the plan's */
  double fraction, remaining_s;
  const char *stage;
} Moment;

/* Nine tenths for computing, one for delivering. Until a hundredth is done the plan's estimate
   tells what remains, and then what has been done since the first updates. */
static const Moment moments[] = {
  { "nothing yet, no estimate", 0, 0, 3, 0, 0, 0, 0, -1, "reading" },
  { "nothing yet", 0, 0, 3, 0, 0, 10, 0, 7, "reading" },
  { "later than the estimate", 0, 0, 30, 0, 0, 10, 0, 0, "reading" },
  { "the first updates", 0.2, 0.2, 6, 4, 0, 10, 0.18, 4, "reconstructing" },
  { "less than a hundredth more", 0.21, 0.2, 6, 4, 0, 10, 0.189, 4, "reconstructing" },
  { "more than a hundredth", 0.22, 0.2, 6, 4, 0, 10, 0.198, 4 * 0.802 / 0.018, "reconstructing" },
  { "half", 0.5, 0.1, 10, 8, 3, 0, 0.475, 8 * 0.525 / 0.385, "reconstructing" },
  { "nearly computed", 0.9998, 0.1, 10, 8, 6, 0, 0.94982, 8 * 0.05018 / 0.85982, "reconstructing" },
  { "computed", 0.99995, 0.1, 10, 8, 6, 0, 0.949955, 8 * 0.050045 / 0.859955, "writing" },
  { "not quite at the end", 1, 0.1, 10, 8, ROWS, 0, 0.999, 8 * 0.001 / 0.909, "writing" },
};

static void
test_progress (void)
{
  g_autoptr (TdPlan) plan = told_plan_new (NULL);
  const double all = plan->facts.updates;

  for (guint i = 0; i < G_N_ELEMENTS (moments); i++) {
    const Moment *moment = &moments[i];
    g_autoptr (TdJob) job = td_job_new (plan);
    const gint64 now = g_get_monotonic_time ();
    TdJobProgress progress;

    td_test_pin ("%s", moment->says);
    td_job_progress (job, &progress);
    g_assert_cmpint (progress.state, ==, TD_JOB_WAITING);
    g_assert_cmpfloat (progress.elapsed_s, ==, 0);
    g_assert_cmpfloat (progress.updates_per_s, ==, 0);
    g_assert_cmpfloat (progress.remaining_s, ==, -1);
    plan->facts.estimate_s = moment->estimate_s;
    job->state = TD_JOB_RUNNING;
    job->started_us = now - (gint64) (moment->since_s * G_USEC_PER_SEC);
    job->first_update_us
        = moment->first_s > 0 ? now - (gint64) (moment->first_s * G_USEC_PER_SEC) : 0;
    job->updates = moment->updates * all;
    job->first_updates = moment->first_updates * all;
    job->slices_done = moment->slices;
    td_job_progress (job, &progress);
    /* Seconds pass while this runs. */
    const double late = (g_get_monotonic_time () - now) * 1e-6;
    g_assert_cmpfloat_with_epsilon (progress.elapsed_s, moment->since_s, late + 1e-5);
    g_assert_cmpfloat_with_epsilon (progress.updates_per_s * moment->since_s, job->updates,
                                    all * late + 1e-3);
    g_assert_cmpfloat_with_epsilon (progress.fraction, moment->fraction, 1e-9);
    g_assert_cmpfloat_with_epsilon (progress.remaining_s, moment->remaining_s,
                                    1e-6 + late * (1 + fabs (moment->remaining_s)));
    g_assert_cmpstr (progress.stage, ==, moment->stage);
    g_assert_cmpuint (progress.slices_done, ==, moment->slices);
    g_assert_cmpuint (progress.n_slices, ==, ROWS);
    job->ended_us = job->started_us + 5 * G_USEC_PER_SEC;
    job->state = i % 2 ? TD_JOB_DONE : TD_JOB_FAILED;
    td_job_progress (job, &progress);
    g_assert_cmpfloat_with_epsilon (progress.elapsed_s, 5, 1e-9);
    g_assert_cmpfloat (progress.remaining_s, ==, 0);
    g_assert_cmpfloat_with_epsilon (progress.fraction, i % 2 ? 1 : moment->fraction, 1e-9);
  }
  plan->facts.estimate_s = 0;
}

static void
test_passes (void)
{
  g_autoptr (TdPlan) plan = told_plan_new (NULL);
  g_autoptr (TdJob) job = td_job_new (plan);
  TdJobProgress progress;
  guint n;

  td_job_progress (job, &progress);
  g_assert_cmpuint (progress.pass, ==, 0);
  g_assert_cmpuint (progress.n_passes, ==, 0);
  g_assert_true (isnan (progress.residual));
  plan->recipe.method = TD_METHOD_SIRT;
  plan->recipe.iterations = 7;
  plan->facts.n_slabs = 3;
  const gint64 now = g_get_monotonic_time ();
  job->started_us = now - 2 * G_USEC_PER_SEC;
  td_job_add_pass (job, 0.5);
  td_job_add_pass (job, 0.25);
  const double late = (g_get_monotonic_time () - now) * 1e-6; /* seconds pass meanwhile */
  td_job_progress (job, &progress);
  g_assert_cmpuint (progress.pass, ==, 2);
  g_assert_cmpuint (progress.n_passes, ==, 21);
  g_assert_cmpfloat (progress.residual, ==, 0.25);
  g_autoptr (GArray) so_far = td_job_passes_so_far (job);
  const TdJobPass *passes = td_job_passes (job, &n);
  g_assert_cmpuint (n, ==, 2);
  g_assert_cmpmem (so_far->data, n * sizeof *passes, passes, n * sizeof *passes);
  for (guint i = 0; i < n; i++)
    g_assert_cmpfloat_with_epsilon (passes[i].seconds, 2, 1e-5 + late);
  g_autofree char *json = td_job_result_json (job);
  g_autoptr (JsonNode) node = json_from_string (json, NULL);
  JsonArray *told_passes = json_object_get_array_member (json_node_get_object (node), "passes");
  g_assert_cmpuint (json_array_get_length (told_passes), ==, 2);
  for (guint i = 0; i < n; i++) {
    JsonObject *pass = json_array_get_object_element (told_passes, i);
    g_assert_cmpfloat_with_epsilon (json_object_get_double_member (pass, "seconds"),
                                    passes[i].seconds, 1e-9);
    g_assert_cmpfloat (json_object_get_double_member (pass, "residual"), ==, passes[i].residual);
  }
  plan->recipe.method = TD_METHOD_FBP;
}

/* ── What is added up ── */

static void
test_sums (void)
{
  static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h", "one too many" };
  g_autoptr (TdPlan) plan = told_plan_new (NULL);
  g_autoptr (TdJob) job = td_job_new (plan);
  TdJobResult *result = &job->result;
  guint n;

  for (guint round = 0; round < 2; round++)
    for (guint i = 0; i < G_N_ELEMENTS (names); i++)
      td_job_add_stage (job, names[i], i + 1);
  g_assert_cmpuint (result->n_stages, ==, 8);
  for (guint i = 0; i < 8; i++) {
    g_assert_cmpstr (result->stages[i].name, ==, names[i]);
    g_assert_cmpfloat (result->stages[i].seconds, ==, 2 * (i + 1));
  }

  td_job_add_host_bytes (job, -100);
  g_assert_cmpuint (result->host_peak_bytes, ==, 0);
  td_job_add_host_bytes (job, 130);
  td_job_add_host_bytes (job, 20);
  td_job_add_host_bytes (job, -25);
  td_job_add_host_bytes (job, 10);
  g_assert_cmpuint (result->host_peak_bytes, ==, 50);

  td_job_add_updates (job, 5);
  const gint64 first = job->first_update_us;
  g_assert_cmpint (first, >, 0);
  td_job_add_updates (job, 7);
  g_assert_cmpfloat (job->updates, ==, 12);
  g_assert_cmpfloat (job->first_updates, ==, 5);
  g_assert_cmpint (job->first_update_us, ==, first);
  td_job_slices_done (job, 2);
  td_job_slices_done (job, 3);
  g_assert_cmpuint (job->slices_done, ==, 5);

  g_assert_null (job->spans);
  td_job_add_span (job, "x", 1, 0, 1);
  g_assert_null (td_job_spans (job, &n));
  g_assert_cmpuint (n, ==, 0);
  job->started_us = 1000000;
  td_job_keep_spans (job);
  g_assert_nonnull (job->spans);
  td_job_add_span (job, "x", 3, 1500000, 4000000);
  const TdJobSpan *span = td_job_spans (job, &n);
  g_assert_cmpuint (n, ==, 1);
  g_assert_cmpstr (span->stage, ==, "x");
  g_assert_cmpuint (span->device, ==, 3);
  g_assert_cmpfloat_with_epsilon (span->start_s, 0.5, 1e-12);
  g_assert_cmpfloat_with_epsilon (span->end_s, 3, 1e-12);

  td_job_set_family (job, "kernel", "in words");
  td_job_set_precision (job, TD_PRECISION_HALF);
  g_assert_cmpstr (result->kernel, ==, "kernel");
  g_assert_cmpstr (result->family, ==, "in words");
  g_assert_cmpstr (result->precision, ==, td_precision_names[TD_PRECISION_HALF]);
}

static void
test_device_peak (void)
{
  g_autoptr (TdPlan) plan = told_plan_new (NULL);
  g_autoptr (TdJob) job = td_job_new (plan);
  g_autoptr (GError) error = NULL;
  TdDevice *account = plan->devices->pdata[0];
  TdBuffer *large = td_buffer_new (account, 3000, &error), *small = NULL;

  td_buffer_free (large);
  small = td_buffer_new (account, 1000, &error);
  td_job_add_host_bytes (job, 500);
  td_job_add_account (job, account);
  g_assert_cmpuint (job->result.device_peak_bytes, ==, 3000);
  g_assert_cmpuint (job->result.host_peak_bytes, ==, 3500); /* its memory is the host's */
  /* Of several devices the largest. */
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, "host", &error);
  g_autoptr (TdDevice) other = td_device_for_job (devices->pdata[0], 0);
  td_buffer_free (td_buffer_new (other, 2000, &error));
  td_job_add_account (job, other);
  g_assert_cmpuint (job->result.device_peak_bytes, ==, 3000);
  g_assert_no_error (error);
  td_buffer_free (small);
}

/* What a failed device had done and others do again makes no job's bar go backwards. */
static void
test_progress_again (void)
{
  g_autoptr (TdPlan) plan = told_plan_new (NULL);
  g_autoptr (TdJob) job = td_job_new (plan);
  TdJobProgress before, after;

  td_job_add_updates (job, plan->facts.updates / 2);
  td_job_progress (job, &before);
  td_job_add_updates (job, -plan->facts.updates / 4);
  td_job_progress (job, &after);
  g_assert_cmpfloat (before.fraction, ==, 0.45);
  g_assert_cmpfloat (after.fraction, ==, 0.45);
  td_job_add_updates (job, plan->facts.updates / 2);
  td_job_progress (job, &after);
  g_assert_cmpfloat_with_epsilon (after.fraction, 0.675, 1e-12);
}

/* A thread that outlives its job speaks in vain. */
static void
test_late (void)
{
  g_autoptr (TdPlan) plan = told_plan_new (NULL);
  g_autoptr (TdJob) job = td_job_new (plan);
  const TdPreparationCounts counts = { .zingers = 3, .dose_low = 1, .dose_high = 2 };
  guint n;

  td_job_keep_spans (job);
  td_job_add_stage (job, "read", 1);
  td_job_add_counts (job, &counts);
  td_job_add_counts (job, &counts);
  g_assert_cmpuint (job->result.counts.zingers, ==, 6);
  job->ended_us = 1;
  td_job_add_stage (job, "read", 1);
  td_job_add_stage (job, "write", 1);
  td_job_add_counts (job, &counts);
  td_job_add_host_bytes (job, 100);
  td_job_add_pass (job, 1);
  td_job_add_span (job, "x", 0, 0, 1);
  td_job_set_family (job, "kernel", "in words");
  td_job_set_precision (job, TD_PRECISION_HALF);
  g_assert_cmpuint (job->result.n_stages, ==, 1);
  g_assert_cmpfloat (job->result.stages[0].seconds, ==, 1);
  g_assert_cmpuint (job->result.counts.zingers, ==, 6);
  g_assert_cmpuint (job->result.host_peak_bytes, ==, 0);
  td_job_passes (job, &n);
  g_assert_cmpuint (n, ==, 0);
  td_job_spans (job, &n);
  g_assert_cmpuint (n, ==, 0);
  g_assert_cmpstr (job->result.family, ==, "told");
  g_assert_cmpstr (job->result.precision, ==, td_precision_names[TD_PRECISION_SINGLE]);
}

/* ── Kernels that were built ── */

static void
test_warm (void)
{
  static const struct {
    guint built;
    double since_s;
    gboolean warm;
  } cases[] = { { 0, 0, TRUE },    { 1, 0, FALSE },   { 1, 19.5, FALSE },
                { 1, 20.5, TRUE }, { 0, 20.5, TRUE }, { 2, 3, FALSE } };
  g_autoptr (TdPlan) plan = told_plan_new (NULL);
  TdDevice *device = ((TdDevice *) plan->devices->pdata[0])->hardware;

  for (guint i = 0; i < G_N_ELEMENTS (cases);) {
    g_autoptr (TdJob) job = td_job_new (plan);
    const gint64 now = g_get_monotonic_time ();

    job->started_us = now - (gint64) (cases[i].since_s * G_USEC_PER_SEC);
    job->builds = td_device_builds (device);
    device->builds += cases[i].built;
    const gboolean warm = td_job_is_warm (job);
    device->builds -= cases[i].built;
    if (g_get_monotonic_time () - now > G_USEC_PER_SEC / 4)
      continue; /* another time, for the machine stood still */
    g_assert_cmpint (warm, ==, cases[i++].warm);
  }
}

/* ── Ends ── */

typedef struct {
  const char *says;
  TdPreparationCounts counts;
  guint64 clamped;
  const char *notes[5]; /* in their order; NULL: no more */
} Counted;

static const Counted counted[] = {
  { "nothing", { 0 }, 0, { NULL } },
  { "bad values", { .bad_values = 1 }, 0, { "1 NaN or infinite sample took its" } },
  { "bad pixels", { .bad_pixels = 2 }, 0, { "2 bad detector pixels were replaced" } },
  { "lost views",
    { .lost_views = { 3, { 2, 5, 6 } } },
    0,
    { "took those of the views nearest in angle: 2, 5, 6." } },
  { "dark views", { .dark_views = { 1, { 40 } } }, 0, { "as if the shutter was closed: 40." } },
  { "a zinger and the like",
    { .zingers = 1, .zingers_angle = 1, .dead_pixels = 1, .clamped_transmissions = 1 },
    1,
    { "1 zinger was removed from", "1 detector pixel has no usable flat field and took its",
      "1 zero or negative transmission was raised", "1 zinger was removed over",
      "1 output sample was outside" } },
  { "a stuck pixel", { .stuck_pixels = 1 }, 0, { "1 detector pixel has the same value" } },
  { "zingers", { .zingers = 3 }, 0, { "3 zingers were removed from the projections" } },
  { "dead pixels", { .dead_pixels = 4 }, 0, { "4 detector pixels have no usable flat field" } },
  { "stuck pixels",
    { .stuck_pixels = 5, .dead_pixels = 3, .bad_pixels = 1 },
    0,
    { "1 bad detector", "3 detector pixels have no", "5 detector pixels have the same value" } },
  { "replaced pixels",
    { .stuck_pixels = 5, .dead_pixels = 3, .bad_pixels = 2 },
    0,
    { "2 bad detector", "3 detector pixels have no", NULL } },
  { "clamped",
    { .clamped_transmissions = 5 },
    0,
    { "5 zero or negative transmissions were raised" } },
  { "zingers over the angle",
    { .zingers_angle = 6 },
    0,
    { "6 zingers were removed over the angle" } },
  { "bright sides",
    { .sides = 100, .bright_sides = 41 },
    0,
    { "The detector's sides are brighter than the open beam" } },
  { "hardly bright sides", { .sides = 100, .bright_sides = 40 }, 0, { NULL } },
  { "doses",
    { .dose_low = 0.8, .dose_high = 0.9 },
    0,
    { "The frames' doses, from 0.8 to 0.9 of the flats'" } },
  { "low doses",
    { .dose_low = 0.5, .dose_high = 0.8999 },
    0,
    { "from 0.5 to 0.8999 of", "No frame's dose comes near the flats'" } },
  { "dark flats",
    { .odd = { .n_flats = 3, .first_flat = 11 } },
    0,
    { "3 of the flats, the first of them flat 11, are nearly dark" } },
  { "bright flats",
    { .odd = { .n_bright = 2, .first_bright = 12 } },
    0,
    { "2 of the flats, the first of them flat 12, are more than four times as bright" } },
  { "bright darks",
    { .odd = { .n_darks = 4, .first_dark = 13 } },
    0,
    { "4 of the darks, the first of them dark 13, are nearly as bright as flats" } },
  { "saturated flats",
    { .odd = { .top_share = 0.00501, .top = 4095 } },
    0,
    { "0.5 % of the flats' samples are 4095, the most that" } },
  { "many of them",
    { .odd = { .top_share = 0.12345, .top = 255 } },
    0,
    { "12.3 % of the flats' samples are 255, the most that" } },
  { "hardly saturated flats", { .odd = { .top_share = 0.005, .top = 4095 } }, 0, { NULL } },
  { "output", { 0 }, 7, { "7 output samples were outside the range" } },
  { "several",
    { .bad_values = 8, .zingers_angle = 9 },
    10,
    { "8 NaN or infinite", "9 zingers were removed over", "10 output samples" } },
};

static const Counted *counts_now;

static gboolean
run_counts (TdJob *job, GCancellable *cancellable, GError **error)
{
  td_job_add_counts (job, &counts_now->counts);
  job->result.clamped_output = counts_now->clamped;
  return TRUE;
}

static void
test_count_notes (void)
{
  g_autoptr (TdPlan) plan = told_plan_new (NULL);

  told_run = run_counts;
  for (guint i = 0; i < G_N_ELEMENTS (counted); i++) {
    g_autoptr (TdJob) job = td_job_new (plan);
    g_autoptr (GError) error = NULL;
    guint n = 0;

    counts_now = &counted[i];
    td_test_pin ("%s", counts_now->says);
    g_assert_true (td_job_run (job, NULL, &error));
    TdMessage **notes = td_job_result (job)->notes;
    for (; n < G_N_ELEMENTS (counts_now->notes) && counts_now->notes[n]; n++) {
      g_assert_nonnull (notes[n]);
      g_autofree char *text = td_message_text (notes[n], NULL);
      td_test_pin ("%s", text);
      g_assert_nonnull (strstr (text, counts_now->notes[n]));
    }
    g_assert_true (!notes || !notes[n]);
  }
}

/* Without flats divided out air is at no attenuation of 0. Counts with a sign are suspected where
   more than a few pixels look dead. */
static void
test_count_notes_of_scans (void)
{
  static const struct {
    gboolean logs_counts, has_sign;
    guint bright_sides, dead_pixels; /* of 100 and of n pixels */
    guint notes;
    const char *says;
  } cases[] = {
    { FALSE, FALSE, 41, 0, 1, "The detector's sides are brighter" },
    { TRUE, FALSE, 41, 0, 0, NULL },
    { FALSE, FALSE, 0, 2, 1, "2 detector pixels have no usable" },
    { FALSE, TRUE, 0, 2, 2, "The samples have a sign" },
    { FALSE, TRUE, 0, 1, 2, "The samples have a sign" },
    { FALSE, TRUE, 0, 0, 0, NULL },
  };
  g_autoptr (TdPlan) plan = told_plan_new (NULL);

  told_run = run_counts;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TdJob) job = td_job_new (plan);
    const Counted now = { .counts = { .sides = 100,
                                      .bright_sides = cases[i].bright_sides,
                                      .dead_pixels = cases[i].dead_pixels } };
    const TdSampleType type = plan->scan->facts.sample_type;

    counts_now = &now;
    plan->logs_counts = cases[i].logs_counts;
    if (cases[i].has_sign)
      plan->scan->facts.sample_type = TD_SAMPLE_INT16;
    g_assert_true (td_job_run (job, NULL, NULL));
    plan->scan->facts.sample_type = type;
    g_autofree char *text = td_messages_join (td_job_result (job)->notes, "\n", NULL);
    td_test_pin ("%u: %s", i, text ? text : "nothing");
    guint n = 0;
    while (td_job_result (job)->notes && td_job_result (job)->notes[n])
      n++;
    g_assert_cmpuint (n, ==, cases[i].notes);
    g_assert_true (!cases[i].says || strstr (text, cases[i].says));
  }
}

/* A volume without a word, or with none but the range's ends, is not kept. A crop of columns, which
   may leave the axis out, is named. */
static void
test_check_volume (void)
{
  const TdPlan plan = { .facts = { .n_slices = 3, .nx = 5, .ny = 4 }, .measured = scan };
  static const struct {
    gboolean says;
    guint64 clamped;
    int error;            /* -1: none */
    guint first, columns; /* of a crop */
    const char *told;
  } cases[] = { { TRUE, 0, -1 },
                { TRUE, 59, -1 },
                { TRUE, 60, TD_ERROR_UNSUPPORTED },
                { FALSE, 0, TD_ERROR_BAD_FILE },
                { FALSE, 60, TD_ERROR_BAD_FILE },
                { FALSE, 0, TD_ERROR_BAD_FILE, 2, 3, "columns 2 to 4 are left (--crop)" },
                { FALSE, 0, TD_ERROR_BAD_FILE, 1, COLUMNS - 1, "(--crop)" },
                { FALSE, 0, TD_ERROR_BAD_FILE, 0, COLUMNS, NULL },
                { TRUE, 60, TD_ERROR_UNSUPPORTED, 2, 3, NULL },
                { TRUE, 0, -1, 2, 3, NULL } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    TdPlan cropped = plan;
    cropped.frame.crop_column = cases[i].first;
    cropped.frame.crop_columns = cases[i].columns;
    g_assert_cmpint (td_job_check_volume (&cropped, cases[i].says, cases[i].clamped, &error), ==,
                     cases[i].error < 0);
    g_assert_true (!error || g_error_matches (error, TD_ERROR, cases[i].error));
    g_assert_cmpint (error && strstr (error->message, "--crop"), ==, cases[i].told != NULL);
    g_assert_true (!cases[i].told || strstr (error->message, cases[i].told));
  }
}

/* Methods make integers themselves where a volume of integers is written and nobody looks on. */
static void
test_wants_stored (void)
{
  static const guint bits[] = { 8, 16, 32 };

  for (guint i = 0; i < 12; i++) {
    const guint n = bits[i / 4];
    g_autoptr (TdPlan) plan = told_plan_new (i % 2 ? "/tmp/none.h5" : NULL);
    g_autoptr (TdJob) job = td_job_new (plan);
    TdStoredScale scale;
    float slice[COLUMNS * COLUMNS];

    plan->recipe.output_bits = n;
    job->output_low = -1.5;
    job->output_high = 2.5;
    if (i / 2 % 2)
      td_job_set_slice (job, slice);
    g_assert_cmpint (td_job_wants_stored (job, &scale), ==, n < 32 && i % 4 == 1);
    g_assert_cmpuint (scale.bits, ==, n);
    g_assert_cmpfloat (scale.low, ==, -1.5);
    g_assert_cmpfloat (scale.high, ==, 2.5);
  }
}

/* A kernel that goes on after a failure is told of where it is less exact than was asked for. */
static void
test_inexact (void)
{
  static const struct {
    TdAccuracy accuracy;
    double bound;
    gboolean told;
  } cases[] = { { TD_ACCURACY_SINGLE, 1e-5, FALSE },   { TD_ACCURACY_SINGLE, 1.01e-5, TRUE },
                { TD_ACCURACY_STANDARD, 2e-4, FALSE }, { TD_ACCURACY_STANDARD, 2.1e-4, TRUE },
                { TD_ACCURACY_DRAFT, 5e-3, FALSE },    { TD_ACCURACY_DRAFT, 5.1e-3, TRUE } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TdPlan) plan = told_plan_new (NULL);
    g_autoptr (TdJob) job = td_job_new (plan);

    plan->asked.accuracy = cases[i].accuracy;
    td_job_note_inexact (job, "slow", cases[i].bound);
    TdMessage **notes = td_job_take_notes (job);
    g_assert_cmpint (notes != NULL, ==, cases[i].told);
    if (notes) {
      g_autofree char *text = td_messages_join (notes, "\n", NULL);
      td_test_pin ("%s", text);
      g_assert_nonnull (strstr (text, "\"slow\""));
      g_assert_nonnull (strstr (text, td_accuracy_names[cases[i].accuracy]));
    }
    td_messages_free (notes);
    g_assert_null (td_job_take_notes (job)); /* they were taken */
  }
}

/* ── As JSON ── */

/* Each figure is another one, so that none stands in another's place. */
static void
json_fill (TdJob *job)
{
  static const TdJobPass passes[] = { { 1.5, 0.25 }, { 2.5, 0.125 } };
  TdJobResult *result = &job->result;

  g_free (result->output);
  result->output = g_strdup ("/out.h5");
  result->centre_px = 8.25;
  result->seconds = 3.5;
  result->updates_per_s = 1024;
  result->clamped_output = 21;
  result->host_peak_bytes = 22;
  result->device_peak_bytes = 23;
  result->counts = (TdPreparationCounts) { .clamped_transmissions = 11,
                                           .bad_values = 12,
                                           .dead_pixels = 13,
                                           .stuck_pixels = 14,
                                           .bad_pixels = 15,
                                           .zingers = 16,
                                           .zingers_angle = 17,
                                           .dose_low = 0.5,
                                           .dose_high = 2 };
  td_job_set_family (job, "kernel", "in words");
  td_job_set_precision (job, TD_PRECISION_HALF);
  td_job_add_stage (job, "read", 0.75);
  td_job_add_stage (job, "write", 0.5);
  g_array_append_vals (job->passes, passes, G_N_ELEMENTS (passes));
  td_messages_add (&result->notes, td_message_new_plain ("A note."));
}

#define JSON_COUNTS                                                                                \
  "\"clamped_transmissions\":11,\"bad_values\":12,\"dead_pixels\":13,\"stuck_pixels\":14,"         \
  "\"bad_pixels\":15,\"zingers\":16,\"zingers_angle\":17,\"dose_low\":0.5,\"dose_high\":2.0"
#define JSON_STAGES                                                                                \
  "\"stages\":[{\"name\":\"read\",\"seconds\":0.75},{\"name\":\"write\",\"seconds\":0.5}]"

static void
test_json (void)
{
  g_autoptr (TdPlan) plan = told_plan_new (NULL);
  g_autoptr (TdJob) job = td_job_new (plan);

  json_fill (job);
  td_messages_free (g_steal_pointer (&plan->facts.notes));
  td_messages_add (&plan->facts.notes, td_message_new_plain ("The plan's."));
  plan->facts.axis_searched = plan->facts.axis_agreed = TRUE;
  plan->facts.axis_sigma_px = 0.375;
  g_autofree char *text = td_job_result_json (job);
  g_autoptr (JsonNode) result = json_from_string (text, NULL);
  g_autofree char *flat = json_to_string (result, FALSE);
  g_assert_cmpstr (flat, ==,
                   "{\"output\":\"/out.h5\",\"device\":\"host\",\"kernel\":\"in words\","
                   "\"precision\":\"half\",\"centre_px\":8.25,\"slices\":12,\"seconds\":3.5,"
                   "\"updates_per_second\":1024.0," JSON_STAGES ","
                   "\"passes\":[{\"seconds\":1.5,\"residual\":0.25},{\"seconds\":2.5,\"residual\":"
                   "0.125}]," JSON_COUNTS
                   ",\"clamped_output\":21,\"host_peak_bytes\":22,\"device_peak_bytes\":23,"
                   "\"notes\":[\"The plan's.\",\"A note.\"],"
                   "\"messages\":[{\"id\":\"The plan's.\",\"field\":null,\"values\":[]},"
                   "{\"id\":\"A note.\",\"field\":null,\"values\":[]}]}");

  job->started_us = g_get_monotonic_time () - 5 * G_USEC_PER_SEC;
  g_autofree char *stored = td_job_provenance_json (job);
  g_autoptr (JsonNode) provenance = json_from_string (stored, NULL);
  JsonObject *object = json_node_get_object (provenance);
  g_assert_cmpfloat (json_object_get_double_member (object, "seconds"), >=, 5);
  g_assert_cmpfloat (json_object_get_double_member (object, "seconds"), <, 100);
  g_autoptr (GDateTime) when
      = g_date_time_new_from_iso8601 (json_object_get_string_member (object, "finished"), NULL);
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  g_assert_nonnull (when);
  g_assert_cmpint (ABS (g_date_time_difference (now, when)), <, 100 * G_TIME_SPAN_SECOND);
  g_assert_true (json_object_has_member (object, "version"));
  g_assert_true (json_object_has_member (json_object_get_object_member (object, "scan"), "path"));
  json_object_remove_member (json_object_get_object_member (object, "scan"), "path");
  for (const char *const *name
       = (const char *const[]) { "seconds", "finished", "version", "recipe", NULL };
       *name; name++)
    json_object_remove_member (object, *name);
  g_autofree char *rest = json_to_string (provenance, FALSE);
  g_assert_cmpstr (
      rest, ==,
      "{\"program\":\"Tomodesk\",\"scan\":{\"format\":\"phantom\",\"columns\":16,\"rows\":12,"
      "\"views\":20,\"flats\":10,\"darks\":5,\"first_angle_deg\":0.0,\"last_angle_deg\":171.0,"
      "\"pixel_mm\":0.0},\"notes\":[\"The plan's.\"],"
      "\"messages\":[{\"id\":\"The plan's.\",\"field\":null,\"values\":[]}],"
      "\"axis\":{\"agreed\":true,\"sigma_px\":0.375},\"device\":\"host\","
      "\"kernel\":\"in words\",\"precision\":\"half\",\"units\":\"1/px\"," JSON_STAGES
      "," JSON_COUNTS "}");
}

typedef struct {
  const char *says;
  gboolean ok, cancels;
  int failure, error; /* codes of TD_ERROR: a thread's, and what the method returns; 0: none;
                         -1: cancelled */
  TdJobState state;
  int told; /* 0: none; -1: cancelled */
} End;

/* A failure of a thread cancels the others, which is no cancellation. */
static const End ends[] = {
  { "done", TRUE, FALSE, 0, 0, TD_JOB_DONE, 0 },
  { "failed", FALSE, FALSE, 0, TD_ERROR_IO, TD_JOB_FAILED, TD_ERROR_IO },
  { "cancelled", FALSE, TRUE, 0, -1, TD_JOB_CANCELLED, -1 },
  { "done, but cancelled", TRUE, TRUE, 0, 0, TD_JOB_CANCELLED, -1 },
  { "a thread failed", FALSE, FALSE, TD_ERROR_INVALID, -1, TD_JOB_FAILED, TD_ERROR_INVALID },
  { "a thread failed first", FALSE, FALSE, TD_ERROR_INVALID, TD_ERROR_IO, TD_JOB_FAILED,
    TD_ERROR_INVALID },
  { "a thread was cancelled", FALSE, FALSE, -1, TD_ERROR_IO, TD_JOB_FAILED, TD_ERROR_IO },
};

static const End *end_now;

static GError *
end_error (int code)
{
  return code == -1 ? g_error_new_literal (G_IO_ERROR, G_IO_ERROR_CANCELLED, "cancelled")
                    : g_error_new_literal (TD_ERROR, code, "told so");
}

static gboolean
run_end (TdJob *job, GCancellable *cancellable, GError **error)
{
  g_assert_cmpint (job->state, ==, TD_JOB_RUNNING);
  td_job_add_updates (job, 1000);
  g_usleep (2000);
  if (end_now->failure)
    td_job_fail (job, end_error (end_now->failure));
  if (end_now->failure)
    td_job_fail (job, end_error (TD_ERROR_ANGLES)); /* the first counts */
  if (end_now->cancels)
    td_job_cancel (job);
  if (!end_now->ok)
    g_propagate_error (error, end_error (end_now->error));
  return end_now->ok;
}

static void
on_end (TdJob *job, const GError *error, gpointer user)
{
  gboolean *ended = user;

  g_assert_cmpint (error ? error->code : 0, ==,
                   end_now->told == -1 ? G_IO_ERROR_CANCELLED : end_now->told);
  *ended = TRUE;
}

static void
test_ends (void)
{
  g_autoptr (TdPlan) plan = told_plan_new (NULL);

  told_run = run_end;
  for (guint i = 0; i < 2 * G_N_ELEMENTS (ends); i++) {
    g_autoptr (TdJob) job = td_job_new (plan);
    g_autoptr (GError) error = NULL;
    gboolean ended = FALSE;
    TdJobProgress progress;

    end_now = &ends[i / 2];
    if (end_now->failure == -1 && i % 2 == 0)
      continue; /* the second failure would count */
    td_test_pin ("%s", end_now->says);
    if (end_now->failure == -1) {
      td_job_fail (job, end_error (-1));
      g_assert_true (g_cancellable_is_cancelled (job->cancellable));
      continue;
    }
    if (i % 2) {
      td_job_start (job, on_end, &ended);
      while (!ended)
        g_main_context_iteration (NULL, TRUE);
    } else {
      g_assert_cmpint (td_job_run (job, NULL, &error), ==, end_now->told == 0);
      if (end_now->told == 0)
        g_assert_no_error (error);
      else if (end_now->told == -1)
        g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      else
        g_assert_error (error, TD_ERROR, end_now->told);
    }
    const TdJobResult *result = td_job_result (job);
    td_job_progress (job, &progress);
    g_assert_cmpint (progress.state, ==, end_now->state);
    g_assert_cmpfloat (result->seconds, >=, 0.002);
    g_assert_cmpfloat (result->seconds, ==, progress.elapsed_s);
    g_assert_cmpfloat_with_epsilon (result->updates_per_s * result->seconds, 1000, 1e-6);
    g_assert_cmpstr (result->device, ==, "host");
    g_assert_cmpfloat (result->centre_px, ==, 8);
    g_assert_null (result->output);
  }
}

/* Cancelled before it begins: the method is not asked. */
static gboolean
run_never (TdJob *job, GCancellable *cancellable, GError **error)
{
  g_assert_not_reached ();
}

static void
test_cancelled_before (void)
{
  g_autoptr (TdPlan) plan = told_plan_new (NULL);
  g_autoptr (TdJob) job = td_job_new (plan);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;

  told_run = run_never;
  g_cancellable_cancel (cancellable);
  g_assert_false (td_job_run (job, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_cmpint (job->state, ==, TD_JOB_CANCELLED);
}

/* What is emitted is taken, or let go: nothing is taken once the job is cancelled, which the caller
   is told. */
static guint let_go;

static void
emit_released (float *slices, gpointer user)
{
  g_assert_true (user == &let_go);
  g_free (slices);
  let_go++;
}

static gboolean
emit_one (TdJob *job, guint first, GError **error)
{
  const TdJobPortion portion = { .first = first,
                                 .count = 1,
                                 .slices = g_new0 (float, COLUMNS *COLUMNS),
                                 .release = emit_released,
                                 .user = &let_go };

  return td_job_emit (job, &portion, error);
}

static gboolean
run_emitting (TdJob *job, GCancellable *cancellable, GError **error)
{
  g_autoptr (GError) reason = NULL;

  g_assert_true (emit_one (job, 0, &reason));
  g_assert_no_error (reason);
  g_cancellable_cancel (job->cancellable);
  const guint before = let_go;
  g_assert_false (emit_one (job, 1, &reason));
  g_assert_error (reason, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_cmpuint (let_go, >, before);
  return !g_cancellable_set_error_if_cancelled (job->cancellable, error);
}

static void
test_emit (void)
{
  g_autoptr (TdPlan) plan = told_plan_new (NULL);
  g_autoptr (TdJob) job = td_job_new (plan);
  g_autoptr (GError) error = NULL;

  told_run = run_emitting;
  let_go = 0;
  g_assert_false (td_job_run (job, NULL, &error));
  g_assert_cmpuint (let_go, ==, 2);
}

/* Once the job has ended, its caller may cancel what he likes. */
static gboolean
run_well (TdJob *job, GCancellable *cancellable, GError **error)
{
  return TRUE;
}

static void
test_cancelled_after (void)
{
  g_autoptr (TdPlan) plan = told_plan_new (NULL);
  g_autoptr (TdJob) job = td_job_new (plan);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();

  told_run = run_well;
  g_assert_true (td_job_run (job, cancellable, NULL));
  g_cancellable_cancel (cancellable);
  g_assert_false (g_cancellable_is_cancelled (job->cancellable));
}

/* ── Slices ── */

static guint emitted; /* slices of this run, each of its own number + 1 */

static void
free_slices (float *slices, gpointer user)
{
  g_assert_cmpstr (user, ==, "mine");
  g_free (slices);
}

static gboolean
run_slices (TdJob *job, GCancellable *cancellable, GError **error)
{
  for (guint i = 0; i < emitted; i += 2) {
    const guint count = MIN (2, emitted - i), n = COLUMNS * COLUMNS;
    float *slices = g_new (float, count *n);

    for (guint k = 0; k < count * n; k++)
      slices[k] = (float) (i + k / n + 1);
    const TdJobPortion portion = { .first = i,
                                   .count = count,
                                   .slices = slices,
                                   .release = free_slices,
                                   .user = (gpointer) "mine" };
    if (!td_job_emit (job, &portion, error))
      return FALSE;
  }
  return TRUE;
}

static void
test_one_slice (void)
{
  g_autoptr (TdPlan) plan = told_plan_new (NULL);

  told_run = run_slices;
  for (emitted = 0; emitted < 6; emitted++) {
    g_autoptr (TdJob) job = td_job_new (plan);
    g_autoptr (GError) error = NULL;
    float slice[COLUMNS * COLUMNS] = { 0 };
    TdJobProgress progress;

    td_job_set_slice (job, slice);
    g_assert_cmpint (td_job_run (job, NULL, &error), ==, emitted > 0);
    if (emitted == 0)
      g_assert_error (error, TD_ERROR, TD_ERROR_DEVICE_BUG);
    for (guint i = 0; i < COLUMNS * COLUMNS; i++)
      g_assert_cmpfloat (slice[i], ==, emitted > 0);
    td_job_progress (job, &progress);
    g_assert_cmpuint (progress.slices_done, ==, emitted);
  }
}

#define LOOKS 20 /* a millisecond after another */

static guint writers, writers_wanted;

/* By their name, which a thread gives itself when it begins. */
static guint
writers_now (void)
{
  g_autoptr (GDir) tasks = g_dir_open ("/proc/self/task", 0, NULL);
  guint n = 0;

  for (const char *name; tasks && (name = g_dir_read_name (tasks));) {
    g_autofree char *path = g_build_filename ("/proc/self/task", name, "comm", NULL);
    g_autofree char *comm = NULL;
    n += g_file_get_contents (path, &comm, NULL, NULL) && strcmp (comm, "writer\n") == 0;
  }
  return n;
}

/* Until there are so many for some time: those of the last job may not be quite gone yet. */
static gboolean
run_counted (TdJob *job, GCancellable *cancellable, GError **error)
{
  const gint64 deadline = g_get_monotonic_time () + 60 * G_USEC_PER_SEC;

  for (guint same = 0; same < LOOKS && g_get_monotonic_time () < deadline;) {
    g_usleep (1000);
    writers = writers_now ();
    same = writers == writers_wanted ? same + 1 : 0;
  }
  return run_slices (job, cancellable, error);
}

static void
take_in_order (guint first, guint count, const float *slices, gpointer user)
{
  guint *next = user;

  g_assert_cmpuint (first, ==, *next);
  *next += count;
}

/* Files of a stack are written beside each other by six threads. One writes any other volume, and
   one does where somebody looks at the slices, who gets them in their order. */
static void
test_writers (void)
{
  for (TdVolumeFormat format = TD_VOLUME_TIFF_STACK; format <= TD_VOLUME_HDF5; format++)
    for (guint sink = 0; sink < 2; sink++) {
      g_autoptr (TestFolder) folder = test_folder_new ();
      g_autofree char *output = test_folder_file (folder, "out");
      g_autoptr (TdPlan) plan = told_plan_new (output);
      g_autoptr (TdJob) job = td_job_new (plan);
      g_autoptr (GError) error = NULL;
      float slice[COLUMNS * COLUMNS];
      guint next = 0;

      plan->recipe.output_format = format;
      told_run = run_counted;
      emitted = ROWS;
      if (sink)
        td_job_set_sink (job, take_in_order, &next);
      writers_wanted = format == TD_VOLUME_TIFF_STACK && !sink ? 6 : 1;
      g_assert_true (td_job_run (job, NULL, &error));
      g_assert_no_error (error);
      g_assert_cmpuint (writers, ==, writers_wanted);
      g_assert_cmpuint (next, ==, sink ? ROWS : 0);
      g_autoptr (TdVolume) volume = td_volume_open (output, &error);
      g_assert_no_error (error);
      for (guint i = 0; i < ROWS; i++) {
        g_assert_true (td_volume_read (volume, i, 1, slice, &error));
        for (guint k = 0; k < COLUMNS * COLUMNS; k++)
          g_assert_cmpfloat (slice[k], ==, i + 1);
      }
    }
}

/* The volume has the scan and what was done with it; its figures are the job's. */
static void
test_provenance (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *output = test_folder_file (folder, "out.h5");
  g_autoptr (TdPlan) plan = told_plan_new (output);
  g_autoptr (TdJob) job = td_job_new (plan);
  g_autoptr (GError) error = NULL;

  plan->recipe.output_format = TD_VOLUME_HDF5;
  plan->facts.pixel_mm = 0.25;
  told_run = run_slices;
  emitted = ROWS;
  g_assert_true (td_job_run (job, NULL, &error));
  g_autoptr (TdProvenance) provenance = td_provenance_read (output);
  g_assert_nonnull (provenance);
  g_assert_cmpstr (provenance->volume, ==, output);
  g_assert_cmpuint (provenance->nx, ==, COLUMNS);
  g_assert_cmpuint (provenance->ny, ==, COLUMNS);
  g_assert_cmpuint (provenance->n_slices, ==, ROWS);
  g_assert_cmpfloat_with_epsilon (provenance->pixel_mm, 0.25, 1e-6);
  g_assert_cmpstr (provenance->units, ==, "1/px");
  g_assert_cmpfloat (provenance->seconds, >, 0);
  g_assert_cmpfloat (provenance->seconds, <=, td_job_result (job)->seconds);
  g_assert_true (td_recipe_equal (&provenance->recipe, td_plan_recipe (plan)));
  g_autofree char *none = test_folder_file (folder, "none.h5");
  g_assert_null (td_provenance_read (none));
  /* What was counted is in both. */
  job->result.counts = (TdPreparationCounts) { .clamped_transmissions = 11,
                                               .bad_values = 12,
                                               .dead_pixels = 13,
                                               .stuck_pixels = 14,
                                               .bad_pixels = 15,
                                               .zingers = 16,
                                               .zingers_angle = 17,
                                               .dose_low = 0.5,
                                               .dose_high = 2 };
  g_autofree char *result = td_job_result_json (job), *stored = td_job_provenance_json (job);
  const char *const said[] = { result, stored };
  for (guint i = 0; i < G_N_ELEMENTS (said); i++)
    g_assert_nonnull (strstr (said[i], "\"clamped_transmissions\" : 11,\n  \"bad_values\" : 12,\n"
                                       "  \"dead_pixels\" : 13,\n  \"stuck_pixels\" : 14,\n"
                                       "  \"bad_pixels\" : 15,\n  \"zingers\" : 16,\n"
                                       "  \"zingers_angle\" : 17,\n  \"dose_low\" : 0.5,\n"
                                       "  \"dose_high\" : 2"));
}

/* A volume of one slice, made as @json says. */
static char *
written_volume (TestFolder *folder, const char *name, const char *json)
{
  static const float slice[] = { 1, 2, 3, 4, 5, 6 };
  char *path = test_folder_file (folder, name);
  const TdVolumeSpec spec = { .path = path,
                              .format = TD_VOLUME_HDF5,
                              .bits = 32,
                              .nx = 3,
                              .ny = 2,
                              .n_slices = 1,
                              .units = "1/px",
                              .overwrite = TRUE };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, &error);

  g_assert_no_error (error);
  g_assert_true (td_volume_writer_write (writer, 0, 1, slice, &error));
  g_assert_true (td_volume_writer_finish (writer, json, &error));
  return path;
}

/* The scan is where it was, or beside the volume by its path or its name; else nobody knows. */
static void
test_provenance_scan (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *there = test_folder_file (folder, "there");
  g_autofree char *within = g_build_filename (there, "scan.h5", NULL);
  g_autofree char *named = test_folder_file (folder, "named.h5");
  g_autofree char *both = test_folder_file (folder, "scan.h5");
  const struct {
    const char *scan, *found;
  } cases[] = {
    { within, within },
    { "there/scan.h5", within },
    { "/nowhere/named.h5", named },
    { "nowhere/named.h5", named },
    { "named.h5", named },
    { "/nowhere/lost.h5", "/nowhere/lost.h5" },
    { "lost.h5", "lost.h5" },
  };

  g_assert_cmpint (g_mkdir (there, 0700), ==, 0);
  g_assert_true (g_file_set_contents (within, "", 0, NULL));
  g_assert_true (g_file_set_contents (named, "", 0, NULL));
  g_assert_true (g_file_set_contents (both, "", 0, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *json = g_strdup_printf ("{ \"program\": \"Tomodesk\", \"recipe\": { "
                                             "\"tomodesk_recipe\": 1 }, \"scan\": { \"path\": "
                                             "\"%s\" } }",
                                             cases[i].scan);
    g_autofree char *path = written_volume (folder, "out.h5", json);
    g_autoptr (TdProvenance) read = td_provenance_read (path);
    g_test_message ("%s", cases[i].scan);
    g_assert_cmpstr (read->scan, ==, cases[i].found);
  }
}

/* What a record says is taken as it is, and what it does not say is not known. Records of other
   programs, or without a recipe or a scan, are none. */
static void
test_provenance_read (void)
{
  static const struct {
    const char *program, *recipe, *scan, *more;
    gboolean read, searched, agreed;
    double sigma_px, seconds;
  } cases[] = {
    { "Tomodesk", "{ \"tomodesk_recipe\": 1, \"tilt_deg\": 2 }", "{ \"path\": \"a\" }", "", TRUE,
      FALSE, FALSE, NAN, 0 },
    { "Tomodesk", "{ \"tomodesk_recipe\": 1, \"tilt_deg\": 2 }", "{ \"path\": \"a\" }",
      ", \"seconds\": 2.5, \"axis\": { \"agreed\": true, \"sigma_px\": 0.25 }", TRUE, TRUE, TRUE,
      0.25, 2.5 },
    { "Tomodesk", "{ \"tomodesk_recipe\": 1, \"tilt_deg\": 2 }", "{ \"path\": \"a\" }",
      ", \"seconds\": -1, \"axis\": { \"agreed\": false }", TRUE, TRUE, FALSE, NAN, 0 },
    { "Other", "{ \"tomodesk_recipe\": 1 }", "{ \"path\": \"a\" }", "", FALSE },
    { "Tomodesk", "{ \"tomodesk_recipe\": 7 }", "{ \"path\": \"a\" }", "", FALSE },
    { "Tomodesk", "{ \"tomodesk_recipe\": 1 }", "{ }", "", FALSE },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *json
        = g_strdup_printf ("{ \"program\": \"%s\", \"recipe\": %s, \"scan\": %s%s }",
                           cases[i].program, cases[i].recipe, cases[i].scan, cases[i].more);
    g_autofree char *path = written_volume (folder, "out.h5", json);
    g_autoptr (TdProvenance) read = td_provenance_read (path);
    g_test_message ("%u", i);
    g_assert_cmpint (read != NULL, ==, cases[i].read);
    if (!read)
      continue;
    g_assert_cmpfloat (read->recipe.tilt_deg, ==, 2);
    g_assert_cmpint (read->axis_searched, ==, cases[i].searched);
    g_assert_cmpint (read->axis_agreed, ==, cases[i].agreed);
    g_assert_true (isnan (cases[i].sigma_px) ? isnan (read->axis_sigma_px)
                                             : read->axis_sigma_px == cases[i].sigma_px);
    g_assert_cmpfloat (read->seconds, ==, cases[i].seconds);
    g_assert_cmpuint (read->nx, ==, 3);
    g_assert_cmpuint (read->ny, ==, 2);
    g_assert_cmpuint (read->n_slices, ==, 1);
    g_assert_null (read->units);
    g_assert_null (read->notes);
  }
  g_autofree char *none = written_volume (folder, "none.h5", NULL);
  g_assert_null (td_provenance_read (none));
}

/* Up to a hundred notes, in their order. */
static void
test_provenance_notes (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();

  for (guint n = 99; n <= 101; n++) {
    g_autoptr (GString) notes = g_string_new ("\"0\"");
    for (guint i = 1; i < n; i++)
      g_string_append_printf (notes, ", \"%u\"", i);
    g_autofree char *json = g_strdup_printf (
        "{ \"program\": \"Tomodesk\", \"recipe\": { \"tomodesk_recipe\": 1 }, \"scan\": { "
        "\"path\": \"a\" }, \"units\": \"1/mm\", \"notes\": [ %s ] }",
        notes->str);
    g_autofree char *path = written_volume (folder, "out.h5", json);
    g_autoptr (TdProvenance) read = td_provenance_read (path);
    guint kept = 0;
    for (; read->notes[kept]; kept++) {
      g_autofree char *text = td_message_text (read->notes[kept], NULL);
      g_assert_cmpuint (g_ascii_strtoull (text, NULL, 10), ==, kept);
    }
    g_assert_cmpuint (kept, ==, MIN (n, 100));
    g_assert_cmpstr (read->units, ==, "1/mm");
  }
}

/* Work that took too little time to tell a rate does so where nothing better is known, so that the
   next plan's time is. Longer work has the last word. */
static void
test_short_work (void)
{
  g_autoptr (TdPlan) plan = told_plan_new (NULL);
  g_autofree char *id = g_uuid_string_random ();
  g_autofree char *key = g_strconcat ("write ", id, NULL);

  g_assert_cmpfloat (td_engine_rate (plan->engine, key, 1e6), ==, 0);
  td_plan_keep_rate (plan, key, 1000000, TD_RATE_LEAST_S / 5);
  g_assert_cmpfloat (td_engine_rate (plan->engine, key, 1e6), ==, 1e6 / (TD_RATE_LEAST_S / 5));
  td_plan_keep_rate (plan, key, 1000000, 2);
  g_assert_cmpfloat (td_engine_rate (plan->engine, key, 1e6), ==, 5e5);
  td_plan_keep_rate (plan, key, 1000000, TD_RATE_LEAST_S / 5);
  g_assert_cmpfloat (td_engine_rate (plan->engine, key, 1e6), ==, 5e5);
}

/* ── Sinks ── */

static float *shown;

static void
show_sinogram (float *sinogram, gpointer user)
{
  g_assert_null (shown);
  shown = sinogram;
}

static void
test_sinogram_sink (void)
{
  g_autoptr (TdPlan) plan = told_plan_new (NULL);

  for (guint ended = 0; ended < 2; ended++) {
    g_autoptr (TdJob) job = td_job_new (plan);

    g_assert_false (td_job_wants_sinogram (job));
    td_job_set_sinogram_sink (job, show_sinogram, NULL);
    g_assert_true (td_job_wants_sinogram (job));
    job->ended_us = ended;
    g_assert_cmpint (td_job_wants_sinogram (job), ==, !ended);
    td_job_give_sinogram (job, g_new0 (float, 1));
    g_assert_cmpint (shown != NULL, ==, !ended);
    g_clear_pointer (&shown, g_free);
    g_assert_false (td_job_wants_sinogram (job) && !ended); /* one is enough */
    td_job_give_sinogram (job, g_new0 (float, 1));
    g_assert_null (shown);
  }
}

static void
test_early (void)
{
  g_autoptr (TdPlan) plan = told_plan_new (NULL);
  g_autoptr (TdJob) job = td_job_new (plan);

  g_assert_false (td_job_ends_early (job));
  g_assert_null (job->estimate_sink);
  g_assert_false (job->keep_momentum);
  td_job_finish_early (job);
  td_job_keep_momentum (job);
  g_assert_true (td_job_ends_early (job));
  g_assert_true (job->keep_momentum);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  td_test_own_rates ("job-facts");
  engine = td_engine_new (told_methods);
  scan = phantom_scan (COLUMNS, ROWS, VIEWS);
  g_test_add_func ("/job-facts/progress", test_progress);
  g_test_add_func ("/job-facts/progress-again", test_progress_again);
  g_test_add_func ("/job-facts/passes", test_passes);
  g_test_add_func ("/job-facts/sums", test_sums);
  g_test_add_func ("/job-facts/device-peak", test_device_peak);
  g_test_add_func ("/job-facts/late", test_late);
  g_test_add_func ("/job-facts/warm", test_warm);
  g_test_add_func ("/job-facts/count-notes", test_count_notes);
  g_test_add_func ("/job-facts/count-notes-of-scans", test_count_notes_of_scans);
  g_test_add_func ("/job-facts/check-volume", test_check_volume);
  g_test_add_func ("/job-facts/wants-stored", test_wants_stored);
  g_test_add_func ("/job-facts/inexact", test_inexact);
  g_test_add_func ("/job-facts/json", test_json);
  g_test_add_func ("/job-facts/ends", test_ends);
  g_test_add_func ("/job-facts/cancelled-before", test_cancelled_before);
  g_test_add_func ("/job-facts/emit", test_emit);
  g_test_add_func ("/job-facts/cancelled-after", test_cancelled_after);
  g_test_add_func ("/job-facts/one-slice", test_one_slice);
  g_test_add_func ("/job-facts/writers", test_writers);
  g_test_add_func ("/job-facts/provenance", test_provenance);
  g_test_add_func ("/job-facts/provenance-scan", test_provenance_scan);
  g_test_add_func ("/job-facts/provenance-read", test_provenance_read);
  g_test_add_func ("/job-facts/provenance-notes", test_provenance_notes);
  g_test_add_func ("/job-facts/short-work", test_short_work);
  g_test_add_func ("/job-facts/sinogram-sink", test_sinogram_sink);
  g_test_add_func ("/job-facts/early", test_early);
  const int status = g_test_run ();
  td_scan_unref (scan);
  td_engine_unref (engine);
  return status;
}
