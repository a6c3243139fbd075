/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a plan says and what it refuses, each just inside and just outside of where it applies; and
   the figures that all methods share. Nothing is run. */
#include <math.h>
#include <string.h>

#include "compute/device/host.h"
#include "compute/engine/cone-scan.h"
#include "compute/engine/engine-private.h"
#include "compute/engine/found-axes.h"
#include "compute/engine/preflight.h"
#include "compute/methods/methods.h"
#include "compute/recipe/json.h"
#include "engine-scans.h"
#include "tests/common/cone-scan.h"
#include "tests/common/devices.h"
#include "tests/common/pins.h"

#define COLUMNS 64
#define ROWS 20
#define VIEWS 45

/* ── One change of the recipe or the scan each ── */

typedef enum {
  NO_CHANGE,
  LOGGED,
  WITHOUT_FLATS,
  WITHOUT_DARKS,
  CONE,
  NO_CENTRE,
  HALF_SOMEWHERE, /* half acquisition, and nobody knows where the axis is */
  HALF_AT_40,
  HIGH_PIXELS, /* twice as high as they are wide */
  CENTRE_40,
  ONE_ANGLE,
  TWO_SIDES,      /* and the opposite one */
  CONE_TWO_SIDES, /* which a cone sees otherwise */
  ONE_VIEW,
  FLOATS_WITHOUT_FLATS,
  BRIGHT,   /* the same, and as bright as a transmission may be */
  BRIGHTER, /* than that */
} Change;

typedef struct {
  Change change;
  const char *options[3]; /* "name=value"; NULL: no more */
  const char *output;     /* NULL: none */
  const char *says;       /* of all notes, or of the error where it begins with "!" */
  const char *silent;     /* no note says so; NULL: nothing in particular */
} Case;

#define LOG_NOTE "The scan's values are -log of the transmission already"
#define MASK_NOTE "The mask of bad pixels"
#define ACCURACY_NOTE "The accuracy (--accuracy) chooses among ways"
#define RANGE_NOTE "The range 1 to 2 is for values of 16 and 8 bits"
#define FIELD_NOTE "the field of view (--field-of-view) is left out"
#define TILT_NOTE "The tilt moves the centre of each row only"
#define DARK_NOTE "The scan has no dark field"
#define COUNTS_NOTE "The logarithm is taken of counts, since --prepare flat-field is left out"
#define HALF_NOTE "a half acquisition, with the axis near one side, but not where the axis is"
#define FLAT_NOTE "The scan has no flat field: its values are taken as transmissions"

static const Case cases[] = {
  { NO_CHANGE, { NULL }, NULL, "Views: half a turn, 45 views 4° apart", LOG_NOTE },
  { NO_CHANGE,
    { NULL },
    NULL,
    "The rotation axis is at column 33.25, as the scan says",
    FLAT_NOTE },
  { NO_CHANGE, { "reverse-rotation=true" }, NULL, "; taken as turning the other way.", NULL },
  { NO_CHANGE, { NULL }, NULL, "Views: ", "taken as turning the other way" },
  { NO_CENTRE, { NULL }, NULL, "taken at the detector's middle, column 31.50", "as the scan says" },
  { HALF_SOMEWHERE, { NULL }, NULL, HALF_NOTE, NULL },
  { HALF_SOMEWHERE, { "centre=40" }, NULL, "Views: ", HALF_NOTE },
  { HALF_AT_40, { NULL }, NULL, "Views: ", HALF_NOTE },
  { HIGH_PIXELS, { NULL }, NULL, "Slices lie 2 times as far apart as", NULL },
  { HIGH_PIXELS, { "bin=2,1" }, NULL, "Views: ", "Slices lie" },
  { NO_CHANGE, { "bin=1,4" }, NULL, "Slices lie 4 times as far apart as", NULL },
  { CONE, { "bin=1,4" }, NULL, "Views: ", "Slices lie" },
  { NO_CHANGE, { NULL }, NULL, "Views: ", "Slices lie" },
  { CENTRE_40, { NULL }, NULL, "is at column 40.00, as the scan says", "detector's middle" },
  { CENTRE_40, { "centre=30" }, NULL, "Views: ", "rotation axis" },
  { LOGGED, { NULL }, NULL, LOG_NOTE, "So is the step" },
  { LOGGED, { "prepare=zingers" }, NULL, "So is --prepare zingers, which", NULL },
  { LOGGED, { "prepare=rings" }, NULL, LOG_NOTE, "So is the step" },
  { FLOATS_WITHOUT_FLATS, { NULL }, NULL, FLAT_NOTE, LOG_NOTE },
  { BRIGHT, { NULL }, NULL, FLAT_NOTE, NULL },
  { BRIGHTER, { NULL }, NULL, "!flat", NULL },
  { WITHOUT_FLATS, { NULL }, NULL, "!flat", NULL },
  { NO_CHANGE, { NULL }, NULL, "Views: ", DARK_NOTE },
  { WITHOUT_DARKS, { NULL }, NULL, DARK_NOTE, FLAT_NOTE },
  { WITHOUT_DARKS, { "prepare=none" }, NULL, "Views: ", DARK_NOTE },
  { FLOATS_WITHOUT_FLATS, { NULL }, NULL, FLAT_NOTE, DARK_NOTE },
  { NO_CHANGE, { "prepare=no-flat-field" }, NULL, COUNTS_NOTE, NULL },
  { WITHOUT_FLATS, { "prepare=no-flat-field" }, NULL, COUNTS_NOTE, NULL },
  { BRIGHTER, { "prepare=no-flat-field" }, NULL, COUNTS_NOTE, NULL },
  { BRIGHT, { "prepare=no-flat-field" }, NULL, "Views: ", COUNTS_NOTE },
  { LOGGED, { "prepare=no-flat-field" }, NULL, LOG_NOTE, COUNTS_NOTE },
  { NO_CHANGE, { "prepare=none" }, NULL, "Views: ", COUNTS_NOTE },
  { NO_CHANGE, { NULL }, NULL, "Views: ", COUNTS_NOTE },
  { NO_CHANGE, { "views=5:40" }, NULL, "Views 5 to 39 of 45 are used", "of the scan's" },
  { NO_CHANGE, { NULL }, NULL, "Views: ", "are used" },
  { NO_CHANGE, { "crop=2,3,50,12" }, NULL, "to 45 views of 50 columns × 12 rows", NULL },
  { NO_CHANGE, { "bin=2" }, NULL, "binned to 45 views of 32 columns × 10 rows", NULL },
  { NO_CHANGE, { "bin-views=2" }, NULL, "binned to 23 views of 64 columns × 20 rows", NULL },
  { NO_CHANGE, { NULL }, NULL, "Views: ", "Cropped" },
  { NO_CHANGE, { "accuracy=draft" }, NULL, "Views: ", ACCURACY_NOTE },
  { CONE, { "accuracy=draft" }, NULL, "Views: ", ACCURACY_NOTE },
  { CONE, { "accuracy=draft", "method=sirt" }, NULL, ACCURACY_NOTE, NULL },
  { CONE, { NULL }, NULL, "Views: ", ACCURACY_NOTE },
  { NO_CHANGE, { "accuracy=draft", "method=sirt" }, NULL, ACCURACY_NOTE, NULL },
  { NO_CHANGE, { "method=sirt" }, NULL, "Views: ", ACCURACY_NOTE },
  { CONE, { "field-of-view=half" }, NULL, FIELD_NOTE, NULL },
  { CONE, { "field-of-view=full" }, NULL, FIELD_NOTE, NULL },
  { CONE, { NULL }, NULL, "Views: ", FIELD_NOTE },
  { NO_CHANGE, { "field-of-view=full" }, NULL, "Views: ", FIELD_NOTE },
  { NO_CHANGE,
    { "field-of-view=half" },
    NULL,
    "!Half acquisition needs views over a full turn, and these cover 180.0 of 360 degrees",
    NULL },
  { NO_CHANGE,
    { "field-of-view=half", "method=sirt" },
    NULL,
    "!Half acquisition needs views",
    NULL },
  { NO_CHANGE, { "range=1:2" }, "/tmp/none.tif", RANGE_NOTE, NULL },
  { NO_CHANGE, { "range=1:2" }, NULL, "Views: ", RANGE_NOTE },
  { NO_CHANGE, { "range=1:2", "bits=16" }, "/tmp/none.tif", "Views: ", RANGE_NOTE },
  { NO_CHANGE, { NULL }, "/tmp/none.tif", "Views: ", RANGE_NOTE },
  /* Rows of a parallel beam are the detector's, whatever is cropped. */
  { NO_CHANGE, { "rows=0:20" }, NULL, "Views: ", NULL },
  { NO_CHANGE, { "rows=19:20" }, NULL, "Views: ", NULL },
  { NO_CHANGE,
    { "rows=0:21" },
    NULL,
    "!Rows 0:21 are not on the detector, which has rows 0 to 19",
    NULL },
  { NO_CHANGE, { "rows=20:21" }, NULL, "!Rows 20:21 are not on", NULL },
  { NO_CHANGE, { "crop=2,3,50,12", "rows=3:15" }, NULL, "Views: ", NULL },
  { NO_CHANGE,
    { "crop=2,3,50,12", "rows=2:15" },
    NULL,
    "!Rows 2:15 are not among those that are left by --crop and --bin, rows 3 to 14",
    NULL },
  { NO_CHANGE, { "crop=2,3,50,12", "rows=3:16" }, NULL, "!Rows 3:16 are not among", NULL },
  { CONE, { "rows=0:20" }, NULL, "Views: ", NULL },
  { CONE,
    { "rows=0:21" },
    NULL,
    "!Slices 0:21 are not in the volume, which has slices 0 to 19",
    NULL },
  { CONE, { "rows=20:22" }, NULL, "!Slices 20:22 are not in", NULL },
  { ONE_ANGLE, { NULL }, NULL, "!All 45 views of “phantom” look along one line, at 30°", NULL },
  { TWO_SIDES, { NULL }, NULL, "!All 45 views of “phantom” look along one line, at 30°", NULL },
  { CONE_TWO_SIDES, { "method=sirt" }, NULL, "Views: ", NULL },
  { ONE_VIEW, { NULL }, NULL, "!“phantom” is one view alone", NULL },
  { ONE_VIEW, { "method=sirt" }, NULL, "!“phantom” is one view alone", NULL },
  { NO_CHANGE, { "views=7:8" }, NULL, "!One view of “phantom” is left", NULL },
  { NO_CHANGE, { "views=7:9" }, NULL, "Views: ", NULL },
  { CONE,
    { "centre=auto" },
    NULL,
    "!The rotation axis is searched for in parallel beams only",
    NULL },
  { NO_CHANGE, { "region=0,0,64,64" }, NULL, "Views: ", NULL },
  { NO_CHANGE,
    { "region=1,0,64,64" },
    NULL,
    "!The region 1,0,64,64 is not inside the slice, which "
    "has 64 × 64 pixels",
    NULL },
  { NO_CHANGE, { "region=0,1,64,64" }, NULL, "!The region 0,1,64,64", NULL },
  { NO_CHANGE, { "region=63,63,1,1" }, NULL, "Views: ", NULL },
  /* The farther edge is 33.25 columns from the axis: a row is 1.72 degrees. */
  { NO_CHANGE, { "tilt=1.7" }, NULL, "Views: ", TILT_NOTE },
  { NO_CHANGE, { "tilt=-1.8" }, NULL, TILT_NOTE ". What lies 33 columns", NULL },
  { HIGH_PIXELS, { "tilt=-1.8" }, NULL, "Views: ", TILT_NOTE },
  { NO_CHANGE, { "centre=20", "tilt=1.4" }, NULL, TILT_NOTE ". What lies 43 columns", NULL },
  { NO_CHANGE, { "tilt=4" }, NULL, "is seen up to 2.3 rows higher", NULL },
  { NO_CHANGE,
    { "prepare=dose:x=3" },
    NULL,
    "from “borders”: its parameter “x” is not used",
    NULL },
  { NO_CHANGE, { "prepare=dose:columns=3" }, NULL, "Views: ", "is not used" },
  { NO_CHANGE,
    { "prepare=dose=region:columns=3:width=4:height=4" },
    NULL,
    "from “region”: its parameter “columns” is not used",
    NULL },
  /* Of the columns and rows that are left. */
  { NO_CHANGE, { "tilt=1.8", "crop=20,0,30,20" }, NULL, "Views: ", TILT_NOTE },
  { NO_CHANGE, { "tilt=1.8", "bin=2" }, NULL, "Views: ", TILT_NOTE },
  { NO_CHANGE, { "tilt=1.8", "bin=2,1" }, NULL, TILT_NOTE ". What lies 16 columns", NULL },
};

static TdScan *
case_scan (Change change)
{
  g_autoptr (GError) error = NULL;
  TdPhantomScan spec;

  td_phantom_scan_init (&spec, NULL, COLUMNS, ROWS, change == ONE_VIEW ? 1 : VIEWS);
  spec.centre_px = 33.25;
  if (change == LOGGED) {
    spec.logged = TRUE;
    spec.attenuation = 0;
  }
  const gboolean floats = change == FLOATS_WITHOUT_FLATS || change == BRIGHT || change == BRIGHTER;
  if (change == WITHOUT_FLATS || floats)
    spec.n_flats = spec.n_darks = 0;
  if (change == CONE || change == CONE_TWO_SIDES) {
    spec.phantom = "ellipsoids";
    spec.range_deg = 360;
    spec.geometry = TD_TEST_CONE_BEAM;
  }
  TdScan *scan = td_phantom_scan_new (&spec, &error);
  g_assert_no_error (error);
  if (change == WITHOUT_DARKS)
    scan->facts.n_darks = 0;
  if (change == NO_CENTRE)
    scan->facts.centre_px = NAN;
  scan->facts.half_acquisition = change == HALF_SOMEWHERE || change == HALF_AT_40;
  if (change == HALF_SOMEWHERE)
    scan->facts.centre_px = NAN;
  if (change == HIGH_PIXELS) {
    scan->facts.geometry.pixel_width_mm = 0.25;
    scan->facts.geometry.pixel_height_mm = 0.5;
  }
  if (change == CENTRE_40 || change == HALF_AT_40)
    scan->facts.centre_px = 40;
  if (floats)
    scan->facts.sample_type = TD_SAMPLE_FLOAT32;
  scan->facts.brightest = change == BRIGHT ? 2 : change == BRIGHTER ? 2.001 : 0;
  const gboolean two_sides = change == TWO_SIDES || change == CONE_TWO_SIDES;
  for (guint i = 0; (change == ONE_ANGLE || two_sides) && i < VIEWS; i++)
    scan->facts.angles_rad[i] = G_PI / 6 + (two_sides && i % 2 ? G_PI : 0);
  g_free (scan->facts.path);
  scan->facts.path = g_strdup ("phantom");
  return scan;
}

static gboolean
case_recipe (const Case *case_, TdRecipe *recipe)
{
  td_recipe_init (recipe);
  g_strlcpy (recipe->devices, "host", sizeof recipe->devices);
  for (guint i = 0; i < 3 && case_->options[i]; i++) {
    g_auto (GStrv) parts = g_strsplit (case_->options[i], "=", 2);
    if (!td_recipe_set (recipe, parts[0], parts[1], NULL))
      return FALSE;
  }
  return TRUE;
}

static void
test_case (gconstpointer data)
{
  const Case *case_ = data;
  g_autoptr (TdScan) scan = case_scan (case_->change);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  if (!case_->says)
    return;
  g_assert_true (case_recipe (case_, &recipe));
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, case_->output, NULL, &error);
  if (*case_->says == '!') {
    g_assert_null (plan);
    td_test_pin ("%s", error->message);
    g_assert_nonnull (strstr (error->message, case_->says + 1));
    return;
  }
  g_assert_no_error (error);

  g_autofree char *text = td_messages_join (plan->facts.notes, "\n", NULL);
  td_test_pin ("%s", text);
  g_assert_nonnull (strstr (text, case_->says));
  if (case_->silent)
    g_assert_null (strstr (text, case_->silent));
}

/* ── What the axis' search found ── */

typedef struct {
  gboolean agreed, stated; /* the scan says column 33.25 */
  double centre_px, tilt_deg, tilt_error_deg;
  double recipe_tilt_deg;
  const char *says;   /* of the notes, or of the error where it begins with "!" */
  const char *silent; /* NULL: nothing in particular */
  double taken_px, taken_tilt_deg;
} Found;

/* A tilt of 20 rows that moves the axis by a tenth of a column: atan (0.1 / 20). */
#define LEAST_DEG 0.286475

static const Found found[] = {
  { TRUE, TRUE, 30, 0, 0, 0, "found at column 30.00 ± 0.25 (correlation and overlap agree)",
    "tilted", 30, 0 },
  { TRUE, FALSE, 30, 0, 0, 0, "found at column 30.00 ± 0.25", "tilted", 30, 0 },
  { TRUE, FALSE, 30, LEAST_DEG + 1e-5, 0.01, 0, "is tilted by 0.286 ± 0.010 degrees", NULL, 30,
    LEAST_DEG + 1e-5 },
  { TRUE, FALSE, 30, LEAST_DEG - 1e-4, 0.01, 0, "found at", "tilted", 30, 0 },
  { TRUE, FALSE, 30, -0.6, 0.1999, 0, "is tilted by -0.600 ± 0.200 degrees", NULL, 30, -0.6 },
  { TRUE, FALSE, 30, -0.6, 0.2001, 0, "found at", "tilted", 30, 0 },
  { TRUE, FALSE, 30, 0.6, 0.01, 0.2, "found at", "tilted", 30, 0.2 }, /* it is stated */
  { FALSE, TRUE, 30, 0.6, 0.01, 0, "came to no agreement. Look again", "tilted", 33.25, 0 },
  { FALSE, FALSE, 30, 0.6, 0.01, 0,
    "is uncertain; column 30.00 ± 0.25 was taken (correlation and overlap). Look again", NULL, 30,
    0.6 },
  { FALSE, FALSE, 30, 0, 0, 0, "is uncertain; column 30.00", "tilted", 30, 0 },
  { FALSE, TRUE, NAN, 0, 0, 0, "is at column 33.25, as the scan says", "found", 33.25, 0 },
  { FALSE, FALSE, NAN, 0, 0, 0, "!No rotation axis was found (--centre PX gives it by hand). Look",
    NULL, 0, 0 },
};

static void
test_found (void)
{
  TdAxisTrial trials[] = { { .method = TD_AXIS_OVERLAP, .used = TRUE },
                           { .method = TD_AXIS_FOURIER },
                           { .method = TD_AXIS_CORRELATION, .used = TRUE } };

  for (guint i = 0; i < G_N_ELEMENTS (found); i++) {
    g_autoptr (TdScan) scan = case_scan (found[i].stated ? NO_CHANGE : NO_CENTRE);
    const TdAxisResult result = { .agreed = found[i].agreed,
                                  .centre_px = found[i].centre_px,
                                  .uncertainty_px = 0.25,
                                  .tilt_deg = found[i].tilt_deg,
                                  .tilt_uncertainty_deg = found[i].tilt_error_deg,
                                  .trials = trials,
                                  .n_trials = G_N_ELEMENTS (trials),
                                  .advice = found[i].agreed ? NULL : (char *) "Look again" };
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
    g_assert_true (td_recipe_set (&recipe, "prepare", "none", &error));
    recipe.centre_auto = TRUE;
    recipe.tilt_deg = found[i].recipe_tilt_deg;
    /* As the engine remembers it: no steps, no options. */
    td_found_axes_put (td_engine_axes (engine), scan, "0 0 0 0 0 0", &result);
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    if (*found[i].says == '!') {
      g_assert_null (plan);
      g_assert_nonnull (strstr (error->message, found[i].says + 1));
      continue;
    }
    g_assert_no_error (error);
    g_autofree char *text = td_messages_join (plan->facts.notes, "\n", NULL);
    td_test_pin ("%s", text);
    g_assert_nonnull (strstr (text, found[i].says));
    if (found[i].silent)
      g_assert_null (strstr (text, found[i].silent));
    g_assert_cmpfloat (plan->recipe.centre_px, ==, found[i].taken_px);
    g_assert_cmpfloat (plan->facts.centre_px, ==, found[i].taken_px);
    g_assert_cmpfloat (plan->recipe.tilt_deg, ==, found[i].taken_tilt_deg);
    g_assert_false (plan->recipe.centre_auto);
  }
}

/* The methods whose answers count are named once each, in the order in which options have them. */
static void
test_methods_named (void)
{
  static const struct {
    gboolean used[4]; /* of four trials: fourier, correlation, fourier again, overlap */
    const char *says;
  } told[] = {
    { { FALSE, FALSE, FALSE, FALSE }, "30.00 ± 0.25 ( agree)" },
    { { TRUE, FALSE, FALSE, FALSE }, "30.00 ± 0.25 (fourier agree)" },
    { { FALSE, FALSE, TRUE, FALSE }, "30.00 ± 0.25 (fourier agree)" },
    { { TRUE, TRUE, TRUE, FALSE }, "30.00 ± 0.25 (correlation and fourier agree)" },
    { { TRUE, TRUE, FALSE, TRUE }, NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (told); i++) {
    TdAxisTrial trials[] = { { .method = TD_AXIS_FOURIER, .used = told[i].used[0] },
                             { .method = TD_AXIS_CORRELATION, .used = told[i].used[1] },
                             { .method = TD_AXIS_FOURIER, .used = told[i].used[2] },
                             { .method = TD_AXIS_OVERLAP, .used = told[i].used[3] } };
    const TdAxisResult result = { .agreed = TRUE,
                                  .centre_px = 30,
                                  .uncertainty_px = 0.25,
                                  .trials = trials,
                                  .n_trials = G_N_ELEMENTS (trials) };
    g_autoptr (TdScan) scan = case_scan (NO_CHANGE);
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
    g_assert_true (td_recipe_set (&recipe, "prepare", "none", &error));
    recipe.centre_auto = TRUE;
    td_found_axes_put (td_engine_axes (engine), scan, "0 0 0 0 0 0", &result);
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    g_assert_true (plan->facts.axis_searched && plan->facts.axis_agreed);
    g_assert_cmpfloat (plan->facts.axis_sigma_px, ==, 0.125);
    g_autofree char *text = td_messages_join (plan->facts.notes, "\n", NULL);
    td_test_pin ("%s", text);
    g_assert_true (!told[i].says || strstr (text, told[i].says));
  }
}

/* ── Parts ── */

static void
test_parts (void)
{
  static const struct {
    gboolean cone;
    TdPlanPart part;
    const char *step, *refused; /* refused NULL: there is a plan */
    guint first_slice, n_slices, first_view, n_views;
  } parts[] = {
    { TRUE, { { 0, 0 }, 0, 0, 0 }, NULL, NULL, 0, 20, 0, 45 },
    { TRUE, { { 40, 5 }, 0, 0, 0 }, NULL, NULL, 0, 20, 40, 5 },
    { TRUE, { { 40, 6 }, 0, 0, 0 }, NULL, "Views 40 to 45 are not in the scan, which has 45", 0 },
    { TRUE, { { 0, 0 }, 15, 5, 0 }, NULL, NULL, 15, 5, 0, 45 },
    { TRUE, { { 0, 0 }, 15, 6, 0 }, NULL, "Slices 15 to 20 are not in the part's volume of 20", 0 },
    { TRUE, { { 3, 7 }, 2, 3, 0 }, "rings", "The step rings needs all views of a row", 0 },
    { TRUE, { { 0, 45 }, 2, 3, 0 }, "rings", NULL, 2, 3, 0, 45 },
    { TRUE, { { 3, 7 }, 2, 3, 0 }, "zingers", NULL, 2, 3, 3, 7 },
    /* ten each of three parts of fifteen */
    { TRUE, { { 0, 30, 3 }, 0, 0, 0 }, NULL, NULL, 0, 20, 0, 30 },
    { TRUE, { { 5, 30, 3 }, 0, 0, 0 }, NULL, NULL, 0, 20, 5, 30 },
    { TRUE, { { 6, 30, 3 }, 0, 0, 0 }, NULL, "Views 6 to 35 are not in the scan, which has 45", 0 },
    { TRUE, { { 0, 31, 3 }, 0, 0, 0 }, NULL, "Views 0 to 30 are not in the scan", 0 },
    { TRUE, { { 0, 10, 2 }, 0, 0, 0 }, NULL, "Views 0 to 9 are not in the scan", 0 },
    { TRUE, { { 0, 45, 3 }, 0, 0, 0 }, NULL, NULL, 0, 20, 0, 45 },
    { FALSE, { { 0, 0 }, 4, 9, 0 }, NULL, NULL, 4, 9, 0, 45 },
    { FALSE, { { 0, 44 }, 4, 9, 0 }, NULL, "The method \"fbp\" cannot add some of the views", 0 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++) {
    g_autoptr (TdScan) scan = case_scan (parts[i].cone ? CONE : NO_CHANGE);
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    td_recipe_init (&recipe);
    g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
    recipe.method = parts[i].cone ? TD_METHOD_FDK : TD_METHOD_FBP;
    if (parts[i].step)
      g_assert_nonnull (td_recipe_add_step (&recipe, parts[i].step, &error));
    g_autoptr (TdPlan) plan
        = td_plan_new_part (engine, scan, &recipe, &parts[i].part, NULL, &error);
    if (parts[i].refused) {
      g_assert_null (plan);
      td_test_pin ("%s", error->message);
      g_assert_nonnull (strstr (error->message, parts[i].refused));
      continue;
    }
    g_assert_no_error (error);
    g_assert_cmpuint (plan->facts.first_slice, ==, parts[i].first_slice);
    g_assert_cmpuint (plan->facts.first_row, ==, parts[i].first_slice);
    g_assert_cmpuint (plan->facts.n_slices, ==, parts[i].n_slices);
    g_assert_cmpuint (plan->views.first, ==, parts[i].first_view);
    g_assert_cmpuint (plan->views.count, ==, parts[i].n_views);
    g_assert_cmpuint (plan->views.parts, ==, MAX (parts[i].part.views.parts, 1));
  }
}

/* ── Figures ── */

/* Rows of slices, and the bytes that are read for them, however the scan is cropped and binned. */
static void
test_rows (void)
{
  static const struct {
    const char *crop, *bin, *views, *rows;
    guint first_slice, n_slices, first_row, slice_rows;
    guint read_rows, read_views, columns;
  } frames[] = {
    { "all", "1", "1", "all", 0, 20, 0, 1, 20, 45, 64 },
    { "all", "1", "1", "7:9", 7, 2, 7, 1, 2, 45, 64 },
    { "4,3,40,12", "1", "1", "all", 0, 12, 3, 1, 12, 45, 64 },
    { "4,3,40,12", "1", "1", "5:6", 2, 1, 5, 1, 1, 45, 64 },
    { "4,3,40,12", "2", "1", "all", 0, 6, 3, 2, 12, 45, 64 },
    { "4,3,40,12", "2", "1", "6:7", 1, 1, 5, 2, 2, 45, 64 },
    { "4,3,40,12", "3", "1", "6:10", 1, 2, 6, 3, 6, 45, 64 },
    { "all", "3", "2", "all", 0, 6, 0, 3, 18, 45, 64 },
    { "all", "1", "4", "0:3", 0, 3, 0, 1, 3, 45, 64 },
  };
  g_autoptr (TdScan) scan = case_scan (NO_CHANGE);

  for (guint i = 0; i < G_N_ELEMENTS (frames); i++) {
    const char *const words[][2] = { { "crop", frames[i].crop },
                                     { "bin", frames[i].bin },
                                     { "bin-views", frames[i].views },
                                     { "rows", frames[i].rows } };
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    recipe_init (&recipe, "host", 33.25);
    recipe.method = TD_METHOD_FBP;
    for (guint k = 0; k < 4; k++)
      if (strcmp (words[k][1], "all") != 0)
        g_assert_true (td_recipe_set (&recipe, words[k][0], words[k][1], NULL));
    g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
    g_assert_no_error (error);
    const TdPlanFacts *facts = td_plan_facts (plan);
    td_test_pin ("%u", i);
    g_assert_cmpuint (facts->first_slice, ==, frames[i].first_slice);
    g_assert_cmpuint (facts->n_slices, ==, frames[i].n_slices);
    g_assert_cmpuint (facts->first_row, ==, frames[i].first_row);
    g_assert_cmpuint (facts->slice_rows, ==, frames[i].slice_rows);
    g_assert_cmpuint (td_plan_read_bytes (plan, facts->n_slices), ==,
                      (guint64) frames[i].read_rows * frames[i].read_views * frames[i].columns * 2);
    g_assert_cmpuint (facts->write_bytes, ==,
                      (guint64) facts->n_slices * facts->nx * facts->ny * recipe.output_bits / 8);
    const TdVolumeSpec spec = td_plan_volume (plan);
    g_assert_cmpuint (spec.nx, ==, facts->nx);
    g_assert_cmpuint (spec.ny, ==, facts->ny);
    g_assert_cmpuint (spec.first_slice, ==, facts->first_slice);
    g_assert_cmpuint (spec.n_slices, ==, facts->n_slices);
    g_assert_cmpuint (spec.bits, ==, recipe.output_bits);
    g_assert_cmpint (spec.format, ==, recipe.output_format);
    g_assert_cmpfloat (spec.voxel_mm, ==, facts->pixel_mm);
    g_assert_cmpstr (spec.units, ==, facts->units);
    g_assert_cmpuint (facts->n_columns, ==, td_scan_facts (plan->scan)->n_columns);
    g_assert_cmpuint (facts->n_rows, ==, td_scan_facts (plan->scan)->n_rows);
    g_assert_cmpuint (facts->n_views, ==, td_scan_facts (plan->scan)->n_views);
  }
}

/* A pixel's size and the values' unit, whatever computes them; where the size is not known, neither
   is made up. */
static void
test_units (void)
{
  static const char *const methods[] = { "fbp", "fourier", "fdk", "sirt", "fista-tv", "cgls" };
  static const double pixels_mm[] = { 0, 0.25, 1, 3 };

  for (guint m = 0; m < G_N_ELEMENTS (methods); m++)
    for (guint i = 0; i < 2 * G_N_ELEMENTS (pixels_mm); i++) {
      const double pixel_mm = pixels_mm[i / 2] * (i % 2 ? 2 : 1);
      const gboolean cone = g_str_equal (methods[m], "fdk");
      g_autoptr (TdScan) scan = phantom_scan (COLUMNS, ROWS, VIEWS);
      g_autoptr (GError) error = NULL;
      TdRecipe recipe;

      if (cone && pixels_mm[i / 2] == 0)
        continue; /* refused */
      scan->facts.geometry.pixel_width_mm = scan->facts.geometry.pixel_height_mm = pixels_mm[i / 2];
      if (cone) {
        scan->facts.geometry.beam = TD_BEAM_CONE;
        scan->facts.geometry.source_axis_mm = 500;
        scan->facts.geometry.source_detector_mm = 1000;
        for (guint v = 0; v < VIEWS; v++)
          scan->facts.angles_rad[v] *= 2;
      }
      recipe_init (&recipe, "host", NAN);
      g_assert_true (td_recipe_set (&recipe, "method", methods[m], NULL));
      g_assert_true (td_recipe_set (&recipe, "bin", i % 2 ? "2" : "1", NULL));
      g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
      g_assert_no_error (error);
      const TdPlanFacts *facts = td_plan_facts (plan);
      td_test_pin ("%s: %g mm", methods[m], facts->pixel_mm);
      g_assert_cmpfloat_with_epsilon (facts->pixel_mm, pixel_mm / (cone ? 2 : 1), 1e-9);
      g_assert_cmpstr (facts->units, ==, pixel_mm > 0 ? "1/mm" : "1/px");
    }
}

static guint plans_left; /* until one is cancelled */

static gboolean
cancel_while_planning (TdPlan *plan, GCancellable *cancellable, GError **error)
{
  if (--plans_left > 0)
    return td_methods[0]->plan (plan, cancellable, error);
  g_cancellable_cancel (cancellable);
  return !g_cancellable_set_error_if_cancelled (cancellable, error);
}

/* A plan that was cancelled is not told as what is wrong with its device, be it the last one. */
static void
test_preflight_cancelled (void)
{
  TdMethod method = *td_methods[0];
  const TdMethod *const methods[] = { &method, NULL };
  g_autoptr (TdEngine) own = td_engine_new (methods);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (TdScan) scan = phantom_scan (COLUMNS, ROWS, VIEWS);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  g_autoptr (GPtrArray) devices = td_test_devices ();
  plans_left = devices->len;
  method.plan = cancel_while_planning;
  recipe_init (&recipe, "auto", 30);
  g_assert_null (td_preflight_devices (own, scan, &recipe, "/tmp/none.tif", cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

/* Each device as a plan on it alone says it; nothing is read, also where the axis is to be found.
 */
static void
test_preflight (void)
{
  for (guint i = 0; i < 3; i++) {
    Counting counting = { 0 };
    g_autoptr (TdScan) inner = phantom_scan (COLUMNS, ROWS, VIEWS);
    g_autoptr (TdScan) scan = counting_scan (&counting, inner);
    g_autoptr (GPtrArray) devices = td_test_devices ();
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    recipe_init (&recipe, "auto", 30);
    recipe.centre_auto = i > 0;
    g_assert_true (td_recipe_set (&recipe, "method", i == 2 ? "fdk" : "auto", NULL));
    g_autoptr (GPtrArray) rows
        = td_preflight_devices (engine, scan, &recipe, "/tmp/none.tif", NULL, &error);
    g_assert_no_error (error);
    g_assert_cmpint (counting.reads, ==, 0);
    g_assert_cmpuint (rows->len, ==, devices->len);
    for (guint d = 0; d < rows->len; d++) {
      const TdPreflight *row = rows->pdata[d];
      TdRecipe alone = recipe;
      TdPlanTimes times;
      g_assert_true (g_ptr_array_find_with_equal_func (devices, row->id, g_str_equal, NULL));
      g_assert_true ((row->problem != NULL) == (i == 2)); /* not of parallel beams */
      if (row->problem)
        continue;
      td_recipe_state_axis (&alone, NAN, 0);
      g_strlcpy (alone.devices, row->id, sizeof alone.devices);
      g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &alone, "/tmp/none.tif", NULL, NULL);
      const TdPlanFacts *facts = td_plan_facts (plan);
      td_plan_times (plan, &times);
      g_assert_cmpuint (row->host_bytes, ==, facts->host_bytes);
      g_assert_cmpuint (row->device_bytes, ==, facts->device_bytes);
      g_assert_cmpfloat (row->estimate_s, ==, facts->estimate_s);
      g_assert_cmpmem (&row->times, sizeof times, &times, sizeof times);
    }
  }
}

/* The longest stage, and what the others take for one slab. */
static void
test_estimate (void)
{
  static const struct {
    double read_s, compute_s, write_s;
    guint slabs;
    double seconds;
  } times[] = {
    { 3, 10, 5, 4, 12 },    { 30, 10, 5, 3, 35 },   { 3, 1, 5, 2, 7 },       { 3, 10, 5, 1, 18 },
    { 3, 10, 5, 0, 10 },    { 30, 10, 5, 0, 30 },   { NAN, 10, 5, 4, 0 },    { 3, 10, NAN, 4, 0 },
    { NAN, 10, 50, 0, 50 }, { 30, 10, NAN, 0, 30 }, { NAN, 10, NAN, 0, 10 },
  };
  g_autoptr (TdScan) scan = case_scan (NO_CHANGE);
  TdRecipe recipe;

  recipe_init (&recipe, "host", 33.25);
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, NULL);
  TdPlanTimes none;
  td_plan_times (plan, &none);
  g_assert_true (isnan (none.read)); /* nobody knows */
  plan->scan->facts.in_memory = TRUE;
  td_plan_times (plan, &none); /* and no volume is written */
  g_assert_cmpfloat (none.read, ==, 0);
  g_assert_cmpfloat (none.write, ==, 0);
  plan->updates_per_s = plan->facts.updates / 3;
  td_plan_times (plan, &none);
  g_assert_cmpfloat_with_epsilon (none.compute, 3, 1e-9);
  plan->facts.updates = 1e9;
  for (guint i = 0; i < G_N_ELEMENTS (times); i++) {
    const TdPlanTimes given = { times[i].read_s, times[i].compute_s, times[i].write_s, 0 };
    g_assert_cmpfloat_with_epsilon (
        td_plan_estimate (plan, &given, 1e9 / times[i].compute_s, times[i].slabs), times[i].seconds,
        1e-9);
    g_assert_cmpfloat (td_plan_estimate (plan, &given, 0, times[i].slabs), ==, 0);
  }
  /* What is read before the first slab has nothing beside it. */
  const TdPlanTimes copied = { 30, 10, 5, 20 };
  g_assert_cmpfloat_with_epsilon (td_plan_estimate (plan, &copied, 1e8, 3), 35, 1e-9);
}

/* Cards start no more groups along one side than some: a plan refuses, and so does the search for
   the axis, which comes before. */
static void
test_many_views (void)
{
  static const Change beams[] = { NO_CHANGE, CONE };
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, "host", NULL);
  TdDeviceInfo *info = &((TdDevice *) devices->pdata[0])->hardware->info;

  for (guint i = 0; i < G_N_ELEMENTS (beams); i++) {
    g_autoptr (TdScan) scan = case_scan (beams[i]);
    TdRecipe recipe;

    for (guint search = 0; search < 2 - i; search++) { /* no axis of a cone is searched for */
      g_autoptr (GError) error = NULL;
      recipe_init (&recipe, "host", 33.25);
      recipe.centre_auto = search;
      info->most_groups = VIEWS - 1;
      g_autoptr (TdPlan) refused = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
      g_assert_error (error, TD_ERROR, TD_ERROR_TOO_LARGE);
      g_assert_nonnull (strstr (error->message, "takes 44 views of a row at most, and there are "));
    }
    info->most_groups = VIEWS;
    recipe.centre_auto = FALSE;
    g_autoptr (TdPlan) taken = td_plan_new (engine, scan, &recipe, NULL, NULL, NULL);
    g_assert_nonnull (taken);
    info->most_groups = 0;
  }
}

/* What too few views keep rings from is said, just below as many as it takes. */
static void
test_rings (void)
{
  static const struct {
    guint n_views;
    const char *says; /* NULL: nothing */
  } few[] = { { 15, "leaves the scan as it is: in fewer than 16 views" },
              { 16, "leaves broad shades: to tell them from the object it takes 64 views" },
              { 63, "leaves broad shades" },
              { 64, NULL } };

  for (guint i = 0; i < G_N_ELEMENTS (few); i++) {
    g_autoptr (TdScan) scan = phantom_scan (COLUMNS, ROWS, few[i].n_views);
    TdRecipe recipe;

    recipe_init (&recipe, "host", 33.25);
    g_autoptr (TdPlan) without = td_plan_new (engine, scan, &recipe, NULL, NULL, NULL);
    g_assert_true (td_recipe_set (&recipe, "prepare", "rings", NULL));
    g_autoptr (TdPlan) with = td_plan_new (engine, scan, &recipe, NULL, NULL, NULL);
    g_autofree char *silent = td_messages_join (without->facts.notes, "\n", NULL);
    g_autofree char *notes = td_messages_join (with->facts.notes, "\n", NULL);
    g_assert_null (strstr (silent, "leaves"));
    if (few[i].says)
      g_assert_nonnull (strstr (notes, few[i].says));
    else
      g_assert_null (strstr (notes, "leaves"));
  }
}

/* Six tenths of what there is, which other programs change all the time: looked at again until it
   was the same before and afterwards. */
static void
assert_budget (const TdPlan *plan)
{
  double before, budget, after;

  do {
    before = (double) td_host_memory_available ();
    budget = (double) td_plan_host_budget (plan);
    after = (double) td_host_memory_available ();
  } while (fabs (after - before) > 0.01 * before);
  g_assert_cmpfloat_with_epsilon (budget, 0.6 * before, 0.02 * before);
}

/* The host's memory: the recipe's limit, six tenths of what there is, and what a process has. */
static void
test_memory (void)
{
  g_autoptr (TdScan) scan = case_scan (NO_CHANGE);
  TdRecipe recipe;

  recipe_init (&recipe, "host", 33.25);
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, NULL);
  assert_budget (plan);
  plan->recipe.memory_limit_bytes = 5000;
  g_assert_cmpuint (td_plan_host_budget (plan), ==, 5000);
  plan->recipe.memory_limit_bytes = 100 * td_host_memory_available ();
  assert_budget (plan);
  TdDevice *host = plan->devices->pdata[0], *hardware = host->hardware;
  for (guint compiler = 0; compiler < 2; compiler++)
    for (guint card = 0; card < 2; card++) {
      hardware->info.host_pointers = !compiler;
      hardware->info.kind = card ? TD_DEVICE_GPU : TD_DEVICE_CPU;
      g_assert_cmpuint (td_plan_own_bytes (plan->devices) >> 20, ==,
                        64 + (compiler && !card ? 256 : 0));
    }
  hardware->info.host_pointers = TRUE;
  hardware->info.kind = TD_DEVICE_CPU;
  plan->recipe.memory_limit_bytes = 0;
  g_autoptr (TdDevice) same = td_plan_host (plan, NULL);
  g_assert_true (same == host);
  g_autofree char *key = td_plan_read_key (plan);
  g_assert_true (g_str_has_prefix (key, "read phantom uint16 from "));
  plan->measured->facts.rows_together = 2;
  g_autofree char *packed = td_plan_read_key (plan);
  g_assert_true (g_str_has_prefix (packed, "read phantom uint16 packed from "));
}

/* Notes in JSON have what the front ends make words of. */
static void
test_json (void)
{
  g_autoptr (TdScan) scan = case_scan (CONE);
  TdRecipe recipe;
  guint n = 0;

  recipe_init (&recipe, "host", NAN);
  recipe.field_of_view = TD_FIELD_HALF;
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, NULL);
  g_autofree char *json = td_plan_to_json (plan);
  g_autoptr (JsonNode) root = json_from_string (json, NULL);
  JsonObject *object = json_node_get_object (root);
  JsonArray *texts = json_object_get_array_member (object, "notes");
  JsonArray *messages = json_object_get_array_member (object, "messages");
  g_assert_cmpuint (json_array_get_length (texts), ==, td_messages_length (plan->facts.notes));
  for (TdMessage **note = plan->facts.notes; *note; note++, n++) {
    JsonObject *told = json_array_get_object_element (messages, n);
    g_autofree char *text = td_message_text (*note, NULL), *field = td_message_field (*note);
    JsonArray *values = json_object_get_array_member (told, "values");
    g_assert_cmpstr (json_array_get_string_element (texts, n), ==, text);
    g_assert_cmpstr (json_object_get_string_member (told, "id"), ==, td_message_id (*note));
    g_assert_cmpint (JSON_NODE_HOLDS_NULL (json_object_get_member (told, "field")), ==, !field);
    if (field)
      g_assert_cmpstr (json_object_get_string_member (told, "field"), ==, field);
    for (guint i = 0; td_message_values (*note)[i]; i++)
      g_assert_cmpstr (json_array_get_string_element (values, i), ==, td_message_values (*note)[i]);
  }
  g_assert_cmpuint (n, >, 1);
}

/* Each figure is another one, so that none stands in another's place. */
static void
test_json_figures (void)
{
  static char *devices[] = { (char *) "one", (char *) "two", NULL };
  static const char expected[]
      = "{\"method\":\"m\",\"kernel\":\"k\",\"precision\":\"half\",\"devices\":[\"one\",\"two\"],"
        "\"nx\":11,\"ny\":12,\"half_acquisition\":true,\"sent_bits\":16,\"first_slice\":13,"
        "\"slices\":14,\"slab_slices\":15,\"slabs\":17,\"centre_px\":18.5,\"pixel_mm\":0.25,"
        "\"units\":\"1/mm\",\"read_bytes\":19,\"write_bytes\":20,\"host_bytes\":21,"
        "\"device_bytes\":22,\"updates\":23.5,\"estimate_seconds\":24.5,"
        "\"ways\":[{\"method\":\"m\",\"kernel\":\"k\",\"precision\":\"half\",\"error_bound\":0.125,"
        "\"relative_cost\":1.0,\"estimate_seconds\":24.5},{\"method\":\"n\",\"kernel\":\"l\","
        "\"precision\":\"single\",\"error_bound\":0.5,\"relative_cost\":2.0,"
        "\"estimate_seconds\":null}],\"notes\":[],\"messages\":[]}";
  TdPlan plan = { .facts = { .method = "m",
                             .family = "k",
                             .precision = TD_PRECISION_HALF,
                             .nx = 11,
                             .ny = 12,
                             .half_acquisition = TRUE,
                             .first_slice = 13,
                             .n_slices = 14,
                             .slab_slices = 15,
                             .sent_bits = 16,
                             .n_slabs = 17,
                             .centre_px = 18.5,
                             .pixel_mm = 0.25,
                             .units = "1/mm",
                             .read_bytes = 19,
                             .write_bytes = 20,
                             .host_bytes = 21,
                             .device_bytes = 22,
                             .updates = 23.5,
                             .estimate_s = 24.5,
                             .ways = { { "m", "k", TD_PRECISION_HALF, 0.125, 1, 24.5 },
                                       { "n", "l", TD_PRECISION_SINGLE, 0.5, 2, 0 } },
                             .n_ways = 2,
                             .devices = devices } };

  td_recipe_init (&plan.recipe);
  for (guint known = 0; known < 2; known++) {
    if (!known) {
      plan.facts.sent_bits = 0;
      plan.facts.estimate_s = 0;
    } else {
      plan.facts.sent_bits = 16;
      plan.facts.estimate_s = 24.5;
    }
    g_autofree char *json = td_plan_to_json (&plan);
    g_autoptr (JsonNode) root = json_from_string (json, NULL);
    JsonObject *object = json_node_get_object (root);
    g_assert_true (json_object_has_member (object, "recipe"));
    g_assert_cmpint (json_object_has_member (object, "sent_bits"), ==, known);
    g_assert_cmpint (json_object_get_null_member (object, "estimate_seconds"), ==, !known);
    json_object_remove_member (object, "recipe");
    g_autofree char *rest = json_to_string (root, FALSE);
    if (known)
      g_assert_cmpstr (rest, ==, expected);
  }
}

/* ── What a plan is asked ── */

/* The limit that holds is the one to raise. */
static void
test_remedy (void)
{
  static const struct {
    guint64 both, alone;
    gboolean card, any_device;
    const char *says;
  } asked[] = {
    { 0, 0, TRUE, TRUE, "take a smaller" },
    { 5000, 0, TRUE, TRUE, "raise {memory-limit}" },
    { 0, 5000, TRUE, TRUE, "raise {device-memory-limit}" },
    { 5000, 4999, TRUE, TRUE, "raise {device-memory-limit}" },
    { 5000, 5000, TRUE, TRUE, "raise {memory-limit}" },
    { 5000, 5001, TRUE, TRUE, "raise {memory-limit}" },
    { 0, 5000, FALSE, TRUE, "take a smaller" },
    { 5000, 4999, FALSE, TRUE, "raise {memory-limit}" },
    { 0, 5000, TRUE, FALSE, "take a smaller" },
    { 5000, 4999, TRUE, FALSE, "raise {memory-limit}" },
  };
  g_autoptr (TdScan) scan = case_scan (NO_CHANGE);
  g_autoptr (GError) error = NULL;
  TdRecipe recipe;

  td_recipe_init (&recipe);
  g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
  g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, "host", NULL);
  TdDevice *device = devices->pdata[0];
  for (guint i = 0; i < G_N_ELEMENTS (asked); i++) {
    plan->recipe.memory_limit_bytes = asked[i].both;
    plan->recipe.device_memory_limit_bytes = asked[i].alone;
    device->info.host_pointers = !asked[i].card;
    const char *remedy = td_plan_remedy (plan, asked[i].any_device ? device : NULL);
    device->info.host_pointers = TRUE;
    td_test_pin ("%u: %s", i, remedy);
    g_assert_true (g_str_has_prefix (remedy, asked[i].says));
  }
}

/* Whoever moved the axis or left something out is to blame for a geometry that cannot be. */
static void
test_blame (void)
{
  static const struct {
    const char *option, *value; /* NULL: none */
    gboolean recipe;
  } asked[] = {
    { NULL, NULL, FALSE },       { "tilt", "2", FALSE },      { "centre", "30", TRUE },
    { "crop", "0,0,9,9", TRUE }, { "views", "3:9", TRUE },    { "bin-views", "2", TRUE },
    { "bin-views", "1", FALSE }, { "centre", "auto", FALSE },
  };
  static const int codes[] = { TD_ERROR_BAD_FILE, TD_ERROR_TOO_LARGE };
  TdPlan plan = { 0 };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (asked); i++) {
    GError *error = g_error_new_literal (TD_ERROR, codes[i % 2], "so it is");

    td_recipe_init (&plan.asked);
    if (asked[i / 2].option)
      g_assert_true (td_recipe_set (&plan.asked, asked[i / 2].option, asked[i / 2].value, NULL));
    g_assert_false (td_plan_blame_recipe (&plan, &error));
    const int code = i % 2 == 0 && asked[i / 2].recipe ? TD_ERROR_INVALID : codes[i % 2];
    g_assert_error (error, TD_ERROR, code);
    g_error_free (error);
    g_assert_false (td_plan_blame_recipe (&plan, NULL));
  }
}

/* Angles and the centre as a recipe leaves them. */
static void
test_turned (void)
{
  double angles[] = { 0.25, 1, -2 };
  const TdScanFacts facts = { .n_views = 3, .angles_rad = angles, .n_columns = 64, .n_rows = 20 };
  TdRecipe recipe;

  for (guint i = 0; i < 4; i++) {
    td_recipe_init (&recipe);
    recipe.reverse_rotation = i % 2;
    recipe.angle_offset_deg = i / 2 * 30;
    g_autofree double *turned = td_recipe_angles (&recipe, &facts);
    for (guint v = 0; v < 3; v++)
      g_assert_cmpfloat_with_epsilon (turned[v], (i % 2 ? -1 : 1) * angles[v] + i / 2 * G_PI / 6,
                                      1e-12);
  }

  /* A cone's axis is where the detector's offset brings it, whatever its tilts. */
  for (gint off = -3; off <= 3; off++) {
    TdScanFacts cone = facts;

    cone.geometry = TD_TEST_CONE_BEAM;
    cone.geometry.detector_offset_u_px = off * 1.5;
    cone.centre_px = NAN;
    const double straight = td_stated_centre (&cone);
    g_assert_cmpfloat_with_epsilon (fabs (straight - 31.5), fabs (off * 1.5), 1e-9);
    cone.geometry.detector_tilt_rad[0] = 0.1;
    cone.geometry.detector_tilt_rad[1] = -0.2;
    g_assert_cmpfloat_with_epsilon (td_stated_centre (&cone), straight, 1e-9);
    g_autofree double *turned = NULL;
    TdGeometry moved;
    td_recipe_init (&recipe);
    recipe.tilt_deg = 3;
    td_cone_scan_geometry (&cone, &recipe, 40, &moved, &turned);
    g_assert_cmpfloat_with_epsilon (moved.detector_tilt_rad[2],
                                    cone.geometry.detector_tilt_rad[2] + 3 * G_PI / 180, 1e-12);
    TdScanFacts at_40 = cone;
    at_40.geometry = moved;
    g_assert_cmpfloat_with_epsilon (td_stated_centre (&at_40), 40, 1e-9);
    td_geometry_clear (&moved);
    cone.centre_px = 12.5; /* stated */
    g_assert_cmpfloat (td_stated_centre (&cone), ==, 12.5);
    cone.geometry.detector_tilt_rad[2] = G_PI_2;
    g_assert_true (isnan (td_stated_centre (&cone)));
  }
}

/* Methods whose slabs depend on each other are told apart from those that may be shared. */
static void
test_undivided (void)
{
  static const struct {
    Change change;
    const char *options[2], *says; /* says NULL: slices may be shared */
  } asked[] = {
    { NO_CHANGE, { "method=fbp" }, NULL },
    { CONE, { "method=fdk" }, NULL },
    { NO_CHANGE, { "method=sirt" }, NULL },
    { NO_CHANGE, { "method=sirt", "stop-at=0.1" }, "the residual of all of them ends" },
    { NO_CHANGE, { "method=sirt", "tolerance=0.1" }, "the residual of all of them ends" },
    { NO_CHANGE, { "method=cgls" }, "cgls takes steps of one length" },
    { NO_CHANGE, { "method=fista-tv" }, "fista-tv smooths from slice to slice" },
    { CONE, { "method=sirt" }, "every ray passes the whole volume" },
    { CONE, { "method=cgls" }, "every ray passes the whole volume" },
    { CONE, { "method=fbp" }, NULL }, /* which no method does */
  };

  for (guint i = 0; i < G_N_ELEMENTS (asked); i++) {
    g_autoptr (TdScan) scan = case_scan (asked[i].change);
    TdRecipe recipe;

    td_recipe_init (&recipe);
    for (guint k = 0; k < 2 && asked[i].options[k]; k++) {
      g_auto (GStrv) parts = g_strsplit (asked[i].options[k], "=", 2);
      g_assert_true (td_recipe_set (&recipe, parts[0], parts[1], NULL));
    }
    const char *reason
        = td_method_undivided (td_engine_methods (engine), td_scan_facts (scan), &recipe);
    g_assert_cmpint (reason != NULL, ==, asked[i].says != NULL);
    g_assert_true (!reason || g_str_has_prefix (reason, asked[i].says));
  }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  td_test_own_rates ("plan-notes");
  engine = td_engine_new (td_methods);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *path = g_strdup_printf ("/plan-notes/%02u", i);
    g_test_add_data_func (path, &cases[i], test_case);
  }
  g_test_add_func ("/plan-notes/found", test_found);
  g_test_add_func ("/plan-notes/parts", test_parts);
  g_test_add_func ("/plan-notes/rows", test_rows);
  g_test_add_func ("/plan-notes/units", test_units);
  g_test_add_func ("/plan-notes/preflight", test_preflight);
  g_test_add_func ("/plan-notes/preflight-cancelled", test_preflight_cancelled);
  g_test_add_func ("/plan-notes/estimate", test_estimate);
  g_test_add_func ("/plan-notes/many-views", test_many_views);
  g_test_add_func ("/plan-notes/rings", test_rings);
  g_test_add_func ("/plan-notes/memory", test_memory);
  g_test_add_func ("/plan-notes/json", test_json);
  g_test_add_func ("/plan-notes/remedy", test_remedy);
  g_test_add_func ("/plan-notes/blame", test_blame);
  g_test_add_func ("/plan-notes/turned", test_turned);
  g_test_add_func ("/plan-notes/undivided", test_undivided);
  g_test_add_func ("/plan-notes/json-figures", test_json_figures);
  g_test_add_func ("/plan-notes/methods-named", test_methods_named);
  const int status = g_test_run ();
  td_engine_unref (engine);
  return status;
}
