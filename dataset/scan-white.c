/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan-white.h"

#include "scan-private.h"

/* All but the flat is the scan's own source's. */
typedef struct {
  const TdScanSource *vtable;
  gpointer source;
  gsize n_columns;
  float level;
} White;

static gboolean
white_read (gpointer source, const TdFrameRange *range, float *out, GCancellable *cancellable,
            GError **error)
{
  White *own = source;

  if (range->kind != TD_FRAME_FLAT)
    return own->vtable->read (own->source, range, out, cancellable, error);
  for (gsize i = 0; i < (gsize) range->count * range->n_rows * own->n_columns; i++)
    out[i] = own->level;
  return TRUE;
}

static gboolean
white_read_sinograms (gpointer source, const TdFrameRange *range, float *out,
                      GCancellable *cancellable, GError **error)
{
  White *own = source;

  return own->vtable->read_sinograms (own->source, range, out, cancellable, error);
}

static void
white_free (gpointer source)
{
  White *own = source;

  if (own->vtable->free)
    own->vtable->free (own->source);
  g_free (own);
}

static const TdScanSource frames_vtable = { white_read, NULL, white_free };
static const TdScanSource sinograms_vtable = { white_read, white_read_sinograms, white_free };

void
td_scan_take_white (TdScan *scan, double level)
{
  TdScanFacts *facts = &scan->facts;
  White *own;

  if (!(level > 0) || facts->n_flats > 0 || facts->transmission_logged)
    return;
  own = g_new0 (White, 1);
  *own = (White) { scan->vtable, scan->source, facts->n_columns, (float) level };
  scan->vtable = own->vtable->read_sinograms ? &sinograms_vtable : &frames_vtable;
  scan->source = own;
  facts->n_flats = 1;
}
