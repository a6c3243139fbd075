/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lab.h"

#include <math.h>
#include <string.h>

#include "compute/recipe/field.h"
#include "compute/recipe/json.h"
#include "dataset/json-walk.h"
#include "dataset/text-file.h"

#define VERSION_KEY "tomodesk_lab"
#define VERSION 1
#define MAX_FILE ((gsize) 1 << 20)

void
td_lab_variant_free (TdLabVariant *variant)
{
  g_free (variant->name);
  g_free (variant->options);
  g_strfreev (variant->given);
  g_free (variant);
}

TdLab *
td_lab_new (const TdRecipe *base, guint row)
{
  TdLab *lab = g_new0 (TdLab, 1);

  lab->base = *base;
  lab->base.row_first = row;
  lab->base.row_end = row + 1;
  lab->variants = g_ptr_array_new_with_free_func ((GDestroyNotify) td_lab_variant_free);
  return lab;
}

void
td_lab_free (TdLab *lab)
{
  if (!lab)
    return;
  g_ptr_array_unref (lab->variants);
  g_free (lab);
}

static gpointer
lab_variant_copy (gconstpointer data, gpointer user)
{
  const TdLabVariant *from = data;
  TdLabVariant *copy = g_memdup2 (from, sizeof *from);

  copy->name = g_strdup (from->name);
  copy->options = g_strdup (from->options);
  copy->given = g_strdupv (from->given);
  return copy;
}

TdLab *
td_lab_copy (const TdLab *lab)
{
  TdLab *copy = g_memdup2 (lab, sizeof *lab);

  copy->variants = g_ptr_array_copy (lab->variants, lab_variant_copy, NULL);
  g_ptr_array_set_free_func (copy->variants, (GDestroyNotify) td_lab_variant_free);
  return copy;
}

/* ── Variants ── */

/* Every picture is of the same part of the same slice, and none is written. */
static const char *const common[]
    = { "rows", "region", "crop", "bin", "format", "bits", "range", NULL };

/* "--option value", "--option=value" or a switch, from word @i on. Returns the words taken; 0 with
   @error. */
static guint
lab_apply_word (TdRecipe *recipe, char **words, guint i, GStrvBuilder *given, GError **error)
{
  const char *word = words[i];

  if (!g_str_has_prefix (word, "--") || !word[2])
    return td_set_error (error, TD_ERROR_INVALID,
                         "“%s” is no option: a variant is made of options such as --precision half",
                         word);
  const char *equals = strchr (word, '=');
  g_autofree char *option
      = equals ? g_strndup (word + 2, (gsize) (equals - word - 2)) : g_strdup (word + 2);
  const TdField *field = td_recipe_field (option);
  if (!field)
    return td_set_error (error, TD_ERROR_INVALID,
                         "A recipe has no option --%s; tomodesk-cli reconstruct --help lists them",
                         option);
  if (g_strv_contains (common, option))
    return td_set_error (
        error, TD_ERROR_INVALID,
        "All variants show the same part of one slice: --%s belongs to the whole lab", option);
  const gboolean apart = !equals && field->placeholder;
  const char *value = equals ? equals + 1 : apart ? words[i + 1] : "true";
  if (!value)
    return td_set_error (error, TD_ERROR_INVALID, "--%s wants a value", option);
  if (!td_recipe_set (recipe, option, value, error))
    return 0;
  g_strv_builder_add (given, option);
  return apart ? 2 : 1;
}

static gboolean
lab_apply (TdLabVariant *variant, const TdRecipe *base, GError **error)
{
  g_auto (GStrv) words = NULL;
  g_autoptr (GStrvBuilder) given = g_strv_builder_new ();
  g_autoptr (GError) problem = NULL;
  int n = 0;

  variant->recipe = *base;
  if (!g_shell_parse_argv (variant->options, &n, &words, &problem)
      && !g_error_matches (problem, G_SHELL_ERROR, G_SHELL_ERROR_EMPTY_STRING))
    return td_set_error (error, TD_ERROR_INVALID, "The variant “%s” cannot be read: %s",
                         variant->options, problem->message);
  for (guint i = 0; (int) i < n;) {
    const guint taken = lab_apply_word (&variant->recipe, words, i, given, error);
    if (!taken)
      return td_prefix_error (error, "Variant “%s”: ", variant->name);
    i += taken;
  }
  g_strfreev (variant->given);
  variant->given = g_strv_builder_end (given);
  return TRUE;
}

static gboolean
lab_add_variant (TdLab *lab, const char *name, const char *options, GError **error)
{
  if (lab->variants->len >= TD_LAB_MOST)
    return td_set_error (error, TD_ERROR_INVALID, "A lab has at most %d variants", TD_LAB_MOST);
  TdLabVariant *variant = g_new0 (TdLabVariant, 1);
  variant->options = g_strstrip (g_strdup (options));
  variant->name = g_strdup (name && *name ? name : *variant->options ? variant->options : "base");
  if (!lab_apply (variant, &lab->base, error)) {
    td_lab_variant_free (variant);
    return FALSE;
  }
  g_ptr_array_add (lab->variants, variant);
  return TRUE;
}

gboolean
td_lab_add (TdLab *lab, const char *text, GError **error)
{
  g_autofree char *stripped = g_strstrip (g_strdup (text));
  const char *options = g_str_has_prefix (stripped, "--") ? stripped : strstr (stripped, ":");

  if (options == stripped || (!options && !*stripped))
    return lab_add_variant (lab, NULL, stripped, error);
  if (!options)
    return td_set_error (
        error, TD_ERROR_INVALID,
        "“%s” is no variant: write options such as --precision half, or NAME: OPTIONS", text);
  g_autofree char *name = g_strstrip (g_strndup (stripped, (gsize) (options - stripped)));
  return lab_add_variant (lab, name, options + 1, error);
}

/* A variant that is held shows the same part of the same slice as the others. */
static void
lab_show_same (TdLabVariant *variant, const TdRecipe *base)
{
  TdRecipe *recipe = &variant->recipe;

  recipe->row_first = base->row_first;
  recipe->row_end = base->row_end;
  memcpy (recipe->region, base->region, sizeof recipe->region);
  memcpy (recipe->crop, base->crop, sizeof recipe->crop);
  memcpy (recipe->bin, base->bin, sizeof recipe->bin);
}

gboolean
td_lab_set_base (TdLab *lab, const TdRecipe *base, GError **error)
{
  const guint first = lab->base.row_first, end = lab->base.row_end;

  lab->base = *base;
  lab->base.row_first = first;
  lab->base.row_end = end;
  for (guint i = 0; i < lab->variants->len; i++)
    if (((TdLabVariant *) lab->variants->pdata[i])->held)
      lab_show_same (lab->variants->pdata[i], &lab->base);
    else if (!lab_apply (lab->variants->pdata[i], &lab->base, error))
      return FALSE;
  return TRUE;
}

/* ── File ── */

char *
td_lab_to_json (const TdLab *lab)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  json_builder_begin_object (builder);
  td_json_add_integer (builder, VERSION_KEY, VERSION);
  td_json_add_boolean (builder, "reference", lab->reference);
  td_json_add_boolean (builder, "measure", lab->measure);
  td_json_add_boolean (builder, "budget", lab->budget);
  if (lab->has_line) {
    td_json_begin_list (builder, "line");
    json_builder_add_double_value (builder, lab->line.x0);
    json_builder_add_double_value (builder, lab->line.y0);
    json_builder_add_double_value (builder, lab->line.x1);
    json_builder_add_double_value (builder, lab->line.y1);
    json_builder_end_array (builder);
  }
  td_json_begin_list (builder, "variants");
  for (guint i = 0; i < lab->variants->len; i++) {
    const TdLabVariant *variant = lab->variants->pdata[i];
    json_builder_begin_object (builder);
    td_json_add_string (builder, "name", variant->name);
    td_json_add_string (builder, "options", variant->options);
    if (variant->held)
      td_recipe_add_json (builder, "held", &variant->recipe);
    json_builder_end_object (builder);
  }
  json_builder_end_array (builder);
  td_recipe_add_json (builder, "base", &lab->base);
  json_builder_end_object (builder);
  return td_json_print (builder);
}

/* A misspelt key is refused by its name. */
static gboolean
lab_check_keys (JsonNode *node, const char *const *known, GError **error)
{
  g_autoptr (GList) keys = json_object_get_members (json_node_get_object (node));

  for (GList *key = keys; key; key = key->next)
    if (!g_strv_contains (known, key->data))
      return td_set_error (
          error, TD_ERROR_INVALID,
          "The variants file has a key \"%s\" that this version does not know; correct "
          "its spelling or use the version that wrote it",
          (const char *) key->data);
  return TRUE;
}

static gboolean
lab_read_flag (JsonNode *root, const char *name, gboolean *flag, GError **error)
{
  return td_json_flag (root, name, flag)
         || td_set_error (error, TD_ERROR_INVALID, "The \"%s\" of a variants file is true or false",
                          name);
}

static gboolean
lab_read_line (TdLab *lab, JsonNode *node, GError **error)
{
  double values[4];

  if (!node)
    return TRUE;
  JsonArray *array = JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
  gboolean good = array && json_array_get_length (array) == 4;
  for (guint i = 0; good && i < 4; i++) {
    JsonNode *value = json_array_get_element (array, i);
    good = JSON_NODE_HOLDS_VALUE (value)
           && (json_node_get_value_type (value) == G_TYPE_DOUBLE
               || json_node_get_value_type (value) == G_TYPE_INT64);
    values[i] = good ? json_node_get_double (value) : 0;
    good = good && isfinite (values[i]) && fabs (values[i]) < 1e6;
  }
  if (!good)
    return td_set_error (
        error, TD_ERROR_INVALID,
        "The \"line\" of a variants file is a list of four numbers: X0, Y0, X1, Y1");
  lab->has_line = TRUE;
  lab->line = (TdLabLine) { values[0], values[1], values[2], values[3] };
  return TRUE;
}

static gboolean
lab_read_held (TdLabVariant *variant, const TdRecipe *base, JsonNode *held, GError **error)
{
  g_autofree char *text = held ? td_json_text (held, FALSE) : NULL;

  if (!held)
    return TRUE;
  if (!td_recipe_from_json (&variant->recipe, text, error))
    return FALSE;
  variant->held = TRUE;
  lab_show_same (variant, base);
  return TRUE;
}

static gboolean
lab_read_variants (TdLab *lab, JsonNode *node, GError **error)
{
  static const char *const known[] = { "name", "options", "held", NULL };
  JsonArray *list = node && JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;

  for (guint i = 0; list && i < json_array_get_length (list); i++) {
    JsonNode *element = json_array_get_element (list, i);
    const char *options
        = JSON_NODE_HOLDS_OBJECT (element) ? td_json_string (element, "options") : NULL;
    if (!options)
      return td_set_error (error, TD_ERROR_INVALID,
                           "Variant %u of the variants file is no object with \"options\"", i + 1);
    if (!lab_check_keys (element, known, error)
        || !lab_add_variant (lab, td_json_string (element, "name"), options, error)
        || !lab_read_held (lab->variants->pdata[i], &lab->base, td_json_at (element, "held"),
                           error))
      return FALSE;
  }
  if (lab->variants->len >= TD_LAB_LEAST)
    return TRUE;
  return td_set_error (error, TD_ERROR_INVALID,
                       "A variants file lists 2 to %d \"variants\", each with \"options\"",
                       TD_LAB_MOST);
}

TdLab *
td_lab_from_json (const char *json, GError **error)
{
  static const char *const known[]
      = { VERSION_KEY, "reference", "measure", "budget", "line", "variants", "base", NULL };
  g_autoptr (JsonNode) root = td_json_parse (json);
  TdRecipe base;

  if (!root || !JSON_NODE_HOLDS_OBJECT (root) || td_json_count (root, VERSION_KEY) != VERSION
      || !td_json_at (root, "base"))
    return td_set_error_null (
        error, TD_ERROR_BAD_FILE,
        "This is no variants file of version %d: a JSON object with the members "
        "\"%s\", \"base\" and \"variants\" is expected",
        VERSION, VERSION_KEY);
  g_autofree char *recipe = td_json_text (td_json_at (root, "base"), FALSE);
  g_autofree char *twice = td_json_twice (json);
  if (twice)
    return td_set_error_null (
        error, TD_ERROR_INVALID,
        "The variants file has the key \"%s\" twice in one place; delete one of them", twice);
  if (!lab_check_keys (root, known, error) || !td_recipe_from_json (&base, recipe, error))
    return NULL;
  if (base.row_end != base.row_first + 1)
    return td_set_error_null (
        error, TD_ERROR_INVALID,
        "The base recipe of a variants file says one row, as in \"rows\": [5, 6]");
  g_autoptr (TdLab) lab = td_lab_new (&base, base.row_first);
  if (!lab_read_flag (root, "reference", &lab->reference, error)
      || !lab_read_flag (root, "measure", &lab->measure, error)
      || !lab_read_flag (root, "budget", &lab->budget, error)
      || !lab_read_line (lab, td_json_at (root, "line"), error)
      || !lab_read_variants (lab, td_json_at (root, "variants"), error))
    return NULL;
  return g_steal_pointer (&lab);
}

TdLab *
td_lab_load (const char *path, GError **error)
{
  g_autofree char *text = td_text_load (path, MAX_FILE, error);
  TdLab *lab = text ? td_lab_from_json (text, error) : NULL;

  if (text && !lab) {
    td_prefix_error (error, "“%s”: ", path);
    td_error_blame_file (error);
  }
  return lab;
}
