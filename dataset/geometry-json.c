/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "geometry-json.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "error.h"
#include "json-walk.h"
#include "scan-private.h"

static const char *const beams[] = { "parallel", "fan", "cone" };

static const struct {
  const char *key;
  gsize offset;
  gboolean size; /* never below 0 */
} numbers[] = {
  { "pixel_width_mm", offsetof (TdGeometry, pixel_width_mm), TRUE },
  { "pixel_height_mm", offsetof (TdGeometry, pixel_height_mm), TRUE },
  { "source_axis_mm", offsetof (TdGeometry, source_axis_mm) },
  { "source_detector_mm", offsetof (TdGeometry, source_detector_mm) },
  { "detector_offset_u_px", offsetof (TdGeometry, detector_offset_u_px) },
  { "detector_offset_v_px", offsetof (TdGeometry, detector_offset_v_px) },
  { "axis_offset_mm", offsetof (TdGeometry, axis_offset_mm) },
  { "voxel_mm", offsetof (TdGeometry, voxel_mm), TRUE },
};

static void
set_array (JsonObject *object, const char *key, const double *values, gsize n)
{
  JsonArray *array = json_array_new ();

  for (gsize i = 0; i < n; i++)
    json_array_add_double_element (array, values[i]);
  json_object_set_array_member (object, key, array);
}

char *
td_geometry_to_json (const TdGeometry *geometry)
{
  JsonObject *object = json_object_new ();
  g_autoptr (JsonNode) root = json_node_new (JSON_NODE_OBJECT);
  double size[3] = { geometry->volume_size[0], geometry->volume_size[1], geometry->volume_size[2] };

  json_node_take_object (root, object);
  json_object_set_string_member (object, "beam", beams[geometry->beam]);
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    json_object_set_double_member (object, numbers[i].key,
                                   G_STRUCT_MEMBER (double, geometry, numbers[i].offset));
  set_array (object, "detector_tilt_rad", geometry->detector_tilt_rad, 3);
  set_array (object, "volume_size", size, 3);
  if (geometry->view_matrices)
    set_array (object, "view_matrices", geometry->view_matrices,
               (gsize) geometry->n_view_matrices * 12);
  return td_json_text (root, TRUE);
}

gboolean
td_geometry_json_refuse (GError **error, const char *name, const char *key)
{
  return td_set_error (error, TD_ERROR_BAD_FILE, "%s: the geometry's “%s” is not right", name, key);
}

/* Copies the array @key of finite numbers; absent: nothing happens and *n is 0. */
static gboolean
get_array (JsonNode *root, const char *key, double **values, gsize *n)
{
  JsonNode *node = td_json_at (root, key);

  *values = NULL;
  *n = 0;
  if (!node)
    return TRUE;
  if (!JSON_NODE_HOLDS_ARRAY (node))
    return FALSE;
  JsonArray *array = json_node_get_array (node);
  *n = json_array_get_length (array);
  *values = g_new0 (double, *n + 1);
  for (gsize i = 0; i < *n; i++) {
    (*values)[i] = td_json_number (json_array_get_element (array, i), "");
    if (!isfinite ((*values)[i]))
      return FALSE;
  }
  return TRUE;
}

gboolean
td_geometry_json_volume (JsonNode *root, guint size[3])
{
  g_autofree double *values = NULL;
  gsize n;

  if (!get_array (root, "volume_size", &values, &n) || (n != 0 && n != 3))
    return FALSE;
  for (gsize i = 0; i < n; i++) {
    if (!(values[i] >= 0 && values[i] <= TD_SCAN_MAX_SIDE && values[i] == floor (values[i])))
      return FALSE;
    size[i] = (guint) values[i];
  }
  return TRUE;
}

static gboolean
get_beam (JsonNode *root, TdBeam *beam)
{
  const char *name = td_json_string (root, "beam");

  for (guint i = 0; name && i < G_N_ELEMENTS (beams); i++)
    if (strcmp (name, beams[i]) == 0) {
      *beam = i;
      return TRUE;
    }
  return FALSE;
}

gboolean
td_geometry_json_check_keys (JsonNode *root, const char *const *known, const char *name,
                             GError **error)
{
  g_autoptr (GList) keys = json_object_get_members (json_node_get_object (root));

  for (GList *key = keys; key; key = key->next)
    if (!g_strv_contains (known, key->data))
      return td_set_error (error, TD_ERROR_BAD_FILE,
                           "%s: the geometry has “%.100s”, which is not known here; correct its "
                           "spelling or take it out",
                           name, (char *) key->data);
  return TRUE;
}

static gboolean
check_own_keys (JsonNode *root, const char *name, GError **error)
{
  static const char *const others[]
      = { "beam", "detector_tilt_rad", "volume_size", "view_matrices" };
  const char *known[G_N_ELEMENTS (others) + G_N_ELEMENTS (numbers) + 1] = { NULL };
  guint n = 0;

  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    known[n++] = others[i];
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    known[n++] = numbers[i].key;
  return td_geometry_json_check_keys (root, known, name, error);
}

static gboolean
parse_root (JsonNode *root, const char *name, TdGeometry *geometry, GError **error)
{
  JsonObject *object = json_node_get_object (root);
  g_autofree double *tilt = NULL;
  gsize n;

  if (!check_own_keys (root, name, error))
    return FALSE;
  if (!get_beam (root, &geometry->beam))
    return td_geometry_json_refuse (error, name, "beam");
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++) {
    double *number = &G_STRUCT_MEMBER (double, geometry, numbers[i].offset);

    if (!json_object_has_member (object, numbers[i].key))
      continue;
    *number = td_json_number (root, numbers[i].key);
    if (!isfinite (*number) || (numbers[i].size && *number < 0))
      return td_geometry_json_refuse (error, name, numbers[i].key);
  }
  if (!get_array (root, "detector_tilt_rad", &tilt, &n) || (n != 0 && n != 3))
    return td_geometry_json_refuse (error, name, "detector_tilt_rad");
  for (gsize i = 0; i < n; i++)
    geometry->detector_tilt_rad[i] = tilt[i];
  if (!td_geometry_json_volume (root, geometry->volume_size))
    return td_geometry_json_refuse (error, name, "volume_size");
  if (!get_array (root, "view_matrices", &geometry->view_matrices, &n) || n % 12 != 0
      || n / 12 > TD_SCAN_MAX_FRAMES)
    return td_geometry_json_refuse (error, name, "view_matrices");
  geometry->n_view_matrices = n / 12;
  if (geometry->beam != TD_BEAM_PARALLEL && !geometry->view_matrices
      && !(geometry->source_axis_mm > 0 && geometry->source_detector_mm > geometry->source_axis_mm))
    return td_geometry_json_refuse (error, name, "source_detector_mm");
  return TRUE;
}

gboolean
td_geometry_from_json (const char *json, const char *name, TdGeometry *geometry, GError **error)
{
  g_autoptr (JsonNode) root = td_json_parse (json);

  td_geometry_init_parallel (geometry);
  if (!root)
    return td_geometry_json_refuse (error, name, "JSON");
  if (parse_root (root, name, geometry, error))
    return TRUE;
  td_geometry_clear (geometry);
  return FALSE;
}
