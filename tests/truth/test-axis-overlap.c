/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The overlap search finds the axis of generated half acquisitions. "--scans N" takes more of
   them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/recipe/recipe.h"
#include "compute/axis/axis-methods.h"
#include "compute/prepare/prepare.h"
#include "dataset/phantom-scan.h"
#include "dataset/random.h"
#include "tests/common/pins.h"

static guint n_scans = 40;

/* One row, prepared as the presets do. */
static float *
prepared_row (TdScan *scan, guint row)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  const gsize n = (gsize) facts->n_views * facts->n_columns;
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  td_recipe_init (&recipe);
  g_autoptr (TdDevice) device = td_device_open ("host", &error);
  g_autoptr (TdQueue) queue = td_queue_new (device, &error);
  g_autoptr (TdBuffer) buffer = td_buffer_new (device, n * sizeof (float), &error);
  g_autoptr (TdPreparation) preparation
      = td_preparation_new (device, scan, NULL, recipe.steps, recipe.n_steps, &error);
  g_assert_no_error (error);
  td_scan_read_sinograms (scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 0, facts->n_views, row, 1 },
                          td_buffer_map (buffer), NULL, &error);
  g_assert_no_error (error);
  td_preparation_run (preparation, queue, buffer, row, 1, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (td_queue_finish (queue, &error));
  return g_memdup2 (td_buffer_map (buffer), n * sizeof (float));
}

static double
between (TdRandom *random, double low, double high)
{
  return low + (high - low) * td_random_uniform (random);
}

/* A scan that a half acquisition might be. */
static void
invent (TdRandom *random, TdPhantomScan *spec, guint64 seed)
{
  /* Those that have something in every row, and are not the same from everywhere. */
  static const char *const phantoms[] = { "shepp-logan", "discs", "ellipsoids", "boxes" };

  td_phantom_scan_init (spec, NULL, 0, 0, 0);
  spec->phantom = phantoms[(guint) between (random, 0, 3.999)];
  spec->n_columns = (guint) between (random, 80, 320);
  spec->n_rows = 64;
  const double edge = between (random, 0.04, 0.35) * spec->n_columns;
  spec->centre_px = between (random, 0, 1) < 0.5 ? edge : spec->n_columns - 1 - edge;
  spec->offset_field = TRUE;
  spec->n_views = (guint) (between (random, 0.5, 1.2) * G_PI * td_phantom_scan_side (spec));
  spec->first_deg = between (random, -90, 90);
  spec->range_deg = between (random, 0, 1) < 0.5 ? 360 : -360;
  spec->end_point = between (random, 0, 1) < 0.5;
  spec->attenuation = between (random, 0.7, 3);
  spec->photons = pow (10, between (random, 3, 6));
  spec->wander = between (random, 0, 1) < 0.5 ? between (random, 0, 0.05) : 0;
  spec->rings = between (random, 0, 1) < 0.5 ? between (random, 0, 0.02) : 0;
  spec->seed = seed;
}

static gboolean
find (TdScan *scan, guint row, double first, double last, TdAxisEstimate *estimate)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  g_autofree float *sinogram = prepared_row (scan, row);
  const TdAxisInput input = {
    .sinogram = sinogram,
    .n_views = facts->n_views,
    .n_columns = facts->n_columns,
    .angles_rad = facts->angles_rad,
    .row = row,
    .first_px = first,
    .last_px = last,
  };
  g_autoptr (GError) error = NULL;
  const gboolean ok = td_axis_overlap.find (&input, estimate, &error);

  g_assert_no_error (error);
  return ok;
}

/* Within a quarter of a column in 95 of 100; the others say that they are weak. */
static void
test_study (void)
{
  TdRandom random;
  guint near = 0, wrong = 0, silent = 0;
  double worst_known = 0;

  td_random_init (&random, 4, 1);
  for (guint i = 0; i < n_scans; i++) {
    TdPhantomScan spec;
    TdAxisEstimate estimate;
    g_autoptr (GError) error = NULL;

    invent (&random, &spec, i);
    g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
    g_assert_no_error (error);
    g_assert_true (find (scan, 20 + i % 24, 0, spec.n_columns - 1, &estimate));
    const double off = fabs (estimate.centre_px - spec.centre_px);
    if (off <= 0.25) {
      near++;
      worst_known = MAX (worst_known, off);
    } else {
      wrong++;
      silent += estimate.confidence >= 0.2;
    }
    td_test_pin ("%-11s %3u columns %4u views, axis %6.2f, %7.0f photons, wander %.3f, rings "
                 "%.3f: off %6.3f, confidence %.2f, spread %.3f%s",
                 spec.phantom, spec.n_columns, spec.n_views, spec.centre_px, spec.photons,
                 spec.wander, spec.rings, off, estimate.confidence, estimate.spread_px,
                 off <= 0.25 ? "" : " ***");
  }
  td_test_pin ("%u of %u within 0.25 columns, the worst of them %.3f; of %u others %u unflagged",
               near, n_scans, worst_known, wrong, silent);
  g_assert_cmpuint (near * 100, >=, n_scans * 95);
}

/* Views lost, taken twice and in no order; a search that starts at the middle. */
static void
test_irregular (void)
{
  const guint n = 140, n_views = 500;
  TdPhantomScan spec;
  TdAxisEstimate estimate;
  g_autoptr (GError) error = NULL;

  td_phantom_scan_init (&spec, "discs", n, 3, n_views);
  spec.centre_px = 112.37;
  spec.range_deg = 360;
  spec.offset_field = TRUE;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  g_autofree float *sinogram = prepared_row (scan, 1);
  g_autofree float *mixed = g_new (float, (gsize) n *n_views);
  g_autofree double *angles = g_new (double, n_views);
  guint kept = 0;

  for (guint i = 0; i < n_views; i++) {
    const guint view = i * 137 % n_views; /* 137 and 500 have no common factor */
    if (view >= 60 && view < 90)
      continue;
    memcpy (mixed + (gsize) kept * n, sinogram + (gsize) view * n, n * sizeof (float));
    angles[kept++] = td_scan_facts (scan)->angles_rad[view] - 4 * G_PI;
  }
  memcpy (mixed + (gsize) kept * n, mixed, n * sizeof (float));
  angles[kept++] = angles[0];
  const TdAxisInput input = {
    .sinogram = mixed,
    .n_views = kept,
    .n_columns = n,
    .angles_rad = angles,
    .first_px = (n - 1) / 2.0,
    .last_px = n,
  };
  g_assert_true (td_axis_overlap.find (&input, &estimate, &error));
  g_assert_no_error (error);
  g_assert_cmpfloat_with_epsilon (estimate.centre_px, 112.37, 0.05);
  g_assert_cmpfloat (estimate.confidence, >, 0.5);
}

/* Sinograms that say nothing: no centre, the reason, no fault. */
static void
test_nothing (void)
{
  static const struct {
    guint n_columns, n_views;
    double range_rad, value, first_px, last_px;
  } nothings[] = {
    { 64, 90, 2 * G_PI, 0, 0, 63 },    { 64, 90, 2 * G_PI, 0.7, 0, 63 },
    { 1, 90, 2 * G_PI, 1, 0, 0 },      { 64, 1, 2 * G_PI, 1, 0, 63 },
    { 64, 90, G_PI, 1, 0, 63 },        { 7, 16, 2 * G_PI, 1, 0, 6 },
    { 64, 90, 2 * G_PI, 0.7, 80, 90 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (nothings); i++) {
    const guint n = nothings[i].n_columns, views = nothings[i].n_views;
    g_autofree float *values = g_new (float, n *views);
    g_autofree double *angles = g_new (double, views);
    const TdAxisInput input = {
      .sinogram = values,
      .n_views = views,
      .n_columns = n,
      .angles_rad = angles,
      .first_px = nothings[i].first_px,
      .last_px = nothings[i].last_px,
    };
    TdAxisEstimate estimate;
    g_autoptr (GError) error = NULL;

    for (guint k = 0; k < n * views; k++)
      values[k] = (float) nothings[i].value;
    for (guint v = 0; v < views; v++)
      angles[v] = nothings[i].range_rad * v / views;
    g_assert_true (td_axis_overlap.find (&input, &estimate, &error));
    g_assert_no_error (error);
    g_assert_true (isnan (estimate.centre_px));
    g_assert_cmpfloat (estimate.confidence, ==, 0);
    g_assert_nonnull (estimate.reason);
  }
}

/* What is asked of a scan, just either side: columns, views, how far they go round, and gaps. */
static void
test_limits (void)
{
  static const char few[] = "there are too few views or columns",
                    half[] = "the views do not go all round: few have an opposite one";
  static const struct {
    guint n_columns, n_views;
    double turns, third; /* of the circle; every third step, in steps */
    const char *reason;
  } cases[] = {
    { 6, 16, 1, 1, NULL },      { 5, 16, 1, 1, few },       { 6, 15, 1, 1, few },
    { 64, 90, 0.626, 1, NULL }, { 64, 90, 0.624, 1, half }, { 64, 90, 1, 2.99, NULL },
    { 64, 90, 1, 3.01, half },  { 64, 90, 0.999, 1, NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const guint n = cases[i].n_columns, views = cases[i].n_views;
    g_autofree float *values = g_new0 (float, n *views);
    g_autofree double *angles = g_new0 (double, views);
    const TdAxisInput input = {
      .sinogram = values, .n_views = views, .n_columns = n, .angles_rad = angles, .last_px = n - 1
    };
    TdAxisEstimate estimate;
    g_autoptr (GError) error = NULL;
    const guint steps = cases[i].turns < 1 ? views - 1 : views;
    const double step = cases[i].turns * 2 * G_PI / steps / (2 + cases[i].third) * 3;

    for (guint v = 1; v < views; v++)
      angles[v] = angles[v - 1] + step * (v % 3 == 0 ? cases[i].third : 1);
    g_assert_true (td_axis_overlap.find (&input, &estimate, &error));
    g_assert_no_error (error);
    g_assert_nonnull (estimate.reason);
    if (cases[i].reason)
      g_assert_cmpstr (estimate.reason, ==, cases[i].reason);
    else {
      g_assert_cmpstr (estimate.reason, !=, few);
      g_assert_cmpstr (estimate.reason, !=, half);
    }
  }
}

enum { SHIFTED_COLUMNS = 128, SHIFTED_VIEWS = 120, SHIFTED_AXIS = 30 };

/* Each view is a pattern that repeats itself after @period columns; the opposite view is mirrored
   at the axis. */
static void
find_shifted (guint period, guint wide, double first_px, double last_px, TdAxisEstimate *estimate)
{
  enum { N = SHIFTED_COLUMNS, VIEWS = SHIFTED_VIEWS };
  g_autofree float *values = g_new (float, N *VIEWS);
  double angles[VIEWS];
  const TdAxisInput input = { .sinogram = values,
                              .n_views = VIEWS,
                              .n_columns = N,
                              .angles_rad = angles,
                              .first_px = first_px,
                              .last_px = last_px };
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  g_autoptr (GError) error = NULL;

  for (guint v = 0; v < VIEWS; v++)
    angles[v] = 2 * G_PI * v / VIEWS;
  for (guint v = 0; v < VIEWS / 2; v++) {
    double pattern[1000];
    for (guint k = 0; k < period; k++)
      pattern[k] = g_rand_double (rand) + 0.5;
    for (guint smoothed = 0; smoothed < 2; smoothed++)
      for (guint k = 0; k + wide <= period; k++)
        for (guint i = 1; i < wide; i++)
          pattern[k] += pattern[k + i];
    for (guint c = 0; c < N; c++) {
      values[v * N + c] = (float) pattern[(c + 480) % period];
      values[(v + VIEWS / 2) * N + c] = (float) pattern[(2 * SHIFTED_AXIS + 480 - c) % period];
    }
  }
  g_assert_true (td_axis_overlap.find (&input, estimate, &error));
  g_assert_no_error (error);
  td_test_pin ("%u, %g to %g: %g, %g", period, first_px, last_px, estimate->centre_px,
               estimate->confidence);
}

/* A sample that repeats itself over the columns fits about one axis as well as about others, half a
   period on. Such an answer is worth nothing; without the repetition it is. */
static void
test_ambiguous (void)
{
  TdAxisEstimate estimate;

  find_shifted (24, 1, 10, 60, &estimate);
  g_assert_cmpfloat (estimate.confidence, <, 0.2);
  find_shifted (1000, 1, 10, 60, &estimate);
  g_assert_cmpfloat_with_epsilon (estimate.centre_px, SHIFTED_AXIS, 0.3);
  g_assert_cmpfloat (estimate.confidence, >, 0.6);
}

/* An axis beside an end of what is searched, or just beyond: the answer does not leave the range.
 */
static void
test_ends (void)
{
  static const double ends[][3]
      = { { 29.5, 60, 30 }, { 10, 30.5, 30 }, { 30.5, 60, 30.5 }, { 10, 29.5, 29.5 } };

  for (guint i = 0; i < G_N_ELEMENTS (ends); i++) {
    TdAxisEstimate estimate;
    find_shifted (1000, 5, ends[i][0], ends[i][1], &estimate);
    g_assert_cmpfloat_with_epsilon (estimate.centre_px, ends[i][2], 0.01);
  }
}

static void
test_cancelled (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autofree float *values = g_new0 (float, 64 * 90);
  g_autofree double *angles = g_new (double, 90);
  const TdAxisInput input = {
    .sinogram = values,
    .n_views = 90,
    .n_columns = 64,
    .angles_rad = angles,
    .first_px = 0,
    .last_px = 63,
    .cancellable = cancellable,
  };
  TdAxisEstimate estimate;
  g_autoptr (GError) error = NULL;

  for (guint v = 0; v < 90; v++)
    angles[v] = 2 * G_PI * v / 90;
  g_cancellable_cancel (cancellable);
  g_assert_false (td_axis_overlap.find (&input, &estimate, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (int i = 1; i + 1 < argc; i++)
    if (strcmp (argv[i], "--scans") == 0)
      n_scans = (guint) atoi (argv[i + 1]);
  g_test_add_func ("/axis-overlap/study", test_study);
  g_test_add_func ("/axis-overlap/irregular", test_irregular);
  g_test_add_func ("/axis-overlap/nothing", test_nothing);
  g_test_add_func ("/axis-overlap/limits", test_limits);
  g_test_add_func ("/axis-overlap/ambiguous", test_ambiguous);
  g_test_add_func ("/axis-overlap/ends", test_ends);
  g_test_add_func ("/axis-overlap/cancelled", test_cancelled);
  return g_test_run ();
}
