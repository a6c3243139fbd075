/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli.h"
#include "compute/recipe/recipe.h"

/**
 * The options that info, plan, reconstruct, centre and lab share: how to read the scan, and the
 * recipe.
 */
typedef struct {
  TdRecipe recipe;
  TdScanOptions scan; /* strings belong to the settings */
  char *recipe_path;
  gboolean format_given;
  GPtrArray *settings; /* in the order given */
} TdCliRecipe;

void td_cli_recipe_clear (TdCliRecipe *recipe);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TdCliRecipe, td_cli_recipe_clear)

typedef enum {
  TD_CLI_SCAN = 1,   /* a word names the scan, and options say how to read it */
  TD_CLI_RECIPE = 2, /* options and --recipe make the recipe */
} TdCliTakes;

/* Parses a verb's words: @entries, and what @takes adds. Loads --recipe, then applies the options
   over it. @path: the scan's, with TD_CLI_SCAN. Clear @recipe in any case. -1 to go on, else the
   exit status (--help was printed, or wrong usage was said). */
int td_cli_recipe_parse (TdCliRecipe *recipe, guint takes, int argc, char **argv,
                         const TdCliHelp *help, const GOptionEntry *entries, const char **path);
/* An option that this scan and recipe make no use of is refused: -1 if there is none. "auto" leaves
   the choice to the program, which makes none. */
int td_cli_recipe_check (const TdCliRecipe *recipe, const char *verb, const TdScanFacts *facts);
/* The first option that was typed and that a verb does not take; NULL: there is none. */
const char *td_cli_recipe_other (const TdCliRecipe *recipe, gboolean (*takes) (const char *option));
/* The options about the scan as they were typed: option and value in turns, NULL at the end.
   (transfer full) */
char **td_cli_recipe_scan_settings (const TdCliRecipe *recipe);
/* Whether the setting at @index is the recipe's, and not about how to read the scan. */
gboolean td_cli_recipe_setting_is_recipe (const TdCliRecipe *recipe, guint index);
/* --format says the output's format; else the path's ending; else the recipe file; else one TIFF a
   slice. */
void td_cli_recipe_choose_format (TdCliRecipe *recipe, const char *output);
