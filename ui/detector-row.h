/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "compute/recipe/recipe.h"
#include "dataset/scan.h"

/**
 * TdDetectorRow: the part of the detector that is used, and how many of its pixels and of the views
 * are averaged to one. Signal "changed" (): by the user.
 */
#define TD_TYPE_DETECTOR_ROW (td_detector_row_get_type ())
G_DECLARE_FINAL_TYPE (TdDetectorRow, td_detector_row, TD, DETECTOR_ROW, AdwExpanderRow)

/* @facts: (nullable). No signal. */
void td_detector_row_show (TdDetectorRow *self, const TdScanFacts *facts, const TdRecipe *recipe);
/* Puts what is set into @recipe. */
void td_detector_row_apply (TdDetectorRow *self, TdRecipe *recipe);
