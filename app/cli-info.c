/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "cli-recipe.h"
#include "cli-verbs.h"
#include "cli-volume.h"
#include "compute/cone/cone.h"
#include "compute/engine/advice.h"
#include "compute/engine/turn.h"
#include "compute/methods/methods.h"
#include "dataset/angles.h"
#include "dataset/scan-mask.h"

static const TdCliHelp help = {
  "SCAN [OPTION…]",
  "Says what a scan is: its frames, flats, darks, angles and geometry, and where each was found.\n"
  "SCAN is a file or a folder; only headers are read, but for --advice, which looks at three rows.",
  "  tomodesk-cli info scan.nxs\n"
  "  A folder of TIFF projections whose angles nobody wrote down:\n"
  "    tomodesk-cli info projections --angles 0:180\n"
  "  What somebody's volume is:\n"
  "    tomodesk-cli info slices --volume\n"
  "  What the data show of rings, drift, missing flats and the like, and what helps:\n"
  "    tomodesk-cli info scan.nxs --advice\n"
  "  The number of projections, for a script:\n"
  "    tomodesk-cli info scan.nxs --json | jq .views\n",
};

static const char *
beam_name (TdBeam beam)
{
  return beam == TD_BEAM_PARALLEL ? "parallel" : beam == TD_BEAM_FAN ? "fan" : "cone";
}

static void
cli_info_print_text (const TdScanFacts *facts)
{
  const TdGeometry *geometry = &facts->geometry;
  guint64 bytes = (guint64) facts->n_columns * facts->n_rows * facts->n_views
                  * td_sample_size (facts->sample_type);
  g_autofree char *size = g_format_size (bytes);
  TdTurn turn;

  td_turn_of_angles (facts->angles_rad, facts->n_views, &turn);
  g_autofree char *words = td_turn_describe (&turn);
  td_cli_print ("%s\n", facts->path);
  td_cli_print ("  format       %s%s\n", facts->format,
                facts->sinogram_order ? ", sinogram order" : "");
  td_cli_print ("  projections  %u of %u column%s × %u row%s, %s, %s\n", facts->n_views,
                facts->n_columns, facts->n_columns == 1 ? "" : "s", facts->n_rows,
                facts->n_rows == 1 ? "" : "s", td_sample_name (facts->sample_type), size);
  td_cli_print ("  flats        %u\n", facts->n_flats);
  td_cli_print ("  darks        %u\n", facts->n_darks);
  td_cli_print ("  angles       %.6g° to %.6g°: %s\n", td_degrees (facts->angles_rad[0]),
                td_degrees (facts->angles_rad[facts->n_views - 1]), words);
  td_cli_print ("  beam         %s\n", beam_name (geometry->beam));
  if (geometry->pixel_width_mm > 0)
    td_cli_print ("  pixel        %g mm × %g mm\n", geometry->pixel_width_mm,
                  geometry->pixel_height_mm);
  else
    td_cli_print ("  pixel        size unknown: values come out per pixel (--pixel-mm)\n");
  if (geometry->beam != TD_BEAM_PARALLEL && geometry->source_detector_mm > 0)
    td_cli_print ("  source       %g mm to the axis, %g mm to the detector\n",
                  geometry->source_axis_mm, geometry->source_detector_mm);
  else if (geometry->beam != TD_BEAM_PARALLEL)
    td_cli_print ("  source       %g mm to the axis\n", geometry->source_axis_mm);
  if (geometry->view_matrices)
    td_cli_print ("  geometry     a projection matrix for each of the %u views\n",
                  geometry->n_view_matrices);
  if (facts->energy_kev > 0)
    td_cli_print ("  energy       %g keV\n", facts->energy_kev);
  if (facts->propagation_mm > 0)
    td_cli_print ("  distance     %g mm from sample to detector\n", facts->propagation_mm);
  if (td_cone_scan_portrait (facts))
    td_cli_print ("  detector     on its side: the axis runs along its rows and has no column\n");
  else if (isfinite (facts->centre_px))
    td_cli_print ("  centre       column %.2f, the file's estimate\n", facts->centre_px);
  if (facts->half_acquisition)
    td_cli_print ("  field        half: the axis is near one edge of the detector\n");
  if (facts->transmission_logged)
    td_cli_print ("  values       -log of the transmission already\n");
  td_cli_print_notes ("  note         ", facts->notes);
}

static void
cli_info_add_turn (JsonBuilder *builder, const TdScanFacts *facts)
{
  TdTurn turn;

  td_turn_of_angles (facts->angles_rad, facts->n_views, &turn);
  g_autofree char *words = td_turn_describe (&turn);
  td_json_begin_object (builder, "turn");
  td_json_add_string (builder, "description", words);
  td_json_add_string (builder, "kind", td_turn_kind_names[turn.kind]);
  td_json_add_number (builder, "step_deg", td_degrees (turn.step_rad));
  td_json_add_boolean (builder, "even", turn.even);
  td_json_add_integer (builder, "direction", turn.direction);
  td_json_add_boolean (builder, "end_point", turn.end_point);
  td_json_add_integer (builder, "repeated_directions", turn.half.repeated);
  td_json_add_number (builder, "missing_deg", td_degrees (turn.half.missing_rad));
  json_builder_end_object (builder);
}

static void
cli_info_add_advice (JsonBuilder *builder, GPtrArray *advice)
{
  td_json_begin_list (builder, "advice");
  for (guint i = 0; i < advice->len; i++) {
    const TdAdvice *one = advice->pdata[i];
    g_autofree char *text = td_message_text (one->message, NULL);
    json_builder_begin_object (builder);
    td_json_add_string (builder, "name", td_advice_names[one->kind]);
    td_json_add_string (builder, "text", text);
    json_builder_end_object (builder);
  }
  json_builder_end_array (builder);
}

/* @advice: (nullable) */
static int
cli_info_print_json (const TdScanFacts *facts, GPtrArray *advice)
{
  const TdGeometry *geometry = &facts->geometry;
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  json_builder_begin_object (builder);
  td_json_add_string (builder, "path", facts->path);
  td_json_add_string (builder, "format", facts->format);
  td_json_add_string (builder, "title", facts->title);
  td_json_add_integer (builder, "columns", facts->n_columns);
  td_json_add_integer (builder, "rows", facts->n_rows);
  td_json_add_integer (builder, "views", facts->n_views);
  td_json_add_integer (builder, "flats", facts->n_flats);
  td_json_add_integer (builder, "darks", facts->n_darks);
  td_json_add_string (builder, "sample_type", td_sample_name (facts->sample_type));
  td_json_add_number (builder, "first_angle_deg", td_degrees (facts->angles_rad[0]));
  td_json_add_number (builder, "last_angle_deg",
                      td_degrees (facts->angles_rad[facts->n_views - 1]));
  cli_info_add_turn (builder, facts);
  td_json_add_string (builder, "beam", beam_name (geometry->beam));
  td_json_add_number (builder, "pixel_width_mm",
                      geometry->pixel_width_mm > 0 ? geometry->pixel_width_mm : NAN);
  td_json_add_number (builder, "pixel_height_mm",
                      geometry->pixel_height_mm > 0 ? geometry->pixel_height_mm : NAN);
  td_json_add_number (builder, "source_axis_mm",
                      geometry->source_axis_mm > 0 ? geometry->source_axis_mm : NAN);
  td_json_add_number (builder, "source_detector_mm",
                      geometry->source_detector_mm > 0 ? geometry->source_detector_mm : NAN);
  td_json_add_number (builder, "energy_kev", facts->energy_kev > 0 ? facts->energy_kev : NAN);
  td_json_add_number (builder, "propagation_mm",
                      facts->propagation_mm > 0 ? facts->propagation_mm : NAN);
  td_json_add_number (builder, "centre_px", td_cone_scan_portrait (facts) ? NAN : facts->centre_px);
  td_json_add_boolean (builder, "half_acquisition", facts->half_acquisition);
  td_json_add_boolean (builder, "logged", facts->transmission_logged);
  td_json_add_boolean (builder, "sinogram_order", facts->sinogram_order);
  td_json_add_notes (builder, facts->notes);
  if (advice)
    cli_info_add_advice (builder, advice);
  json_builder_end_object (builder);
  return td_cli_print_json (builder);
}

static int
cli_info (TdCliRecipe *recipe, const char *path, gboolean advise, gboolean json)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TdScan) scan = td_scan_open (path, &recipe->scan, td_cli_cancellable (), &error);
  const char *mask = td_recipe_mask (&recipe->recipe);

  if (!scan || (mask && !td_scan_mask_fits (scan, mask, &error)))
    return td_cli_fail (error);
  g_autoptr (TdEngine) engine = td_engine_new (td_methods);
  g_autoptr (GPtrArray) advice
      = advise ? td_engine_advise (engine, scan, &recipe->recipe, td_cli_cancellable (), &error)
               : NULL;
  if (advise && !advice)
    return td_cli_fail (error);
  if (json)
    return cli_info_print_json (td_scan_facts (scan), advice);
  cli_info_print_text (td_scan_facts (scan));
  for (guint i = 0; advice && i < advice->len; i++) {
    g_autofree char *text = td_message_text (((TdAdvice *) advice->pdata[i])->message, NULL);
    td_cli_print ("  advice       %s\n", text);
  }
  if (advice && advice->len == 0)
    td_cli_print ("  advice       none: nothing was seen that spoils slices\n");
  return TD_CLI_DONE;
}

int
td_cli_info (int argc, char **argv)
{
  gboolean json = FALSE, volume = FALSE, advise = FALSE;
  const GOptionEntry entries[] = {
    { "volume", 0, 0, G_OPTION_ARG_NONE, &volume, "SCAN is a volume: slices, not projections",
      NULL },
    { "advice", 0, 0, G_OPTION_ARG_NONE, &advise,
      "Look at three rows: rings, drift, background, rim, few views, missing flats", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Print one JSON object", NULL },
    { NULL },
  };
  const char *path = NULL;
  g_auto (TdCliRecipe) recipe = { 0 };

  int status = td_cli_recipe_parse (&recipe, TD_CLI_SCAN, argc, argv, &help, entries, &path);
  if (status < 0)
    status = volume && advise
                 ? td_cli_usage ("info", "--advice is about scans, and --volume says it is none")
             : volume ? td_cli_volume_info (path, &recipe.scan, json)
                      : cli_info (&recipe, path, advise, json);
  return status;
}
