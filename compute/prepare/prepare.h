/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "step.h"

/**
 * TdPreparation: the steps of one recipe for one scan on one device, with what they share: averaged
 * flats and darks on the device, counters, workspace.
 */
typedef struct TdPreparation TdPreparation;

typedef struct {
  guint64 clamped_transmissions; /* zero or negative transmissions raised before -log */
  guint64 bad_values;            /* NaN or infinite samples replaced by their neighbour's value */
} TdPreparationCounts;

/* @steps are copied. Reads flats and darks lazily, by rows. max_rows counts halos. */
TdPreparation *td_preparation_new (TdDevice *device, TdScan *scan, const TdStep *steps,
                                   guint n_steps, guint max_rows, GError **error);
/* Rows needed above and below each slab by all steps together. */
guint td_preparation_halo (const TdStep *steps, guint n_steps, const TdScanFacts *facts);
guint64 td_preparation_workspace_bytes (const TdStep *steps, guint n_steps, const TdScanFacts *facts,
                                        guint max_rows);
/* Runs every enabled step on raw rows [row0, row0 + n_rows) that lie in @data (float
   [row][view][column]), in place. Enqueues where it can; may block. @until: stop after the step of
   that name (before/after views), NULL: all. */
gboolean td_preparation_run (TdPreparation *preparation, TdQueue *queue, TdBuffer *data, guint row0,
                             guint n_rows, const char *until, GCancellable *cancellable,
                             GError **error);
/* Blocks until the queue has passed; counts since the last call. */
gboolean td_preparation_counts (TdPreparation *preparation, TdQueue *queue,
                                TdPreparationCounts *counts, GError **error);
void td_preparation_free (TdPreparation *preparation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdPreparation, td_preparation_free)
