/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recipe-json-fields.h"

/* The numbers of iterative methods, within the limits that the command line has for them. */
static gboolean
recipe_json_iterative_read_number (TdRecipe *recipe, const char *option, const char *key,
                                   JsonNode *node, GError **error)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  double number;

  if (!td_field_number (node, key, &number, error))
    return FALSE;
  if (td_recipe_set (recipe, option, g_ascii_dtostr (text, sizeof text, number), error))
    return TRUE;
  g_prefix_error (error, "The recipe's \"%s\": ", key);
  return FALSE;
}

#define LIMITED_FIELD(function, option, place)                                                     \
  static void write_##function (const TdRecipe *recipe, JsonBuilder *builder)                      \
  {                                                                                                \
    json_builder_add_double_value (builder, recipe->place);                                        \
  }                                                                                                \
  static gboolean read_##function (TdRecipe *recipe, const char *key, JsonNode *node,              \
                                   GError **error)                                                 \
  {                                                                                                \
    return recipe_json_iterative_read_number (recipe, option, key, node, error);                   \
  }

LIMITED_FIELD (relaxation, "relaxation", relaxation)
LIMITED_FIELD (tv, "tv", tv)
LIMITED_FIELD (stop_at, "stop-at", stop_at)
LIMITED_FIELD (tolerance, "tolerance", tolerance)
NAME_FIELD (start, "start", recipe->start)
BOOLEAN_FIELD (non_negative, non_negative)

static void
write_iterations (const TdRecipe *recipe, JsonBuilder *builder)
{
  json_builder_add_int_value (builder, recipe->iterations);
}

static gboolean
read_iterations (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  return recipe_json_iterative_read_number (recipe, "iterations", key, node, error);
}

static void
write_subsets (const TdRecipe *recipe, JsonBuilder *builder)
{
  if (recipe->subsets == 0)
    json_builder_add_string_value (builder, "auto");
  else
    json_builder_add_int_value (builder, recipe->subsets);
}

static gboolean
read_subsets (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  return td_field_is_string (node)
             ? td_field_option (recipe, "subsets", key, node, error)
             : recipe_json_iterative_read_number (recipe, "subsets", key, node, error);
}

static const TdRecipeField iterative_fields[] = {
  { "iterations", write_iterations, read_iterations },
  { "subsets", write_subsets, read_subsets },
  { "relaxation", write_relaxation, read_relaxation },
  { "non_negative", write_non_negative, read_non_negative },
  { "tv", write_tv, read_tv },
  { "stop_at", write_stop_at, read_stop_at },
  { "tolerance", write_tolerance, read_tolerance },
  { "start", write_start, read_start },
  { NULL },
};

void
td_field_write_iterative (const TdRecipe *recipe, JsonBuilder *builder)
{
  td_fields_write (recipe, builder, iterative_fields);
}

gboolean
td_field_read_iterative (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  return td_fields_read (node, recipe, "\"iterative\"", iterative_fields, error);
}
