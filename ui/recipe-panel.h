/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "centre-group.h"
#include "compute/recipe/recipe.h"
#include "dataset/scan.h"
#include "steps-group.h"

/* The work in its order. */
typedef enum {
  TD_FLOW_DATA,
  TD_FLOW_PREPARE,
  TD_FLOW_AXIS, /* of other than parallel beams: the geometry */
  TD_FLOW_RECONSTRUCT,
  TD_N_FLOW
} TdFlow;

/**
 * TdRecipePanel: everything a person may choose, in the order of the work, beside the pictures.
 * What matters is shown, the rest waits behind "More"; what comes next is marked. It has the style
 * class "updating" while the data are looked at and choices are asked for.
 * Signal "next-changed" ().
 */
#define TD_TYPE_RECIPE_PANEL (td_recipe_panel_get_type ())
G_DECLARE_FINAL_TYPE (TdRecipePanel, td_recipe_panel, TD, RECIPE_PANEL, GtkWidget)

/* @scan: (nullable): closes what was shown. */
void td_recipe_panel_set_scan (TdRecipePanel *self, TdEngine *engine, TdScan *scan);
/* Whoever opened the scan by the keyboard goes on with Return. */
void td_recipe_panel_focus_next (TdRecipePanel *self);
void td_recipe_panel_show_recipe (TdRecipePanel *self, const TdScanFacts *facts,
                                  const TdRecipe *recipe);
/* Calls @edited (@object, recipe, key) for the signal "edited" of every group (recipe-group.h). */
void td_recipe_panel_on_edited (TdRecipePanel *self, GCallback edited, gpointer object);
TdFlow td_recipe_panel_next (TdRecipePanel *self);
/* What the button below the panel does: finds the axis, follows the first advice, asks for the
   volume, or shows it by "win.show-asked". */
void td_recipe_panel_do_next (TdRecipePanel *self);
/* The volume by the recipe that is shown is written, or will be: it is looked at next. @seen: it is
   looked at; nothing comes next, and there is no button. */
void td_recipe_panel_set_volume (TdRecipePanel *self, gboolean has, gboolean seen);
TdCentreGroup *td_recipe_panel_centre (TdRecipePanel *self);
TdStepsGroup *td_recipe_panel_steps (TdRecipePanel *self);
