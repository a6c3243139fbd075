/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/recipe/recipe.h"
#include "dataset/scan.h"

/**
 * A coarse stand-in for one row of a scan, for a preview that must be there at once: @factor
 * columns averaged into one, every @factor-th view kept. Back-projecting it costs factor^3 less.
 * Only for parallel beams. Blocks on the disk.
 *
 * @mended: for a recipe that replaces the pixels of the scan's mask: those are left out of the
 * averages, and a coarse pixel is bad if it has no others. Else they are averaged like the others,
 * as they are shown by the full slice, too.
 */
TdScan *td_coarse_scan_new (TdScan *scan, guint row, guint factor, gboolean mended,
                            GCancellable *cancellable, GError **error);
/* The recipe that gives the same slice from the coarse scan: centre and the steps' widths in its
   columns, its only row, its own mask. */
void td_coarse_recipe (const TdRecipe *recipe, const TdScanFacts *facts, guint row, guint factor,
                       TdRecipe *coarse);
/* The smallest of 2, 4, 8 that makes the slice quick to compute; 0: the scan is small enough, or
   too narrow to be made coarse. */
guint td_coarse_factor (const TdScanFacts *facts);
