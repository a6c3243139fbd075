/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/axis/axis-line.h"
#include "compute/recipe/recipe.h"
#include "engine.h"
#include "plan.h"

/**
 * What a person looks at beside slices. These are projections and sinograms as a job prepares them,
 * and the coarse scan of a slice that must be shown at once. Everything here blocks, on the disk
 * too, and may be called from any thread but the main one.
 */

/* One projection: float [row][column], (transfer full). The steps of @recipe correct the frame as
   they do in a job. Steps that need other views of the row are left out. If @recipe is NULL, or has
   steps that the scan cannot have, the frame is as it is stored. The averaged flats stay with the
   engine for the next projection. */
float *td_preview_projection (TdEngine *engine, TdScan *scan, guint view, const TdRecipe *recipe,
                              GCancellable *cancellable, GError **error);
/* The view that looks from the other side, as near to half a turn on as there is. FALSE: none is
   within one and a half steps of it. */
gboolean td_preview_opposite_view (const TdScanFacts *facts, guint view, guint *opposite);
/* The first of two opposite @views less the second mirrored at the axis, each as
   td_preview_projection() has it. What is left is the axis' error, and noise. 0 where one of them
   does not see. Parallel beams. (transfer full) */
float *td_preview_opposite (TdEngine *engine, TdScan *scan, const guint views[2],
                            const TdRecipe *recipe, const TdAxisLine *axis,
                            GCancellable *cancellable, GError **error);
/* One row's sinogram: float [view][column], (transfer full), after all steps of @recipe; NULL: as
   it is stored. */
float *td_preview_sinogram (TdEngine *engine, TdScan *scan, guint row, const TdRecipe *recipe,
                            GCancellable *cancellable, GError **error);

/* How many columns and views are averaged into one for a coarse slice: the smallest of 2, 4, 8 that
   makes it quick to compute. 0: the scan is small enough, too narrow, or no parallel beam. */
guint td_preview_coarse_factor (const TdScanFacts *facts);
/* The row binned by @factor, as a job bins it (dataset/scan-view.h), in memory. Views are not
   averaged where those of a group look in different directions. @recipe: where the axis is: with
   a factor of 1 a slice of the row is as wide as one of the scan. NULL: it need not be. (transfer
   full) */
TdScan *td_preview_coarse_scan (TdScan *scan, const TdRecipe *recipe, guint row, guint factor,
                                GCancellable *cancellable, GError **error);
/* Makes the recipe that gives the same slice of the coarse scan. Its centre and the widths of its
   steps count the coarse scan's columns, and its row is the only one. @facts: of the full scan. */
void td_preview_coarse_recipe (const TdRecipe *recipe, const TdScanFacts *facts, guint row,
                               guint factor, TdRecipe *coarse);
/* Pixels along a side that the full slice would have, where the coarse one's @plan has nx. @facts:
   of the scan. In half acquisition the slice is wider than the detector. */
double td_preview_coarse_side (const TdScanFacts *facts, const TdPlanFacts *plan, guint factor);
/* Makes the full slice's values of a coarse one's, [ny][nx] of @plan. A coarse pixel is wider:
   where values are per pixel, they are larger by as much. */
void td_preview_coarse_values (const TdPlanFacts *plan, guint factor, float *slice);
