/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "recipe-group.h"

/* TdFilterGroup: the kind of ramp filter, its cut-off, and how rows are padded. */
#define TD_TYPE_FILTER_GROUP (td_filter_group_get_type ())
G_DECLARE_FINAL_TYPE (TdFilterGroup, td_filter_group, TD, FILTER_GROUP, TdRecipeGroup)
