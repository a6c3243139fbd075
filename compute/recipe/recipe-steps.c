/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of preparation steps: as options "STEP[=VALUE][:NAME=VALUE…]", "no-STEP" and "none",
   and as JSON objects that name a step and its parameters. */
#include <string.h>

#include "dataset/error.h"
#include "dataset/number.h"
#include "field.h"
#include "json.h"

/* ── As options ── */

static gboolean
recipe_steps_set_parameter (TdStep *step, const TdStepKind *kind, guint index, const char *value,
                            GError **error)
{
  const TdStepParameter *parameter = &kind->parameters[index];
  const TdField field = {
    .kind = parameter->choices       ? &td_kind_choice
            : parameter->digits == 0 ? &td_kind_count
                                     : &td_kind_number,
    .low = parameter->minimum,
    .high = parameter->maximum,
    .names = parameter->choices,
  };
  double number = 0;
  int choice;
  const gboolean taken = parameter->choices
                             ? field.kind->set (&field, &choice, value, NULL)
                             : td_parse_number (value, field.low, field.high, &number)
                                   && (parameter->digits > 0 || number == (double) (gint64) number);

  if (!taken)
    return td_set_error (error, TD_ERROR_INVALID, "{prepare=%s:%s} \"%s\" is not %p", kind->name,
                         parameter->name, value, td_field_expects (&field));
  step->values[index] = parameter->choices ? choice : number;
  return TRUE;
}

static gboolean
recipe_steps_set_named (TdStep *step, const TdStepKind *kind, const char *word, GError **error)
{
  g_auto (GStrv) pair = g_strsplit (word, "=", 2);

  for (guint i = 0; i < kind->n_parameters && pair[0] && pair[1]; i++)
    if (strcmp (kind->parameters[i].name, pair[0]) == 0)
      return recipe_steps_set_parameter (step, kind, i, pair[1], error);

  g_autoptr (GString) names = g_string_new (NULL);
  for (guint i = 0; i < kind->n_parameters; i++)
    g_string_append_printf (names, "%s%s", i ? ", " : "", kind->parameters[i].name);
  if (names->len)
    return td_set_error (error, TD_ERROR_INVALID,
                         "{prepare=%s}: \"%s\" is not NAME=VALUE of one of its parameters (%s)",
                         kind->name, word, names->str);
  return td_set_error (error, TD_ERROR_INVALID,
                       "{prepare=%s}: \"%s\" is too much: it has no parameters", kind->name, word);
}

static gboolean
recipe_steps_set_one (TdRecipe *recipe, const char *text, GError **error)
{
  g_auto (GStrv) words = g_strsplit (text, ":", -1);
  g_auto (GStrv) head = g_strsplit (words[0] ? words[0] : "", "=", 2);
  const char *name = head[0] ? head[0] : "";

  if (strcmp (text, "none") == 0) {
    recipe->n_steps = 0;
    return TRUE;
  }
  if (g_str_has_prefix (text, "no-")) {
    if (!td_prepare_step (text + 3, error))
      return FALSE;
    TdStep *step = td_recipe_step (recipe, text + 3);
    if (step)
      step->enabled = FALSE;
    return TRUE;
  }

  const TdStepKind *kind = td_prepare_step (name, error);
  TdStep *step = kind ? td_recipe_add_step (recipe, name, error) : NULL;
  if (!step)
    return FALSE;
  if (head[1] && kind->n_parameters == 0)
    return td_set_error (error, TD_ERROR_INVALID, "{prepare=%s} takes no value", name);
  if (head[1] && !recipe_steps_set_parameter (step, kind, 0, head[1], error))
    return FALSE;
  for (guint i = 1; words[i]; i++)
    if (!recipe_steps_set_named (step, kind, words[i], error))
      return FALSE;
  return TRUE;
}

/* NULL: the steps of every new recipe. */
static gboolean
recipe_steps_set (const TdField *field, gpointer record, const char *text, GError **error)
{
  if (!text) {
    for (const TdStepKind *const *kind = td_prepare_steps (); *kind; kind++)
      if ((*kind)->preset_on)
        td_recipe_add_step (record, (*kind)->name, NULL);
    return TRUE;
  }
  g_auto (GStrv) steps = g_strsplit (text, ",", -1);
  for (guint i = 0; steps[i]; i++)
    if (!recipe_steps_set_one (record, steps[i], error))
      return FALSE;
  return TRUE;
}

/* ── As JSON ── */

static void
recipe_steps_write (const TdField *field, gconstpointer record, JsonBuilder *builder)
{
  const TdRecipe *recipe = record;

  json_builder_begin_array (builder);
  for (guint i = 0; i < recipe->n_steps; i++) {
    const TdStep *step = &recipe->steps[i];
    const TdStepKind *kind = td_prepare_step (step->name, NULL);

    json_builder_begin_object (builder);
    td_json_add_string (builder, "step", step->name);
    td_json_add_boolean (builder, "enabled", step->enabled);
    for (guint p = 0; kind && p < kind->n_parameters; p++) {
      const TdStepParameter *parameter = &kind->parameters[p];
      if (parameter->choices)
        td_json_add_string (builder, parameter->name, parameter->choices[(guint) step->values[p]]);
      else
        td_json_add_number (builder, parameter->name, step->values[p]);
    }
    json_builder_end_object (builder);
  }
  json_builder_end_array (builder);
}

static gboolean
recipe_steps_refuse (GError **error, const char *step, const char *key, const char *expected)
{
  return td_set_error (error, TD_ERROR_INVALID, "\"%s\" of the step \"%s\" is not %p", key, step,
                       td_message_unpack (expected));
}

static gboolean
recipe_steps_read_member (TdStep *step, const TdStepKind *kind, const char *key, JsonNode *node,
                          GError **error)
{
  const GType type = JSON_NODE_HOLDS_VALUE (node) ? json_node_get_value_type (node) : G_TYPE_NONE;
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  if (strcmp (key, "step") == 0)
    return TRUE;
  if (strcmp (key, "enabled") == 0) {
    if (type != G_TYPE_BOOLEAN)
      return recipe_steps_refuse (error, step->name, key, N_ ("true or false"));
    step->enabled = json_node_get_boolean (node);
    return TRUE;
  }
  for (guint i = 0; i < kind->n_parameters; i++)
    if (strcmp (kind->parameters[i].name, key) == 0) {
      if (type != G_TYPE_STRING && type != G_TYPE_INT64 && type != G_TYPE_DOUBLE)
        return recipe_steps_refuse (error, step->name, key, N_ ("a number or a name"));
      const char *text = type == G_TYPE_STRING
                             ? json_node_get_string (node)
                             : g_ascii_dtostr (number, sizeof number, json_node_get_double (node));
      return recipe_steps_set_parameter (step, kind, i, text, error);
    }
  return recipe_steps_refuse (error, step->name, key, N_ ("a parameter of it"));
}

static gboolean
recipe_steps_read_one (TdRecipe *recipe, JsonNode *node, GError **error)
{
  JsonObject *object = JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  JsonNode *named = object ? json_object_get_member (object, "step") : NULL;

  if (!named || !JSON_NODE_HOLDS_VALUE (named) || json_node_get_value_type (named) != G_TYPE_STRING)
    return FALSE;
  const char *name = json_node_get_string (named);
  if (td_recipe_step (recipe, name))
    return td_set_error (error, TD_ERROR_INVALID, "The recipe has the step \"%s\" twice", name);

  const TdStepKind *kind = td_prepare_step (name, error);
  TdStep *step = kind ? td_recipe_add_step (recipe, name, error) : NULL;
  g_autoptr (GList) keys = json_object_get_members (object);
  if (!step)
    return FALSE;
  for (GList *key = keys; key; key = key->next)
    if (!recipe_steps_read_member (step, kind, key->data,
                                   json_object_get_member (object, key->data), error))
      return FALSE;
  return TRUE;
}

static gboolean
recipe_steps_read (const TdField *field, gpointer record, JsonNode *node, GError **error)
{
  JsonArray *array = json_node_get_array (node);
  TdRecipe *recipe = record;

  recipe->n_steps = 0;
  for (guint i = 0; i < json_array_get_length (array); i++)
    if (!recipe_steps_read_one (recipe, json_array_get_element (array, i), error))
      return FALSE;
  return TRUE;
}

static gboolean
recipe_steps_equal (const TdField *field, gconstpointer a, gconstpointer b)
{
  const TdRecipe *x = a, *y = b;
  gboolean equal = x->n_steps == y->n_steps;

  for (guint i = 0; equal && i < x->n_steps; i++)
    equal = td_step_equal (&x->steps[i], &y->steps[i]);
  return equal;
}

const TdFieldKind td_kind_steps = { TD_FIELD_LIST, recipe_steps_set, recipe_steps_write,
                                    recipe_steps_equal, recipe_steps_read };
