/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recipe comes back from JSON and options as it was, and wrong ones are refused. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "compute/cone/cone-family.h"
#include "compute/engine/cone-scan.h"
#include "compute/parallel/backproject.h"
#include "compute/recipe/field.h"
#include "dataset/angles.h"
#include "dataset/number.h"
#include "test-folder.h"
#include "tests/common/pins.h"

static void
test_presets (void)
{
  TdRecipe recipe;

  td_recipe_init (&recipe);
  g_assert_true (isnan (recipe.centre_px));
  g_assert_nonnull (td_recipe_step (&recipe, "flat-field"));
  g_assert_nonnull (td_recipe_step (&recipe, "minus-log"));
  g_assert_null (td_recipe_step (&recipe, "no such step"));
  /* Names of methods that filter stand for what they make. */
  for (guint i = 0; i < 2; i++) {
    g_assert_true (td_recipe_set (&recipe, "start", i ? "fbp" : "fdk", NULL));
    g_assert_cmpstr (recipe.start, ==, "filtered");
  }
}

static void
test_round_trip (void)
{
  static const char *const options[][2] = {
    { "prepare", "minus-log:floor=0.002,flat-field=65535.5" },
    { "prepare", "no-flat-field" },
    { "centre", "85.830000000000013" },
    { "tilt", "-0.125" },
    { "filter", "butterworth" },
    { "cutoff", "0.7" },
    { "order", "6" },
    { "extend-edges", "true" },
    { "method", "fista-tv" },
    { "iterations", "33" },
    { "subsets", "7" },
    { "relaxation", "0.75" },
    { "non-negative", "false" },
    { "tv", "0.0125" },
    { "stop-at", "0.02" },
    { "tolerance", "0.001" },
    { "start", "a volume.h5" },
    { "interpolation", "nearest" },
    { "precision", "half" },
    { "rows", "3:77" },
    { "region", "-5,6,70,81" },
    { "angle-offset", "12.5" },
    { "reverse-rotation", "true" },
    { "field-of-view", "half" },
    { "crop", "10,0,300,17" },
    { "bin", "2,3" },
    { "bin-views", "4" },
    { "device", "host,opencl:0" },
    { "memory-limit", "1.5G" },
    { "device-memory-limit", "256M" },
    { "format", "hdf5" },
    { "bits", "16" },
    { "range", "-0.25:1e-3" },
  };
  TdRecipe recipe, read;
  g_autoptr (GError) error = NULL;

  td_recipe_init (&recipe);
  for (guint i = 0; i < G_N_ELEMENTS (options); i++) {
    td_recipe_set (&recipe, options[i][0], options[i][1], &error);
    g_assert_no_error (error);
  }
  g_assert_cmpfloat (recipe.centre_px, ==, 85.830000000000013);
  g_assert_cmpuint (recipe.memory_limit_bytes, ==, 3ull << 29);
  g_assert_cmpuint (recipe.device_memory_limit_bytes, ==, 256u << 20);
  g_assert_false (td_recipe_step (&recipe, "flat-field")->enabled);
  g_assert_cmpfloat (td_recipe_step (&recipe, "flat-field")->values[0], ==, 65535.5);

  g_autofree char *json = td_recipe_to_json (&recipe);
  td_recipe_from_json (&read, json, &error);
  g_assert_no_error (error);
  g_assert_true (td_recipe_equal (&recipe, &read));
  g_assert_cmpfloat (read.centre_px, ==, recipe.centre_px);
  g_assert_cmpint (read.region[0], ==, -5);
  g_assert_cmpfloat (td_recipe_step (&read, "minus-log")->values[0], ==, 0.002);

  read.filter.cutoff = 0.71;
  g_assert_false (td_recipe_equal (&recipe, &read));
}

/* Each parameter of each step comes back, at either end of what it may be; each choice by its name.
 */
static void
test_step_values (void)
{
  for (const TdStepKind *const *kind = td_prepare_steps (); *kind; kind++)
    for (guint end = 0; end < 2; end++) {
      g_autoptr (GError) error = NULL;
      TdRecipe recipe, read;

      td_recipe_init (&recipe);
      TdStep *step = td_recipe_step (&recipe, (*kind)->name);
      if (!step)
        step = td_recipe_add_step (&recipe, (*kind)->name, &error);
      g_assert_no_error (error);
      step->enabled = FALSE; /* what is added is not left switched off */
      g_assert_true (td_recipe_add_step (&recipe, (*kind)->name, NULL) == step && step->enabled);
      step->enabled = end;
      for (guint p = 0; p < (*kind)->n_parameters; p++) {
        const TdStepParameter *parameter = &(*kind)->parameters[p];
        step->values[p] = end ? parameter->maximum : parameter->minimum;
      }
      g_autofree char *json = td_recipe_to_json (&recipe);
      g_assert_true (td_recipe_from_json (&read, json, &error));
      g_assert_no_error (error);
      g_assert_true (td_recipe_equal (&read, &recipe));
      const TdStep *back = td_recipe_step (&read, (*kind)->name);
      g_assert_cmpint (back->enabled, ==, end);
      for (guint p = 0; p < (*kind)->n_parameters; p++)
        g_assert_cmpfloat (back->values[p], ==, step->values[p]);
    }
}

/* Texts may be as long as there is room for them and their end. Every kernel has a name. */
static void
test_texts (void)
{
  TdRecipe recipe;

  td_recipe_init (&recipe);
  for (guint room = 0; room < 2; room++) {
    for (const TdField *field = td_recipe_fields; field->option; field++) {
      if (field->kind != &td_kind_text)
        continue;
      g_autofree char *text = g_strnfill (field->n - room, 'm');
      g_assert_cmpint (td_recipe_set (&recipe, field->option, text, NULL), ==, room);
    }
    g_autofree char *path = g_strnfill (sizeof recipe.mask - room, 'm');
    path[0] = '/';
    g_assert_cmpint (td_recipe_set_mask (&recipe, path, NULL), ==, room);
  }
  for (const TdBackprojectFamily *const *one = td_backproject_families (); *one; one++)
    g_assert_true (td_recipe_set (&recipe, "kernel", (*one)->name, NULL));
  for (const TdConeFamily *const *one = td_cone_families (); *one; one++)
    g_assert_true (td_recipe_set (&recipe, "kernel", (*one)->name, NULL));
  g_assert_false (td_recipe_set (&recipe, "kernel", "none", NULL));
}

/* Each number of a box at its least, and one less. */
static void
test_boxes (void)
{
  guint boxes = 0;

  for (const TdField *field = td_recipe_fields; field->option; field++) {
    if (field->kind != &td_kind_box)
      continue;
    for (guint i = 0; i < 4; i++)
      for (gint less = 0; less < 2; less++) {
        const gint least = i >= 2 ? 1 : MAX ((gint) field->low, -9999);
        gint box[] = { 10, 11, 12, 13 };
        TdRecipe recipe;

        box[i] = least - less;
        g_autofree char *text = g_strdup_printf ("%d,%d,%d,%d", box[0], box[1], box[2], box[3]);
        td_recipe_init (&recipe);
        g_assert_cmpint (td_recipe_set (&recipe, field->option, text, NULL), ==,
                         !less || (i < 2 && field->low < -9999));
      }
    boxes++;
  }
  g_assert_cmpuint (boxes, >=, 2);
}

/* Every row of both tables: names are there once, presets are values, and JSON holds them. */
static void
test_fields (void)
{
  g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);
  TdRecipe preset, recipe;

  td_recipe_init (&preset);
  g_autofree char *json = td_recipe_to_json (&preset);
  for (const TdField *field = td_recipe_fields; field->option; field++) {
    td_test_pin ("%s", field->option);
    g_assert_true (g_hash_table_add (names, (gpointer) field->option));
    g_assert_true (td_recipe_field (field->option) == field);
    g_assert_nonnull (field->help);
    if (!field->json)
      continue;
    const char *dot = strchr (field->json, '.');
    g_autofree char *key = g_strdup_printf ("\"%s\" :", dot ? dot + 1 : field->json);
    g_assert_nonnull (strstr (json, key));
    recipe = preset;
    if (field->preset)
      g_assert_true (td_recipe_set (&recipe, field->option, field->preset, NULL));
    g_assert_true (td_recipe_equal_in (&recipe, &preset, field->json));
    g_assert_true (td_recipe_equal (&recipe, &preset));
    for (guint i = 0; field->names && field->names[i]; i++) {
      TdRecipe read;
      g_assert_true (td_recipe_set (&recipe, field->option, field->names[i], NULL));
      g_autofree char *named = td_recipe_to_json (&recipe);
      g_assert_true (td_recipe_from_json (&read, named, NULL));
      g_assert_true (td_recipe_equal (&recipe, &read));
    }
  }
  for (const TdField *field = td_scan_fields; field->option; field++) {
    g_assert_true (g_hash_table_add (names, (gpointer) field->option));
    g_assert_true (td_scan_field (field->option) == field);
  }
}

/* What a field may be, as an error says it: the limits themselves are tried too. */
static void
test_expects (void)
{
  static const char *const expects[][2] = {
    { "tilt", "a number from -45 to 45" },
    { "filter", "one of none, ram-lak, shepp-logan, cosine, hamming, hann, parzen, butterworth" },
    { "cutoff", "a part of the Nyquist frequency, above 0 and at most 1" },
    { "order", "a whole number from 1 to 64" },
    { "padding", "one of zero, edge" },
    { "method", "one of auto, fbp, fdk, fourier, sirt, fista-tv, cgls" },
    { "iterations", "a whole number from 1 to 10000" },
    { "subsets", "a whole number from 1 to 100000, nor auto" },
    { "relaxation", "a number above 0 and below 2" },
    { "tv", "a number from 0 to 1" },
    { "stop-at", "a number from 0 to 1" },
    { "tolerance", "a number from 0 to 1" },
    { "accuracy", "one of single, standard, draft" },
    { "interpolation", "one of nearest, linear, auto" },
    { "precision", "one of single, half, half-run, auto" },
    { "bin", "N or COLUMNS,ROWS, whole numbers from 1 to 64" },
    { "bin-views", "a whole number from 1 to 64" },
    { "angle-offset", "a number from -3600 to 3600" },
    { "field-of-view", "one of auto, full, half" },
    { "share", "one of auto, volume, projection" },
    { "filter-on", "one of auto, cpu, device" },
    { "format", "one of tiff, bigtiff, hdf5" },
    { "bits", "one of 8, 16, 32" },
  };
  static const struct {
    const char *option, *inside, *outside;
  } limits[] = {
    { "tilt", "45", "45.1" },
    { "tilt", "-45", "-45.1" },
    { "cutoff", "1", "1.01" },
    { "cutoff", "0.001", "0" },
    { "order", "64", "65" },
    { "order", "1", "0" },
    { "iterations", "10000", "10001" },
    { "iterations", "1", "0" },
    { "subsets", "100000", "100001" },
    { "relaxation", "1.99", "2" },
    { "relaxation", "0.01", "0" },
    { "tv", "1", "1.01" },
    { "tv", "0", "-0.01" },
    { "stop-at", "1", "1.01" },
    { "tolerance", "1", "1.01" },
    { "bin", "64", "65" },
    { "bin", "1,64", "1,65" },
    { "bin-views", "64", "65" },
    { "angle-offset", "3600", "3601" },
    { "angle-offset", "-3600", "-3601" },
  };
  TdRecipe recipe;

  td_recipe_init (&recipe);
  for (guint i = 0; i < G_N_ELEMENTS (expects); i++) {
    g_autoptr (TdMessage) message = td_field_expects (td_recipe_field (expects[i][0]));
    g_autofree char *text = td_message_text (message, NULL);
    g_assert_cmpstr (text, ==, expects[i][1]);
  }
  for (guint i = 0; i < G_N_ELEMENTS (limits); i++) {
    td_test_pin ("%s %s", limits[i].option, limits[i].outside);
    g_assert_true (td_recipe_set (&recipe, limits[i].option, limits[i].inside, NULL));
    g_assert_false (td_recipe_set (&recipe, limits[i].option, limits[i].outside, NULL));
  }
}

/* Two recipes are equal where each field is, and a field is what all its numbers are. */
static void
test_equal_fields (void)
{
  static const struct {
    const char *option, *a, *b;
  } pairs[] = {
    { "rows", "3:7", "4:7" },
    { "rows", "3:7", "3:8" },
    { "rows", "3:7", "all" },
    { "rows", "0:7", "all" },
    { "views", "3:7", "4:7" },
    { "views", "3:7", "3:8" },
    { "views", "3", "all" },
    { "region", "1,2,30,40", "2,2,30,40" },
    { "region", "1,2,30,40", "1,3,30,40" },
    { "region", "1,2,30,40", "1,2,31,40" },
    { "region", "1,2,30,40", "1,2,30,41" },
    { "region", "1,2,30,40", "all" },
    { "crop", "1,2,30,40", "2,2,30,40" },
    { "crop", "1,2,30,40", "1,3,30,40" },
    { "crop", "1,2,30,40", "1,2,31,40" },
    { "crop", "1,2,30,40", "1,2,30,41" },
    { "bin", "2,3", "3,3" },
    { "bin", "2,3", "2,2" },
    { "bin-views", "2", "3" },
    { "range", "1:2", "1:3" },
    { "range", "1:2", "0:2" },
    { "range", "1:2", "auto" },
    { "centre", "3", "4" },
    { "centre", "3", "auto" },
    { "tilt", "1", "2" },
    { "filter", "hann", "cosine" },
    { "order", "2", "3" },
    { "subsets", "auto", "3" },
    { "memory-limit", "1M", "2M" },
    { "device-memory-limit", "1M", "2M" },
    { "prepare", "rings", "none" },
    { "prepare", "rings=5", "rings=6" },
    { "prepare", "rings", "rings,dose" },
    { "device", "host", "auto" },
    { "start", "zero", "a.h5" },
    { "start", "b.h5", "a.h5" },
    { "kernel", "host", "auto" },
    { "format", "tiff", "hdf5" },
    { "non-negative", "true", "false" },
    { "reverse-rotation", "true", "false" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (pairs); i++) {
    g_autoptr (GError) error = NULL;
    TdRecipe a, b, c;

    td_recipe_init (&a);
    c = b = a;
    td_test_pin ("%s %s %s", pairs[i].option, pairs[i].a, pairs[i].b);
    td_recipe_set (&a, pairs[i].option, pairs[i].a, &error);
    g_assert_no_error (error);
    td_recipe_set (&b, pairs[i].option, pairs[i].b, &error);
    g_assert_no_error (error);
    td_recipe_set (&c, pairs[i].option, pairs[i].a, &error);
    g_assert_true (td_recipe_equal (&a, &c));
    g_assert_false (td_recipe_equal (&a, &b));
    g_assert_false (td_recipe_equal (&b, &a));
    td_recipe_set (&b, pairs[i].option, pairs[i].a, &error); /* steps are added to what there is */
    g_assert_true (td_recipe_equal (&a, &b) || g_str_equal (pairs[i].option, "prepare"));
  }
}

/* What one field says when another is changed. */
static void
test_fields_apply (void)
{
  static const struct {
    const char *option, *value, *field;
  } cases[] = {
    { "filter", "butterworth", "order" },
    { "method", "sirt", "iterations" },
    { "method", "sirt", "relaxation" },
    { "method", "fista-tv", "tv" },
    { "method", "fista-tv", "subsets" },
    { "method", "fdk", "share" },
    { "bits", "16", "range" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const TdField *field = td_recipe_field (cases[i].field);
    const char *reason;
    TdRecipe recipe;

    td_recipe_init (&recipe);
    td_recipe_set (&recipe, "method", "fbp", NULL);
    g_assert_false (td_recipe_field_applies (field, &recipe, NULL, &reason));
    g_assert_nonnull (reason);
    g_assert_true (td_recipe_set (&recipe, cases[i].option, cases[i].value, NULL));
    g_assert_true (td_recipe_field_applies (field, &recipe, NULL, &reason));
    g_assert_null (reason);
  }
}

/* Which fields say that they do not apply, and why, by the scan and by what else is chosen. The
   reasons have numbers, in the order in which they come. */
static void
test_fields_idle (void)
{
  static const char *const choices[][4] = {
    { NULL },
    { "method", "fbp", NULL },
    { "method", "fourier", NULL },
    { "method", "fdk", NULL },
    { "method", "sirt", NULL },
    { "method", "fista-tv", "start", "filtered" },
    { "method", "cgls", "start", "zero" },
    { "filter", "none", "bits", "16" },
    { "filter", "butterworth", "bits", "8" },
  };
  static const double matrix[12] = { 0 };
  static const double angles[] = { 0, 1 };
  const TdScanFacts scans[] = {
    { .n_rows = 2 },
    { .n_rows = 1 },
    { .n_rows = 2, .filtered = TRUE },
    { .n_rows = 2, .geometry = { .beam = TD_BEAM_CONE } },
    { .n_rows = 2,
      .geometry = { .beam = TD_BEAM_CONE,
                    .pixel_width_mm = 1,
                    .pixel_height_mm = 1,
                    .source_axis_mm = 100,
                    .source_detector_mm = 200,
                    .detector_tilt_rad = { 0, 0, G_PI_2 } } },
    { .n_rows = 2,
      .geometry
      = { .beam = TD_BEAM_CONE, .view_matrices = (double *) matrix, .n_view_matrices = 1 } },
    { .n_rows = 1, .geometry = { .beam = TD_BEAM_FAN } },
  };
  g_autoptr (GPtrArray) reasons = g_ptr_array_new ();

  for (guint k = 0; k <= G_N_ELEMENTS (scans); k++)
    for (guint i = 0; i < G_N_ELEMENTS (choices); i++) {
      g_autoptr (GString) idle = g_string_new (NULL);
      if (k > 0 && i % 4 != 0)
        continue;
      TdScanFacts facts = scans[MIN (k, G_N_ELEMENTS (scans) - 1)];
      TdRecipe recipe;

      facts.n_columns = 8;
      facts.n_views = 2;
      facts.angles_rad = (double *) angles;
      td_recipe_init (&recipe);
      for (guint c = 0; c < 4 && choices[i][c]; c += 2)
        g_assert_true (td_recipe_set (&recipe, choices[i][c], choices[i][c + 1], NULL));
      for (const TdField *field = td_recipe_fields; field->option; field++) {
        const char *reason = NULL;
        guint place = 0;
        const gboolean applies = td_recipe_field_applies (
            field, &recipe, k < G_N_ELEMENTS (scans) ? &facts : NULL, &reason);
        g_assert_true (applies == !reason);
        if (applies)
          continue;
        if (!g_ptr_array_find (reasons, reason, &place)) {
          place = reasons->len;
          g_ptr_array_add (reasons, (char *) reason);
          td_test_pin ("reason %u: %s", place, reason);
        }
        g_string_append_printf (idle, " %s %u", field->option, place);
      }
      td_test_pin ("scan %u, choice %u:%s", k, i, idle->str);
    }
}

/* Parts are compared by themselves; what "auto" leaves unused makes no difference. */
static void
test_equal (void)
{
  TdRecipe a, b;

  td_recipe_init (&a);
  b = a;
  b.filter.cutoff = 0.5;
  g_assert_false (td_recipe_equal (&a, &b));
  g_assert_false (td_recipe_equal_in (&a, &b, "filter"));
  g_assert_false (td_recipe_equal_in (&a, &b, "filter.cutoff"));
  g_assert_true (td_recipe_equal_in (&a, &b, "filter.kind"));
  g_assert_true (td_recipe_equal_in (&a, &b, "filter_on"));
  b = a;
  a.centre_auto = b.centre_auto = TRUE;
  b.centre_px = 12;
  a.bin_views = 0;
  b.output_low = 5;
  b.row_first = 3;
  a.region[0] = 7;
  b.crop[3] = 7;
  g_assert_true (td_recipe_equal (&a, &b));
  a.crop[2] = b.crop[2] = 1;
  g_assert_false (td_recipe_equal (&a, &b));
  b.crop[3] = 0;
  g_assert_true (td_recipe_equal (&a, &b));
  a.region[2] = 1; /* one of the two */
  g_assert_false (td_recipe_equal (&a, &b));
  g_assert_false (td_recipe_equal (&b, &a));
  a.region[2] = 0;
  td_recipe_step (&b, "flat-field")->enabled = FALSE;
  g_assert_false (td_recipe_equal_in (&a, &b, "prepare"));
}

static void
test_missing_keys_take_the_preset (void)
{
  TdRecipe preset, read;
  g_autoptr (GError) error = NULL;

  td_recipe_init (&preset);
  td_recipe_from_json (&read, "{ \"tomodesk_recipe\": 1 }", &error);
  g_assert_no_error (error);
  g_assert_true (td_recipe_equal (&preset, &read));
}

static void
test_refused_json (void)
{
  static const struct {
    const char *json, *says;
  } cases[] = {
    { "", "not a recipe" },
    { "[1, 2", "not JSON" },
    { "{ \"filter\": {} }", "not a recipe" },
    { "{ \"tomodesk_recipe\": 2 }", "version 2" },
    { "{ \"tomodesk_recipe\": 1.5 }", "version 1.5" },
    { "{ \"tomodesk_recipe\": 1, \"tilt_deg\": 1, \"tilt_deg\": 2 }", "\"tilt_deg\" twice" },
    { "{ \"tomodesk_recipe\": 1, \"filter\": { \"kind\": \"hann\", \"kind\": \"none\" } }",
      "\"kind\" twice" },
    { "{ \"tomodesk_recipe\": 1, \"prepare\": [ { \"step\": \"minus-log\", \"step\": "
      "\"flat-field\" } ] }",
      "\"step\" twice" },
    { "{ \"tomodesk_recipe\": \"1\" }", "\"tomodesk_recipe\" is not a number" },
    { "{ \"tomodesk_recipe\": null }", "\"tomodesk_recipe\" is not a number" },
    { "{ \"tomodesk_recipe\": 1, \"filter\": \"hann\" }", "\"filter\" is not an object" },
    { "{ \"tomodesk_recipe\": 1, \"rows\": [\"one\", 5] }", "\"rows\"" },
    { "{ \"tomodesk_recipe\": 1, \"centre\": 5 }", "key \"centre\" that" },
    { "{ \"tomodesk_recipe\": 1, \"filter\": { \"output\": {} } }",
      "key \"output\" in \"filter\"" },
    { "{ \"tomodesk_recipe\": 1, \"filter\": { \"kind\": \"hann\", \"width\": 1 } }",
      "key \"width\" in" },
    { "{ \"tomodesk_recipe\": 1, \"filter\": { \"kind\": \"han\" } }", "\"han\"" },
    { "{ \"tomodesk_recipe\": 1, \"filter\": { \"cutoff\": 0 } }", "\"cutoff\"" },
    { "{ \"tomodesk_recipe\": 1, \"rows\": [5, 5] }", "\"rows\"" },
    { "{ \"tomodesk_recipe\": 1, \"rows\": [1.5, 5] }", "\"rows\"" },
    { "{ \"tomodesk_recipe\": 1, \"region\": [0, 0, 0, 5] }", "\"region\"" },
    { "{ \"tomodesk_recipe\": 1, \"prepare\": [ { \"step\": \"polish\" } ] }", "\"polish\"" },
    { "{ \"tomodesk_recipe\": 1, \"prepare\": [ { \"step\": \"minus-log\", \"roof\": 1 } ] }",
      "\"roof" },
    { "{ \"tomodesk_recipe\": 1, \"prepare\": [ { \"step\": \"minus-log\" },"
      " { \"step\": \"minus-log\" } ] }",
      "twice" },
    { "{ \"tomodesk_recipe\": 1, \"output\": { \"bits\": 12 } }", "\"bits\"" },
    { "{ \"tomodesk_recipe\": 1, \"output\": { \"range\": [2, 1] } }", "\"range\"" },
    { "{ \"tomodesk_recipe\": 1, \"iterative\": { \"iterations\": 0 } }", "\"iterations\"" },
    { "{ \"tomodesk_recipe\": 1, \"iterative\": { \"subsets\": \"few\" } }", "\"subsets\"" },
    { "{ \"tomodesk_recipe\": 1, \"iterative\": { \"magic\": 1 } }", "key \"magic\" in" },
    { "{ \"tomodesk_recipe\": 1, \"tilt_deg\": \"steep\" }", "\"tilt_deg\"" },
    { "{ \"tomodesk_recipe\": 1, \"centre_px\": [] }", "\"centre_px\"" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    TdRecipe recipe, before;

    td_recipe_init (&recipe);
    before = recipe;
    td_test_pin ("%s", cases[i].json);
    g_assert_false (td_recipe_from_json (&recipe, cases[i].json, &error));
    g_assert_nonnull (error);
    g_assert_nonnull (strstr (error->message, cases[i].says));
    g_assert_true (td_recipe_equal (&recipe, &before));
  }
}

/* A number alone is one row; two are the first and the end; the last row there may be counts. */
static void
test_rows (void)
{
  static const struct {
    const char *text;
    guint first, end;
  } cases[] = {
    { "7", 7, 8 },   { "0", 0, 1 },   { "7:8", 7, 8 },
    { "0:5", 0, 5 }, { "all", 0, 0 }, { "2147483646", 2147483646, 2147483647 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    td_recipe_init (&recipe);
    g_assert_true (td_recipe_set (&recipe, "rows", cases[i].text, &error));
    g_assert_cmpuint (recipe.row_first, ==, cases[i].first);
    g_assert_cmpuint (recipe.row_end, ==, cases[i].end);
  }
}

static void
test_refused_options (void)
{
  static const char *const options[][2] = {
    { "centre", "left" },
    { "centre", "" },
    { "centre", "5px" },
    { "centre", "nan" },
    { "filter", "sharp" },
    { "cutoff", "0" },
    { "cutoff", "1.5" },
    { "order", "2.5" },
    { "method", "magic" },
    { "iterations", "0" },
    { "iterations", "2.5" },
    { "subsets", "0" },
    { "relaxation", "0" },
    { "relaxation", "2" },
    { "non-negative", "perhaps" },
    { "tv", "-1" },
    { "stop-at", "1.5" },
    { "tolerance", "-1" },
    { "start", "" },
    { "interpolation", "cubic" },
    { "precision", "double" },
    { "rows", "5:5" },
    { "rows", "-3:5" },
    { "rows", "9:2" },
    { "rows", "a:b" },
    { "rows", "1:99999999999" },
    { "region", "1,2,3" },
    { "region", "0,0,-5,5" },
    { "memory-limit", "lots" },
    { "memory-limit", "-5" },
    { "memory-limit", "5X" },
    { "format", "png" },
    { "bits", "12" },
    { "range", "5:1" },
    { "range", "5" },
    { "prepare", "polish" },
    { "prepare", "minus-log:roof=1" },
    { "prepare", "minus-log=0" },
    { "prepare", "rings=5=6" },
    { "prepare", "rings:size=5=6" },
    { "prepare", "no-polish" },
    { "kernel", "butter" },
    { "device", "" },
    { "extend-edges", "maybe" },
    { "padding", "mirror" },
    { "bin", "0" },
    { "bin", "2,3,4" },
    { "bin-views", "65" },
    { "crop", "1,2,3" },
    { "crop", "-1,0,5,5" },
    { "colour", "blue" },
  };
  TdRecipe recipe, before;

  td_recipe_init (&recipe);
  before = recipe;
  for (guint i = 0; i < G_N_ELEMENTS (options); i++) {
    g_autoptr (GError) error = NULL;
    g_assert_false (td_recipe_set (&recipe, options[i][0], options[i][1], &error));
    g_assert_nonnull (error);
    g_assert_true (td_recipe_equal (&recipe, &before));
  }
}

static void
test_steps_keep_their_order (void)
{
  TdRecipe recipe;
  g_autoptr (GError) error = NULL;

  td_recipe_init (&recipe);
  g_assert_true (td_recipe_set (&recipe, "prepare", "none", &error));
  g_assert_cmpuint (recipe.n_steps, ==, 0);
  g_assert_true (td_recipe_set (&recipe, "prepare", "minus-log,flat-field", &error));
  g_assert_cmpuint (recipe.n_steps, ==, 2);
  g_assert_cmpstr (recipe.steps[0].name, ==, "flat-field");
  g_assert_cmpstr (recipe.steps[1].name, ==, "minus-log");
  /* What was taken out again is no difference. */
  TdRecipe without = recipe;
  g_assert_true (td_recipe_set (&recipe, "prepare", "rings=7,zingers", &error));
  g_assert_false (td_recipe_equal (&recipe, &without));
  for (guint i = 0; i < 2; i++) {
    g_assert_true (td_recipe_set (i ? &without : &recipe, "prepare", "none,flat-field", &error));
    g_assert_cmpint (td_recipe_equal (&recipe, &without), ==, i);
  }
}

static void
test_sizes (void)
{
  guint64 bytes;

  g_assert_true (td_parse_size ("1000", &bytes) && bytes == 1000);
  g_assert_true (td_parse_size ("512M", &bytes) && bytes == 512u << 20);
  g_assert_true (td_parse_size ("2GiB", &bytes) && bytes == 2ull << 30);
  g_assert_true (td_parse_size ("0.5k", &bytes) && bytes == 512);
}

/* A recipe and its mask may be moved together; one that lies elsewhere is named in full. */
static void
test_mask (void)
{
  g_autoptr (TestFolder) folder = test_folder_new ();
  g_autofree char *there = g_build_filename (folder->path, "there", NULL);
  g_autofree char *moved = g_build_filename (folder->path, "moved", NULL);
  g_autofree char *mask = g_build_filename (there, "masks", "bad.tif", NULL);
  g_autofree char *file = g_build_filename (there, "a.json", NULL);
  g_autofree char *file_moved = g_build_filename (moved, "a.json", NULL);
  g_autofree char *mask_moved = g_build_filename (moved, "masks", "bad.tif", NULL);
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  TdRecipe recipe, back;

  td_recipe_init (&recipe);
  g_assert_null (td_recipe_mask (&recipe));
  g_assert_true (td_recipe_set_mask (&recipe, mask, &error));
  g_assert_cmpstr (td_recipe_mask (&recipe), ==, mask);
  g_assert_cmpfloat (td_recipe_step (&recipe, "bad-pixels")->values[0], ==, 0);
  g_assert_cmpint (g_mkdir (there, 0700), ==, 0);
  g_assert_true (td_recipe_save (&recipe, file, &error));
  g_assert_true (g_file_get_contents (file, &text, NULL, &error));
  g_assert_nonnull (strstr (text, "\"masks/bad.tif\""));
  g_assert_true (td_recipe_load (&back, file, &error));
  g_assert_true (td_recipe_equal (&recipe, &back));
  g_assert_cmpint (g_rename (there, moved), ==, 0);
  g_assert_true (td_recipe_load (&back, file_moved, &error));
  g_assert_cmpstr (td_recipe_mask (&back), ==, mask_moved);

  g_assert_true (td_recipe_set_mask (&recipe, "/elsewhere/bad.tif", &error));
  g_assert_true (td_recipe_save (&recipe, file_moved, &error));
  g_assert_true (td_recipe_load (&back, file_moved, &error));
  g_assert_cmpstr (td_recipe_mask (&back), ==, "/elsewhere/bad.tif");
  /* Off is not used; none is none. */
  td_recipe_step (&recipe, "bad-pixels")->enabled = FALSE;
  g_assert_null (td_recipe_mask (&recipe));
  g_assert_true (td_recipe_set_mask (&back, NULL, &error));
  g_assert_null (td_recipe_mask (&back));
  g_assert_no_error (error);

  g_autofree char *long_path = g_strnfill (TD_RECIPE_MAX_PATH, 'm');
  g_assert_false (td_recipe_set_mask (&back, long_path, &error));
  g_assert_nonnull (strstr (error->message, "nearer to the root"));
  g_clear_error (&error);
  g_assert_false (td_recipe_set_mask (&back, "/\xff.tif", &error));
  g_clear_error (&error);
  g_assert_false (
      td_recipe_from_json (&back, "{\"tomodesk_recipe\": 1, \"bad_pixels\": 3}", &error));
}

/* ── What no scan can be ── */

#define GEOMETRY(member) (offsetof (TdScanFacts, geometry) + offsetof (TdGeometry, member))

/* Each number alone, at the very end of where it may be and just outside; 0 is not known. */
static void
test_impossible (void)
{
  static const struct {
    gsize member;
    double least, most;
    gboolean parallel; /* is asked of parallel beams too */
  } cases[] = {
    { GEOMETRY (pixel_width_mm), 1e-7, 100, TRUE },
    { GEOMETRY (pixel_height_mm), 1e-7, 100, TRUE },
    { GEOMETRY (source_axis_mm), 1e-4, 1e8, FALSE },
    { GEOMETRY (source_detector_mm), 1e-4, 1e8, FALSE },
    { GEOMETRY (detector_offset_u_px), -6400, 6400, FALSE },
    { GEOMETRY (detector_offset_v_px), -4000, 4000, FALSE },
    { GEOMETRY (detector_tilt_rad[0]), -2 * G_PI, 2 * G_PI, FALSE },
    { GEOMETRY (detector_tilt_rad[1]), -2 * G_PI, 2 * G_PI, FALSE },
    { GEOMETRY (detector_tilt_rad[2]), -2 * G_PI, 2 * G_PI, FALSE },
    { offsetof (TdScanFacts, centre_px), -64, 128, TRUE },
  };
  TdRecipe recipe;

  td_recipe_init (&recipe);
  for (guint i = 0; i < 8 * G_N_ELEMENTS (cases); i++) {
    const gboolean parallel = i % 2;
    const gsize member = cases[i / 8].member;
    const double least = cases[i / 8].least, most = cases[i / 8].most;
    const double values[]
        = { least, nextafter (least, -INFINITY), most, nextafter (most, INFINITY) };
    double angles[2] = { 0, 1 };
    TdScanFacts facts = { .n_columns = 64,
                          .n_rows = 40,
                          .n_views = 2,
                          .angles_rad = angles,
                          .geometry = { .beam = parallel ? TD_BEAM_PARALLEL : TD_BEAM_CONE,
                                        .pixel_width_mm = 1e-6,
                                        .pixel_height_mm = 1e-6,
                                        .source_axis_mm = 100,
                                        .source_detector_mm = i < 16 ? 1e4 : 200 } };
    g_autoptr (GError) error = NULL;
    const gboolean asked = cases[i / 8].parallel || !parallel;

    *(double *) ((char *) &facts + member) = values[i / 2 % 4];
    td_test_pin ("member %u: %g", i / 8, values[i / 2 % 4]);
    g_assert_cmpint (td_recipe_check (&recipe, &facts, &error), ==, i / 2 % 2 == 0 || !asked);
    g_assert_true (!error || g_error_matches (error, TD_ERROR, TD_ERROR_BAD_FILE));
    if (error && member >= GEOMETRY (detector_tilt_rad[0])
        && member <= GEOMETRY (detector_tilt_rad[2]))
      g_assert_nonnull (strstr (error->message, "360 degrees")); /* 2 pi, and a little */
    g_clear_error (&error);
    *(double *) ((char *) &facts + member) = 0;
    g_assert_true (td_recipe_check (&recipe, &facts, &error));
    angles[1] = 0.99e6 * G_PI / 180;
    g_assert_true (td_recipe_check (&recipe, &facts, &error));
    angles[1] = (parallel ? -1.01e6 : 1.01e6) * G_PI / 180;
    g_assert_false (td_recipe_check (&recipe, &facts, &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_BAD_FILE);
  }
}

/* A detector is no wider and no higher than ten times its distance from the source. */
static void
test_opening (void)
{
  static const struct {
    double width_mm, height_mm, distance_mm;
    gboolean parallel, good;
  } cases[] = {
    { 0.4, 0.4, 400, FALSE, TRUE },  { 0.4, 0.4, 0.4, FALSE, FALSE }, /* metres */
    { 100, 100, 400, FALSE, FALSE },                                  /* micrometres */
    { 62.5, 1, 400, FALSE, TRUE },   { 62.6, 1, 400, FALSE, FALSE },
    { 1, 40, 160, FALSE, TRUE },     { 1, 40.1, 160, FALSE, FALSE },
    { 0.4, 0.4, 0, FALSE, TRUE },    { 0, 0, 0.4, FALSE, TRUE }, /* not known */
    { 0.4, 0.4, 0.4, TRUE, TRUE },
  };
  double angles[2] = { 0, 1 };
  TdRecipe recipe;

  td_recipe_init (&recipe);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    const TdScanFacts facts
        = { .n_columns = 64,
            .n_rows = 40,
            .n_views = 2,
            .angles_rad = angles,
            .centre_px = NAN,
            .geometry = { .beam = cases[i].parallel ? TD_BEAM_PARALLEL : TD_BEAM_CONE,
                          .pixel_width_mm = cases[i].width_mm,
                          .pixel_height_mm = cases[i].height_mm,
                          .source_axis_mm = cases[i].distance_mm / 2,
                          .source_detector_mm = cases[i].distance_mm } };
    g_autoptr (GError) error = NULL;

    g_test_message ("%g × %g mm, %g mm away", cases[i].width_mm, cases[i].height_mm,
                    cases[i].distance_mm);
    g_assert_cmpint (td_recipe_check (&recipe, &facts, &error), ==, cases[i].good);
    if (!cases[i].good)
      test_assert_sentence (error, "--sdd-mm MM");
  }
}

/* A detector row's slice lies as far down among the slices as the row among those that are left. */
static void
test_slices (void)
{
  static const char *const crops[] = { NULL, "4,10,50,22" };
  double angle = 0;
  TdScanFacts facts = { .n_columns = 64,
                        .n_rows = 40,
                        .n_views = 1,
                        .angles_rad = &angle,
                        .centre_px = NAN,
                        .geometry = { .pixel_width_mm = 1,
                                      .pixel_height_mm = 1,
                                      .source_axis_mm = 100,
                                      .source_detector_mm = 200 } };

  static const char *const kinds[] = { "parallel", "cone", "on its side", "with a volume" };

  for (guint i = 0; i < 16; i++) {
    const gboolean cone = i & 3;
    const char *crop = crops[i >> 2 & 1];
    const guint first = crop ? 10 : 0, rows = crop ? 22 : 40;
    TdRecipe recipe;

    facts.geometry.beam = cone ? TD_BEAM_CONE : TD_BEAM_PARALLEL;
    facts.geometry.detector_tilt_rad[2] = (i & 3) == 2 ? G_PI_2 : 0;
    facts.geometry.voxel_mm = (i & 3) == 3 ? 0.5 : 0;
    for (guint k = 0; k < 3; k++)
      facts.geometry.volume_size[k] = (i & 3) == 3 ? 31 + k : 0;
    td_recipe_init (&recipe);
    recipe.bin[0] = recipe.bin[1] = 0; /* none is one */
    g_assert_true (!crop || td_recipe_set (&recipe, "crop", crop, NULL));
    g_assert_true (i < 8 || td_recipe_set (&recipe, "bin", "2,3", NULL));
    const guint n = td_recipe_slices (&recipe, &facts);
    td_test_pin ("%s, crop %s, bin %u: %u slices", kinds[i & 3], crop ? crop : "none", i >> 3, n);
    g_assert_true (cone || n == 40);
    g_assert_true (!cone || crop || i >> 3 || n == td_cone_scan_slices (&facts));
    for (guint row = 0; row < 40; row++) {
      const double down = (row + 0.5 - first) / rows * n;
      g_assert_cmpuint (td_recipe_slice_at (&recipe, &facts, row), ==,
                        !cone       ? row
                        : down < 0  ? 0
                        : down >= n ? n - 1
                                    : (guint) down);
    }
  }
}

/* Angles that no scan has are refused by their view and in degrees. */
static void
test_absurd_angles (void)
{
  static const struct {
    double angle_rad;
    const char *says; /* NULL: it is taken */
  } cases[] = { { 1, NULL },
                { -300, NULL },
                { TD_ANGLES_MOST_DEG * G_PI / 180, NULL },
                { -TD_ANGLES_MOST_DEG * G_PI / 180, NULL },
                { nextafter (TD_ANGLES_MOST_DEG * G_PI / 180, INFINITY), "View 1 at 1e+06 " },
                { 2e6, "View 1 at 1.14592e+08 degrees cannot be" },
                { -2e6, "View 1 at -1.14592e+08 degrees cannot be" },
                { NAN, "View 1 at " },
                { INFINITY, "View 1 at inf degrees" } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    double angles[] = { 0, cases[i].angle_rad, 2 };
    TdScanFacts facts
        = { .n_columns = 20, .n_rows = 3, .n_views = 3, .angles_rad = angles, .centre_px = NAN };
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    td_geometry_init_parallel (&facts.geometry);
    td_recipe_init (&recipe);
    g_assert_true (td_recipe_check (&recipe, &facts, &error) == !cases[i].says);
    if (cases[i].says)
      g_assert_true (g_str_has_prefix (error->message, cases[i].says));
  }
}

/* Who names a parameter that a step does not have is told of all that it has. */
static void
test_told_parameters (void)
{
  for (const TdStepKind *const *kind = td_prepare_steps (); *kind; kind++) {
    g_autofree char *text = g_strconcat ((*kind)->name, ":magic=1", NULL);
    g_autoptr (GString) names = g_string_new (NULL);
    g_autoptr (GError) error = NULL;
    TdRecipe recipe;

    td_recipe_init (&recipe);
    for (guint i = 0; i < (*kind)->n_parameters; i++)
      g_string_append_printf (names, "%s%s", i > 0 ? ", " : "(", (*kind)->parameters[i].name);
    g_string_append (names, names->len > 0 ? ")" : "too much: it has no parameters");
    g_assert_false (td_recipe_set (&recipe, "prepare", text, &error));
    g_assert_error (error, TD_ERROR, TD_ERROR_INVALID);
    g_assert_nonnull (strstr (error->message, names->str));
  }
}

/* ── What each field takes ── */

/* The field alone as JSON. */
static char *
field_json (const TdField *field, const TdRecipe *recipe)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autofree char *here = g_get_current_dir ();

  json_builder_begin_array (builder);
  field->kind->write (field, recipe, builder);
  json_builder_end_array (builder);
  g_autoptr (JsonNode) node = json_builder_get_root (builder);
  g_autofree char *text = json_to_string (node, FALSE);
  g_auto (GStrv) parts = g_strsplit (text, here, -1); /* paths are kept whole */
  return g_strjoinv (".", parts);
}

/* The same texts and JSON values to each field, one after another into the same recipe: what it is
   then. Those that are not named were refused, and left the recipe as it was. */
static void
test_taken (void)
{
  static const char *const texts[]
      = { "3",    "auto",  "all", "0",   "1",    "-1",       "2.5",        "0.25",     "1e3",
          "true", "false", "2:5", "5:2", "2:2",  "-2.5:3",   "7,8",        "1,2,30,4", "-1,2,3,4",
          "zero", "host",  "16",  "64",  "4096", "3G",       "half",       "HANN",     "ram-lak",
          "none", "5 ",    " 5",  "nan", "",     "filtered", "projection", "sirt",     "edge" };
  static const char *const values[]
      = { "3",    "null",     "true",       "\"auto\"",     "\"all\"",    "\"0\"",      "2.5",
          "0.25", "1e3",      "[2,5]",      "[5,2]",        "[2.5,3]",    "[-2.5,3.5]", "[7]",
          "[]",   "[1,2,3]",  "[1,2,30,4]", "[1,2,30,4,5]", "[-1,2,3,4]", "[1,null]",   "[\"1\",2]",
          "{}",   "\"half\"", "[{}]",       "\"cgls\"",     "null" };

  for (const TdField *field = td_recipe_fields; field->option; field++) {
    g_autoptr (TdMessage) expects = td_field_expects (field);
    g_autofree char *wanted = td_message_text (expects, NULL);
    g_autoptr (GString) taken = g_string_new (NULL), read = g_string_new (NULL);
    TdRecipe recipe, before;

    td_recipe_init (&recipe);
    for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
      before = recipe;
      if (!td_recipe_set (&recipe, field->option, texts[i], NULL)) {
        g_assert_cmpmem (&recipe, sizeof recipe, &before, sizeof before);
        continue;
      }
      g_autofree char *now = field_json (field, &recipe);
      if (taken->len < 400) /* of texts that may be any */
        g_string_append_printf (taken, " '%s' is %s;", texts[i], now);
      /* The word for all leaves nothing of what was there. */
      if (g_str_equal (texts[i], "all") && strstr (now, "null"))
        for (guint k = 0; k < field->n; k++)
          g_assert_cmpuint (((const guint *) ((const char *) &recipe + field->offset))[k], ==, 0);
      if (field->none && g_str_equal (texts[i], field->none))
        g_assert_cmpuint (*(const guint *) ((const char *) &recipe + field->offset), ==, 0);
    }
    td_test_pin ("%s is %s:%s", field->option, wanted, taken->str);
    const char *dot = field->json ? strchr (field->json, '.') : NULL;
    for (guint i = 0; field->json && i < G_N_ELEMENTS (values); i++) {
      const char *key = dot ? dot + 1 : field->json;
      g_autofree char *group = dot ? g_strndup (field->json, (gsize) (dot - field->json)) : NULL;
      g_autofree char *json = g_strdup_printf (
          "{ \"tomodesk_recipe\": 1, %s%s%s \"%s\": %s %s }", group ? "\"" : "", group ? group : "",
          group ? "\": {" : "", key, values[i], group ? "}" : "");
      TdRecipe from_json;
      if (!td_recipe_from_json (&from_json, json, NULL))
        continue;
      g_autofree char *now = field_json (field, &from_json);
      g_string_append_printf (read, " %s is %s;", values[i], now);
      g_assert_true (td_recipe_equal_in (&from_json, &from_json, field->json));
    }
    if (field->json)
      td_test_pin ("of JSON:%s", read->str);
  }
}

/* All that a new recipe has, and one in which nothing is as it was. */
static void
test_written (void)
{
  TdRecipe recipe;

  td_recipe_init (&recipe);
  for (guint changed = 0; changed < 2; changed++) {
    if (changed) {
      for (const TdField *field = td_recipe_fields; field->option; field++)
        for (guint i = 0; field->names && field->names[i]; i++)
          g_assert_true (td_recipe_set (&recipe, field->option, field->names[i], NULL));
      for (const TdStepKind *const *kind = td_prepare_steps (); *kind; kind++)
        g_assert_nonnull (td_recipe_add_step (&recipe, (*kind)->name, NULL));
    }
    g_autofree char *json = td_recipe_to_json (&recipe);
    g_auto (GStrv) lines = g_strsplit (json, "\n", -1);
    for (guint i = 0; lines[i]; i++)
      if (strchr (lines[i], ':'))
        td_test_pin ("%s", g_strstrip (lines[i]));
  }
}

/* What a person states of a scan. Strings stay the caller's. */
static void
test_scan_options (void)
{
  static const char *const texts[] = { "1e-7",
                                       "9e-8",
                                       "1e-4",
                                       "9e-5",
                                       "0.5",
                                       "100",
                                       "100.1",
                                       "1e4",
                                       "10001",
                                       "1e8",
                                       "2e8",
                                       "0",
                                       "-1",
                                       "true",
                                       "false",
                                       "intensities",
                                       "attenuations",
                                       "8x4:uint16",
                                       "8x4:uint16:100",
                                       "8x4" };
  for (const TdField *field = td_scan_fields; field->option; field++) {
    g_autoptr (TdMessage) expects = td_field_expects (field);
    g_autofree char *wanted = td_message_text (expects, NULL);
    g_autoptr (GString) taken = g_string_new (NULL);
    g_autoptr (GError) error = NULL;
    const gboolean pointer = field->kind == &td_kind_pointer;
    TdScanOptions options = { 0 };

    for (guint i = 0; i < G_N_ELEMENTS (texts); i++) {
      if (!td_scan_options_set (&options, field->option, texts[i], NULL))
        continue;
      const char *place = (const char *) &options + field->offset;
      if (field->kind == &td_kind_number)
        g_assert_cmpfloat (*(const double *) place, ==, g_ascii_strtod (texts[i], NULL));
      if (pointer)
        g_assert_true (*(const char *const *) place == texts[i]);
      if (field->kind == &td_kind_switch)
        g_assert_cmpint (*(const gboolean *) place, ==, g_str_equal (texts[i], "true"));
      if (field->kind == &td_kind_choice)
        g_assert_cmpstr (field->names[*(const int *) place], ==, texts[i]);
      g_string_append_printf (taken, " '%s'", texts[i]);
    }
    td_test_pin ("%s is %s:%s", field->option, pointer ? "any" : wanted, taken->str);
    g_assert_false (td_scan_options_set (&options, field->option, "", &error));
    g_assert_nonnull (strstr (error->message, "is empty"));
  }
  g_autoptr (GError) error = NULL;
  TdScanOptions options = { 0 };
  g_assert_false (td_scan_options_set (&options, "tilt", "1", &error));
  g_assert_nonnull (strstr (error->message, "is no option of a scan"));
}

/* Each parameter of each step, just inside and just outside, as an option and in JSON. */
static void
test_steps_taken (void)
{
  static const char *const values[]
      = { "3", "2.5", "0", "-1", "1e9", "true", "null", "[]", "{}", "\"3\"", "\"none\"" };

  for (const TdStepKind *const *kind = td_prepare_steps (); *kind; kind++)
    for (guint p = 0; p < (*kind)->n_parameters; p++) {
      const TdStepParameter *parameter = &(*kind)->parameters[p];
      g_autoptr (GString) read = g_string_new (NULL);
      const double low = parameter->minimum, high = parameter->maximum;
      const double step = parameter->digits ? pow (10, -(double) parameter->digits) : 1;
      const double tried[] = { low, low - step, high, high + step, low + step / 2 };

      for (guint i = 0; i < G_N_ELEMENTS (tried); i++) {
        char number[G_ASCII_DTOSTR_BUF_SIZE];
        g_ascii_dtostr (number, sizeof number, tried[i]);
        g_autofree char *text
            = g_strdup_printf ("%s:%s=%s", (*kind)->name, parameter->name, number);
        g_autoptr (GError) error = NULL;
        TdRecipe recipe;

        td_recipe_init (&recipe);
        const gboolean good = td_recipe_set (&recipe, "prepare", text, &error);
        g_assert_cmpint (good, ==,
                         parameter->choices ? g_strv_contains (parameter->choices, number)
                                            : i == 0 || i == 2 || (i == 4 && parameter->digits));
        if (i == 1)
          td_test_pin ("%s", error->message);
      }
      for (guint i = 0; i < G_N_ELEMENTS (values); i++) {
        g_autofree char *json
            = g_strdup_printf ("{ \"tomodesk_recipe\": 1, \"prepare\": [ { \"step\": \"%s\", "
                               "\"%s\": %s } ] }",
                               (*kind)->name, parameter->name, values[i]);
        TdRecipe recipe;
        if (!td_recipe_from_json (&recipe, json, NULL))
          continue;
        g_assert_cmpuint (recipe.n_steps, ==, 1);
        g_string_append_printf (read, " %s is %g;", values[i], recipe.steps[0].values[p]);
      }
      td_test_pin ("%s:%s of JSON:%s", (*kind)->name, parameter->name, read->str);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/recipe/slices", test_slices);
  g_test_add_func ("/recipe/absurd-angles", test_absurd_angles);
  g_test_add_func ("/recipe/presets", test_presets);
  g_test_add_func ("/recipe/expects", test_expects);
  g_test_add_func ("/recipe/equal-fields", test_equal_fields);
  g_test_add_func ("/recipe/round-trip", test_round_trip);
  g_test_add_func ("/recipe/step-values", test_step_values);
  g_test_add_func ("/recipe/texts", test_texts);
  g_test_add_func ("/recipe/boxes", test_boxes);
  g_test_add_func ("/recipe/fields", test_fields);
  g_test_add_func ("/recipe/fields-apply", test_fields_apply);
  g_test_add_func ("/recipe/fields-idle", test_fields_idle);
  g_test_add_func ("/recipe/equal", test_equal);
  g_test_add_func ("/recipe/missing-keys", test_missing_keys_take_the_preset);
  g_test_add_func ("/recipe/refused-json", test_refused_json);
  g_test_add_func ("/recipe/rows", test_rows);
  g_test_add_func ("/recipe/refused-options", test_refused_options);
  g_test_add_func ("/recipe/told-parameters", test_told_parameters);
  g_test_add_func ("/recipe/step-order", test_steps_keep_their_order);
  g_test_add_func ("/recipe/sizes", test_sizes);
  g_test_add_func ("/recipe/mask", test_mask);
  g_test_add_func ("/recipe/taken", test_taken);
  g_test_add_func ("/recipe/written", test_written);
  g_test_add_func ("/recipe/scan-options", test_scan_options);
  g_test_add_func ("/recipe/steps-taken", test_steps_taken);
  g_test_add_func ("/recipe/impossible", test_impossible);
  g_test_add_func ("/recipe/opening", test_opening);
  return g_test_run ();
}
