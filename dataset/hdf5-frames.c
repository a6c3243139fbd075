/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hdf5-frames.h"

#include <string.h>

#include "error.h"
#include "frame-target.h"
#include "hdf5-filters.h"
#include "hdf5-storage.h"
#include "sample.h"
#include "scan-private.h"

/* The lock is held, and cancelling waits, for one piece of this size. */
#define PIECE_BYTES ((gsize) 16 << 20)
#define CHUNK_CACHE_BYTES ((gsize) 64 << 20)

struct TdH5Frames {
  hid_t dataset;
  char *name; /* for messages: “FILE”: /path */
  TdH5Dimensions dimensions;
  TdH5FramesFacts facts;
  gboolean by_rows;     /* stored [row][frame][column] */
  gboolean external;    /* its samples are in raw files */
  guint chunk_depth;    /* of the first dimension: what is unpacked together; 1 if not chunked */
  gboolean by_library;  /* samples that the library turns into float (int64, half, …) */
  TdH5Storage *storage; /* reads without the library; NULL: nothing but the library can */
};

static gboolean
hdf5_frames_refuse (TdH5Frames *frames, GError **error, TdErrorCode code, const char *why)
{
  return td_set_error (error, code, "%s %p", frames->name, td_message_unpack (why));
}

static gboolean
find_type (TdH5Frames *frames, GError **error)
{
  g_auto (TdH5Id) type = H5Dget_type (frames->dataset);
  g_auto (TdH5Id) native = type < 0 ? -1 : H5Tget_native_type (type, H5T_DIR_ASCEND);
  H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class (type);

  if (class != H5T_INTEGER && class != H5T_FLOAT)
    return hdf5_frames_refuse (frames, error, TD_ERROR_UNSUPPORTED, N_ ("holds no numbers"));
  frames->facts.type = class == H5T_INTEGER ? TD_SAMPLE_INT32 : TD_SAMPLE_FLOAT32;
  frames->by_library = TRUE;
  for (guint i = TD_SAMPLE_UINT8; i <= TD_SAMPLE_FLOAT64; i++)
    if (native >= 0 && H5Tequal (native, td_h5_native_type (i)) > 0
        && H5Tget_size (type) == td_sample_size (i)) {
      frames->facts.type = i;
      frames->by_library = FALSE;
    }
  return TRUE;
}

static gboolean
find_shape (TdH5Frames *frames, GError **error)
{
  g_auto (TdH5Id) space = H5Dget_space (frames->dataset);
  hsize_t shape[3];
  guint64 limit = G_MAXINT32;

  if (!td_h5_dimensions (space, &frames->dimensions, shape))
    return hdf5_frames_refuse (
        frames, error, TD_ERROR_UNSUPPORTED,
        N_ ("does not have the three dimensions frame, row and column; write "
            "it with these"));
  if (shape[0] == 0 || shape[1] == 0 || shape[2] == 0)
    return hdf5_frames_refuse (frames, error, TD_ERROR_BAD_FILE, N_ ("is empty"));
  if (shape[0] > limit || shape[1] > limit || shape[2] > limit || shape[1] * shape[2] > limit
      || shape[frames->by_rows ? 1 : 0] > TD_SCAN_MAX_FRAMES)
    return hdf5_frames_refuse (frames, error, TD_ERROR_TOO_LARGE,
                               N_ ("states a size that cannot be"));
  frames->facts.n_frames = shape[frames->by_rows ? 1 : 0];
  frames->facts.n_rows = shape[frames->by_rows ? 0 : 1];
  frames->facts.n_columns = shape[2];
  return TRUE;
}

static gboolean
check_storage (TdH5Frames *frames, TdH5FramesFlags flags, GError **error)
{
  g_auto (TdH5Id) properties = H5Dget_create_plist (frames->dataset);
  H5D_layout_t layout = properties < 0 ? H5D_LAYOUT_ERROR : H5Pget_layout (properties);
  hsize_t all[H5S_MAX_RANK], chunk[3] = { 1, 1, 1 };

  if (layout == H5D_LAYOUT_ERROR)
    return hdf5_frames_refuse (frames, error, TD_ERROR_BAD_FILE, N_ ("is damaged"));
  if (!td_h5_absent_find (&frames->facts.absent, frames->dataset, frames->by_rows ? 1 : 0,
                          flags & TD_H5_FRAMES_EXTERNAL, error))
    return FALSE;
  if (frames->facts.absent.n_absent == frames->facts.n_frames)
    return td_set_error (error, TD_ERROR_BAD_FILE, "%s holds none of its frames: %p", frames->name,
                         td_message_unpack (frames->facts.absent.why));
  frames->external = layout == H5D_CONTIGUOUS && H5Pget_external_count (properties) > 0;
  if (layout == H5D_CHUNKED && H5Pget_chunk (properties, H5S_MAX_RANK, all) > 0)
    td_h5_dimensions_pick (&frames->dimensions, all, chunk);
  frames->chunk_depth = CLAMP (chunk[0], 1, G_MAXINT32);
  return td_h5_filters_check (frames->dataset, frames->name, error);
}

/* Chunks of several frames are kept, since each frame would unpack them anew. Raw files are looked
   for in the folder of their HDF5 file. The library takes such settings only when it opens a data
   set that is not open elsewhere. */
static gboolean
reopen_with_access (TdH5Frames *frames, GError **error)
{
  const gssize length = H5Iget_name (frames->dataset, NULL, 0);

  if ((frames->chunk_depth < 2 && !frames->external) || length <= 0)
    return TRUE;
  g_autofree char *path = g_malloc0 (length + 1);
  H5Iget_name (frames->dataset, path, length + 1);
  g_auto (TdH5Id) file = H5Iget_file_id (frames->dataset);
  g_auto (TdH5Id) access = H5Pcreate (H5P_DATASET_ACCESS);
  H5Pset_chunk_cache (access, 12421, CHUNK_CACHE_BYTES, 1);
  if (frames->external)
    td_h5_set_raw_folder (access);
  td_h5_close (frames->dataset);
  frames->dataset = H5Dopen2 (file, path, access);
  return frames->dataset >= 0
         || hdf5_frames_refuse (frames, error, TD_ERROR_BAD_FILE, N_ ("cannot be opened again"));
}

TdH5Frames *
td_h5_frames_new (hid_t dataset, const char *name, TdH5FramesFlags flags, GError **error)
{
  TD_H5_GUARD;
  g_autoptr (TdH5Frames) frames = g_new0 (TdH5Frames, 1);

  frames->dataset = dataset;
  frames->name = g_strdup (name);
  frames->chunk_depth = 1;
  frames->by_rows = (flags & TD_H5_FRAMES_BY_ROWS) != 0;
  if (!find_shape (frames, error) || !find_type (frames, error)
      || !check_storage (frames, flags, error) || !reopen_with_access (frames, error))
    return NULL;
  frames->storage = td_h5_storage_new (frames->dataset);
  frames->facts.rows_together
      = frames->storage ? td_h5_storage_together (frames->storage, frames->by_rows ? 0 : 1) : 1;
  frames->facts.unpack_bytes = frames->storage ? td_h5_storage_scratch_bytes (frames->storage) : 0;
  return g_steal_pointer (&frames);
}

void
td_h5_frames_free (TdH5Frames *frames)
{
  td_h5_storage_free (frames->storage);
  td_h5_close (frames->dataset);
  td_h5_absent_clear (&frames->facts.absent);
  g_free (frames->name);
  g_free (frames);
}

const TdH5FramesFacts *
td_h5_frames_facts (const TdH5Frames *frames)
{
  return &frames->facts;
}

/* The library would give fill values for what is not there. */
static gboolean
check_present (const TdH5Frames *frames, guint first, guint count, GError **error)
{
  for (guint i = first; frames->facts.absent.frames && i < first + count; i++)
    if (frames->facts.absent.frames[i])
      return td_set_error (error, TD_ERROR_BAD_FILE, "%s: frame %u is missing: %p", frames->name, i,
                           td_message_unpack (frames->facts.absent.why));
  return TRUE;
}

/* Ranges below are in the file's order: frames of the first dimension, rows of the second. A data
 * set opened by rows therefore has its rows as the ranges' frames. */

static gboolean
hdf5_frames_say_damaged (const TdH5Frames *frames, guint stored, GError **error)
{
  return td_set_error (error, TD_ERROR_BAD_FILE,
                       frames->by_rows
                           ? N_ ("%s: row %u cannot be read; the file is damaged or cut short")
                           : N_ ("%s: frame %u cannot be read; the file is damaged or cut short"),
                       frames->name, stored);
}

/* Reads @range in one call of the library. */
static gboolean
hdf5_frames_read_piece (TdH5Frames *frames, const TdFrameRange *range, void *buffer, float *out,
                        GError **error)
{
  TD_H5_GUARD;
  const hsize_t start[3] = { range->first, range->row0, 0 };
  const hsize_t size[3] = { range->count, range->n_rows, frames->facts.n_columns };
  hsize_t all_start[H5S_MAX_RANK], all_size[H5S_MAX_RANK];
  g_auto (TdH5Id) file_space = H5Dget_space (frames->dataset);
  g_auto (TdH5Id) memory_space = H5Screate_simple (3, size, NULL);
  gboolean direct = frames->by_library || frames->facts.type == TD_SAMPLE_FLOAT32;
  hid_t type = direct ? H5T_NATIVE_FLOAT : td_h5_native_type (frames->facts.type);

  if (!check_present (frames, frames->by_rows ? range->row0 : range->first,
                      frames->by_rows ? range->n_rows : range->count, error))
    return FALSE;
  td_h5_dimensions_spread (&frames->dimensions, start, 0, all_start);
  td_h5_dimensions_spread (&frames->dimensions, size, 1, all_size);
  if (file_space < 0 || memory_space < 0
      || H5Sselect_hyperslab (file_space, H5S_SELECT_SET, all_start, NULL, all_size, NULL) < 0
      || H5Dread (frames->dataset, type, memory_space, file_space, H5P_DEFAULT,
                  direct ? (void *) out : buffer)
             < 0)
    return hdf5_frames_say_damaged (frames, range->first, error);
  if (!direct)
    td_samples_to_float (frames->facts.type, FALSE, buffer,
                         (gsize) range->count * range->n_rows * frames->facts.n_columns, out);
  return TRUE;
}

/* How many from @at on to read at once: no more than a piece, ending where chunks end. */
static guint
piece_length (const TdH5Frames *frames, guint at, guint left, gsize band_bytes)
{
  guint most = (guint) CLAMP (PIECE_BYTES / band_bytes, 1, left);
  guint over = (at + most) % frames->chunk_depth;

  return most == left || over >= most ? most : most - over;
}

/* Reads @range, or the frames @indices[0] … in place of the range's, in the file's order. */
static gboolean
hdf5_frames_read_stored (TdH5Frames *frames, const guint *indices, const TdFrameRange *range,
                         float *out, GCancellable *cancellable, GError **error)
{
  gsize band = (gsize) range->n_rows * frames->facts.n_columns;
  gsize band_bytes = band * MAX (td_sample_size (frames->facts.type), sizeof (float));
  g_autofree void *buffer = NULL;

  if (frames->facts.type != TD_SAMPLE_FLOAT32 && !frames->by_library) {
    buffer = g_try_malloc (MAX (PIECE_BYTES, band_bytes));
    if (!buffer)
      return hdf5_frames_refuse (frames, error, TD_ERROR_TOO_LARGE,
                                 N_ ("needs more memory to be read than is free"));
  }
  for (guint done = 0; done < range->count;) {
    guint at = indices ? indices[done] : range->first + done, run = 1;

    if (g_cancellable_set_error_if_cancelled (cancellable, error))
      return FALSE;
    while (done + run < range->count && (!indices || indices[done + run] == at + run))
      run++;
    run = piece_length (frames, at, run, band_bytes);
    const TdFrameRange piece = { range->kind, at, run, range->row0, range->n_rows };
    if (!hdf5_frames_read_piece (frames, &piece, buffer, out + done * band, error))
      return FALSE;
    done += run;
  }
  return TRUE;
}

/* A row that the library made floats of. */
static void
hdf5_frames_put (const TdH5Frames *frames, const TdFrameTarget *target, const float *row, void *to)
{
  if (target->stored_bytes)
    td_samples_from_float (frames->facts.type, 0, 1, row, frames->facts.n_columns, to);
  else
    memcpy (to, row, frames->facts.n_columns * sizeof *row);
}

/* Reads @range a block of frames after another by the library, and takes their rows to where they
   are wanted. */
static gboolean
hdf5_frames_read_blocks (TdH5Frames *frames, const guint *indices, const TdFrameRange *range,
                         const TdFrameTarget *target, GCancellable *cancellable, GError **error)
{
  const gsize columns = frames->facts.n_columns, n_rows = range->n_rows;
  guint block = (guint) CLAMP (PIECE_BYTES / (n_rows * columns * sizeof (float)), 1, range->count);

  if (!target->stored_bytes && target->row_step == columns
      && target->frame_step == n_rows * columns)
    return hdf5_frames_read_stored (frames, indices, range, target->values, cancellable, error);
  g_autofree float *stored = g_try_new (float, block *n_rows *columns);
  if (!stored)
    return hdf5_frames_refuse (frames, error, TD_ERROR_TOO_LARGE,
                               N_ ("needs more memory to be read than is free"));
  for (guint done = 0; done < range->count; done += block) {
    const guint now = MIN (block, range->count - done);
    const TdFrameRange part = { range->kind, range->first + done, now, range->row0, range->n_rows };

    if (!hdf5_frames_read_stored (frames, indices ? indices + done : NULL, &part, stored,
                                  cancellable, error))
      return FALSE;
    for (gsize i = 0; i < now; i++)
      for (gsize j = 0; j < n_rows; j++)
        hdf5_frames_put (frames, target, stored + (i * n_rows + j) * columns,
                         td_frame_target_row (target, done + i, j));
  }
  return TRUE;
}

/* @range in the file's order. By their places where these are known; what cannot be read so, the
   library reads, or says what is wrong with it. */
static gboolean
hdf5_frames_read_range (TdH5Frames *frames, const guint *indices, const TdFrameRange *range,
                        const TdFrameTarget *target, GCancellable *cancellable, GError **error)
{
  TdH5StorageResult result = TD_H5_STORAGE_UNREAD;
  TdStoredFailure failure;

  if (frames->by_rows && !check_present (frames, range->row0, range->n_rows, error))
    return FALSE;
  for (guint i = 0; !frames->by_rows && i < range->count; i++)
    if (!check_present (frames, indices ? indices[i] : range->first + i, 1, error))
      return FALSE;
  if (frames->storage)
    result = td_h5_storage_read (frames->storage, indices, range, target, &failure, cancellable,
                                 error);
  if (result == TD_H5_STORAGE_SHORT)
    return hdf5_frames_say_damaged (frames, failure.frame, error);
  return result == TD_H5_STORAGE_READ
         || (result == TD_H5_STORAGE_UNREAD
             && hdf5_frames_read_blocks (frames, indices, range, target, cancellable, error));
}

/* @range and @target: of frames as they are seen. */
gboolean
td_h5_frames_fill (TdH5Frames *frames, const guint *indices, const TdFrameRange *range,
                   const TdFrameTarget *target, GCancellable *cancellable, GError **error)
{
  const TdFrameRange stored
      = { range->kind, range->row0, range->n_rows, range->first, range->count };
  const TdFrameTarget turned = td_frame_target_turned (target);

  if (!frames->by_rows)
    return hdf5_frames_read_range (frames, indices, range, target, cancellable, error);
  if (!indices)
    return hdf5_frames_read_range (frames, NULL, &stored, &turned, cancellable, error);
  for (guint i = 0; i < range->count; i++) { /* flats and darks of which some are missing */
    const TdFrameRange one = { range->kind, range->row0, range->n_rows, indices[i], 1 };
    const TdFrameTarget place
        = { td_frame_target_row (target, i, 0), target->row_step, 0, target->stored_bytes };
    if (!hdf5_frames_read_range (frames, NULL, &one, &place, cancellable, error))
      return FALSE;
  }
  return TRUE;
}
