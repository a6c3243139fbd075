/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-adapt.h"

#include "scan-private.h"

typedef struct {
  const TdScanSource *vtable;
  gpointer source;
  gsize n_columns;
  gboolean mirrored;
  float white_level; /* 0: flats are the source's */
} Adapter;

static void
turn_rows (float *rows, gsize n_rows, gsize n_columns)
{
  for (gsize row = 0; row < n_rows; row++, rows += n_columns)
    for (gsize i = 0, j = n_columns - 1; i < j; i++, j--) {
      const float left = rows[i];

      rows[i] = rows[j];
      rows[j] = left;
    }
}

static gboolean
adapted_read (gpointer source, TdFrameKind kind, guint first, guint count, guint row0, guint n_rows,
              float *out, GCancellable *cancellable, GError **error)
{
  Adapter *own = source;
  gsize rows = (gsize) count * n_rows;

  if (kind == TD_FRAME_FLAT && own->white_level > 0) {
    for (gsize i = 0; i < rows * own->n_columns; i++)
      out[i] = own->white_level;
    return TRUE;
  }
  if (!own->vtable->read (own->source, kind, first, count, row0, n_rows, out, cancellable, error))
    return FALSE;
  if (own->mirrored)
    turn_rows (out, rows, own->n_columns);
  return TRUE;
}

static gboolean
adapted_read_sinograms (gpointer source, guint first, guint count, guint row0, guint n_rows,
                        float *out, GCancellable *cancellable, GError **error)
{
  Adapter *own = source;

  if (!own->vtable->read_sinograms (own->source, first, count, row0, n_rows, out, cancellable, error))
    return FALSE;
  if (own->mirrored)
    turn_rows (out, (gsize) count * n_rows, own->n_columns);
  return TRUE;
}

static void
adapter_free (gpointer source)
{
  Adapter *own = source;

  if (own->vtable->free)
    own->vtable->free (own->source);
  g_free (own);
}

static const TdScanSource frames_vtable = { adapted_read, NULL, adapter_free };
static const TdScanSource sinograms_vtable = { adapted_read, adapted_read_sinograms, adapter_free };

void
td_scan_adapt (TdScan *scan, gboolean mirrored, double white_level)
{
  TdScanFacts *facts = &scan->facts;
  const gboolean white = white_level > 0 && facts->n_flats == 0 && !facts->transmission_logged;
  Adapter *own;

  if (!mirrored && !white)
    return;
  own = g_new0 (Adapter, 1);
  *own = (Adapter) { scan->vtable, scan->source, facts->n_columns, mirrored,
                     white ? (float) white_level : 0 };
  scan->vtable = own->vtable->read_sinograms ? &sinograms_vtable : &frames_vtable;
  scan->source = own;
  if (white)
    facts->n_flats = 1;
}
