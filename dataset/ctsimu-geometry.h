/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "geometry.h"

/**
 * td_ctsimu_geometry_load:
 * The geometry of a CTSimU scenario file (version 1: source, stage and detector placed in a world
 * by centres and the vectors u and w, with v = w × u; the stage turns about its w).
 * @geometry: beam, distances and offsets are filled in, and the pixel size where it has none yet.
 * @angles_rad: (out) (transfer full): @n_views angles. CTSimU's stage turns counter-clockwise where
 *   our angles turn it clockwise, so the signs are reversed (geometry.h). Slices then lie in the
 *   stage as x = -v, y = u, z = w.
 *
 * Refuses what TdGeometry's circular orbit does not hold: deviations, drifts, a tilted stage.
 */
gboolean td_ctsimu_geometry_load (const char *path, guint n_views, TdGeometry *geometry,
                                  double **angles_rad, GError **error);
