/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

/**
 * TdDeviceRow: a choice of "auto" or one of the available devices, by their recipe names. A choice
 * that is not in the list (several devices, one of another machine) is added as it is. Signal
 * "picked" (const char *id): by the user.
 */
#define TD_TYPE_DEVICE_ROW (td_device_row_get_type ())
G_DECLARE_FINAL_TYPE (TdDeviceRow, td_device_row, TD, DEVICE_ROW, AdwComboRow)

void td_device_row_select (TdDeviceRow *self, const char *id);
