/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"
#include "hdf5-write.h"
#include "volume-private.h"

typedef struct {
  hid_t file, slices;
} Hdf5Volume;

static gboolean
volume_writer_hdf5_fail (TdVolumeWriter *writer, GError **error)
{
  td_h5_set_write_error (error, writer->spec.path);
  return FALSE;
}

static gboolean
volume_writer_hdf5_add_entry (TdVolumeWriter *writer, Hdf5Volume *own)
{
  const TdVolumeSpec *spec = &writer->spec;
  g_autofree char *description = td_volume_describe (spec, NULL);
  g_auto (TdH5Id) entry = td_h5_add_group (own->file, "entry", "NXentry");
  g_auto (TdH5Id) data = td_h5_add_group (entry, "data", "NXdata");

  if (data < 0)
    return FALSE;
  own->slices = td_h5_add_frames (data, "data", writer->type, spec->n_slices, spec->ny, spec->nx);
  return own->slices >= 0 && td_h5_set_string (own->file, "default", "entry")
         && td_h5_set_string (entry, "default", "data") && td_h5_set_string (data, "signal", "data")
         && td_h5_add_string (entry, "program_name", "Tomodesk " TD_VERSION)
         && (!spec->units || td_h5_set_string (own->slices, "units", spec->units))
         && td_h5_set_string (own->slices, "description", description)
         && (spec->bits == 32
             || (td_h5_set_double (own->slices, "scale_low", spec->low)
                 && td_h5_set_double (own->slices, "scale_high", spec->high)))
         && (!(spec->voxel_mm > 0)
             || td_h5_add_doubles (data, "voxel_size", &spec->voxel_mm, 0, "mm"));
}

static gboolean
hdf5_begin (TdVolumeWriter *writer, GError **error)
{
  const TdVolumeSpec *spec = &writer->spec;
  Hdf5Volume *own = g_new0 (Hdf5Volume, 1);

  writer->own = own;
  own->slices = -1;
  own->file = td_h5_create_sized (td_output_part (writer->output),
                                  (guint64) spec->nx * spec->ny * spec->n_slices
                                      * td_sample_size (writer->type));
  return (own->file >= 0 && volume_writer_hdf5_add_entry (writer, own))
         || volume_writer_hdf5_fail (writer, error);
}

static gboolean
hdf5_write (TdVolumeWriter *writer, guint number, const void *samples, GError **error)
{
  Hdf5Volume *own = writer->own;

  return td_h5_write_frame (own->slices, writer->type, number, writer->spec.ny, writer->spec.nx,
                            samples)
         || volume_writer_hdf5_fail (writer, error);
}

static void
close_slices (Hdf5Volume *own)
{
  if (own->slices >= 0)
    td_h5_close (own->slices);
  own->slices = -1;
}

/* A data set, since HDF5 holds attributes to 64 KiB. */
static gboolean
volume_writer_hdf5_add_provenance (hid_t file, const char *description)
{
  g_auto (TdH5Id) entry = td_h5_find (file, "/entry", NULL);

  return entry >= 0 && td_h5_add_string (entry, "provenance", description);
}

static gboolean
hdf5_finish (TdVolumeWriter *writer, const char *description, GError **error)
{
  Hdf5Volume *own = writer->own;
  hid_t file = own->file;

  if (!volume_writer_hdf5_add_provenance (file, description))
    return volume_writer_hdf5_fail (writer, error);
  close_slices (own);
  own->file = -1;
  return td_h5_finish (file) || volume_writer_hdf5_fail (writer, error);
}

static void
volume_writer_hdf5_free (TdVolumeWriter *writer)
{
  Hdf5Volume *own = writer->own;

  close_slices (own);
  if (own->file >= 0)
    td_h5_finish (own->file);
  g_free (own);
}

const TdVolumeWriterFormat td_volume_hdf5_format
    = { hdf5_begin, hdf5_write, hdf5_finish, volume_writer_hdf5_free };
