/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>

#include "tiff-private.h"

/* The chain of directories is walked by hand: libtiff would parse every directory, and again from
 * the first for each page that is asked for, which makes a long stack quadratic. */
typedef struct {
  gboolean big;  /* BigTIFF */
  gboolean swap; /* the other byte order */
  guint entry_bytes, count_bytes, offset_bytes;
} Walk;

typedef struct {
  guint64 next;
  guint32 subfile, width, height;
} Directory;

#define MAX_ENTRIES 1024u
#define MAX_PAGES 16777216u

static guint64
tiff_pages_get (const Walk *walk, const guint8 *bytes, guint size)
{
  guint64 value = 0;
  gboolean little = walk->swap != (G_BYTE_ORDER == G_LITTLE_ENDIAN);

  for (guint i = 0; i < size; i++)
    value |= (guint64) bytes[i] << 8 * (little ? i : size - 1 - i);
  return value;
}

static gboolean
read_directory (TdTiff *tiff, const Walk *walk, guint64 offset, Directory *directory)
{
  guint8 bytes[8 + MAX_ENTRIES * 20 + 8];
  gssize got = pread (tiff->fd, bytes, sizeof bytes, offset);
  guint64 n;

  if (got < (gssize) walk->count_bytes)
    return FALSE;
  n = tiff_pages_get (walk, bytes, walk->count_bytes);
  if (n > MAX_ENTRIES
      || got < (gssize) (walk->count_bytes + n * walk->entry_bytes + walk->offset_bytes))
    return FALSE;
  memset (directory, 0, sizeof *directory);
  for (guint i = 0; i < n; i++) {
    const guint8 *entry = bytes + walk->count_bytes + i * walk->entry_bytes;
    guint type = tiff_pages_get (walk, entry + 2, 2);
    guint64 value = tiff_pages_get (walk, entry + (walk->big ? 12 : 8), type == TIFF_SHORT ? 2 : 4);

    switch (tiff_pages_get (walk, entry, 2)) {
    case TIFFTAG_SUBFILETYPE: directory->subfile = value; break;
    case TIFFTAG_IMAGEWIDTH: directory->width = value; break;
    case TIFFTAG_IMAGELENGTH: directory->height = value; break;
    }
  }
  directory->next = tiff_pages_get (walk, bytes + walk->count_bytes + n * walk->entry_bytes,
                                    walk->offset_bytes);
  return TRUE;
}

static gboolean
start_walk (TdTiff *tiff, Walk *walk, guint64 *first)
{
  guint8 header[16] = { 0 };

  if (pread (tiff->fd, header, sizeof header, 0) < 8)
    return FALSE;
  walk->swap = TIFFIsByteSwapped (tiff->handle);
  walk->big = tiff_pages_get (walk, header + 2, 2) == 43;
  walk->count_bytes = walk->big ? 8 : 2;
  walk->entry_bytes = walk->big ? 20 : 12;
  walk->offset_bytes = walk->big ? 8 : 4;
  *first = tiff_pages_get (walk, header + (walk->big ? 8 : 4), walk->offset_bytes);
  return TRUE;
}

/* ImageJ writes stacks of more than 4 GiB with one directory, "images=N" in its description, and
 * the samples of all images one behind the other. */
static void
add_imagej_pages (TdTiff *tiff, GArray *pages)
{
  const char *description = td_tiff_description (tiff);
  const char *images = description && g_str_has_prefix (description, "ImageJ=")
                           ? strstr (description, "images=")
                           : NULL;
  guint64 n = images ? g_ascii_strtoull (images + strlen ("images="), NULL, 10) : 0;
  guint64 frame = (guint64) tiff->width * tiff->height * td_sample_size (tiff->layout.type);
  guint64 start;

  if (n < 2 || n > MAX_PAGES || tiff->compressed || tiff->tiled)
    return;
  start = TIFFGetStrileOffset (tiff->handle, 0);
  if (start > tiff->size || n > (tiff->size - start) / frame)
    return;
  for (guint64 i = 1; i < n; i++) {
    TdTiffPage page = { g_array_index (pages, TdTiffPage, 0).directory, i * frame };

    g_array_append_val (pages, page);
  }
}

GArray *
td_tiff_pages (TdTiff *tiff, GError **error)
{
  g_autoptr (GArray) pages = g_array_new (FALSE, FALSE, sizeof (TdTiffPage));
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  Walk walk = { 0 };
  guint64 offset;

  if (!start_walk (tiff, &walk, &offset)) {
    td_tiff_fail (tiff, error, TD_ERROR_BAD_FILE, "is cut short");
    return NULL;
  }
  while (offset != 0) {
    Directory directory;
    TdTiffPage page = { offset, 0 };

    if (g_hash_table_size (seen) >= MAX_PAGES
        || !g_hash_table_add (seen, g_memdup2 (&offset, sizeof offset))
        || !read_directory (tiff, &walk, offset, &directory)) {
      td_tiff_fail (tiff, error, TD_ERROR_BAD_FILE, "has a damaged chain of images behind image %u",
                    pages->len);
      return NULL;
    }
    offset = directory.next;
    if (directory.subfile & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK))
      continue;
    if (directory.width != tiff->width || directory.height != tiff->height) {
      td_tiff_fail (tiff, error, TD_ERROR_BAD_FILE,
                    "holds images of several sizes: image %u has %u × %u pixels, the first "
                    "%u × %u",
                    pages->len, directory.width, directory.height, tiff->width, tiff->height);
      return NULL;
    }
    g_array_append_val (pages, page);
  }
  if (pages->len == 0) {
    td_tiff_fail (tiff, error, TD_ERROR_BAD_FILE, "holds thumbnails or masks, but no image");
    return NULL;
  }
  if (pages->len == 1)
    add_imagej_pages (tiff, pages);
  return g_steal_pointer (&pages);
}
