/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "prepared-rows.h"

#include <string.h>

#include "compute/device/host.h"
#include "compute/portion.h"

/* ── Reading ── */

#define PIECE_BYTES (256u << 10) /* that a thread copies at once */

typedef struct {
  TdScan *scan;
  guint row0;
  guint step, steps; /* views of a piece, pieces of a row */
  float *out;        /* [row][view][column] */
  GCancellable *cancellable;
  GError *error; /* the first, by exchange */
} Read;

/* Some views of a row. */
static void
prepared_rows_read_piece (guint index, gpointer user)
{
  Read *read = user;
  const TdScanFacts *facts = td_scan_facts (read->scan);
  const guint row = index / read->steps, first = index % read->steps * read->step;
  const guint n = MIN (read->step, facts->n_views - first);
  float *out = read->out + ((gsize) row * facts->n_views + first) * facts->n_columns;
  GError *error = NULL;

  if (!g_atomic_pointer_get (&read->error)
      && !td_scan_read_sinograms (
          read->scan, &(TdFrameRange) { TD_FRAME_PROJECTION, first, n, read->row0 + row, 1 }, out,
          read->cancellable, &error)
      && !g_atomic_pointer_compare_and_exchange (&read->error, NULL, error))
    g_error_free (error);
}

gboolean
td_rows_read_scan (gpointer user, TdRowRange range, float *out, GCancellable *cancellable,
                   GError **error)
{
  TdScan *scan = user;
  const TdScanFacts *facts = td_scan_facts (scan);

  if (!facts->in_memory)
    return td_scan_read_sinograms (
        scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 0, facts->n_views, range.first, range.count },
        out, cancellable, error);

  const guint step
      = (guint) MAX (1, td_portion (PIECE_BYTES) / (facts->n_columns * sizeof (float)));
  Read read
      = { scan, range.first, step, (facts->n_views + step - 1) / step, out, cancellable, NULL };
  td_parallel_for (range.count * read.steps, prepared_rows_read_piece, &read);
  if (!read.error)
    return TRUE;
  g_propagate_error (error, read.error);
  return FALSE;
}

gboolean
td_rows_read_views (TdScan *scan, const TdRowsViews *views, TdRowRange range, float *out,
                    GCancellable *cancellable, GError **error)
{
  const gsize columns = td_scan_facts (scan)->n_columns;

  for (guint index = 0, n; index < views->n; index += n) {
    n = td_view_order_run (&views->order, index, views->n - index);
    const TdFrameRange run = { TD_FRAME_PROJECTION,
                               td_view_order_at (&views->order, index),
                               n,
                               range.first,
                               range.count,
                               views->n };
    if (!td_scan_read_sinograms (scan, &run, out + index * columns, cancellable, error))
      return FALSE;
  }
  return TRUE;
}

gboolean
td_rows_read_beside (const TdRowsOrigin *origin, const TdHeldRows *held, TdRowRange range,
                     float *out, GCancellable *cancellable, GError **error)
{
  const gsize row = origin->row_floats;
  const guint end = range.first + range.count;
  guint first = MAX (range.first, held->range.first);
  guint last = MIN (end, held->range.first + held->range.count);

  if (first >= last)
    first = last = range.first;
  else
    memmove (out + (first - range.first) * row, held->rows + (first - held->range.first) * row,
             (last - first) * row * sizeof *out);
  return (first == range.first
          || origin->read (origin->user, (TdRowRange) { range.first, first - range.first }, out,
                           cancellable, error))
         && (end == last
             || origin->read (origin->user, (TdRowRange) { last, end - last },
                              out + (last - range.first) * row, cancellable, error));
}

gboolean
td_held_rows_move (TdHeldRows *held, const TdRowsOrigin *origin, TdRowRange range,
                   GCancellable *cancellable, GError **error)
{
  const TdHeldRows before = *held;

  held->range.count = 0;
  if (!td_rows_read_beside (origin, &before, range, held->rows, cancellable, error))
    return FALSE;
  held->range = range;
  return TRUE;
}

/* ── Reading and preparing ── */

struct TdPreparedRows {
  TdDevice *device;
  TdScan *scan;
  TdPreparation *preparation;
  TdQueue *queue, *own_queue; /* own_queue: NULL if the queue is borrowed */
  TdBuffer *buffer;
  TdHeldRows held; /* in memory for transfers */
  TdRowsOrigin origin;
  TdRowRange read;        /* what was read last */
  TdPreparationRows left; /* what is prepared in the buffer */
  TdRowsViews views;      /* where they are not all of the scan's */
  guint halo;
};

TdPreparedRows *
td_prepared_rows_new (const TdRowSource *source, TdQueue *queue, guint max_rows, guint64 bytes,
                      GError **error)
{
  const TdScanFacts *facts = td_scan_facts (source->scan);
  const guint n_views = source->n_views ? source->n_views : facts->n_views;
  const gsize row_floats = (gsize) n_views * facts->n_columns;
  g_autoptr (TdPreparedRows) self = g_new0 (TdPreparedRows, 1);

  bytes = MAX (bytes, (guint64) max_rows * row_floats * sizeof (float));
  self->device = td_device_ref (source->device);
  self->scan = td_scan_ref (source->scan);
  self->origin = (TdRowsOrigin) { td_rows_read_scan, self->scan, row_floats };
  self->halo = td_preparation_halo (source->steps, source->n_steps, facts);
  self->queue = queue ? queue : (self->own_queue = td_queue_new (source->device, error));
  if (!self->queue || !td_preparation_check_views (source->device, n_views, error)
      || !(self->preparation = td_preparation_new (source->device, source->scan, source->flats,
                                                   source->steps, source->n_steps, error))
      || !(self->buffer = td_buffer_new (source->device, bytes, error))
      || !(self->held.rows = td_device_host_alloc (source->device, bytes, error)))
    return NULL;
  self->views.n = n_views;
  if (source->n_views)
    td_prepared_rows_set_views (self, td_view_order_from (0));
  return g_steal_pointer (&self);
}

static gboolean
prepared_rows_read_views (gpointer user, TdRowRange range, float *out, GCancellable *cancellable,
                          GError **error)
{
  const TdPreparedRows *self = user;

  return td_rows_read_views (self->scan, &self->views, range, out, cancellable, error);
}

void
td_prepared_rows_set_views (TdPreparedRows *self, TdViewOrder order)
{
  self->views.order = order;
  self->held.range.count = 0;
  td_prepared_rows_set_read (self, prepared_rows_read_views, self);
  td_preparation_set_views (self->preparation, order, self->views.n);
}

void
td_prepared_rows_free (TdPreparedRows *self)
{
  if (!self)
    return;
  /* Copies may still be on their way out of the memory that goes now. */
  if (self->queue)
    td_queue_finish (self->queue, NULL);
  td_device_host_free (self->device, self->held.rows);
  td_buffer_free (self->buffer);
  td_preparation_free (self->preparation);
  td_queue_free (self->own_queue);
  td_scan_unref (self->scan);
  td_device_unref (self->device);
  g_free (self);
}

void
td_prepared_rows_set_read (TdPreparedRows *self, TdRowsRead read, gpointer user)
{
  self->origin.read = read;
  self->origin.user = user;
}

TdRowRange
td_prepared_rows_needed (const TdPreparedRows *self, TdRowRange range)
{
  return td_row_range_with_halo (range, self->halo, td_scan_facts (self->scan)->n_rows);
}

gboolean
td_prepared_rows_read (TdPreparedRows *self, TdRowRange range, GCancellable *cancellable,
                       GError **error)
{
  self->read = range;
  return td_held_rows_move (&self->held, &self->origin, range, cancellable, error);
}

void
td_prepared_rows_set_counted (TdPreparedRows *self, TdRowRange range)
{
  td_preparation_set_counted (self->preparation, range);
}

gboolean
td_prepared_rows_run (TdPreparedRows *self, TdRowRange range, GCancellable *cancellable,
                      GError **error)
{
  const guint64 bytes = self->read.count * self->origin.row_floats * sizeof (float);

  self->left = (TdPreparationRows) { self->buffer, self->read.first, self->read.count };
  return td_upload (self->queue, self->buffer, 0, self->held.rows, bytes, error)
         && td_preparation_run_for (self->preparation, self->queue, &self->left, range.first,
                                    range.count, cancellable, error);
}

const TdPreparationRows *
td_prepared_rows_left (const TdPreparedRows *self)
{
  return &self->left;
}

gboolean
td_prepared_rows_counts (TdPreparedRows *self, TdPreparationCounts *counts, GError **error)
{
  return td_preparation_counts (self->preparation, self->queue, counts, error);
}

float *
td_prepared_rows_host (TdPreparedRows *self)
{
  self->held.range.count = 0;
  return self->held.rows;
}

float *
td_prepared_rows_make (TdPreparedRows *self, TdRowRange range, GCancellable *cancellable,
                       GError **error)
{
  const guint64 row_bytes = self->origin.row_floats * sizeof (float);

  if (!td_prepared_rows_read (self, td_prepared_rows_needed (self, range), cancellable, error)
      || !td_prepared_rows_run (self, range, cancellable, error)
      || !td_download (self->queue, td_prepared_rows_host (self), self->buffer,
                       (range.first - self->left.row0) * row_bytes, range.count * row_bytes, error)
      || !td_queue_finish (self->queue, error))
    return NULL;
  return self->held.rows;
}
