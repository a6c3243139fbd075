/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "recipe-group.h"

/**
 * TdStepsGroup: the preparation steps of a recipe, by section; the rest can be added.
 *
 * Signal "before" (const char *step): show the pictures without that step; "": without all that the
 * presets do not have; NULL: as the recipe has them again.
 */
#define TD_TYPE_STEPS_GROUP (td_steps_group_get_type ())
G_DECLARE_FINAL_TYPE (TdStepsGroup, td_steps_group, TD, STEPS_GROUP, TdRecipeGroup)

/* Opens the step, with the keyboard in its first parameter. */
void td_steps_group_open_step (TdStepsGroup *self, const char *name);
/* The same, and the focus stays where it is. Returns the step's row; NULL: there is none. */
gpointer td_steps_group_show_step (TdStepsGroup *self, const char *name);
/* As pressing the button of the step that was changed or looked at last (a key held, a key let go).
 */
void td_steps_group_set_before (TdStepsGroup *self, gboolean on);
/* @scan: (nullable). */
void td_steps_group_set_scan (TdStepsGroup *self, TdScan *scan);
