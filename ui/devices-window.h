/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

/**
 * TdDevicesWindow: every device that was found, with its memory, self-test and tuning, or why it
 * cannot be used. It also shows the order in which the recipe uses the devices. Switching takes
 * effect at once. The window shows how long the preview took before and takes now. Main thread.
 * Signal "picked" (const char *devices): as a recipe names them.
 */
#define TD_TYPE_DEVICES_WINDOW (td_devices_window_get_type ())
G_DECLARE_FINAL_TYPE (TdDevicesWindow, td_devices_window, TD, DEVICES_WINDOW, AdwWindow)

GtkWidget *td_devices_window_new (GtkWindow *parent);
/* @devices: of the recipe that is edited; NULL: there is none, and nothing can be switched. */
void td_devices_window_set_devices (TdDevicesWindow *self, const char *devices);
/* A whole slice was computed on @device in @seconds. */
void td_devices_window_took (TdDevicesWindow *self, const char *device, double seconds);
