/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libFuzzer target: the first byte names an option of a recipe, the rest is its value. What is
   taken must say and
   read itself alike as JSON. */
#include "compute/recipe/field.h"
#include "compute/recipe/recipe.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  guint n_fields = 0;
  TdRecipe recipe, again;

  while (td_recipe_fields[n_fields].option)
    n_fields++;
  if (size == 0)
    return 0;
  const TdField *field = &td_recipe_fields[data[0] % n_fields];
  g_autofree char *text = g_strndup ((const char *) data + 1, size - 1);
  td_recipe_init (&recipe);
  if (!td_recipe_set (&recipe, field->option, text, NULL))
    return 0;
  g_autofree char *json = td_recipe_to_json (&recipe);
  td_recipe_init (&again);
  if (!td_recipe_from_json (&again, json, NULL) || !td_recipe_equal (&recipe, &again))
    g_error ("--%s %s: not the same recipe: %s", field->option, text, json);
  return 0;
}
