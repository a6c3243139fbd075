/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/recipe/recipe.h"

/**
 * A preset is a recipe under a name, for other scans. Each is a file NAME.recipe.json in the user's
 * data folder (tomodesk/recipes). A preset that is applied leaves alone what belongs to one scan.
 * That is the axis, regions, views, the mask of bad pixels and volumes to go on from.
 * It also leaves alone devices and memory, which belong to one machine. Any thread: the files may
 * lie on a network's storage.
 */

/* The names, sorted. (transfer full) */
char **td_presets_list (void);
/* FALSE with @error: the name cannot be a file's, or the file cannot be written. One of that name
   is replaced. */
gboolean td_presets_save (const char *name, const TdRecipe *recipe, GError **error);
gboolean td_presets_load (const char *name, TdRecipe *preset, GError **error);
/* Into @recipe, which keeps what is its scan's and its machine's. */
void td_presets_apply (const TdRecipe *preset, TdRecipe *recipe);
gboolean td_presets_remove (const char *name, GError **error);
