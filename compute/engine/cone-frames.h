/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/cone/cone.h"
#include "compute/row-range.h"
#include "dataset/scan.h"
#include "plan.h"

/**
 * The frames from which every method for cones reconstructs. Those of a detector that lies on its
 * side are turned by a quarter as they are read (dataset/scan-view.h). Rows are then rows of what
 * is reconstructed, for preparation too.
 */

/* The plan's scan, or that with frames turned, which a note says. @geometry and @angles_rad are
   td_cone_scan_geometry()'s, turned as the frames are. Clear and free them, also after an error.
   (transfer full) */
TdScan *td_cone_frames_new (TdPlan *plan, TdGeometry *geometry, double **angles_rad,
                            GError **error);

/* Where turned frames wait that are read once and wanted in rows (dataset/scan-spool.h). They are
   read whole, however few of their columns are wanted. */
typedef enum { TD_CONE_SPOOL_NONE, TD_CONE_SPOOL_MEMORY, TD_CONE_SPOOL_FILE } TdConeSpool;

/* Notes where copies of @bytes wait. NONE: there is no room for them, and frames are read several
   times. */
void td_cone_spool_note (TdPlan *plan, TdConeSpool spool, guint64 bytes);
/* The scan that @rows of @scan are read from. (transfer full) */
TdScan *td_cone_spool_open (TdScan *scan, TdRowRange rows, TdConeSpool spool);

/* Notes how the volume of a cone differs from a slice for each row about the source's plane.
   @facts: of the scan as it is reconstructed. */
void td_cone_note_volume (TdPlan *plan, const TdConeTask *task, const TdScanFacts *facts);
