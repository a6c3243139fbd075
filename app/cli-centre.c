/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>

#include "cli-picture.h"
#include "cli-recipe.h"
#include "cli-verbs.h"
#include "compute/engine/centre.h"
#include "compute/methods/methods.h"
#include "compute/recipe/field.h"
#include "dataset/number.h"
#include "dataset/output.h"
#include "dataset/sort.h"

static const TdCliHelp help = {
  "SCAN [OPTION…]",
  "Finds the rotation axis of a parallel-beam scan: several methods on several rows, each shown, "
  "with\n"
  "what they agree on. The rows are prepared by the recipe first. The column counts from 0.",
  "  tomodesk-cli centre scan.nxs\n"
  "  Only rows 100 to 199, by one method, with nine trial slices to look at:\n"
  "    tomodesk-cli centre scan.nxs --rows 100:200 --method sharpness --picture trials.png\n"
  "  Where the axis is nearly known:\n"
  "    tomodesk-cli centre scan.nxs --range 1010:1040\n"
  "  Into a reconstruction (--centre auto does the same at once):\n"
  "    tomodesk-cli reconstruct scan.nxs -o slices \\\n"
  "      --centre $(tomodesk-cli centre scan.nxs --json | jq .centre_px)\n",
};

/* The trial slices of the picture, in columns from the centre in units of its step. */
static const double offsets[] = { -4, -2, -1, -0.5, 0, 0.5, 1, 2, 4 };
#define ACROSS 3
#define MOST_SPREAD_PX 4 /* of that step: wider apart, no slice is near the axis */

typedef struct {
  char *method, *range, *picture;
  gboolean overwrite, json;
  TdAxisOptions axis;
} Options;

typedef struct {
  guint row;
  double centres_px[G_N_ELEMENTS (offsets)];
} Picture;

/* ── Text and JSON ── */

/* Median of a method's trials: those used, else all that found something. At the middle row. */
static double
method_centre (const TdAxisResult *result, TdAxisMethod method, double middle_row)
{
  g_autofree double *values = g_new (double, result->n_trials + 1);
  const TdAxisLine moved = { 0, td_axis_line (0, result->tilt_deg, 1).slope, middle_row };

  for (guint used = 2; used-- > 0;) {
    guint n = 0;
    for (guint i = 0; i < result->n_trials; i++) {
      const TdAxisTrial *trial = &result->trials[i];
      if (trial->method == method && isfinite (trial->centre_px) && (trial->used || !used))
        values[n++] = trial->centre_px - td_axis_line_at (&moved, trial->row);
    }
    qsort (values, n, sizeof *values, td_compare_doubles);
    if (n > 0)
      return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
  }
  return NAN;
}

static gboolean
was_tried (const TdAxisResult *result, TdAxisMethod method)
{
  for (guint i = 0; i < result->n_trials; i++)
    if (result->trials[i].method == method)
      return TRUE;
  return FALSE;
}

/* A tilt is known from several rows only. */
static gboolean
cli_centre_has_tilt (const TdAxisResult *result)
{
  return result->tilt_deg != 0 || result->tilt_uncertainty_deg != 0;
}

static void
cli_centre_print_text (const TdAxisResult *result, double middle_row, const Picture *picture)
{
  for (guint m = 0; m < TD_AXIS_COUNT; m++) {
    if (!was_tried (result, m))
      continue;
    td_cli_print ("  %-12s", td_axis_method_name (m));
    for (guint i = 0; i < result->n_trials; i++) {
      const TdAxisTrial *trial = &result->trials[i];
      if (trial->method != m)
        continue;
      if (isfinite (trial->centre_px))
        td_cli_print ("  row %u: %.2f%s", trial->row, trial->centre_px,
                      trial->used ? "" : " (left out)");
      else
        td_cli_print ("  row %u: none", trial->row);
    }
    td_cli_print ("\n");
  }
  g_autofree char *tilt = cli_centre_has_tilt (result)
                              ? g_strdup_printf (", tilt %.3f° ± %.3f°", result->tilt_deg,
                                                 result->tilt_uncertainty_deg)
                              : g_strdup ("");
  if (isfinite (result->centre_px))
    td_cli_print ("  centre        column %.3f ± %.3f at row %g%s, %s\n", result->centre_px,
                  result->uncertainty_px, middle_row, tilt,
                  result->agreed ? "agreed" : "not agreed");
  else
    td_cli_print ("  centre        not found\n");
  g_autofree char *advice = td_message_words (result->advice, NULL);
  if (advice)
    td_cli_print ("  note          %s\n", advice);
  if (!picture)
    return;
  td_cli_print ("  picture       row %u about these columns:\n", picture->row);
  for (guint i = 0; i < G_N_ELEMENTS (offsets); i++)
    td_cli_print ("%s%12.3f%s", i % ACROSS ? "" : "              ", picture->centres_px[i],
                  i % ACROSS == ACROSS - 1 ? "\n" : "");
}

static void
add_methods (JsonBuilder *builder, const TdAxisResult *result, double middle_row)
{
  td_json_begin_list (builder, "methods");
  for (guint m = 0; m < TD_AXIS_COUNT; m++) {
    if (!was_tried (result, m))
      continue;
    json_builder_begin_object (builder);
    td_json_add_string (builder, "name", td_axis_method_name (m));
    td_json_begin_list (builder, "rows");
    for (guint i = 0; i < result->n_trials; i++)
      if (result->trials[i].method == m)
        json_builder_add_int_value (builder, result->trials[i].row);
    json_builder_end_array (builder);
    td_json_add_number (builder, "centre_px", method_centre (result, m, middle_row));
    td_json_begin_list (builder, "trials");
    for (guint i = 0; i < result->n_trials; i++) {
      const TdAxisTrial *trial = &result->trials[i];
      if (trial->method != m)
        continue;
      json_builder_begin_object (builder);
      td_json_add_integer (builder, "row", trial->row);
      td_json_add_number (builder, "centre_px", trial->centre_px);
      td_json_add_number (builder, "confidence", trial->confidence);
      td_json_add_boolean (builder, "used", trial->used);
      json_builder_end_object (builder);
    }
    json_builder_end_array (builder);
    json_builder_end_object (builder);
  }
  json_builder_end_array (builder);
}

static int
cli_centre_print_json (const TdAxisResult *result, double middle_row, const char *path,
                       const Picture *picture)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  json_builder_begin_object (builder);
  td_json_add_number (builder, "centre_px", result->centre_px);
  td_json_add_number (builder, "uncertainty_px", result->uncertainty_px);
  td_json_add_number (builder, "row", middle_row);
  const gboolean has_tilt = cli_centre_has_tilt (result);
  td_json_add_number (builder, "tilt_deg", has_tilt ? result->tilt_deg : NAN);
  td_json_add_number (builder, "tilt_uncertainty_deg",
                      has_tilt ? result->tilt_uncertainty_deg : NAN);
  td_json_add_boolean (builder, "agreed", result->agreed);
  g_autofree char *advice = td_message_words (result->advice, NULL);
  td_json_add_string (builder, "advice", advice);
  add_methods (builder, result, middle_row);
  if (picture) {
    td_json_begin_object (builder, "picture");
    td_json_add_string (builder, "path", path);
    td_json_add_integer (builder, "row", picture->row);
    td_json_begin_list (builder, "centres_px");
    for (guint i = 0; i < G_N_ELEMENTS (offsets); i++)
      json_builder_add_double_value (builder, picture->centres_px[i]);
    json_builder_end_array (builder);
    json_builder_end_object (builder);
  }
  json_builder_end_object (builder);
  return td_cli_print_json (builder);
}

/* ── The picture ── */

/* The row tried that has most trials used, and the middle one of those. */
static guint
choose_row (const TdAxisResult *result, double middle_row)
{
  guint best = result->n_trials ? result->trials[0].row : 0;
  double most = -1;

  for (guint i = 0; i < result->n_trials; i++) {
    guint row = result->trials[i].row;
    double used = -fabs (row - middle_row) / (2 * middle_row + 1);
    for (guint j = 0; j < result->n_trials; j++)
      used += result->trials[j].row == row && result->trials[j].used;
    if (used > most) {
      most = used;
      best = row;
    }
  }
  return best;
}

/* Around the centre by parts of a column; without one, over the whole range. */
static void
place_trials (Picture *picture, const TdAxisResult *result, const TdScanFacts *facts,
              const TdAxisOptions *axis)
{
  const TdAxisLine axis_found = td_axis_line (result->centre_px, result->tilt_deg, facts->n_rows);
  const double at = td_axis_line_at (&axis_found, picture->row);
  double reach = 0.3 * facts->n_columns;

  for (guint i = 0; i < G_N_ELEMENTS (offsets); i++) {
    double part = i / (G_N_ELEMENTS (offsets) - 1.0);
    if (isfinite (at))
      picture->centres_px[i]
          = at + offsets[i] * CLAMP (2 * result->uncertainty_px, 1, MOST_SPREAD_PX);
    else if (axis->search_first_px != axis->search_last_px)
      picture->centres_px[i]
          = axis->search_first_px + part * (axis->search_last_px - axis->search_first_px);
    else
      picture->centres_px[i] = (facts->n_columns - 1) / 2.0 + (2 * part - 1) * reach;
  }
}

static gboolean
cli_centre_draw (Picture *picture, const TdAxisResult *result, TdEngine *engine, TdScan *scan,
                 const TdRecipe *recipe, const Options *options, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  g_autoptr (GPtrArray) devices = td_engine_devices (engine, recipe->devices, error);
  g_autoptr (TdScan) masked = devices ? td_engine_measured (engine, scan, recipe, error) : NULL;

  if (!masked)
    return FALSE;
  picture->row = choose_row (result, (facts->n_rows - 1) / 2.0);
  place_trials (picture, result, facts, &options->axis);
  const TdRowSource source
      = { g_ptr_array_index (devices, 0), masked, NULL, recipe->steps, recipe->n_steps };
  g_autofree float *slices
      = td_axis_trial_slices (&source, picture->row, picture->centres_px, G_N_ELEMENTS (offsets),
                              NULL, td_cli_cancellable (), error);
  return slices
         && td_cli_picture (options->picture, slices, G_N_ELEMENTS (offsets), facts->n_columns,
                            ACROSS, error);
}

/* ── The verb ── */

static void
cli_centre_show_progress (double fraction, const char *what, gpointer user)
{
  td_cli_progress (what, fraction, -1, NULL);
}

/* Of a recipe the search takes the preparation, the rows and the device. */
static gboolean
cli_centre_takes (const char *option)
{
  static const char *const taken[] = { "prepare", "bad-pixels", "rows", "device", NULL };

  return td_scan_field (option) || g_strv_contains (taken, option);
}

static int
find_centre (TdCliRecipe *recipe, const char *path, Options *options)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = td_scan_open (path, &recipe->scan, td_cli_cancellable (), &error);
  Picture picture;

  if (!scan
      || (options->picture
          && !td_output_spares_scan (options->picture, td_scan_facts (scan), &error))
      || !td_cli_may_write (options->picture, options->overwrite, &error))
    return td_cli_fail (error);
  const char *other = td_cli_recipe_other (recipe, cli_centre_takes);
  if (other)
    return td_cli_usage ("centre",
                         "--%s is not used here: the axis is searched for on the whole "
                         "detector, in the rows as they are prepared",
                         other);
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  options->axis.row_first = recipe->recipe.row_first;
  options->axis.row_end = recipe->recipe.row_end;
  options->axis.progress = cli_centre_show_progress;
  g_autoptr (TdAxisResult) result = td_engine_find_axis (
      engine, scan, &recipe->recipe, &options->axis, td_cli_cancellable (), &error);
  if (!result
      || (options->picture
          && !cli_centre_draw (&picture, result, engine, scan, &recipe->recipe, options, &error)))
    return td_cli_fail (error);
  td_cli_progress_clear ();
  double middle_row = (td_scan_facts (scan)->n_rows - 1) / 2.0;
  if (options->json)
    return cli_centre_print_json (result, middle_row, options->picture,
                                  options->picture ? &picture : NULL);
  td_cli_print ("%s\n", path);
  cli_centre_print_text (result, middle_row, options->picture ? &picture : NULL);
  return TD_CLI_DONE;
}

static int
read_options (Options *options, const char *verb)
{
  g_auto (GStrv) range = g_strsplit (options->range ? options->range : "", ":", 2);
  TdAxisMethod method;

  if (options->method && !td_axis_method_parse (options->method, &method))
    return td_cli_usage (verb,
                         "there is no method \"%s\"; the methods are correlation, fourier, "
                         "sharpness, overlap and projections",
                         options->method);
  if (options->method)
    options->axis.methods = 1u << method;
  if (options->range
      && (g_strv_length (range) != 2
          || !td_parse_number (range[0], -1e6, 1e6, &options->axis.search_first_px)
          || !td_parse_number (range[1], -1e6, 1e6, &options->axis.search_last_px)
          || !(options->axis.search_first_px < options->axis.search_last_px)))
    return td_cli_usage (verb, "--range \"%s\" is not FIRST:LAST, rising columns as in 1010:1040",
                         options->range);
  if (options->picture && !g_str_has_suffix (options->picture, ".png")
      && !g_str_has_suffix (options->picture, ".tif")
      && !g_str_has_suffix (options->picture, ".tiff"))
    return td_cli_usage (verb, "--picture \"%s\" must end in .png or .tif", options->picture);
  return -1;
}

int
td_cli_centre (int argc, char **argv)
{
  Options options = { NULL };
  const GOptionEntry entries[] = {
    { "method", 0, 0, G_OPTION_ARG_STRING, &options.method,
      "Only this one: correlation, fourier, sharpness, overlap or projections", "NAME" },
    { "range", 0, 0, G_OPTION_ARG_STRING, &options.range,
      "Columns searched; without it a third of the width to either side of the middle", "A:B" },
    { "picture", 0, 0, G_OPTION_ARG_FILENAME, &options.picture,
      "Write nine trial slices around the result, .png or .tif", "FILE" },
    { "overwrite", 0, 0, G_OPTION_ARG_NONE, &options.overwrite, "Replace FILE", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &options.json, "Print one JSON object", NULL },
    { NULL },
  };
  const char *path = NULL;
  g_auto (TdCliRecipe) recipe = { 0 };

  int status = td_cli_recipe_parse (&recipe, TD_CLI_SCAN | TD_CLI_RECIPE, argc, argv, &help,
                                    entries, &path);
  if (status < 0)
    status = read_options (&options, argv[0]);
  return status < 0 ? find_centre (&recipe, path, &options) : status;
}
