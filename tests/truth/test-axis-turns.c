/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The axis is found in turns of every kind. There is a projection at 180 degrees beside the views,
   a tilt, a turn the other way, uneven steps, or few views. */
#include <math.h>

#include "compute/engine/centre.h"
#include "compute/methods/methods.h"
#include "dataset/phantom-scan.h"
#include "dataset/random.h"
#include "dataset/scan-private.h"
#include "tests/common/cases.h"
#include "tests/common/pins.h"

#define CENTRE 70.6

static void
describe (TdPhantomScan *spec, double range_deg, guint n_views)
{
  td_phantom_scan_init (spec, "ellipsoids", 131, 40, n_views);
  spec->range_deg = range_deg;
  spec->centre_px = CENTRE;
  spec->fill = 0.9;
  spec->photons = 2e5;
}

/* Some of a phantom's views, in this order, and behind them some that are no views. (transfer full)
 */
static TdScan *
pick (const TdPhantomScan *spec, const guint *views, guint n, guint n_extra)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) whole = td_phantom_scan_new (spec, &error);
  g_assert_no_error (error);
  TdScanFacts facts = *td_scan_facts (whole);
  gsize pixels = (gsize) facts.n_rows * facts.n_columns;
  g_autofree double *angles = g_new (double, n + n_extra);
  /* One block for all, which the scan frees. */
  float *frames = g_new (float, (n + n_extra + facts.n_flats + facts.n_darks) * pixels);
  float *flats = frames + (n + n_extra) * pixels, *darks = flats + facts.n_flats * pixels;

  for (guint i = 0; i < n + n_extra; i++) {
    angles[i] = facts.angles_rad[views[i]];
    g_assert_true (
        td_scan_read (whole, &(TdFrameRange) { TD_FRAME_PROJECTION, views[i], 1, 0, facts.n_rows },
                      frames + i * pixels, NULL, &error));
  }
  g_assert_true (td_scan_read (whole,
                               &(TdFrameRange) { TD_FRAME_FLAT, 0, facts.n_flats, 0, facts.n_rows },
                               flats, NULL, &error));
  g_assert_true (td_scan_read (whole,
                               &(TdFrameRange) { TD_FRAME_DARK, 0, facts.n_darks, 0, facts.n_rows },
                               darks, NULL, &error));
  facts.n_views = n;
  facts.angles_rad = angles;
  facts.centre_px = NAN;
  TdScan *scan = td_scan_new_from_memory (&facts, frames, flats, darks, g_free, frames);
  td_scan_take_extra (scan, angles + n, n_extra);
  return scan;
}

static TdAxisResult *
find_within (TdScan *scan, guint methods, double first_px, double last_px)
{
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (GError) error = NULL;
  const TdAxisOptions options
      = { .methods = methods, .search_first_px = first_px, .search_last_px = last_px };
  TdRecipe recipe;

  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
  TdAxisResult *result = td_engine_find_axis (engine, scan, &recipe, &options, NULL, &error);
  g_assert_no_error (error);
  td_test_pin ("%.3f +- %.3f, tilt %.3f +- %.3f, %s", result->centre_px, result->uncertainty_px,
               result->tilt_deg, result->tilt_uncertainty_deg,
               result->agreed ? "agreed" : result->advice);
  return result;
}

static TdAxisResult *
find (TdScan *scan, guint methods)
{
  return find_within (scan, methods, 0, 0);
}

static guint
count (const TdAxisResult *result, TdAxisMethod method)
{
  guint n = 0;

  for (guint i = 0; i < result->n_trials; i++)
    n += result->trials[i].method == method && isfinite (result->trials[i].centre_px);
  return n;
}

/* ── Beside the views ── */

/* A projection at 180 degrees is no view, but opposite to the first: whole projections can be
   compared, and so can rows without guessing. The other methods see what they saw before. */
static void
test_extra (void)
{
  enum { VIEWS = 90 };
  guint views[VIEWS + 1];
  TdPhantomScan spec;

  describe (&spec, 180, VIEWS + 1);
  spec.end_point = TRUE;
  spec.tilt_deg = 0.6;
  for (guint i = 0; i <= VIEWS; i++)
    views[i] = i;
  g_autoptr (TdScan) without = pick (&spec, views, VIEWS, 0);
  g_autoptr (TdScan) with = pick (&spec, views, VIEWS, 1);
  g_autoptr (TdAxisResult) before = find (without, 0);
  g_autoptr (TdAxisResult) after = find (with, 0);
  g_assert_cmpuint (count (before, TD_AXIS_PROJECTIONS), ==, 0);
  g_assert_cmpuint (count (after, TD_AXIS_PROJECTIONS), ==, 1);
  g_assert_cmpfloat_with_epsilon (after->centre_px, CENTRE, 0.05);
  g_assert_cmpfloat_with_epsilon (after->tilt_deg, 0.6, 0.1);
  g_assert_true (after->agreed);
  g_assert_cmpfloat (after->uncertainty_px, <, before->uncertainty_px);

  /* Fourier's method knows nothing of it. */
  g_autoptr (TdAxisResult) fourier_before = find (without, 1u << TD_AXIS_FOURIER);
  g_autoptr (TdAxisResult) fourier_after = find (with, 1u << TD_AXIS_FOURIER);
  for (guint i = 0; i < fourier_before->n_trials; i++)
    g_assert_cmpfloat_with_epsilon (fourier_before->trials[i].centre_px,
                                    fourier_after->trials[i].centre_px, 0.03);
}

/* As at some beamlines, where the stage comes round by way of 180, 90 and 0 degrees. */
static void
test_coming_round (void)
{
  enum { VIEWS = 90 };
  guint views[VIEWS + 3];
  TdPhantomScan spec;

  describe (&spec, 180, VIEWS + 1);
  spec.end_point = TRUE;
  for (guint i = 0; i <= VIEWS; i++)
    views[i] = i;
  views[VIEWS + 1] = VIEWS / 2;
  views[VIEWS + 2] = 0;
  g_autoptr (TdScan) scan = pick (&spec, views, VIEWS, 3);
  g_autoptr (TdAxisResult) result = find (scan, 0);
  g_assert_cmpuint (count (result, TD_AXIS_PROJECTIONS), ==, 1);
  g_assert_cmpfloat_with_epsilon (result->centre_px, CENTRE, 0.05);
  g_assert_true (result->agreed);
}

/* ── Turns ── */

typedef struct {
  const char *name;
  double range_deg;
  guint n_views;
  gboolean end_point;
  double first_deg, tilt_deg;
  double within_px, tilt_within_deg;
} Turn;

static const Turn turns[] = {
  { "half", 180, 140, FALSE, 0, 0, 0.05, 0.1 },
  { "half-end", 180, 141, TRUE, 0, 0, 0.04, 0.1 },
  { "half-backwards", -180, 140, FALSE, 25, 0, 0.05, 0.1 },
  { "half-end-backwards", -180, 141, TRUE, -70, 0, 0.04, 0.1 },
  { "whole", 360, 240, FALSE, 0, 0, 0.02, 0.05 },
  { "whole-backwards", -360, 241, TRUE, 15, 0, 0.02, 0.05 },
  { "tilt", 360, 240, FALSE, 0, 0.8, 0.03, 0.05 },
  { "tilt-negative", 360, 240, FALSE, 0, -0.8, 0.03, 0.05 },
  { "tilt-backwards", -360, 240, FALSE, 0, 0.8, 0.03, 0.05 },
  { "tilt-half", 180, 141, TRUE, 0, 0.8, 0.06, 0.1 },
  { "tilt-half-negative", 180, 141, TRUE, 40, -0.8, 0.06, 0.1 },
  { "more-than-half", 220, 160, FALSE, 0, 0, 0.04, 0.1 },
  { "few", 360, 30, FALSE, 0, 0, 0.06, 0.1 },
  { "few-half", 180, 25, TRUE, 0, 0, 0.1, 0.2 },
};

static void
test_turn (gconstpointer data)
{
  const Turn *turn = data;
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;

  describe (&spec, turn->range_deg, turn->n_views);
  spec.end_point = turn->end_point;
  spec.first_deg = turn->first_deg;
  spec.tilt_deg = turn->tilt_deg;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  scan->facts.centre_px = NAN;
  g_autoptr (TdAxisResult) result = find (scan, 0);
  g_assert_cmpfloat_with_epsilon (result->centre_px, CENTRE, turn->within_px);
  g_assert_cmpfloat_with_epsilon (result->tilt_deg, turn->tilt_deg, turn->tilt_within_deg);
  /* It knows how far it may be off, and that is not far. */
  g_assert_cmpfloat (fabs (result->centre_px - CENTRE), <=, result->uncertainty_px);
  g_assert_cmpfloat (fabs (result->tilt_deg - turn->tilt_deg), <=,
                     2 * result->tilt_uncertainty_deg);
  g_assert_cmpfloat (result->uncertainty_px, <, 4 * turn->within_px);
}

/* An axis near one edge: what both sides see is a sixth of the detector, and the sample is wider
   than all of it. Each method by itself. */
static void
test_offset (void)
{
  static const TdAxisMethod methods[]
      = { TD_AXIS_CORRELATION, TD_AXIS_FOURIER, TD_AXIS_OVERLAP, TD_AXIS_PROJECTIONS };
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;

  describe (&spec, 360, 402);
  spec.phantom = "shepp-logan";
  spec.n_columns = 256;
  spec.n_rows = 16;
  spec.centre_px = 40.3;
  spec.fill = 0;
  spec.offset_field = TRUE;
  spec.photons = 0;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  for (guint m = 0; m < G_N_ELEMENTS (methods); m++) {
    g_autoptr (TdAxisResult) result = find_within (scan, 1u << methods[m], 30, 52);
    g_assert_cmpfloat_with_epsilon (result->centre_px, 40.3, 0.05);
  }
}

/* On a wide detector trial slices are dear: one row's confirm what the others agree about. */
static void
test_wide_detector (void)
{
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;
  guint slices = 0;

  describe (&spec, 360, 120);
  spec.n_columns = 700;
  spec.n_rows = 10;
  spec.centre_px = 361.2;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  g_autoptr (TdAxisResult) result = find (scan, 0);
  for (guint i = 0; i < result->n_trials; i++)
    slices += result->trials[i].method == TD_AXIS_SHARPNESS;
  g_assert_cmpuint (count (result, TD_AXIS_CORRELATION), ==, 5);
  g_assert_cmpuint (slices, ==, 1);
  g_assert_cmpfloat_with_epsilon (result->centre_px, 361.2, 0.05);
  g_assert_true (result->agreed);
}

/* ── Uneven steps ── */

/* Every third view at random, in no order. */
static void
test_random_steps (gconstpointer range_deg)
{
  enum { VIEWS = 480 };
  guint views[VIEWS], n = 0;
  TdRandom random;
  TdPhantomScan spec;

  describe (&spec, *(const double *) range_deg, VIEWS);
  td_random_init (&random, 5, 1);
  for (guint i = 0; i < VIEWS; i++)
    if (td_random_uniform (&random) < 1 / 3.0)
      views[n++] = i;
  for (guint i = n - 1; i > 0; i--) {
    guint j = (guint) (td_random_uniform (&random) * (i + 1)), view = views[i];
    views[i] = views[MIN (j, i)];
    views[MIN (j, i)] = view;
  }
  g_autoptr (TdScan) scan = pick (&spec, views, n, 0);
  g_autoptr (TdAxisResult) result = find (scan, 0);
  g_assert_cmpfloat_with_epsilon (result->centre_px, CENTRE, 0.1);
}

/* A turn whose steps grow: dense at its beginning. */
static void
test_growing_steps (void)
{
  enum { VIEWS = 720, KEPT = 200 };
  guint views[KEPT];
  TdPhantomScan spec;

  describe (&spec, 360, VIEWS);
  for (guint i = 0; i < KEPT; i++)
    views[i] = (guint) ((VIEWS - 1) * (0.5 * i / (KEPT - 1.0) + 0.5 * pow (i / (KEPT - 1.0), 2)));
  g_autoptr (TdScan) scan = pick (&spec, views, KEPT, 0);
  g_autoptr (TdAxisResult) result = find (scan, 0);
  g_assert_cmpfloat_with_epsilon (result->centre_px, CENTRE, 0.05);
}

int
main (int argc, char **argv)
{
  static const double half = 180, whole = 360;

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/axis/extra/180", test_extra);
  g_test_add_func ("/axis/extra/coming-round", test_coming_round);
  for (guint i = 0; i < G_N_ELEMENTS (turns); i += td_test_stride (2)) {
    g_autofree char *path = g_strconcat ("/axis/turn/", turns[i].name, NULL);
    g_test_add_data_func (path, &turns[i], test_turn);
  }
  g_test_add_func ("/axis/turn/offset", test_offset);
  g_test_add_func ("/axis/turn/wide-detector", test_wide_detector);
  g_test_add_data_func ("/axis/steps/random-half", &half, test_random_steps);
  g_test_add_data_func ("/axis/steps/random-whole", &whole, test_random_steps);
  g_test_add_func ("/axis/steps/growing", test_growing_steps);
  return g_test_run ();
}
