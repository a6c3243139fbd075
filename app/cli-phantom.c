/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "cli-verbs.h"
#include "cli.h"
#include "compute/device/host.h"
#include "compute/engine/cone-scan.h"
#include "dataset/error.h"
#include "dataset/number.h"
#include "dataset/phantom-scan.h"
#include "dataset/scan-writer.h"
#include "dataset/volume.h"

#define CHUNK_BYTES ((gsize) 64 << 20)
#define TRUTH_OVERSAMPLE 4

static const TdCliHelp help = {
  "NAME --output PATH [OPTION…]",
  "Makes a scan of an object whose line integrals are known exactly, as a camera would have\n"
  "measured it. NAME is shepp-logan, disc, discs, sphere, ellipsoids, points or boxes. PATH\n"
  "becomes an NXtomo file if it ends in .nxs, .h5 or .hdf5, else a folder of TIFF files.",
  "  A first scan, and the object itself to compare a reconstruction with:\n"
  "    tomodesk-cli phantom shepp-logan --output demo.nxs --truth truth.tif --rows 16\n"
  "    tomodesk-cli reconstruct demo.nxs --output slices.tif --format bigtiff\n"
  "    tomodesk-cli compare slices.tif truth.tif --circle 0.95\n"
  "  A poor measurement: noise, a drifting beam, rings, dead pixels, the axis off the middle:\n"
  "    tomodesk-cli phantom discs --output poor --photons 2000 --wander 0.1 --rings 0.01 \\\n"
  "      --dead 20 --centre 140.4\n"
  "  A cone-beam scan; a short one with a tilted detector; a gantry that is not stiff; a fan "
  "beam:\n"
  "    tomodesk-cli phantom ellipsoids --output cone.nxs --cone --columns 128 --rows 128 --views "
  "200\n"
  "    tomodesk-cli phantom ellipsoids --output short --cone --range 220 --detector-tilt "
  "1,0.5,-0.3\n"
  "    tomodesk-cli phantom ellipsoids --output wobble --cone --wobble-mm 0.5 --columns 128\n"
  "    tomodesk-cli phantom discs --output fan --cone --rows 1\n",
};

typedef struct {
  TdPhantomScan spec;
  char *output, *truth, *format;
  int columns, rows, views, flats, darks, dead;
  gint64 seed;
  double pixel_mm, sod_mm, sdd_mm, offset_u, offset_v, wobble_mm;
  char *detector_tilt;
  gboolean cone, overwrite, json;
} Options;

static int
cli_phantom_parse (int argc, char **argv, Options *o, const char **name)
{
  const GOptionEntry entries[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &o->output, "Where the scan goes", "PATH" },
    { "truth", 0, 0, G_OPTION_ARG_FILENAME, &o->truth,
      "Write the object too: a perfect reconstruction (.tif, .h5 or a folder)", "PATH" },
    { "format", 0, 0, G_OPTION_ARG_STRING, &o->format, "tiff or nxtomo; else by the ending",
      "NAME" },
    { "columns", 0, 0, G_OPTION_ARG_INT, &o->columns, "Detector width (256)", "N" },
    { "rows", 0, 0, G_OPTION_ARG_INT, &o->rows, "Detector height (as many as columns)", "N" },
    { "views", 0, 0, G_OPTION_ARG_INT, &o->views, "Projections (columns × π/2 for every 180°)",
      "N" },
    { "centre", 0, 0, G_OPTION_ARG_DOUBLE, &o->spec.centre_px,
      "Rotation axis in columns; the first column's centre is 0 (the middle)", "PX" },
    { "centre-unsaid", 0, 0, G_OPTION_ARG_NONE, &o->spec.centre_unsaid,
      "Parallel beam: the scan does not say where its axis is", NULL },
    { "tilt", 0, 0, G_OPTION_ARG_DOUBLE, &o->spec.tilt_deg, "Tilt of the axis (0)", "DEGREES" },
    { "first-angle", 0, 0, G_OPTION_ARG_DOUBLE, &o->spec.first_deg, "First angle (0)", "DEGREES" },
    { "range", 0, 0, G_OPTION_ARG_DOUBLE, &o->spec.range_deg, "Angular range (180; cone 360)",
      "DEGREES" },
    { "end-point", 0, 0, G_OPTION_ARG_NONE, &o->spec.end_point,
      "The last view lies at the end of the range, not one step before", NULL },
    { "offset-field", 0, 0, G_OPTION_ARG_NONE, &o->spec.offset_field,
      "The object is as wide as a 360° scan about an off-middle axis sees", NULL },
    { "attenuation", 0, 0, G_OPTION_ARG_DOUBLE, &o->spec.attenuation,
      "-log along a path of value 1 across the field (2); 0: values are per pixel", "A" },
    { "logged", 0, 0, G_OPTION_ARG_NONE, &o->spec.logged,
      "Line integrals as float, without camera, flats and darks", NULL },
    { "flats", 0, 0, G_OPTION_ARG_INT, &o->flats, "Flat fields, half before, half after (10)",
      "N" },
    { "darks", 0, 0, G_OPTION_ARG_INT, &o->darks, "Dark fields (5)", "N" },
    { "counts", 0, 0, G_OPTION_ARG_DOUBLE, &o->spec.counts, "Counts of the open beam (40000)",
      "C" },
    { "dark-counts", 0, 0, G_OPTION_ARG_DOUBLE, &o->spec.dark_counts, "Dark level (200)", "C" },
    { "photons", 0, 0, G_OPTION_ARG_DOUBLE, &o->spec.photons,
      "Photons a pixel in the open beam; 0: no noise (0)", "N" },
    { "profile", 0, 0, G_OPTION_ARG_DOUBLE, &o->spec.profile,
      "How much weaker the beam is in the corners, 0 to 1 (0.2)", "F" },
    { "wander", 0, 0, G_OPTION_ARG_DOUBLE, &o->spec.wander,
      "Drift of the beam's intensity over the views, relative (0)", "F" },
    { "drift", 0, 0, G_OPTION_ARG_DOUBLE, &o->spec.drift,
      "How much the beam leans to one side from the first view to the last, relative (0)", "F" },
    { "flicker", 0, 0, G_OPTION_ARG_DOUBLE, &o->spec.flicker,
      "Error of each frame's exposure, relative (0)", "S" },
    { "zingers", 0, 0, G_OPTION_ARG_DOUBLE, &o->spec.zingers,
      "Part of the samples that are hit by stray radiation (0)", "F" },
    { "hardening", 0, 0, G_OPTION_ARG_DOUBLE, &o->spec.hardening,
      "Two-coloured beam: attenuation of the colours, from 1 - H to 1 + H (0)", "H" },
    { "rings", 0, 0, G_OPTION_ARG_DOUBLE, &o->spec.rings,
      "Gain error of each pixel that the flats do not show, relative (0)", "S" },
    { "dead", 0, 0, G_OPTION_ARG_INT, &o->dead, "Dead and hot pixels (0)", "N" },
    { "seed", 0, 0, G_OPTION_ARG_INT64, &o->seed, "Of the random numbers (1)", "N" },
    { "cone", 0, 0, G_OPTION_ARG_NONE, &o->cone, "Cone beam, circular orbit", NULL },
    { "pixel-mm", 0, 0, G_OPTION_ARG_DOUBLE, &o->pixel_mm,
      "Detector pixel (unknown; cone: 100 mm / columns)", "MM" },
    { "sod-mm", 0, 0, G_OPTION_ARG_DOUBLE, &o->sod_mm, "Cone: source to axis (200)", "MM" },
    { "sdd-mm", 0, 0, G_OPTION_ARG_DOUBLE, &o->sdd_mm, "Cone: source to detector (400)", "MM" },
    { "detector-offset-u", 0, 0, G_OPTION_ARG_DOUBLE, &o->offset_u,
      "Cone: the central ray meets the detector this far to the right of its middle (0)", "PX" },
    { "detector-offset-v", 0, 0, G_OPTION_ARG_DOUBLE, &o->offset_v, "Cone: the same downwards (0)",
      "PX" },
    { "detector-tilt", 0, 0, G_OPTION_ARG_STRING, &o->detector_tilt,
      "Cone: turns of the detector about its rows, its columns and the beam, in that order (0,0,0)",
      "U,V,W" },
    { "wobble-mm", 0, 0, G_OPTION_ARG_DOUBLE, &o->wobble_mm,
      "Cone: source and detector leave the circle by this; the scan gets a matrix a view (0)",
      "MM" },
    { "overwrite", 0, 0, G_OPTION_ARG_NONE, &o->overwrite, "Replace what is at PATH", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o->json, "Print one JSON object", NULL },
    { NULL },
  };

  return td_cli_parse (argc, argv, &help, entries, NULL, 1, name);
}

static void
options_init (Options *o)
{
  memset (o, 0, sizeof *o);
  td_phantom_scan_init (&o->spec, NULL, 0, 0, 0);
  o->columns = o->spec.n_columns;
  o->flats = o->spec.n_flats;
  o->darks = o->spec.n_darks;
  o->seed = (gint64) o->spec.seed;
  o->rows = o->views = G_MININT; /* not said */
  o->spec.range_deg = NAN;
  o->spec.attenuation = NAN;
  o->sod_mm = o->sdd_mm = G_MININT;
}

/* "U,V,W" in degrees. */
static gboolean
parse_tilt (const char *text, double tilt_rad[3])
{
  g_auto (GStrv) words = g_strsplit (text, ",", 4);

  if (g_strv_length (words) != 3)
    return FALSE;
  for (guint i = 0; i < 3; i++) {
    if (!td_parse_number (words[i], -360, 360, &tilt_rad[i]))
      return FALSE;
    tilt_rad[i] *= G_PI / 180;
  }
  return TRUE;
}

static int
complete_cone (Options *o)
{
  TdGeometry *geometry = &o->spec.geometry;

  const gboolean far = o->sod_mm != G_MININT || o->sdd_mm != G_MININT;

  if (!o->cone
      && (far || o->detector_tilt || o->offset_u != 0 || o->offset_v != 0 || o->wobble_mm != 0))
    return td_cli_usage ("phantom",
                         "distances, offsets, tilts and wobble of source and detector need --cone");
  if (!o->cone)
    return -1;
  geometry->beam = o->rows == 1 ? TD_BEAM_FAN : TD_BEAM_CONE;
  geometry->source_axis_mm = o->sod_mm == G_MININT ? 200 : o->sod_mm;
  geometry->source_detector_mm = o->sdd_mm == G_MININT ? 400 : o->sdd_mm;
  geometry->detector_offset_u_px = o->offset_u;
  geometry->detector_offset_v_px = o->offset_v;
  o->spec.wobble_mm = o->wobble_mm;
  if (o->pixel_mm == 0)
    o->pixel_mm = 100.0 / o->columns;
  if (o->detector_tilt && !parse_tilt (o->detector_tilt, geometry->detector_tilt_rad))
    return td_cli_usage ("phantom",
                         "--detector-tilt is three angles in degrees as in 0.5,0,-1, not \"%s\"",
                         o->detector_tilt);
  return -1;
}

/* Fills what depends on other options; -1 or the exit status of wrong usage. */
static int
cli_phantom_complete (Options *o, const char *name)
{
  TdPhantomScan *spec = &o->spec;

  if (!o->output)
    return td_cli_usage ("phantom", "say with --output where the scan goes");
  if (!isfinite (spec->range_deg))
    spec->range_deg = o->cone ? 360 : 180;
  if (!isfinite (spec->attenuation))
    spec->attenuation = spec->logged ? 0 : 2;
  if (spec->range_deg == 0)
    return td_cli_usage ("phantom", "a turn of 0 degrees shows one side only (--range)");
  if (o->rows == G_MININT)
    o->rows = o->columns;
  if (o->views == G_MININT)
    o->views = (int) ceil (o->columns * G_PI / 2 * MAX (fabs (spec->range_deg) / 180, 0.1));
  if (o->columns < 1 || o->rows < 1 || o->views < 1)
    return td_cli_usage ("phantom", "columns, rows and views must be at least 1");
  if (o->flats < 0 || o->darks < 0 || o->dead < 0)
    return td_cli_usage ("phantom", "flats, darks and dead pixels cannot be fewer than 0");

  spec->phantom = name;
  spec->n_columns = o->columns;
  spec->n_rows = o->rows;
  spec->n_views = o->views;
  spec->n_flats = o->flats;
  spec->n_darks = o->darks;
  spec->n_dead = o->dead;
  spec->seed = (guint64) o->seed;
  const int status = complete_cone (o);
  spec->geometry.pixel_width_mm = spec->geometry.pixel_height_mm = o->pixel_mm;
  return status;
}

/* ── The scan ── */

typedef struct {
  TdScan *scan;
  TdFrameKind kind;
  guint first;
  float *frames;
} Chunk;

static void
make_frame (guint index, gpointer user)
{
  const Chunk *chunk = user;
  const TdScanFacts *facts = td_scan_facts (chunk->scan);

  /* A phantom's frames fail only by cancelling, which is asked for after the chunk. */
  td_scan_read (chunk->scan,
                &(TdFrameRange) { chunk->kind, chunk->first + index, 1, 0, facts->n_rows },
                chunk->frames + (gsize) index * facts->n_rows * facts->n_columns, NULL, NULL);
}

static gboolean
write_frames (TdScan *scan, TdScanWriter *writer, TdFrameKind kind, guint count, float *frames,
              guint chunk_frames, GError **error)
{
  GCancellable *cancellable = td_cli_cancellable ();

  for (guint done = 0; done < count; done += chunk_frames) {
    guint n = MIN (chunk_frames, count - done);
    Chunk chunk = { scan, kind, done, frames };
    td_parallel_for (n, make_frame, &chunk);
    if (g_cancellable_set_error_if_cancelled (cancellable, error)
        || !td_scan_writer_write (writer, kind, done, n, frames, error))
      return FALSE;
    if (kind == TD_FRAME_PROJECTION)
      td_cli_progress ("projections", (double) (done + n) / count, -1, NULL);
  }
  return TRUE;
}

static gboolean
write_scan (TdScan *scan, const Options *o, TdScanFormat format, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  gsize frame_bytes = (gsize) facts->n_columns * facts->n_rows * sizeof (float);
  guint chunk_frames = (guint) CLAMP (CHUNK_BYTES / frame_bytes, 1, 256);
  g_autoptr (TdScanWriter) writer
      = td_scan_writer_new (o->output, format, facts, o->overwrite, error);
  g_autofree float *frames = g_try_malloc_n (chunk_frames, frame_bytes);

  if (!writer)
    return FALSE;
  if (!frames)
    return td_set_error (
        error, TD_ERROR_TOO_LARGE,
        "There is no memory for a frame of %u × %u pixels; take fewer columns or rows",
        facts->n_columns, facts->n_rows);
  return write_frames (scan, writer, TD_FRAME_DARK, facts->n_darks, frames, chunk_frames, error)
         && write_frames (scan, writer, TD_FRAME_FLAT, facts->n_flats, frames, chunk_frames, error)
         && write_frames (scan, writer, TD_FRAME_PROJECTION, facts->n_views, frames, chunk_frames,
                          error)
         && td_scan_writer_finish (writer, error);
}

/* ── The object ── */

typedef struct {
  const TdPhantomScan *spec;
  guint first, side;
  double raised; /* slices that the volume lies higher than the middle of the object */
  float *slices;
} TruthChunk;

static void
cli_phantom_make_slice (guint index, gpointer user)
{
  const TruthChunk *chunk = user;

  td_phantom_scan_truth (chunk->spec, chunk->first + index - chunk->raised, chunk->side,
                         chunk->side, TRUTH_OVERSAMPLE,
                         chunk->slices + (gsize) index * chunk->side * chunk->side);
}

static gboolean
write_truth (TdScan *scan, const Options *o, GError **error)
{
  const TdGeometry *g = &td_scan_facts (scan)->geometry;
  gboolean cone = g->beam != TD_BEAM_PARALLEL;
  guint side = td_phantom_scan_side (&o->spec), n_slices = o->spec.n_rows;
  gsize slice_bytes = (gsize) side * side * sizeof (float);
  guint chunk_slices = (guint) CLAMP (CHUNK_BYTES / slice_bytes, 1, 256);
  TdVolumeSpec spec = {
    .path = o->truth,
    .format = td_cli_volume_format (o->truth),
    .bits = 32,
    .nx = side,
    .ny = side,
    .n_slices = n_slices,
    .voxel_mm = g->pixel_width_mm * (cone ? g->source_axis_mm / g->source_detector_mm : 1),
    .units = g->pixel_width_mm > 0 ? "1/mm" : "1/px",
    .overwrite = o->overwrite,
  };
  double raised;
  if (!td_cone_scan_raised (td_scan_facts (scan), &raised, error))
    return FALSE;
  g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, error);
  g_autofree float *slices = g_try_malloc_n (chunk_slices, slice_bytes);

  if (!writer)
    return FALSE;
  if (!slices)
    return td_set_error (error, TD_ERROR_TOO_LARGE,
                         "There is no memory for a slice of %u × %u pixels; take fewer columns",
                         side, side);
  for (guint done = 0; done < n_slices; done += chunk_slices) {
    guint n = MIN (chunk_slices, n_slices - done);
    TruthChunk chunk = { &o->spec, done, side, raised, slices };
    td_parallel_for (n, cli_phantom_make_slice, &chunk);
    if (g_cancellable_set_error_if_cancelled (td_cli_cancellable (), error)
        || !td_volume_writer_write (writer, done, n, slices, error))
      return FALSE;
    td_cli_progress ("object", (double) (done + n) / n_slices, -1, NULL);
  }

  g_autofree char *provenance = g_strdup_printf ("{\"phantom\": \"%s\"}", o->spec.phantom);
  return td_volume_writer_finish (writer, provenance, error);
}

/* ── Report ── */

static int
cli_phantom_report (const Options *o, TdScan *scan, double seconds)
{
  const TdScanFacts *facts = td_scan_facts (scan);

  td_cli_progress_clear ();
  if (!o->json) {
    g_autofree char *time = td_cli_duration (seconds);
    g_autofree char *centre = o->spec.centre_unsaid ? g_strdup ("centre not said")
                              : isnan (facts->centre_px)
                                  ? g_strdup ("a projection matrix for every view")
                                  : g_strdup_printf ("centre %.2f px", facts->centre_px);
    g_autofree char *text = g_strdup_printf (
        "%s: %u view%s of %u × %u pixels, %s, written in %s", o->output, facts->n_views,
        facts->n_views == 1 ? "" : "s", facts->n_columns, facts->n_rows, centre, time);
    return td_cli_print_text (text);
  }

  g_autoptr (JsonBuilder) builder = json_builder_new ();
  json_builder_begin_object (builder);
  td_json_add_string (builder, "output", o->output);
  td_json_add_string (builder, "truth", o->truth);
  td_json_add_string (builder, "phantom", o->spec.phantom);
  td_json_add_integer (builder, "columns", facts->n_columns);
  td_json_add_integer (builder, "rows", facts->n_rows);
  td_json_add_integer (builder, "views", facts->n_views);
  td_json_add_integer (builder, "flats", facts->n_flats);
  td_json_add_integer (builder, "darks", facts->n_darks);
  td_json_add_number (builder, "centre_px", facts->centre_px);
  td_json_add_number (builder, "seconds", seconds);
  json_builder_end_object (builder);
  return td_cli_print_json (builder);
}

static int
cli_phantom_run (Options *o)
{
  g_autoptr (GError) error = NULL;
  TdScanFormat format = td_scan_named_hdf5 (o->output) ? TD_SCAN_NXTOMO : TD_SCAN_TIFF;
  gint64 start = g_get_monotonic_time ();

  if (o->format && !td_scan_format_parse (o->format, &format))
    return td_cli_usage ("phantom", "--format is tiff or nxtomo, not \"%s\"", o->format);
  g_autoptr (TdScan) scan = td_phantom_scan_new (&o->spec, &error);
  if (!scan || !write_scan (scan, o, format, &error)
      || (o->truth && !write_truth (scan, o, &error)))
    return td_cli_fail (error);
  return cli_phantom_report (o, scan, (g_get_monotonic_time () - start) * 1e-6);
}

int
td_cli_phantom (int argc, char **argv)
{
  const char *name;
  Options options;

  options_init (&options);
  int status = cli_phantom_parse (argc, argv, &options, &name);
  if (status < 0)
    status = cli_phantom_complete (&options, name);
  if (status < 0)
    status = cli_phantom_run (&options);
  return status;
}
