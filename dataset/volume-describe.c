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
volume_describe_number (JsonNode *root, const char *name, double otherwise)
{
  const double value = td_json_number (root, name);

  return isfinite (value) ? value : otherwise;
}

gboolean
td_volume_take_description (TdVolumeFacts *facts, const char *json, guint *n_slices)
{
  g_autoptr (JsonNode) root = td_json_parse (json);

  if (!root || td_json_number (root, KEY) != VERSION)
    return FALSE;
  *n_slices = (guint) CLAMP (volume_describe_number (root, "n_slices", 0), 0, G_MAXINT32);
  facts->first_slice
      = (guint) CLAMP (volume_describe_number (root, "first_slice", 0), 0, G_MAXINT32);
  facts->bits = (guint) CLAMP (volume_describe_number (root, "bits", facts->bits), 0, 64);
  facts->low = volume_describe_number (root, "low", facts->low);
  facts->high = volume_describe_number (root, "high", facts->high);
  facts->voxel_mm = volume_describe_number (root, "voxel_mm", 0);
  if (!facts->units)
    facts->units = g_strdup (td_json_string (root, "units"));
  JsonNode *provenance = td_json_at (root, "provenance");
  if (provenance && !facts->provenance_json)
    facts->provenance_json = td_json_text (provenance, TRUE);
  return TRUE;
}
