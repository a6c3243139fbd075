/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "dataset/scan.h"
#include "image-pane.h"

/**
 * TdVolumeBrowser: a volume on disk by three planes across x, y and z. They are linked by a
 * cross-hair: a click or a drag of a line moves the other planes. The wheel, Page Up and Page Down
 * step through planes, the arrows move the cross-hair, the space bar plays. Levels of the planes
 * are one unless that is switched off. Planes are read off the main thread, and those that take
 * long show how far they are. A volume one voxel thick has one plane to show, which has the room
 * of all, and nothing to step through.
 *
 * Signals: "opened" (); "failed" (GError *error): the volume does not open, and what was shown is
 * gone.
 */
#define TD_TYPE_VOLUME_BROWSER (td_volume_browser_get_type ())
G_DECLARE_FINAL_TYPE (TdVolumeBrowser, td_volume_browser, TD, VOLUME_BROWSER, GtkWidget)

/* @options: (nullable): what is stated of it, as td_volume_open_stated() takes it; NULL: nothing,
   and the volume is as the program wrote it. */
void td_volume_browser_open (TdVolumeBrowser *self, const char *path, const TdScanOptions *options);
void td_volume_browser_close (TdVolumeBrowser *self);
void td_volume_browser_set_colour_map (TdVolumeBrowser *self, const char *name);
