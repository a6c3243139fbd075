/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recipe as JSON, by the table of its fields. */
#include <inttypes.h>
#include <string.h>

#include "dataset/error.h"
#include "dataset/json-walk.h"
#include "field.h"
#include "json.h"

#define VERSION_KEY "tomodesk_recipe"

/* ── Reading ── */

static guint
recipe_json_type (JsonNode *node)
{
  switch (json_node_get_node_type (node)) {
  case JSON_NODE_NULL: return TD_FIELD_NULL;
  case JSON_NODE_ARRAY: return TD_FIELD_LIST;
  case JSON_NODE_VALUE: break;
  default: return 0;
  }
  const GType type = json_node_get_value_type (node);
  return type == G_TYPE_BOOLEAN  ? TD_FIELD_BOOLEAN
         : type == G_TYPE_STRING ? TD_FIELD_STRING
                                 : TD_FIELD_NUMBER;
}

static void
recipe_json_add_number (GString *text, JsonNode *node)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  if (json_node_get_value_type (node) == G_TYPE_INT64)
    g_string_append_printf (text, "%" PRId64, json_node_get_int (node));
  else
    g_string_append (text, g_ascii_dtostr (number, sizeof number, json_node_get_double (node)));
}

/* The value as the command line has it; NULL: the list is none of numbers, or too long or short.
   (transfer full) */
static char *
recipe_json_text (const TdField *field, JsonNode *node)
{
  g_autoptr (GString) text = g_string_new (NULL);

  switch (recipe_json_type (node)) {
  case TD_FIELD_BOOLEAN: return g_strdup (json_node_get_boolean (node) ? "true" : "false");
  case TD_FIELD_STRING: return g_strdup (json_node_get_string (node));
  case TD_FIELD_NUMBER: recipe_json_add_number (text, node); break;
  default: {
    JsonArray *array = json_node_get_array (node);
    if (json_array_get_length (array) != field->n)
      return NULL;
    for (guint i = 0; i < field->n; i++) {
      JsonNode *element = json_array_get_element (array, i);
      if (recipe_json_type (element) != TD_FIELD_NUMBER)
        return NULL;
      if (i > 0)
        g_string_append_c (text, field->separator ? field->separator : ',');
      recipe_json_add_number (text, element);
    }
  }
  }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static gboolean
recipe_json_set (const TdField *field, TdRecipe *recipe, JsonNode *node, GError **error)
{
  const guint type = recipe_json_type (node);
  g_autoptr (GError) reason = NULL;

  if (type & field->kind->json) {
    if (field->kind->read) {
      if (field->kind->read (field, recipe, node, &reason))
        return TRUE;
    } else if (type == TD_FIELD_NULL) {
      return field->kind->set (field, recipe, NULL, error);
    } else {
      g_autofree char *text = recipe_json_text (field, node);
      if (text && td_field_set (field, recipe, text, &reason))
        return TRUE;
    }
  }
  if (reason) {
    g_propagate_error (error, g_steal_pointer (&reason));
    return FALSE;
  }
  g_autofree char *value = td_json_text (node, FALSE);
  return td_field_refuse (field, value, error);
}

static gboolean
recipe_json_read_version (JsonNode *node, GError **error)
{
  if (recipe_json_type (node) != TD_FIELD_NUMBER)
    return td_set_error (error, TD_ERROR_INVALID, "The recipe's \"%s\" is not a number",
                         VERSION_KEY);
  if (json_node_get_double (node) == TD_RECIPE_VERSION)
    return TRUE;
  return td_set_error (error, TD_ERROR_UNSUPPORTED,
                       "The recipe is of version %g, this program reads version %d; "
                       "use the version of Tomodesk that wrote it",
                       json_node_get_double (node), TD_RECIPE_VERSION);
}

/* The row of "filter.kind", given "filter" and "kind"; @group NULL: that of a member of the whole.
 */
static const TdField *
recipe_json_find (const char *group, const char *key)
{
  g_autofree char *name = group ? g_strconcat (group, ".", key, NULL) : g_strdup (key);

  for (const TdField *field = td_recipe_fields; field->option; field++)
    if (g_strcmp0 (field->json, name) == 0)
      return field;
  return NULL;
}

static gboolean
recipe_json_is_group (const char *key)
{
  for (const TdField *field = td_recipe_fields; field->option; field++)
    if (field->json && g_str_has_prefix (field->json, key) && field->json[strlen (key)] == '.')
      return TRUE;
  return FALSE;
}

static gboolean recipe_json_read_object (TdRecipe *recipe, const char *group, JsonNode *node,
                                         GError **error);

static gboolean
recipe_json_read_member (TdRecipe *recipe, const char *group, const char *key, JsonNode *node,
                         GError **error)
{
  const TdField *field = recipe_json_find (group, key);

  if (field) {
    if (recipe_json_set (field, recipe, node, error))
      return TRUE;
    return td_prefix_error (error, "The recipe's \"%s\": ", key);
  }
  if (!group && strcmp (key, VERSION_KEY) == 0)
    return recipe_json_read_version (node, error);
  if (!group && recipe_json_is_group (key))
    return recipe_json_read_object (recipe, key, node, error);
  if (group)
    return td_set_error (
        error, TD_ERROR_INVALID,
        "The recipe has a key \"%s\" in \"%s\" that this version does not know; correct its "
        "spelling or use the version that wrote it",
        key, group);
  return td_set_error (error, TD_ERROR_INVALID,
                       "The recipe has a key \"%s\" that this version does not know; correct its "
                       "spelling or use the version that wrote it",
                       key);
}

/* A misspelt or newer key is refused by its name. */
static gboolean
recipe_json_read_object (TdRecipe *recipe, const char *group, JsonNode *node, GError **error)
{
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return td_set_error (error, TD_ERROR_INVALID, "The recipe's \"%s\" is not an object", group);
  JsonObject *object = json_node_get_object (node);
  g_autoptr (GList) keys = json_object_get_members (object);
  for (GList *key = keys; key; key = key->next)
    if (!recipe_json_read_member (recipe, group, key->data,
                                  json_object_get_member (object, key->data), error))
      return FALSE;
  return TRUE;
}

gboolean
td_recipe_from_json (TdRecipe *recipe, const char *json, GError **error)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GError) reason = NULL;
  TdRecipe read;

  if (td_json_is_deep (json))
    return td_set_error (error, TD_ERROR_BAD_FILE,
                         "This is not a recipe: its brackets are nested deeper than any recipe's");
  if (!json_parser_load_from_data (parser, json, -1, &reason))
    return td_set_error (error, TD_ERROR_BAD_FILE, "The recipe is not JSON: %s", reason->message);
  JsonNode *root = json_parser_get_root (parser);
  if (!root || !JSON_NODE_HOLDS_OBJECT (root)
      || !json_object_has_member (json_node_get_object (root), VERSION_KEY))
    return td_set_error (error, TD_ERROR_BAD_FILE,
                         "This is not a recipe: a JSON object with a member \"%s\" is expected",
                         VERSION_KEY);
  g_autofree char *twice = td_json_twice (json);
  if (twice)
    return td_set_error (error, TD_ERROR_INVALID,
                         "The recipe has the key \"%s\" twice in one place; delete one of them",
                         twice);

  td_recipe_init (&read);
  if (!recipe_json_read_object (&read, NULL, root, error))
    return FALSE;
  *recipe = read;
  return TRUE;
}

/* ── Writing ── */

/* Rows of one group follow each other in the table. */
char *
td_recipe_to_json (const TdRecipe *recipe)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autofree char *group = NULL;

  json_builder_begin_object (builder);
  td_json_add_integer (builder, VERSION_KEY, TD_RECIPE_VERSION);
  for (const TdField *field = td_recipe_fields; field->option; field++) {
    if (!field->json)
      continue;
    const char *dot = strchr (field->json, '.');
    g_autofree char *in = dot ? g_strndup (field->json, (gsize) (dot - field->json)) : NULL;
    if (group && g_strcmp0 (group, in) != 0)
      json_builder_end_object (builder);
    if (in && g_strcmp0 (group, in) != 0)
      td_json_begin_object (builder, in);
    g_free (group);
    group = g_steal_pointer (&in);
    json_builder_set_member_name (builder, dot ? dot + 1 : field->json);
    field->kind->write (field, recipe, builder);
  }
  if (group)
    json_builder_end_object (builder);
  json_builder_end_object (builder);
  return td_json_print (builder);
}

void
td_recipe_add_json (JsonBuilder *builder, const char *name, const TdRecipe *recipe)
{
  g_autofree char *text = td_recipe_to_json (recipe);

  json_builder_set_member_name (builder, name);
  json_builder_add_value (builder, json_from_string (text, NULL));
}
