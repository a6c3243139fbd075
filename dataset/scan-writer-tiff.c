/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <sys/stat.h>

#include "geometry-json.h"
#include "scan-writer-private.h"
#include "tiff-save.h"

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

    if (counts[kind] > 0 && mkdir (folder, 0777) != 0) {
      td_output_set_error (error, td_output_path (writer->output), errno);
      return FALSE;
    }
  }
  return TRUE;
}

/* Flats say in their names when they were taken, if that was before the scan and after it; behind
   the number, which keeps them in order. */
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

const TdScanWriterFormat td_scan_writer_tiff
    = { scan_writer_tiff_begin, scan_writer_tiff_write_frame, scan_writer_tiff_finish, NULL };
