/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-writer.h"

#include <string.h>

#include "error.h"
#include "sample.h"
#include "scan-private.h"
#include "scan-writer-private.h"

static const char *const kinds[] = { "projection", "flat", "dark" };

static const struct {
  const char *name;
  const TdScanWriterFormat *format;
  gboolean folder;
} formats[] = {
  [TD_SCAN_TIFF] = { "tiff", &td_scan_writer_tiff, TRUE },
  [TD_SCAN_NXTOMO] = { "nxtomo", &td_scan_writer_nxtomo, FALSE },
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

static guint
count_of (const TdScanFacts *facts, guint kind)
{
  return kind == TD_FRAME_PROJECTION ? facts->n_views
         : kind == TD_FRAME_FLAT     ? facts->n_flats
                                     : facts->n_darks;
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
    writer->written[kind] = g_new0 (guint8, count_of (facts, kind) + 1);
  writer->samples = g_try_malloc (frame_bytes);
  if (!writer->samples) {
    td_set_error (error, TD_ERROR_TOO_LARGE,
                  "“%s” cannot be written: there is no memory for a frame of %u × %u pixels", path,
                  facts->n_columns, facts->n_rows);
    return NULL;
  }
  return writer->format->begin (writer, error) ? g_steal_pointer (&writer) : NULL;
}

gboolean
td_scan_writer_write (TdScanWriter *writer, TdFrameKind kind, guint first, guint count,
                      const float *frames, GError **error)
{
  const TdScanFacts *facts = writer->facts;
  gsize pixels = (gsize) facts->n_columns * facts->n_rows;
  guint n = count_of (facts, kind);

  for (guint i = 0; i < count; i++) {
    guint number = first + i;

    if (first > n || i >= n - first || writer->written[kind][number]) {
      td_set_error (error, TD_ERROR_INVALID,
                    "“%s”: %s %u of %u was written twice or does not exist",
                    td_output_path (writer->output), kinds[kind], number, n);
      return FALSE;
    }
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
    guint n = count_of (writer->facts, kind);
    const guint8 *gap = memchr (writer->written[kind], 0, n);

    if (gap) {
      td_set_error (error, TD_ERROR_INVALID, "“%s”: %s %u was never written",
                    td_output_path (writer->output), kinds[kind],
                    (guint) (gap - writer->written[kind]));
      return FALSE;
    }
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
