/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/cone/cone.h"
#include "compute/recipe/recipe.h"
#include "dataset/scan.h"

/**
 * What a scan and a recipe say of a cone's geometry, for every method that reconstructs cones. The
 * functions are pure; any thread may call them.
 */

/* Why no method for cones can do what the recipe asks (static string); NULL: one can. */
const char *td_cone_scan_unsupported (const TdScanFacts *facts, const TdRecipe *recipe);
/* Slices of the whole volume of a cone. */
guint td_cone_scan_slices (const TdScanFacts *facts);
/* What a recipe's rows count on: a parallel beam's detector rows, a cone's slices of what its crop
   and bins leave. */
guint td_recipe_slices (const TdRecipe *recipe, const TdScanFacts *facts);
/* Of these the one for detector row @row: of a cone the slice that lies as far down, also where
   the detector lies on its side and its columns see the slices. */
guint td_recipe_slice_at (const TdRecipe *recipe, const TdScanFacts *facts, guint row);
/* How far the volume's slices lie above the plane of the source, in slices; 0 for parallel beams.
 */
gboolean td_cone_scan_raised (const TdScanFacts *facts, double *slices, GError **error);
/* The column of the rotation axis that the scan itself states, for any beam. It is the file's, else
   where a cone's geometry projects the axis (of matrices, the first view's). NAN: none; on a
   detector that lies on its side the axis has no column. */
double td_stated_centre (const TdScanFacts *facts);
/* The scan's angles as the recipe offsets and directs them, of any beam. (transfer full) */
double *td_recipe_angles (const TdRecipe *recipe, const TdScanFacts *facts);
/* The scan's geometry with the recipe's tilt and angles and the axis at column @centre_px (NAN: as
   the scan says). Clear @geometry, free @angles_rad. */
void td_cone_scan_geometry (const TdScanFacts *facts, const TdRecipe *recipe, double centre_px,
                            TdGeometry *geometry, double **angles_rad);
