/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "recipe-group.h"

/* TdRegionGroup: which detector rows and which part of each slice are reconstructed. */
#define TD_TYPE_REGION_GROUP (td_region_group_get_type ())
G_DECLARE_FINAL_TYPE (TdRegionGroup, td_region_group, TD, REGION_GROUP, TdRecipeGroup)
