/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-rows.h"

#include "compute/device/host.h"

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
scan_rows_read_piece (guint index, gpointer user)
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
td_scan_rows (TdScan *scan, guint row0, guint n, float *out, GCancellable *cancellable,
              GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);

  if (!facts->in_memory)
    return td_scan_read_sinograms (
        scan, &(TdFrameRange) { TD_FRAME_PROJECTION, 0, facts->n_views, row0, n }, out, cancellable,
        error);

  const guint step = MAX (1, PIECE_BYTES / (facts->n_columns * (guint) sizeof (float)));
  Read read = { scan, row0, step, (facts->n_views + step - 1) / step, out, cancellable, NULL };
  td_parallel_for (n * read.steps, scan_rows_read_piece, &read);
  if (!read.error)
    return TRUE;
  g_propagate_error (error, read.error);
  return FALSE;
}
