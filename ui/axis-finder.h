/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/engine.h"
#include "compute/recipe/recipe.h"
#include "compute/axis/axis.h"

/**
 * TdAxisFinder: the search for a scan's axis off the main thread, one at a time. All calls and
 * callbacks: main thread.
 */
typedef struct TdAxisFinder TdAxisFinder;

/* While it runs: @result and @error NULL. At the end: one of them; @result is freed after the call.
   Not called any more once it was cancelled. */
typedef void (*TdAxisShow) (double fraction, const char *what, const TdAxisResult *result,
                            const GError *error, gpointer user);

TdAxisFinder *td_axis_finder_new (TdAxisShow show, gpointer user);
/* On the first of the recipe's devices, after its preparation steps. */
void td_axis_finder_start (TdAxisFinder *finder, TdEngine *engine, TdScan *scan,
                           const TdRecipe *recipe);
void td_axis_finder_cancel (TdAxisFinder *finder);
gboolean td_axis_finder_busy (TdAxisFinder *finder);
void td_axis_finder_free (TdAxisFinder *finder);
