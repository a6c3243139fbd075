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
  MemorySource *memory = g_new (MemorySource, 1);
  TdScan *scan = td_scan_alloc (facts->path ? facts->path : N_ ("memory"), &memory_vtable, memory);
  TdScanFacts own = *facts;

  *memory = (MemorySource) { .frames = { projections, flats, darks },
                             .n_columns = facts->n_columns,
                             .n_rows = facts->n_rows,
                             .destroy = destroy,
                             .user = user };
  own.format = facts->format ? facts->format : (char *) N_ ("memory");
  own.n_flats = flats ? facts->n_flats : 0;
  own.n_darks = darks ? facts->n_darks : 0;
  if (own.n_flats != facts->n_flats)
    own.monitor = NULL;
  own.absent = NULL;
  own.absent_why = NULL;
  own.sinogram_order = FALSE;
  own.in_memory = TRUE;
  td_scan_copy_facts (scan, &own);
  if (!facts->title)
    scan->facts.title = g_path_get_basename (scan->facts.path);
  return scan;
}
