/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hdf5-util.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

#include "file-bytes.h"

/* How libhdf5 reads files. Its own way asks the storage for each object's header, some hundred
   bytes at a time. What lies about a header is kept here, so that a storage which answers late is
   asked a few times. Samples are read as they are asked for. Under the library's lock. */

enum {
  BLOCK = 64 * 1024, /* read at once: what a line of 100 MB/s moves in less than a millisecond */
  BLOCKS = 32,       /* kept of a file, the oldest replaced */
};

typedef struct {
  guint8 *bytes;
  guint64 at;
  gsize length; /* 0: not read */
} Block;

typedef struct {
  H5FD_t base; /* first: libhdf5's */
  int file;
  struct stat status; /* as the file was opened */
  haddr_t end;        /* of what libhdf5 knows of */
  Block blocks[BLOCKS];
  guint oldest;
} Driven;

static herr_t
driven_close (H5FD_t *base)
{
  Driven *driven = (Driven *) base;
  const int failed = close (driven->file);

  for (guint i = 0; i < BLOCKS; i++)
    g_free (driven->blocks[i].bytes);
  g_free (driven);
  return failed;
}

static H5FD_t *
driven_open (const char *name, unsigned flags, hid_t access, haddr_t most)
{
  const int file = flags & H5F_ACC_RDWR ? -1 : td_file_open (name, NULL);
  struct stat status;

  if (file < 0)
    return NULL;
  if (fstat (file, &status) != 0) {
    close (file);
    return NULL;
  }
  Driven *driven = g_new0 (Driven, 1);
  driven->file = file;
  driven->status = status;
  return &driven->base;
}

static int
driven_compare (const H5FD_t *one, const H5FD_t *other)
{
  const struct stat *a = &((const Driven *) one)->status, *b = &((const Driven *) other)->status;

  if (a->st_dev != b->st_dev)
    return a->st_dev < b->st_dev ? -1 : 1;
  return a->st_ino < b->st_ino ? -1 : a->st_ino > b->st_ino;
}

static herr_t
driven_query (const H5FD_t *base, unsigned long *features)
{
  *features
      = H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

static haddr_t
driven_known_end (const H5FD_t *base, H5FD_mem_t type)
{
  return ((const Driven *) base)->end;
}

static herr_t
driven_set_known_end (H5FD_t *base, H5FD_mem_t type, haddr_t end)
{
  ((Driven *) base)->end = end;
  return 0;
}

static haddr_t
driven_file_end (const H5FD_t *base, H5FD_mem_t type)
{
  return (haddr_t) ((const Driven *) base)->status.st_size;
}

/* The block that holds the byte; NULL: it cannot be read, or there is no memory for it. */
static const Block *
driven_block (Driven *driven, guint64 at)
{
  const guint64 from = at / BLOCK * BLOCK;

  for (guint i = 0; i < BLOCKS; i++)
    if (driven->blocks[i].length > 0 && driven->blocks[i].at == from)
      return &driven->blocks[i];
  Block *block = &driven->blocks[driven->oldest];
  const gsize length = MIN (BLOCK, (guint64) driven->status.st_size - from);
  if (!block->bytes)
    block->bytes = g_try_malloc (BLOCK);
  block->length = 0;
  if (!block->bytes || td_file_read (driven->file, block->bytes, length, from) != 0)
    return NULL;
  block->at = from;
  block->length = length;
  driven->oldest = (driven->oldest + 1) % BLOCKS;
  return block;
}

/* Behind the file's end are zeros, as libhdf5's own driver has them. */
static herr_t
driven_read (H5FD_t *base, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t size, void *buffer)
{
  Driven *driven = (Driven *) base;
  const guint64 end = (guint64) driven->status.st_size;
  const gsize there = at < end ? MIN (size, end - at) : 0;
  guint8 *to = buffer;

  memset (to + there, 0, size - there);
  if (type == H5FD_MEM_DRAW || there > BLOCK)
    return there == 0 || td_file_read (driven->file, to, there, at) == 0 ? 0 : -1;
  for (gsize done = 0; done < there;) {
    const Block *block = driven_block (driven, at + done);
    if (!block)
      return td_file_read (driven->file, to + done, there - done, at + done) == 0 ? 0 : -1;
    const gsize skip = at + done - block->at, now = MIN (there - done, block->length - skip);
    memcpy (to + done, block->bytes + skip, now);
    done += now;
  }
  return 0;
}

static herr_t
driven_write (H5FD_t *base, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t size,
              const void *buffer)
{
  return -1;
}

static const H5FD_class_t driven_class = {
#ifdef H5FD_CLASS_VERSION
  .version = H5FD_CLASS_VERSION,
  .value = (H5FD_class_value_t) 600, /* of those that nobody has */
#endif
  .name = "tomodesk",
  .maxaddr = G_MAXINT64,
  .fc_degree = H5F_CLOSE_WEAK,
  .open = driven_open,
  .close = driven_close,
  .cmp = driven_compare,
  .query = driven_query,
  .get_eoa = driven_known_end,
  .set_eoa = driven_set_known_end,
  .get_eof = driven_file_end,
  .read = driven_read,
  .write = driven_write,
  .fl_map = H5FD_FLMAP_DICHOTOMY,
};

void
td_h5_driver_set (hid_t file_access)
{
  static hid_t driver = -1;

  if (driver < 0)
    driver = H5FDregister (&driven_class);
  if (driver >= 0)
    H5Pset_driver (file_access, driver, NULL);
}
