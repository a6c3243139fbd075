/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is read from a scan's data: each fault is found where it was put and nowhere else. */
#include <math.h>
#include <string.h>

#include "compute/engine/advice.h"
#include "compute/methods/methods.h"
#include "dataset/phantom-scan.h"
#include "dataset/scan-view.h"
#include "tests/common/pins.h"

#define CUT 5 /* columns: the ends of the longest shadows go */

static TdEngine *engine;

/* The kinds found, joined by spaces. */
static char *
kinds_of (TdScan *scan, const TdRecipe *recipe)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) list = td_engine_advise (engine, scan, recipe, NULL, &error);
  GString *kinds = g_string_new (NULL);

  g_assert_no_error (error);
  for (guint i = 0; i < list->len; i++) {
    const TdAdvice *advice = list->pdata[i];
    g_autofree char *text = td_message_text (advice->message, NULL);
    td_test_pin ("%s: %s", td_advice_names[advice->kind], text);
    g_string_append_printf (kinds, "%s%s", i ? " " : "", td_advice_names[advice->kind]);
  }
  return g_string_free (kinds, FALSE);
}

static void
spec_init (TdPhantomScan *spec, const char *phantom, guint64 seed)
{
  td_phantom_scan_init (spec, phantom, 192, 8, 240);
  spec->n_flats = 200; /* whose own noise makes no rings */
  spec->attenuation = 2;
  spec->seed = seed;
}

static char *
kinds_of_spec (const TdPhantomScan *spec)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = td_phantom_scan_new (spec, &error);
  TdRecipe recipe;

  g_assert_no_error (error);
  td_recipe_init (&recipe);
  return kinds_of (scan, &recipe);
}

/* No false alarm, with and without noise, whatever the object. */
static void
test_sound (void)
{
  const char *const objects[] = { "shepp-logan", "ellipsoids", "discs", "boxes" };
  const double photons[] = { 0, 1e3, 2e4, 1e6 };

  for (guint o = 0; o < G_N_ELEMENTS (objects); o++)
    for (guint p = 0; p < G_N_ELEMENTS (photons); p++) {
      const TdPhantom *there = td_phantom_find (objects[o], NULL);
      TdPhantomScan spec;
      if (!there)
        continue;
      spec_init (&spec, objects[o], 17 * o + p + 1);
      spec.photons = photons[p];
      g_autofree char *kinds = kinds_of_spec (&spec);
      td_test_pin ("%s, %g photons: \"%s\"", objects[o], photons[p], kinds);
      g_assert_cmpstr (kinds, ==, "");
    }
}

static void
assert_kinds (TdPhantomScan *spec, const char *expected)
{
  const double photons[] = { 0, 2e4 };

  for (guint p = 0; p < G_N_ELEMENTS (photons); p++) {
    spec->photons = photons[p];
    g_autofree char *kinds = kinds_of_spec (spec);
    g_assert_cmpstr (kinds, ==, expected);
  }
}

static void
test_rings (void)
{
  const double rings[] = { 0.003, 0.01, 0.03 };

  for (guint i = 0; i < G_N_ELEMENTS (rings); i++) {
    TdPhantomScan spec;
    spec_init (&spec, "shepp-logan", i + 5);
    spec.rings = rings[i];
    assert_kinds (&spec, "rings");
  }
}

static void
test_drift (void)
{
  TdPhantomScan spec;

  spec_init (&spec, "shepp-logan", 3);
  spec.wander = 0.1;
  assert_kinds (&spec, "drift");
  /* Flats before and after follow a beam that leans over, unless they are averaged. */
  TdRecipe recipe;
  td_recipe_init (&recipe);
  spec_init (&spec, "shepp-logan", 4);
  spec.drift = 0.1;
  assert_kinds (&spec, "");
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, NULL);
  td_recipe_step (&recipe, "flat-field")->values[2] = 0;
  g_autofree char *kinds = kinds_of (scan, &recipe);
  g_assert_cmpstr (kinds, ==, "drift");
}

/* A beam that drops in the last views only. */
static void
test_last_views (void)
{
  TdPhantomScan spec;
  TdRecipe recipe;
  g_autoptr (GError) error = NULL;

  spec_init (&spec, "shepp-logan", 12);
  spec.n_flats = spec.n_darks = 0;
  spec.dark_counts = 0;
  spec.profile = 0;
  g_autoptr (TdScan) steady = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  const TdScanFacts *facts = td_scan_facts (steady);
  const gsize view = (gsize) facts->n_rows * facts->n_columns, all = facts->n_views * view;
  g_autofree float *frames = g_new (float, all);
  td_scan_read (steady, &(TdFrameRange) { TD_FRAME_PROJECTION, 0, spec.n_views, 0, spec.n_rows },
                frames, NULL, &error);
  g_assert_no_error (error);
  for (gsize i = all - spec.n_views / 40 * view; i < all; i++)
    frames[i] *= 0.9f;
  g_autoptr (TdScan) scan = td_scan_new_from_memory (facts, frames, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
  td_recipe_init (&recipe);
  td_recipe_step (&recipe, "flat-field")->values[0] = spec.counts;
  g_autofree char *before = kinds_of (steady, &recipe), *kinds = kinds_of (scan, &recipe);
  g_assert_cmpstr (before, ==, "");
  g_assert_cmpstr (kinds, ==, "drift");
}

/* A beam stated too large or too small: air is not at 0. */
static void
test_background (void)
{
  static const double levels[] = { 1.02, 2, 0.98, 0.5, 0.1 };
  TdPhantomScan spec;
  TdRecipe recipe;

  spec_init (&spec, "shepp-logan", 8);
  spec.photons = 2e4;
  spec.profile = 0;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (levels); i++) {
    td_recipe_init (&recipe);
    td_recipe_step (&recipe, "flat-field")->values[0] = spec.counts * levels[i];
    g_autofree char *kinds = kinds_of (scan, &recipe);
    g_assert_cmpstr (kinds, ==, "background");
    /* Of the sample's attenuation, also where all values are below 0. */
    g_autoptr (GPtrArray) list = td_engine_advise (engine, scan, &recipe, NULL, NULL);
    const TdAdvice *advice = list->pdata[0];
    g_autofree char *text = td_message_text (advice->message, NULL);
    g_assert_null (strstr (text, "e+"));
  }
}

/* Columns cut off on both sides. */
static void
test_rim (void)
{
  TdPhantomScan spec;
  TdRecipe recipe;

  spec_init (&spec, "ellipsoids", 9);
  spec.photons = 2e4;
  g_autoptr (TdScan) whole = td_phantom_scan_new (&spec, NULL);
  const TdScanFrame frame = { .crop_column = 60, .crop_columns = 72, .crop_rows = spec.n_rows };
  g_autoptr (TdScan) scan = td_scan_view_new (whole, &frame, NULL);
  g_assert_nonnull (scan);
  td_recipe_init (&recipe);
  g_autofree char *kinds = kinds_of (scan, &recipe);
  g_assert_cmpstr (kinds, ==, "rim");
}

/* The sample enters the edges in a few views, and in the others there is a container, or air. */
static void
test_level (void)
{
  const double levels[] = { 1.5, 1 };
  TdPhantomScan spec;
  TdRecipe recipe;

  spec_init (&spec, "shepp-logan", 11);
  spec.photons = 2e4;
  spec.profile = 0;
  g_autoptr (TdScan) whole = td_phantom_scan_new (&spec, NULL);
  const TdScanFrame frame
      = { .crop_column = CUT, .crop_columns = spec.n_columns - 2 * CUT, .crop_rows = spec.n_rows };
  g_autoptr (TdScan) scan = td_scan_view_new (whole, &frame, NULL);
  g_assert_nonnull (scan);
  for (guint i = 0; i < G_N_ELEMENTS (levels); i++) {
    td_recipe_init (&recipe);
    td_recipe_step (&recipe, "flat-field")->values[0] = spec.counts * levels[i];
    g_autofree char *kinds = kinds_of (scan, &recipe);
    g_assert_cmpstr (kinds, ==, i == 0 ? "rim" : "");
  }
}

/* Counts alone: the beam is told to a few per cent where some columns see it. */
static void
test_no_flats (void)
{
  TdPhantomScan spec;
  TdRecipe recipe;
  g_autoptr (GError) error = NULL;

  spec_init (&spec, "shepp-logan", 10);
  spec.n_flats = spec.n_darks = 0;
  spec.dark_counts = 0;
  spec.photons = 2e4;
  spec.profile = 0;
  g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, NULL);
  td_recipe_init (&recipe);
  g_autoptr (GPtrArray) list = td_engine_advise (engine, scan, &recipe, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (list->len, ==, 1);
  const TdAdvice *advice = list->pdata[0];
  g_assert_cmpint (advice->kind, ==, TD_ADVICE_NO_FLATS);
  g_assert_cmpfloat (fabs (advice->value / spec.counts - 1), <, 0.05);
}

static void
test_views (void)
{
  TdPhantomScan spec;

  spec_init (&spec, "shepp-logan", 6);
  spec.n_views = 40;
  assert_kinds (&spec, "few-views");
  /* The same directions twice. */
  spec.n_views = 80;
  spec.range_deg = 360;
  assert_kinds (&spec, "few-views");
}

static void
test_offset_axis (void)
{
  TdPhantomScan spec;

  spec_init (&spec, "shepp-logan", 7);
  spec.range_deg = 360;
  spec.n_views = 480;
  spec.centre_px = 20;
  spec.offset_field = TRUE;
  spec.centre_unsaid = TRUE;
  assert_kinds (&spec, "offset-axis");
}

static TdScan *
new_full_turn (void)
{
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;

  spec_init (&spec, "disc", 9);
  spec.range_deg = 360;
  spec.centre_unsaid = TRUE;
  TdScan *scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  return scan;
}

/* Once the axis is known near an edge, slices have both sides without being asked. */
static void
test_wide_by_itself (void)
{
  static const struct {
    double centre_px;
    TdFieldOfView field;
    gboolean followed, says_half; /* the scan does, not where its axis is */
  } cases[] = { { NAN, TD_FIELD_AUTO, FALSE },       { NAN, TD_FIELD_AUTO, FALSE, TRUE },
                { 95.5, TD_FIELD_AUTO, TRUE, TRUE }, { 95.5, TD_FIELD_AUTO, FALSE },
                { 20, TD_FIELD_AUTO, TRUE },         { 171, TD_FIELD_AUTO, TRUE },
                { 20, TD_FIELD_FULL, FALSE },        { 95.5, TD_FIELD_HALF, TRUE } };
  const TdAdvice advice = { .kind = TD_ADVICE_OFFSET_AXIS };
  g_autoptr (TdScan) scan = new_full_turn ();

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    TdScanFacts facts = *td_scan_facts (scan);
    TdRecipe recipe;
    facts.half_acquisition = cases[i].says_half;
    td_recipe_init (&recipe);
    recipe.centre_px = cases[i].centre_px;
    recipe.field_of_view = cases[i].field;
    g_assert_cmpint (td_advice_is_followed (&advice, &facts, &recipe), ==, cases[i].followed);
  }
}

/* Each advice is followed by one call, which is seen, and can be taken twice. */
static void
test_apply (void)
{
  g_autoptr (TdScan) scan = new_full_turn ();
  const TdScanFacts *facts = td_scan_facts (scan);

  for (guint kind = 0; kind < TD_N_ADVICE; kind++) {
    const TdAdvice advice
        = { .kind = kind, .value = kind == TD_ADVICE_NO_FLATS ? 4000 : 1, .columns = 6 };
    g_autoptr (GError) error = NULL;
    TdRecipe recipe, again;
    td_recipe_init (&recipe);
    td_test_pin ("%s", td_advice_names[kind]);
    g_assert_false (td_advice_is_followed (&advice, facts, &recipe));
    g_assert_true (td_advice_apply (&advice, &recipe, &error));
    g_assert_no_error (error);
    g_assert_true (td_advice_is_followed (&advice, facts, &recipe));
    again = recipe;
    g_assert_true (td_advice_apply (&advice, &again, &error));
    g_assert_true (td_recipe_equal (&again, &recipe));
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  engine = td_engine_new (td_methods);
  g_test_add_func ("/advice/sound", test_sound);
  g_test_add_func ("/advice/rings", test_rings);
  g_test_add_func ("/advice/drift", test_drift);
  g_test_add_func ("/advice/last-views", test_last_views);
  g_test_add_func ("/advice/background", test_background);
  g_test_add_func ("/advice/rim", test_rim);
  g_test_add_func ("/advice/level", test_level);
  g_test_add_func ("/advice/no-flats", test_no_flats);
  g_test_add_func ("/advice/views", test_views);
  g_test_add_func ("/advice/offset-axis", test_offset_axis);
  g_test_add_func ("/advice/apply", test_apply);
  g_test_add_func ("/advice/wide-by-itself", test_wide_by_itself);
  int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
