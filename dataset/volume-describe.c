/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "volume-describe.h"

#include <json-glib/json-glib.h>
#include <math.h>

#include "config.h"
#include "json-text.h"
#include "json-walk.h"

#define KEY "tomodesk_volume"
#define VERSION 1

static void
add_double (JsonBuilder *builder, const char *name, double value)
{
  json_builder_set_member_name (builder, name);
  json_builder_add_double_value (builder, value);
}

static void
add_int (JsonBuilder *builder, const char *name, gint64 value)
{
  json_builder_set_member_name (builder, name);
  json_builder_add_int_value (builder, value);
}

static void
add_string (JsonBuilder *builder, const char *name, const char *value)
{
  json_builder_set_member_name (builder, name);
  json_builder_add_string_value (builder, value);
}

static void
volume_describe_add_provenance (JsonBuilder *builder, const char *text)
{
  g_autoptr (JsonNode) node = json_from_string (text, NULL);

  json_builder_set_member_name (builder, "provenance");
  if (node)
    json_builder_add_value (builder, g_steal_pointer (&node));
  else
    json_builder_add_string_value (builder, text);
}

char *
td_volume_describe (const TdVolumeSpec *spec, const char *provenance_json)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autoptr (JsonNode) root = NULL;

  json_builder_begin_object (builder);
  add_int (builder, KEY, VERSION);
  add_string (builder, "program", "Tomodesk " TD_VERSION);
  add_int (builder, "n_slices", spec->n_slices);
  add_int (builder, "first_slice", spec->first_slice);
  add_int (builder, "bits", spec->bits);
  if (spec->bits != 32) {
    add_double (builder, "low", spec->low);
    add_double (builder, "high", spec->high);
  }
  add_double (builder, "voxel_mm", spec->voxel_mm);
  if (spec->units)
    add_string (builder, "units", spec->units);
  if (provenance_json)
    volume_describe_add_provenance (builder, provenance_json);
  json_builder_end_object (builder);
  root = json_builder_get_root (builder);
  return td_json_text (root, FALSE);
}

static double
get_double (JsonObject *object, const char *name, double otherwise)
{
  JsonNode *node = json_object_get_member (object, name);
  double value = node && JSON_NODE_HOLDS_VALUE (node) ? json_node_get_double (node) : otherwise;

  return isfinite (value) ? value : otherwise;
}

gboolean
td_volume_take_description (TdVolumeFacts *facts, const char *json, guint *n_slices)
{
  g_autoptr (JsonNode) root = td_json_parse (json);
  JsonNode *provenance;
  JsonObject *object;

  if (!root)
    return FALSE;
  object = json_node_get_object (root);
  if (get_double (object, KEY, 0) != VERSION)
    return FALSE;
  *n_slices = (guint) CLAMP (get_double (object, "n_slices", 0), 0, G_MAXINT32);
  facts->bits = (guint) CLAMP (get_double (object, "bits", facts->bits), 0, 64);
  facts->low = get_double (object, "low", facts->low);
  facts->high = get_double (object, "high", facts->high);
  facts->voxel_mm = get_double (object, "voxel_mm", 0);
  JsonNode *units = json_object_get_member (object, "units");
  if (units && json_node_get_value_type (units) == G_TYPE_STRING && !facts->units)
    facts->units = json_node_dup_string (units);
  provenance = json_object_get_member (object, "provenance");
  if (provenance && !facts->provenance_json)
    facts->provenance_json = td_json_text (provenance, TRUE);
  return TRUE;
}
