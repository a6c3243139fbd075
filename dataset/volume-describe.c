/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "volume-describe.h"

#include <json-glib/json-glib.h>
#include <math.h>

#include "config.h"
#include "json-walk.h"

#define KEY "tomodesk_volume"
#define VERSION 1

char *
td_volume_describe (const TdVolumeSpec *spec, const char *provenance_json)
{
  JsonObject *object = json_object_new ();
  g_autoptr (JsonNode) root = json_node_new (JSON_NODE_OBJECT);
  JsonNode *provenance = provenance_json ? json_from_string (provenance_json, NULL) : NULL;

  json_node_take_object (root, object);
  json_object_set_int_member (object, KEY, VERSION);
  json_object_set_string_member (object, "program", "Tomodesk " TD_VERSION);
  json_object_set_int_member (object, "n_slices", spec->n_slices);
  json_object_set_int_member (object, "first_slice", spec->first_slice);
  json_object_set_int_member (object, "bits", spec->bits);
  if (spec->bits != 32) {
    json_object_set_double_member (object, "low", spec->low);
    json_object_set_double_member (object, "high", spec->high);
  }
  json_object_set_double_member (object, "voxel_mm", spec->voxel_mm);
  if (spec->units)
    json_object_set_string_member (object, "units", spec->units);
  if (provenance)
    json_object_set_member (object, "provenance", provenance);
  else if (provenance_json)
    json_object_set_string_member (object, "provenance", provenance_json);
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

  if (!root)
    return FALSE;
  JsonObject *object = json_node_get_object (root);
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
