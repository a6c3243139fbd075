/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#include "error.h"
#include "geometry-file.h"
#include "geometry-json.h"
#include "json-walk.h"
#include "number.h"
#include "text-file.h"
#include "unit.h"

/* JSON: a geometry of this program, twelve numbers a view, or another program's parameters. Text:
   twelve numbers a view. */

#define MAX_BYTES ((gsize) 256 << 20)
#define MAX_DEPTH 4

static const struct {
  const char *key;
  TdViewsKind kind;
} keys[] = {
  { "matrices", TD_VIEWS_MATRICES_PX },      { "projection_matrices", TD_VIEWS_MATRICES_PX },
  { "view_matrices", TD_VIEWS_MATRICES_PX }, { "vectors", TD_VIEWS_VECTORS },
  { "astra_vectors", TD_VIEWS_VECTORS },
};

/* ── JSON ── */

/* Appends the numbers of nested arrays, in order; FALSE: there is something else among them. */
static gboolean
geometry_table_flatten (JsonArray *array, guint depth, GArray *numbers)
{
  const guint n = json_array_get_length (array);

  for (guint i = 0; i < n; i++) {
    JsonNode *node = json_array_get_element (array, i);

    if (JSON_NODE_HOLDS_ARRAY (node)) {
      if (depth == MAX_DEPTH
          || !geometry_table_flatten (json_node_get_array (node), depth + 1, numbers))
        return FALSE;
    } else {
      const double value = td_json_number (node, "");
      if (isnan (value))
        return FALSE;
      g_array_append_val (numbers, value);
    }
  }
  return TRUE;
}

static gboolean
take_array (TdGeometryFile *file, JsonArray *array, TdViewsKind kind, GError **error)
{
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (double));
  gsize n;

  if (!geometry_table_flatten (array, 0, numbers))
    return td_set_error (error, TD_ERROR_BAD_FILE,
                         "“%s” holds something else than numbers among its matrices", file->path);
  double *values = g_array_steal (numbers, &n);
  return td_geometry_file_take_views (file, values, n, kind, error);
}

/* A number that is no less than 0; 0 if there is none. */
static gboolean
take_member (const TdGeometryFile *file, JsonNode *root, const char *key, double *value,
             GError **error)
{
  *value = td_json_at (root, key) ? td_json_number (root, key) : 0;
  return (isfinite (*value) && *value >= 0) || td_geometry_json_refuse (error, file->path, key);
}

static gboolean
take_count (const TdGeometryFile *file, JsonNode *root, const char *key, guint *count,
            GError **error)
{
  *count = td_json_count (root, key);
  return *count || !td_json_at (root, key) || td_json_number (root, key) == 0
         || td_geometry_json_refuse (error, file->path, key);
}

/* The keys that may stand beside the numbers, then those of the numbers, of which there is one.
   @at: (out): its place among these; -1: it has none. */
static gboolean
check_table_keys (const TdGeometryFile *file, JsonNode *root, int *at, GError **error)
{
  static const char *const others[] = { "columns", "rows", "pixel_mm", "voxel_mm", "volume_size" };
  const char *known[G_N_ELEMENTS (others) + G_N_ELEMENTS (keys) + 1] = { NULL };
  guint n = 0;

  *at = -1;
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    known[n++] = others[i];
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++) {
    known[n++] = keys[i].key;
    if (!td_json_at (root, keys[i].key))
      continue;
    if (*at >= 0)
      return td_set_error (error, TD_ERROR_BAD_FILE,
                           "%s: the geometry has both “%s” and “%s”: leave the right one only",
                           file->path, keys[*at].key, keys[i].key);
    *at = (int) i;
  }
  return *at < 0 || td_geometry_json_check_keys (root, known, file->path, error);
}

/* {"matrices": […], "columns": 512, "rows": 512, "pixel_mm": 0.2, "voxel_mm": 0.1,
   "volume_size": [nx, ny, nz]}: all but the first may be left out. */
static gboolean
take_object (TdGeometryFile *file, JsonNode *root, GError **error)
{
  TdGeometry *geometry = &file->geometry;
  int at;

  if (!check_table_keys (file, root, &at, error)
      || !take_count (file, root, "columns", &file->n_columns, error)
      || !take_count (file, root, "rows", &file->n_rows, error)
      || !take_member (file, root, "pixel_mm", &geometry->pixel_width_mm, error)
      || !take_member (file, root, "voxel_mm", &geometry->voxel_mm, error))
    return FALSE;
  geometry->pixel_height_mm = geometry->pixel_width_mm;
  if (!td_geometry_json_volume (root, geometry->volume_size))
    return td_geometry_json_refuse (error, file->path, "volume_size");
  JsonArray *numbers = at < 0 ? NULL : td_json_list (root, keys[at].key);
  if (numbers)
    return take_array (file, numbers, keys[at].kind, error);
  return td_set_error (error, TD_ERROR_BAD_FILE,
                       "“%s” holds neither “beam” nor “matrices” nor “vectors”: it is no geometry",
                       file->path);
}

static gboolean
take_own (TdGeometryFile *file, const char *text, GError **error)
{
  TdGeometry *geometry = &file->geometry;

  if (!td_geometry_from_json (text, file->path, geometry, error))
    return FALSE;
  if (!geometry->view_matrices)
    return TRUE;
  return td_geometry_file_take_views (file, g_steal_pointer (&geometry->view_matrices),
                                      (gsize) geometry->n_view_matrices * 12, TD_VIEWS_MATRICES_PX,
                                      error);
}

/* ── FIPS ── */

/* The parameters that the Finnish Inverse Problems Society's open scans carry (Meaney et al.,
   Helsinki Tomography Challenge 2022): one JSON object, lengths in distanceUnit. What ends in Post
   describes the projections as stored, after their binning; the axis is at their middle. */

gboolean
td_geometry_file_is_fips (const char *path)
{
  g_autofree char *head = td_text_head (path, 4096);

  return head && strstr (head, "\"distanceSourceOrigin\"") != NULL;
}

static double
length_mm (JsonNode *root, const char *key, double unit_mm)
{
  const double length = td_json_number (root, key) * unit_mm;

  return isfinite (length) && length > 0 ? length : 0;
}

static TdGeometryFile *
load_fips (const char *path, JsonNode *root, GError **error)
{
  g_autoptr (TdGeometryFile) file
      = td_geometry_file_new (path, N_ ("parameters of the FIPS open data"));
  const char *name = td_json_string (root, "distanceUnit");
  const double unit = name ? td_length_unit (name) : 1;
  TdGeometry *geometry = &file->geometry;
  double pixel_mm = length_mm (root, "pixelSizePost", unit);

  if (!(pixel_mm > 0))
    pixel_mm = length_mm (root, "pixelSize", unit);
  geometry->source_axis_mm = length_mm (root, "distanceSourceOrigin", unit);
  geometry->source_detector_mm = length_mm (root, "distanceSourceDetector", unit);
  if (!(geometry->source_axis_mm > 0) || !(geometry->source_detector_mm > geometry->source_axis_mm)
      || !(pixel_mm > 0))
    return td_set_error_null (
        error, TD_ERROR_BAD_FILE,
        "“%s”: distanceSourceOrigin, distanceSourceDetector and pixelSize (in mm, cm, m or um) "
        "do not place source and detector",
        path);
  geometry->pixel_width_mm = geometry->pixel_height_mm = pixel_mm;
  file->n_columns = td_json_count (root, "numDetectorsPost");
  file->n_angles = td_json_count (root, "numberImages");
  return g_steal_pointer (&file);
}

TdGeometryFile *
td_geometry_file_load_json (const char *path, GError **error)
{
  g_autoptr (TdGeometryFile) file = td_geometry_file_new (path, "JSON");
  g_autofree char *text = td_text_load (path, MAX_BYTES, error);
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonNode *root;
  gboolean good;

  if (!text)
    return NULL;
  if (td_json_is_deep (text) || !json_parser_load_from_data (parser, text, -1, NULL)
      || !(root = json_parser_get_root (parser))
      || (!JSON_NODE_HOLDS_OBJECT (root) && !JSON_NODE_HOLDS_ARRAY (root)))
    return td_set_error_null (error, TD_ERROR_BAD_FILE, "“%s” is not a sound JSON file", path);
  if (JSON_NODE_HOLDS_ARRAY (root))
    good = take_array (file, json_node_get_array (root), TD_VIEWS_NONE, error);
  else if (json_object_has_member (json_node_get_object (root), "beam"))
    good = take_own (file, text, error);
  else if (json_object_has_member (json_node_get_object (root), "distanceSourceOrigin"))
    return load_fips (path, root, error);
  else
    good = take_object (file, root, error);
  return good ? g_steal_pointer (&file) : NULL;
}

/* ── Text ── */

/* The numbers of one line; FALSE: a word is none. */
static gboolean
read_line (char *line, GArray *numbers)
{
  const char *at = g_strdelimit (line, ",;\t\r|", ' ');
  double value;

  while (*(at += strspn (at, " "))) {
    if (!td_next_number (&at, &value) || (*at && *at != ' '))
      return FALSE;
    g_array_append_val (numbers, value);
  }
  return TRUE;
}

/* "pixel_mm = 0.2": whatever it means, it would be lost. */
static gboolean
states_number (const char *line)
{
  const char *at = strpbrk (line, "=:");
  double value;

  return at && (at += 1 + strspn (at + 1, " \"'"), td_next_number (&at, &value));
}

/* 12 numbers a line, 13 with the view's number before them, or three lines of 4. */
static gboolean
check_shape (const char *path, guint line, guint n, guint *shape, GError **error)
{
  if ((n == 4 || n == 12 || n == 13) && (*shape == 0 || *shape == n)) {
    *shape = n;
    return TRUE;
  }
  if (*shape)
    return td_set_error (error, TD_ERROR_BAD_FILE,
                         "“%s”: line %u has %u [number|numbers], but the lines before have %u",
                         path, line, n, *shape);
  return td_set_error (
      error, TD_ERROR_BAD_FILE,
      "“%s”: line %u has %u [number|numbers]; a projection matrix takes twelve in a line, or three "
      "lines of four",
      path, line, n);
}

static gboolean
read_lines (const char *path, char **lines, GArray *numbers, TdViewsKind *kind, GError **error)
{
  guint shape = 0;

  for (guint i = 0; lines[i]; i++) {
    char *line = g_strchug (lines[i]);
    const guint before = numbers->len;

    if (before == 0 && (strstr (line, "source") || strstr (line, "vector")))
      *kind = TD_VIEWS_VECTORS;
    if (!*line || strchr ("#%!", *line))
      continue;
    if (!read_line (line, numbers)) {
      char *end;
      const gboolean heading
          = before == 0 && numbers->len == 0 && (g_ascii_strtod (line, &end), end == line);

      g_array_set_size (numbers, before);
      if (heading && !states_number (line))
        continue;
      g_autofree char *shown = g_utf8_make_valid (line, MIN (strcspn (line, " "), 40));
      return td_set_error (error, TD_ERROR_BAD_FILE,
                           "“%s”: line %u, beginning with “%s”, holds "
                           "something else than numbers: correct it, or put # before it",
                           path, i + 1, shown);
    }
    if (numbers->len == before)
      continue;
    if (!check_shape (path, i + 1, numbers->len - before, &shape, error))
      return FALSE;
    if (shape == 13)
      g_array_remove_index (numbers, before);
  }
  return TRUE;
}

TdGeometryFile *
td_geometry_file_load_text (const char *path, GError **error)
{
  g_autoptr (TdGeometryFile) file = td_geometry_file_new (path, N_ ("text"));
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (double));
  g_autofree char *text = td_text_load (path, MAX_BYTES, error);
  g_auto (GStrv) lines = text ? g_strsplit (text, "\n", -1) : NULL;
  TdViewsKind kind = TD_VIEWS_NONE;
  gsize n;

  if (!text || !read_lines (path, lines, numbers, &kind, error))
    return NULL;
  double *values = g_array_steal (numbers, &n);
  return td_geometry_file_take_views (file, values, n, kind, error) ? g_steal_pointer (&file)
                                                                    : NULL;
}
