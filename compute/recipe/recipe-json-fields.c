/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recipe-json-fields.h"

#include <math.h>
#include <string.h>

gboolean
td_field_wrong (GError **error, const char *key, const char *expected)
{
  g_set_error (error, TD_ERROR, TD_ERROR_INVALID, "The recipe's \"%s\" is not %s", key, expected);
  return FALSE;
}

gboolean
td_field_is_number (JsonNode *node)
{
  GType type = json_node_get_value_type (node);
  return JSON_NODE_HOLDS_VALUE (node) && (type == G_TYPE_INT64 || type == G_TYPE_DOUBLE);
}

gboolean
td_field_is_string (JsonNode *node)
{
  return JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING;
}

gboolean
td_field_number (JsonNode *node, const char *key, double *value, GError **error)
{
  if (!td_field_is_number (node) || !isfinite (json_node_get_double (node)))
    return td_field_wrong (error, key, "a number");
  *value = json_node_get_double (node);
  return TRUE;
}

gboolean
td_field_boolean (JsonNode *node, const char *key, gboolean *value, GError **error)
{
  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_BOOLEAN)
    return td_field_wrong (error, key, "true or false");
  *value = json_node_get_boolean (node);
  return TRUE;
}

gboolean
td_field_integers (JsonNode *node, const char *key, gint64 *values, guint n, GError **error)
{
  JsonArray *array = JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
  g_autofree char *expected = g_strdup_printf ("null or a list of %u whole numbers", n);

  if (!array || json_array_get_length (array) != n)
    return td_field_wrong (error, key, expected);
  for (guint i = 0; i < n; i++) {
    JsonNode *element = json_array_get_element (array, i);
    double value = td_field_is_number (element) ? json_node_get_double (element) : NAN;
    if (!(fabs (value) <= G_MAXINT32) || value != floor (value))
      return td_field_wrong (error, key, expected);
    values[i] = (gint64) value;
  }
  return TRUE;
}

gboolean
td_field_option (TdRecipe *recipe, const char *option, const char *key, JsonNode *node,
                 GError **error)
{
  if (!td_field_is_string (node))
    return td_field_wrong (error, key, "a string");
  if (td_recipe_set (recipe, option, json_node_get_string (node), error))
    return TRUE;
  g_prefix_error (error, "The recipe's \"%s\": ", key);
  return FALSE;
}

gboolean
td_fields_read (JsonNode *node, TdRecipe *recipe, const char *where, const TdRecipeField *fields,
                GError **error)
{
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return td_field_wrong (error, where, "an object");

  JsonObject *object = json_node_get_object (node);
  g_autoptr (GList) keys = json_object_get_members (object);
  for (GList *key = keys; key; key = key->next) {
    const TdRecipeField *field = fields;
    while (field->key && strcmp (field->key, key->data) != 0)
      field++;
    if (!field->key) {
      g_set_error (error, TD_ERROR, TD_ERROR_INVALID,
                   "The recipe has a key \"%s\" in %s that this version does not know; correct its "
                   "spelling or use the version that wrote it",
                   (char *) key->data, where);
      return FALSE;
    }
    if (!field->read (recipe, field->key, json_object_get_member (object, key->data), error))
      return FALSE;
  }
  return TRUE;
}

void
td_fields_write (const TdRecipe *recipe, JsonBuilder *builder, const TdRecipeField *fields)
{
  json_builder_begin_object (builder);
  for (const TdRecipeField *field = fields; field->key; field++) {
    json_builder_set_member_name (builder, field->key);
    field->write (recipe, builder);
  }
  json_builder_end_object (builder);
}
