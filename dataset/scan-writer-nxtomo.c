/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "config.h"
#include "geometry-json.h"
#include "hdf5-write.h"
#include "scan-writer-private.h"

typedef struct {
  hid_t file, frames;
  guint *places[3]; /* by TdFrameKind: which frame of the file each one is */
} Nxtomo;

static gboolean
scan_writer_nxtomo_fail (TdScanWriter *writer, GError **error)
{
  td_h5_set_write_error (error, td_output_path (writer->output));
  return FALSE;
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
  double relative = facts->centre_px - (facts->n_columns - 1) / 2.0;

  own->frames
      = td_h5_add_frames (detector, "data", facts->sample_type, n, facts->n_rows, facts->n_columns);
  return own->frames >= 0 && td_h5_add_bytes (detector, "image_key", keys, n)
         && (!(geometry->pixel_width_mm > 0)
             || (td_h5_add_doubles (detector, "x_pixel_size", &geometry->pixel_width_mm, 0, "mm")
                 && td_h5_add_doubles (detector, "y_pixel_size", &geometry->pixel_height_mm, 0,
                                       "mm")))
         && (!(facts->propagation_mm > 0)
             || td_h5_add_doubles (detector, "distance", &facts->propagation_mm, 0, "mm"))
         && (!(facts->centre_px > 0)
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

const TdScanWriterFormat td_scan_writer_nxtomo
    = { scan_writer_nxtomo_begin, scan_writer_nxtomo_write_frame, scan_writer_nxtomo_finish,
        free_own };
