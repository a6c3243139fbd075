/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <json-glib/json-glib.h>

#include "geometry.h"

/**
 * Geometry as JSON: what the scan writer stores beside TIFF projections (geometry.json) and inside
 * NXtomo files. The keys are the fields of TdGeometry; "beam" is "parallel", "fan" or "cone".
 */
char *td_geometry_to_json (const TdGeometry *geometry);
/* @geometry is overwritten. @name: what messages call the text. */
gboolean td_geometry_from_json (const char *json, const char *name, TdGeometry *geometry,
                                GError **error);

/* What JSON of other programs has in common with that: "volume_size", how many voxels there are
   each way (absent: nothing happens; FALSE: it is not right); and what is said of a key that is
   not. */
gboolean td_geometry_json_volume (JsonNode *root, guint size[3]);
gboolean td_geometry_json_refuse (GError **error, const char *name, const char *key);
/* A key that is misspelt, or has another unit, is refused by its name: its value would be lost.
   @known: NULL-terminated. */
gboolean td_geometry_json_check_keys (JsonNode *root, const char *const *known, const char *name,
                                      GError **error);
