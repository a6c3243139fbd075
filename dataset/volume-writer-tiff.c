/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tiff-save.h"
#include "volume-private.h"

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

const TdVolumeWriterFormat td_volume_stack_format
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

const TdVolumeWriterFormat td_volume_bigtiff_format
    = { bigtiff_begin, bigtiff_write, bigtiff_finish, bigtiff_free };
