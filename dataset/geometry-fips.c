/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "error.h"
#include "geometry-file.h"
#include "json-walk.h"
#include "text-file.h"
#include "unit.h"

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

TdGeometryFile *
td_geometry_file_load_fips (const char *path, JsonNode *root, GError **error)
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
