/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "png.h"

#include <string.h>

static guint32
big_endian (const guint8 *bytes)
{
  guint32 value;
  memcpy (&value, bytes, sizeof value);
  return GUINT32_FROM_BE (value);
}

/* The IDAT chunks' contents, decompressed to exactly @size bytes. */
static guint8 *
inflate (const guint8 *file, gsize length, gsize size)
{
  g_autoptr (GByteArray) packed = g_byte_array_new ();
  g_autoptr (GError) error = NULL;

  for (gsize at = 8; at + 12 <= length; at += 12 + (gsize) big_endian (file + at)) {
    g_assert_cmpuint (big_endian (file + at), <=, length - at - 12);
    if (memcmp (file + at + 4, "IDAT", 4) == 0)
      g_byte_array_append (packed, file + at + 8, big_endian (file + at));
  }
  g_autoptr (GInputStream) memory
      = g_memory_input_stream_new_from_data (packed->data, packed->len, NULL);
  g_autoptr (GZlibDecompressor) zlib = g_zlib_decompressor_new (G_ZLIB_COMPRESSOR_FORMAT_ZLIB);
  g_autoptr (GInputStream) stream = g_converter_input_stream_new (memory, G_CONVERTER (zlib));
  guint8 *out = g_malloc (size);
  gsize got;
  g_input_stream_read_all (stream, out, size, &got, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (got, ==, size);
  return out;
}

static int
paeth (int left, int up, int corner)
{
  const int p = left + up - corner, a = ABS (p - left), b = ABS (p - up), c = ABS (p - corner);
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

/* Undoes a row's filter (PNG specification, section 9); samples are one byte or less apart. */
static void
unfilter (guint8 kind, guint8 *row, const guint8 *above, gsize stride)
{
  for (gsize i = 0; i < stride; i++) {
    const int left = i ? row[i - 1] : 0, up = above ? above[i] : 0;
    const int corner = i && above ? above[i - 1] : 0;
    const int add[] = { 0, left, up, (left + up) / 2, paeth (left, up, corner) };
    g_assert_cmpuint (kind, <, G_N_ELEMENTS (add));
    row[i] = (guint8) (row[i] + add[kind]);
  }
}

guint8 *
td_test_png_read (const char *path, guint *width, guint *height)
{
  g_autofree char *file = NULL;
  g_autoptr (GError) error = NULL;
  gsize length;

  g_file_get_contents (path, &file, &length, &error);
  g_assert_no_error (error);
  const guint8 *bytes = (const guint8 *) file;
  g_assert_cmpuint (length, >, 33);
  *width = big_endian (bytes + 16);
  *height = big_endian (bytes + 20);
  const guint bits = bytes[24];
  g_assert_true ((bits == 1 || bits == 8) && bytes[25] == 0 && bytes[28] == 0);

  const gsize stride = ((gsize) *width * bits + 7) / 8;
  g_autofree guint8 *rows = inflate (bytes, length, (stride + 1) * *height);
  guint8 *out = g_malloc ((gsize) *width * *height);
  for (guint y = 0; y < *height; y++) {
    guint8 *row = rows + y * (stride + 1);
    unfilter (row[0], row + 1, y ? row - stride : NULL, stride);
    for (guint x = 0; x < *width; x++)
      out[(gsize) y * *width + x]
          = bits == 8 ? row[1 + x] : (row[1 + x / 8] >> (7 - x % 8) & 1 ? 255 : 0);
  }
  return out;
}
