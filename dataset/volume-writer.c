/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "volume-describe.h"

#include <math.h>
#include <string.h>

#include "config.h"
#include "error.h"
#include "hdf5-write.h"
#include "sample.h"
#include "tiff-save.h"
#include "output.h"
#include "sample.h"

/* For volume*.c. One struct of functions a format; volume-writer.c checks, scales and counts. */
typedef struct {
  gboolean (*begin) (TdVolumeWriter *writer, GError **error);
  /* Slice @number (0 = the volume's first) in the stored sample type. */
  gboolean (*write) (TdVolumeWriter *writer, guint number, const void *samples, GError **error);
  /* @description: the volume's JSON with provenance; leaves the file closed. */
  gboolean (*finish) (TdVolumeWriter *writer, const char *description, GError **error);
  void (*free) (TdVolumeWriter *writer);
} VolumeWriterFormat;

struct TdVolumeWriter {
  TdVolumeSpec spec; /* strings are the writer's own */
  const VolumeWriterFormat *format;
  gpointer own;      /* the format's */
  TdSampleType type; /* as stored */
  TdOutput *output;
  guint8 *written; /* 1 for each slice that came */
  void *samples;   /* one slice as stored */
  guint64 clamped;
};

/* ── TIFF stacks and BigTIFF ── */

/* Both formats describe each slice; the scale must not depend on a file beside it. */
static TdTiffImage
image_of (const TdVolumeWriter *writer, const char *description)
{
  return (TdTiffImage) { writer->spec.nx, writer->spec.ny, writer->type, writer->spec.voxel_mm,
                         description };
}

/* ---- a folder of slices ---- */

static gboolean
stack_begin (TdVolumeWriter *writer, GError **error)
{
  writer->own = td_volume_describe (&writer->spec, NULL);
  return TRUE;
}

static gboolean
stack_write (TdVolumeWriter *writer, guint number, const void *samples, GError **error)
{
  TdTiffImage image = image_of (writer, writer->own);
  g_autofree char *name = g_strdup_printf ("slice_%05u.tif", writer->spec.first_slice + number);
  g_autofree char *path = g_build_filename (td_output_part (writer->output), name, NULL);

  return td_tiff_save_single (path, writer->spec.path, &image, samples, error);
}

static gboolean
stack_finish (TdVolumeWriter *writer, const char *description, GError **error)
{
  return td_output_save_text (writer->output, "provenance.json", description, error);
}

static void
stack_free (TdVolumeWriter *writer)
{
  g_free (writer->own);
}

static const VolumeWriterFormat volume_stack_format
    = { stack_begin, stack_write, stack_finish, stack_free };

/* ---- one file ---- */

static gboolean
bigtiff_begin (TdVolumeWriter *writer, GError **error)
{
  g_autofree char *description = td_volume_describe (&writer->spec, NULL);
  TdTiffImage image = image_of (writer, description);

  writer->own = td_tiff_save_new (td_output_part (writer->output), writer->spec.path, &image,
                                  writer->spec.n_slices, TRUE, error);
  return writer->own != NULL;
}

static gboolean
bigtiff_write (TdVolumeWriter *writer, guint number, const void *samples, GError **error)
{
  return td_tiff_save_image (writer->own, number, samples, error);
}

static gboolean
bigtiff_finish (TdVolumeWriter *writer, const char *description, GError **error)
{
  return td_tiff_save_describe (writer->own, description, error)
         && td_tiff_save_close (g_steal_pointer (&writer->own), error);
}

static void
bigtiff_free (TdVolumeWriter *writer)
{
  td_tiff_save_free (writer->own);
}

static const VolumeWriterFormat volume_bigtiff_format
    = { bigtiff_begin, bigtiff_write, bigtiff_finish, bigtiff_free };

/* ── HDF5 ── */

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

static const VolumeWriterFormat volume_hdf5_format
    = { hdf5_begin, hdf5_write, hdf5_finish, volume_writer_hdf5_free };

/* ── What the formats share ── */

static const struct {
  const VolumeWriterFormat *format;
  gboolean folder;
} formats[] = {
  [TD_VOLUME_TIFF_STACK] = { &volume_stack_format, TRUE },
  [TD_VOLUME_BIGTIFF] = { &volume_bigtiff_format, FALSE },
  [TD_VOLUME_HDF5] = { &volume_hdf5_format, FALSE },
};

static gboolean
check_spec (const TdVolumeSpec *spec, GError **error)
{
  const char *wrong = NULL;

  if (!spec->path || !*spec->path)
    wrong = N_ ("no path was given to write the volume to");
  else if ((guint) spec->format >= G_N_ELEMENTS (formats))
    wrong = N_ ("the format of the volume is none of tiff, bigtiff and hdf5");
  else if (spec->nx == 0 || spec->ny == 0 || spec->n_slices == 0)
    wrong = N_ ("the volume to be written is empty");
  else if ((guint64) spec->nx * spec->ny > G_MAXINT32)
    wrong = N_ ("the slices to be written have more than 2³¹ voxels; take a smaller region");
  else if (spec->bits != 32 && spec->bits != 16 && spec->bits != 8)
    wrong = N_ ("volumes can be written with 32, 16 or 8 bits a voxel");
  else if (spec->bits != 32
           && !(isfinite (spec->low) && isfinite (spec->high) && spec->low < spec->high))
    wrong = N_ ("16 and 8 bits a voxel need a lowest and a higher highest value to be scaled by");
  if (wrong)
    td_set_error_plain (error, TD_ERROR_INVALID, wrong);
  return !wrong;
}

TdVolumeWriter *
td_volume_writer_new (const TdVolumeSpec *spec, GError **error)
{
  g_autoptr (TdVolumeWriter) writer = NULL;
  gsize slice_bytes;

  if (!check_spec (spec, error))
    return NULL;
  writer = g_new0 (TdVolumeWriter, 1);
  writer->spec = *spec;
  writer->spec.path = g_strdup (spec->path);
  writer->spec.units = g_strdup (spec->units);
  writer->format = formats[spec->format].format;
  writer->type = spec->bits == 32   ? TD_SAMPLE_FLOAT32
                 : spec->bits == 16 ? TD_SAMPLE_UINT16
                                    : TD_SAMPLE_UINT8;
  writer->written = g_new0 (guint8, spec->n_slices);
  slice_bytes = (gsize) spec->nx * spec->ny * td_sample_size (writer->type);
  writer->samples = g_try_malloc (slice_bytes);
  if (!writer->samples) {
    td_set_error (error, TD_ERROR_TOO_LARGE,
                  "“%s” cannot be written: there is no memory for a slice of %u × %u voxels",
                  spec->path, spec->nx, spec->ny);
    return NULL;
  }
  writer->output = td_output_begin (spec->path, formats[spec->format].folder, spec->overwrite,
                                    (guint64) slice_bytes * spec->n_slices, error);
  if (!writer->output || !writer->format->begin (writer, error))
    return NULL;
  return g_steal_pointer (&writer);
}

gboolean
td_volume_writer_write (TdVolumeWriter *writer, guint first, guint count, const float *slices,
                        GError **error)
{
  const TdVolumeSpec *spec = &writer->spec;
  gsize voxels = (gsize) spec->nx * spec->ny;
  double largest = spec->bits == 16 ? 65535 : 255;
  double low = spec->bits == 32 ? 0 : spec->low;
  double gain = spec->bits == 32 ? 1 : largest / (spec->high - spec->low);

  for (guint i = 0; i < count; i++) {
    guint number = first + i;
    const void *samples = slices + i * voxels;

    if (first > spec->n_slices || i >= spec->n_slices - first || writer->written[number]) {
      td_set_error (error, TD_ERROR_INVALID,
                    "“%s”: slice %u of %u was written twice or does not exist", spec->path, number,
                    spec->n_slices);
      return FALSE;
    }
    if (writer->type != TD_SAMPLE_FLOAT32) {
      writer->clamped += td_samples_from_float (writer->type, low, gain, slices + i * voxels,
                                                voxels, writer->samples);
      samples = writer->samples;
    }
    if (!writer->format->write (writer, number, samples, error))
      return FALSE;
    writer->written[number] = 1;
  }
  return TRUE;
}

guint64
td_volume_writer_clamped (TdVolumeWriter *writer)
{
  return writer->clamped;
}

gboolean
td_volume_writer_finish (TdVolumeWriter *writer, const char *provenance_json, GError **error)
{
  const guint8 *gap = memchr (writer->written, 0, writer->spec.n_slices);
  g_autofree char *description = NULL;

  if (gap) {
    td_set_error (error, TD_ERROR_INVALID, "“%s” is not complete: slice %u of %u was never written",
                  writer->spec.path, (guint) (gap - writer->written), writer->spec.n_slices);
    return FALSE;
  }
  description = td_volume_describe (&writer->spec, provenance_json);
  return writer->format->finish (writer, description, error)
         && td_output_commit (writer->output, error);
}

void
td_volume_writer_free (TdVolumeWriter *writer)
{
  if (!writer)
    return;
  if (writer->own)
    writer->format->free (writer);
  g_clear_pointer (&writer->output, td_output_free);
  g_free (writer->spec.path);
  g_free ((char *) writer->spec.units);
  g_free (writer->written);
  g_free (writer->samples);
  g_free (writer);
}
