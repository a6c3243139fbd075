/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

#include "compute/recipe/recipe.h"

/**
 * TdStepChooser: the list of the preparation steps that a recipe does not have yet, by section,
 * each with what it does. Signal "chosen" (const char *name).
 */
#define TD_TYPE_STEP_CHOOSER (td_step_chooser_get_type ())
G_DECLARE_FINAL_TYPE (TdStepChooser, td_step_chooser, TD, STEP_CHOOSER, GtkPopover)

GtkWidget *td_step_chooser_new (void);
/* Shows the steps that are not in @recipe. Returns how many there are. */
guint td_step_chooser_show (TdStepChooser *self, const TdRecipe *recipe);
