/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "engine.h"
#include "compute/recipe/recipe.h"
#include "compute/axis/axis.h"
#include "dataset/scan.h"

/**
 * td_engine_find_axis:
 * @recipe: its preparation steps make the sinograms, its first device does the work, and its memory
 *   limit holds. Its rows and its centre are not looked at.
 * @options: (nullable)
 *
 * td_axis_find() with a memory. The first caller searches a scan with its steps and options;
 * callers that come meanwhile wait for that result. The progress of a search that another one runs
 * is not told.
 *
 * Blocks for seconds: any thread but the main one, several at once. The progress is called on the
 * calling thread. Cancelling takes effect within 200 ms, and a cancelled search is not remembered.
 * Returns: (transfer full): td_axis_result_free()
 */
TdAxisResult *td_engine_find_axis (TdEngine *engine, TdScan *scan, const TdRecipe *recipe,
                                   const TdAxisOptions *options, GCancellable *cancellable,
                                   GError **error);
