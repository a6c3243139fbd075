/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "recipe-group.h"

/* TdDeviceGroup: where to compute, with the reasons of devices that are not available. */
#define TD_TYPE_DEVICE_GROUP (td_device_group_get_type ())
G_DECLARE_FINAL_TYPE (TdDeviceGroup, td_device_group, TD, DEVICE_GROUP, TdRecipeGroup)
