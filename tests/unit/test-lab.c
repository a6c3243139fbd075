/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lab's arithmetic agrees with plain formulas: references in double precision, differences,
   noise, Fourier ring correlation and profiles. A whole lab runs on a phantom. */
#include <math.h>
#include <string.h>

#include "compute/engine/fbp/fbp.h"
#include "compute/engine/plan-private.h"
#include "compute/filter.h"
#include "compute/lab/lab-abx.h"
#include "compute/lab/lab-filter.h"
#include "compute/lab/lab-report.h"
#include "compute/lab/lab-review.h"
#include "compute/lab/lab-rows.h"
#include "compute/lab/lab-truth.h"
#include "compute/methods/methods.h"
#include "compute/parallel/fourier-shape.h"
#include "compute/portion.h"
#include "compute/row-blend.h"
#include "dataset/phantom-scan.h"
#include "dataset/random.h"
#include "dataset/error.h"
#include "lab-series.h"
#include "tests/common/devices.h"
#include "test-folder.h"
#include "tests/common/inner-scan.h"
#include "tests/common/pipeline.h"
#include "tests/common/scarce.h"
#include "tests/common/truth.h"
#include "tests/common/pins.h"

static TdEngine *engine;

static char *
messages_of (const TdLabResult *result)
{
  g_autofree char *reference
      = result->no_reference ? td_message_text (result->no_reference, NULL) : g_strdup ("");
  g_autofree char *measure
      = result->no_measure ? td_message_text (result->no_measure, NULL) : g_strdup ("");

  return g_strconcat (reference, "; ", measure, NULL);
}

/* A copy says the same when what it was made from has gone. (transfer full) */
static TdLabResult *
copy_alone (const TdLab *lab, TdLabResult *result)
{
  g_autofree char *csv = td_lab_csv (lab, result), *said = messages_of (result);
  TdLabResult *once = td_lab_result_copy (result);

  td_lab_result_free (result);
  TdLabResult *copy = td_lab_result_copy (once);
  td_lab_result_free (once);
  g_autofree char *again = td_lab_csv (lab, copy), *said_again = messages_of (copy);
  g_assert_cmpstr (again, ==, csv);
  g_assert_cmpstr (said_again, ==, said);
  return copy;
}

/* ── The reference ── */

typedef struct {
  const char *name;
  guint n_columns, n_views;
  double centre_px;
  gint region[4];
  const char *options[7]; /* option and value in turns */
} TruthCase;

static const TruthCase truths[] = {
  { "linear", 61, 47, 28.3, { 0 }, { NULL } },
  { "nearest", 61, 47, 31.2, { 0 }, { "interpolation", "nearest", NULL } },
  { "region", 64, 33, 30.1, { 3, 17, 40, 21 }, { "filter", "hann", NULL } },
  { "edges", 53, 31, 20, { 0 }, { "padding", "edge", "filter", "cosine", NULL } },
  { "fourier", 40, 30, 18.7, { 0 }, { "method", "fourier", NULL } },
  { "fourier-region",
    31,
    29,
    15.4,
    { 5, 9, 20, 17 },
    { "method", "fourier", "interpolation", "nearest", NULL } },
};

static void
take_sinogram (float *sinogram, gpointer user)
{
  *(float **) user = sinogram;
}

static void
ignore_slices (guint first, guint count, const float *slices, gpointer user)
{
}

static void
test_truth (gconstpointer data)
{
  const TruthCase *c = data;
  const gsize samples = (gsize) c->n_views * c->n_columns;
  g_autofree float *rows = g_new (float, samples);
  g_autofree float *sinogram = NULL;
  g_autoptr (GError) error = NULL;
  TdBackprojectTask task;
  TdRecipe recipe;

  td_test_random (rows, samples, 5 + c->n_columns);
  td_truth_task_init (&task, c->n_columns, c->n_views, 180);
  g_autoptr (TdScan) scan = td_test_scan (rows, 1, c->n_views, c->n_columns, task.angles_rad);
  td_recipe_init (&recipe);
  recipe.centre_auto = FALSE;
  recipe.centre_px = c->centre_px;
  memcpy (recipe.region, c->region, sizeof recipe.region);
  for (guint i = 0; c->options[i]; i += 2)
    g_assert_true (td_recipe_set (&recipe, c->options[i], c->options[i + 1], NULL));
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (TdJob) job = td_job_new (plan);
  td_job_set_sink (job, ignore_slices, NULL);
  td_job_set_sinogram_sink (job, take_sinogram, &sinogram);
  g_assert_true (td_job_run (job, NULL, NULL));
  g_assert_nonnull (sinogram);
  g_autofree double *got = td_lab_truth (plan, sinogram, NULL, NULL, &error);
  g_assert_no_error (error);

  /* However many views there is memory for at once. */
  for (td_portion_shift = 5; td_portion_shift <= 11; td_portion_shift += 3) {
    g_autofree double *again = td_lab_truth (plan, sinogram, NULL, NULL, &error);
    const gsize bytes = (gsize) td_plan_facts (plan)->nx * td_plan_facts (plan)->ny * sizeof *again;
    g_assert_no_error (error);
    g_assert_cmpmem (again, bytes, got, bytes);
  }
  td_portion_shift = 0;
  task.centre_px = c->centre_px;
  /* As the plan chose on this computer's devices. */
  task.interpolation = td_plan_recipe (plan)->interpolation;
  if (c->region[2]) {
    task.x0 += c->region[0];
    task.y0 -= c->region[1];
    task.nx = (guint) c->region[2];
    task.ny = (guint) c->region[3];
  }
  const gsize n = (gsize) task.nx * task.ny;
  g_autofree float *filtered = td_truth_filter (&recipe.filter, sinogram, c->n_views, c->n_columns);
  g_autofree double *expected = g_new (double, n);
  if (td_plan_recipe (plan)->method == TD_METHOD_FOURIER)
    td_fourier_reference (&task, filtered, expected);
  else
    td_backproject_reference (&task, filtered, expected);
  TdLabDifference difference;
  td_lab_difference_double (got, expected, n, &difference);
  td_test_pin ("relative %.2e, largest %.2e", difference.relative_rms, difference.max_abs);
  /* The expected rows were rounded to single precision: 2^-25 or so. */
  g_assert_cmpfloat (difference.relative_rms, <, 2e-7);
  td_truth_task_clear (&task);
}

/* Half acquisition: weights and shift, against the job itself. */
static void
test_truth_half (void)
{
  TdPhantomScan spec;
  TdRecipe recipe;
  g_autofree float *sinogram = NULL;

  td_phantom_scan_init (&spec, NULL, 64, 1, 120);
  spec.centre_px = 11.4;
  spec.range_deg = 360;
  spec.offset_field = TRUE;
  spec.logged = TRUE;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, NULL);
  td_recipe_init (&recipe);
  recipe.n_steps = 0;
  recipe.centre_auto = FALSE;
  recipe.centre_px = spec.centre_px;
  recipe.field_of_view = TD_FIELD_HALF;
  recipe.accuracy = TD_ACCURACY_SINGLE;
  TdTestVolume volume;
  g_assert_true (td_test_reconstruct (engine, scan, &recipe, &volume, NULL));
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, NULL);
  g_autoptr (TdJob) job = td_job_new (plan);
  td_job_set_sink (job, ignore_slices, NULL);
  td_job_set_sinogram_sink (job, take_sinogram, &sinogram);
  g_assert_true (td_job_run (job, NULL, NULL));
  g_autofree double *truth = td_lab_truth (plan, sinogram, NULL, NULL, NULL);
  TdLabDifference difference;
  td_lab_difference (volume.slices, truth, (gsize) volume.nx * volume.ny, &difference);
  g_assert_cmpuint (volume.nx, >, spec.n_columns);
  g_assert_cmpfloat (difference.relative_rms, <, 1e-5);
  td_test_volume_clear (&volume);
}

/* Each shortcut makes an error of the size that it must. */
static void
test_shortcuts (void)
{
  static const struct {
    const char *name;
    TdLabShortcuts cuts;
    double least, most; /* relative, for white sinograms */
  } all[] = {
    /* Rounding to 11 bits: a relative error of 2^-12 / sqrt (3) to 2^-11 / sqrt (3), and linear
       interpolation averages values and errors alike. */
    { "storage", { .half_storage = TRUE }, 1.3e-4, 3e-4 },
    /* A weight off by 2^-9 at most, of a difference of two values: 2^-9 / sqrt (3) * sqrt (2) over
       a signal of sqrt (2/3), and about half as much again, for the ramp makes neighbours unlike.
     */
    { "weights", { .samples = 256 }, 1.8e-3, 4e-3 },
    /* The same with 1/8 at most: 64 times that. */
    { "samples", { .samples = 4 }, 0.11, 0.25 },
    { "single", { .single_sums = TRUE }, 1e-8, 1e-6 },
    { "half-runs", { .half_run = 16 }, 1e-4, 1e-3 },
    { "filter", { .single_filter = TRUE }, 1e-8, 1e-6 },
  };
  const guint n = 64, n_views = 90;
  g_autofree float *rows = g_new (float, n *n_views);
  TdBackprojectTask task;
  TdRecipe recipe;

  td_test_random (rows, n * n_views, 77);
  td_truth_task_init (&task, n, n_views, 180);
  g_autoptr (TdScan) scan = td_test_scan (rows, 1, n_views, n, task.angles_rad);
  td_recipe_init (&recipe);
  recipe.centre_auto = FALSE;
  recipe.centre_px = 31.37;
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, NULL);
  g_autofree double *truth = td_lab_truth (plan, rows, NULL, NULL, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (all); i++) {
    TdLabDifference difference;
    g_autofree double *slice = td_lab_truth (plan, rows, &all[i].cuts, NULL, NULL);
    td_lab_difference_double (slice, truth, (gsize) n * n, &difference);
    td_test_pin ("%s: %.3e", all[i].name, difference.relative_rms);
    g_assert_cmpfloat (difference.relative_rms, >, all[i].least);
    g_assert_cmpfloat (difference.relative_rms, <, all[i].most);
  }
  td_truth_task_clear (&task);
}

/* Four views can be halved, and fewer cannot. */
static void
test_few_views (void)
{
  for (guint n_views = 3; n_views <= 5; n_views++) {
    const guint n = 16;
    g_autofree float *rows = g_new (float, n *n_views);
    g_autoptr (GError) error = NULL;
    TdBackprojectTask task;
    TdRecipe recipe;

    td_test_random (rows, n * n_views, 5);
    td_truth_task_init (&task, n, n_views, 180);
    g_autoptr (TdScan) scan = td_test_scan (rows, 1, n_views, n, task.angles_rad);
    td_recipe_init (&recipe);
    recipe.centre_auto = FALSE;
    recipe.centre_px = 7.5;
    g_assert_nonnull (td_recipe_add_step (&recipe, "rings", &error));
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    g_autoptr (TdLabRows) of = td_lab_rows_new (plan, engine, scan, NULL, &error);
    g_assert_no_error (error);
    for (guint parity = 0; parity < 2; parity++) {
      g_autoptr (TdPlan) half = td_lab_rows_half (of, engine, plan, parity, NULL, &error);
      g_assert_cmpint (half != NULL, ==, n_views >= 4);
      if (half) {
        g_assert_cmpuint (td_scan_facts (half->scan)->n_views, ==, (n_views + 1 - parity) / 2);
        g_assert_cmpuint (half->recipe.n_steps, ==, 0); /* its rows are prepared */
        g_assert_true (td_scan_facts (half->scan)->transmission_logged);
      } else
        g_assert_nonnull (strstr (error->message, "3 views are too few"));
      g_clear_error (&error);
    }
    td_truth_task_clear (&task);
  }
}

/* ── Measures ── */

static void
test_difference (void)
{
  const guint n = 23 * 17;
  g_autofree float *a = g_new (float, n);
  g_autofree double *b = g_new (double, n);
  double squares = 0, reference = 0, largest = 0, low = INFINITY, high = -INFINITY;
  TdLabDifference difference;

  td_test_random (a, n, 3);
  for (guint i = 0; i < n; i++)
    b[i] = a[i] + 0.01 * sin (i);
  a[40] = NAN;
  a[101] += 5;
  for (guint i = 0; i < n; i++) {
    if (i == 40)
      continue;
    const double d = a[i] - b[i];
    squares += d * d;
    reference += b[i] * b[i];
    largest = fmax (largest, fabs (d));
    low = fmin (low, b[i]);
    high = fmax (high, b[i]);
  }
  td_lab_difference (a, b, n, &difference);
  g_assert_cmpuint (difference.n, ==, n - 1);
  g_assert_cmpfloat_with_epsilon (difference.rms, sqrt (squares / (n - 1)), 1e-12);
  g_assert_cmpfloat_with_epsilon (difference.relative_rms, sqrt (squares / reference), 1e-12);
  g_assert_cmpfloat_with_epsilon (difference.max_abs, largest, 1e-12);
  g_assert_cmpfloat_with_epsilon (difference.psnr_db,
                                  20 * log10 ((high - low) / sqrt (squares / (n - 1))), 1e-9);
  for (guint i = 0; i < n; i++)
    a[i] = (float) (b[i] = i);
  td_lab_difference (a, b, n, &difference);
  g_assert_cmpfloat (difference.rms, ==, 0);
  g_assert_true (isinf (difference.psnr_db));
  for (guint i = 0; i < n; i++)
    a[i] = (float) (b[i] = 2); /* constant: it has no range either */
  td_lab_difference (a, b, n, &difference);
  g_assert_true (isinf (difference.psnr_db) && difference.psnr_db > 0);
}

/* Noise of deviation s in the whole is sqrt (2) s in either half. */
static void
test_noise (void)
{
  const gsize n = 40000;
  const double s = 0.37;
  g_autofree float *even = g_new (float, n), *odd = g_new (float, n);
  TdRandom random;

  td_random_init (&random, 8, 0);
  for (gsize i = 0; i < n; i++) {
    const double object = 3 + sin (i * 0.01);
    even[i] = (float) (object + sqrt (2) * s * td_random_normal (&random));
    odd[i] = (float) (object + sqrt (2) * s * td_random_normal (&random));
  }
  g_assert_cmpfloat_with_epsilon (td_lab_noise (even, odd, n), s, 0.01 * s);
}

/* White signal and noise: every ring's correlation is the signal's share of the power. */
static void
test_frc_white (void)
{
  const guint n = 128;
  const double signal = 1, noise = 0.7;
  const double share = signal * signal / (signal * signal + noise * noise);
  g_autofree float *a = g_new (float, n *n), *b = g_new (float, n *n);
  TdRandom random;
  double sum = 0;

  td_random_init (&random, 21, 0);
  for (guint i = 0; i < n * n; i++) {
    const double both = 9 + signal * td_random_normal (&random);
    a[i] = (float) (both + noise * td_random_normal (&random));
    b[i] = (float) (both + noise * td_random_normal (&random));
  }
  g_autoptr (TdLabFrc) frc = td_lab_frc_new (a, b, n, n);
  g_assert_cmpuint (frc->n, ==, n / 2 + 1);
  for (guint r = 8; r < frc->n; r++) {
    sum += frc->correlation[r] / (frc->n - 8);
    g_assert_cmpfloat_with_epsilon (frc->correlation[r], share, 0.25);
    g_assert_cmpfloat_with_epsilon (frc->frequency[r], r / (double) n, 1e-12);
  }
  g_assert_cmpfloat_with_epsilon (sum, share, 0.02);
  g_assert_cmpfloat (frc->half_bit_px, ==, 0); /* above the threshold to the end */
}

/* Waves up to 0.2 cycles a pixel in common, and noise of either picture's own. */
static void
test_frc_resolution (void)
{
  enum { WAVES = 400 };
  const guint nx = 120, ny = 110;
  g_autofree float *a = g_new0 (float, nx *ny), *b = g_new0 (float, nx *ny);
  TdRandom random;

  td_random_init (&random, 4, 0);
  for (guint w = 0; w < WAVES; w++) {
    const double f = 0.2 * sqrt (td_random_uniform (&random));
    const double turn = 2 * G_PI * td_random_uniform (&random),
                 phase = 7 * td_random_uniform (&random);
    for (guint i = 0; i < nx * ny; i++)
      a[i] += (float) cos (2 * G_PI * f * (cos (turn) * (i % nx) + sin (turn) * (i / nx)) + phase);
  }
  for (guint i = 0; i < nx * ny; i++) {
    b[i] = a[i] + (float) (20 * td_random_normal (&random));
    a[i] += (float) (20 * td_random_normal (&random));
  }
  g_autoptr (TdLabFrc) frc = td_lab_frc_new (a, b, nx, ny);
  g_assert_cmpuint (frc->side, ==, ny);
  td_test_pin ("half bit %.3f px, 1/7 %.3f px", frc->half_bit_px, frc->seventh_px);
  g_assert_cmpfloat_with_epsilon (frc->half_bit_px, 5, 0.4);
  g_assert_cmpfloat_with_epsilon (frc->seventh_px, 5, 0.5);
  /* Ring 30 of 110: half of some 190 frequencies, eq. 17 by hand. */
  g_assert_cmpfloat_with_epsilon (frc->half_bit[30], 0.3, 0.05);
  g_autoptr (TdLabFrc) same = td_lab_frc_new (a, a, nx, ny);
  for (guint r = 0; r < same->n; r++)
    g_assert_cmpfloat_with_epsilon (same->correlation[r], 1, 1e-9);
  g_assert_null (td_lab_frc_new (a, b, 15, 15));
}

static void
test_profile (void)
{
  const guint nx = 20, ny = 12;
  g_autofree float *plane = g_new (float, nx *ny);
  const TdLabLine line = { 2, 1, 14, 10 };

  for (guint i = 0; i < nx * ny; i++)
    plane[i] = 3.0f * (i % nx) - 2.0f * (i / nx) + 1;
  const guint n = td_lab_profile_length (&line);
  g_assert_cmpuint (n, ==, 16); /* 15 pixels long */
  g_autofree double *values = g_new (double, n);
  td_lab_profile (plane, nx, ny, &line, n, values);
  for (guint i = 0; i < n; i++) {
    const double t = i / (n - 1.0);
    g_assert_cmpfloat_with_epsilon (values[i], 3 * (2 + 12 * t) - 2 * (1 + 9 * t) + 1, 1e-5);
  }
  td_lab_profile (plane, nx, ny, &(TdLabLine) { -3, 0, 3, 0 }, 7, values);
  g_assert_true (isnan (values[2]));
  g_assert_cmpfloat_with_epsilon (values[3], 1, 1e-6);
  /* The outermost pixels' middles belong to the picture, and nothing beyond them. */
  static const TdLabLine beyond[] = { { 19, 5, 19.01, 5 }, { 0, 5, -0.01, 5 }, { 7, 11, 7, 11.01 },
                                      { 7, 0, 7, -0.01 },  { 19, 5, 20.9, 5 }, { 7, 11, 7, 12.9 } };
  for (guint i = 0; i < G_N_ELEMENTS (beyond); i++) {
    td_lab_profile (plane, nx, ny, &beyond[i], 2, values);
    g_assert_cmpfloat_with_epsilon (values[0], 3 * beyond[i].x0 - 2 * beyond[i].y0 + 1, 1e-5);
    g_assert_true (isnan (values[1]));
  }
  memset (plane, 0, nx * ny * sizeof *plane);
  for (guint x = 4; x < 16; x += 4)
    plane[5 * nx + x] = plane[5 * nx + x + 1] = 1;
  const TdLabLine busiest = td_lab_busiest_line (plane, nx, ny);
  g_assert_cmpfloat (busiest.y0, ==, 5);
  g_assert_cmpfloat (busiest.y1, ==, 5);
  g_assert_cmpfloat (busiest.x0, <, busiest.x1);
}

/* Of tables of the binomial distribution with probability 1/2. */
static void
test_abx (void)
{
  static const struct {
    guint right, trials;
    double p;
  } table[] = {
    { 0, 0, 1 },
    { 1, 1, 0.5 },
    { 5, 10, 0.62304688 },
    { 7, 10, 0.171875 },
    { 8, 10, 0.0546875 },
    { 9, 10, 0.01074219 },
    { 10, 10, 0.00097656 },
    { 12, 16, 0.03840637 },
    { 15, 20, 0.02069473 },
    { 60, 100, 0.02844397 },
    { 0, 12, 1 },
  };
  TdLabAbx abx;
  guint b = 0;

  for (guint i = 0; i < G_N_ELEMENTS (table); i++)
    g_assert_cmpfloat_with_epsilon (td_lab_abx_p_value (table[i].right, table[i].trials),
                                    table[i].p, 1e-7);
  td_lab_abx_begin (&abx, 3);
  for (guint i = 0; i < 1000; i++) {
    b += abx.x_is_b;
    td_lab_abx_answer (&abx, i % 4 ? abx.x_is_b : !abx.x_is_b);
  }
  g_assert_cmpuint (abx.trials, ==, 1000);
  g_assert_cmpuint (abx.right, ==, 750);
  g_assert_cmpuint (b, >, 430); /* a fair coin: within four and a half deviations */
  g_assert_cmpuint (b, <, 570);
}

/* Who guesses and looks at the score after each of 100 trials is told of a difference in at the
   most one of 20 tests. In far more of them p is below 0.05 at some time. Who hears seven of seven
   is told. So is, in most tests, somebody that is right three times of four. */
static void
test_abx_looked_at (void)
{
  enum { TESTS = 2000, TRIALS = 100 };
  guint told = 0, tempted = 0, told_right = 0;
  TdRandom random;

  td_random_init (&random, 11, 0);
  for (guint test = 0; test < TESTS; test++) {
    gboolean below = FALSE;
    TdLabAbx guess, able;
    td_lab_abx_begin (&guess, 100 + test);
    td_lab_abx_begin (&able, 100 + test);
    for (guint i = 0; i < TRIALS; i++) {
      td_lab_abx_answer (&guess, td_random_uniform (&random) < 0.5);
      td_lab_abx_answer (&able, able.x_is_b ^ (td_random_uniform (&random) < 0.25));
      below |= td_lab_abx_p_value (guess.right, guess.trials) < 0.05;
    }
    told += td_lab_abx_is_shown (&guess);
    tempted += below;
    told_right += td_lab_abx_is_shown (&able);
  }
  g_assert_cmpuint (told, <=, TESTS / 20);
  g_assert_cmpuint (tempted, >, TESTS / 5);
  g_assert_cmpuint (told_right, >, TESTS * 95 / 100);

  TdLabAbx sure;
  td_lab_abx_begin (&sure, 3);
  for (guint i = 1; i <= 7; i++) {
    td_lab_abx_answer (&sure, sure.x_is_b);
    g_assert_cmpint (td_lab_abx_is_shown (&sure), ==, i == 7);
  }
  /* Of the definition: 2 / 2^(-7) times the integral of q^7 from 1/2 to 1. */
  g_assert_cmpfloat_with_epsilon (sure.evidence, 2 * 128 * (1 - 1.0 / 256) / 8, 1e-9);
}

/* Evidence is how much likelier the answers are if somebody hears something than by guessing. Any
   chance above a half counts alike. The most that there was so far is kept. */
static void
test_abx_evidence (void)
{
  enum { STEPS = 2000 };
  TdRandom random;

  td_random_init (&random, 5, 0);
  for (guint test = 0; test < 6; test++) {
    double most = 0;
    TdLabAbx abx = { .trials = 3, .right = 2, .evidence = 99 };

    td_lab_abx_begin (&abx, test);
    g_assert_true (abx.trials == 0 && abx.right == 0 && abx.evidence == 0);
    for (guint n = 1; n <= 30; n++) {
      const gboolean right = td_random_uniform (&random) < 0.5 + 0.1 * test;
      const guint before = abx.right;
      double mean = 0;
      td_lab_abx_answer (&abx, right ? abx.x_is_b : !abx.x_is_b);
      g_assert_cmpuint (abx.trials, ==, n);
      g_assert_cmpuint (abx.right, ==, before + right);
      for (guint i = 0; i < STEPS; i++) {
        const double q = 0.5 + (i + 0.5) / (2 * STEPS);
        mean += pow (2 * q, abx.right) * pow (2 * (1 - q), n - abx.right) / STEPS;
      }
      most = fmax (most, mean);
      g_assert_cmpfloat_with_epsilon (abx.evidence / most, 1, 1e-3);
      g_assert_cmpint (td_lab_abx_is_shown (&abx), ==, abx.evidence >= 20);
    }
  }
  g_assert_true (td_lab_abx_is_shown (&(TdLabAbx) { .evidence = 20 }));
  g_assert_false (td_lab_abx_is_shown (&(TdLabAbx) { .evidence = 19.999 }));
}

/* ── The file ── */

static void
test_file (void)
{
  g_autoptr (GError) error = NULL;
  TdRecipe base;

  td_recipe_init (&base);
  base.filter.kind = TD_FILTER_HANN;
  g_autoptr (TdLab) lab = td_lab_new (&base, 12);
  g_assert_true (td_lab_add (lab, "", NULL));
  g_assert_true (td_lab_add (lab, " Half : --precision half --kernel=texture ", NULL));
  g_assert_true (td_lab_add (lab, "--reverse-rotation --filter none", NULL));
  lab->reference = lab->budget = TRUE;
  lab->has_line = TRUE;
  lab->line = (TdLabLine) { 1, 2.5, 30, 4 };
  g_autofree char *json = td_lab_to_json (lab);
  g_autoptr (TdLab) read = td_lab_from_json (json, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (read->variants->len, ==, 3);
  for (guint i = 0; i < 3; i++) {
    const TdLabVariant *a = lab->variants->pdata[i], *b = read->variants->pdata[i];
    g_assert_true (td_recipe_equal (&a->recipe, &b->recipe));
    g_assert_cmpstr (a->name, ==, b->name);
    g_assert_cmpstr (a->options, ==, b->options);
  }
  const TdLabVariant *half = read->variants->pdata[1];
  g_assert_cmpstr (half->name, ==, "Half");
  g_assert_cmpint (half->recipe.precision, ==, TD_PRECISION_HALF);
  g_assert_cmpint (half->recipe.filter.kind, ==, TD_FILTER_HANN);
  g_assert_cmpuint (half->recipe.row_first, ==, 12);
  g_assert_true (((TdLabVariant *) read->variants->pdata[2])->recipe.reverse_rotation);
  g_assert_true (read->reference && read->budget && !read->measure && read->has_line);
  g_assert_cmpfloat (read->line.y0, ==, 2.5);
}

/* A held variant keeps its recipe when the base becomes another one, and in the file. */
static void
test_held (void)
{
  TdRecipe base;

  td_recipe_init (&base);
  base.filter.kind = TD_FILTER_HANN;
  g_autoptr (TdLab) lab = td_lab_new (&base, 2);
  for (guint i = 0; i < 2; i++)
    g_assert_true (td_lab_add (lab, "--precision half", NULL));
  ((TdLabVariant *) lab->variants->pdata[0])->held = TRUE;
  base.filter.kind = TD_FILTER_COSINE;
  base.region[2] = base.region[3] = 9;
  g_assert_true (td_lab_set_base (lab, &base, NULL));
  g_autofree char *json = td_lab_to_json (lab);
  g_autoptr (TdLab) read = td_lab_from_json (json, NULL);
  const TdLab *const labs[] = { lab, read };
  for (guint i = 0; i < 2; i++) {
    const TdLabVariant *held = labs[i]->variants->pdata[0], *other = labs[i]->variants->pdata[1];
    g_assert_cmpint (held->recipe.filter.kind, ==, TD_FILTER_HANN);
    g_assert_cmpint (other->recipe.filter.kind, ==, TD_FILTER_COSINE);
    g_assert_cmpint (held->recipe.region[2], ==, 9);
    g_assert_cmpuint (held->recipe.row_first, ==, 2);
    g_assert_cmpint (held->recipe.precision, ==, TD_PRECISION_HALF);
  }
  TdLabVariant *other = lab->variants->pdata[1];
  g_autoptr (GError) error = NULL;
  g_free (other->options);
  other->options = g_strdup ("--polish");
  g_assert_false (td_lab_set_base (lab, &base, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
}

static void
assert_same_lab (const TdLab *a, const TdLab *b)
{
  g_autofree char *of_a = td_recipe_to_json (&a->base), *of_b = td_recipe_to_json (&b->base);

  g_assert_cmpstr (of_a, ==, of_b);
  g_assert_true (a->reference == b->reference && a->measure == b->measure && a->budget == b->budget
                 && a->has_line == b->has_line);
  g_assert_cmpmem (&a->line, sizeof a->line, &b->line, sizeof b->line);
  g_assert_cmpuint (a->variants->len, ==, b->variants->len);
  for (guint i = 0; i < a->variants->len; i++) {
    const TdLabVariant *left = a->variants->pdata[i], *right = b->variants->pdata[i];
    g_autofree char *recipe = td_recipe_to_json (&left->recipe),
                    *again = td_recipe_to_json (&right->recipe);
    g_assert_cmpstr (left->name, ==, right->name);
    g_assert_cmpstr (left->options, ==, right->options);
    g_assert_cmpstr (recipe, ==, again);
    g_assert_cmpint (left->held, ==, right->held);
    g_assert_true (
        g_strv_equal ((const char *const *) left->given, (const char *const *) right->given));
  }
}

/* One thing of a lab after the other is changed. Its file, read again, is the same lab, and not the
   one before. A variant that is held follows the base in what picture is shown, and in no more. */
static void
test_file_varied (void)
{
  enum { PLAIN, REFERENCE, MEASURE, BUDGET, LINE, X0, Y0, X1, Y1, ADDED, NAMED, HELD, N };
  g_autofree char *before = NULL;
  TdRecipe base;

  td_recipe_init (&base);
  base.filter.kind = TD_FILTER_COSINE;
  g_autoptr (TdLab) lab = td_lab_new (&base, 7);
  g_assert_true (td_lab_add (lab, "", NULL));
  g_assert_true (td_lab_add (lab, "--reverse-rotation --filter=hann --cutoff 0.5", NULL));
  for (guint i = 0; i < N; i++) {
    g_autoptr (GError) error = NULL;
    TdLabVariant *second = lab->variants->pdata[1];
    lab->reference = i == REFERENCE;
    lab->measure = i == MEASURE;
    lab->budget = i == BUDGET;
    lab->has_line = i >= LINE && i <= Y1;
    if (lab->has_line)
      lab->line = (TdLabLine) { i == X0 ? -2.5 : 1, i == Y0 ? 3e5 : 2, i == X1 ? 1e-3 : 30,
                                i == Y1 ? -999999 : 4 };
    else
      lab->line = (TdLabLine) { 0 };
    if (i == ADDED)
      g_assert_true (td_lab_add (lab, "Third: --extend-edges", NULL));
    if (i == NAMED) {
      g_free (second->name);
      second->name = g_strdup ("“a” \"b\"\n");
    }
    if (i == HELD) {
      second->held = TRUE;
      base.region[0] = 5;
      base.region[1] = 6;
      base.region[2] = 7;
      base.region[3] = 8;
      base.crop[0] = 2;
      base.crop[2] = 30;
      base.crop[3] = 20;
      base.bin[0] = 2;
      base.bin[1] = 3;
      base.filter.kind = TD_FILTER_PARZEN;
      g_assert_true (td_lab_set_base (lab, &base, NULL));
      g_assert_cmpint (second->recipe.filter.kind, ==, TD_FILTER_HANN);
    }
    g_autofree char *json = td_lab_to_json (lab);
    g_assert_cmpstr (json, !=, before);
    g_autoptr (TdLab) read = td_lab_from_json (json, &error);
    g_assert_no_error (error);
    assert_same_lab (lab, read);
    g_autoptr (TdLab) copy = td_lab_copy (read);
    assert_same_lab (lab, copy);
    g_free (before);
    before = g_steal_pointer (&json);
    for (guint k = 0; k < lab->variants->len; k++) {
      const TdRecipe *recipe = &((TdLabVariant *) lab->variants->pdata[k])->recipe;
      g_assert_true (recipe->row_first == 7 && recipe->row_end == 8);
      g_assert_cmpmem (recipe->region, sizeof base.region, base.region, sizeof base.region);
      g_assert_cmpmem (recipe->crop, sizeof base.crop, base.crop, sizeof base.crop);
      g_assert_cmpmem (recipe->bin, sizeof base.bin, base.bin, sizeof base.bin);
    }
  }
}

/* A line is four finite numbers below a million, and nothing else; true and false are words. */
static void
test_lines_refused (void)
{
  static const struct {
    const char *member;
    gboolean good;
  } members[] = {
    { "\"line\": [1, 2.5, 3, 4]", TRUE },
    { "\"line\": [999999, -999999.5, 0, 0]", TRUE },
    { "\"line\": [1000000, 0, 0, 0]", FALSE },
    { "\"line\": [0, 0, 0, -1000000]", FALSE },
    { "\"line\": [1, 2, 3]", FALSE },
    { "\"line\": [1, 2, 3, 4, 5]", FALSE },
    { "\"line\": [1, 2, 3, \"4\"]", FALSE },
    { "\"line\": [1, 2, true, 4]", FALSE },
    { "\"line\": [1, [2], 3, 4]", FALSE },
    { "\"line\": [null, 2, 3, 4]", FALSE },
    { "\"line\": {}", FALSE },
    { "\"line\": 4", FALSE },
    { "\"reference\": true", TRUE },
    { "\"reference\": \"true\"", FALSE },
    { "\"measure\": 0", FALSE },
    { "\"budget\": null", TRUE }, /* as if it were not there */
    { "\"budget\": false", TRUE },
    { "\"emulate\": true", FALSE }, /* this version's presets alone have it */
  };

  for (guint i = 0; i < G_N_ELEMENTS (members); i++) {
    g_autoptr (GError) error = NULL;
    g_autofree char *json = g_strdup_printf (
        "{\"tomodesk_lab\": 1, \"base\": {\"tomodesk_recipe\": 1, \"rows\": [3, 4]}, %s, "
        "\"variants\": [{\"options\": \"\"}, {\"options\": \"--filter hann\"}]}",
        members[i].member);
    g_autoptr (TdLab) lab = td_lab_from_json (json, &error);
    g_assert_cmpint (lab != NULL, ==, members[i].good);
    g_assert_true (lab || g_error_matches (error, TD_ERROR, TD_ERROR_INVALID));
  }
}

/* What words of a variant come to: names, values behind a space or an equals sign, switches. */
static void
test_words (void)
{
  static const struct {
    const char *text, *name, *options, *given;
    gboolean reversed, extended;
    TdFilterKind filter;
  } cases[] = {
    { "", "base", "", "", FALSE, FALSE, TD_FILTER_COSINE },
    { "  ", "base", "", "", FALSE, FALSE, TD_FILTER_COSINE },
    { "A:", "A", "", "", FALSE, FALSE, TD_FILTER_COSINE },
    { " A b : ", "A b", "", "", FALSE, FALSE, TD_FILTER_COSINE },
    { "--filter hann", "--filter hann", "--filter hann", "filter", FALSE, FALSE, TD_FILTER_HANN },
    { "a: --filter=hann", "a", "--filter=hann", "filter", FALSE, FALSE, TD_FILTER_HANN },
    { "--filter 'hann' --reverse-rotation", "--filter 'hann' --reverse-rotation",
      "--filter 'hann' --reverse-rotation", "filter reverse-rotation", TRUE, FALSE,
      TD_FILTER_HANN },
    { "--reverse-rotation --filter none", "--reverse-rotation --filter none",
      "--reverse-rotation --filter none", "reverse-rotation filter", TRUE, FALSE, TD_FILTER_NONE },
    { "x:--reverse-rotation=false", "x", "--reverse-rotation=false", "reverse-rotation", FALSE,
      FALSE, TD_FILTER_COSINE },
    { "x: --padding edge --filter=none --filter parzen", "x",
      "--padding edge --filter=none --filter parzen", "padding filter filter", FALSE, TRUE,
      TD_FILTER_PARZEN },
  };
  static const char *const refused[] = { "--",
                                         "-f",
                                         "a: -- ",
                                         "--filter=",
                                         "--rows=1:2",
                                         "--region 1,2,3,4",
                                         "--crop 1,2,3,4",
                                         "--bin 2",
                                         "--format hdf5",
                                         "--bits 8",
                                         "--range 0,1",
                                         "hann --filter",
                                         "--filter hann x" };
  TdRecipe base;

  td_recipe_init (&base);
  base.filter.kind = TD_FILTER_COSINE;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TdLab) lab = td_lab_new (&base, 1);
    g_autoptr (GError) error = NULL;
    td_lab_add (lab, cases[i].text, &error);
    g_assert_no_error (error);
    const TdLabVariant *variant = lab->variants->pdata[0];
    g_autofree char *given = g_strjoinv (" ", variant->given);
    g_assert_cmpstr (variant->name, ==, cases[i].name);
    g_assert_cmpstr (variant->options, ==, cases[i].options);
    g_assert_cmpstr (given, ==, cases[i].given);
    g_assert_cmpint (variant->recipe.reverse_rotation, ==, cases[i].reversed);
    g_assert_cmpint (variant->recipe.filter.extend_edges, ==, cases[i].extended);
    g_assert_cmpint (variant->recipe.filter.kind, ==, cases[i].filter);
    g_assert_false (variant->held);
  }
  g_autoptr (TdLab) lab = td_lab_new (&base, 1);
  for (guint i = 0; i < G_N_ELEMENTS (refused); i++) {
    g_autoptr (GError) error = NULL;
    g_assert_false (td_lab_add (lab, refused[i], &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
    g_assert_cmpuint (lab->variants->len, ==, 0);
  }
}

static void
test_faults (void)
{
  static const struct {
    const char *text, *says;
  } variants[] = {
    { "--precision octuple", "octuple" },   { "--nothing 3", "--nothing" },
    { "precision half", "no variant" },     { "--precision", "wants a value" },
    { "--rows 3", "belongs to the whole" }, { "A: half", "“half” is no option" },
    { "--filter 'hann", "cannot be read" },
  };
  static const struct {
    const char *json, *says;
  } files[] = {
    { "[]", "no variants file" },
    { "{\"tomodesk_lab\": 2, \"base\": {}, \"variants\": []}", "version 1" },
    { "{\"tomodesk_lab\": 1, \"base\": {\"tomodesk_recipe\": 1}, \"variants\": []}", "one row" },
    { "{\"tomodesk_lab\": 1, \"base\": {\"tomodesk_recipe\": 1, \"rows\": [3, 4]}, \"variants\": "
      "[]}",
      "2 to 9" },
    { "{\"tomodesk_lab\": 1, \"base\": {\"tomodesk_recipe\": 1, \"rows\": [3, 4]}, \"variants\": "
      "[7]}",
      "Variant 1" },
    { "{\"tomodesk_lab\": 1, \"base\": {\"tomodesk_recipe\": 1, \"rows\": [3, 4]}, \"variant\": "
      "[]}",
      "\"variant\"" },
    { "{\"tomodesk_lab\": 1, \"base\": {\"tomodesk_recipe\": 1, \"rows\": [3, 4]}, \"line\": [1, "
      "2]}",
      "four numbers" },
    { "{\"tomodesk_lab\": 1, \"base\": {\"tomodesk_recipe\": 1, \"rows\": [3, 4], \"rows\": [5, "
      "6]}, \"variants\": []}",
      "\"rows\" twice" },
    { "{\"tomodesk_lab\": 1, \"base\": {\"tomodesk_recipe\": 1, \"rows\": [3, 4]}, \"measure\": 1}",
      "\"measure\" of a variants file is true or false" },
    { "{\"tomodesk_lab\": 1, \"base\": {\"tomodesk_recipe\": 1, \"rows\": [3, 4]}, \"variants\": "
      "[{\"options\": \"\", \"hold\": {}}]}",
      "\"hold\"" },
  };
  TdRecipe base;

  td_recipe_init (&base);
  g_autoptr (TdLab) lab = td_lab_new (&base, 0);
  for (guint i = 0; i < G_N_ELEMENTS (variants); i++) {
    g_autoptr (GError) error = NULL;
    g_assert_false (td_lab_add (lab, variants[i].text, &error));
    g_autofree char *text = td_error_text (error, NULL);
    td_test_pin ("%s", text);
    g_assert_nonnull (strstr (text, variants[i].says));
  }
  g_assert_cmpuint (lab->variants->len, ==, 0);
  for (guint i = 0; i < TD_LAB_MOST; i++)
    g_assert_true (td_lab_add (lab, "", NULL));
  g_assert_false (td_lab_add (lab, "", NULL));
  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    g_autoptr (GError) error = NULL;
    g_assert_null (td_lab_from_json (files[i].json, &error));
    g_autofree char *text = td_error_text (error, NULL);
    td_test_pin ("%s", text);
    g_assert_nonnull (strstr (text, files[i].says));
    /* The same in a file, which is named, and to blame. */
    g_autoptr (TestFolder) folder = test_folder_new ();
    g_autofree char *path = test_folder_file (folder, "variants.json");
    g_assert_true (g_file_set_contents (path, files[i].json, -1, NULL));
    g_autoptr (GError) blamed = NULL;
    g_assert_null (td_lab_load (path, &blamed));
    g_assert_error (blamed, TD_ERROR, TD_ERROR_BAD_FILE);
    g_assert_nonnull (strstr (blamed->message, path));
    g_assert_nonnull (strstr (blamed->message, files[i].says));
  }
}

/* ── A whole lab ── */

/* @photons: 0: without noise. */
static TdScan *
scan_of_photons (double photons)
{
  TdPhantomScan spec;

  td_phantom_scan_init (&spec, NULL, 96, 3, 161);
  spec.photons = photons;
  spec.attenuation = 1;
  return td_phantom_scan_new (&spec, NULL);
}

static TdScan *
noisy_scan (void)
{
  return scan_of_photons (3000);
}

static guint shown;
static double shown_last;

static void
count_shown (const TdLabResult *result, double fraction, gpointer user)
{
  shown++;
  g_assert_cmpfloat (fraction, >, shown_last);
  g_assert_cmpfloat (fraction, <=, 1);
  shown_last = fraction;
}

/* The reference is by the formula of the kernel that was named, whatever makes it. */
static void
test_named (void)
{
  static const char *const ways[] = { "nearest", "linear" };
  g_autoptr (TdScan) scan = noisy_scan ();

  for (guint i = 0; i < G_N_ELEMENTS (ways); i++) {
    g_autoptr (GError) error = NULL;
    TdRecipe base;

    td_recipe_init (&base);
    g_assert_true (td_recipe_set (&base, "kernel", "host", NULL));
    g_assert_true (td_recipe_set (&base, "interpolation", ways[i], NULL));
    g_autoptr (TdLab) lab = td_lab_new (&base, 1);
    g_assert_true (td_lab_add (lab, "--device host", NULL) && td_lab_add (lab, "", NULL));
    lab->reference = TRUE;
    g_autoptr (TdLabResult) result = td_lab_run (lab, engine, scan, NULL, NULL, NULL, &error);
    g_assert_no_error (error);
    const TdLabOutcome *outcome = result->outcomes[0];
    td_test_pin ("%s: %.2e", ways[i], outcome->difference.relative_rms);
    /* Of places between two bins single precision may take the other one. */
    g_assert_cmpfloat (outcome->difference.relative_rms, <, i == 0 ? 0.01 : 1e-5);
  }
}

/* One row of noise. (transfer full) */
static TdScan *
noise_scan (guint n_views)
{
  float rows[24 * 37];
  double angles[37];

  g_assert_cmpuint (n_views, <=, G_N_ELEMENTS (angles));
  td_test_random (rows, 24 * n_views, 3);
  for (guint v = 0; v < n_views; v++)
    angles[v] = G_PI * v / n_views;
  return td_test_scan (rows, 1, n_views, 24, angles);
}

/* For what is asked many times. */
static TdScan *
tiny_scan (void)
{
  return noise_scan (15);
}

/* The noise that even and odd views tell is what a picture has more than one without noise. */
static void
check_noise (const TdLab *lab, const TdLabOutcome *outcome)
{
  g_autoptr (TdScan) scan = scan_of_photons (0);
  const TdLabVariant *variant = lab->variants->pdata[0];
  TdLabDifference difference;
  TdTestVolume clean;

  g_assert_true (td_test_reconstruct (engine, scan, &variant->recipe, &clean, NULL));
  g_assert_cmpuint (clean.n_slices, ==, 1);
  g_autofree double *doubles = g_new (double, (gsize) clean.nx *clean.ny);
  for (gsize i = 0; i < (gsize) clean.nx * clean.ny; i++)
    doubles[i] = clean.slices[i];
  td_lab_difference (outcome->pixels, doubles, (gsize) clean.nx * clean.ny, &difference);
  td_test_pin ("noise %.3g, %.3g by the views", difference.rms, outcome->noise);
  g_assert_cmpfloat_with_epsilon (outcome->noise, difference.rms, 0.1 * difference.rms);
  td_test_volume_clear (&clean);
}

static void
test_run (void)
{
  static const char *const variants[]
      = { "--device host", "--device host --precision half",
          "--device host --interpolation nearest", "--method fourier --device host",
          "--device host --relaxation 0.5" };
  g_autoptr (TdScan) scan = noisy_scan ();
  g_autoptr (GError) error = NULL;
  TdRecipe base;

  td_recipe_init (&base);
  g_autoptr (TdLab) lab = td_lab_new (&base, 1);
  for (guint i = 0; i < G_N_ELEMENTS (variants); i++)
    g_assert_true (td_lab_add (lab, variants[i], NULL));
  lab->reference = lab->measure = lab->budget = TRUE;
  g_autoptr (TdLabResult) result = td_lab_run (lab, engine, scan, count_shown, NULL, NULL, &error);
  g_assert_no_error (error);
  td_test_pin ("%u steps, %g", shown, shown_last);
  g_assert_cmpuint (shown, >, 10);
  g_assert_cmpfloat (shown_last, ==, 1);
  result = copy_alone (lab, g_steal_pointer (&result));
  g_assert_nonnull (result->reference);
  g_assert_cmpint (result->against, ==, -1);
  g_assert_cmpfloat (result->noise, >, 0);

  const TdLabOutcome *single = result->outcomes[0], *half = result->outcomes[1];
  const TdLabOutcome *nearest = result->outcomes[2], *fourier = result->outcomes[3];
  g_assert_null (single->astray);
  g_assert_cmpstr (single->kernel, ==, "host");
  g_assert_cmpfloat (single->arithmetic, <, single->bound);
  g_assert_cmpfloat (single->difference.relative_rms, <, 1e-5);
  g_assert_cmpfloat (td_lab_in_bound (result, 0), ==, single->arithmetic / single->bound);
  g_assert_cmpfloat (td_lab_in_noise (result, 0), <, 1e-2);
  g_assert_cmpfloat (single->warm_s, >, 0);
  g_assert_nonnull (single->frc);
  /* The host computes in single precision, and the lab says that it was asked for half. */
  g_assert_nonnull (half->astray);
  g_assert_cmpstr (half->precision, ==, "single");
  g_assert_cmpfloat (nearest->difference.relative_rms, >, 1e-3);
  g_assert_cmpfloat (nearest->arithmetic, <, nearest->bound);
  g_assert_cmpfloat (fourier->arithmetic, <, fourier->bound);
  g_assert_cmpstr (fourier->method, ==, "fourier");
  /* An option that this method has no use for is refused, as on the command line. */
  g_assert_error (result->outcomes[4]->error, TD_ERROR, TD_ERROR_INVALID);
  g_assert_null (result->outcomes[4]->pixels);
  /* The noise of the base recipe is that of its own variant. */
  g_assert_cmpfloat_with_epsilon (result->noise, single->noise, 1e-4 * result->noise);
  check_noise (lab, single);
  for (guint i = 0; i < 4; i++)
    td_test_pin ("variant %u: noise %.3g, resolution %.3g, %.3g", i, result->outcomes[i]->noise,
                 result->outcomes[i]->frc->half_bit_px, result->outcomes[i]->frc->seventh_px);
  g_assert_cmpuint (result->budget_n, ==, 7);

  g_autofree char *csv = td_lab_csv (lab, result), *svg = td_lab_svg (lab, result);
  g_auto (GStrv) lines = g_strsplit (csv, "\r\n", -1);
  g_assert_cmpuint (g_strv_length (lines), ==, 1 + 5 + 1 + 7 + 1);
  for (guint i = 0; i < 14; i++) {
    guint commas = 0, quotes = 0;
    for (const char *at = lines[i]; *at; at++) {
      quotes += *at == '"';
      commas += *at == ',' && quotes % 2 == 0;
    }
    g_assert_cmpuint (commas, ==, 23);
  }
  g_assert_true (g_str_has_prefix (svg, "<svg"));
  g_assert_null (strstr (svg, "nan"));
}

typedef struct {
  TdPlan *plan;
  const float *rows;
  TdLabShortcuts cuts;
} Scarce;

static gboolean
scarce_truth (gpointer user, GError **error)
{
  const Scarce *self = user;
  g_autofree double *slice = td_lab_truth (self->plan, self->rows, &self->cuts, NULL, error);

  return slice != NULL;
}

/* Without a piece of memory there is no reference, and it is said why. */
static void
test_scarce (void)
{
  static const TdLabShortcuts cuts[]
      = { { 0 }, { .single_filter = TRUE, .half_storage = TRUE }, { .half_run = 4 } };
  g_autofree float *rows = g_new (float, 24 * 15);
  TdBackprojectTask task;
  TdRecipe recipe;

  td_test_random (rows, 24 * 15, 3);
  td_truth_task_init (&task, 24, 15, 180);
  g_autoptr (TdScan) scan = td_test_scan (rows, 1, 15, 24, task.angles_rad);
  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
  recipe.centre_auto = FALSE;
  recipe.centre_px = 11.3;
  for (guint i = 0; i < 2 * G_N_ELEMENTS (cuts); i++) {
    recipe.method = i % 2 ? TD_METHOD_FOURIER : TD_METHOD_FBP;
    if (i % 2 && cuts[i / 2].half_run)
      continue;
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, NULL);
    Scarce self = { .plan = plan, .rows = rows, .cuts = cuts[i / 2] };
    g_assert_cmpuint (td_test_scarce (0, 1, scarce_truth, &self), >, 3);
  }
  td_truth_task_clear (&task);
}

/* A whole turn of a cone about a small object. */
static void
cone_spec (TdPhantomScan *spec, guint n_columns, guint n_rows, guint n_views)
{
  td_phantom_scan_init (spec, NULL, n_columns, n_rows, n_views);
  spec->range_deg = 360;
  spec->geometry.beam = TD_BEAM_CONE;
  spec->geometry.source_axis_mm = 200;
  spec->geometry.source_detector_mm = 400;
}

/* A cone's slice has its reference, noise and budget too. */
static void
test_cone (void)
{
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;
  TdRecipe base;

  cone_spec (&spec, 48, 40, 91);
  spec.geometry.pixel_width_mm = spec.geometry.pixel_height_mm = 100.0 / 48;
  spec.photons = 3000;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  td_recipe_init (&base);
  g_strlcpy (base.devices, "host", sizeof base.devices);
  g_autoptr (TdLab) lab = td_lab_new (&base, 13);
  g_assert_true (td_lab_add (lab, "", NULL));
  g_assert_true (td_lab_add (lab, "--filter hann", NULL));
  lab->reference = lab->measure = lab->budget = TRUE;
  shown_last = 0;
  g_autoptr (TdLabResult) result = td_lab_run (lab, engine, scan, count_shown, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (shown_last, ==, 1);
  g_assert_null (result->no_reference);
  g_assert_null (result->no_measure);
  g_assert_cmpint (result->against, ==, -1);
  /* The base, the second variant and four shortcuts. */
  g_assert_cmpuint (result->budget_n, ==, 4);
  g_assert_cmpuint (result->truths, ==, 6);
  g_assert_cmpfloat (result->truths_s, >, 0);
  g_assert_cmpfloat (result->noise, >, 0);
  g_assert_cmpfloat_with_epsilon (result->noise, result->outcomes[0]->noise, 1e-6 * result->noise);
  g_assert_cmpfloat (result->outcomes[1]->noise, <, 0.8 * result->noise);
  for (guint i = 0; i < 2; i++) {
    g_assert_cmpfloat (result->outcomes[i]->arithmetic, <, result->outcomes[i]->bound);
    g_assert_nonnull (result->outcomes[i]->frc);
  }
  g_assert_cmpfloat (td_lab_in_noise (result, 0), <, 1e-3);
  g_assert_cmpfloat (td_lab_in_noise (result, 1), >, 0.1);
}

/* A scan that is read no more from some time on. */
typedef struct {
  TdScan *inner;
  gint gone, failed; /* failed: how many reads */
} Failing;

static gboolean
failing_fill (gpointer source, const TdFrameRange *range, const TdFrameTarget *target,
              GCancellable *cancellable, GError **error)
{
  Failing *failing = source;

  if (!g_atomic_int_get (&failing->gone))
    return td_scan_fill (failing->inner, range, target, cancellable, error);
  g_atomic_int_inc (&failing->failed);
  g_set_error_literal (error, TD_ERROR, TD_ERROR_IO, "the disk has gone");
  return FALSE;
}

static const TdScanSource failing_vtable = { .fill = failing_fill };

/* When all pictures are there, the disk goes, and what the engine keeps. */
static void
lose_disk (const TdLabResult *result, double part, gpointer user)
{
  gboolean all = TRUE;

  for (guint i = 0; i < result->n; i++)
    all = all && result->outcomes[i];
  g_atomic_int_set (&((Failing *) user)->gone, all);
  td_engine_trim (engine);
}

/* Rows that cannot be made are tried once, not by the reference and by each variant again. */
static void
test_rows_once (void)
{
  g_autoptr (GError) error = NULL;
  Failing failing = { NULL };
  TdPhantomScan spec;
  TdRecipe base;

  cone_spec (&spec, 32, 24, 40);
  spec.geometry.pixel_width_mm = spec.geometry.pixel_height_mm = 2;
  spec.logged = TRUE;
  failing.inner = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  g_autoptr (TdScan) scan = td_test_scan_around (failing.inner, &failing_vtable, &failing);
  td_recipe_init (&base);
  g_strlcpy (base.devices, "host", sizeof base.devices);
  g_autoptr (TdLab) lab = td_lab_new (&base, 12);
  g_assert_true (td_lab_add (lab, "", NULL));
  g_assert_true (td_lab_add (lab, "--filter hann", NULL));
  lab->reference = lab->measure = TRUE;
  g_autoptr (TdLabResult) result
      = td_lab_run (lab, engine, scan, lose_disk, &failing, NULL, &error);
  g_assert_no_error (error);
  td_test_pin ("%d", failing.failed);
  result = copy_alone (lab, g_steal_pointer (&result));
  g_assert_nonnull (result->no_reference);
  g_assert_nonnull (result->no_measure);
  /* Each picture is timed once more, too. */
  g_assert_cmpint (failing.failed, ==, 1 + 2);
  td_scan_unref (failing.inner);
}

/* Of a half acquisition about a tilted axis: its recipe, and with @options. */
static TdLabResult *
tilted_lab (TdPhantomScan *spec, const char *options, gboolean measure)
{
  g_autoptr (TdScan) scan = td_test_tilted_scan (spec);
  g_autoptr (GError) error = NULL;
  TdRecipe base;

  td_recipe_init (&base);
  g_strlcpy (base.devices, "host", sizeof base.devices);
  base.n_steps = 0;
  td_recipe_state_axis (&base, spec->centre_px, spec->tilt_deg);
  g_autoptr (TdLab) lab = td_lab_new (&base, 20);
  g_assert_true (td_lab_add (lab, "", NULL));
  g_assert_true (td_lab_add (lab, options, NULL));
  lab->measure = lab->reference = measure;
  TdLabResult *result = td_lab_run (lab, engine, scan, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
  return result;
}

/* A tilted axis makes slices of the whole detector wider than those of one row. The halves of their
   views are as wide, and the axis lies in the same place. */
static void
test_half_sizes (void)
{
  TdPhantomScan spec;
  g_autoptr (TdLabResult) result = tilted_lab (&spec, "--filter hann", TRUE);
  g_assert_null (result->no_measure);
  g_assert_cmpuint (result->outcomes[0]->nx, >, td_row_blend_width (spec.n_columns, 8.4));
  /* There is no noise: what few views do to edges alone is left, a part of the object's 1. */
  g_assert_cmpfloat (result->noise, >, 0);
  g_assert_cmpfloat (result->noise, <, 0.2 * spec.attenuation);
  for (guint i = 0; i < 2; i++) {
    const TdLabOutcome *outcome = result->outcomes[i];
    g_assert_cmpfloat (outcome->noise, >, 0);
    g_assert_nonnull (outcome->frc);
    g_assert_cmpfloat (outcome->arithmetic, <, outcome->bound);
    td_test_pin ("noise %g, correlation %g", outcome->noise, outcome->frc->correlation[3]);
    g_assert_cmpfloat (outcome->frc->correlation[3], >, 0.9);
  }
}

static void
assert_compared (const TdLabOutcome *outcome, const TdLabOutcome *against)
{
  const gsize n = (gsize) against->nx * against->ny;
  g_autofree double *pixels = g_new (double, n);
  TdLabDifference difference;

  for (gsize i = 0; i < n; i++)
    pixels[i] = against->pixels[i];
  td_lab_difference (outcome->pixels, pixels, (gsize) against->nx * against->ny, &difference);
  g_assert_true (outcome->compared);
  g_assert_cmpuint (outcome->difference.n, ==, n);
  g_assert_cmpfloat (outcome->difference.rms, ==, difference.rms);
  g_assert_cmpfloat (outcome->difference.max_abs, ==, difference.max_abs);
}

/* Without a reference all are compared with the first picture there is, and the line is the busiest
   one of that, unless it was given. What iterates is not run again to be timed. */
static void
test_first (void)
{
  static const char *const variants[]
      = { "--device host --relaxation 0.5", "--device host --filter hann", "--device host",
          "--device host --method sirt --iterations 1" };
  g_autoptr (TdScan) scan = noisy_scan ();
  TdRecipe base;

  td_recipe_init (&base);
  for (guint given = 0; given < 2; given++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (TdLab) lab = td_lab_new (&base, 1);
    for (guint i = 0; i < G_N_ELEMENTS (variants); i++)
      g_assert_true (td_lab_add (lab, variants[i], NULL));
    lab->has_line = given;
    lab->line = (TdLabLine) { 3, 4, 40, 50 };
    g_autoptr (TdLabResult) result = td_lab_run (lab, engine, scan, NULL, NULL, NULL, &error);
    g_assert_no_error (error);
    g_assert_null (result->reference);
    g_assert_cmpint (result->against, ==, 1);
    g_assert_true (td_lab_against (result) == result->outcomes[1]);
    g_assert_cmpfloat (result->outcomes[1]->difference.rms, ==, 0);
    const TdLabLine line
        = given ? lab->line
                : td_lab_busiest_line (result->outcomes[1]->pixels, result->outcomes[1]->nx,
                                       result->outcomes[1]->ny);
    g_assert_cmpmem (&result->line, sizeof line, &line, sizeof line);
    for (guint i = 1; i < 4; i++) {
      const TdLabOutcome *outcome = result->outcomes[i];
      assert_compared (outcome, result->outcomes[1]);
      g_assert_true (isnan (outcome->arithmetic) && isnan (outcome->noise) && !outcome->frc);
      g_assert_true (isnan (td_lab_in_noise (result, i)));
      g_assert_true (isnan (td_lab_in_bound (result, i)));
      g_assert_cmpint (isfinite (outcome->warm_s), ==, i < 3);
      g_assert_cmpint (isfinite (outcome->updates_per_s), ==, i < 3);
      g_assert_true (i == 3 || (outcome->warm_s > 0 && outcome->updates_per_s > 0));
    }
    g_assert_true (result->outcomes[0]->error && !result->outcomes[0]->compared);
  }
  /* Where none could be made, the first one's reason is told. */
  g_autoptr (GError) error = NULL;
  g_autoptr (TdLab) none = td_lab_new (&base, 1);
  g_assert_true (td_lab_add (none, "--relaxation 0.5", NULL));
  g_assert_true (td_lab_add (none, "--filter hann --tolerance 0.5", NULL));
  g_assert_null (td_lab_run (none, engine, scan, NULL, NULL, NULL, &error));
  g_autofree char *text = td_error_text (error, NULL);
  g_assert_nonnull (strstr (text, "--relaxation is not used here"));
  /* One that can be made is enough, whichever it is. */
  for (guint works = 0; works < 3; works++) {
    g_autoptr (TdScan) tiny = tiny_scan ();
    g_autoptr (TdLab) lab = td_lab_new (&base, 0);
    for (guint i = 0; i < 3; i++)
      g_assert_true (td_lab_add (lab, i == works ? "--device host" : "--relaxation 0.5", NULL));
    g_autoptr (TdLabResult) result = td_lab_run (lab, engine, tiny, NULL, NULL, NULL, NULL);
    g_assert_nonnull (result);
    g_assert_cmpint (result->against, ==, works);
    for (guint i = 0; i < 3; i++)
      g_assert_true ((i == works) == (result->outcomes[i]->pixels != NULL));
  }
}

/* A variant of another size is shown, and says that it is not compared. */
static void
test_other_size (void)
{
  TdPhantomScan spec;
  g_autoptr (TdLabResult) result = tilted_lab (&spec, "--field-of-view full", FALSE);
  const TdLabOutcome *wide = result->outcomes[0], *narrow = result->outcomes[1];
  g_assert_cmpuint (narrow->nx, ==, spec.n_columns);
  g_assert_cmpuint (wide->nx, >, spec.n_columns);
  g_assert_true (wide->compared && !narrow->compared);
  g_autofree char *astray = td_messages_join (narrow->astray, "; ", NULL);
  g_autofree char *wanted = g_strdup_printf ("%u × %u pixels are not compared with %u × %u",
                                             narrow->nx, narrow->ny, wide->nx, wide->ny);
  g_assert_cmpstr (astray, ==, wanted);
}

static void
cancel_first (const TdLabResult *result, double fraction, gpointer user)
{
  g_cancellable_cancel (user);
}

static void
test_cancel (void)
{
  g_autoptr (TdScan) scan = noisy_scan ();
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  TdRecipe base;

  td_recipe_init (&base);
  g_autoptr (TdLab) lab = td_lab_new (&base, 1);
  g_assert_true (td_lab_add (lab, "--device host", NULL));
  g_assert_null (td_lab_run (lab, engine, scan, NULL, NULL, NULL, &error));
  g_assert_error (error, TD_ERROR, TD_ERROR_INVALID); /* one variant is no lab */
  g_clear_error (&error);
  g_assert_true (td_lab_add (lab, "--device host --filter hann", NULL));
  g_assert_null (td_lab_run (lab, engine, scan, cancel_first, cancellable, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

typedef struct {
  GCancellable *cancellable;
  guint left; /* until it is cancelled */
  gboolean last;
} Patience;

static void
lose_patience (const TdLabResult *result, double fraction, gpointer user)
{
  Patience *patience = user;

  if (patience->left-- > 0)
    return;
  g_cancellable_cancel (patience->cancellable);
  patience->last = fraction >= 1;
}

/* Whenever a lab is cancelled, nothing comes of it. */
static void
test_cancel_anywhere (void)
{
  g_autoptr (TdScan) scan = tiny_scan ();
  guint after = 0, cancelled = 0;
  gboolean emulate = FALSE;
  TdRecipe base;

  td_recipe_init (&base);
  g_strlcpy (base.devices, "host", sizeof base.devices);
  g_autoptr (TdLab) lab = td_lab_new (&base, 0);
  g_assert_true (td_lab_add (lab, "", NULL) && td_lab_add (lab, "--filter hann", NULL));
  for (gboolean all = FALSE; !all || !emulate; after = all ? 0 : after + 1) {
    emulate = emulate || all;
    lab->emulate = emulate;
    lab->reference = lab->measure = lab->budget = !emulate;
    g_autoptr (GCancellable) cancellable = g_cancellable_new ();
    g_autoptr (GError) error = NULL;
    Patience patience = { cancellable, after, FALSE };
    g_autoptr (TdLabResult) result
        = td_lab_run (lab, engine, scan, lose_patience, &patience, cancellable, &error);
    all = !g_cancellable_is_cancelled (cancellable) || patience.last;
    if (all)
      continue;
    g_assert_null (result);
    g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    cancelled++;
  }
  g_assert_cmpuint (cancelled, >, 10);
}

static void
check_told (const TdLabResult *result, double fraction, gpointer user)
{
  if (result->outcomes[1] && result->outcomes[1]->emulated)
    g_assert_cmpuint (result->truths, >, 0);
}

/* What is emulated is double precision too: its cost is told before it is begun. */
static void
test_emulated_cost (void)
{
  g_autoptr (TdScan) scan = noisy_scan ();
  TdRecipe base;

  td_recipe_init (&base);
  g_strlcpy (base.devices, "host", sizeof base.devices);
  g_autoptr (TdLab) lab = td_lab_new (&base, 1);
  g_assert_true (td_lab_add (lab, "--interpolation linear", NULL));
  g_assert_true (td_lab_add (lab, "--kernel oversampling", NULL));
  lab->emulate = TRUE;
  for (guint again = 0; again < 2; again++) {
    g_autoptr (GError) error = NULL;

    lab->reference = again == 1; /* the base and both variants have the same */
    g_autoptr (TdLabResult) result = td_lab_run (lab, engine, scan, check_told, NULL, NULL, &error);
    g_assert_no_error (error);
    g_assert_true (result->outcomes[1]->emulated);
    g_assert_cmpuint (result->truths, ==, again ? 2 : 1);
    g_assert_cmpfloat (result->truths_s, >, 0);
  }
}

/* ── What a run makes, made again ── */

/* A small cone without noise. (transfer full) */
static TdScan *
tiny_cone (void)
{
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;

  cone_spec (&spec, 20, 12, 16);
  spec.geometry.pixel_width_mm = spec.geometry.pixel_height_mm = 4;
  spec.logged = TRUE;
  TdScan *scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  return scan;
}

/* The recipe that a tiny scan's labs begin with, on the host. */
static void
tiny_base (TdRecipe *base, TdMethodKind method)
{
  td_recipe_init (base);
  g_strlcpy (base->devices, "host", sizeof base->devices);
  base->method = method;
  base->n_steps = 0;
  if (method != TD_METHOD_FDK)
    td_recipe_state_axis (base, 11.3, 0);
}

/* The picture of @recipe in double precision with @cuts, made without a lab. (transfer full) */
static double *
double_slice (TdScan *scan, const TdRecipe *recipe, const TdLabShortcuts *cuts, gsize *n)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, recipe, NULL, NULL, &error);

  g_assert_no_error (error);
  g_autoptr (TdLabRows) rows = td_lab_rows_new (plan, engine, scan, NULL, &error);
  g_assert_no_error (error);
  double *slice = td_lab_truth (plan, td_lab_rows_data (rows), cuts, NULL, &error);
  g_assert_no_error (error);
  *n = (gsize) td_plan_facts (plan)->nx * td_plan_facts (plan)->ny;
  return slice;
}

static void
assert_doubles (const TdLabOutcome *outcome, const double *slice, gsize n)
{
  g_assert_cmpuint ((gsize) outcome->nx * outcome->ny, ==, n);
  for (gsize i = 0; i < n; i++)
    g_assert_cmpfloat (outcome->pixels[i], ==, (float) slice[i]);
}

static void
assert_same_difference (const TdLabDifference *a, const TdLabDifference *b)
{
  g_assert_cmpuint (a->n, ==, b->n);
  g_assert_cmpfloat (a->rms, ==, b->rms);
  g_assert_cmpfloat (a->relative_rms, ==, b->relative_rms);
  g_assert_cmpfloat (a->max_abs, ==, b->max_abs);
  g_assert_cmpfloat (a->psnr_db, ==, b->psnr_db);
}

/* Rows, and the halves of their views. */
typedef struct {
  TdScan *scan;
  TdPlan *plan;
} ScarceRows;

static gboolean
scarce_rows (gpointer user, GError **error)
{
  const ScarceRows *self = user;
  g_autoptr (TdLabRows) rows = td_lab_rows_new (self->plan, engine, self->scan, NULL, error);
  g_autoptr (TdPlan) half
      = rows ? td_lab_rows_half (rows, engine, self->plan, 1, NULL, error) : NULL;

  td_engine_trim (engine);
  return half != NULL;
}

static gboolean
scarce_rings (gpointer user, GError **error)
{
  const float *pictures = user;
  TdLabFrc *frc = td_lab_frc_new (pictures, pictures + 400, 20, 20);

  if (!frc) /* it says nothing */
    return td_set_error (error, TD_ERROR_IO, "no correlation");
  td_lab_frc_unref (frc);
  return TRUE;
}

/* The same of a cone, of the rows of either beam, and of ring correlation. */
static void
test_scarce_others (void)
{
  static const TdLabShortcuts cuts[] = { { 0 }, { .single_filter = TRUE } };
  static const TdMethodKind methods[] = { TD_METHOD_FBP, TD_METHOD_FDK };
  float pictures[800];

  td_test_random (pictures, G_N_ELEMENTS (pictures), 4);
  g_assert_cmpuint (td_test_scarce (0, 1, scarce_rings, pictures), >, 0);
  for (guint i = 0; i < G_N_ELEMENTS (methods); i++) {
    const gboolean cone = methods[i] == TD_METHOD_FDK;
    g_autoptr (TdScan) scan = cone ? tiny_cone () : tiny_scan ();
    TdRecipe base;
    tiny_base (&base, methods[i]);
    base.row_first = cone ? 5 : 0;
    base.row_end = base.row_first + 1;
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &base, NULL, NULL, NULL);
    ScarceRows of = { scan, plan };
    const guint pieces = td_test_scarce (0, 1, scarce_rows, &of);
    g_test_message ("%u pieces", pieces);
    g_assert_cmpuint (pieces, >, 3);
    g_autoptr (TdLabRows) rows = td_lab_rows_new (plan, engine, scan, NULL, NULL);
    for (guint k = 0; cone && k < G_N_ELEMENTS (cuts); k++) {
      Scarce self = { plan, td_lab_rows_data (rows), cuts[k] };
      g_assert_cmpuint (td_test_scarce (0, 1, scarce_truth, &self), >, 3);
    }
  }
}

typedef struct {
  TdScan *scan;
  TdLab *lab;
  guint without; /* runs in which something was missing */
} ScarceLab;

static gboolean
scarce_lab (gpointer user, GError **error)
{
  ScarceLab *self = user;
  g_autoptr (TdLabResult) result
      = td_lab_run (self->lab, engine, self->scan, NULL, NULL, NULL, error);
  gboolean without = !result;

  td_engine_trim (engine);
  for (guint i = 0; result && i < result->n; i++) {
    const TdLabOutcome *outcome = result->outcomes[i];
    g_assert_true (!outcome->error == (outcome->pixels != NULL));
    g_assert_true (!outcome->error || !outcome->compared);
    without |= outcome->error || isnan (outcome->arithmetic);
  }
  if (result) {
    g_assert_true (!result->reference == (result->no_reference != NULL));
    g_assert_true ((self->lab->measure && isnan (result->noise)) == (result->no_measure != NULL));
    g_assert_cmpuint (result->budget_n, ==, self->lab->budget && result->reference ? 7 : 0);
    without |= !result->reference || result->no_measure;
  }
  self->without += without;
  return result != NULL;
}

/* A lab goes on without what there is no memory for, and says of each thing why it is not there. */
static void
test_scarce_lab (void)
{
  g_autoptr (TdScan) scan = tiny_scan ();
  TdRecipe base;

  tiny_base (&base, TD_METHOD_FBP);
  base.interpolation = TD_INTERPOLATION_LINEAR;
  g_autoptr (TdLab) lab = td_lab_new (&base, 0);
  g_assert_true (td_lab_add (lab, "", NULL) && td_lab_add (lab, "--filter hann", NULL));
  for (guint all = 0; all < 2; all++) {
    ScarceLab self = { scan, lab, 0 };
    lab->reference = TRUE;
    lab->measure = lab->budget = all;
    const guint pieces = td_test_scarce (all, all ? 12 : 2, scarce_lab, &self);
    g_test_message ("%u pieces, %u", pieces, self.without);
    g_assert_cmpuint (self.without, >, 2);
  }
}

/* The budget has each shortcut that kernels of the method take, alone, by its error. The reference
   is the base recipe's slice in double precision. */
static void
test_budget (gconstpointer data)
{
  static const struct {
    const char *id;
    TdLabShortcuts cuts;
    gboolean fourier, cone;
  } shortcuts[] = {
    { "storage", { .half_storage = TRUE }, TRUE, TRUE },
    { "weights-8-bits", { .samples = 256 }, FALSE, TRUE },
    { "weights-4-samples", { .samples = 4 }, FALSE, FALSE },
    { "weights-nearest", { .samples = 1 }, FALSE, FALSE },
    { "sums-single", { .single_sums = TRUE }, FALSE, TRUE },
    { "sums-half-runs", { .half_run = 16 }, FALSE, FALSE },
    { "filter-single", { .single_filter = TRUE }, TRUE, TRUE },
  };
  const TdMethodKind method = (TdMethodKind) GPOINTER_TO_INT (data);
  const gboolean cone = method == TD_METHOD_FDK, fourier = method == TD_METHOD_FOURIER;
  /* Views of two runs of sixteen, and some. */
  g_autoptr (TdScan) scan = cone ? tiny_cone () : noise_scan (37);
  g_autoptr (GError) error = NULL;
  TdLabDifference difference;
  guint n_rows = 0;
  TdRecipe base;
  gsize n;

  tiny_base (&base, method);
  base.precision = TD_PRECISION_HALF; /* the reference has no use for it */
  g_autoptr (TdLab) lab = td_lab_new (&base, cone ? 5 : 0);
  g_assert_true (td_lab_add (lab, "--precision single", NULL));
  g_assert_true (td_lab_add (lab, "--precision single --filter hann", NULL));
  lab->reference = lab->budget = TRUE;
  g_autoptr (TdLabResult) result = td_lab_run (lab, engine, scan, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
  TdRecipe recipe = lab->base;
  recipe.precision = TD_PRECISION_SINGLE;
  g_autofree double *truth = double_slice (scan, &recipe, NULL, &n);
  assert_doubles (result->reference, truth, n);
  g_assert_cmpstr (result->reference->precision, ==, "double");
  g_assert_cmpstr (result->reference->device, ==, "host");
  g_assert_cmpfloat (result->reference->first_s, >, 0);
  g_assert_cmpstr (result->reference->method, ==, td_method_names[method]);
  for (guint i = 0; i < G_N_ELEMENTS (shortcuts); i++) {
    if ((cone && !shortcuts[i].cone) || (fourier && !shortcuts[i].fourier))
      continue;
    const TdLabBudgetRow *row = &result->budget[n_rows++];
    g_autofree double *slice = double_slice (scan, &recipe, &shortcuts[i].cuts, &n);
    td_lab_difference_double (slice, truth, n, &difference);
    g_assert_cmpuint (n_rows, <=, result->budget_n);
    g_assert_cmpstr (row->id, ==, shortcuts[i].id);
    g_assert_nonnull (row->label);
    if (shortcuts[i].cuts.single_filter) /* FFTW measures plans of single precision */
      g_assert_cmpfloat_with_epsilon (row->difference.rms / difference.rms, 1, 0.5);
    else
      assert_same_difference (&row->difference, &difference);
  }
  g_assert_cmpuint (result->budget_n, ==, n_rows);
  g_assert_cmpuint (result->truths, ==, 1 + n_rows + 1); /* the other variant's, too */
  /* A variant is told by its own recipe in double precision, and by the reference. */
  for (guint i = 0; i < 2; i++) {
    const TdLabOutcome *outcome = result->outcomes[i];
    const TdLabVariant *variant = lab->variants->pdata[i];
    g_autofree double *own = double_slice (scan, &variant->recipe, NULL, &n);
    td_lab_difference (outcome->pixels, own, n, &difference);
    g_assert_cmpfloat (outcome->arithmetic, ==, difference.relative_rms);
    td_lab_difference (outcome->pixels, truth, n, &difference);
    assert_same_difference (&outcome->difference, &difference);
  }
}

/* Even or odd views of the row that @plan's job reconstructs, and their picture. */
static void
plain_half (const TdPlan *plan, const float *sinogram, guint parity, TdTestVolume *volume)
{
  const TdScanFacts *facts = td_scan_facts (plan->scan);
  const guint n = (facts->n_views + 1 - parity) / 2;
  g_autofree float *rows = g_new (float, (gsize) n * facts->n_columns);
  g_autofree double *angles = g_new (double, n);
  TdRecipe half = plan->recipe;

  for (guint i = 0; i < n; i++) {
    angles[i] = facts->angles_rad[2 * i + parity];
    memcpy (rows + (gsize) i * facts->n_columns,
            sinogram + (gsize) (2 * i + parity) * facts->n_columns,
            facts->n_columns * sizeof *rows);
  }
  g_autoptr (TdScan) scan = td_test_scan (rows, 1, n, facts->n_columns, angles);
  half.n_steps = half.bin_views = half.view_first = half.view_end = 0;
  half.row_first = half.row_end = 0;
  half.mask[0] = '\0';
  memset (half.crop, 0, sizeof half.crop);
  memset (half.bin, 0, sizeof half.bin);
  td_recipe_state_axis (&half, td_fbp_centre (plan->extra, plan->facts.first_slice), 0);
  g_assert_true (td_test_reconstruct (engine, scan, &half, volume, NULL));
}

/* One choice of a recipe after the other. The reference is of the same rows as the picture: only
   arithmetic keeps them apart. The noise is that of both halves of these rows. */
static void
test_choices (void)
{
  static const char *const choices[][4] = {
    { NULL },
    { "crop", "3,1,24,4" },
    { "bin", "2" },
    { "bin-views", "2" },
    { "views", "3:34" },
    { "angle-offset", "17" },
    { "reverse-rotation", "true" },
    { "region", "3,5,19,17" },
    { "centre", "13.1" },
    { "centre", "14", "tilt", "3" },
    { "filter", "parzen" },
    { "padding", "edge" },
    { "interpolation", "nearest" },
    { "method", "fourier" },
    { "prepare", "none" },
    { "crop", "3,1,24,4", "region", "2,3,18,20" },
  };
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;

  td_phantom_scan_init (&spec, NULL, 32, 6, 40);
  spec.photons = 2000;
  spec.attenuation = 1;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (choices); i++) {
    g_autofree float *sinogram = NULL;
    TdTestVolume halves[2];
    TdRecipe base;

    td_recipe_init (&base);
    g_strlcpy (base.devices, "host", sizeof base.devices);
    base.interpolation = TD_INTERPOLATION_LINEAR;
    td_recipe_state_axis (&base, 15.5, 0);
    for (guint k = 0; k < 4 && choices[i][k]; k += 2)
      g_assert_true (td_recipe_set (&base, choices[i][k], choices[i][k + 1], NULL));
    g_autoptr (TdLab) lab = td_lab_new (&base, 2);
    g_assert_true (td_lab_add (lab, "", NULL) && td_lab_add (lab, "--device host", NULL));
    lab->reference = lab->measure = TRUE;
    g_autoptr (TdLabResult) result = td_lab_run (lab, engine, scan, NULL, NULL, NULL, &error);
    g_assert_no_error (error);
    const TdLabOutcome *outcome = result->outcomes[0];
    g_test_message ("%s: %g of %g, noise %g", choices[i][0], outcome->arithmetic, outcome->bound,
                    outcome->noise);
    g_assert_cmpuint (result->truths, ==, 1);
    g_assert_cmpfloat (outcome->arithmetic, <, outcome->bound);

    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &lab->base, NULL, NULL, &error);
    g_assert_no_error (error);
    g_autoptr (TdJob) job = td_job_new (plan);
    td_job_set_sink (job, ignore_slices, NULL);
    td_job_set_sinogram_sink (job, take_sinogram, &sinogram);
    g_assert_true (td_job_run (job, NULL, NULL));
    for (guint parity = 0; parity < 2; parity++)
      plain_half (plan, sinogram, parity, &halves[parity]);
    const gsize n = (gsize) outcome->nx * outcome->ny;
    g_assert_cmpuint ((gsize) halves[0].nx * halves[0].ny, ==, n);
    const double noise = td_lab_noise (halves[0].slices, halves[1].slices, n);
    g_assert_cmpfloat_with_epsilon (outcome->noise / noise, 1, 1e-5);
    g_assert_cmpfloat_with_epsilon (result->noise / noise, 1, 1e-5);
    g_autoptr (TdLabFrc) frc
        = td_lab_frc_new (halves[0].slices, halves[1].slices, outcome->nx, outcome->ny);
    g_assert_cmpint (frc != NULL, ==, outcome->frc != NULL);
    for (guint r = 0; frc && r < frc->n; r++)
      g_assert_cmpfloat_with_epsilon (outcome->frc->correlation[r], frc->correlation[r], 1e-4);
    for (guint parity = 0; parity < 2; parity++)
      td_test_volume_clear (&halves[parity]);
  }
}

/* The same of a cone: both halves' shares add up to the picture. */
static void
test_cone_choices (void)
{
  static const char *const choices[][2] = {
    { NULL },
    { "crop", "1,2,18,9" },
    { "bin", "2" },
    { "views", "1:16" },
    { "angle-offset", "17" },
    { "region", "3,4,16,16" },
    { "reverse-rotation", "true" },
    { "centre", "9.2" },
    { "filter", "parzen" },
    { "prepare", "none" },
  };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = tiny_cone ();

  for (guint i = 0; i < G_N_ELEMENTS (choices); i++) {
    TdLabDifference difference;
    TdRecipe base;

    tiny_base (&base, TD_METHOD_FDK);
    if (choices[i][0])
      g_assert_true (td_recipe_set (&base, choices[i][0], choices[i][1], NULL));
    g_autoptr (TdLab) lab = td_lab_new (&base, base.bin[0] ? 2 : 4);
    g_assert_true (td_lab_add (lab, "", NULL) && td_lab_add (lab, "--device host", NULL));
    lab->reference = lab->measure = TRUE;
    g_autoptr (TdLabResult) result = td_lab_run (lab, engine, scan, NULL, NULL, NULL, &error);
    g_assert_no_error (error);
    const TdLabOutcome *outcome = result->outcomes[0];
    const gsize n = (gsize) outcome->nx * outcome->ny;
    g_test_message ("%s: %g of %g, noise %g", choices[i][0], outcome->arithmetic, outcome->bound,
                    outcome->noise);
    g_assert_cmpuint (result->truths, ==, 1);
    g_assert_cmpfloat (outcome->arithmetic, <, outcome->bound);
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &lab->base, NULL, NULL, &error);
    g_assert_no_error (error);
    g_autoptr (TdLabRows) rows = td_lab_rows_new (plan, engine, scan, NULL, &error);
    g_assert_no_error (error);
    g_autofree float *halves = g_new (float, 2 * n);
    g_autofree double *sum = g_new (double, n);
    for (guint parity = 0; parity < 2; parity++) {
      g_autoptr (TdPlan) half = td_lab_rows_half (rows, engine, plan, parity, NULL, &error);
      g_assert_no_error (error);
      g_autoptr (TdJob) job = td_job_new (half);
      td_job_set_slice (job, halves + parity * n);
      g_assert_true (td_job_run (job, NULL, NULL));
    }
    for (gsize k = 0; k < n; k++)
      sum[k] = halves[k] + halves[n + k];
    td_lab_difference (outcome->pixels, sum, n, &difference);
    g_assert_cmpfloat (difference.relative_rms, <, 1e-5);
    const double noise = 2 * td_lab_noise (halves, halves + n, n);
    g_assert_cmpfloat_with_epsilon (outcome->noise / noise, 1, 1e-5);
    g_assert_cmpfloat_with_epsilon (result->noise / noise, 1, 1e-5);
  }
}

typedef struct {
  const char *options;
  gboolean emulated;
  TdLabShortcuts cuts;
} Emulated;

static void
check_emulated (TdScan *scan, const TdRecipe *base, guint row, const Emulated *cases, guint n_cases,
                guint n_truths)
{
  g_autoptr (TdLab) lab = td_lab_new (base, row);
  g_autoptr (GError) error = NULL;
  gsize n;

  for (guint i = 0; i < n_cases; i++)
    g_assert_true (td_lab_add (lab, cases[i].options, NULL));
  lab->emulate = lab->reference = TRUE;
  g_autoptr (TdLabResult) result = td_lab_run (lab, engine, scan, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < n_cases; i++) {
    const TdLabOutcome *outcome = result->outcomes[i];
    const TdLabVariant *variant = lab->variants->pdata[i];
    g_test_message ("%s", cases[i].options);
    g_assert_cmpint (outcome->emulated, ==, cases[i].emulated);
    if (!outcome->emulated)
      continue;
    TdRecipe plain = variant->recipe;
    TdLabDifference difference;
    g_strlcpy (plain.family, "auto", sizeof plain.family);
    plain.precision = TD_PRECISION_SINGLE;
    if (plain.interpolation == TD_INTERPOLATION_AUTO)
      plain.interpolation = TD_INTERPOLATION_LINEAR;
    g_autofree double *slice = double_slice (scan, &plain, &cases[i].cuts, &n);
    g_autofree double *exact = double_slice (scan, &plain, NULL, &n);
    assert_doubles (outcome, slice, n);
    td_lab_difference (outcome->pixels, exact, n, &difference);
    g_assert_cmpfloat (outcome->arithmetic, ==, difference.relative_rms);
    g_autofree char *astray = td_messages_join (outcome->astray, "; ", NULL);
    g_assert_cmpstr (astray, ==,
                     "no device here does it: emulated in double precision by its shortcuts alone");
    g_assert_cmpstr (outcome->precision, ==, td_precision_names[variant->recipe.precision]);
    g_assert_cmpstr (outcome->device, ==, "host");
    g_assert_null (outcome->error);
    g_assert_true (isnan (outcome->warm_s) && isnan (outcome->noise) && outcome->compared);
  }
  g_assert_cmpuint (result->truths, ==, n_truths);
}

/* What the host alone cannot do is emulated by the shortcuts that its name stands for. */
static void
test_emulated (void)
{
  static const Emulated parallel[] = {
    { "--precision half", TRUE, { .half_storage = TRUE } },
    { "--precision half-run", TRUE, { .half_storage = TRUE, .half_run = 16 } },
    { "--kernel oversampling", TRUE, { .samples = 4 } },
    { "--kernel texture", TRUE, { .samples = 256 } },
    { "--kernel texture --precision half", TRUE, { .half_storage = TRUE, .samples = 256 } },
    { "--kernel oversampling --precision half-run", TRUE, { TRUE, 4, FALSE, 16, FALSE } },
    { "--interpolation nearest --precision half", TRUE, { .half_storage = TRUE } },
    { "--kernel standard", FALSE, { 0 } },
    { "--precision single", FALSE, { 0 } },
  };
  static const Emulated others[] = {
    { "--method fourier --precision half", FALSE, { 0 } },
    { "--precision single --filter hann", FALSE, { 0 } },
    { "--kernel host", FALSE, { 0 } },
  };
  static const Emulated cones[] = {
    { "--kernel texture", TRUE, { .samples = 256 } },
    { "--precision half", TRUE, { .half_storage = TRUE } },
    { "--kernel texture --precision half", TRUE, { .half_storage = TRUE, .samples = 256 } },
    { "--kernel standard", FALSE, { 0 } },
    { "--precision single", FALSE, { 0 } },
  };
  g_autoptr (TdScan) scan = noise_scan (37), cone = tiny_cone ();
  TdRecipe base;

  tiny_base (&base, TD_METHOD_FBP);
  base.interpolation = TD_INTERPOLATION_LINEAR;
  /* Linear and nearest, and what is emulated. */
  check_emulated (scan, &base, 0, parallel, G_N_ELEMENTS (parallel), 2 + 7);
  /* Of filtered back-projection by two filters, and of the Fourier method. */
  check_emulated (scan, &base, 0, others, G_N_ELEMENTS (others), 3);
  tiny_base (&base, TD_METHOD_FDK);
  base.interpolation = TD_INTERPOLATION_LINEAR;
  check_emulated (cone, &base, 5, cones, G_N_ELEMENTS (cones), 1 + 3);
}

/* The curve above that has none below is what the others differ from. */
static void
check_differences (const TdLabPlot *above, const TdLabPlot *below)
{
  const TdLabSeries *from = NULL;

  g_assert_cmpuint (below->series->len, ==, above->series->len - 1);
  for (guint i = 0; i < above->series->len; i++) {
    const TdLabSeries *series = above->series->pdata[i];
    if (!test_lab_series (below, series->name))
      from = series;
  }
  g_assert_nonnull (from);
  for (guint i = 0; i < below->series->len; i++) {
    const TdLabSeries *series = below->series->pdata[i];
    const TdLabSeries *whole = test_lab_series (above, series->name);
    for (guint k = 0; k < series->n; k++) {
      g_assert_cmpfloat (series->x[k], ==, k);
      g_assert_cmpfloat (whole->x[k], ==, k);
      g_assert_cmpfloat (series->y[k], ==, fabs (whole->y[k] - from->y[k]));
    }
  }
}

/* How often the review told how far it is, and how far it was. */
typedef struct {
  guint n;
  double fraction;
} Told;

static void
count_told (const TdLabResult *result, double fraction, gpointer user)
{
  Told *told = user;

  g_assert_nonnull (result->outcomes[0]);
  g_assert_cmpfloat (fraction, >, told->fraction);
  told->fraction = fraction;
  told->n++;
}

/* What no device does is emulated, and says so; oversampling is nearer to linear than nearest is,
   as the review's Figure 18 shows. */
static void
test_review (void)
{
  g_autoptr (TdScan) scan = noisy_scan ();
  g_autoptr (GError) error = NULL;
  TdRecipe base;

  td_recipe_init (&base);
  g_strlcpy (base.devices, "host", sizeof base.devices);
  g_autoptr (TdLab) lab = td_lab_new (&base, 1);
  g_assert_true (td_lab_review_add (lab, &error));
  Told told = { 0 };
  g_autoptr (TdLabReview) review
      = td_lab_review_run (lab, engine, scan, count_told, &told, NULL, &error);
  g_assert_no_error (error);
  /* Of the phantom, too: each picture, and each that is measured. */
  g_assert_cmpuint (told.n, >=, 2 * 2 * 4);
  g_assert_cmpfloat_with_epsilon (told.fraction, 1, 1e-9);
  TdLabResult *const results[] = { review->scan, review->phantom };
  for (guint i = 0; i < 2; i++) {
    TdLabOutcome *const *outcomes = results[i]->outcomes;
    g_assert_false (outcomes[0]->emulated);
    g_assert_true (outcomes[1]->emulated && outcomes[1]->astray);
    g_assert_true (outcomes[3]->emulated && outcomes[3]->astray);
  }
  TdLabDifference d[4];
  const TdLabOutcome *linear = review->scan->outcomes[0];
  const gsize n = (gsize) linear->nx * linear->ny;
  g_autofree double *reference = g_new (double, n);
  for (gsize i = 0; i < n; i++)
    reference[i] = linear->pixels[i];
  for (guint i = 1; i < 4; i++)
    td_lab_difference (review->scan->outcomes[i]->pixels, reference,
                       (gsize) linear->nx * linear->ny, &d[i]);
  g_assert_cmpfloat (d[1].rms, <, 0.01 * d[2].rms); /* half: lines that overlap completely */
  g_assert_cmpfloat (d[3].rms, <, 0.5 * d[2].rms);
  for (guint i = 0; i < 4; i++)
    g_assert_cmpfloat (review->errors[i].rms, >, 0);
  TdLabPlot *plots[TD_LAB_REVIEW_PLOTS];
  td_lab_review_plots (review, plots);
  for (guint i = 0; i < TD_LAB_REVIEW_PLOTS; i += i % 2 ? 3 : 1) /* two beside, two below them */
    check_differences (plots[i], plots[i + 2]);
  g_autofree char *svg = td_lab_review_svg (plots);
  for (guint i = 0; i < TD_LAB_REVIEW_PLOTS; i++)
    td_lab_plot_unref (plots[i]);
  for (const char *const *words = (const char *const[]) { "Figure 7", "Figure 8", "Figure 18",
                                                          "Figure 19", "emulated", NULL };
       *words; words++)
    g_assert_nonnull (strstr (svg, *words));
}

/* Each figure's curves, above and below, made again from the pictures. */
static void
check_figures (const TdLabReview *review, TdLabPlot *const *plots)
{
  static const char *const names[]
      = { "linear, single", "linear, half (emulated)", "nearest", "oversampling (emulated)" };
  static const struct {
    const char *begins, *below;
    gboolean phantom;
    int shown[5]; /* variants, -1: the phantom; -2: no more */
    int from;
  } figures[] = {
    { "Figure 7:", "of the two", TRUE, { 0, 1, -2 }, 0 },
    { "Figure 8:", "of the two", FALSE, { 0, 1, -2 }, 0 },
    { "Figure 18:", "from the phantom", TRUE, { -1, 2, 0, 3, -2 }, -1 },
    { "Figure 19:", "from linear", FALSE, { 2, 0, 3, -2 }, 0 },
  };

  for (guint f = 0; f < G_N_ELEMENTS (figures); f++) {
    const TdLabPlot *above = plots[f / 2 * 4 + f % 2], *below = plots[f / 2 * 4 + 2 + f % 2];
    const TdLabResult *result = figures[f].phantom ? review->phantom : review->scan;
    const TdLabOutcome *any = result->outcomes[0];
    const guint n = td_lab_profile_length (&result->line);
    g_autofree double *values = g_new (double, n), *from = g_new (double, n);
    guint place = 0, n_below = 0;

    g_assert_true (g_str_has_prefix (above->title, figures[f].begins));
    g_assert_true (g_str_has_suffix (below->title, figures[f].below));
    td_lab_profile (figures[f].from < 0 ? review->truth : any->pixels, any->nx, any->ny,
                    &result->line, n, from);
    for (const int *shown_one = figures[f].shown; *shown_one != -2; shown_one++, place++) {
      const TdLabSeries *series = above->series->pdata[place];
      const float *pixels = *shown_one < 0 ? review->truth : result->outcomes[*shown_one]->pixels;
      td_lab_profile (pixels, any->nx, any->ny, &result->line, n, values);
      g_assert_cmpstr (series->name, ==, *shown_one < 0 ? "phantom" : names[*shown_one]);
      g_assert_cmpuint (series->colour, ==, td_lab_plot_colour (*shown_one));
      g_assert_cmpmem (series->y, series->n * sizeof *values, values, n * sizeof *values);
      if (*shown_one == figures[f].from)
        continue;
      const TdLabSeries *difference = below->series->pdata[n_below++];
      g_assert_cmpstr (difference->name, ==, series->name);
      g_assert_cmpuint (difference->colour, ==, series->colour);
      for (guint i = 0; i < n; i++)
        g_assert_cmpfloat (difference->y[i], ==, fabs (values[i] - from[i]));
    }
    g_assert_cmpuint (above->series->len, ==, place);
    g_assert_cmpuint (below->series->len, ==, n_below);
    g_assert_true (above->x1 > above->x0 && above->y1 > above->y0 && below->y1 > below->y0);
  }
}

/* The phantom has as many views and columns as the scan, and goes through the scan's filter. */
static void
check_phantom (const TdLab *lab, TdScan *scan, const TdLabReview *review)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  const TdLabOutcome *linear = review->phantom->outcomes[0];
  const gsize n = (gsize) linear->nx * linear->ny;
  TdLabDifference difference;
  TdTestVolume volume;
  TdPhantomScan spec;

  td_phantom_scan_init (&spec, NULL, facts->n_columns, 1, facts->n_views);
  spec.logged = TRUE;
  spec.range_deg = facts->angles_rad[facts->n_views - 1] > 1.5 * G_PI ? 360 : 180;
  g_autoptr (TdScan) phantom = td_phantom_scan_new (&spec, NULL);
  TdRecipe recipe = lab->base;
  recipe.n_steps = 0;
  td_recipe_state_axis (&recipe, (facts->n_columns - 1) / 2.0, 0);
  recipe.row_first = recipe.row_end = 0;
  recipe.method = TD_METHOD_FBP;
  recipe.interpolation = TD_INTERPOLATION_LINEAR;
  recipe.precision = TD_PRECISION_SINGLE;
  g_assert_true (td_test_reconstruct (engine, phantom, &recipe, &volume, NULL));
  g_assert_cmpuint (volume.nx, ==, linear->nx);
  g_assert_cmpuint (volume.ny, ==, linear->ny);
  g_assert_cmpstr (linear->device, ==, review->scan->outcomes[0]->device);
  g_autofree double *truth = g_new (double, n);
  for (gsize i = 0; i < n; i++)
    truth[i] = linear->pixels[i];
  td_lab_difference (volume.slices, truth, n, &difference);
  g_assert_cmpfloat (difference.relative_rms, <, 1e-6);
  g_autofree float *itself = g_new (float, n);
  td_phantom_scan_truth (&spec, 0, linear->nx, linear->ny, 4, itself);
  g_assert_cmpmem (review->truth, n * sizeof *itself, itself, n * sizeof *itself);
  for (gsize i = 0; i < n; i++)
    truth[i] = itself[i];
  for (guint i = 0; i < 4; i++) {
    td_lab_difference (review->phantom->outcomes[i]->pixels, truth, n, &difference);
    assert_same_difference (&review->errors[i], &difference);
  }
  td_test_volume_clear (&volume);
}

/* A whole turn's phantom is one of a whole turn, and one of no more than 270 degrees of half. */
static void
test_review_turns (void)
{
  static const double turns[] = { 180, 269, 274, 360 };

  for (guint i = 0; i < G_N_ELEMENTS (turns); i++) {
    g_autoptr (GError) error = NULL;
    float rows[24 * 30];
    double angles[30];
    TdRecipe base;

    td_test_random (rows, G_N_ELEMENTS (rows), 3);
    for (guint v = 0; v < 30; v++)
      angles[v] = turns[i] * G_PI / 180 * v / (turns[i] == 360 ? 30 : 29);
    g_autoptr (TdScan) scan = td_test_scan (rows, 1, 30, 24, angles);
    tiny_base (&base, TD_METHOD_AUTO);
    base.filter.kind = TD_FILTER_HANN;
    base.field_of_view = TD_FIELD_FULL;
    g_autoptr (TdLab) lab = td_lab_new (&base, 0);
    g_assert_true (td_lab_review_add (lab, NULL));
    g_autoptr (TdLabReview) review
        = td_lab_review_run (lab, engine, scan, NULL, NULL, NULL, &error);
    g_assert_no_error (error);
    check_phantom (lab, scan, review);
    TdLabPlot *plots[TD_LAB_REVIEW_PLOTS];
    td_lab_review_plots (review, plots);
    check_figures (review, plots);
    for (guint k = 0; k < TD_LAB_REVIEW_PLOTS; k++)
      td_lab_plot_unref (plots[k]);
  }
}

/* ── The reference's parts ── */

/* The nearest number that binary16 has, of those that its bits make. */
static double
nearest_half (double value)
{
  double best = 0;

  for (guint bits = 0; bits < 0x7c00; bits++) {
    const guint exponent = bits >> 10, fraction = bits & 0x3ff;
    const double half
        = exponent ? ldexp (1024 + fraction, (int) exponent - 25) : ldexp (fraction, -24);
    if (fabs (half - fabs (value)) < fabs (best - fabs (value)))
      best = half;
  }
  return copysign (best, value);
}

/* Halves are stored under a power of two that brings the greatest to 512 … 1024. */
static void
test_store_half (void)
{
  enum { N = 40 };
  static const double greatest[] = { 1, 1.99, 0.0003, 700, 1023.9, 1e6, 3e-9 };

  for (guint i = 0; i < G_N_ELEMENTS (greatest); i++) {
    float random[N];
    double values[N], before[N], scale = 1;
    td_test_random (random, N, 40 + i);
    for (guint k = 0; k < N; k++)
      before[k] = values[k] = greatest[i] * (k ? random[k] * pow (10, -0.2 * k) : i % 2 ? -1 : 1);
    while (greatest[i] * scale >= 1024)
      scale /= 2;
    while (greatest[i] * scale < 512)
      scale *= 2;
    td_lab_store_half (values, N);
    for (guint k = 0; k < N; k++) {
      const double half = nearest_half (before[k] * scale);
      g_assert_cmpfloat_with_epsilon (values[k] * scale, half, 1e-9 * fabs (half));
      if (fabs (half) >= 0x1p-14)
        g_assert_cmpfloat (td_lab_half (before[k] * scale), ==, half);
    }
  }
  double nothing[] = { 0, 0, 0 };
  td_lab_store_half (nothing, 3);
  g_assert_true (nothing[0] == 0 && nothing[1] == 0 && nothing[2] == 0);
}

/* The filter by sums over all frequencies, on rows with zeros or their ends' values around. */
static void
test_filter (void)
{
  static const struct {
    guint n, n_wide, shift;
  } rows[] = { { 12, 12, 0 }, { 11, 17, 3 }, { 9, 20, 11 }, { 10, 11, 1 }, { 1, 4, 2 } };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (rows); i++) {
    const guint n = rows[i / 2].n, wide = rows[i / 2].n_wide, shift = rows[i / 2].shift;
    const TdFilter filter = { .kind = TD_FILTER_HANN, .cutoff = 0.9, .extend_edges = i % 2 };
    const guint padded = td_filter_padded_size (wide), middle = wide + (padded - wide) / 2;
    g_autoptr (TdLabFilter) made = td_lab_filter_new (&filter, n, wide, shift, NULL);
    const double *response = td_lab_filter_response (made);
    float random[12];
    double row[12], got[20];
    g_autofree double *around = g_new (double, padded);

    td_test_random (random, n, 50 + i);
    for (guint k = 0; k < n; k++)
      row[k] = random[k];
    const double first = i % 2 ? row[0] : 0, last = i % 2 ? row[n - 1] : 0;
    for (guint k = 0; k < padded; k++)
      around[k] = k < shift ? first : k < shift + n ? row[k - shift] : k < middle ? last : first;
    if ((padded - wide) % 2)
      around[middle] = (first + last) / 2;
    td_lab_filter_run (made, row, got);
    for (guint u = 0; u < wide; u++) {
      double sum = 0;
      for (guint k = 0; k < padded; k++)
        for (guint x = 0; x < padded; x++)
          sum += response[k] * around[x]
                 * cos (2 * G_PI * ((guint64) k * (u + padded - x) % padded) / padded) / padded;
      g_assert_cmpfloat_with_epsilon (got[u], sum, 1e-9);
    }
  }
}

/* Errors of double precision are measured as those of single; nothing comes of nothing. */
static void
test_difference_double (void)
{
  const double a[] = { 1, 2, NAN, 4 }, b[] = { 1.5, 2, 3, 3 }, zeros[4] = { 0 };
  TdLabDifference difference;

  td_lab_difference_double (a, b, 4, &difference);
  g_assert_cmpuint (difference.n, ==, 3);
  g_assert_cmpfloat (difference.max_abs, ==, 1);
  g_assert_cmpfloat_with_epsilon (difference.rms, sqrt (1.25 / 3), 1e-12);
  g_assert_cmpfloat_with_epsilon (difference.relative_rms, sqrt (1.25 / (2.25 + 4 + 9)), 1e-12);
  g_assert_cmpfloat_with_epsilon (difference.psnr_db, 20 * log10 (1.5 / sqrt (1.25 / 3)), 1e-9);
  td_lab_difference_double (a, zeros, 2, &difference); /* of a constant, and of nothing */
  g_assert_true (isnan (difference.relative_rms) && isnan (difference.psnr_db));
  g_assert_cmpfloat (difference.max_abs, ==, 2);
  td_lab_difference_double (a + 2, b, 1, &difference);
  g_assert_true (difference.n == 0 && isnan (difference.rms));

  const float even[] = { 1, 5, NAN }, odd[] = { 3, 1, 1 };
  g_assert_cmpfloat_with_epsilon (td_lab_noise (even, odd, 3), 1.5, 1e-12);
  g_assert_true (isnan (td_lab_noise (even + 2, odd, 1)));
}

/* Pictures of one row, one column or two, and lines of no length. */
static void
test_narrow_profiles (void)
{
  static const guint sizes[][2] = { { 1, 1 }, { 1, 5 }, { 5, 1 }, { 2, 2 }, { 2, 5 }, { 5, 2 } };

  for (guint s = 0; s < G_N_ELEMENTS (sizes); s++) {
    const guint nx = sizes[s][0], ny = sizes[s][1];
    const TdLabLine line = { 0, 0, nx - 1.0, ny - 1.0 };
    float plane[10];
    double values[9];
    for (guint i = 0; i < nx * ny; i++)
      plane[i] = 3.0f * (i % nx) - 2.0f * (i / nx) + 1;
    td_lab_profile (plane, nx, ny, &line, 9, values);
    for (guint i = 0; i < 9; i++)
      g_assert_cmpfloat_with_epsilon (values[i],
                                      3 * (nx - 1) * i / 8.0 - 2 * (ny - 1.0) * i / 8.0 + 1, 1e-5);
    td_lab_profile (plane, nx, ny, &line, 1, values);
    g_assert_cmpfloat (values[0], ==, 1);
  }
  g_assert_cmpuint (td_lab_profile_length (&(TdLabLine) { 3, 4, 3, 4 }), ==, 2);
  g_assert_cmpuint (td_lab_profile_length (&(TdLabLine) { 0, 0, 3, 4 }), ==, 6);
  g_assert_cmpuint (td_lab_profile_length (&(TdLabLine) { 0, 0, 3, 4.1 }), ==, 7);
  g_assert_cmpuint (td_lab_profile_length (&(TdLabLine) { 0, 0, 1e9, 0 }), ==, 1000000);
}

/* How much a running mean of three varies along a line of the picture. */
static double
variation_of (const float *pixels, guint nx, const TdLabLine *line)
{
  const gboolean down = line->x0 == line->x1;
  const guint n = (guint) (down ? line->y1 - line->y0 : line->x1 - line->x0) + 1;
  double sum = 0, before = NAN;

  for (guint i = 0; i + 2 < n; i++) {
    double mean = 0;
    for (guint k = i; k < i + 3; k++)
      mean += pixels[(guint) (line->y0 + (down ? k : 0)) * nx + (guint) (line->x0 + (down ? 0 : k))]
              / 3.0;
    sum += isfinite (mean - before) ? fabs (mean - before) : 0;
    before = mean;
  }
  return sum;
}

/* Of pictures by chance no row or column, within the circle that fits in, is busier. */
static void
test_busiest_of_all (void)
{
  for (guint round = 0; round < 60; round++) {
    const guint nx = 5 + round % 9, ny = 4 + round % 11;
    const double radius = MIN (nx, ny) / 2.0, cx = (nx - 1) / 2.0, cy = (ny - 1) / 2.0;
    g_autofree float *pixels = g_new (float, nx *ny);
    double most = 0;

    td_test_random (pixels, nx * ny, 70 + round);
    for (guint k = 0; k < nx + ny; k++) {
      const gboolean down = k >= ny;
      const double at = down ? k - ny : k, middle = down ? cy : cx;
      const double off = at - (down ? cx : cy), half = sqrt (radius * radius - off * off);
      const double first = ceil (MAX (middle - half, 0)),
                   last = MIN (floor (middle + half), (down ? ny : nx) - 1.0);
      if (fabs (off) < radius && last > first)
        most = MAX (most, variation_of (pixels, nx,
                                        &(TdLabLine) { down ? at : first, down ? first : at,
                                                       down ? at : last, down ? last : at }));
    }
    const TdLabLine found = td_lab_busiest_line (pixels, nx, ny);
    g_assert_true (found.x0 == found.x1 || found.y0 == found.y1);
    g_assert_cmpfloat_with_epsilon (variation_of (pixels, nx, &found), most, 1e-6);
  }
}

/* A copy has variants of its own. */
static void
test_copy (void)
{
  TdRecipe base;

  td_recipe_init (&base);
  TdLab *lab = td_lab_new (&base, 12);
  g_assert_true (td_lab_add (lab, "Half: --precision half", NULL));
  g_assert_true (td_lab_add (lab, "--filter none", NULL));
  lab->measure = TRUE;
  g_autoptr (TdLab) copy = td_lab_copy (lab);
  g_autofree char *before = td_lab_to_json (lab);
  g_assert_true (td_lab_add (lab, "--filter hann", NULL));
  g_free (((TdLabVariant *) lab->variants->pdata[0])->name);
  ((TdLabVariant *) lab->variants->pdata[0])->name = g_strdup ("other");
  td_lab_free (lab);
  g_autofree char *after = td_lab_to_json (copy);
  g_assert_cmpstr (after, ==, before);
  g_assert_cmpuint (copy->base.row_first, ==, 12);
  g_assert_cmpuint (copy->base.row_end, ==, 13);
  g_ptr_array_remove_index (copy->variants, 0); /* and it frees them */
  g_assert_cmpuint (copy->variants->len, ==, 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  for (guint i = 0; i < G_N_ELEMENTS (truths); i++) {
    g_autofree char *name = g_strconcat ("/lab/truth/", truths[i].name, NULL);
    g_test_add_data_func (name, &truths[i], test_truth);
  }
  g_test_add_func ("/lab/truth/half-acquisition", test_truth_half);
  g_test_add_func ("/lab/shortcuts", test_shortcuts);
  g_test_add_func ("/lab/few-views", test_few_views);
  g_test_add_func ("/lab/difference", test_difference);
  g_test_add_func ("/lab/noise", test_noise);
  g_test_add_func ("/lab/store-half", test_store_half);
  g_test_add_func ("/lab/filter", test_filter);
  g_test_add_func ("/lab/difference-double", test_difference_double);
  g_test_add_func ("/lab/narrow-profiles", test_narrow_profiles);
  g_test_add_func ("/lab/copy", test_copy);
  g_test_add_func ("/lab/busiest-of-all", test_busiest_of_all);
  g_test_add_func ("/lab/frc/white", test_frc_white);
  g_test_add_func ("/lab/frc/resolution", test_frc_resolution);
  g_test_add_func ("/lab/profile", test_profile);
  g_test_add_func ("/lab/abx", test_abx);
  g_test_add_func ("/lab/abx-looked-at", test_abx_looked_at);
  g_test_add_func ("/lab/abx-evidence", test_abx_evidence);
  g_test_add_func ("/lab/file", test_file);
  g_test_add_func ("/lab/file-varied", test_file_varied);
  g_test_add_func ("/lab/lines-refused", test_lines_refused);
  g_test_add_func ("/lab/words", test_words);
  g_test_add_func ("/lab/held", test_held);
  g_test_add_func ("/lab/faults", test_faults);
  g_test_add_func ("/lab/named", test_named);
  g_test_add_func ("/lab/scarce", test_scarce);
  g_test_add_func ("/lab/run", test_run);
  g_test_add_func ("/lab/cone", test_cone);
  g_test_add_func ("/lab/rows-once", test_rows_once);
  g_test_add_func ("/lab/half-sizes", test_half_sizes);
  g_test_add_func ("/lab/first", test_first);
  g_test_add_func ("/lab/other-size", test_other_size);
  g_test_add_func ("/lab/cancel", test_cancel);
  g_test_add_func ("/lab/cancel-anywhere", test_cancel_anywhere);
  g_test_add_func ("/lab/review", test_review);
  g_test_add_func ("/lab/review-turns", test_review_turns);
  g_test_add_func ("/lab/emulated-cost", test_emulated_cost);
  g_test_add_func ("/lab/choices", test_choices);
  g_test_add_func ("/lab/cone-choices", test_cone_choices);
  g_test_add_func ("/lab/emulated", test_emulated);
  g_test_add_func ("/lab/scarce-others", test_scarce_others);
  g_test_add_func ("/lab/scarce-lab", test_scarce_lab);
  g_test_add_data_func ("/lab/budget/fbp", GINT_TO_POINTER (TD_METHOD_FBP), test_budget);
  g_test_add_data_func ("/lab/budget/fourier", GINT_TO_POINTER (TD_METHOD_FOURIER), test_budget);
  g_test_add_data_func ("/lab/budget/fdk", GINT_TO_POINTER (TD_METHOD_FDK), test_budget);
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
