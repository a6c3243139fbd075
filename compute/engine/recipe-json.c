/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recipe.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

/**
 * The recipe as JSON. Each key is a row of a table with a writer and a reader; reading looks every
 * key of the file up in the table, so that a misspelt or newer key is refused by its name.
 */
typedef struct {
  const char *key;
  void (*write) (const TdRecipe *recipe, JsonBuilder *builder);
  gboolean (*read) (TdRecipe *recipe, const char *key, JsonNode *node, GError **error);
} Field;

/* ── Reading values ───────────────────────────────────────────────────────────────────────────── */

static gboolean
wrong (GError **error, const char *key, const char *expected)
{
  g_set_error (error, TD_ERROR, TD_ERROR_INVALID, "The recipe's \"%s\" is not %s", key, expected);
  return FALSE;
}

static gboolean
is_number (JsonNode *node)
{
  GType type = json_node_get_value_type (node);
  return JSON_NODE_HOLDS_VALUE (node) && (type == G_TYPE_INT64 || type == G_TYPE_DOUBLE);
}

static gboolean
is_string (JsonNode *node)
{
  return JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING;
}

static gboolean
read_number (JsonNode *node, const char *key, double *value, GError **error)
{
  if (!is_number (node) || !isfinite (json_node_get_double (node)))
    return wrong (error, key, "a number");
  *value = json_node_get_double (node);
  return TRUE;
}

static gboolean
read_boolean (JsonNode *node, const char *key, gboolean *value, GError **error)
{
  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_BOOLEAN)
    return wrong (error, key, "true or false");
  *value = json_node_get_boolean (node);
  return TRUE;
}

/* Exactly @n whole numbers. */
static gboolean
read_integers (JsonNode *node, const char *key, gint64 *values, guint n, GError **error)
{
  JsonArray *array = JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
  g_autofree char *expected = g_strdup_printf ("null or a list of %u whole numbers", n);

  if (!array || json_array_get_length (array) != n)
    return wrong (error, key, expected);
  for (guint i = 0; i < n; i++) {
    JsonNode *element = json_array_get_element (array, i);
    double value = is_number (element) ? json_node_get_double (element) : NAN;
    if (!(fabs (value) <= G_MAXINT32) || value != floor (value))
      return wrong (error, key, expected);
    values[i] = (gint64) value;
  }
  return TRUE;
}

/* A value that the command line knows by the same meaning under another name. */
static gboolean
read_option (TdRecipe *recipe, const char *option, const char *key, JsonNode *node, GError **error)
{
  if (!is_string (node))
    return wrong (error, key, "a string");
  if (td_recipe_set (recipe, option, json_node_get_string (node), error))
    return TRUE;
  g_prefix_error (error, "The recipe's \"%s\": ", key);
  return FALSE;
}

static gboolean
read_members (JsonNode *node, TdRecipe *recipe, const char *where, const Field *fields,
              GError **error)
{
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return wrong (error, where, "an object");

  JsonObject *object = json_node_get_object (node);
  g_autoptr (GList) keys = json_object_get_members (object);
  for (GList *key = keys; key; key = key->next) {
    const Field *field = fields;
    while (field->key && strcmp (field->key, key->data) != 0)
      field++;
    if (!field->key) {
      g_set_error (error, TD_ERROR, TD_ERROR_INVALID,
                   "The recipe has a key \"%s\" in %s that this version does not know; correct its "
                   "spelling or use the version that wrote it", (char *) key->data, where);
      return FALSE;
    }
    if (!field->read (recipe, field->key, json_object_get_member (object, key->data), error))
      return FALSE;
  }
  return TRUE;
}

/* ── Writing values ───────────────────────────────────────────────────────────────────────────── */

static void
write_members (const TdRecipe *recipe, JsonBuilder *builder, const Field *fields)
{
  json_builder_begin_object (builder);
  for (const Field *field = fields; field->key; field++) {
    json_builder_set_member_name (builder, field->key);
    field->write (recipe, builder);
  }
  json_builder_end_object (builder);
}

/* Fields that are one number, switch or name: writer and reader from the place in the recipe. */
#define NUMBER_FIELD(function, place)                                                              \
  static void write_##function (const TdRecipe *recipe, JsonBuilder *builder)                      \
  {                                                                                                \
    json_builder_add_double_value (builder, recipe->place);                                        \
  }                                                                                                \
  static gboolean read_##function (TdRecipe *recipe, const char *key, JsonNode *node,              \
                                   GError **error)                                                 \
  {                                                                                                \
    return read_number (node, key, &recipe->place, error);                                         \
  }
#define BOOLEAN_FIELD(function, place)                                                             \
  static void write_##function (const TdRecipe *recipe, JsonBuilder *builder)                      \
  {                                                                                                \
    json_builder_add_boolean_value (builder, recipe->place);                                       \
  }                                                                                                \
  static gboolean read_##function (TdRecipe *recipe, const char *key, JsonNode *node,              \
                                   GError **error)                                                 \
  {                                                                                                \
    return read_boolean (node, key, &recipe->place, error);                                        \
  }
#define NAME_FIELD(function, option, text)                                                         \
  static void write_##function (const TdRecipe *recipe, JsonBuilder *builder)                      \
  {                                                                                                \
    json_builder_add_string_value (builder, text);                                                 \
  }                                                                                                \
  static gboolean read_##function (TdRecipe *recipe, const char *key, JsonNode *node,              \
                                   GError **error)                                                 \
  {                                                                                                \
    return read_option (recipe, option, key, node, error);                                         \
  }

/* ── Preparation steps ────────────────────────────────────────────────────────────────────────── */

static void
write_steps (const TdRecipe *recipe, JsonBuilder *builder)
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
    return read_boolean (node, "enabled", &step->enabled, error);
  if (!is_number (node) && !is_string (node))
    return wrong (error, key, "a number or a name");

  /* As the command line would: one parser for ranges and names. */
  const char *value = is_string (node)
                          ? json_node_get_string (node)
                          : g_ascii_dtostr (number, sizeof number, json_node_get_double (node));
  gboolean enabled = step->enabled;
  g_autofree char *option = g_strdup_printf ("%s:%s=%s", step->name, key, value);
  if (strpbrk (key, ",:=") || strpbrk (value, ",:=")
      || !td_recipe_set (recipe, "prepare", option, error)) {
    g_prefix_error (error, "The recipe's step \"%s\": ", step->name);
    if (error && !*error)
      wrong (error, key, "a parameter of this step");
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

  if (!name || !is_string (name))
    return wrong (error, "prepare", "a list of objects that name a \"step\"");
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

static gboolean
read_steps (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  JsonArray *array = JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;

  if (!array)
    return wrong (error, key, "a list of steps");
  recipe->n_steps = 0;
  for (guint i = 0; i < json_array_get_length (array); i++)
    if (!read_step (recipe, json_array_get_element (array, i), error))
      return FALSE;
  return TRUE;
}

/* ── The axis, the filter, what is reconstructed ──────────────────────────────────────────────── */

static void
write_centre (const TdRecipe *recipe, JsonBuilder *builder)
{
  if (recipe->centre_auto)
    json_builder_add_string_value (builder, "auto");
  else if (isnan (recipe->centre_px))
    json_builder_add_null_value (builder);
  else
    json_builder_add_double_value (builder, recipe->centre_px);
}

static gboolean
read_centre (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  recipe->centre_auto = FALSE;
  recipe->centre_px = NAN;
  if (JSON_NODE_HOLDS_NULL (node))
    return TRUE;
  if (is_string (node))
    return read_option (recipe, "centre", key, node, error);
  return read_number (node, key, &recipe->centre_px, error);
}

NUMBER_FIELD (tilt, tilt_deg)

NAME_FIELD (filter_kind, "filter", td_filter_name (recipe->filter.kind))
BOOLEAN_FIELD (extend_edges, filter.extend_edges)

static void
write_cutoff (const TdRecipe *recipe, JsonBuilder *builder)
{
  json_builder_add_double_value (builder, recipe->filter.cutoff);
}

static gboolean
read_cutoff (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  double cutoff;

  if (!read_number (node, key, &cutoff, error))
    return FALSE;
  if (!(cutoff > 0 && cutoff <= 1))
    return wrong (error, key, "above 0 and at most 1");
  recipe->filter.cutoff = cutoff;
  return TRUE;
}

static void
write_order (const TdRecipe *recipe, JsonBuilder *builder)
{
  json_builder_add_int_value (builder, recipe->filter.order);
}

static gboolean
read_order (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  double order;

  if (!read_number (node, key, &order, error))
    return FALSE;
  if (!(order >= 1 && order <= 64) || order != floor (order))
    return wrong (error, key, "a whole number from 1 to 64");
  recipe->filter.order = (guint) order;
  return TRUE;
}

static const Field filter_fields[] = {
  { "kind", write_filter_kind, read_filter_kind },
  { "cutoff", write_cutoff, read_cutoff },
  { "order", write_order, read_order },
  { "extend_edges", write_extend_edges, read_extend_edges },
  { NULL },
};

static void
write_filter (const TdRecipe *recipe, JsonBuilder *builder)
{
  write_members (recipe, builder, filter_fields);
}

static gboolean
read_filter (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  return read_members (node, recipe, "\"filter\"", filter_fields, error);
}

NAME_FIELD (method, "method", td_method_name (recipe->method))
NAME_FIELD (kernel, "kernel", recipe->family)
NAME_FIELD (interpolation, "interpolation", td_interpolation_name (recipe->interpolation))
NAME_FIELD (precision, "precision", td_precision_name (recipe->precision))

static void
write_rows (const TdRecipe *recipe, JsonBuilder *builder)
{
  if (recipe->row_end == 0) {
    json_builder_add_null_value (builder);
    return;
  }
  json_builder_begin_array (builder);
  json_builder_add_int_value (builder, recipe->row_first);
  json_builder_add_int_value (builder, recipe->row_end);
  json_builder_end_array (builder);
}

static gboolean
read_rows (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  gint64 range[2] = { 0, 0 };

  if (!JSON_NODE_HOLDS_NULL (node)) {
    if (!read_integers (node, key, range, 2, error))
      return FALSE;
    if (range[0] < 0 || range[0] >= range[1])
      return wrong (error, key, "null or [FIRST, END] with FIRST below END");
  }
  recipe->row_first = (guint) range[0];
  recipe->row_end = (guint) range[1];
  return TRUE;
}

static void
write_crop (const TdRecipe *recipe, JsonBuilder *builder)
{
  if (recipe->crop[2] == 0) {
    json_builder_add_null_value (builder);
    return;
  }
  json_builder_begin_array (builder);
  for (guint i = 0; i < 4; i++)
    json_builder_add_int_value (builder, recipe->crop[i]);
  json_builder_end_array (builder);
}

static gboolean
read_crop (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  gint64 box[4] = { 0, 0, 0, 0 };

  if (!JSON_NODE_HOLDS_NULL (node)) {
    if (!read_integers (node, key, box, 4, error))
      return FALSE;
    if (box[0] < 0 || box[1] < 0 || box[2] < 1 || box[3] < 1)
      return wrong (error, key, "null or [COLUMN, ROW, COLUMNS, ROWS] with a size above 0");
  }
  for (guint i = 0; i < 4; i++)
    recipe->crop[i] = (guint) box[i];
  return TRUE;
}

static void
write_bin (const TdRecipe *recipe, JsonBuilder *builder)
{
  json_builder_begin_array (builder);
  for (guint i = 0; i < 2; i++)
    json_builder_add_int_value (builder, MAX (recipe->bin[i], 1));
  json_builder_end_array (builder);
}

static gboolean
read_bin (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  gint64 bin[2];

  if (!read_integers (node, key, bin, 2, error))
    return FALSE;
  for (guint i = 0; i < 2; i++) {
    if (bin[i] < 1 || bin[i] > TD_RECIPE_MAX_BIN)
      return wrong (error, key, "[COLUMNS, ROWS], whole numbers from 1 to 64");
    recipe->bin[i] = (guint) bin[i];
  }
  return TRUE;
}

static void
write_bin_views (const TdRecipe *recipe, JsonBuilder *builder)
{
  json_builder_add_int_value (builder, MAX (recipe->bin_views, 1));
}

static gboolean
read_bin_views (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  double views;

  if (!read_number (node, key, &views, error))
    return FALSE;
  if (!(views >= 1 && views <= TD_RECIPE_MAX_BIN) || views != floor (views))
    return wrong (error, key, "a whole number from 1 to 64");
  recipe->bin_views = (guint) views;
  return TRUE;
}

static void
write_region (const TdRecipe *recipe, JsonBuilder *builder)
{
  if (recipe->region[2] == 0) {
    json_builder_add_null_value (builder);
    return;
  }
  json_builder_begin_array (builder);
  for (guint i = 0; i < 4; i++)
    json_builder_add_int_value (builder, recipe->region[i]);
  json_builder_end_array (builder);
}

static gboolean
read_region (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  gint64 box[4] = { 0, 0, 0, 0 };

  if (!JSON_NODE_HOLDS_NULL (node)) {
    if (!read_integers (node, key, box, 4, error))
      return FALSE;
    if (box[2] < 1 || box[3] < 1)
      return wrong (error, key, "null or [X, Y, WIDTH, HEIGHT] with a size above 0");
  }
  for (guint i = 0; i < 4; i++)
    recipe->region[i] = (gint) box[i];
  return TRUE;
}

NUMBER_FIELD (angle_offset, angle_offset_deg)
BOOLEAN_FIELD (reverse_rotation, reverse_rotation)
NAME_FIELD (field_of_view, "field-of-view", td_field_of_view_name (recipe->field_of_view))
NAME_FIELD (devices, "device", recipe->devices)

static void
write_memory_limit (const TdRecipe *recipe, JsonBuilder *builder)
{
  json_builder_add_int_value (builder, (gint64) recipe->memory_limit_bytes);
}

static gboolean
read_memory_limit (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  double bytes;

  if (!read_number (node, key, &bytes, error))
    return FALSE;
  if (!(bytes >= 0 && bytes <= 0x1p62))
    return wrong (error, key, "a number of bytes");
  recipe->memory_limit_bytes = (guint64) json_node_get_int (node);
  return TRUE;
}

NAME_FIELD (share, "share", td_share_name (recipe->share))
NAME_FIELD (filter_on, "filter-on", td_filter_place_name (recipe->filter_on))

/* ── Output ───────────────────────────────────────────────────────────────────────────────────── */

NAME_FIELD (format, "format", td_volume_format_name (recipe->output_format))

static void
write_bits (const TdRecipe *recipe, JsonBuilder *builder)
{
  json_builder_add_int_value (builder, recipe->output_bits);
}

static gboolean
read_bits (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  double bits = 0;

  if (!read_number (node, key, &bits, error))
    return FALSE;
  if (bits != 8 && bits != 16 && bits != 32)
    return wrong (error, key, "8, 16 or 32");
  recipe->output_bits = (guint) bits;
  return TRUE;
}

static void
write_range (const TdRecipe *recipe, JsonBuilder *builder)
{
  if (recipe->output_range_auto) {
    json_builder_add_string_value (builder, "auto");
    return;
  }
  json_builder_begin_array (builder);
  json_builder_add_double_value (builder, recipe->output_low);
  json_builder_add_double_value (builder, recipe->output_high);
  json_builder_end_array (builder);
}

static gboolean
read_range (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  JsonArray *array = JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;

  if (is_string (node))
    return read_option (recipe, "range", key, node, error);
  if (!array || json_array_get_length (array) != 2)
    return wrong (error, key, "\"auto\" or [LOW, HIGH]");
  recipe->output_range_auto = FALSE;
  if (!read_number (json_array_get_element (array, 0), key, &recipe->output_low, error)
      || !read_number (json_array_get_element (array, 1), key, &recipe->output_high, error))
    return FALSE;
  return recipe->output_low < recipe->output_high
         || wrong (error, key, "[LOW, HIGH] with LOW below HIGH");
}

static const Field output_fields[] = {
  { "format", write_format, read_format },
  { "bits", write_bits, read_bits },
  { "range", write_range, read_range },
  { NULL },
};

static void
write_output (const TdRecipe *recipe, JsonBuilder *builder)
{
  write_members (recipe, builder, output_fields);
}

static gboolean
read_output (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  return read_members (node, recipe, "\"output\"", output_fields, error);
}

/* ── The whole ────────────────────────────────────────────────────────────────────────────────── */

static void
write_version (const TdRecipe *recipe, JsonBuilder *builder)
{
  json_builder_add_int_value (builder, TD_RECIPE_VERSION);
}

static gboolean
read_version (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  if (!is_number (node))
    return wrong (error, key, "a number");
  if (json_node_get_int (node) != TD_RECIPE_VERSION) {
    g_set_error (error, TD_ERROR, TD_ERROR_UNSUPPORTED,
                 "The recipe is of version %" G_GINT64_FORMAT ", this program reads version %d; use "
                 "the version of Tomodesk that wrote it", json_node_get_int (node),
                 TD_RECIPE_VERSION);
    return FALSE;
  }
  return TRUE;
}

static const Field recipe_fields[] = {
  { "tomodesk_recipe", write_version, read_version },
  { "prepare", write_steps, read_steps },
  { "centre_px", write_centre, read_centre },
  { "tilt_deg", write_tilt, read_tilt },
  { "filter", write_filter, read_filter },
  { "method", write_method, read_method },
  { "kernel", write_kernel, read_kernel },
  { "interpolation", write_interpolation, read_interpolation },
  { "precision", write_precision, read_precision },
  { "crop", write_crop, read_crop },
  { "bin", write_bin, read_bin },
  { "bin_views", write_bin_views, read_bin_views },
  { "rows", write_rows, read_rows },
  { "region", write_region, read_region },
  { "angle_offset_deg", write_angle_offset, read_angle_offset },
  { "reverse_rotation", write_reverse_rotation, read_reverse_rotation },
  { "field_of_view", write_field_of_view, read_field_of_view },
  { "devices", write_devices, read_devices },
  { "memory_limit_bytes", write_memory_limit, read_memory_limit },
  { "share", write_share, read_share },
  { "filter_on", write_filter_on, read_filter_on },
  { "output", write_output, read_output },
  { NULL },
};

char *
td_recipe_to_json (const TdRecipe *recipe)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  write_members (recipe, builder, recipe_fields);
  g_autoptr (JsonNode) root = json_builder_get_root (builder);
  return json_to_string (root, TRUE);
}

gboolean
td_recipe_from_json (TdRecipe *recipe, const char *json, GError **error)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GError) reason = NULL;
  TdRecipe read;

  if (!json_parser_load_from_data (parser, json, -1, &reason)) {
    g_set_error (error, TD_ERROR, TD_ERROR_BAD_FILE, "The recipe is not JSON: %s", reason->message);
    return FALSE;
  }
  JsonNode *root = json_parser_get_root (parser);
  if (!root || !JSON_NODE_HOLDS_OBJECT (root)
      || !json_object_has_member (json_node_get_object (root), "tomodesk_recipe")) {
    g_set_error (error, TD_ERROR, TD_ERROR_BAD_FILE,
                 "This is not a recipe: a JSON object with a member \"tomodesk_recipe\" is expected");
    return FALSE;
  }

  td_recipe_init (&read);
  if (!read_members (root, &read, "the recipe", recipe_fields, error))
    return FALSE;
  *recipe = read;
  return TRUE;
}
