/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/row-range.h"
#include "prepare.h"

/**
 * The one way from a scan's rows to prepared ones. It finds which rows a range needs, reads them
 * into host memory, sends them to a device and runs the steps there. Methods with a pipeline use
 * the parts; TdPreparedRows does all of it.
 */

/* ── Reading ── */

/* Reads the range of all views into @out, as [row][view][column]. */
typedef gboolean (*TdRowsRead) (gpointer user, TdRowRange range, float *out,
                                GCancellable *cancellable, GError **error);
/* The usual one, of a TdScan. Rows that are in memory are copied by all threads of the host: one
   thread is slower than a graphics card takes them. */
gboolean td_rows_read_scan (gpointer scan, TdRowRange range, float *out, GCancellable *cancellable,
                            GError **error);
/* Some views, in their order. */
typedef struct {
  TdViewOrder order;
  guint n;
} TdRowsViews;
gboolean td_rows_read_views (TdScan *scan, const TdRowsViews *views, TdRowRange range, float *out,
                             GCancellable *cancellable, GError **error);

/* Raw rows in host memory, [row][view][column]. */
typedef struct {
  float *rows;
  TdRowRange range; /* count 0: none */
} TdHeldRows;

/* Where rows come from. */
typedef struct {
  TdRowsRead read;
  gpointer user;
  gsize row_floats; /* of one row: views × columns */
} TdRowsOrigin;

/* Fills @out with @range. Rows that @held has are copied, and only the others are read. @out may be
   held->rows, or other memory that does not overlap it. */
gboolean td_rows_read_beside (const TdRowsOrigin *origin, const TdHeldRows *held, TdRowRange range,
                              float *out, GCancellable *cancellable, GError **error);
/* Moves @held to @range, whose rows fit its memory. After an error it holds none. */
gboolean td_held_rows_move (TdHeldRows *held, const TdRowsOrigin *origin, TdRowRange range,
                            GCancellable *cancellable, GError **error);

/* ── Reading and preparing ── */

/* What prepared rows are made of. All is borrowed. */
typedef struct {
  TdDevice *device; /* runs the steps */
  TdScan *scan;
  TdFlats *flats; /* shared with other preparations of the scan; NULL: its own */
  const TdStep *steps;
  guint n_steps;
  guint n_views; /* of each row, by td_prepared_rows_set_views(); 0: all of the scan's */
} TdRowSource;

/**
 * TdPreparedRows: ranges of rows, one after another, each prepared in one device buffer. Rows that
 * two ranges share are read once. One thread at a time.
 */
typedef struct TdPreparedRows TdPreparedRows;

/* @queue: where the work is enqueued, borrowed; NULL: its own. @max_rows: in a range, halos
   included. @bytes: of the device buffer and of the host memory, if more than those rows take. */
TdPreparedRows *td_prepared_rows_new (const TdRowSource *source, TdQueue *queue, guint max_rows,
                                      guint64 bytes, GError **error);
void td_prepared_rows_free (TdPreparedRows *self); /* waits for its work */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdPreparedRows, td_prepared_rows_free)
/* From now on rows have the source's n_views views in this order. */
void td_prepared_rows_set_views (TdPreparedRows *self, TdViewOrder order);
/* Reads through @read from now on. */
void td_prepared_rows_set_read (TdPreparedRows *self, TdRowsRead read, gpointer user);

/* The range that must be read to prepare @range. */
TdRowRange td_prepared_rows_needed (const TdPreparedRows *self, TdRowRange range);
/* Reads the range into host memory. Blocks. */
gboolean td_prepared_rows_read (TdPreparedRows *self, TdRowRange range, GCancellable *cancellable,
                                GError **error);
/* From now on only what is replaced in these rows counts; at first all that are run do. */
void td_prepared_rows_set_counted (TdPreparedRows *self, TdRowRange range);
/* Enqueues: sends what was read, and runs the steps for the sake of @range. */
gboolean td_prepared_rows_run (TdPreparedRows *self, TdRowRange range, GCancellable *cancellable,
                               GError **error);
/* The prepared rows in device memory, at least those of td_prepared_rows_run(). */
const TdPreparationRows *td_prepared_rows_left (const TdPreparedRows *self);
/* What was replaced since the last call. Blocks. */
gboolean td_prepared_rows_counts (TdPreparedRows *self, TdPreparationCounts *counts,
                                  GError **error);

/* The host memory, for other use: no raw rows are held any more. */
float *td_prepared_rows_host (TdPreparedRows *self);
/* Reads, runs and downloads @range. Blocks. Returns: (transfer none): [row][view][column] in the
   host memory, until the next call. */
float *td_prepared_rows_make (TdPreparedRows *self, TdRowRange range, GCancellable *cancellable,
                              GError **error);
