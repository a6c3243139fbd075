/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recipe.h"

#include <math.h>
#include <string.h>

#include "recipe-json-fields.h"

/* ── The axis, the filter, what is reconstructed ── */

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
  if (td_field_is_string (node))
    return td_field_option (recipe, "centre", key, node, error);
  return td_field_number (node, key, &recipe->centre_px, error);
}

static void
write_mask (const TdRecipe *recipe, JsonBuilder *builder)
{
  if (*recipe->mask)
    json_builder_add_string_value (builder, recipe->mask);
  else
    json_builder_add_null_value (builder);
}

static gboolean
recipe_json_read_mask (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  recipe->mask[0] = 0;
  if (JSON_NODE_HOLDS_NULL (node))
    return TRUE;
  if (!td_field_is_string (node))
    return td_field_wrong (error, key, "null or the path of an image");
  if (strlen (json_node_get_string (node)) >= sizeof recipe->mask)
    return td_field_wrong (error, key, "the path of an image of less than 1024 bytes");
  g_strlcpy (recipe->mask, json_node_get_string (node), sizeof recipe->mask);
  return TRUE;
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

  if (!td_field_number (node, key, &cutoff, error))
    return FALSE;
  if (!(cutoff > 0 && cutoff <= 1))
    return td_field_wrong (error, key, "above 0 and at most 1");
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

  if (!td_field_number (node, key, &order, error))
    return FALSE;
  if (!(order >= 1 && order <= 64) || order != floor (order))
    return td_field_wrong (error, key, "a whole number from 1 to 64");
  recipe->filter.order = (guint) order;
  return TRUE;
}

static const TdRecipeField filter_fields[] = {
  { "kind", write_filter_kind, read_filter_kind },
  { "cutoff", write_cutoff, read_cutoff },
  { "order", write_order, read_order },
  { "extend_edges", write_extend_edges, read_extend_edges },
  { NULL },
};

static void
write_filter (const TdRecipe *recipe, JsonBuilder *builder)
{
  td_fields_write (recipe, builder, filter_fields);
}

static gboolean
read_filter (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  return td_fields_read (node, recipe, "\"filter\"", filter_fields, error);
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
recipe_json_read_rows (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  gint64 range[2] = { 0, 0 };

  if (!JSON_NODE_HOLDS_NULL (node)) {
    if (!td_field_integers (node, key, range, 2, error))
      return FALSE;
    if (range[0] < 0 || range[0] >= range[1])
      return td_field_wrong (error, key, "null or [FIRST, END] with FIRST below END");
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
    if (!td_field_integers (node, key, box, 4, error))
      return FALSE;
    if (box[0] < 0 || box[1] < 0 || box[2] < 1 || box[3] < 1)
      return td_field_wrong (error, key,
                             "null or [COLUMN, ROW, COLUMNS, ROWS] with a size above 0");
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

  if (!td_field_integers (node, key, bin, 2, error))
    return FALSE;
  for (guint i = 0; i < 2; i++) {
    if (bin[i] < 1 || bin[i] > TD_RECIPE_MAX_BIN)
      return td_field_wrong (error, key, "[COLUMNS, ROWS], whole numbers from 1 to 64");
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

  if (!td_field_number (node, key, &views, error))
    return FALSE;
  if (!(views >= 1 && views <= TD_RECIPE_MAX_BIN) || views != floor (views))
    return td_field_wrong (error, key, "a whole number from 1 to 64");
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
    if (!td_field_integers (node, key, box, 4, error))
      return FALSE;
    if (box[2] < 1 || box[3] < 1)
      return td_field_wrong (error, key, "null or [X, Y, WIDTH, HEIGHT] with a size above 0");
  }
  for (guint i = 0; i < 4; i++)
    recipe->region[i] = (gint) box[i];
  return TRUE;
}

NUMBER_FIELD (angle_offset, angle_offset_deg)
BOOLEAN_FIELD (reverse_rotation, reverse_rotation)
NAME_FIELD (field_of_view, "field-of-view", td_field_of_view_name (recipe->field_of_view))
NAME_FIELD (devices, "device", recipe->devices)

static gboolean
read_bytes (guint64 *bytes, const char *key, JsonNode *node, GError **error)
{
  double number;

  if (!td_field_number (node, key, &number, error))
    return FALSE;
  if (!(number >= 0 && number <= 0x1p62))
    return td_field_wrong (error, key, "a number of bytes");
  *bytes = (guint64) json_node_get_int (node);
  return TRUE;
}

#define BYTES_FIELD(function, place)                                                               \
  static void write_##function (const TdRecipe *recipe, JsonBuilder *builder)                      \
  {                                                                                                \
    json_builder_add_int_value (builder, (gint64) recipe->place);                                  \
  }                                                                                                \
  static gboolean read_##function (TdRecipe *recipe, const char *key, JsonNode *node,              \
                                   GError **error)                                                 \
  {                                                                                                \
    return read_bytes (&recipe->place, key, node, error);                                          \
  }

BYTES_FIELD (memory_limit, memory_limit_bytes)
BYTES_FIELD (device_memory_limit, device_memory_limit_bytes)

NAME_FIELD (share, "share", td_share_name (recipe->share))
NAME_FIELD (filter_on, "filter-on", td_filter_place_name (recipe->filter_on))

/* ── Output ── */

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

  if (!td_field_number (node, key, &bits, error))
    return FALSE;
  if (bits != 8 && bits != 16 && bits != 32)
    return td_field_wrong (error, key, "8, 16 or 32");
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

  if (td_field_is_string (node))
    return td_field_option (recipe, "range", key, node, error);
  if (!array || json_array_get_length (array) != 2)
    return td_field_wrong (error, key, "\"auto\" or [LOW, HIGH]");
  recipe->output_range_auto = FALSE;
  if (!td_field_number (json_array_get_element (array, 0), key, &recipe->output_low, error)
      || !td_field_number (json_array_get_element (array, 1), key, &recipe->output_high, error))
    return FALSE;
  return recipe->output_low < recipe->output_high
         || td_field_wrong (error, key, "[LOW, HIGH] with LOW below HIGH");
}

static const TdRecipeField output_fields[] = {
  { "format", write_format, read_format },
  { "bits", write_bits, read_bits },
  { "range", write_range, read_range },
  { NULL },
};

static void
write_output (const TdRecipe *recipe, JsonBuilder *builder)
{
  td_fields_write (recipe, builder, output_fields);
}

static gboolean
read_output (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  return td_fields_read (node, recipe, "\"output\"", output_fields, error);
}

/* ── The whole ── */

static void
write_version (const TdRecipe *recipe, JsonBuilder *builder)
{
  json_builder_add_int_value (builder, TD_RECIPE_VERSION);
}

static gboolean
read_version (TdRecipe *recipe, const char *key, JsonNode *node, GError **error)
{
  if (!td_field_is_number (node))
    return td_field_wrong (error, key, "a number");
  if (json_node_get_int (node) != TD_RECIPE_VERSION) {
    g_set_error (error, TD_ERROR, TD_ERROR_UNSUPPORTED,
                 "The recipe is of version %" G_GINT64_FORMAT
                 ", this program reads version %d; use "
                 "the version of Tomodesk that wrote it",
                 json_node_get_int (node), TD_RECIPE_VERSION);
    return FALSE;
  }
  return TRUE;
}

static const TdRecipeField recipe_fields[] = {
  { "tomodesk_recipe", write_version, read_version },
  { "prepare", td_field_write_steps, td_field_read_steps },
  { "bad_pixels", write_mask, recipe_json_read_mask },
  { "centre_px", write_centre, read_centre },
  { "tilt_deg", write_tilt, read_tilt },
  { "filter", write_filter, read_filter },
  { "method", write_method, read_method },
  { "iterative", td_field_write_iterative, td_field_read_iterative },
  { "kernel", write_kernel, read_kernel },
  { "interpolation", write_interpolation, read_interpolation },
  { "precision", write_precision, read_precision },
  { "crop", write_crop, read_crop },
  { "bin", write_bin, read_bin },
  { "bin_views", write_bin_views, read_bin_views },
  { "rows", write_rows, recipe_json_read_rows },
  { "region", write_region, read_region },
  { "angle_offset_deg", write_angle_offset, read_angle_offset },
  { "reverse_rotation", write_reverse_rotation, read_reverse_rotation },
  { "field_of_view", write_field_of_view, read_field_of_view },
  { "devices", write_devices, read_devices },
  { "memory_limit_bytes", write_memory_limit, read_memory_limit },
  { "device_memory_limit_bytes", write_device_memory_limit, read_device_memory_limit },
  { "share", write_share, read_share },
  { "filter_on", write_filter_on, read_filter_on },
  { "output", write_output, read_output },
  { NULL },
};

char *
td_recipe_to_json (const TdRecipe *recipe)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  td_fields_write (recipe, builder, recipe_fields);
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
    g_set_error (
        error, TD_ERROR, TD_ERROR_BAD_FILE,
        "This is not a recipe: a JSON object with a member \"tomodesk_recipe\" is expected");
    return FALSE;
  }

  td_recipe_init (&read);
  if (!td_fields_read (root, &read, "the recipe", recipe_fields, error))
    return FALSE;
  *recipe = read;
  return TRUE;
}
