/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>

#include "sample.h"
#include "tiff-private.h"

/* Raw rows are read in pieces of about this size, so that a frame never needs a second frame. */
#define RAW_PIECE_BYTES ((gsize) 1 << 20)

static gboolean
need_block (TdTiff *tiff, gsize bytes, GError **error)
{
  if (tiff->block_allocated >= bytes)
    return TRUE;
  g_free (tiff->block);
  tiff->block = g_try_malloc (bytes);
  tiff->block_allocated = tiff->block ? bytes : 0;
  if (!tiff->block)
    return td_tiff_fail (tiff, error, TD_ERROR_TOO_LARGE,
                         "needs %" G_GSIZE_FORMAT " bytes to be unpacked, which are not free",
                         bytes);
  return TRUE;
}

static gboolean
read_exactly (TdTiff *tiff, guint8 *to, gsize bytes, guint64 offset, GError **error)
{
  while (bytes > 0) {
    gssize got = pread (tiff->fd, to, bytes, offset);

    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return td_tiff_fail (tiff, error, TD_ERROR_IO, "cannot be read: %s", g_strerror (errno));
    if (got == 0)
      return td_tiff_fail (tiff, error, TD_ERROR_BAD_FILE,
                           "is cut short: its samples go on behind its end; copy it again, or "
                           "take it out of the scan");
    to += got;
    bytes -= got;
    offset += got;
  }
  return TRUE;
}

/* Rows that lie in one uncompressed strip, straight from the file. */
static gboolean
read_raw_rows (TdTiff *tiff, guint64 offset, guint n_rows, float *out, GError **error)
{
  gsize row_bytes = tiff->width * td_sample_size (tiff->layout.type);
  guint piece = (guint) CLAMP (RAW_PIECE_BYTES / row_bytes, 1, n_rows);
  gboolean swap = TIFFIsByteSwapped (tiff->handle);

  if (!need_block (tiff, piece * row_bytes, error))
    return FALSE;
  for (guint done = 0; done < n_rows; done += piece) {
    guint now = MIN (piece, n_rows - done);

    if (!read_exactly (tiff, tiff->block, now * row_bytes, offset + done * row_bytes, error))
      return FALSE;
    td_samples_to_float (tiff->layout.type, swap, tiff->block, (gsize) now * tiff->width,
                         out + (gsize) done * tiff->width);
  }
  return TRUE;
}

/* Rows that lie in one compressed strip, unpacked no further than the last of them. */
static gboolean
unpack_rows (TdTiff *tiff, guint strip, guint skip, guint n_rows, float *out, GError **error)
{
  gsize row_bytes = tiff->width * td_sample_size (tiff->layout.type);
  gsize bytes = (skip + n_rows) * row_bytes;

  if (!need_block (tiff, bytes, error))
    return FALSE;
  if (TIFFReadEncodedStrip (tiff->handle, strip, tiff->block, bytes) != (tmsize_t) bytes)
    return td_tiff_fail (tiff, error, TD_ERROR_BAD_FILE,
                         "is damaged or cut short: strip %u cannot be unpacked", strip);
  td_samples_to_float (tiff->layout.type, FALSE, tiff->block + skip * row_bytes,
                       (gsize) n_rows * tiff->width, out);
  return TRUE;
}

static gboolean
read_strips (TdTiff *tiff, guint row0, guint n_rows, float *out, GError **error)
{
  guint32 rows_per_strip = tiff->height;
  gboolean raw = !tiff->compressed && !tiff->bits_reversed;

  TIFFGetFieldDefaulted (tiff->handle, TIFFTAG_ROWSPERSTRIP, &rows_per_strip);
  rows_per_strip = CLAMP (rows_per_strip, 1, tiff->height);
  while (n_rows > 0) {
    guint strip = row0 / rows_per_strip, skip = row0 % rows_per_strip;
    guint now = MIN (rows_per_strip - skip, n_rows);

    if (raw) {
      guint64 offset = TIFFGetStrileOffset (tiff->handle, strip);
      guint64 row_bytes = tiff->width * td_sample_size (tiff->layout.type);

      if (offset == 0 || offset > tiff->size || tiff->data_shift > tiff->size)
        return td_tiff_fail (tiff, error, TD_ERROR_BAD_FILE,
                             "is damaged or cut short: strip %u is missing", strip);
      offset += tiff->data_shift + skip * row_bytes;
      if (!read_raw_rows (tiff, offset, now, out, error))
        return FALSE;
    } else if (!unpack_rows (tiff, strip, skip, now, out, error))
      return FALSE;
    row0 += now;
    n_rows -= now;
    out += (gsize) now * tiff->width;
  }
  return TRUE;
}

static gboolean
read_tiles (TdTiff *tiff, guint row0, guint n_rows, float *out, GError **error)
{
  guint32 tile_width = 0, tile_height = 0;
  gsize size = td_sample_size (tiff->layout.type);
  guint end = row0 + n_rows;

  TIFFGetField (tiff->handle, TIFFTAG_TILEWIDTH, &tile_width);
  TIFFGetField (tiff->handle, TIFFTAG_TILELENGTH, &tile_height);
  if (tile_width == 0 || tile_height == 0
      || tiff->block_bytes != (guint64) tile_width * tile_height * size)
    return td_tiff_fail (tiff, error, TD_ERROR_BAD_FILE, "has damaged tile sizes");
  if (!need_block (tiff, tiff->block_bytes, error))
    return FALSE;
  for (guint64 top = row0 / tile_height * tile_height; top < end; top += tile_height)
    for (guint64 left = 0; left < tiff->width; left += tile_width) {
      guint tile = TIFFComputeTile (tiff->handle, left, top, 0, 0);
      gsize columns = MIN (tile_width, tiff->width - left);
      guint64 from = MAX (top, row0), to = MIN (top + tile_height, end);

      if (TIFFReadEncodedTile (tiff->handle, tile, tiff->block, tiff->block_bytes)
          != (tmsize_t) tiff->block_bytes)
        return td_tiff_fail (tiff, error, TD_ERROR_BAD_FILE,
                             "is damaged or cut short: tile %u cannot be unpacked", tile);
      for (guint64 row = from; row < to; row++)
        td_samples_to_float (tiff->layout.type, FALSE,
                             tiff->block + (row - top) * tile_width * size, columns,
                             out + (row - row0) * tiff->width + left);
    }
  return TRUE;
}

static gboolean
tiff_rows_read_stored (TdTiff *tiff, guint row0, guint n_rows, float *out, GError **error)
{
  if (tiff->tiled)
    return read_tiles (tiff, row0, n_rows, out, error);
  return read_strips (tiff, row0, n_rows, out, error);
}

static void
mirror_columns (float *rows, gsize width, gsize n_rows)
{
  for (gsize row = 0; row < n_rows; row++)
    for (gsize a = 0, b = width - 1; a < b; a++, b--) {
      float left = rows[row * width + a];

      rows[row * width + a] = rows[row * width + b];
      rows[row * width + b] = left;
    }
}

static void
mirror_rows (float *rows, gsize width, gsize n_rows)
{
  for (gsize a = 0, b = n_rows - 1; a < b; a++, b--)
    for (gsize i = 0; i < width; i++) {
      float top = rows[a * width + i];

      rows[a * width + i] = rows[b * width + i];
      rows[b * width + i] = top;
    }
}

/* Orientations 5 to 8: rows of the picture are columns of the file, so the whole file is read. */
static gboolean
tiff_rows_read_turned (TdTiff *tiff, guint row0, guint n_rows, float *out, GError **error)
{
  gsize width = tiff->width, height = tiff->height;
  gboolean from_right
      = tiff->orientation == ORIENTATION_RIGHTTOP || tiff->orientation == ORIENTATION_RIGHTBOT;
  gboolean from_bottom
      = tiff->orientation == ORIENTATION_RIGHTBOT || tiff->orientation == ORIENTATION_LEFTBOT;
  g_autofree float *stored = g_try_new (float, width *height);

  if (!stored)
    return td_tiff_fail (tiff, error, TD_ERROR_TOO_LARGE, "is too large to be turned upright");
  if (!tiff_rows_read_stored (tiff, 0, tiff->height, stored, error))
    return FALSE;
  /* The file's row 0 is the picture's left (or right) side, its column 0 the top (or bottom). */
  for (gsize row = 0; row < n_rows; row++)
    for (gsize column = 0; column < height; column++) {
      gsize x = from_bottom ? width - 1 - (row0 + row) : row0 + row;
      gsize y = from_right ? height - 1 - column : column;

      out[row * height + column] = stored[y * width + x];
    }
  return TRUE;
}

static gboolean
read_upright (TdTiff *tiff, guint row0, guint n_rows, float *out, GError **error)
{
  gboolean from_bottom
      = tiff->orientation == ORIENTATION_BOTLEFT || tiff->orientation == ORIENTATION_BOTRIGHT;
  gboolean from_right
      = tiff->orientation == ORIENTATION_TOPRIGHT || tiff->orientation == ORIENTATION_BOTRIGHT;

  if (tiff->orientation > ORIENTATION_BOTLEFT)
    return tiff_rows_read_turned (tiff, row0, n_rows, out, error);
  if (!tiff_rows_read_stored (tiff, from_bottom ? tiff->height - row0 - n_rows : row0, n_rows, out,
                              error))
    return FALSE;
  if (from_bottom)
    mirror_rows (out, tiff->width, n_rows);
  if (from_right)
    mirror_columns (out, tiff->width, n_rows);
  return TRUE;
}

gboolean
td_tiff_read_rows (TdTiff *tiff, guint row0, guint n_rows, float *out, GError **error)
{
  if (row0 > tiff->layout.height || n_rows > tiff->layout.height - row0)
    return td_tiff_fail (tiff, error, TD_ERROR_INVALID, "has %u rows; rows %u to %u were asked for",
                         tiff->layout.height, row0, row0 + n_rows);
  if (n_rows == 0)
    return TRUE;
  if (!read_upright (tiff, row0, n_rows, out, error))
    return FALSE;
  if (tiff->layout.inverted) {
    float largest
        = (float) ((G_GUINT64_CONSTANT (1) << 8 * td_sample_size (tiff->layout.type)) - 1);

    for (gsize i = 0; i < (gsize) n_rows * tiff->layout.width; i++)
      out[i] = largest - out[i];
  }
  return TRUE;
}
