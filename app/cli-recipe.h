/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli.h"
#include "compute/recipe/recipe.h"

/**
 * The options that info, plan, reconstruct and centre share: how to read the scan, and the recipe.
 * Initialise the struct, add the group to the parse, then finish; clear it at the end in any case.
 */
typedef struct {
  TdRecipe recipe;
  TdScanOptions scan; /* strings belong to the settings */
  char *recipe_path;
  gboolean format_given;
  GPtrArray *settings; /* in the order given */
} TdCliRecipe;

void td_cli_recipe_init (TdCliRecipe *recipe);
void td_cli_recipe_clear (TdCliRecipe *recipe);
/* (transfer full), for td_cli_parse(). @with_recipe FALSE: only the options about the scan. */
GOptionGroup *td_cli_recipe_group (TdCliRecipe *recipe, gboolean with_recipe);
/* After parsing: loads --recipe, then applies the options over it. -1 to go on, else the exit
   status (wrong usage was said). */
int td_cli_recipe_finish (TdCliRecipe *recipe, const char *verb);
