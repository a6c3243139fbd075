/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "recipe-group.h"

/* TdCentreGroup: the centre of rotation and the tilt of the axis. */
#define TD_TYPE_CENTRE_GROUP (td_centre_group_get_type ())
G_DECLARE_FINAL_TYPE (TdCentreGroup, td_centre_group, TD, CENTRE_GROUP, TdRecipeGroup)

void td_centre_group_nudge (TdCentreGroup *self, double by_px);
