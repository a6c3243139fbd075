/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "recipe-group.h"

/* TdIterativeGroup: what iterative methods want to know; hidden while no such method is chosen. */
#define TD_TYPE_ITERATIVE_GROUP (td_iterative_group_get_type ())
G_DECLARE_FINAL_TYPE (TdIterativeGroup, td_iterative_group, TD, ITERATIVE_GROUP, TdRecipeGroup)
