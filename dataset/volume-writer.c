/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "error.h"
#include "sample.h"
#include "volume-private.h"

static const struct {
  const TdVolumeWriterFormat *format;
  gboolean folder;
} formats[] = {
  [TD_VOLUME_TIFF_STACK] = { &td_volume_stack_format, TRUE },
  [TD_VOLUME_BIGTIFF] = { &td_volume_bigtiff_format, FALSE },
  [TD_VOLUME_HDF5] = { &td_volume_hdf5_format, FALSE },
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
