/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "compute/methods/methods.h"
#include "compute/parallel/families.h"
#include "compute/parallel/trial.h"
#include "tests/common/devices.h"
#include "tests/common/faulty.h"
#include "tests/common/frames.h"
#include "tests/common/iterative.h"

/**
 * Every call to a device fails in turn, once, in each step of preparation and in each method. It
 * fails in a way after which nothing is tried again. So the step or the job ends with that error,
 * or it makes what it makes without (where the call served only what comes later). An error that
 * were not looked at would leave wrong values and say nothing.
 */
#define ROWS 3
#define VIEWS 24
#define COLUMNS 32

/* What fails, and where it puts its values. */
typedef gboolean (*Work) (gconstpointer user, float *values, GError **error);

static TdEngine *engine;

/* Works until no call is left to fail. */
static void
sweep (const char *name, TdDevice *device, Work work, gconstpointer user, gsize n)
{
  g_autofree float *sound = g_new0 (float, n);
  g_autofree float *values = g_new (float, n);
  g_autoptr (GError) none = NULL;

  td_engine_trim (engine);
  const guint64 before = td_test_live_objects (device);
  g_assert_true (work (user, sound, &none)); /* and programs stay built */
  for (guint calls = 0;; calls++) {
    g_autoptr (GError) error = NULL;
    td_engine_trim (engine);
    memset (values, 0, n * sizeof *values);
    td_faulty_begin (device);
    td_faulty.calls_left = (gint) calls;
    td_faulty.failures_left = 1;
    td_faulty.code = TD_ERROR_INVALID;
    const gboolean ok = work (user, values, &error);
    td_faulty_end ();
    g_assert_true (ok == !error);
    td_engine_trim (engine);
    g_assert_cmpuint (td_test_live_objects (device), ==, before);
    if (ok ? memcmp (values, sound, n * sizeof *values) != 0
           : !strstr (error->message, "made to fail")) {
      g_test_message ("%s: call %u failed, and %s", name, calls,
                      ok ? "values are wrong without a word" : error->message);
      g_test_fail ();
    }
    if (!td_faulty_failed ()) {
      g_assert_no_error (error);
      g_assert_cmpuint (calls, >, 10);
      g_test_message ("%s: %u calls", name, calls);
      return;
    }
  }
}

/* ── Steps ── */

typedef struct {
  TdDevice *device;
  const TdTestFrames *frames;
  const float *rows;
  const TdStep *step;
} Preparing;

static gboolean
prepare (gconstpointer user, float *values, GError **error)
{
  const Preparing *preparing = user;
  TdPreparationCounts counts;
  const gsize bytes = (gsize) ROWS * VIEWS * COLUMNS * sizeof (float);
  g_autoptr (TdQueue) queue = td_queue_new (preparing->device, error);
  if (!queue)
    return FALSE;
  g_autoptr (TdBuffer) data = td_buffer_new (preparing->device, bytes, error);
  if (!data)
    return FALSE;
  g_autoptr (TdPreparation) preparation = td_preparation_new (
      preparing->device, preparing->frames->scan, NULL, preparing->step, 1, error);

  return preparation && td_upload (queue, data, 0, preparing->rows, bytes, error)
         && td_preparation_run (preparation, queue, data, 0, ROWS, NULL, error)
         && td_preparation_counts (preparation, queue, &counts, error)
         && td_download (queue, values, data, 0, bytes, error) && td_queue_finish (queue, error);
}

static void
test_steps (void)
{
  TdDevice *device = td_test_open ("host");

  for (const TdStepKind *const *kind = td_prepare_steps (); *kind; kind++) {
    TdStep step;
    TdTestFrames frames;
    td_step_init (&step, *kind);
    td_test_frames_init (&frames, ROWS, VIEWS, COLUMNS,
                         (*kind)->stage == TD_STEP_ABSORPTION ? TD_TEST_LINE_INTEGRALS
                                                              : TD_TEST_INTENSITIES);
    g_autofree float *rows = g_new (float, ROWS *VIEWS *COLUMNS);
    for (guint i = 0; i < ROWS * VIEWS; i++)
      memcpy (rows + i * COLUMNS, frames.projections + (i % VIEWS * ROWS + i / VIEWS) * COLUMNS,
              COLUMNS * sizeof (float));
    const Preparing preparing = { device, &frames, rows, &step };
    sweep ((*kind)->name, device, prepare, &preparing, ROWS * VIEWS * COLUMNS);
    td_test_frames_clear (&frames);
  }
  td_test_close (device);
}

/* ── Trials ── */

static gboolean
try_family (gconstpointer device, float *error_of, GError **error)
{
  double angles[VIEWS], seconds, relative = 0;
  const TdBackprojectTask task = { .n_columns = COLUMNS,
                                   .n_views = VIEWS,
                                   .angles_rad = angles,
                                   .centre_px = COLUMNS / 2.0,
                                   .nx = 16,
                                   .ny = 16,
                                   .step = 1,
                                   .x0 = -8,
                                   .y0 = 8,
                                   .scale = 1,
                                   .interpolation = TD_INTERPOLATION_LINEAR };

  for (guint i = 0; i < VIEWS; i++)
    angles[i] = G_PI * i / VIEWS;
  g_autoptr (TdTrial) trial = td_trial_new ((TdDevice *) device, &task, 2, 5, error);
  if (!trial || !td_trial_prepare (trial, &td_family_host, NULL, error)
      || !td_trial_run (trial, &seconds, error) || !td_trial_error (trial, &relative, error))
    return FALSE;
  g_assert_cmpfloat (relative, <, 1e-4);
  *error_of = (float) relative;
  return TRUE;
}

static void
test_trial (void)
{
  TdDevice *device = td_test_open ("host");

  sweep ("trial", device, try_family, device, 1);
  td_test_close (device);
}

/* ── Methods ── */

typedef struct {
  const char *name, *method, *prepare;
  guint n_columns, n_rows, n_views;
  gboolean cone, tilted; /* the detector */
} Job;

static const Job jobs[] = {
  { "fbp", "fbp", NULL, 32, 3, 24, FALSE },
  /* Every column, of a detector so wide that there is shade. */
  { "fbp-rings", "fbp", "rings:threshold=0", 64, 1, 64, FALSE },
  { "fourier", "fourier", NULL, 32, 3, 24, FALSE },
  { "fdk", "fdk", NULL, 32, 8, 24, TRUE },
  { "fdk-tilted", "fdk", NULL, 32, 8, 24, TRUE, TRUE },
  { "sirt", "sirt", NULL, 32, 3, 24, FALSE },
  { "cgls", "cgls", NULL, 32, 3, 24, FALSE },
  { "fista-tv", "fista-tv", NULL, 32, 3, 24, FALSE },
  { "sirt-cone", "sirt", NULL, 32, 8, 24, TRUE },
  { "cgls-cone", "cgls", NULL, 32, 8, 24, TRUE },
};

typedef struct {
  const Job *job;
  TdScan *scan;
  TdRecipe recipe;
} Reconstructing;

typedef struct {
  float *values;
  gsize slice; /* values of one */
} Kept;

static void
keep_slices (guint first, guint count, const float *slices, gpointer user)
{
  const Kept *kept = user;

  memcpy (kept->values + first * kept->slice, slices, count * kept->slice * sizeof *slices);
}

static gboolean
reconstruct (gconstpointer user, float *values, GError **error)
{
  const Reconstructing *reconstructing = user;
  const Job *job = reconstructing->job;
  Kept kept = { values, (gsize) job->n_columns * job->n_columns };
  g_autoptr (TdPlan) plan
      = td_plan_new (engine, reconstructing->scan, &reconstructing->recipe, NULL, NULL, error);
  if (!plan)
    return FALSE;
  g_assert_cmpuint (td_plan_facts (plan)->nx, ==, job->n_columns);
  g_assert_cmpuint (td_plan_facts (plan)->n_slices, <=, job->n_rows);
  g_autoptr (TdJob) running = td_job_new (plan);

  td_job_set_sink (running, keep_slices, &kept);
  return td_job_run (running, NULL, error);
}

static void
test_method (gconstpointer user)
{
  const Job *job = user;
  TdPhantomScan spec;
  Reconstructing reconstructing = { .job = job };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = td_test_phantom_scan (&spec, job->n_columns, job->n_rows, job->n_views,
                                                  job->cone ? 360 : 180, job->cone);
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, "host", &error);

  g_assert_no_error (error);
  td_test_recipe (&reconstructing.recipe, job->method, "host");
  reconstructing.recipe.iterations = 2;
  if (job->prepare) {
    td_recipe_set (&reconstructing.recipe, "prepare", job->prepare, &error);
    g_assert_no_error (error);
    spec.logged = FALSE; /* a camera has rings */
    spec.rings = 0.1;
    td_scan_unref (scan);
    scan = td_phantom_scan_new (&spec, &error);
    g_assert_no_error (error);
  }
  if (job->tilted) {
    spec.geometry.detector_tilt_rad[0] = 0.03;
    spec.geometry.detector_tilt_rad[2] = 0.02;
    td_scan_unref (scan);
    scan = td_phantom_scan_new (&spec, &error);
    g_assert_no_error (error);
  }
  reconstructing.scan = scan;
  sweep (job->name, devices->pdata[0], reconstruct, &reconstructing,
         job->n_rows * (gsize) job->n_columns * job->n_columns);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  td_test_own_rates ("device-errors");
  engine = td_engine_new (td_methods);
  g_test_add_func ("/device-errors/steps", test_steps);
  g_test_add_func ("/device-errors/trial", test_trial);
  for (guint i = 0; i < G_N_ELEMENTS (jobs); i++) {
    g_autofree char *path = g_strconcat ("/device-errors/", jobs[i].name, NULL);
    g_test_add_data_func (path, &jobs[i], test_method);
  }
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
