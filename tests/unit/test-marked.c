/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sentences in the language of tests/mark-words.py: what has plain letters there was not given
   to gettext, or took an English word as its value. Refusals of options, recipes, files and plans,
   and what plans note. Without that language the sentences are only made. */
#include <locale.h>
#include <math.h>

#include <glib/gi18n-lib.h>
#include "cluster/slurm.h"
#include "compute/axis/axis-consensus.h"
#include "compute/engine/plan-private.h"
#include "compute/engine/turn.h"
#include "compute/methods/methods.h"
#include "compute/parallel/backproject.h"
#include "compute/recipe/field.h"
#include "dataset/geometry-file.h"
#include "dataset/phantom-scan.h"
#include "dataset/scan-private.h"
#include "tests/common/cone-scan.h"
#include "test-folder.h"

/* What people or files wrote, and what is called so everywhere. Such are quoted words, options with
   their values, paths, abbreviations, devices, methods, and keys as files spell them. */
#define KEPT                                                                                       \
  "“[^”]*”|\"[^\"]*\"|'[^']*'|--[a-z-]+(?: [^\\s,;)]+)?|\\S*/\\S*|\\S+\\.[a-z0-9]{2,}"       \
  "|(?:[a-z0-9-]+, "                                                                               \
  ")+[a-z0-9-]+|<data>.*|nan|auto|host|cuda|opencl|[A-Z]{2,}[A-Za-z0-9]*(?:[,:][A-Z]+)*|[KMGT]i?"  \
  "B|u?int(?:8|"                                                                                   \
  "16|32)|float(?:32|"                                                                             \
  "64)"                                                                                            \
  "|correlation|overlap|sharpness|fourier|projections|tomodesk-cli devices|SkyScan\\S*|Tomodesk"   \
  "|distanceSource[A-Z]\\w+|Src\\w+|pixelSize|Detector[A-Z]\\w+|AngularStep|InitialAngle"          \
  "|metadata|RabbitCT|NXtomo|DXchange|Nikon\\S*|ulimit|Image Pixel Size|Reference Intensity"

static gboolean marked;

static void
marked_check (const char *text)
{
  static GRegex *plain;

  if (!plain) {
    g_autoptr (TdDevice) host = td_device_open ("host", NULL);
    g_autofree char *name = g_regex_escape_string (host->info.name, -1); /* its maker's words */
    g_autofree char *pattern
        = g_strconcat ("(?:", name, "|" KEPT ")(*SKIP)(*FAIL)|[A-Za-z]{3,}", NULL);
    plain = g_regex_new (pattern, 0, 0, NULL);
  }
  g_assert_nonnull (plain);
  g_test_message ("%s", text);
  if (!marked || !g_regex_match (plain, text, 0, NULL))
    return;
  g_test_message ("has words that are not translated: %s", text);
  g_test_fail ();
}

static void
marked_check_message (TdMessage *message)
{
  g_autofree char *packed = td_message_pack (message);
  g_autofree char *text = td_message_words (packed, NULL); /* as another process says it */

  marked_check (text);
}

/* Takes @error. */
static void
marked_refused (GError *error)
{
  if (!error)
    return;
  g_autoptr (TdMessage) message = td_error_message (error);
  marked_check_message (message);
  g_error_free (error);
}

/* ── Options ── */

static void
test_options (void)
{
  static const char *const values[] = { "?", "-1e9", "1e99", "0", "4:1", "9,9" };
  TdRecipe recipe;

  td_recipe_init (&recipe);
  for (const TdField *field = td_recipe_fields; field->option; field++)
    for (guint i = 0; i < G_N_ELEMENTS (values); i++) {
      GError *error = NULL;
      td_recipe_set (&recipe, field->option, values[i], &error);
      marked_refused (error);
    }
  for (const TdField *field = td_scan_fields; field->option; field++)
    for (guint i = 0; i < G_N_ELEMENTS (values); i++) {
      TdScanOptions options = { 0 };
      GError *error = NULL;
      td_scan_options_set (&options, field->option, i ? values[i] : "", &error);
      marked_refused (error);
    }
}

static void
test_steps (void)
{
  static const char *const values[]
      = { "?",           "dose=region",   "zingers:?=1", "zingers:threshold=-3", "log=7",
          "log:a=1",     "paganin=1e9",   "rings:?",     "flat-field=?",         "no-?",
          "zingers=1:?", "dose=region:q", "paganin:?=1", "bad-pixels:find=?" };

  for (guint i = 0; i < G_N_ELEMENTS (values); i++) {
    GError *error = NULL;
    TdRecipe recipe;
    td_recipe_init (&recipe);
    td_recipe_set (&recipe, "prepare", values[i], &error);
    marked_refused (error);
  }
}

static void
test_recipes (void)
{
  static const char *const texts[] = {
    "?",
    "[]",
    "{}",
    "{\"tomodesk_recipe\": \"?\"}",
    "{\"tomodesk_recipe\": 99}",
    "{\"tomodesk_recipe\": 1, \"?\": 2}",
    "{\"tomodesk_recipe\": 1, \"filter\": 2}",
    "{\"tomodesk_recipe\": 1, \"filter\": {\"?\": 2}}",
    "{\"tomodesk_recipe\": 1, \"filter\": {\"cutoff\": 7}}",
    "{\"tomodesk_recipe\": 1, \"method\": \"?\"}",
    "{\"tomodesk_recipe\": 1, \"prepare\": 3}",
    "{\"tomodesk_recipe\": 1, \"prepare\": [{}]}",
    "{\"tomodesk_recipe\": 1, \"prepare\": [{\"step\": \"?\"}]}",
    "{\"tomodesk_recipe\": 1, \"prepare\": [{\"step\": \"zingers\", \"enabled\": 3}]}",
    "{\"tomodesk_recipe\": 1, \"prepare\": [{\"step\": \"zingers\", \"?\": 3}]}",
    "{\"tomodesk_recipe\": 1, \"prepare\": [{\"step\": \"zingers\", \"threshold\": []}]}",
    "{\"tomodesk_recipe\": 1, \"prepare\": [{\"step\": \"zingers\"}, {\"step\": \"zingers\"}]}",
  };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
    GError *error = NULL;
    TdRecipe recipe;
    td_recipe_from_json (&recipe, texts[i], &error);
    marked_refused (error);
  }
}

/* ── Files ── */

static void
test_files (void)
{
  static const char *const files[][2] = {
    { "a.json", "?" },
    { "b.json", "{}" },
    { "c.json", "{\"beam\": \"?\"}" },
    { "d.json", "{\"matrices\": [1, 2]}" },
    { "e.json", "{\"geometry\": {}, \"acquisition\": {}, \"file\": {}}" },
    { "f.json", "{\"distanceSourceOrigin\": 0, \"projectionAngles\": [1]}" },
    { "a.csv", "1 2 3\n4 5\n" },
    { "b.csv", "1 2 3 4 5 6 7 8 9 10 11 x\n" },
    { "c.csv", "0 0 0 0 0 0 0 0 0 0 0 0\n" },
    { "a.xml", "<a" },
    { "b.xml", "<RTKThreeDCircularGeometry version=\"9\"></RTKThreeDCircularGeometry>" },
    { "c.xml", "<RTKThreeDCircularGeometry version=\"3\"><Projection/>"
               "</RTKThreeDCircularGeometry>" },
    { "d.xml", "<RTKThreeDCircularGeometry version=\"3\"><SourceToDetectorDistance>?"
               "</SourceToDetectorDistance></RTKThreeDCircularGeometry>" },
    { "a.xtekct", "[XTekCT]\nSrcToObject=0\n" },
    { "b.xtekct", "[XTekCT]\nSrcToObject=1\nSrcToDetector=2\nDetectorPixelsX=4\n"
                  "DetectorPixelsY=4\nDetectorPixelSizeX=1\nDetectorPixelSizeY=1\n" },
    { "a.log", "[Acquisition]\nImage Pixel Size (um)=0\n" },
    { "b.log", "[Acquisition]\nImage Pixel Size (um)=5\nCamera to Source (mm)=9\n"
               "Object to Source (mm)=90\nCamera Pixel Size (um)=9\n" },
    { "a.tif", "II*" },
    { "b.tif", "?" },
    { "c.h5", "\211HDF\r\n\032\n" },
    { "d.raw", "?" },
    { "e.txt", "?" },
  };
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *none = test_folder_file (folder, "none");

  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    g_autofree char *path = test_folder_file (folder, files[i][0]);
    g_assert_true (g_file_set_contents (path, files[i][1], -1, NULL));
    GError *as_geometry = NULL, *as_scan = NULL, *as_raw = NULL, *as_angles = NULL;
    TdScanOptions options = { 0 };
    g_autoptr (TdGeometryFile) file = td_geometry_file_load (path, &as_geometry);
    marked_refused (as_geometry);
    g_autoptr (TdScan) scan = td_scan_open (path, &options, NULL, &as_scan);
    marked_refused (as_scan);
    td_scan_options_set (&options, "raw", i % 2 ? "4x4:uint16" : "?", NULL);
    g_autoptr (TdScan) raw = td_scan_open (path, &options, NULL, &as_raw);
    marked_refused (as_raw);
    options = (TdScanOptions) { .angles = path, .flats = none };
    g_autoptr (TdScan) angled = td_scan_open (folder->path, &options, NULL, &as_angles);
    marked_refused (as_angles);
  }
}

static void
test_phantoms (void)
{
  for (guint i = 0; i < 14; i++) {
    TdPhantomScan spec;
    GError *error = NULL;
    td_phantom_scan_init (&spec, NULL, 8, 0, 0);
    spec.n_columns = i == 0 ? 0 : 8;
    spec.tilt_deg = i == 1 ? NAN : i == 2 ? 80 : 0;
    spec.attenuation = i == 3 ? -1 : 1;
    spec.counts = i == 4 ? 0 : 30000;
    spec.fill = i == 5 ? 2 : 0.9;
    spec.profile = i == 6 ? 3 : 0;
    spec.flicker = i == 7 ? 3 : 0;
    spec.drift = i == 8 ? 3 : 0;
    spec.n_dead = i == 9 ? 100000 : 0;
    spec.wobble_mm = i == 10 ? 1 : 0;
    if (i > 10)
      spec.geometry = (TdGeometry) { .beam = TD_BEAM_CONE,
                                     .source_axis_mm = i == 11 ? 0 : 3,
                                     .source_detector_mm = 4 };
    if (i == 13)
      spec.phantom = "?";
    g_autoptr (TdScan) scan = td_phantom_scan_new (&spec, &error);
    marked_refused (error);
  }
}

/* ── Plans ── */

static TdScan *
marked_scan (guint change)
{
  TdPhantomScan spec;

  td_phantom_scan_init (&spec, NULL, 64, 20, 45);
  spec.logged = change == 1;
  spec.attenuation = change == 1 ? 0 : spec.attenuation;
  if (change == 2)
    spec.n_flats = spec.n_darks = 0;
  if (change == 3) {
    spec.phantom = "ellipsoids";
    spec.range_deg = 360;
    spec.geometry = TD_TEST_CONE_BEAM;
  }
  TdScan *scan = td_phantom_scan_new (&spec, NULL);
  if (change == 4)
    scan->facts.centre_px = NAN;
  for (guint i = 0; change == 5 && i < 45; i++)
    scan->facts.angles_rad[i] = 1;
  return scan;
}

static void
test_plans (void)
{
  static const char *const settings[][2] = {
    { "method", "fbp" },
    { "method", "fdk" },
    { "method", "fourier" },
    { "method", "sirt" },
    { "method", "fista-tv" },
    { "kernel", "alu" },
    { "kernel", "texture" },
    { "kernel", "turned" },
    { "kernel", "host" },
    { "precision", "half" },
    { "precision", "half-run" },
    { "interpolation", "nearest" },
    { "accuracy", "draft" },
    { "accuracy", "single" },
    { "reverse-rotation", "true" },
    { "centre", "auto" },
    { "tilt", "0.5" },
    { "rows", "3:90" },
    { "region", "9,9,90,90" },
    { "crop", "2,3,50,12" },
    { "bin", "2" },
    { "bin-views", "2" },
    { "views", "5:40" },
    { "field-of-view", "half" },
    { "prepare", "zingers" },
    { "prepare", "paganin" },
    { "prepare", "bad-pixels" },
    { "prepare", "dose=region:x=0:y=0" },
    { "mask", "none.tif" },
    { "start", "none.tif" },
    { "range", "1:2" },
    { "memory-limit", "1M" },
    { "device", "cuda:7" },
    { "share", "views" },
    { "filter-on", "device" },
    { "stop-at", "0.1" },
  };
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);

  for (guint change = 0; change < 6; change++) {
    g_autoptr (TdScan) scan = marked_scan (change);
    for (guint i = 0; i < G_N_ELEMENTS (settings); i++) {
      GError *error = NULL;
      TdRecipe recipe;
      td_recipe_init (&recipe);
      g_strlcpy (recipe.devices, "host", sizeof recipe.devices);
      td_recipe_set (&recipe, settings[i][0], settings[i][1], NULL);
      g_autoptr (TdPlan) plan = td_plan_new (engine, scan, &recipe, NULL, NULL, &error);
      marked_refused (error);
      for (guint k = 0; plan && plan->facts.notes && plan->facts.notes[k]; k++)
        marked_check_message (plan->facts.notes[k]);
    }
  }
}

/* ── Parts of sentences ── */

static void
test_turns (void)
{
  static const double steps[][3]
      = { { 4, 45, 0 }, { -4, 90, 0 }, { 0.07, 45, 0 }, { 3, 30, 0 }, { 4, 46, 0 }, { 4, 45, 9 } };

  for (guint i = 0; i < G_N_ELEMENTS (steps); i++) {
    const guint n = (guint) steps[i][1];
    g_autofree double *angles = g_new (double, n);
    TdTurn turn;
    for (guint k = 0; k < n; k++)
      angles[k] = steps[i][0] * (steps[i][2] > 0 ? k * 7 % n : k) * G_PI / 180;
    td_turn_of_angles (angles, n, &turn);
    g_autoptr (TdMessage) message = td_turn_message (&turn);
    marked_check_message (message);
  }
}

static void
test_axis (void)
{
  for (guint i = 0; i < 8; i++) {
    TdAxisTrial trials[9];
    TdAxisResult result = { .trials = trials, .n_trials = i == 0 ? 1 : i == 1 ? 2 : 9 };
    for (guint k = 0; k < 9; k++)
      trials[k] = (TdAxisTrial) { .method = k % (i == 3 ? 1 : 3),
                                  .row = i == 4 ? 50 : 10 * k,
                                  .centre_px = i == 5   ? NAN
                                               : i == 6 ? 80 + 9.0 * k
                                               : i == 7 ? 80 + 0.8 * (k % 3)
                                                        : 80 + (k > 6 ? 20 : 0.1 * k),
                                  .confidence = i == 2 ? 0.05 : 1 };
    td_axis_agree (&result, 50, NAN, 0);
    g_autofree char *advice = td_message_words (result.advice, NULL);
    if (advice)
      marked_check (advice);
    g_free (result.advice);
  }
}

static void
test_kernels (void)
{
  static const double angles[] = { 0, 1, 2, 3 };
  g_autoptr (TdDevice) host = td_device_open ("host", NULL);

  for (guint i = 0; td_backproject_families ()[i]; i++)
    for (guint precision = TD_PRECISION_SINGLE; precision <= TD_PRECISION_HALF_RUN; precision++) {
      const TdBackprojectTask task = { .n_columns = 9,
                                       .n_views = 4,
                                       .nx = 9,
                                       .ny = 9,
                                       .step = 1,
                                       .angles_rad = angles,
                                       .precision = precision,
                                       .interpolation = TD_INTERPOLATION_LINEAR };
      GError *error = NULL;
      td_backproject_choose (td_backproject_families ()[i]->name, &task, host, 1, &error);
      marked_refused (error);
    }
}

static void
test_slurm (void)
{
  static const char *const states[] = { "TIMEOUT",       "CANCELLED by 0", "NODE_FAIL", "BOOT_FAIL",
                                        "OUT_OF_MEMORY", "PREEMPTED",      "DEADLINE",  "FAILED" };

  for (guint i = 0; i < G_N_ELEMENTS (states); i++) {
    const TdSlurmState state = { .state = (char *) states[i], .reason = i ? NULL : (char *) "QOS" };
    g_autoptr (TdMessage) message = td_slurm_explain (&state);
    marked_check_message (message);
  }
}

int
main (int argc, char **argv)
{
  const char *words = g_getenv ("TOMODESK_WORDS");

  setlocale (LC_ALL, "C.UTF-8");
  if (words) {
    bindtextdomain (GETTEXT_PACKAGE, words);
    bind_textdomain_codeset (GETTEXT_PACKAGE, "UTF-8");
  }
  marked = g_getenv ("TOMODESK_MARKED") != NULL;
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/marked/options", test_options);
  g_test_add_func ("/marked/steps", test_steps);
  g_test_add_func ("/marked/recipes", test_recipes);
  g_test_add_func ("/marked/files", test_files);
  g_test_add_func ("/marked/phantoms", test_phantoms);
  g_test_add_func ("/marked/plans", test_plans);
  g_test_add_func ("/marked/turns", test_turns);
  g_test_add_func ("/marked/axis", test_axis);
  g_test_add_func ("/marked/kernels", test_kernels);
  g_test_add_func ("/marked/slurm", test_slurm);
  return g_test_run ();
}
