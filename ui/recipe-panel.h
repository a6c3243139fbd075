/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "centre-group.h"
#include "compute/recipe/recipe.h"
#include "dataset/scan.h"
#include "steps-group.h"

/**
 * TdRecipePanel: everything a person may choose, in groups, beside the pictures.
 * Signal "before" (const char *step): as TdStepsGroup's.
 */
#define TD_TYPE_RECIPE_PANEL (td_recipe_panel_get_type ())
G_DECLARE_FINAL_TYPE (TdRecipePanel, td_recipe_panel, TD, RECIPE_PANEL, GtkWidget)

/* @scan: (nullable): closes what was shown. */
void td_recipe_panel_set_scan (TdRecipePanel *self, TdEngine *engine, TdScan *scan);
void td_recipe_panel_show_recipe (TdRecipePanel *self, const TdScanFacts *facts,
                                  const TdRecipe *recipe);
/* Calls @edited (@object, recipe, key) for the signal "edited" of every group (recipe-group.h). */
void td_recipe_panel_on_edited (TdRecipePanel *self, GCallback edited, gpointer object);
TdCentreGroup *td_recipe_panel_centre (TdRecipePanel *self);
TdStepsGroup *td_recipe_panel_steps (TdRecipePanel *self);
