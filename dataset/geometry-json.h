/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "geometry.h"

/**
 * Geometry as JSON: what the scan writer stores beside TIFF projections (geometry.json) and inside
 * NXtomo files. The keys are the fields of TdGeometry; "beam" is "parallel", "fan" or "cone".
 */
char *td_geometry_to_json (const TdGeometry *geometry);
/* @geometry is overwritten. @name: what messages call the text. */
gboolean td_geometry_from_json (const char *json, const char *name, TdGeometry *geometry,
                                GError **error);
