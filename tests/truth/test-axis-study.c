/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for the rotation axis on generated scans whose axis is known.

       --scans N     takes N of them
       --first I     begins with the I-th
       --kind cut    takes those of one kind only
       --seed S      invents others: whatever is tuned is tuned on others
       --trials      shows every trial */
#include <math.h>
#include <stdlib.h>

#include "compute/device/host.h"
#include "compute/engine/centre.h"
#include "compute/methods/methods.h"
#include "dataset/phantom-scan.h"
#include "dataset/random.h"
#include "tests/common/cases.h"
#include "tests/common/pins.h"

/* Columns that count as found, and parts of a hundred scans. */
#define FOUND_PX 0.1
#define LEAST_FOUND 95
#define LEAST_FLAGGED 90
/* Of a hundred centres, how many lie within two standard errors as they are stated. */
#define LEAST_COVERED 95

static guint n_scans = 3, first_scan, seed = 24;
static const char *only_kind;

static double
between (TdRandom *random, double low, double high)
{
  return low + (high - low) * td_random_uniform (random);
}

static gboolean
coin (TdRandom *random)
{
  return td_random_uniform (random) < 0.5;
}

/* Any scan of a parallel beam: half a turn or a whole one, the axis up to 30 % of the width off the
   middle. Three of four half turns see all of the sample; a whole turn sees it from one side or the
   other. */
static void
invent (guint number, TdPhantomScan *spec)
{
  /* Those that have something in every row, and are not the same from everywhere. */
  static const char *const phantoms[] = { "shepp-logan", "discs", "ellipsoids", "boxes" };
  TdRandom random;

  td_random_init (&random, seed, number);
  td_phantom_scan_init (spec, NULL, 0, 0, 0);
  spec->phantom = phantoms[(guint) between (&random, 0, 3.999)];
  spec->n_columns = (guint) between (&random, 128, 300);
  spec->n_rows = (guint) between (&random, 32, 80);
  gboolean whole = coin (&random);
  spec->range_deg = whole ? 360 : 180;
  spec->n_views = (guint) (between (&random, 60, 320) * (whole ? 2 : 1));
  spec->end_point = coin (&random);
  spec->first_deg = between (&random, -90, 90);
  spec->centre_px = (spec->n_columns - 1) / 2.0 + between (&random, -0.3, 0.3) * spec->n_columns;
  double room
      = MIN (spec->centre_px, spec->n_columns - 1 - spec->centre_px) / (spec->n_columns / 2.0);
  if (!whole && td_random_uniform (&random) < 0.75)
    spec->fill = room * between (&random, 0.7, 1);
  spec->offset_field = whole && td_random_uniform (&random) < 0.33;
  spec->attenuation = between (&random, 0.7, 3);
  spec->photons = pow (10, between (&random, 3, 6));
  spec->rings = coin (&random) ? between (&random, 0, 0.02) : 0;
  spec->wander = coin (&random) ? between (&random, 0, 0.05) : 0;
  spec->tilt_deg = coin (&random) ? between (&random, -1, 1) : 0;
  spec->seed = number + 1;
}

/* Every fourth scan is searched in its upper or lower third only. The others are searched in rows
   spread over the detector. */
static TdAxisOptions
rows_asked (guint number, const TdPhantomScan *spec)
{
  const guint third = spec->n_rows / 3;

  if (number % 4 != 3)
    return (TdAxisOptions) { 0 };
  return number % 8 == 3
             ? (TdAxisOptions) { .row_end = third }
             : (TdAxisOptions) { .row_first = spec->n_rows - third, .row_end = spec->n_rows };
}

static const char *
kind_of (const TdPhantomScan *spec)
{
  if (spec->range_deg > 180)
    return spec->offset_field ? "wide" : "whole";
  return spec->fill > 0 ? "fits" : "cut";
}

static void
show (const TdPhantomScan *spec, guint number, const TdAxisResult *result)
{
  double off = result->centre_px - spec->centre_px;

  td_test_pin ("%3u %-5s %-11s %3u x %2u, %3u views%s, axis %+.2f, %7.0f photons, rings %.3f, "
               "wander %.2f: off %+7.4f +- %.4f, tilt %+.4f +- %.4f for %+.4f, %s%s",
               number, kind_of (spec), spec->phantom, spec->n_columns, spec->n_rows, spec->n_views,
               spec->end_point ? "+" : " ",
               (spec->centre_px - (spec->n_columns - 1) / 2.0) / spec->n_columns, spec->photons,
               spec->rings, spec->wander, off, result->uncertainty_px, result->tilt_deg,
               result->tilt_uncertainty_deg, spec->tilt_deg,
               result->agreed ? "agreed" : result->advice, fabs (off) <= FOUND_PX ? "" : " ***");
  for (guint i = 0; i < result->n_trials; i++) {
    const TdAxisTrial *trial = &result->trials[i];
    double truth = spec->centre_px
                   + tan (spec->tilt_deg * G_PI / 180) * (trial->row - (spec->n_rows - 1) / 2.0);
    td_test_pin ("      row %2u %-11s %+9.4f +- %.4f, confidence %.2f%s", trial->row,
                 td_axis_method_name (trial->method), trial->centre_px - truth, trial->spread_px,
                 trial->confidence, trial->used ? "" : ", left out");
  }
}

typedef struct {
  guint number;
  TdPhantomScan spec;
  TdAxisOptions options;
  TdAxisResult *result;
} Case;

/* How often a centre lies within its stated uncertainty. */
typedef struct {
  const char *what;
  guint n, within;
} Coverage;

static void
coverage_add (Coverage *coverage, double off, double uncertainty)
{
  coverage->n++;
  coverage->within += fabs (off) <= uncertainty;
}

/* Of few cases one may miss by chance. */
static void
coverage_assert (const Coverage *coverage)
{
  const guint least = coverage->n * LEAST_COVERED / 100;

  td_test_pin ("%s: %u of %u within two standard errors", coverage->what, coverage->within,
               coverage->n);
  g_assert_cmpuint (coverage->within + (coverage->n < 100), >=, least);
}

/* Found trials that the consensus did not take. */
static guint
left_out (const TdAxisResult *result)
{
  guint n = 0;

  for (guint i = 0; i < result->n_trials; i++)
    n += isfinite (result->trials[i].centre_px) && !result->trials[i].used;
  return n;
}

/* How far off the centre is at a row. */
static double
off_at (const TdPhantomScan *spec, const TdAxisResult *result, double row)
{
  const TdAxisLine truth = td_axis_line (spec->centre_px, spec->tilt_deg, spec->n_rows);
  const TdAxisLine found = td_axis_line (result->centre_px, result->tilt_deg, spec->n_rows);

  return td_axis_line_at (&found, row) - td_axis_line_at (&truth, row);
}

/* A scan is mostly one thread's work: so many of them at once. */
static void
find_axis (guint index, gpointer user)
{
  Case *one = (Case *) user + index;
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&one->spec, &error);
  TdRecipe recipe;

  g_assert_no_error (error);
  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
  one->result = td_engine_find_axis (engine, scan, &recipe, &one->options, NULL, &error);
  g_assert_no_error (error);
}

static void
test_study (void)
{
  g_autofree Case *cases = g_new0 (Case, n_scans);
  guint found = 0, lost = 0, flagged = 0, too_careful = 0;
  Coverage all = { .what = "centres" }, partly = { .what = "with trials left out" };
  Coverage outer = { .what = "at the first and the last row" };

  for (guint number = first_scan, n = 0; n < n_scans; number++) {
    cases[n].number = number;
    invent (number, &cases[n].spec);
    cases[n].options = rows_asked (number, &cases[n].spec);
    n += !only_kind || g_str_equal (only_kind, kind_of (&cases[n].spec));
  }
  td_parallel_for (n_scans, find_axis, cases);
  for (guint i = 0; i < n_scans; i++) {
    const TdAxisResult *result = cases[i].result;
    const TdPhantomScan *spec = &cases[i].spec;
    const double known = result->known_row;
    gboolean near = fabs (off_at (spec, result, known)) <= FOUND_PX;

    coverage_add (&all, off_at (spec, result, result->middle_row), result->uncertainty_px);
    if (left_out (result))
      coverage_add (&partly, off_at (spec, result, known),
                    td_axis_result_uncertainty_at (result, known));
    for (guint row = 0; row < spec->n_rows; row += spec->n_rows - 1)
      coverage_add (&outer, off_at (spec, result, row),
                    td_axis_result_uncertainty_at (result, row));
    found += near;
    lost += !near;
    flagged += !near && !result->agreed;
    too_careful += near && !result->agreed;
    show (&cases[i].spec, cases[i].number, result);
    td_axis_result_free (cases[i].result);
  }
  td_test_pin ("%u of %u within %g columns; of the %u others %u say so; %u found but not agreed",
               found, n_scans, FOUND_PX, lost, flagged, too_careful);
  coverage_assert (&all);
  coverage_assert (&partly);
  coverage_assert (&outer);
  /* Of a small sample one may be lost by chance. */
  g_assert_cmpuint (found * 100 + (n_scans < 100 ? 100 : 0), >=, n_scans * LEAST_FOUND);
  if (n_scans >= 100)
    g_assert_cmpuint (flagged * 100, >=, lost * LEAST_FLAGGED);
}

int
main (int argc, char **argv)
{
  const GOptionEntry options[] = {
    { "scans", 0, 0, G_OPTION_ARG_INT, &n_scans, NULL, NULL },
    { "first", 0, 0, G_OPTION_ARG_INT, &first_scan, NULL, NULL },
    { "seed", 0, 0, G_OPTION_ARG_INT, &seed, NULL, NULL },
    { "kind", 0, 0, G_OPTION_ARG_STRING, &only_kind, NULL, NULL },
    { NULL },
  };

  td_test_options (&argc, &argv, options);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/axis/study", test_study);
  return g_test_run ();
}
