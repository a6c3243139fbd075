/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/plan.h"
#include "dataset/volume.h"

/* One recipe for many scans: where each volume goes, and which are there already. Any thread. */

/* @folder/NAME for each of @scans, with the format's ending; NAME is the scan's, without ".nxs" and
   the like. Scans of one name get the name of their folder before it. NULL with @error: two would
   go to one place all the same. (transfer full) */
char **td_batch_outputs (const char *const *scans, const char *folder, TdVolumeFormat format,
                         GError **error);

typedef enum {
  TD_BATCH_MISSING,
  TD_BATCH_DONE,  /* complete, of this scan, by this recipe, and younger than the scan */
  TD_BATCH_OTHER, /* something else has that name */
} TdBatchFound;

/* What lies at @output, by its provenance. An axis that the recipe leaves to be found is the one
   that was found then. Blocks: opens the volume, and plans. */
TdBatchFound td_batch_find (TdEngine *engine, TdScan *scan, const TdRecipe *recipe,
                            const char *output, GCancellable *cancellable);

/* The recipe for one scan of a batch: the axis is found, unless the recipe states it or the beam
   has none that could be found. */
void td_batch_recipe (const TdRecipe *recipe, const TdScanFacts *facts, TdRecipe *out);
