/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <json-glib/json-glib.h>

#include "recipe.h"

/**
 * Fields of the recipe's JSON: what recipe-json.c and recipe-json-steps.c share. Each key is a row
 * of a table with a writer and a reader; reading looks every key of the file up in the table, so
 * that a misspelt or newer key is refused by its name. Readers name the key in their errors.
 */
typedef struct {
  const char *key;
  void (*write) (const TdRecipe *recipe, JsonBuilder *builder);
  gboolean (*read) (TdRecipe *recipe, const char *key, JsonNode *node, GError **error);
} TdRecipeField;

/* Sets @error, "The recipe's KEY is not EXPECTED", and returns FALSE. */
gboolean td_field_wrong (GError **error, const char *key, const char *expected);
gboolean td_field_is_number (JsonNode *node);
gboolean td_field_is_string (JsonNode *node);
gboolean td_field_number (JsonNode *node, const char *key, double *value, GError **error);
gboolean td_field_boolean (JsonNode *node, const char *key, gboolean *value, GError **error);
/* Exactly @n whole numbers. */
gboolean td_field_integers (JsonNode *node, const char *key, gint64 *values, guint n,
                            GError **error);
/* A value that the command line knows by the same meaning under another name. */
gboolean td_field_option (TdRecipe *recipe, const char *option, const char *key, JsonNode *node,
                          GError **error);
/* All fields of an object; tables end with a NULL key. @where: for errors. */
gboolean td_fields_read (JsonNode *node, TdRecipe *recipe, const char *where,
                         const TdRecipeField *fields, GError **error);
void td_fields_write (const TdRecipe *recipe, JsonBuilder *builder, const TdRecipeField *fields);

/* Fields that are one number, switch or name: writer and reader from the place in the recipe. */
#define NUMBER_FIELD(function, place)                                                              \
  static void write_##function (const TdRecipe *recipe, JsonBuilder *builder)                      \
  {                                                                                                \
    json_builder_add_double_value (builder, recipe->place);                                        \
  }                                                                                                \
  static gboolean read_##function (TdRecipe *recipe, const char *key, JsonNode *node,              \
                                   GError **error)                                                 \
  {                                                                                                \
    return td_field_number (node, key, &recipe->place, error);                                     \
  }
#define BOOLEAN_FIELD(function, place)                                                             \
  static void write_##function (const TdRecipe *recipe, JsonBuilder *builder)                      \
  {                                                                                                \
    json_builder_add_boolean_value (builder, recipe->place);                                       \
  }                                                                                                \
  static gboolean read_##function (TdRecipe *recipe, const char *key, JsonNode *node,              \
                                   GError **error)                                                 \
  {                                                                                                \
    return td_field_boolean (node, key, &recipe->place, error);                                    \
  }
#define NAME_FIELD(function, option, text)                                                         \
  static void write_##function (const TdRecipe *recipe, JsonBuilder *builder)                      \
  {                                                                                                \
    json_builder_add_string_value (builder, text);                                                 \
  }                                                                                                \
  static gboolean read_##function (TdRecipe *recipe, const char *key, JsonNode *node,              \
                                   GError **error)                                                 \
  {                                                                                                \
    return td_field_option (recipe, option, key, node, error);                                     \
  }

/* recipe-json-steps.c: the reader and the writer of "prepare". */
void td_field_write_steps (const TdRecipe *recipe, JsonBuilder *builder);
gboolean td_field_read_steps (TdRecipe *recipe, const char *key, JsonNode *node, GError **error);
/* recipe-json-iterative.c: the same of "iterative". */
void td_field_write_iterative (const TdRecipe *recipe, JsonBuilder *builder);
gboolean td_field_read_iterative (TdRecipe *recipe, const char *key, JsonNode *node,
                                  GError **error);
