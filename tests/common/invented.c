/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "invented.h"

#include <math.h>
#include <string.h>

#include "compute/prepare/steps.h"

static gboolean
invented_chance (TdTestInvented *trial, double part)
{
  return g_rand_double (trial->rand) < part;
}

static double
invented_between (TdTestInvented *trial, double low, double high)
{
  return g_rand_double_range (trial->rand, low, high);
}

guint
td_test_whole (TdTestInvented *trial, guint low, guint high)
{
  return (guint) g_rand_int_range (trial->rand, (gint) low, (gint) high + 1);
}

/* ── Inventing ── */

static void
invent_scan (TdTestInvented *trial)
{
  static const char *const objects[]
      = { "shepp-logan", "disc", "discs", "sphere", "ellipsoids", "boxes" };
  TdPhantomScan *spec = &trial->spec;

  td_phantom_scan_init (spec, NULL, 0, 0, 0);
  spec->phantom = objects[td_test_whole (trial, 0, G_N_ELEMENTS (objects) - 1)];
  spec->n_columns
      = invented_chance (trial, 0.1) ? td_test_whole (trial, 1, 5) : td_test_whole (trial, 9, 90);
  spec->n_rows = invented_chance (trial, 0.2) ? 1 : td_test_whole (trial, 2, 40);
  spec->n_views
      = invented_chance (trial, 0.1) ? td_test_whole (trial, 2, 3) : td_test_whole (trial, 4, 100);
  spec->centre_px
      = (spec->n_columns - 1) / 2.0 + invented_between (trial, -0.4, 0.4) * spec->n_columns;
  spec->tilt_deg = invented_chance (trial, 0.3) ? invented_between (trial, -2, 2) : 0;
  spec->first_deg = invented_between (trial, -200, 200);
  spec->range_deg = (invented_chance (trial, 0.5)   ? 180
                     : invented_chance (trial, 0.7) ? 360
                                                    : invented_between (trial, 60, 500))
                    * (invented_chance (trial, 0.2) ? -1 : 1);
  spec->end_point = invented_chance (trial, 0.5);
  if (spec->n_views == 2 && (fabs (spec->range_deg) == 180 || fabs (spec->range_deg) == 360))
    spec->end_point = FALSE; /* both would look along one line */
  spec->logged = invented_chance (trial, 0.2);
  spec->attenuation = spec->logged ? 0 : 2;
  spec->n_flats = td_test_whole (trial, 1, 6);
  spec->n_darks = td_test_whole (trial, 0, 3);
  spec->dark_counts = spec->n_darks ? 200 : 0;
  spec->photons = invented_chance (trial, 0.6) ? pow (10, invented_between (trial, 2.5, 5)) : 0;
  spec->wander = invented_chance (trial, 0.4) ? 0.2 : 0;
  spec->drift = invented_chance (trial, 0.3) ? 0.2 : 0;
  spec->flicker = invented_chance (trial, 0.3) ? 0.05 : 0;
  spec->zingers = invented_chance (trial, 0.3) ? 1e-3 : 0;
  spec->rings = invented_chance (trial, 0.3) ? 0.01 : 0;
  spec->n_dead = invented_chance (trial, 0.3) ? spec->n_columns * spec->n_rows / 100 : 0;
  spec->seed = g_rand_int (trial->rand);
  if (invented_chance (trial, 0.5))
    spec->geometry.pixel_width_mm = spec->geometry.pixel_height_mm
        = invented_between (trial, 0.001, 0.5);
}

/* A parameter anywhere in its range is mostly absurd: near the preset, or another choice. */
static void
invent_parameters (TdTestInvented *trial, TdStep *step, const TdStepKind *kind)
{
  for (guint i = 0; i < kind->n_parameters; i++) {
    const TdStepParameter *parameter = &kind->parameters[i];

    if (invented_chance (trial, 0.5))
      continue;
    double value = parameter->choices ? td_test_whole (trial, (guint) parameter->minimum,
                                                       (guint) parameter->maximum)
                                      : parameter->preset * invented_between (trial, 0.6, 1.5);
    if (parameter->digits == 0)
      value = round (value);
    step->values[i] = CLAMP (value, parameter->minimum, parameter->maximum);
  }
}

static void
invent_steps (TdTestInvented *trial)
{
  for (const TdStepKind *const *kind = td_prepare_steps (); *kind; kind++) {
    const gboolean preset = (*kind)->preset_on, rings = g_str_has_prefix ((*kind)->name, "rings");
    const gboolean orders = rings || g_str_equal ((*kind)->name, "zingers-angle");
    g_autoptr (GError) error = NULL;

    if (!preset && !invented_chance (trial, rings ? 0.06 : 0.2))
      continue;
    if (g_str_equal ((*kind)->name, "dose") && trial->spec.n_columns < 12)
      continue;
    TdStep *step = td_recipe_add_step (&trial->recipe, (*kind)->name, &error);
    g_assert_no_error (error);
    if (preset || invented_chance (trial, 0.5))
      invent_parameters (trial, step, *kind);
    if (g_str_equal (step->name, "flat-field"))
      step->values[TD_FLAT_FIELD_WHITE] = 0;
    if (g_str_equal (step->name, "minus-log"))
      step->values[0] = invented_chance (trial, 0.5) ? 1e-5 : 1e-3;
    if (g_str_equal (step->name, "dose"))
      step->values[0]
          = invented_chance (trial, 0.5); /* borders or rows: a region may lie outside */
    if (g_str_equal (step->name, "paganin")) {
      const double paganin[] = { 50, 25, 100, 1.5 }; /* a few columns wide */
      memcpy (step->values, paganin, sizeof paganin);
      trial->portions = TD_TEST_OTHER_PORTION;
    }
    trial->keeps_order |= orders;
    trial->judges |= rings || strstr (step->name, "zingers")
                     || g_str_equal (step->name, "bad-pixels") || g_str_equal (step->name, "dose");
  }
}

static void
invent_frame (TdTestInvented *trial)
{
  const TdPhantomScan *spec = &trial->spec;
  TdRecipe *recipe = &trial->recipe;

  if (invented_chance (trial, 0.35)) {
    recipe->crop[2] = td_test_whole (trial, (spec->n_columns + 1) / 2, spec->n_columns);
    recipe->crop[0] = td_test_whole (trial, 0, spec->n_columns - recipe->crop[2]);
    recipe->crop[3] = td_test_whole (trial, (spec->n_rows + 1) / 2, spec->n_rows);
    recipe->crop[1] = td_test_whole (trial, 0, spec->n_rows - recipe->crop[3]);
  }
  if (invented_chance (trial, 0.3)) {
    recipe->bin[0]
        = td_test_whole (trial, 1, MIN (4, recipe->crop[2] ? recipe->crop[2] : spec->n_columns));
    recipe->bin[1]
        = td_test_whole (trial, 1, MIN (3, recipe->crop[3] ? recipe->crop[3] : spec->n_rows));
  }
  /* Views far from each other are no group. */
  if (invented_chance (trial, 0.2) && fabs (spec->range_deg) < 5 * spec->n_views)
    recipe->bin_views = td_test_whole (trial, 1, 3);
}

static void
invent_recipe (TdTestInvented *trial)
{
  TdRecipe *recipe = &trial->recipe;

  td_recipe_init (recipe);
  invent_steps (trial);
  invent_frame (trial);
  recipe->centre_px = trial->spec.centre_px;
  recipe->tilt_deg = trial->spec.tilt_deg;
  recipe->filter.kind = td_test_whole (trial, 0, g_strv_length ((char **) td_filter_names) - 1);
  recipe->filter.cutoff = invented_chance (trial, 0.5) ? 1 : invented_between (trial, 0.3, 1);
  recipe->filter.extend_edges = invented_chance (trial, 0.3);
  recipe->method = invented_chance (trial, 0.15) ? TD_METHOD_FOURIER : TD_METHOD_FBP;
  if (recipe->method == TD_METHOD_FOURIER)
    trial->portions = TD_TEST_OTHER_PORTION;
  recipe->interpolation
      = invented_chance (trial, 0.15) ? TD_INTERPOLATION_NEAREST : TD_INTERPOLATION_LINEAR;
  if (recipe->interpolation
      == TD_INTERPOLATION_NEAREST) { /* midway between two columns it may be either */
    trial->judges = TRUE;
    trial->portions = TD_TEST_OTHER_JUDGE;
  }
  recipe->angle_offset_deg = invented_chance (trial, 0.3) ? invented_between (trial, -360, 360) : 0;
  recipe->reverse_rotation = invented_chance (trial, 0.2);
  recipe->field_of_view = td_test_whole (trial, TD_FIELD_AUTO, TD_FIELD_FULL);
  g_strlcpy (recipe->devices, "host", sizeof recipe->devices);
}

/* ── The whole ── */

void
td_test_invent (TdTestInvented *trial, guint seed, guint number)
{
  g_autoptr (GError) error = NULL;

  *trial = (TdTestInvented) {
    .rand = g_rand_new_with_seed (seed * 100003 + number),
    .portions = TD_TEST_SAME,
  };
  invent_scan (trial);
  invent_recipe (trial);
  trial->scan = td_phantom_scan_new (&trial->spec, &error);
  g_assert_no_error (error);
}

void
td_test_invented_clear (TdTestInvented *trial)
{
  td_scan_unref (trial->scan);
  g_rand_free (trial->rand);
}

void
td_test_invented_tell (const TdTestInvented *trial, guint number)
{
  g_autofree char *text = td_recipe_to_json (&trial->recipe);
  const TdPhantomScan *spec = &trial->spec;

  g_test_message ("scan %u: %s, %u columns, %u rows, %u views, %g from %g degrees, centre %g, tilt "
                  "%g, %u flats, "
                  "%u darks%s",
                  number, spec->phantom, spec->n_columns, spec->n_rows, spec->n_views,
                  spec->range_deg, spec->first_deg, spec->centre_px, spec->tilt_deg, spec->n_flats,
                  spec->n_darks, spec->logged ? ", logged" : "");
  g_test_message ("%s", text);
}
