/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "provenance.h"

#include <math.h>

#include "dataset/json-text.h"
#include "dataset/json-walk.h"
#include "dataset/volume.h"

#define BESIDE_SLICES "provenance.json"
#define MOST_NOTES 100 /* a stranger's file may have a million */

/* The scan as it was called; else beside the volume, by that path or by its name alone. */
static char *
find_scan (const char *scan, const char *volume)
{
  g_autofree char *folder = g_path_get_dirname (volume);
  g_autofree char *name = g_path_get_basename (scan);
  const char *const named[] = { scan, name };

  if (g_path_is_absolute (scan) && g_file_test (scan, G_FILE_TEST_EXISTS))
    return g_strdup (scan);
  for (guint i = 0; i < G_N_ELEMENTS (named); i++) {
    char *beside = g_build_filename (folder, named[i], NULL);
    if (g_file_test (beside, G_FILE_TEST_EXISTS))
      return beside;
    g_free (beside);
  }
  return g_strdup (scan);
}

static JsonNode *
provenance_member (JsonObject *object, const char *name, JsonNodeType type)
{
  JsonNode *node = object ? json_object_get_member (object, name) : NULL;

  return node && json_node_get_node_type (node) == type ? node : NULL;
}

static const char *
provenance_text (JsonObject *object, const char *name)
{
  JsonNode *node = provenance_member (object, name, JSON_NODE_VALUE);

  return node && json_node_get_value_type (node) == G_TYPE_STRING ? json_node_get_string (node)
                                                                  : NULL;
}

static void
provenance_take_axis (TdProvenance *self, JsonObject *object)
{
  JsonNode *axis = provenance_member (object, "axis", JSON_NODE_OBJECT);

  self->axis_searched = axis != NULL;
  self->axis_agreed = axis && td_json_true (axis, "agreed");
  self->axis_sigma_px = axis ? td_json_number (axis, "sigma_px") : NAN;
}

static void
provenance_take_notes (TdProvenance *self, JsonObject *object)
{
  JsonNode *node = provenance_member (object, "notes", JSON_NODE_ARRAY);
  JsonArray *notes = node ? json_node_get_array (node) : NULL;

  for (guint i = 0; notes && i < MIN (json_array_get_length (notes), MOST_NOTES); i++) {
    JsonNode *note = json_array_get_element (notes, i);
    if (JSON_NODE_HOLDS_VALUE (note) && json_node_get_value_type (note) == G_TYPE_STRING)
      td_messages_add (&self->notes, td_message_quoted (json_node_get_string (note), ""));
  }
}

static TdProvenance *
provenance_parse (const char *volume, const TdVolumeFacts *facts)
{
  g_autoptr (JsonNode) root = td_json_parse (facts->provenance_json);
  JsonObject *object = root && JSON_NODE_HOLDS_OBJECT (root) ? json_node_get_object (root) : NULL;
  JsonNode *scan = provenance_member (object, "scan", JSON_NODE_OBJECT);
  JsonNode *recipe = provenance_member (object, "recipe", JSON_NODE_OBJECT);
  const char *path = scan ? provenance_text (json_node_get_object (scan), "path") : NULL;
  g_autoptr (TdProvenance) self = g_new0 (TdProvenance, 1);

  if (!path || !recipe || g_strcmp0 (provenance_text (object, "program"), "Tomodesk") != 0)
    return NULL;
  g_autofree char *text = td_json_text (recipe, FALSE);
  if (!td_recipe_from_json (&self->recipe, text, NULL))
    return NULL;
  self->volume = g_strdup (volume);
  self->scan = find_scan (path, volume);
  self->units = g_strdup (provenance_text (object, "units"));
  self->nx = facts->nx;
  self->ny = facts->ny;
  self->n_slices = facts->n_slices;
  self->pixel_mm = facts->voxel_mm;
  JsonNode *seconds = provenance_member (object, "seconds", JSON_NODE_VALUE);
  self->seconds = seconds ? json_node_get_double (seconds) : 0;
  provenance_take_axis (self, object);
  provenance_take_notes (self, object);
  return g_steal_pointer (&self);
}

TdProvenance *
td_provenance_read (const char *path)
{
  g_autofree char *name = g_path_get_basename (path);
  g_autofree char *own = g_str_equal (name, BESIDE_SLICES) ? g_path_get_dirname (path)
                                                           : g_canonicalize_filename (path, NULL);
  const gboolean is_file = g_file_test (own, G_FILE_TEST_IS_REGULAR); /* nothing waits for a pipe */
  g_autoptr (TdVolume) volume
      = is_file || g_file_test (own, G_FILE_TEST_IS_DIR) ? td_volume_open (own, NULL) : NULL;

  if (!volume || !td_volume_facts (volume)->provenance_json)
    return NULL;
  return provenance_parse (own, td_volume_facts (volume));
}

void
td_provenance_free (TdProvenance *self)
{
  if (!self)
    return;
  g_free (self->volume);
  g_free (self->scan);
  g_free (self->units);
  td_messages_free (self->notes);
  g_free (self);
}
