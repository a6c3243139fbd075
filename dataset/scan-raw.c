/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "hdf5-util.h"
#include "number.h"
#include "raw-frames.h"
#include "scan-private.h"
#include "series.h"
#include "tiff-io.h"

#define HEADER_BYTES 8 /* of TIFF and HDF5 at the least */

/* Headerless files, when the user states the size of a frame. One file has all frames, or a folder
 * has files with one or more frames each. */

static gboolean
raw_probe (const char *path, const TdScanOptions *options)
{
  return options->raw_columns > 0 && options->raw_rows > 0;
}

/* Read as samples, the tags of a file with a header would be noise in the volume, or its size would
   seem wrong. Who skips its header knows where the samples lie. */
static gboolean
scan_raw_check_headerless (const char *path, const TdRawLayout *layout, GError **error)
{
  if (layout->file_header_bytes >= HEADER_BYTES)
    return TRUE;
  if (td_tiff_probe (path))
    return td_set_error (
        error, TD_ERROR_INVALID,
        "“%s” is a TIFF file, and {raw} is for files without a header: leave it out, "
        "or state headerless files",
        path);
  if (td_h5_probe (path))
    return td_set_error (
        error, TD_ERROR_INVALID,
        "“%s” is an HDF5 file, and {raw} is for files without a header: leave it out, "
        "or state headerless files",
        path);
  return TRUE;
}

/* @path's frames; NULL without error if @path is NULL. */
static TdRawFrames *
scan_raw_open_frames (const char *path, const TdRawLayout *layout, GError **error)
{
  g_auto (GStrv) paths = path ? td_series_only (path, NULL, error) : NULL;

  if (paths && paths[0] && !scan_raw_check_headerless (paths[0], layout, error))
    return NULL;
  return paths ? td_raw_frames_new ((const char *const *) paths, layout, error) : NULL;
}

static gboolean
scan_raw_open_all (const char *path, const TdScanOptions *options, const TdRawLayout *layout,
                   TdRawFrames *frames[3], GError **error)
{
  const char *paths[] = { path, options->flats, options->darks };
  TdRawLayout own = *layout;
  g_autoptr (GError) local = NULL;

  for (guint kind = 0; kind < 3 && !local; kind++) {
    frames[kind] = scan_raw_open_frames (paths[kind], &own, &local);
    if (kind == TD_FRAME_PROJECTION && options->sinograms && !local)
      own.n_rows = td_raw_frames_count (frames[kind]); /* flats are frames all the same */
  }
  if (!local)
    return TRUE;
  for (guint kind = 0; kind < 3; kind++)
    g_clear_pointer (&frames[kind], td_raw_frames_free);
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

#define LEAST_COLUMNS 16u /* from which neighbours say what is smooth */
#define ROUGHER 4

/* Of 16 bits whose bytes are taken the wrong way round the lower ones count most, which are noise.
   A row in the middle of the scan shows it. Bytes of which one is always 0 are smooth either way.
 */
static void
scan_raw_note_order (TdScan *scan, const TdRawLayout *layout)
{
  const TdScanFacts *facts = &scan->facts;
  const guint n = facts->n_columns;
  const TdFrameRange row = { TD_FRAME_PROJECTION, facts->n_views / 2, 1, facts->n_rows / 2, 1 };
  double rough = 0, turned = 0;
  guint16 upper = 0, lower = 0;

  if (td_sample_size (layout->type) != 2 || n < LEAST_COLUMNS)
    return;
  g_autofree float *line = g_try_new (float, n);
  if (!line || !td_scan_read (scan, &row, line, NULL, NULL))
    return;
  for (guint i = 0; i < n; i++) {
    const guint16 own = (guint16) (int) line[i], before = (guint16) (int) line[MAX (i, 1) - 1];
    upper |= own >> 8;
    lower |= own & 0xff;
    rough += fabs (line[i] - line[MAX (i, 1) - 1]);
    turned += abs (GUINT16_SWAP_LE_BE (own) - GUINT16_SWAP_LE_BE (before));
  }
  if (upper && lower && rough > ROUGHER * turned)
    td_scan_note (scan,
                  "The samples look like noise, and are smooth with their bytes the other way "
                  "round: if the images show nothing else, state {raw:%ux%u:%s%s}.",
                  layout->n_columns, layout->n_rows, td_sample_name (layout->type),
                  layout->big_endian ? "" : "be");
}

/* A file that was cut short where a frame ends, or that is none of the scan's, has a length that
   fits, too. */
static void
scan_raw_note_uneven (TdScan *scan, TdRawFrames *const frames[3])
{
  const char *paths[2];
  guint holds[2];

  for (guint kind = 0; kind < 3; kind++)
    if (frames[kind] && td_raw_frames_uneven (frames[kind], paths, holds))
      td_scan_note (scan,
                    "“%s” holds %u [frame|frames], and “%s” %u: all were taken, file by file; if "
                    "one is cut short, or is no part of this scan, copy it anew or take it away.",
                    paths[0], holds[0], paths[1], holds[1]);
}

static TdScan *
raw_open (const char *path, const TdScanOptions *options, GCancellable *cancellable, GError **error)
{
  TdRawLayout layout = { options->raw_columns,    options->raw_rows,         options->raw_type,
                         options->raw_big_endian, options->raw_header_bytes, 0 };
  TdRawFrames *frames[3] = { NULL };

  if (!scan_raw_open_all (path, options, &layout, frames, error))
    return NULL;
  g_auto (GStrv) names
      = options->sinograms ? NULL : td_raw_frames_names (frames[TD_FRAME_PROJECTION]);
  TdRawFrames *const kept[] = { frames[0], frames[1], frames[2] }; /* the scan's from here on */
  g_autoptr (TdScan) scan = td_raw_scan_new (path, &layout, frames, options->sinograms);
  scan_raw_note_uneven (scan, kept);
  scan->facts.format = g_strdup (options->sinograms ? N_ ("raw sinograms") : N_ ("raw frames"));
  if (options->angles
      && !td_scan_take_angles (scan, options->angles, (const char *const *) names, error))
    return NULL;
  if (!td_scan_validate (scan, error))
    return NULL;
  scan_raw_note_order (scan, &layout);
  return g_steal_pointer (&scan);
}

const TdScanReader td_scan_reader_raw = { raw_probe, raw_open, TRUE };

gboolean
td_scan_options_set_raw (TdScanOptions *options, const char *text, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (text, ":", 3);
  const guint n_parts = g_strv_length (parts);
  gint64 size[2], skip = 0;

  if (n_parts >= 2 && td_parse_integers (parts[0], 'x', 1, G_MAXINT32, size, 2)
      && (n_parts < 3 || td_parse_integer (parts[2], 0, G_MAXINT64, &skip)))
    for (guint t = TD_SAMPLE_UINT8; t <= TD_SAMPLE_FLOAT64; t++) {
      const gsize n = strlen (td_sample_name (t));
      const gboolean big
          = strncmp (td_sample_name (t), parts[1], n) == 0 && strcmp (parts[1] + n, "be") == 0;

      if (big || strcmp (parts[1], td_sample_name (t)) == 0) {
        options->raw_big_endian = big;
        options->raw_columns = (guint) size[0];
        options->raw_rows = (guint) size[1];
        options->raw_type = t;
        options->raw_header_bytes = (gsize) skip;
        return TRUE;
      }
    }
  return td_set_error (
      error, TD_ERROR_INVALID,
      "“%s” does not describe headerless files: WIDTHxHEIGHT:TYPE[be][:SKIP] is wanted, as in "
      "1024x768:uint16:512, or 1024x768:uint16be for the larger byte first ({raw})",
      text);
}
