/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "compare-side.h"
#include "compute/engine/engine.h"
#include "dataset/scan.h"
#include "image-pane.h"

/**
 * TdCompareView: one slice by two recipes, A and B: under a wipe, side by side, or as their
 * difference with its figures. Zoom, position and contrast of A and B are one. Signals:
 * "take-requested" (gpointer recipe).
 */
#define TD_TYPE_COMPARE_VIEW (td_compare_view_get_type ())
G_DECLARE_FINAL_TYPE (TdCompareView, td_compare_view, TD, COMPARE_VIEW, GtkWidget)

void td_compare_view_set_engine (TdCompareView *self, TdEngine *engine);
void td_compare_view_set_scan (TdCompareView *self, TdScan *scan); /* (nullable) */
/* The window's recipe, and the detector row. */
void td_compare_view_set_base (TdCompareView *self, const TdRecipe *recipe, guint row);
/* Nothing is computed while it is not looked at. */
void td_compare_view_set_active (TdCompareView *self, gboolean active);
void td_compare_view_set_colour_map (TdCompareView *self, const char *name);
