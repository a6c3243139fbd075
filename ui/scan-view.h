/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "compute/engine/engine.h"
#include "compute/recipe/recipe.h"
#include "dataset/scan.h"
#include "image-pane.h"

/**
 * TdScanView: a scan as projection, sinogram and reconstructed slice, linked. A line on the
 * projection is the row of the other two. A line on the sinogram is the projection's view. The
 * slice follows the recipe live.
 *
 * Signals:
 *   "nudge-centre" (double by_px)   arrow keys in the slice, with Alt in all pictures
 *   "centre-moved" (double px, double tilt_deg, guint drag)  the axis was dragged: its column at
 *                                   the middle row, its tilt (NAN: as it is), and the number of the
 *                                   drag (0: none)
 *   "region-drawn" (int x, int y, int width, int height)  in the slice
 *   "crop-drawn" (int x, int y, int width, int height)    in the projection
 *   "row-changed" (guint row)
 *   "slice-shown" (gboolean coarse)
 *   "no-gl" (const char *reason)    once
 */
#define TD_TYPE_SCAN_VIEW (td_scan_view_get_type ())
G_DECLARE_FINAL_TYPE (TdScanView, td_scan_view, TD, SCAN_VIEW, GtkWidget)

/* Before anything else. */
void td_scan_view_set_engine (TdScanView *self, TdEngine *engine);
/* @scan: (nullable): closes what was shown. The recipe follows with td_scan_view_set_recipe(). */
void td_scan_view_set_scan (TdScanView *self, TdScan *scan);
void td_scan_view_set_recipe (TdScanView *self, const TdRecipe *recipe);
guint td_scan_view_get_row (TdScanView *self);
/* Slice and sinogram without the step of that name; "": without the steps that the presets do not
   have; NULL: by the recipe again. Contrast stays where the values can be compared. */
void td_scan_view_set_before (TdScanView *self, const char *step);
/* The last frame showed the slice that was there: a large one takes OpenGL some frames. */
gboolean td_scan_view_slice_is_current (TdScanView *self);
/* What the last whole slice took, and on which device; 0, NULL: none yet. */
double td_scan_view_slice_seconds (TdScanView *self, const char **device);
void td_scan_view_set_colour_map (TdScanView *self, const char *name);
