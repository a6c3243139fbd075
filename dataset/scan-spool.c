/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-spool.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "file-bytes.h"
#include "scan-private.h"
#include "storage-threads.h"
#include "stored-frames.h"

#define PIECE_VALUES ((gsize) 1 << 18)   /* that a thread stores at once */
#define PORTION_BYTES ((gsize) 16 << 20) /* copied at once */
#define N_KINDS 3

/* Frames of one kind: those before @done are there. */
typedef struct {
  guint n, done;
  guint base; /* number of the first among the frames of all kinds */
} Frames;

typedef struct {
  TdScan *scan;
  guint row0, n_rows;
  gsize n_columns;
  gboolean in_memory;
  GRWLock lock; /* all below; readers of the copy hold it while they read */
  Frames frames[N_KINDS];
  TdSampleType type; /* as copied */
  gint64 took_us;    /* making what is there */
  guint8 *values;    /* [frame][row][column]; NULL: in the file, or nothing yet */
  int file;          /* -1: none */
} Spool;

/* ── The copy ── */

guint64
td_scan_spool_bytes (const TdScanFacts *facts, guint n_rows, TdSampleType type)
{
  return ((guint64) facts->n_views + facts->n_flats + facts->n_darks) * n_rows * facts->n_columns
         * td_sample_size (type);
}

guint64
td_scan_spool_work_bytes (const TdScanFacts *facts, guint n_rows)
{
  const guint64 frame = (guint64) facts->n_rows * facts->n_columns * sizeof (float);

  /* A portion here, and one where frames are turned. */
  return 2
         * MIN (MAX (PORTION_BYTES, frame),
                td_scan_spool_bytes (facts, facts->n_rows, TD_SAMPLE_FLOAT32));
}

static gboolean
is_there (const Spool *spool)
{
  return spool->values || spool->file >= 0;
}

static gboolean
make_room (Spool *spool, GError **error)
{
  const guint64 bytes
      = td_scan_spool_bytes (td_scan_facts (spool->scan), spool->n_rows, spool->type);

  if (is_there (spool))
    return TRUE;
  if (spool->in_memory) {
    spool->values = g_try_malloc (bytes);
    if (!spool->values)
      td_set_error (error, TD_ERROR_IO,
                    "Not enough memory for the %" PRIu64 " MiB of the scan's frames.", bytes >> 20);
    return spool->values != NULL;
  }
  spool->file = td_file_temporary (N_ ("The scan's frames, each read once,"), bytes, error);
  return spool->file >= 0;
}

static void
scan_spool_drop (Spool *spool)
{
  g_clear_pointer (&spool->values, g_free);
  if (spool->file >= 0)
    close (spool->file);
  spool->file = -1;
  spool->took_us = 0;
  for (guint i = 0; i < N_KINDS; i++)
    spool->frames[i].done = 0;
}

static gboolean
scan_spool_say (int code, GError **error)
{
  return code == 0
         || td_set_error (error, TD_ERROR_IO,
                          "The temporary file of the scan's frames in %s failed: %s; set TMPDIR to "
                          "another disk.",
                          g_get_tmp_dir (), g_strerror (code));
}

/* Values on their way into the copy. */
typedef struct {
  Spool *spool;
  const float *values;
  gsize n;
  guint64 at;   /* of the first, in values */
  gint inexact; /* atomic: some value is none of the type that is copied */
} Portion;

static gboolean
spool_portion_store (guint index, gpointer scratch, gpointer user, GError **error)
{
  Portion *portion = user;
  const Spool *spool = portion->spool;
  const gsize skip = index * PIECE_VALUES, n = MIN (PIECE_VALUES, portion->n - skip);
  const gsize size = td_sample_size (spool->type);
  const float *values = portion->values + skip;
  const guint64 at = (portion->at + skip) * size;
  float *again = scratch;
  guint8 *stored = (guint8 *) (again + PIECE_VALUES);

  td_samples_from_float (spool->type, 0, 1, values, n, stored);
  td_samples_to_float (spool->type, FALSE, stored, n, again);
  if (memcmp (again, values, n * sizeof *values) != 0)
    g_atomic_int_set (&portion->inexact, TRUE);
  if (!spool->values)
    return scan_spool_say (td_file_write (spool->file, stored, n * size, at), error);
  memcpy (spool->values + at, stored, n * size);
  return TRUE;
}

/* Under the writer's lock. What a cancelled call has copied stays. @inexact: the frames are no
   samples of the copy's type. */
static gboolean
copy_frames (Spool *spool, TdFrameKind kind, gboolean *inexact, GCancellable *cancellable,
             GError **error)
{
  Frames *frames = &spool->frames[kind];
  const gsize frame = spool->n_rows * spool->n_columns;
  const guint portion
      = (guint) CLAMP (PORTION_BYTES / (frame * sizeof (float)), 1, MAX (frames->n, 1));
  g_autofree float *values = g_try_new (float, portion *frame);

  if (!values)
    return td_set_error (error, TD_ERROR_IO, "Not enough memory for a frame of %zu × %u pixels.",
                         spool->n_columns, spool->n_rows);
  while (frames->done < frames->n && !*inexact) {
    const guint n = MIN (portion, frames->n - frames->done);
    Portion now = { spool, values, n * frame, (guint64) (frames->base + frames->done) * frame, 0 };
    const TdStorageWork work = { (guint) ((now.n + PIECE_VALUES - 1) / PIECE_VALUES),
                                 2 * PIECE_VALUES * sizeof (float), spool_portion_store, &now };

    if (!td_scan_read (spool->scan,
                       &(TdFrameRange) { kind, frames->done, n, spool->row0, spool->n_rows },
                       values, cancellable, error)
        || !td_storage_run (&work, cancellable, error))
      return FALSE;
    frames->done += n;
    *inexact = now.inexact;
  }
  return TRUE;
}

/* Under the writer's lock. */
static gboolean
scan_spool_fill (Spool *spool, TdFrameKind kind, GCancellable *cancellable, GError **error)
{
  const gint64 start_us = g_get_monotonic_time ();
  gboolean inexact = FALSE;

  if (!make_room (spool, error))
    return FALSE;
  if (spool->frames[kind].done == spool->frames[kind].n)
    return TRUE;
  const gboolean ok = copy_frames (spool, kind, &inexact, cancellable, error);
  spool->took_us += g_get_monotonic_time () - start_us;
  if (!ok)
    return FALSE;
  if (!inexact)
    return TRUE;
  scan_spool_drop (spool);
  spool->type = TD_SAMPLE_FLOAT32;
  return scan_spool_fill (spool, kind, cancellable, error);
}

/* TRUE: the reader's lock is held, and the frames of @kind are there. Another kind's may turn out
   to be no samples of the copy's type as long as nobody holds it, and all are copied anew. */
static gboolean
scan_spool_begin_read (Spool *spool, TdFrameKind kind, GCancellable *cancellable, GError **error)
{
  for (;;) {
    g_rw_lock_reader_lock (&spool->lock);
    if (is_there (spool) && spool->frames[kind].done == spool->frames[kind].n)
      return TRUE;
    g_rw_lock_reader_unlock (&spool->lock);
    g_rw_lock_writer_lock (&spool->lock);
    const gboolean filled = scan_spool_fill (spool, kind, cancellable, error);
    g_rw_lock_writer_unlock (&spool->lock);
    if (!filled)
      return FALSE;
  }
}

/* ── The scan ── */

/* As TdStoredFrames.read has it. */
static int
scan_spool_read_bytes (gconstpointer user, guint frame, guint64 skip, void *to, gsize bytes)
{
  const Spool *spool = user;
  const guint64 at
      = (guint64) frame * spool->n_rows * spool->n_columns * td_sample_size (spool->type) + skip;

  if (!spool->values)
    return td_file_read (spool->file, to, bytes, at);
  memcpy (to, spool->values + at, bytes);
  return 0;
}

static gboolean
scan_spool_read (Spool *spool, const TdFrameRange *range, const TdFrameTarget *target,
                 GCancellable *cancellable, GError **error)
{
  const Frames *frames = &spool->frames[range->kind];
  const TdFrameRange copied = { range->kind, frames->base + range->first, range->count,
                                range->row0 - spool->row0, range->n_rows };
  TdStoredFailure failure = { 0 };

  if (!scan_spool_begin_read (spool, range->kind, cancellable, error))
    return FALSE;
  const TdStoredFrames stored = { spool->n_rows, (guint) spool->n_columns, spool->type,
                                  FALSE,         scan_spool_read_bytes,    spool };
  const gboolean good
      = td_stored_frames_read (&stored, NULL, &copied, target, &failure, cancellable, error);
  g_rw_lock_reader_unlock (&spool->lock);
  return good || (failure.code != 0 && scan_spool_say (failure.code, error));
}

static gboolean
scan_spool_has (const Spool *spool, const TdFrameRange *range)
{
  return range->row0 >= spool->row0 && range->row0 + range->n_rows <= spool->row0 + spool->n_rows
         && range->first + range->count <= spool->frames[range->kind].n;
}

static gboolean
spool_fill (gpointer source, const TdFrameRange *range, const TdFrameTarget *target,
            GCancellable *cancellable, GError **error)
{
  Spool *spool = source;

  return scan_spool_has (spool, range)
             ? scan_spool_read (spool, range, target, cancellable, error)
             : td_scan_fill (spool->scan, range, target, cancellable, error);
}

static void
spool_free (gpointer source)
{
  Spool *spool = source;

  scan_spool_drop (spool);
  td_scan_unref (spool->scan);
  g_rw_lock_clear (&spool->lock);
  g_free (spool);
}

static const TdScanSource vtable = { .fill = spool_fill, .free = spool_free };

TdScan *
td_scan_spool_base (const TdScan *scan)
{
  return scan->vtable == &vtable ? ((Spool *) scan->source)->scan : NULL;
}

double
td_scan_spool_seconds (TdScan *scan)
{
  Spool *spool = scan->source;

  g_rw_lock_reader_lock (&spool->lock);
  const double seconds = spool->took_us * 1e-6;
  g_rw_lock_reader_unlock (&spool->lock);
  return seconds;
}

void
td_scan_spool_drop (TdScan *scan)
{
  Spool *spool = scan->source;

  if (scan->vtable != &vtable)
    return;
  g_rw_lock_writer_lock (&spool->lock);
  scan_spool_drop (spool);
  g_rw_lock_writer_unlock (&spool->lock);
}

TdScan *
td_scan_spool_new (TdScan *scan, guint row0, guint n_rows, TdSampleType type, gboolean in_memory)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  Spool *spool = g_new0 (Spool, 1);
  guint base = 0;

  *spool = (Spool) { .scan = td_scan_ref (scan),
                     .row0 = row0,
                     .n_rows = n_rows,
                     .n_columns = facts->n_columns,
                     .in_memory = in_memory,
                     .type = type,
                     .file = -1 };
  g_rw_lock_init (&spool->lock);
  for (guint i = 0; i < N_KINDS; i++) {
    spool->frames[i] = (Frames) { .n = td_scan_facts_frames (facts, i), .base = base };
    base += spool->frames[i].n;
  }
  TdScan *out = td_scan_alloc (facts->path, &vtable, spool);
  td_scan_copy_facts (out, facts);
  if (in_memory)
    out->facts.rows_together = 0;
  return out;
}
