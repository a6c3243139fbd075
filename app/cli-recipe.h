/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli.h"
#include "compute/recipe/recipe.h"

/**
 * The options that info, plan, reconstruct and centre share: how to read the scan, and the recipe.
 * Zero the struct, add the groups to the parse, then finish; clear it at the end in any case.
 */
typedef struct {
  TdRecipe recipe;
  TdScanOptions scan; /* strings belong to the fields below */
  gboolean format_given;
  char *recipe_path, *flats, *darks, *bad_pixels, *angles, *geometry, *dataset, *raw, *values;
  double pixel_mm, sod_mm, sdd_mm;
  gboolean sinograms;
  GPtrArray *settings; /* "option\0value" pairs in the order given */
} TdCliRecipe;

void td_cli_recipe_init (TdCliRecipe *recipe);
void td_cli_recipe_clear (TdCliRecipe *recipe);
/* (transfer full), for td_cli_parse(). @with_recipe FALSE: only the options about the scan. */
GOptionGroup *td_cli_recipe_group (TdCliRecipe *recipe, gboolean with_recipe);
/* After parsing: loads --recipe, then applies the options over it. -1 to go on, else the exit
   status (wrong usage was said). */
int td_cli_recipe_finish (TdCliRecipe *recipe, const char *verb);
