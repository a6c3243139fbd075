/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search finds the axis of measured scans that others have published, and finds none in
   sinograms that say nothing. The engine searches once, and a plan uses the result. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/axis/axis.h"
#include "compute/engine/centre.h"
#include "compute/engine/plan.h"
#include "compute/methods/methods.h"
#include "dataset/phantom-scan.h"
#include "dataset/scan-private.h"
#include "dataset/sort.h"
#include "tests/common/devices.h"
#include "tests/common/faulty.h"
#include "tests/common/inner-scan.h"
#include "tests/common/measured.h"
#include "tests/common/pipeline.h"
#include "tests/common/pins.h"

/* ── Measured scans ── */

static void
recipe_init (TdRecipe *recipe, const char *device)
{
  td_recipe_init (recipe);
  g_strlcpy (recipe->devices, device, sizeof recipe->devices);
}

/* How many methods' medians, of the trials that were used, lie within @within. */
static guint
methods_near (const TdAxisResult *result, double truth, double within)
{
  g_autofree double *values = g_new (double, result->n_trials);
  guint near = 0;

  for (guint m = 0; m < TD_AXIS_COUNT; m++) {
    guint n = 0;
    for (guint i = 0; i < result->n_trials; i++) {
      const TdAxisTrial *trial = &result->trials[i];
      if (trial->method != m || !trial->used)
        continue;
      td_test_pin ("%s, row %u: %.3f", td_axis_method_name (m), trial->row, trial->centre_px);
      values[n++] = trial->centre_px;
    }
    qsort (values, n, sizeof *values, td_compare_doubles);
    near += n > 0 && fabs (values[n / 2] - truth) <= within;
  }
  return near;
}

static void
test_i13 (gconstpointer device)
{
  g_autoptr (TdScan) scan = td_test_open_measured ("i13_24737", NULL);
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  if (!scan)
    return;
  recipe_init (&recipe, device);
  g_autoptr (TdAxisResult) result = td_engine_find_axis (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  td_test_pin ("%.3f +- %.3f, tilt %.3f", result->centre_px, result->uncertainty_px,
               result->tilt_deg);
  g_assert_cmpfloat_with_epsilon (result->centre_px, 85.83, 0.1);
  g_assert_cmpfloat (result->uncertainty_px, >, 0);
  g_assert_cmpfloat (result->uncertainty_px, <, 0.2);
  g_assert_true (result->agreed);
  g_assert_cmpuint (methods_near (result, 85.83, 0.1), >=, 2);
}

static void
test_neutron (void)
{
  const TdScanOptions options = { .angles = "0:360", .sinograms = TRUE };
  g_autoptr (TdScan) scan = td_test_open_measured ("sarepy_neutron360", &options);
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  if (!scan)
    return;
  recipe_init (&recipe, "host");
  g_assert_true (td_recipe_set (&recipe, "prepare", "flat-field=46900,minus-log", &error));
  g_autoptr (TdAxisResult) result = td_engine_find_axis (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  td_test_pin ("%.3f +- %.3f", result->centre_px, result->uncertainty_px);
  g_assert_cmpfloat_with_epsilon (result->centre_px, 244.95, 0.3);
  g_assert_true (result->agreed);
  g_assert_cmpuint (methods_near (result, 244.95, 0.3), >=, 2);
}

/* ── What says nothing ── */

typedef enum { CONSTANT, EMPTY, NOISE, DISC } Content;

static TdScan *
plain_scan (Content content, guint n_rows, guint n_views, guint n_columns, double range_deg)
{
  g_autofree float *data = g_new0 (float, (gsize) n_rows *n_views *n_columns);
  g_autofree double *angles = g_new (double, n_views);
  float *sample = data;

  if (content == NOISE)
    td_test_random (data, (gsize) n_rows * n_views * n_columns, 77);
  for (guint v = 0; v < n_views; v++)
    angles[v] = range_deg * G_PI / 180 * v / n_views;
  for (guint row = 0; row < n_rows; row++)
    for (guint v = 0; v < n_views; v++)
      for (guint u = 0; u < n_columns; u++, sample++) {
        double t = u - 0.45 * n_columns - 0.15 * n_columns * cos (angles[v] + 0.7);
        double rest = 0.01 * n_columns * n_columns - t * t;
        if (content == CONSTANT)
          *sample = 0.7f;
        else if (content == DISC && rest > 0)
          *sample = (float) sqrt (rest);
      }
  return td_test_scan (data, n_rows, n_views, n_columns, angles);
}

/* Either one sentence, or a result that does not claim to have found anything. */
static void
assert_not_fooled (TdEngine *engine, TdScan *scan)
{
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  recipe_init (&recipe, "host");
  g_autoptr (TdAxisResult) result = td_engine_find_axis (engine, scan, &recipe, NULL, NULL, &error);
  if (!result) {
    td_test_pin ("%s", error->message);
    g_assert_true (error->domain == TD_ERROR && strlen (error->message) > 20);
    return;
  }
  td_test_pin ("%.2f: %s", result->centre_px, result->advice ? result->advice : "agreed");
  g_assert_false (result->agreed);
  g_assert_true (result->advice && strlen (result->advice) > 20);
}

static void
test_nothing (void)
{
  static const struct {
    Content content;
    guint rows, views, columns;
    double range_deg;
  } cases[] = {
    { CONSTANT, 5, 90, 64, 180 }, { CONSTANT, 1, 91, 33, 360 }, { EMPTY, 3, 90, 64, 180 },
    { EMPTY, 1, 180, 65, 360 },   { NOISE, 20, 90, 64, 180 },   { NOISE, 9, 180, 63, 360 },
    { DISC, 1, 1, 64, 180 },      { DISC, 3, 2, 64, 180 },      { DISC, 3, 5, 64, 180 },
    { DISC, 3, 90, 1, 180 },      { DISC, 3, 90, 2, 360 },      { DISC, 3, 90, 5, 180 },
    { DISC, 3, 40, 64, 60 },
  };
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TdScan) scan = plain_scan (cases[i].content, cases[i].rows, cases[i].views,
                                          cases[i].columns, cases[i].range_deg);
    assert_not_fooled (engine, scan);
  }
}

/* Small and odd, but it can be found. */
static void
test_small (void)
{
  static const struct {
    guint rows, views, columns;
    double range_deg;
  } cases[] = { { 1, 60, 48, 180 }, { 3, 61, 47, 180 }, { 2, 121, 51, 360 }, { 5, 32, 64, 360 } };
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (TdScan) scan
        = plain_scan (DISC, cases[i].rows, cases[i].views, cases[i].columns, cases[i].range_deg);
    TdRecipe recipe;
    recipe_init (&recipe, "host");
    g_autoptr (TdAxisResult) result
        = td_engine_find_axis (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    td_test_pin ("%.3f for %.3f, %s", result->centre_px, 0.45 * cases[i].columns,
                 result->advice ? result->advice : "agreed");
    g_assert_cmpfloat_with_epsilon (result->centre_px, 0.45 * cases[i].columns, 0.15);
  }
}

/* ── The engine ── */

static guint rows_told;

static void
count_calls (double fraction, const char *what, gpointer user)
{
  guint *calls = user;

  g_assert_cmpfloat (fraction, >=, 0);
  g_assert_cmpfloat (fraction, <=, 1);
  g_assert_nonnull (what);
  rows_told += g_str_has_prefix (what, "row ") && strchr (what, ':');
  ++*calls;
}

static TdScan *
phantom (double tilt_deg)
{
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;

  td_phantom_scan_init (&spec, "discs", 121, 45, 240);
  spec.range_deg = 360;
  spec.centre_px = 66.4;
  spec.tilt_deg = tilt_deg;
  TdScan *scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  scan->facts.centre_px = NAN;
  return scan;
}

static void
test_once (void)
{
  g_autoptr (TdScan) scan = phantom (0);
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (GError) error = NULL;
  guint calls = 0;
  TdAxisOptions options = { .progress = count_calls, .progress_user = &calls };
  TdRecipe recipe;

  recipe_init (&recipe, "host");
  g_autoptr (TdAxisResult) first
      = td_engine_find_axis (engine, scan, &recipe, &options, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (calls, >, 5);
  g_assert_cmpuint (rows_told, >, 5); /* what is done: of which row, by which method */
  calls = 0;
  recipe.centre_px = 3; /* is not looked at */
  recipe.row_end = 2;
  g_autoptr (TdAxisResult) second
      = td_engine_find_axis (engine, scan, &recipe, &options, NULL, &error);
  g_assert_cmpuint (calls, ==, 0);
  g_assert_cmpfloat (first->centre_px, ==, second->centre_px);
  g_assert_true (td_recipe_set (&recipe, "prepare", "flat-field=50000", &error));
  g_autoptr (TdAxisResult) other
      = td_engine_find_axis (engine, scan, &recipe, &options, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (calls, >, 5);
}

static void
test_plan (void)
{
  g_autoptr (TdScan) scan = phantom (0.5);
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  recipe_init (&recipe, "host");
  recipe.centre_auto = TRUE;
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  const TdRecipe *made = td_plan_recipe (plan);
  g_autofree char *notes = td_messages_join (td_plan_facts (plan)->notes, "\n", NULL);
  td_test_pin ("%s", notes);
  g_assert_false (made->centre_auto);
  g_assert_cmpfloat_with_epsilon (made->centre_px, 66.4, 0.1);
  g_assert_cmpfloat_with_epsilon (made->tilt_deg, 0.5, 0.1);
  g_assert_true (g_regex_match_simple ("was found at column 66\\.\\d\\d ± 0\\.\\d\\d "
                                       "\\([a-z]+((, [a-z]+)* and [a-z]+)? agree\\)\\.",
                                       notes, 0, 0));
  g_assert_nonnull (strstr (notes, "tilted"));

  /* Nothing to be found: the plan says so, and what to do. */
  g_autoptr (TdScan) empty = plain_scan (EMPTY, 4, 90, 64, 180);
  empty->facts.centre_px = NAN;
  g_autoptr (TdPlan) none = td_plan_new (engine, empty, &recipe, NULL, NULL, &error);
  g_assert_null (none);
  g_assert_nonnull (strstr (error->message, "--centre"));
}

static void
end_last (double fraction, const char *what, gpointer user)
{
  g_assert_cmpint (fraction == 1, ==, g_str_equal (what, "done"));
}

/* What is told of the progress, and what is done by then, in parts of the whole. */
typedef struct {
  const char *const *says;
  const double *parts; /* what each of these takes */
  guint n, told;
} Telling;

static void
compare_told (double fraction, const char *what, gpointer user)
{
  Telling *telling = user;
  double before = 0, all = 0;

  g_assert_cmpuint (telling->told, <, telling->n);
  g_assert_cmpstr (what, ==, telling->says[telling->told]);
  for (guint i = 0; i < telling->n; i++) {
    all += telling->parts[i];
    before += i < telling->told ? telling->parts[i] : 0;
  }
  g_assert_cmpfloat_with_epsilon (fraction, before / all, 1e-9);
  telling->told++;
}

/* What is begun, row by row and method by method. A method takes one part for each row, trial
   slices three, and whole projections two. */
static void
test_told (void)
{
#define BIT(method) (1u << TD_AXIS_##method)
  static const struct {
    guint methods, first, end, n_rows, trials;
    const char *says[16];
    double parts[16];
  } cases[] = {
    { BIT (CORRELATION),
      0,
      0,
      2,
      2,
      { "row 2: reading", "row 6: reading", "2 rows: correlation", "done" },
      { 1, 1, 2 } },
    { BIT (FOURIER), 0, 1, 1, 1, { "row 0: reading", "1 row: fourier", "done" }, { 1, 1 } },
    { BIT (OVERLAP) | BIT (SHARPNESS),
      3,
      5,
      3, /* there are two */
      4,
      { "row 3: reading", "row 4: reading", "row 3: overlap", "row 4: overlap", "row 3: sharpness",
        "row 4: sharpness", "done" },
      { 1, 1, 1, 1, 3, 3 } },
    /* where the rows' centre is, is what whole projections begin with */
    { BIT (PROJECTIONS),
      0,
      9,
      1,
      1,
      { "row 4: reading", "1 row: correlation", "projections", "done" },
      { 1, 1, 2 } },
    { 0,
      8,
      9,
      1,
      5,
      { "row 8: reading", "row 8: overlap", "1 row: correlation", "1 row: fourier",
        "row 8: sharpness", "projections", "done" },
      { 1, 1, 1, 1, 3, 2 } },
  };
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;
  TdRecipe recipe;

  td_phantom_scan_init (&spec, "discs", 48, 9, 80);
  spec.range_deg = 360;
  spec.centre_px = 25.4;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  recipe_init (&recipe, "host");
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (TdEngine) engine = td_engine_new (td_methods);
    Telling telling = { cases[i].says, cases[i].parts, 0, 0 };
    const TdAxisOptions options = { .methods = cases[i].methods,
                                    .row_first = cases[i].first,
                                    .row_end = cases[i].end,
                                    .n_rows = cases[i].n_rows,
                                    .progress = compare_told,
                                    .progress_user = &telling };
    while (telling.says[telling.n])
      telling.n++;
    g_autoptr (TdAxisResult) result
        = td_engine_find_axis (engine, scan, &recipe, &options, NULL, &error);
    g_assert_no_error (error);
    td_test_pin ("%u: %.3f +- %.3f", i, result->centre_px, result->uncertainty_px);
    g_assert_cmpuint (telling.told, ==, telling.n);
    g_assert_cmpuint (result->n_trials, ==, cases[i].trials);
  }
#undef BIT
}

static void
cancel_soon (double fraction, const char *what, gpointer user)
{
  if (fraction > 0.2)
    g_cancellable_cancel (user);
}

static void
test_cancel (void)
{
  g_autoptr (TdScan) scan = phantom (0);
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  TdAxisOptions options = { .progress = cancel_soon, .progress_user = cancellable };
  TdRecipe recipe;

  recipe_init (&recipe, "host");
  g_assert_null (td_engine_find_axis (engine, scan, &recipe, &options, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  /* It is not taken for found, and nobody is locked out. */
  g_clear_error (&error);
  options.progress = NULL;
  g_autoptr (TdAxisResult) result
      = td_engine_find_axis (engine, scan, &recipe, &options, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat_with_epsilon (result->centre_px, 66.4, 0.1);
}

/* ── Faults ── */

typedef struct {
  TdScan *inner;
  gint left; /* atomic: reads before one fails */
} Failing;

static gboolean
fill_or_fail (gpointer source, const TdFrameRange *range, const TdFrameTarget *target,
              GCancellable *cancellable, GError **error)
{
  Failing *failing = source;

  if (g_atomic_int_add (&failing->left, -1) == 0)
    return td_set_error (error, TD_ERROR_IO, "This read fails");
  return failing->inner->vtable->fill (failing->inner->source, range, target, cancellable, error);
}

/* No result is made of what could not be read, or of what the device did not do. The search ends
   with that error, whichever read or call it was. Some calls are tried in another way. */
static void
test_faults (void)
{
  static const TdScanSource vtable = { .fill = fill_or_fail };
  static const struct {
    guint methods;
    double reach_px;
  } cases[] = { { 1u << TD_AXIS_CORRELATION | 1u << TD_AXIS_PROJECTIONS, 9 },
                { 1u << TD_AXIS_SHARPNESS, 0.5 } };
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;
  TdRecipe recipe;

  td_phantom_scan_init (&spec, "discs", 32, 9, 24);
  spec.range_deg = 360;
  spec.centre_px = 17.3;
  spec.n_flats = 2;
  spec.n_darks = 2;
  Failing failing = { td_phantom_scan_new (&spec, &error), 0 };
  g_assert_no_error (error);
  td_recipe_init (&recipe);
  g_autoptr (TdDevice) device = td_device_open ("host", &error);
  g_autoptr (TdScan) scan = td_test_scan_around (failing.inner, &vtable, &failing);
  td_geometry_init_parallel (&scan->facts.geometry);
  const TdRowSource source = { device, scan, NULL, recipe.steps, recipe.n_steps };
  for (guint i = 0; i < 2 * G_N_ELEMENTS (cases); i++) {
    const gboolean of_device = i % 2;
    const double reach_px = cases[i / 2].reach_px;
    const TdAxisOptions options = { .methods = cases[i / 2].methods,
                                    .n_rows = of_device ? 1 : 2,
                                    .search_first_px = 17.1 - reach_px,
                                    .search_last_px = 17.1 + reach_px };
    gboolean failed = TRUE;
    guint n = 0, errors = 0;

    failing.left = -1;
    g_autoptr (TdAxisResult) sound = td_axis_find (&source, &options, NULL, &error);
    g_assert_no_error (error);
    for (; failed; n++) {
      failing.left = of_device ? -1 : (gint) n;
      td_faulty_begin (device);
      if (of_device)
        td_faulty.calls_left = (gint) n;
      td_faulty.failures_left = 1;
      td_faulty.code = TD_ERROR_IO;
      g_autoptr (TdAxisResult) result = td_axis_find (&source, &options, NULL, &error);
      failed = of_device ? td_faulty_failed () : g_atomic_int_get (&failing.left) < 0;
      td_faulty_end ();
      g_assert_cmpint (result == NULL, ==, error != NULL);
      if (error)
        g_assert_nonnull (strstr (error->message, of_device ? "made to fail" : "This read fails"));
      else
        g_assert_cmpfloat_with_epsilon (result->centre_px, sound->centre_px, 1e-3);
      g_assert_true (error || of_device || !failed);
      errors += error != NULL;
      g_clear_error (&error);
    }
    g_test_message ("%u: %u faults, %u errors", i, n - 1, errors);
    g_assert_cmpuint (errors, >, 3);
  }
  td_scan_unref (failing.inner);
}

static void
test_options (void)
{
  g_autoptr (TdScan) scan = phantom (0);
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  static const TdAxisOptions wrong[] = {
    { .row_first = 40, .row_end = 46 },
    { .row_first = 9, .row_end = 9 },
    { .search_first_px = 50, .search_last_px = 40 },
    { .search_first_px = 5000, .search_last_px = 6000 },
  };
  TdRecipe recipe;

  recipe_init (&recipe, "host");
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++) {
    g_autoptr (GError) error = NULL;
    g_assert_null (td_engine_find_axis (engine, scan, &recipe, &wrong[i], NULL, &error));
    td_test_pin ("%s", error->message);
    g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
  }
  for (guint m = 0; m < TD_AXIS_COUNT; m++) {
    g_autoptr (GError) error = NULL;
    TdAxisMethod method;
    const TdAxisOptions one = { .methods = 1u << m,
                                .row_first = 10,
                                .row_end = 20,
                                .n_rows = 2,
                                .search_first_px = 60,
                                .search_last_px = 72,
                                .progress = end_last };
    g_assert_true (td_axis_method_parse (td_axis_method_name (m), &method) && method == m);
    g_autoptr (TdAxisResult) result
        = td_engine_find_axis (engine, scan, &recipe, &one, NULL, &error);
    g_assert_no_error (error);
    g_assert_cmpuint (result->n_trials, ==, m == TD_AXIS_PROJECTIONS ? 1 : 2);
    g_assert_cmpfloat_with_epsilon (result->centre_px, 66.4, 0.2);
    for (guint i = 0; i < result->n_trials; i++) {
      g_assert_cmpuint (result->trials[i].method, ==, m);
      g_assert_true (m == TD_AXIS_PROJECTIONS || result->trials[i].row >= 10);
      g_assert_true (m == TD_AXIS_PROJECTIONS || result->trials[i].row < 20);
    }
  }
  /* The range that was asked for may be why nothing is found. */
  const TdAxisOptions beside = { .n_rows = 2, .search_first_px = 15, .search_last_px = 25 };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdAxisResult) result
      = td_engine_find_axis (engine, scan, &recipe, &beside, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (isnan (result->centre_px));
  g_autofree char *advice = td_message_words (result->advice, NULL);
  g_assert_nonnull (strstr (advice, "among the columns 15 to 25 (--range)"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_autoptr (GPtrArray) devices = td_test_devices ();

  for (guint i = 0; i < devices->len; i++) {
    g_autofree char *path = g_strconcat ("/axis/i13/", (char *) devices->pdata[i], NULL);
    g_test_add_data_func (path, devices->pdata[i], test_i13);
  }
  g_test_add_func ("/axis/neutron", test_neutron);
  g_test_add_func ("/axis/nothing", test_nothing);
  g_test_add_func ("/axis/small", test_small);
  g_test_add_func ("/axis/once", test_once);
  g_test_add_func ("/axis/plan", test_plan);
  g_test_add_func ("/axis/told", test_told);
  g_test_add_func ("/axis/cancel", test_cancel);
  g_test_add_func ("/axis/faults", test_faults);
  g_test_add_func ("/axis/options", test_options);
  return g_test_run ();
}
