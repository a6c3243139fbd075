/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libFuzzer target: any text as a recipe; what is taken must say and read itself alike. */
#include "compute/recipe/recipe.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree char *text = g_strndup ((const char *) data, size);
  TdRecipe recipe, again;

  td_recipe_init (&recipe);
  if (!td_recipe_from_json (&recipe, text, NULL))
    return 0;
  g_autofree char *json = td_recipe_to_json (&recipe);
  td_recipe_init (&again);
  if (!td_recipe_from_json (&again, json, NULL) || !td_recipe_equal (&recipe, &again))
    g_error ("not the same recipe: %s", json);
  return 0;
}
