/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/engine.h"
#include "compute/axis/axis.h"
#include "recipe-group.h"

/* TdCentreGroup: the centre of rotation and the tilt of the axis, set by hand or found. */
#define TD_TYPE_CENTRE_GROUP (td_centre_group_get_type ())
G_DECLARE_FINAL_TYPE (TdCentreGroup, td_centre_group, TD, CENTRE_GROUP, TdRecipeGroup)

/* What "Find" searches; @scan: (nullable). Ends a search that runs. */
void td_centre_group_set_scan (TdCentreGroup *self, TdEngine *engine, TdScan *scan);
void td_centre_group_nudge (TdCentreGroup *self, double by_px);
/* As typing the centre; moves within a second are one step to undo. */
void td_centre_group_move (TdCentreGroup *self, double centre_px);
