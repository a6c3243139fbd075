/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "nexus-find.h"
#include "scan.h"

/**
 * The rotation angles of a NeXus scan: sample/rotation_angle and data/rotation_angle of NXtomo, and
 * for files without a definition a data set of the NXdata group beside the detector that is named
 * as an angle, has one number a frame, and turns.
 *
 * Returns: @n radians (of all frames or of the projections only), or NULL with @error naming the
 * missing file where a link dangles. Notes for the user go to @scan.
 */
double *td_nexus_read_angles (hid_t file, const TdNexusPlace *place, guint n_frames,
                              guint n_projections, TdScan *scan, gsize *n, GError **error);
