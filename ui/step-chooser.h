/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

#include "compute/prepare/step.h"
#include "compute/recipe/recipe.h"

/* The headings under which a person finds the preparation steps, in the order the steps run. */
typedef enum {
  TD_SECTION_INTENSITY,
  TD_SECTION_FLAT,
  TD_SECTION_PHASE,
  TD_SECTION_RINGS,
  TD_SECTION_ABSORPTION,
  TD_N_SECTIONS
} TdStepSection;

TdStepSection td_step_section (const TdStepKind *kind);
const char *td_step_section_title (TdStepSection section); /* translated */

/**
 * TdStepChooser: the list of the preparation steps that a recipe does not have yet, by section,
 * each with what it does. Signal "chosen" (const char *name).
 */
#define TD_TYPE_STEP_CHOOSER (td_step_chooser_get_type ())
G_DECLARE_FINAL_TYPE (TdStepChooser, td_step_chooser, TD, STEP_CHOOSER, GtkPopover)

/* Shows the steps that are not in @recipe. Returns how many there are. */
guint td_step_chooser_show (TdStepChooser *self, const TdRecipe *recipe);
