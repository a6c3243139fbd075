/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli-picture.h"

#include <math.h>
#include <string.h>

#include "dataset/error.h"
#include "dataset/sort.h"
#include "dataset/volume.h"

#define GAP 4

/* ── The mosaic ── */

static float *
make_mosaic (const float *slices, guint n, guint side, guint across, float gap, guint *width,
             guint *height)
{
  guint down = (n + across - 1) / across;

  *width = across * side + (across - 1) * GAP;
  *height = down * side + (down - 1) * GAP;
  float *mosaic = g_new (float, (gsize) *width **height);
  for (gsize i = 0; i < (gsize) *width * *height; i++)
    mosaic[i] = gap;
  for (guint s = 0; s < n; s++)
    for (guint y = 0; y < side; y++)
      memcpy (mosaic + ((gsize) (s / across) * (side + GAP) + y) * *width
                  + (gsize) (s % across) * (side + GAP),
              slices + ((gsize) s * side + y) * side, side * sizeof *slices);
  return mosaic;
}

static void
find_window (const float *values, gsize n, float *low, float *high)
{
  gsize every = n / 200000 + 1, count = 0;
  g_autofree float *some = g_new (float, n / every + 1);

  for (gsize i = 0; i < n; i += every)
    if (isfinite (values[i]))
      some[count++] = values[i];
  *low = *high = 0;
  if (count == 0)
    return;
  *low = td_float_at_rank (some, count, count / 200);
  *high = td_float_at_rank (some, count, count - 1 - count / 200);
}

/* ── PNG ── */

static guint32
cli_picture_crc (const guint8 *data, gsize n)
{
  guint32 value = 0xffffffffu;

  for (gsize i = 0; i < n; i++) {
    value ^= data[i];
    for (guint bit = 0; bit < 8; bit++)
      value = (value >> 1) ^ (value & 1 ? 0xedb88320u : 0);
  }
  return ~value;
}

static void
append_number (GByteArray *bytes, guint32 value)
{
  guint32 big = GUINT32_TO_BE (value);

  g_byte_array_append (bytes, (const guint8 *) &big, sizeof big);
}

static void
append_chunk (GByteArray *png, const char *type, const guint8 *data, guint n)
{
  append_number (png, n);
  guint start = png->len;
  g_byte_array_append (png, (const guint8 *) type, 4);
  g_byte_array_append (png, data, n);
  append_number (png, cli_picture_crc (png->data + start, png->len - start));
}

/* Every row begins with the filter's number: none. */
static GByteArray *
grey_rows (const float *mosaic, guint width, guint height, float low, float high)
{
  GByteArray *rows = g_byte_array_sized_new ((width + 1) * height);
  const guint8 none = 0;

  for (guint y = 0; y < height; y++) {
    g_byte_array_append (rows, &none, 1);
    for (guint x = 0; x < width; x++) {
      double value = (mosaic[(gsize) y * width + x] - low) / MAX (high - low, 1e-30f);
      guint8 grey = (guint8) CLAMP (value * 255 + 0.5, 0, 255);
      g_byte_array_append (rows, &grey, 1);
    }
  }
  return rows;
}

static gboolean
write_png (const char *path, const float *mosaic, guint width, guint height, float low, float high,
           GError **error)
{
  static const guint8 signature[] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };
  g_autoptr (GByteArray) rows = grey_rows (mosaic, width, height, low, high);
  g_autoptr (GByteArray) png = g_byte_array_new (), header = g_byte_array_new ();
  g_autoptr (GConverter) deflate
      = G_CONVERTER (g_zlib_compressor_new (G_ZLIB_COMPRESSOR_FORMAT_ZLIB, -1));
  g_autoptr (GOutputStream) packed = g_memory_output_stream_new_resizable ();
  g_autoptr (GOutputStream) stream = g_converter_output_stream_new (packed, deflate);
  static const guint8 grey_of_8_bits[] = { 8, 0, 0, 0, 0 };

  if (!g_output_stream_write_all (stream, rows->data, rows->len, NULL, NULL, error)
      || !g_output_stream_close (stream, NULL, error))
    return FALSE;
  g_byte_array_append (png, signature, sizeof signature);
  append_number (header, width);
  append_number (header, height);
  g_byte_array_append (header, grey_of_8_bits, sizeof grey_of_8_bits);
  append_chunk (png, "IHDR", header->data, header->len);
  GMemoryOutputStream *memory = G_MEMORY_OUTPUT_STREAM (packed);
  append_chunk (png, "IDAT", g_memory_output_stream_get_data (memory),
                (guint) g_memory_output_stream_get_data_size (memory));
  append_chunk (png, "IEND", NULL, 0);
  return g_file_set_contents (path, (const char *) png->data, png->len, error);
}

/* ── TIFF ── */

static gboolean
write_tiff (const char *path, const float *mosaic, guint width, guint height, GError **error)
{
  const TdVolumeSpec spec = {
    .path = (char *) path,
    .format = TD_VOLUME_BIGTIFF,
    .bits = 32,
    .nx = width,
    .ny = height,
    .n_slices = 1,
    .units = "1/px",
    .overwrite = TRUE,
  };
  g_autoptr (TdVolumeWriter) writer = td_volume_writer_new (&spec, error);

  return writer && td_volume_writer_write (writer, 0, 1, mosaic, error)
         && td_volume_writer_finish (writer, "{}", error);
}

static gboolean
cli_picture_refuse_name (const char *path, GError **error)
{
  return td_set_error (error, TD_ERROR_INVALID,
                       "A picture's name must end in .png or .tif, not as in “%s”", path);
}

static gboolean
cli_picture_is_tiff (const char *path)
{
  return g_str_has_suffix (path, ".tif") || g_str_has_suffix (path, ".tiff");
}

gboolean
td_cli_picture_save (const char *path, const float *values, guint width, guint height,
                     GError **error)
{
  const gsize pixels = (gsize) width * height;
  float low, high;

  if (cli_picture_is_tiff (path))
    return write_tiff (path, values, width, height, error);
  if (!g_str_has_suffix (path, ".png"))
    return cli_picture_refuse_name (path, error);
  if (pixels > G_MAXUINT32 / 2)
    return td_set_error (error, TD_ERROR_TOO_LARGE,
                         "%u × %u pixels are too many for one picture; a .tif holds them", width,
                         height);
  find_window (values, pixels, &low, &high);
  return write_png (path, values, width, height, low, high, error);
}

gboolean
td_cli_picture (const char *path, const float *slices, guint n, guint side, guint across,
                GError **error)
{
  gsize pixels = (gsize) n * side * side;
  guint width, height;
  float low, high;

  if ((guint64) across * (side + GAP) > G_MAXUINT16 || pixels > G_MAXUINT32 / 2)
    return td_set_error (error, TD_ERROR_TOO_LARGE,
                         "%u slices of %u × %u pixels are too large for one picture", n, side,
                         side);
  if (!cli_picture_is_tiff (path) && !g_str_has_suffix (path, ".png"))
    return cli_picture_refuse_name (path, error);
  find_window (slices, pixels, &low, &high);
  const float gap = cli_picture_is_tiff (path) ? low : high;
  g_autofree float *mosaic = make_mosaic (slices, n, side, across, gap, &width, &height);
  return cli_picture_is_tiff (path) ? write_tiff (path, mosaic, width, height, error)
                                    : write_png (path, mosaic, width, height, low, high, error);
}
