/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-spool.h"

#include <string.h>
#include <unistd.h>

#include "error.h"
#include "file-bytes.h"
#include "scan-private.h"

#define PORTION_BYTES ((gsize) 16 << 20) /* copied at once */
#define N_KINDS 3

/* Frames of one kind: those before @done are there. */
typedef struct {
  guint n, done;
  guint64 base; /* of the first, in values */
} Frames;

typedef struct {
  TdScan *scan;
  guint row0, n_rows;
  gsize n_columns;
  gboolean in_memory;
  GMutex lock; /* all below, while frames are missing */
  Frames frames[N_KINDS];
  float *values; /* [frame][row][column]; NULL: in the file, or nothing yet */
  int file;      /* -1: none */
} Spool;

/* ── The copy ── */

guint64
td_scan_spool_bytes (const TdScanFacts *facts, guint n_rows)
{
  return ((guint64) facts->n_views + facts->n_flats + facts->n_darks) * n_rows * facts->n_columns
         * sizeof (float);
}

guint64
td_scan_spool_work_bytes (const TdScanFacts *facts, guint n_rows)
{
  const guint64 frame = (guint64) facts->n_rows * facts->n_columns * sizeof (float);

  /* A portion here, and one where frames are turned. */
  return 2 * MIN (MAX (PORTION_BYTES, frame), td_scan_spool_bytes (facts, facts->n_rows));
}

static gboolean
is_there (const Spool *spool)
{
  return spool->values || spool->file >= 0;
}

static gboolean
make_room (Spool *spool, GError **error)
{
  const guint64 bytes = td_scan_spool_bytes (td_scan_facts (spool->scan), spool->n_rows);

  if (is_there (spool))
    return TRUE;
  if (spool->in_memory) {
    spool->values = g_try_malloc (bytes);
    if (!spool->values)
      td_set_error (error, TD_ERROR_IO,
                    "Not enough memory for the %" G_GUINT64_FORMAT " MiB of the scan's frames.",
                    bytes >> 20);
    return spool->values != NULL;
  }
  spool->file = td_file_temporary ("The scan's frames, each read once,", bytes, error);
  return spool->file >= 0;
}

static gboolean
scan_spool_transfer (Spool *spool, gboolean store, float *values, gsize n, guint64 at,
                     GError **error)
{
  const gsize bytes = n * sizeof *values;

  if (spool->values) {
    memcpy (store ? spool->values + at : values, store ? values : spool->values + at, bytes);
    return TRUE;
  }
  const int failed = store ? td_file_write (spool->file, values, bytes, at * sizeof *values)
                           : td_file_read (spool->file, values, bytes, at * sizeof *values);
  if (failed) {
    td_set_error (error, TD_ERROR_IO,
                  "The temporary file of the scan's frames in %s failed: %s; set TMPDIR to "
                  "another disk.",
                  g_get_tmp_dir (), g_strerror (failed));
    return FALSE;
  }
  return TRUE;
}

/* Under the lock. What a cancelled call has copied stays. */
static gboolean
copy_frames (Spool *spool, TdFrameKind kind, GCancellable *cancellable, GError **error)
{
  Frames *frames = &spool->frames[kind];
  const gsize frame = spool->n_rows * spool->n_columns;
  const guint portion
      = (guint) CLAMP (PORTION_BYTES / (frame * sizeof (float)), 1, MAX (frames->n, 1));
  g_autofree float *values = g_try_new (float, portion *frame);

  if (!values) {
    td_set_error (error, TD_ERROR_IO, "Not enough memory for a frame of %zu × %u pixels.",
                  spool->n_columns, spool->n_rows);
    return FALSE;
  }
  while (frames->done < frames->n) {
    const guint n = MIN (portion, frames->n - frames->done);
    if (!td_scan_read (spool->scan,
                       &(TdFrameRange) { kind, frames->done, n, spool->row0, spool->n_rows },
                       values, cancellable, error)
        || !scan_spool_transfer (spool, TRUE, values, n * frame,
                                 frames->base + frames->done * frame, error))
      return FALSE;
    frames->done += n;
  }
  return TRUE;
}

static gboolean
scan_spool_ready (Spool *spool, TdFrameKind kind, GCancellable *cancellable, GError **error)
{
  g_mutex_lock (&spool->lock);
  const gboolean ok = make_room (spool, error)
                      && (spool->frames[kind].done == spool->frames[kind].n
                          || copy_frames (spool, kind, cancellable, error));
  g_mutex_unlock (&spool->lock);
  return ok;
}

/* ── The scan ── */

static gboolean
spool_read (gpointer source, const TdFrameRange *range, float *out, GCancellable *cancellable,
            GError **error)
{
  Spool *spool = source;
  const Frames *frames = &spool->frames[range->kind];
  const gsize band = range->n_rows * spool->n_columns;

  if (range->row0 < spool->row0 || range->row0 + range->n_rows > spool->row0 + spool->n_rows
      || range->first + range->count > frames->n)
    return td_scan_read (spool->scan, range, out, cancellable, error);
  if (!scan_spool_ready (spool, range->kind, cancellable, error))
    return FALSE;
  for (guint i = 0; i < range->count; i++) {
    const guint64 row = (guint64) (range->first + i) * spool->n_rows + range->row0 - spool->row0;
    if (g_cancellable_set_error_if_cancelled (cancellable, error)
        || !scan_spool_transfer (spool, FALSE, out + i * band, band,
                                 frames->base + row * spool->n_columns, error))
      return FALSE;
  }
  return TRUE;
}

static void
scan_spool_drop (Spool *spool)
{
  g_clear_pointer (&spool->values, g_free);
  if (spool->file >= 0)
    close (spool->file);
  spool->file = -1;
  for (guint i = 0; i < N_KINDS; i++)
    spool->frames[i].done = 0;
}

static void
spool_free (gpointer source)
{
  Spool *spool = source;

  scan_spool_drop (spool);
  td_scan_unref (spool->scan);
  g_mutex_clear (&spool->lock);
  g_free (spool);
}

static const TdScanSource vtable = { .read = spool_read, .free = spool_free };

TdScan *
td_scan_spool_base (const TdScan *scan)
{
  return scan->vtable == &vtable ? ((Spool *) scan->source)->scan : NULL;
}

void
td_scan_spool_drop (TdScan *scan)
{
  Spool *spool = scan->source;

  if (scan->vtable != &vtable)
    return;
  g_mutex_lock (&spool->lock);
  scan_spool_drop (spool);
  g_mutex_unlock (&spool->lock);
}

TdScan *
td_scan_spool_new (TdScan *scan, guint row0, guint n_rows, gboolean in_memory)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  Spool *spool = g_new0 (Spool, 1);
  const guint counts[N_KINDS] = { [TD_FRAME_PROJECTION] = facts->n_views,
                                  [TD_FRAME_FLAT] = facts->n_flats,
                                  [TD_FRAME_DARK] = facts->n_darks };
  guint64 base = 0;

  *spool = (Spool) { .scan = td_scan_ref (scan),
                     .row0 = row0,
                     .n_rows = n_rows,
                     .n_columns = facts->n_columns,
                     .in_memory = in_memory,
                     .file = -1 };
  g_mutex_init (&spool->lock);
  for (guint i = 0; i < N_KINDS; i++) {
    spool->frames[i] = (Frames) { .n = counts[i], .base = base };
    base += (guint64) counts[i] * n_rows * facts->n_columns;
  }
  TdScan *out = td_scan_alloc (facts->path, &vtable, spool);
  td_scan_copy_facts (out, facts);
  return out;
}
