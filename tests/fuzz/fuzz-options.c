/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libFuzzer target: any text as the value of each option of a recipe; what is taken must say and
   read itself alike as JSON. */
#include "compute/recipe/field.h"
#include "compute/recipe/recipe.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree char *text = g_strndup ((const char *) data, size);

  for (const TdField *field = td_recipe_fields (); field->option; field++) {
    TdRecipe recipe, again;

    td_recipe_init (&recipe);
    if (!td_recipe_set (&recipe, field->option, text, NULL))
      continue;
    g_autofree char *json = td_recipe_to_json (&recipe);
    td_recipe_init (&again);
    if (!td_recipe_from_json (&again, json, NULL) || !td_recipe_equal (&recipe, &again))
      g_error ("--%s %s: not the same recipe: %s", field->option, text, json);
  }
  return 0;
}
