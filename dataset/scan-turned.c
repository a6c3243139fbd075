/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-turned.h"

#include <math.h>

#include "error.h"
#include "scan-private.h"

#define PORTION_BYTES ((gsize) 16 << 20) /* of frames read at once */

/* Row @row of the turned frame. */
static void
turn_row (const float *frame, guint n_columns, guint n_rows, guint row, float *out)
{
  const float *from = frame + (n_columns - 1 - row);

  for (guint i = 0; i < n_rows; i++)
    out[i] = from[(gsize) i * n_columns];
}

static gboolean
turned_fill (gpointer source, const TdFrameRange *range, const TdFrameTarget *target,
             GCancellable *cancellable, GError **error)
{
  TdScan *scan = source;
  const TdScanFacts *facts = td_scan_facts (scan);
  const gsize frame = (gsize) facts->n_columns * facts->n_rows;
  const guint portion
      = (guint) CLAMP (PORTION_BYTES / (frame * sizeof (float)), 1, MAX (range->count, 1));
  g_autofree float *frames = g_try_new (float, frame *portion);

  if (!frames)
    return td_set_error (error, TD_ERROR_IO, "Not enough memory for a frame of %u × %u pixels.",
                         facts->n_columns, facts->n_rows);
  for (guint done = 0; done < range->count; done += portion) {
    const guint now = MIN (portion, range->count - done);
    if (!td_scan_read (scan,
                       &(TdFrameRange) { range->kind, range->first + done, now, 0, facts->n_rows },
                       frames, cancellable, error))
      return FALSE;
    for (guint f = 0; f < now; f++)
      for (guint row = 0; row < range->n_rows; row++)
        turn_row (frames + f * frame, facts->n_columns, facts->n_rows, range->row0 + row,
                  td_frame_target_row (target, done + f, row));
  }
  return TRUE;
}

static void
turned_free (gpointer source)
{
  td_scan_unref (source);
}

static const TdScanSource turned = { .fill = turned_fill, .free = turned_free };

TdScan *
td_scan_turned_base (const TdScan *scan)
{
  return scan->vtable == &turned ? scan->source : NULL;
}

static guint8 *
turn_bad_pixels (const TdScanFacts *facts)
{
  if (!facts->bad_pixels)
    return NULL;
  guint8 *bad = g_new (guint8, (gsize) facts->n_columns * facts->n_rows);
  for (guint row = 0; row < facts->n_columns; row++)
    for (guint i = 0; i < facts->n_rows; i++)
      bad[(gsize) row * facts->n_rows + i]
          = facts->bad_pixels[(gsize) i * facts->n_columns + facts->n_columns - 1 - row];
  return bad;
}

TdScan *
td_scan_turned_new (TdScan *scan, GError **error)
{
  const TdScanFacts *facts = td_scan_facts (scan);
  g_autoptr (TdScan) out = td_scan_alloc (facts->path, &turned, td_scan_ref (scan));

  td_scan_copy_facts (out, facts);
  out->facts.n_columns = facts->n_rows;
  out->facts.n_rows = facts->n_columns;
  g_free (out->facts.bad_pixels);
  out->facts.bad_pixels = turn_bad_pixels (facts);
  out->facts.sinogram_order = out->facts.in_memory = FALSE;
  out->facts.centre_px = NAN;
  td_geometry_turn_image (&out->facts.geometry, facts->n_columns);
  return td_scan_validate (out, error) ? g_steal_pointer (&out) : NULL;
}
