/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hdf5-storage.h"

#include <errno.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "file-bytes.h"
#include "hdf5-filters.h"
#include "storage-threads.h"

/* A thread has two buffers of a chunk's size; larger chunks are left to the library. */
#define MAX_CHUNK_BYTES ((guint64) 256 << 20)
#define MAX_FILTERS 4

/* A stretch of contiguous samples in a raw file; of the last one the bytes may be without an end.
 */
typedef struct {
  char *path;
  guint64 offset, bytes;
} RawStretch;

struct TdH5Storage {
  hid_t dataset; /* the owner's */
  TdH5Dimensions dimensions;
  guint shape[3];
  TdSampleType type;
  gboolean swap;
  int file;          /* of contiguous samples and chunks; -1: raw files */
  guint64 offset;    /* of contiguous samples in the file */
  GArray *stretches; /* RawStretch; NULL: no raw files */
  gboolean chunked;
  guint chunk[3];
  H5Z_filter_t filters[MAX_FILTERS]; /* as they were applied */
  int n_filters;
};

/* ── What a data set is ── */

/* Types that are stored exactly as this computer has them, but for the order of bytes. */
static gboolean
h5_storage_find_type (TdH5Storage *storage)
{
  const hid_t known[][2] = {
    [TD_SAMPLE_UINT8] = { H5T_STD_U8LE, H5T_STD_U8BE },
    [TD_SAMPLE_INT8] = { H5T_STD_I8LE, H5T_STD_I8BE },
    [TD_SAMPLE_UINT16] = { H5T_STD_U16LE, H5T_STD_U16BE },
    [TD_SAMPLE_INT16] = { H5T_STD_I16LE, H5T_STD_I16BE },
    [TD_SAMPLE_UINT32] = { H5T_STD_U32LE, H5T_STD_U32BE },
    [TD_SAMPLE_INT32] = { H5T_STD_I32LE, H5T_STD_I32BE },
    [TD_SAMPLE_FLOAT32] = { H5T_IEEE_F32LE, H5T_IEEE_F32BE },
    [TD_SAMPLE_FLOAT64] = { H5T_IEEE_F64LE, H5T_IEEE_F64BE },
  };
  g_auto (TdH5Id) type = H5Dget_type (storage->dataset);

  for (guint i = 0; type >= 0 && i < G_N_ELEMENTS (known); i++)
    for (guint big = 0; big < 2; big++)
      if (H5Tequal (type, known[i][big]) > 0) {
        storage->type = i;
        storage->swap = td_sample_size (i) > 1 && (big == 1) != (G_BYTE_ORDER == G_BIG_ENDIAN);
        return TRUE;
      }
  return FALSE;
}

static gboolean
h5_storage_find_shape (TdH5Storage *storage)
{
  g_auto (TdH5Id) space = H5Dget_space (storage->dataset);
  hsize_t shape[3];

  if (!td_h5_dimensions (space, &storage->dimensions, shape))
    return FALSE;
  for (int i = 0; i < 3; i++) {
    if (shape[i] == 0 || shape[i] > G_MAXINT32)
      return FALSE;
    storage->shape[i] = (guint) shape[i];
  }
  return TRUE;
}

static void
raw_stretch_clear (gpointer data)
{
  g_free (((RawStretch *) data)->path);
}

/* td_h5_absent_find() has checked that the files are there and where they lie. */
static gboolean
h5_storage_find_raw (TdH5Storage *storage, hid_t properties)
{
  g_autofree char *own = td_h5_file_name (storage->dataset), *folder = g_path_get_dirname (own);

  if (g_getenv ("HDF5_EXTFILE_PREFIX")) /* the library looks elsewhere */
    return FALSE;
  storage->stretches = g_array_new (FALSE, FALSE, sizeof (RawStretch));
  g_array_set_clear_func (storage->stretches, raw_stretch_clear);
  for (int i = 0; i < H5Pget_external_count (properties); i++) {
    RawStretch stretch = { 0 };
    char name[4096] = "";
    off_t offset = 0;
    hsize_t bytes = 0;

    if (H5Pget_external (properties, i, sizeof name - 1, name, &offset, &bytes) < 0 || offset < 0)
      return FALSE;
    stretch.path
        = g_path_is_absolute (name) ? g_strdup (name) : g_build_filename (folder, name, NULL);
    stretch.offset = (guint64) offset;
    stretch.bytes = bytes == H5F_UNLIMITED ? G_MAXUINT64 / 2 : bytes;
    g_array_append_val (storage->stretches, stretch);
  }
  return storage->stretches->len > 0;
}

static gboolean
h5_storage_open_file (TdH5Storage *storage)
{
  g_autofree char *name = td_h5_file_name (storage->dataset);

  storage->file = td_file_open (name, NULL);
  return storage->file >= 0;
}

static gboolean
h5_storage_find_filters (TdH5Storage *storage, hid_t properties)
{
  storage->n_filters = H5Pget_nfilters (properties);
  if (storage->n_filters < 0 || storage->n_filters > MAX_FILTERS)
    return FALSE;
  for (int i = 0; i < storage->n_filters; i++) {
    unsigned flags = 0, config = 0, values[8] = { 0 };
    gsize n_values = G_N_ELEMENTS (values);
    const H5Z_filter_t filter
        = H5Pget_filter2 (properties, i, &flags, &n_values, values, 0, NULL, &config);

    storage->filters[i] = filter;
    if (filter != H5Z_FILTER_DEFLATE && !(TD_HAVE_LZF && filter == TD_H5_FILTER_LZF)
        && !(filter == H5Z_FILTER_SHUFFLE && n_values == 1
             && values[0] == td_sample_size (storage->type)))
      return FALSE;
  }
  return TRUE;
}

/* Files with a block of their user's before the structure: versions of the library differ in
   whether they count it. */
static gboolean
h5_storage_has_user_block (const TdH5Storage *storage)
{
  g_auto (TdH5Id) file = H5Iget_file_id (storage->dataset);
  g_auto (TdH5Id) properties = file < 0 ? -1 : H5Fget_create_plist (file);
  hsize_t bytes = 0;

  return properties < 0 || H5Pget_userblock (properties, &bytes) < 0 || bytes != 0;
}

static gboolean
h5_storage_find_chunks (TdH5Storage *storage, hid_t properties)
{
  hsize_t all[H5S_MAX_RANK], chunk[3] = { 1, 1, 1 };
  guint64 bytes = td_sample_size (storage->type);
  unsigned options = 0;

  if (H5Pget_chunk (properties, H5S_MAX_RANK, all) != storage->dimensions.rank
      || H5Pget_chunk_opts (properties, &options) < 0 || options != 0)
    return FALSE;
  td_h5_dimensions_pick (&storage->dimensions, all, chunk);
  for (guint i = 0; i < 3; i++) {
    if (chunk[i] == 0 || chunk[i] > G_MAXINT32 || bytes > MAX_CHUNK_BYTES / chunk[i])
      return FALSE;
    bytes *= chunk[i];
    storage->chunk[i] = (guint) chunk[i];
  }
  storage->chunked = TRUE;
  return !h5_storage_has_user_block (storage) && h5_storage_find_filters (storage, properties)
         && h5_storage_open_file (storage);
}

static gboolean
h5_storage_find_place (TdH5Storage *storage)
{
  g_auto (TdH5Id) properties = H5Dget_create_plist (storage->dataset);
  const H5D_layout_t layout = properties < 0 ? H5D_LAYOUT_ERROR : H5Pget_layout (properties);
  guint64 bytes = td_sample_size (storage->type);

  if (layout == H5D_CHUNKED)
    return h5_storage_find_chunks (storage, properties);
  if (layout != H5D_CONTIGUOUS)
    return FALSE;
  if (H5Pget_external_count (properties) > 0)
    return h5_storage_find_raw (storage, properties);
  for (guint i = 0; i < 3; i++) {
    if (bytes > G_MAXINT64 / storage->shape[i])
      return FALSE;
    bytes *= storage->shape[i];
  }
  const haddr_t offset = H5Dget_offset (storage->dataset);
  if (offset == HADDR_UNDEF || H5Dget_storage_size (storage->dataset) < bytes)
    return FALSE;
  storage->offset = offset;
  return h5_storage_open_file (storage);
}

TdH5Storage *
td_h5_storage_new (hid_t dataset)
{
  TD_H5_GUARD;
  g_autoptr (TdH5Storage) storage = g_new0 (TdH5Storage, 1);

  storage->dataset = dataset;
  storage->file = -1;
  return h5_storage_find_shape (storage) && h5_storage_find_type (storage)
                 && h5_storage_find_place (storage)
             ? g_steal_pointer (&storage)
             : NULL;
}

void
td_h5_storage_free (TdH5Storage *storage)
{
  if (!storage)
    return;
  if (storage->file >= 0)
    close (storage->file);
  g_clear_pointer (&storage->stretches, g_array_unref);
  g_free (storage);
}

guint
td_h5_storage_together (const TdH5Storage *storage, guint along)
{
  return storage->n_filters > 0 ? MIN (storage->chunk[along], storage->shape[along]) : 1;
}

gsize
td_h5_storage_scratch_bytes (const TdH5Storage *storage)
{
  const gsize chunk = (gsize) storage->chunk[0] * storage->chunk[1] * storage->chunk[2]
                      * td_sample_size (storage->type);

  return storage->chunked
             ? td_storage_scratch_bytes ((storage->n_filters > 0 ? 2 : 1) * MAX (chunk, 1))
             : 0;
}

/* ── Contiguous samples ── */

/* From raw files, which may begin and end anywhere in a frame. */
static int
h5_storage_read_stretches (const TdH5Storage *storage, guint8 *to, gsize bytes, guint64 at)
{
  for (guint i = 0; i < storage->stretches->len && bytes > 0; i++) {
    const RawStretch *stretch = &g_array_index (storage->stretches, RawStretch, i);

    if (at >= stretch->bytes) {
      at -= stretch->bytes;
      continue;
    }
    const gsize now = (gsize) MIN (bytes, stretch->bytes - at);
    const int file = td_file_open (stretch->path, NULL);
    const int code = file < 0 ? errno : td_file_read (file, to, now, stretch->offset + at);
    if (file >= 0)
      close (file);
    if (code != 0)
      return code;
    to += now;
    bytes -= now;
    at = 0;
  }
  return bytes == 0 ? 0 : ENODATA;
}

static int
h5_storage_read_frame (gconstpointer user, guint frame, guint64 skip, void *to, gsize bytes)
{
  const TdH5Storage *storage = user;
  const guint64 frame_bytes
      = (guint64) storage->shape[1] * storage->shape[2] * td_sample_size (storage->type);
  const guint64 at = frame * frame_bytes + skip;

  return storage->stretches ? h5_storage_read_stretches (storage, to, bytes, at)
                            : td_file_read (storage->file, to, bytes, storage->offset + at);
}

/* ── Chunks ── */

/* One chunk, and the frames of the range that it holds. */
typedef struct {
  guint64 at;
  guint32 bytes, skipped; /* as stored; filters that were left out, by bits */
  guint column;           /* its first */
  guint row;
  guint first, count; /* frames of the range */
} StoredChunk;

typedef struct {
  const TdH5Storage *storage;
  const guint *indices;
  const TdFrameRange *range;
  const TdFrameTarget *target;
  GArray *chunks; /* StoredChunk */
  gsize chunk_bytes, largest_bytes;
  GMutex lock;
  TdStoredFailure failure; /* bytes that are not there; under the lock */
} ChunkRead;

static guint
chunk_read_frame (const ChunkRead *read, guint i)
{
  return read->indices ? read->indices[i] : read->range->first + i;
}

/* Looks one depth of chunks up. FALSE: one of them is not there. Under the library's lock. */
static gboolean
chunk_read_find_depth (ChunkRead *read, guint first, guint count)
{
  const TdH5Storage *storage = read->storage;
  const guint depth = chunk_read_frame (read, first) / storage->chunk[0] * storage->chunk[0];
  const guint end = read->range->row0 + read->range->n_rows;

  for (guint row = read->range->row0 / storage->chunk[1] * storage->chunk[1]; row < end;
       row += storage->chunk[1])
    for (guint column = 0; column < storage->shape[2]; column += storage->chunk[2]) {
      const hsize_t place[3] = { depth, row, column };
      hsize_t all[H5S_MAX_RANK];
      haddr_t address = HADDR_UNDEF;
      unsigned mask = 0;
      hsize_t bytes = 0;

      td_h5_dimensions_spread (&storage->dimensions, place, 0, all);
      if (H5Dget_chunk_info_by_coord (storage->dataset, all, &mask, &address, &bytes) < 0
          || address == HADDR_UNDEF || bytes == 0 || bytes > 2 * MAX_CHUNK_BYTES)
        return FALSE;
      const StoredChunk chunk = { address, (guint32) bytes, mask, column, row, first, count };
      g_array_append_val (read->chunks, chunk);
      read->largest_bytes = MAX (read->largest_bytes, (gsize) bytes);
    }
  return TRUE;
}

static gboolean
chunk_read_find (ChunkRead *read)
{
  TD_H5_GUARD;
  const guint depth = read->storage->chunk[0];

  for (guint i = 0, n; i < read->range->count; i += n) {
    const guint frame = chunk_read_frame (read, i);

    for (n = 1;
         i + n < read->range->count && chunk_read_frame (read, i + n) / depth == frame / depth; n++)
      ;
    if (!chunk_read_find_depth (read, i, n))
      return FALSE;
  }
  return TRUE;
}

/* Bytes of one significance lie together; the rest, less than a sample, is as it was. */
static void
chunk_unshuffle (const guint8 *from, gsize bytes, gsize size, guint8 *to)
{
  const gsize n = bytes / size;

  switch (size) {
  case 2:
    for (gsize i = 0; i < n; i++) {
      to[2 * i] = from[i];
      to[2 * i + 1] = from[n + i];
    }
    break;
  case 4:
    for (gsize i = 0; i < n; i++)
      for (gsize k = 0; k < 4; k++)
        to[4 * i + k] = from[k * n + i];
    break;
  default:
    for (gsize i = 0; i < n; i++)
      for (gsize k = 0; k < size; k++)
        to[size * i + k] = from[k * n + i];
  }
  memcpy (to + n * size, from + n * size, bytes - n * size);
}

/* The thread's memory: two buffers to unpack between. The first holds the chunk as stored, too. */
typedef struct {
  guint8 *stored, *other;
} ChunkBuffers;

static gboolean
chunk_inflate (const guint8 *from, gsize bytes, guint8 *to, gsize room)
{
  struct libdeflate_decompressor *inflate = libdeflate_alloc_decompressor ();
  gsize done = 0;
  const gboolean good
      = inflate
        && libdeflate_zlib_decompress (inflate, from, bytes, to, room, &done) == LIBDEFLATE_SUCCESS
        && done == room;

  if (inflate)
    libdeflate_free_decompressor (inflate);
  return good;
}

/* Undoes the filters, the last that was applied first. NULL: the chunk is damaged or unusual. */
static const guint8 *
chunk_decode (const ChunkRead *read, const StoredChunk *chunk, const ChunkBuffers *buffers)
{
  const TdH5Storage *storage = read->storage;
  const guint8 *from = buffers->stored;
  gsize bytes = chunk->bytes;

  for (int i = storage->n_filters; i-- > 0;) {
    guint8 *to = from == buffers->stored ? buffers->other : buffers->stored;

    if (chunk->skipped & (1u << i))
      continue;
    if (storage->filters[i] != H5Z_FILTER_SHUFFLE) {
      if (!(storage->filters[i] == H5Z_FILTER_DEFLATE ? chunk_inflate : td_h5_lzf_unpack) (
              from, bytes, to, read->chunk_bytes))
        return NULL;
      bytes = read->chunk_bytes;
    } else {
      if (bytes > read->chunk_bytes)
        return NULL;
      chunk_unshuffle (from, bytes, td_sample_size (storage->type), to);
    }
    from = to;
  }
  return bytes == read->chunk_bytes ? from : NULL;
}

/* What the range takes of each frame in a chunk: rows [row0, row1) of the data set. */
typedef struct {
  guint row0, row1;
  gsize row_bytes, frame_bytes; /* of the chunk */
} ChunkRows;

static ChunkRows
chunk_rows (const ChunkRead *read, const StoredChunk *chunk)
{
  const TdH5Storage *storage = read->storage;
  const gsize row_bytes = storage->chunk[2] * td_sample_size (storage->type);

  return (
      ChunkRows) { MAX (chunk->row, read->range->row0),
                   MIN (chunk->row + storage->chunk[1], read->range->row0 + read->range->n_rows),
                   row_bytes, storage->chunk[1] * row_bytes };
}

/* The rows of frame @i of the range, which begin at @samples, to their places. */
static void
chunk_deliver (const ChunkRead *read, const StoredChunk *chunk, const ChunkRows *rows, guint i,
               const guint8 *samples)
{
  const TdH5Storage *storage = read->storage;
  const guint columns = MIN (storage->chunk[2], storage->shape[2] - chunk->column);

  for (guint row = rows->row0; row < rows->row1; row++, samples += rows->row_bytes)
    td_frame_target_put (
        read->target, storage->type, storage->swap, samples, columns,
        td_frame_target_sample (read->target, i, row - read->range->row0, chunk->column));
}

/* Where in the chunk the rows of frame @i begin. */
static gsize
chunk_rows_at (const ChunkRead *read, const StoredChunk *chunk, const ChunkRows *rows, guint i)
{
  return chunk_read_frame (read, i) % read->storage->chunk[0] * rows->frame_bytes
         + (rows->row0 - chunk->row) * rows->row_bytes;
}

static gboolean
chunk_fetch (ChunkRead *read, const StoredChunk *chunk, void *to, gsize bytes, guint64 skip)
{
  const int code = td_file_read (read->storage->file, to, bytes, chunk->at + skip);

  if (code == 0)
    return TRUE;
  g_mutex_lock (&read->lock);
  read->failure = (TdStoredFailure) { chunk_read_frame (read, chunk->first), code };
  g_mutex_unlock (&read->lock);
  return FALSE;
}

/* Of a chunk without filters only what is wanted is read. */
static gboolean
chunk_read_plain (ChunkRead *read, const StoredChunk *chunk, guint8 *scratch)
{
  const ChunkRows rows = chunk_rows (read, chunk);

  if (chunk->bytes != read->chunk_bytes)
    return FALSE;
  for (guint i = chunk->first; i < chunk->first + chunk->count; i++) {
    if (!chunk_fetch (read, chunk, scratch, (rows.row1 - rows.row0) * rows.row_bytes,
                      chunk_rows_at (read, chunk, &rows, i)))
      return FALSE;
    chunk_deliver (read, chunk, &rows, i, scratch);
  }
  return TRUE;
}

static gboolean
chunk_read_packed (ChunkRead *read, const StoredChunk *chunk, guint8 *scratch)
{
  const ChunkRows rows = chunk_rows (read, chunk);
  const ChunkBuffers buffers = { scratch, scratch + MAX (read->largest_bytes, read->chunk_bytes) };
  const guint8 *samples = chunk_fetch (read, chunk, buffers.stored, chunk->bytes, 0)
                              ? chunk_decode (read, chunk, &buffers)
                              : NULL;

  for (guint i = chunk->first; samples && i < chunk->first + chunk->count; i++)
    chunk_deliver (read, chunk, &rows, i, samples + chunk_rows_at (read, chunk, &rows, i));
  return samples != NULL;
}

static gboolean
chunk_read_piece (guint index, gpointer scratch, gpointer user, GError **error)
{
  ChunkRead *read = user;
  const StoredChunk *chunk = &g_array_index (read->chunks, StoredChunk, index);
  const gboolean good = read->storage->n_filters > 0 ? chunk_read_packed (read, chunk, scratch)
                                                     : chunk_read_plain (read, chunk, scratch);

  return good
         || td_set_error (error, TD_ERROR_BAD_FILE, "A chunk at byte %" PRIu64 " is damaged",
                          chunk->at);
}

static gboolean
h5_storage_read_chunks (const TdH5Storage *storage, const guint *indices, const TdFrameRange *range,
                        const TdFrameTarget *target, TdStoredFailure *failure,
                        GCancellable *cancellable, GError **error)
{
  g_autoptr (GArray) chunks = g_array_new (FALSE, FALSE, sizeof (StoredChunk));
  ChunkRead read = {
    .storage = storage,
    .indices = indices,
    .range = range,
    .target = target,
    .chunks = chunks,
    .chunk_bytes = (gsize) storage->chunk[0] * storage->chunk[1] * storage->chunk[2]
                   * td_sample_size (storage->type),
  };

  if (!chunk_read_find (&read))
    return FALSE;
  const TdStorageWork work
      = { chunks->len,
          storage->n_filters > 0 ? MAX (read.largest_bytes, read.chunk_bytes) + read.chunk_bytes
                                 : read.largest_bytes,
          chunk_read_piece, &read };
  g_mutex_init (&read.lock);
  const gboolean good = td_storage_run (&work, cancellable, error);
  g_mutex_clear (&read.lock);
  *failure = read.failure;
  return good;
}

/* ── Reading ── */

TdH5StorageResult
td_h5_storage_read (TdH5Storage *storage, const guint *indices, const TdFrameRange *range,
                    const TdFrameTarget *target, TdStoredFailure *failure,
                    GCancellable *cancellable, GError **error)
{
  const TdStoredFrames frames = { storage->shape[1], storage->shape[2],     storage->type,
                                  storage->swap,     h5_storage_read_frame, storage };
  g_autoptr (GError) reason = NULL;

  *failure = (TdStoredFailure) { 0 };
  if (storage->chunked
          ? h5_storage_read_chunks (storage, indices, range, target, failure, cancellable, &reason)
          : td_stored_frames_read (&frames, indices, range, target, failure, cancellable, &reason))
    return TD_H5_STORAGE_READ;
  if (reason && reason->domain == G_IO_ERROR) {
    g_propagate_error (error, g_steal_pointer (&reason));
    return TD_H5_STORAGE_FAILED;
  }
  return failure->code != 0 ? TD_H5_STORAGE_SHORT : TD_H5_STORAGE_UNREAD;
}
