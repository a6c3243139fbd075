/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli-picture.h"
#include "cli-verbs.h"
#include "cli-volume.h"
#include "dataset/error.h"
#include "dataset/output.h"
#include "dataset/volume-cut.h"

static const TdCliHelp help = {
  "VOLUME [OPTION…]",
  "Takes a plane out of a volume, across any axis, and says what its values are. VOLUME is a TIFF\n"
  "file, a folder of TIFF slices, an HDF5 file, or headerless samples (--raw); anybody's.",
  "  The middle slice as a picture, and a plane along the axis with its 32-bit values:\n"
  "    tomodesk-cli slice slices --output middle.png\n"
  "    tomodesk-cli slice volume.h5 --axis x --at 200 --output plane.tif\n"
  "  Mean, standard deviation and range of a whole volume:\n"
  "    tomodesk-cli slice slices --statistics\n",
};

#define MIDDLE G_MININT /* none that somebody states */

typedef struct {
  char *axis, *output, *dataset, *raw;
  int at; /* or MIDDLE */
  double pixel_mm;
  gboolean statistics, overwrite, json;
  TdScanOptions scan;
  TdVolumeAxis along;
} Options;

static void
cli_slice_progress (double fraction, gpointer what)
{
  td_cli_progress (what, fraction, -1, NULL);
}

/* Statistics of all slices; a few at a time. */
static gboolean
cli_slice_add_all (TdVolume *volume, TdVolumeStatistics *statistics, GError **error)
{
  const TdVolumeFacts *facts = td_volume_facts (volume);
  const gsize n = (gsize) facts->nx * facts->ny;
  g_autofree float *slice = g_try_new (float, n);

  if (!slice)
    return td_set_error (error, TD_ERROR_TOO_LARGE, "A slice of “%s” does not fit into memory",
                         facts->path);
  for (guint i = 0; i < facts->n_slices; i++) {
    const TdFrameRange part = { .first = i, .count = 1, .n_rows = facts->ny };
    if (!td_volume_read_part (volume, &part, slice, td_cli_cancellable (), error)
        || g_cancellable_set_error_if_cancelled (td_cli_cancellable (), error))
      return FALSE;
    td_volume_statistics_add (statistics, slice, n);
    cli_slice_progress ((i + 1.0) / facts->n_slices, (gpointer) "measuring");
  }
  td_cli_progress_clear ();
  return TRUE;
}

static gboolean
cli_slice_save (const Options *o, const char *path, const float *cut, const TdCutSize *size,
                GError **error)
{
  return td_output_spares_volume (o->output, path, error)
         && td_cli_may_write (o->output, o->overwrite, error)
         && td_cli_picture_save (o->output, cut, size->width, size->height, error);
}

static void
cli_slice_add_statistics (JsonBuilder *builder, const TdVolumeStatistics *s)
{
  td_json_add_integer (builder, "samples", s->n);
  td_json_add_integer (builder, "not_finite", s->n_bad);
  td_json_add_number (builder, "mean", s->n ? s->mean : NAN);
  td_json_add_number (builder, "deviation", s->n ? s->deviation : NAN);
  td_json_add_number (builder, "minimum", s->n ? s->minimum : NAN);
  td_json_add_number (builder, "maximum", s->n ? s->maximum : NAN);
}

static int
cli_slice_report (const Options *o, const TdVolumeFacts *facts, const TdVolumeStatistics *s)
{
  const char axis[2] = { "xyz"[o->along], 0 };

  if (o->json) {
    g_autoptr (JsonBuilder) builder = json_builder_new ();
    json_builder_begin_object (builder);
    td_cli_volume_add (builder, facts);
    td_json_add_string (builder, "axis", o->statistics ? NULL : axis);
    td_json_add_number (builder, "at", o->statistics ? NAN : o->at);
    cli_slice_add_statistics (builder, s);
    td_json_add_string (builder, "output", o->output);
    json_builder_end_object (builder);
    return td_cli_print_json (builder);
  }
  td_cli_volume_print (facts);
  if (o->statistics)
    td_cli_print ("  measured     all of it\n");
  else
    td_cli_print ("  measured     the plane across %s at %d\n", axis, o->at);
  if (s->n > 0)
    td_cli_print ("  mean         %.9g\n  deviation    %.9g\n  range        %.9g … %.9g\n", s->mean,
                  s->deviation, s->minimum, s->maximum);
  if (s->n_bad > 0)
    td_cli_print ("  not finite   %" PRIu64 " samples\n", s->n_bad);
  if (o->output)
    td_cli_print ("  written      %s\n", o->output);
  return TD_CLI_DONE;
}

static gboolean
cli_slice_run (Options *o, TdVolume *volume, TdVolumeStatistics *statistics, GError **error)
{
  const TdVolumeFacts *facts = td_volume_facts (volume);
  const TdCutSize size = td_volume_cut_size (facts, o->along);

  if (o->at < 0)
    o->at = (int) (size.count - 1) / 2;
  if (o->statistics)
    return cli_slice_add_all (volume, statistics, error);
  const gsize n = (gsize) size.width * size.height;
  const TdCutRange range = { o->along, (guint) o->at, 1 };
  g_autofree float *cut = g_try_new (float, n);
  if (!cut)
    return td_set_error (error, TD_ERROR_TOO_LARGE, "A plane of “%s” does not fit into memory",
                         facts->path);
  if (!td_volume_read_cuts (volume, &range, cut, cli_slice_progress, (gpointer) "reading",
                            td_cli_cancellable (), error))
    return FALSE;
  td_cli_progress_clear ();
  td_volume_statistics_add (statistics, cut, n);
  return !o->output || cli_slice_save (o, facts->path, cut, &size, error);
}

/* -1: the options are in order. */
static int
cli_slice_check (Options *o)
{
  g_autoptr (GError) error = NULL;
  const char *axis = o->axis ? o->axis : "z";

  if (strlen (axis) != 1 || !strchr ("xyz", axis[0]))
    return td_cli_usage ("slice", "--axis is x, y or z, not \"%s\"", axis);
  o->along = (TdVolumeAxis) (axis[0] - 'x');
  if (o->at < 0 && o->at != MIDDLE)
    return td_cli_usage ("slice", "--at counts from 0");
  if (o->statistics && (o->output || o->axis || o->at >= 0))
    return td_cli_usage ("slice", "--statistics is of the whole volume: it goes without --axis, "
                                  "--at and --output");
  if (o->pixel_mm <= 0)
    return td_cli_usage ("slice", "--pixel-mm is a length above 0");
  if (o->raw && !td_scan_options_set_raw (&o->scan, o->raw, &error))
    return td_cli_usage ("slice", "%s", error->message);
  o->scan.dataset = o->dataset;
  o->scan.pixel_mm = isnan (o->pixel_mm) ? 0 : o->pixel_mm;
  return -1;
}

int
td_cli_slice (int argc, char **argv)
{
  Options o = { .at = MIDDLE, .pixel_mm = NAN };
  const GOptionEntry entries[] = {
    { "axis", 0, 0, G_OPTION_ARG_STRING, &o.axis,
      "The plane is across x, y or z (z: a slice, as it is without this option)", "AXIS" },
    { "at", 0, 0, G_OPTION_ARG_INT, &o.at, "Which plane, from 0 (the middle one)", "N" },
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &o.output,
      "Write the plane: .png as a picture, .tif with its values", "FILE" },
    { "overwrite", 0, 0, G_OPTION_ARG_NONE, &o.overwrite, "Replace FILE", NULL },
    { "statistics", 0, 0, G_OPTION_ARG_NONE, &o.statistics, "Measure the whole volume", NULL },
    { "dataset", 0, 0, G_OPTION_ARG_STRING, &o.dataset, "HDF5: the data set to take", "NAME" },
    { "raw", 0, 0, G_OPTION_ARG_STRING, &o.raw,
      "Headerless files: slice size, sample type, bytes to skip", "WxH:TYPE[:SKIP]" },
    { "pixel-mm", 0, 0, G_OPTION_ARG_DOUBLE, &o.pixel_mm, "Size of a voxel", "MM" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o.json, "Print one JSON object", NULL },
    { NULL },
  };
  TdVolumeStatistics statistics = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (TdVolume) volume = NULL;
  const char *path = NULL;

  int status = td_cli_parse (argc, argv, &help, entries, NULL, 1, &path);
  if (status < 0)
    status = cli_slice_check (&o);
  if (status >= 0)
    return status;
  volume = td_volume_open_stated (path, &o.scan, &error);
  if (!volume || !cli_slice_run (&o, volume, &statistics, &error))
    return td_cli_fail (error);
  return cli_slice_report (&o, td_volume_facts (volume), &statistics);
}
