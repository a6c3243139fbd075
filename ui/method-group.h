/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "recipe-group.h"

/* TdMethodGroup: how slices are made: method, kernel family, interpolation, precision, orientation.
 */
#define TD_TYPE_METHOD_GROUP (td_method_group_get_type ())
G_DECLARE_FINAL_TYPE (TdMethodGroup, td_method_group, TD, METHOD_GROUP, TdRecipeGroup)
