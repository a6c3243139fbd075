/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Preparation steps of a recipe as JSON: a list of objects that name a step and its parameters. */
#include <string.h>

#include "recipe-json-fields.h"

void
td_field_write_steps (const TdRecipe *recipe, JsonBuilder *builder)
{
  json_builder_begin_array (builder);
  for (guint i = 0; i < recipe->n_steps; i++) {
    const TdStep *step = &recipe->steps[i];
    const TdStepKind *kind = td_prepare_step (step->name, NULL);

    json_builder_begin_object (builder);
    json_builder_set_member_name (builder, "step");
    json_builder_add_string_value (builder, step->name);
    json_builder_set_member_name (builder, "enabled");
    json_builder_add_boolean_value (builder, step->enabled);
    for (guint p = 0; kind && p < kind->n_parameters; p++) {
      const TdStepParameter *parameter = &kind->parameters[p];
      json_builder_set_member_name (builder, parameter->name);
      if (parameter->choices)
        json_builder_add_string_value (builder, parameter->choices[(guint) step->values[p]]);
      else
        json_builder_add_double_value (builder, step->values[p]);
    }
    json_builder_end_object (builder);
  }
  json_builder_end_array (builder);
}

static gboolean
read_step_member (TdRecipe *recipe, TdStep *step, const char *key, JsonNode *node, GError **error)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  if (strcmp (key, "step") == 0)
    return TRUE;
  if (strcmp (key, "enabled") == 0)
    return td_field_boolean (node, "enabled", &step->enabled, error);
  if (!td_field_is_number (node) && !td_field_is_string (node))
    return td_field_wrong (error, key, "a number or a name");

  /* As the command line would: one parser for ranges and names. */
  const char *value = td_field_is_string (node)
                          ? json_node_get_string (node)
                          : g_ascii_dtostr (number, sizeof number, json_node_get_double (node));
  gboolean enabled = step->enabled;
  g_autofree char *option = g_strdup_printf ("%s:%s=%s", step->name, key, value);
  if (strpbrk (key, ",:=") || strpbrk (value, ",:=")
      || !td_recipe_set (recipe, "prepare", option, error)) {
    g_prefix_error (error, "The recipe's step \"%s\": ", step->name);
    if (error && !*error)
      td_field_wrong (error, key, "a parameter of this step");
    return FALSE;
  }
  step->enabled = enabled;
  return TRUE;
}

static gboolean
read_step (TdRecipe *recipe, JsonNode *node, GError **error)
{
  JsonObject *object = JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  JsonNode *name = object ? json_object_get_member (object, "step") : NULL;

  if (!name || !td_field_is_string (name))
    return td_field_wrong (error, "prepare", "a list of objects that name a \"step\"");
  if (td_recipe_step (recipe, json_node_get_string (name))) {
    g_set_error (error, TD_ERROR, TD_ERROR_INVALID, "The recipe has the step \"%s\" twice",
                 json_node_get_string (name));
    return FALSE;
  }

  TdStep *step = td_recipe_add_step (recipe, json_node_get_string (name), error);
  g_autoptr (GList) keys = json_object_get_members (object);
  if (!step)
    return FALSE;
  for (GList *key = keys; key; key = key->next)
    if (!read_step_member (recipe, step, key->data, json_object_get_member (object, key->data),
                           error))
      return FALSE;
  return TRUE;
}

gboolean
td_field_read_steps (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  JsonArray *array = JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;

  if (!array)
    return td_field_wrong (error, key, "a list of steps");
  recipe->n_steps = 0;
  for (guint i = 0; i < json_array_get_length (array); i++)
    if (!read_step (recipe, json_array_get_element (array, i), error))
      return FALSE;
  return TRUE;
}
