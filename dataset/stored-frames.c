/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stored-frames.h"

#include <string.h>

#include "error.h"
#include "storage-threads.h"

/* What a thread reads at once: enough for a disk, little enough to be still in the processor's
 * cache when it is converted. */
#define PIECE_BYTES ((gsize) 512 << 10)

/* As they are, in this computer's byte order. */
static void
samples_copy (TdSampleType type, gboolean swap, const void *from, gsize n, void *to)
{
  const gsize size = td_sample_size (type);
  const guint8 *source = from;
  guint8 *bytes = to;

  if (!swap || size == 1)
    memcpy (to, from, n * size);
  else
    for (gsize i = 0; i < n * size; i += size)
      for (gsize k = 0; k < size; k++)
        bytes[i + k] = source[i + size - 1 - k];
}

void
td_frame_target_put (const TdFrameTarget *target, TdSampleType type, gboolean swap,
                     const void *from, gsize n, void *to)
{
  if (target->stored_bytes)
    samples_copy (type, swap, from, n, to);
  else
    td_samples_to_float (type, swap, from, n, to);
}

/* A read cut into pieces: some rows of a frame each. */
typedef struct {
  const TdStoredFrames *frames;
  const guint *indices;
  const TdFrameRange *range;
  const TdFrameTarget *target;
  guint piece_rows; /* of a piece */
  guint parts;      /* pieces a frame */
  GMutex lock;
  TdStoredFailure failure; /* of the first frame; under the lock */
  gboolean failed;
} StoredRead;

static void
stored_read_fail (StoredRead *read, guint frame, int code)
{
  g_mutex_lock (&read->lock);
  if (!read->failed || frame < read->failure.frame)
    read->failure = (TdStoredFailure) { frame, code };
  read->failed = TRUE;
  g_mutex_unlock (&read->lock);
}

static gboolean
stored_read_piece (guint index, gpointer scratch, gpointer user, GError **error)
{
  StoredRead *read = user;
  const TdStoredFrames *frames = read->frames;
  const TdFrameRange *range = read->range;
  const gsize size = td_sample_size (frames->type), row_bytes = frames->n_columns * size;
  const guint i = index / read->parts;
  const guint frame = read->indices ? read->indices[i] : range->first + i;
  const guint row = index % read->parts * read->piece_rows;
  const guint n_rows = MIN (read->piece_rows, range->n_rows - row);

  const int code = frames->read (frames->user, frame, (range->row0 + row) * (guint64) row_bytes,
                                 scratch, n_rows * row_bytes);

  if (code != 0) {
    stored_read_fail (read, frame, code);
    return td_set_error (error, TD_ERROR_IO, "Frame %u cannot be read", frame);
  }
  for (guint r = 0; r < n_rows; r++)
    td_frame_target_put (read->target, frames->type, frames->swap,
                         (guint8 *) scratch + r * row_bytes, frames->n_columns,
                         td_frame_target_row (read->target, i, row + r));
  return TRUE;
}

gboolean
td_stored_frames_read (const TdStoredFrames *frames, const guint *indices,
                       const TdFrameRange *range, const TdFrameTarget *target,
                       TdStoredFailure *failure, GCancellable *cancellable, GError **error)
{
  const gsize row_bytes = frames->n_columns * td_sample_size (frames->type);
  const guint piece_rows = (guint) CLAMP (PIECE_BYTES / row_bytes, 1, range->n_rows);
  const guint parts = (range->n_rows + piece_rows - 1) / piece_rows;
  StoredRead read = { .frames = frames,
                      .indices = indices,
                      .range = range,
                      .target = target,
                      .piece_rows = piece_rows,
                      .parts = parts };
  const TdStorageWork work = { .count = range->count * parts,
                               .scratch_bytes = piece_rows * row_bytes,
                               .body = stored_read_piece,
                               .user = &read,
                               .small = piece_rows * row_bytes < PIECE_BYTES / 2 };
  g_autoptr (GError) reason = NULL;

  g_mutex_init (&read.lock);
  const gboolean good = td_storage_run (&work, cancellable, &reason);
  g_mutex_clear (&read.lock);
  *failure = read.failure;
  if (!good && !read.failed)
    g_propagate_error (error, g_steal_pointer (&reason));
  return good;
}
