/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "recipe-group.h"

/* TdStepsGroup: the preparation steps, a row for each entry of td_prepare_steps(). */
#define TD_TYPE_STEPS_GROUP (td_steps_group_get_type ())
G_DECLARE_FINAL_TYPE (TdStepsGroup, td_steps_group, TD, STEPS_GROUP, TdRecipeGroup)
