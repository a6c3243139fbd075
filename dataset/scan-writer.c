/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-writer.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "config.h"
#include "error.h"
#include "geometry-json.h"
#include "hdf5-write.h"
#include "output.h"
#include "sample.h"
#include "scan-private.h"
#include "tiff-save.h"

/* What the two formats have in common; scan-writer.c checks, converts and counts. */
typedef struct {
  /* Creates what is needed under the output's part. */
  gboolean (*begin) (TdScanWriter *writer, GError **error);
  /* One frame in the stored sample type. */
  gboolean (*write) (TdScanWriter *writer, TdFrameKind kind, guint number, const void *samples,
                     GError **error);
  gboolean (*finish) (TdScanWriter *writer, GError **error);
  void (*free) (TdScanWriter *writer);
} ScanWriterFormat;

struct TdScanWriter {
  const ScanWriterFormat *format;
  gpointer own; /* the format's */
  TdScan *scan; /* a copy of the facts */
  const TdScanFacts *facts;
  TdOutput *output;
  guint8 *written[3]; /* by TdFrameKind: 1 for each frame that came */
  void *samples;      /* one frame as stored */
};

/* ── TIFF stacks ── */

static const struct {
  const char *folder, *prefix;
} places[] = {
  [TD_FRAME_PROJECTION] = { "projections", "projection" },
  [TD_FRAME_FLAT] = { "flats", "flat" },
  [TD_FRAME_DARK] = { "darks", "dark" },
};

static gboolean
scan_writer_tiff_begin (TdScanWriter *writer, GError **error)
{
  const guint counts[] = { writer->facts->n_views, writer->facts->n_flats, writer->facts->n_darks };

  for (guint kind = 0; kind < G_N_ELEMENTS (places); kind++) {
    g_autofree char *folder
        = g_build_filename (td_output_part (writer->output), places[kind].folder, NULL);

    if (counts[kind] > 0 && mkdir (folder, 0777) != 0)
      return td_output_set_error (error, td_output_path (writer->output), errno);
  }
  return TRUE;
}

/* Flats that were taken before the scan and after it say so in their names. The number comes first
   and keeps them in order. */
static const char *
scan_writer_tiff_moment_of (const TdScanFacts *facts, TdFrameKind kind, guint number)
{
  const double *positions = facts->flat_positions;
  gboolean told = kind == TD_FRAME_FLAT && positions;

  for (guint i = 0; told && i < facts->n_flats; i++)
    told = positions[i] <= 0 || positions[i] >= facts->n_views;
  return !told ? "" : positions[number] <= 0 ? "_before" : "_after";
}

static gboolean
scan_writer_tiff_write_frame (TdScanWriter *writer, TdFrameKind kind, guint number,
                              const void *samples, GError **error)
{
  const TdScanFacts *facts = writer->facts;
  TdTiffImage image = { facts->n_columns, facts->n_rows, facts->sample_type,
                        facts->geometry.pixel_width_mm, NULL };
  g_autofree char *name = g_strdup_printf ("%s_%05u%s.tif", places[kind].prefix, number,
                                           scan_writer_tiff_moment_of (facts, kind, number));
  g_autofree char *path
      = g_build_filename (td_output_part (writer->output), places[kind].folder, name, NULL);

  return td_tiff_save_single (path, td_output_path (writer->output), &image, samples, error);
}

static gboolean
scan_writer_tiff_finish (TdScanWriter *writer, GError **error)
{
  const TdScanFacts *facts = writer->facts;
  g_autoptr (GString) angles = g_string_new (NULL);
  g_autofree char *geometry = NULL;

  for (guint i = 0; i < facts->n_views; i++) {
    char number[G_ASCII_DTOSTR_BUF_SIZE];

    g_ascii_formatd (number, sizeof number, "%.9g", facts->angles_rad[i] * (180 / G_PI));
    g_string_append_printf (angles, "%s\n", number);
  }
  if (!td_output_save_text (writer->output, "angles.txt", angles->str, error))
    return FALSE;
  if (facts->geometry.beam == TD_BEAM_PARALLEL && !(facts->geometry.pixel_width_mm > 0))
    return TRUE;
  geometry = td_geometry_to_json (&facts->geometry);
  return td_output_save_text (writer->output, "geometry.json", geometry, error);
}

static const ScanWriterFormat scan_writer_tiff
    = { scan_writer_tiff_begin, scan_writer_tiff_write_frame, scan_writer_tiff_finish, NULL };

/* ── NXtomo ── */

typedef struct {
  hid_t file, frames;
  guint *places[3]; /* by TdFrameKind: which frame of the file each one is */
} Nxtomo;

static gboolean
scan_writer_nxtomo_fail (TdScanWriter *writer, GError **error)
{
  return td_h5_set_write_error (error, td_output_path (writer->output));
}

/* Darks first, then views in order with each flat before the view that its position says. */
static void
place_frames (const TdScanFacts *facts, Nxtomo *own, guint8 *keys, double *angles_deg)
{
  guint frame = 0, flat = 0;

  own->places[TD_FRAME_PROJECTION] = g_new (guint, facts->n_views);
  own->places[TD_FRAME_FLAT] = g_new (guint, facts->n_flats + 1);
  own->places[TD_FRAME_DARK] = g_new (guint, facts->n_darks + 1);
  for (guint i = 0; i < facts->n_darks; i++) {
    own->places[TD_FRAME_DARK][i] = frame;
    angles_deg[frame] = facts->angles_rad[0] * (180 / G_PI);
    keys[frame++] = 2;
  }
  for (guint view = 0; view <= facts->n_views; view++) {
    for (; flat < facts->n_flats
           && (!facts->flat_positions || facts->flat_positions[flat] <= view
               || view == facts->n_views);
         flat++) {
      own->places[TD_FRAME_FLAT][flat] = frame;
      angles_deg[frame] = facts->angles_rad[MIN (view, facts->n_views - 1)] * (180 / G_PI);
      keys[frame++] = 1;
    }
    if (view == facts->n_views)
      break;
    own->places[TD_FRAME_PROJECTION][view] = frame;
    angles_deg[frame] = facts->angles_rad[view] * (180 / G_PI);
    keys[frame++] = 0;
  }
}

static gboolean
scan_writer_nxtomo_add_detector (const TdScanFacts *facts, Nxtomo *own, hid_t entry,
                                 const guint8 *keys, gsize n)
{
  const TdGeometry *geometry = &facts->geometry;
  g_auto (TdH5Id) instrument = td_h5_add_group (entry, "instrument", "NXinstrument");
  g_auto (TdH5Id) detector = td_h5_add_group (instrument, "detector", "NXdetector");
  const double middle = (facts->n_columns - 1) / 2.0, relative = facts->centre_px - middle;

  own->frames
      = td_h5_add_frames (detector, "data", facts->sample_type, n, facts->n_rows, facts->n_columns);
  return own->frames >= 0 && td_h5_add_bytes (detector, "image_key", keys, n)
         && (!(geometry->pixel_width_mm > 0)
             || (td_h5_add_doubles (detector, "x_pixel_size", &geometry->pixel_width_mm, 0, "mm")
                 && td_h5_add_doubles (detector, "y_pixel_size", &geometry->pixel_height_mm, 0,
                                       "mm")))
         && (!(facts->propagation_mm > 0)
             || td_h5_add_doubles (detector, "distance", &facts->propagation_mm, 0, "mm"))
         && (!(fabs (relative) <= middle) /* one beyond is read as counted from the first column */
             || td_h5_add_doubles (detector, "estimated_cor_from_motor", &relative, 0, "pixel"))
         && (!facts->half_acquisition || td_h5_add_string (detector, "field_of_view", "Half"));
}

/* The NXdata group that viewers plot: links to what is stored elsewhere. */
static gboolean
add_data (hid_t entry)
{
  static const char *const axes[] = { "rotation_angle", ".", "." };
  g_auto (TdH5Id) data = td_h5_add_group (entry, "data", "NXdata");
  TD_H5_GUARD;

  return data >= 0
         && H5Lcreate_hard (entry, "instrument/detector/data", data, "data", H5P_DEFAULT,
                            H5P_DEFAULT)
                >= 0
         && H5Lcreate_hard (entry, "instrument/detector/image_key", data, "image_key", H5P_DEFAULT,
                            H5P_DEFAULT)
                >= 0
         && H5Lcreate_hard (entry, "sample/rotation_angle", data, "rotation_angle", H5P_DEFAULT,
                            H5P_DEFAULT)
                >= 0
         && td_h5_set_string (data, "signal", "data") && td_h5_set_strings (data, "axes", axes, 3);
}

static gboolean
scan_writer_nxtomo_add_entry (TdScanWriter *writer, Nxtomo *own, const guint8 *keys,
                              const double *angles_deg, gsize n)
{
  const TdScanFacts *facts = writer->facts;
  g_auto (TdH5Id) top = td_h5_add_group (own->file, "entry", "NXentry");
  g_auto (TdH5Id) entry = td_h5_add_group (top, "tomo_entry", "NXsubentry");
  g_auto (TdH5Id) sample = td_h5_add_group (entry, "sample", "NXsample");
  g_auto (TdH5Id) beam = td_h5_add_group (entry, "beam", "NXbeam");
  g_autofree char *geometry = td_geometry_to_json (&facts->geometry);

  return td_h5_add_string (entry, "definition", "NXtomo")
         && td_h5_add_string (entry, "title", facts->title ? facts->title : "")
         && td_h5_add_string (entry, "program_name", "Tomodesk " TD_VERSION)
         && td_h5_add_string (sample, "name", facts->title ? facts->title : "")
         && td_h5_add_doubles (sample, "rotation_angle", angles_deg, n, "degree")
         && (!(facts->energy_kev > 0)
             || td_h5_add_doubles (beam, "incident_energy", &facts->energy_kev, 0, "keV"))
         && td_h5_add_string (entry, "tomodesk_geometry", geometry)
         && (!isfinite (facts->centre_px)
             || td_h5_add_doubles (entry, "tomodesk_centre_px", &facts->centre_px, 0, NULL))
         && (!facts->transmission_logged
             || td_h5_add_string (entry, "tomodesk_values", "attenuation"))
         && scan_writer_nxtomo_add_detector (facts, own, entry, keys, n) && add_data (entry);
}

static gboolean
scan_writer_nxtomo_begin (TdScanWriter *writer, GError **error)
{
  const TdScanFacts *facts = writer->facts;
  gsize n = (gsize) facts->n_views + facts->n_flats + facts->n_darks;
  Nxtomo *own = g_new0 (Nxtomo, 1);
  g_autofree guint8 *keys = g_new (guint8, n);
  g_autofree double *angles_deg = g_new (double, n);

  own->file = own->frames = -1;
  writer->own = own;
  place_frames (facts, own, keys, angles_deg);
  own->file = td_h5_create_sized (td_output_part (writer->output),
                                  n * facts->n_rows * facts->n_columns
                                      * td_sample_size (facts->sample_type));
  return (own->file >= 0 && scan_writer_nxtomo_add_entry (writer, own, keys, angles_deg, n))
         || scan_writer_nxtomo_fail (writer, error);
}

static gboolean
scan_writer_nxtomo_write_frame (TdScanWriter *writer, TdFrameKind kind, guint number,
                                const void *samples, GError **error)
{
  const TdScanFacts *facts = writer->facts;
  Nxtomo *own = writer->own;

  return td_h5_write_frame (own->frames, facts->sample_type, own->places[kind][number],
                            facts->n_rows, facts->n_columns, samples)
         || scan_writer_nxtomo_fail (writer, error);
}

static void
close_frames (Nxtomo *own)
{
  if (own->frames >= 0)
    td_h5_close (own->frames);
  own->frames = -1;
}

static gboolean
scan_writer_nxtomo_finish (TdScanWriter *writer, GError **error)
{
  Nxtomo *own = writer->own;
  hid_t file = own->file;

  close_frames (own);
  own->file = -1;
  return td_h5_finish (file) || scan_writer_nxtomo_fail (writer, error);
}

static void
free_own (TdScanWriter *writer)
{
  Nxtomo *own = writer->own;

  close_frames (own);
  if (own->file >= 0)
    td_h5_finish (own->file);
  for (guint kind = 0; kind < 3; kind++)
    g_free (own->places[kind]);
  g_free (own);
}

static const ScanWriterFormat scan_writer_nxtomo
    = { scan_writer_nxtomo_begin, scan_writer_nxtomo_write_frame, scan_writer_nxtomo_finish,
        free_own };

/* ── What the formats share ── */

static const char *const kinds[] = { N_ ("projection"), N_ ("flat"), N_ ("dark") };

static const struct {
  const char *name;
  const ScanWriterFormat *format;
  gboolean folder;
} formats[] = {
  [TD_SCAN_TIFF] = { "tiff", &scan_writer_tiff, TRUE },
  [TD_SCAN_NXTOMO] = { "nxtomo", &scan_writer_nxtomo, FALSE },
};

gboolean
td_scan_format_parse (const char *text, TdScanFormat *format)
{
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    if (g_ascii_strcasecmp (text, formats[i].name) == 0) {
      *format = i;
      return TRUE;
    }
  return FALSE;
}

TdScanWriter *
td_scan_writer_new (const char *path, TdScanFormat format, const TdScanFacts *facts,
                    gboolean overwrite, GError **error)
{
  g_autoptr (TdScanWriter) writer = g_new0 (TdScanWriter, 1);
  static const float nothing;
  gsize frame_bytes
      = (gsize) facts->n_columns * facts->n_rows * td_sample_size (facts->sample_type);
  guint64 frames = (guint64) facts->n_views + facts->n_flats + facts->n_darks;

  writer->format = formats[format].format;
  /* an in-memory scan keeps a deep copy of the facts; its frames are never read */
  writer->scan = td_scan_new_from_memory (facts, &nothing, &nothing, &nothing, NULL, NULL);
  if (!td_scan_validate (writer->scan, error))
    return NULL;
  writer->facts = td_scan_facts (writer->scan);
  writer->output
      = td_output_begin (path, formats[format].folder, overwrite, frames * frame_bytes, error);
  if (!writer->output)
    return NULL;
  for (guint kind = 0; kind < 3; kind++)
    writer->written[kind] = g_new0 (guint8, td_scan_facts_frames (facts, kind) + 1);
  writer->samples = g_try_malloc (frame_bytes);
  if (!writer->samples)
    return td_set_error_null (
        error, TD_ERROR_TOO_LARGE,
        "“%s” cannot be written: there is no memory for a frame of %u × %u pixels", path,
        facts->n_columns, facts->n_rows);
  return writer->format->begin (writer, error) ? g_steal_pointer (&writer) : NULL;
}

gboolean
td_scan_writer_write (TdScanWriter *writer, TdFrameKind kind, guint first, guint count,
                      const float *frames, GError **error)
{
  const TdScanFacts *facts = writer->facts;
  gsize pixels = (gsize) facts->n_columns * facts->n_rows;
  guint n = td_scan_facts_frames (facts, kind);

  for (guint i = 0; i < count; i++) {
    guint number = first + i;

    if (first > n || i >= n - first || writer->written[kind][number])
      return td_set_error (
          error, TD_ERROR_INVALID, "“%s”: %p %u of %u was written twice or does not exist",
          td_output_path (writer->output), td_message_new_plain (kinds[kind]), number, n);
    td_samples_from_float (facts->sample_type, 0, 1, frames + i * pixels, pixels, writer->samples);
    if (!writer->format->write (writer, kind, number, writer->samples, error))
      return FALSE;
    writer->written[kind][number] = 1;
  }
  return TRUE;
}

gboolean
td_scan_writer_finish (TdScanWriter *writer, GError **error)
{
  for (guint kind = 0; kind < 3; kind++) {
    guint n = td_scan_facts_frames (writer->facts, kind);
    const guint8 *gap = memchr (writer->written[kind], 0, n);

    if (gap)
      return td_set_error (error, TD_ERROR_INVALID, "“%s”: %p %u was never written",
                           td_output_path (writer->output), td_message_new_plain (kinds[kind]),
                           (guint) (gap - writer->written[kind]));
  }
  return writer->format->finish (writer, error) && td_output_commit (writer->output, error);
}

void
td_scan_writer_free (TdScanWriter *writer)
{
  if (writer->own)
    writer->format->free (writer);
  g_clear_pointer (&writer->output, td_output_free);
  for (guint kind = 0; kind < 3; kind++)
    g_free (writer->written[kind]);
  g_free (writer->samples);
  td_scan_unref (writer->scan);
  g_free (writer);
}

gboolean
td_scan_save (TdScan *scan, const char *path, TdScanFormat format, GCancellable *cancellable,
              GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  g_autoptr (TdScanWriter) writer = td_scan_writer_new (path, format, facts, FALSE, error);
  g_autofree float *frame = g_try_new (float, (gsize) facts->n_columns * facts->n_rows);

  if (!writer)
    return FALSE;
  if (!frame)
    return td_set_error (error, TD_ERROR_TOO_LARGE,
                         "There is no memory for a frame of %u × %u pixels", facts->n_columns,
                         facts->n_rows);
  for (guint kind = 0; kind < G_N_ELEMENTS (kinds); kind++)
    for (guint i = 0; i < td_scan_facts_frames (facts, kind); i++) {
      const TdFrameRange range = { kind, i, 1, 0, facts->n_rows };
      if (!td_scan_read (scan, &range, frame, cancellable, error)
          || !td_scan_writer_write (writer, kind, i, 1, frame, error))
        return FALSE;
    }
  return td_scan_writer_finish (writer, error);
}
