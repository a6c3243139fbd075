/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "scan-private.h"

typedef struct {
  const float *frames[3]; /* by TdFrameKind; flats and darks may be NULL */
  gsize n_columns, n_rows;
  GDestroyNotify destroy;
  gpointer user;
} MemorySource;

static gboolean
memory_fill (gpointer source, const TdFrameRange *range, const TdFrameTarget *target,
             GCancellable *cancellable, GError **error)
{
  const MemorySource *memory = source;

  for (gsize i = 0; i < range->count; i++) {
    const gsize first = (range->first + i) * memory->n_rows + range->row0;

    if (g_cancellable_set_error_if_cancelled (cancellable, error))
      return FALSE;
    for (gsize row = 0; row < range->n_rows; row++)
      memcpy (td_frame_target_row (target, i, row),
              memory->frames[range->kind] + (first + row) * memory->n_columns,
              memory->n_columns * sizeof (float));
  }
  return TRUE;
}

static void
scan_memory_free (gpointer source)
{
  MemorySource *memory = source;

  if (memory->destroy)
    memory->destroy (memory->user);
  g_free (memory);
}

static const TdScanSource memory_vtable = { .fill = memory_fill, .free = scan_memory_free };

TdScan *
td_scan_new_from_memory (const TdScanFacts *facts, const float *projections, const float *flats,
                         const float *darks, GDestroyNotify destroy, gpointer user)
{
  MemorySource *memory = g_new0 (MemorySource, 1);
  TdScan *scan = td_scan_alloc (facts->path ? facts->path : N_ ("memory"), &memory_vtable, memory);
  TdScanFacts *own = &scan->facts;
  TdScanFacts fresh = *own;

  memory->frames[TD_FRAME_PROJECTION] = projections;
  memory->frames[TD_FRAME_FLAT] = flats;
  memory->frames[TD_FRAME_DARK] = darks;
  memory->n_columns = facts->n_columns;
  memory->n_rows = facts->n_rows;
  memory->destroy = destroy;
  memory->user = user;

  *own = *facts;
  own->path = fresh.path;
  own->format = g_strdup (facts->format ? facts->format : N_ ("memory"));
  own->title = facts->title ? g_strdup (facts->title) : g_strdup (fresh.title);
  g_free (fresh.title);
  own->n_flats = flats ? facts->n_flats : 0;
  own->n_darks = darks ? facts->n_darks : 0;
  own->angles_rad = g_memdup2 (facts->angles_rad, facts->n_views * sizeof (double));
  own->flat_positions = g_memdup2 (facts->flat_positions, own->n_flats * sizeof (double));
  own->monitor
      = own->n_flats == facts->n_flats
            ? g_memdup2 (facts->monitor, ((gsize) own->n_views + own->n_flats) * sizeof (double))
            : NULL;
  own->absent = NULL;
  own->absent_why = NULL;
  own->sources = g_strdupv (facts->sources);
  own->bad_pixels = g_memdup2 (facts->bad_pixels, (gsize) facts->n_rows * facts->n_columns);
  own->notes = td_messages_copy (facts->notes);
  td_geometry_copy (&own->geometry, &facts->geometry);
  own->sinogram_order = FALSE;
  own->in_memory = TRUE;
  return scan;
}
