/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "compute/recipe/recipe.h"
#include "dataset/scan.h"
#include "space-view.h"

/**
 * TdGeometryView: how a scan was taken, drawn in three dimensions and in words. It shows source,
 * detector, axis, orbit and volume, of the view chosen with the slider. Follows the recipe's
 * centre, tilt and direction.
 */
#define TD_TYPE_GEOMETRY_VIEW (td_geometry_view_get_type ())
G_DECLARE_FINAL_TYPE (TdGeometryView, td_geometry_view, TD, GEOMETRY_VIEW, AdwBin)

/* @scan: (nullable). */
void td_geometry_view_set_scan (TdGeometryView *self, TdScan *scan);
void td_geometry_view_set_recipe (TdGeometryView *self, const TdRecipe *recipe);
/* Nothing is worked out for a page that nobody looks at. */
void td_geometry_view_set_active (TdGeometryView *self, gboolean active);
