/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "volume-browser.h"

/**
 * TdVolumeWindow: a volume by itself, whoever made it, with no scan and no recipe. When it does not
 * open, the person is asked for what its files do not say. This is the data set, how headerless
 * samples lie, or the size of a voxel.
 */
#define TD_TYPE_VOLUME_WINDOW (td_volume_window_get_type ())
G_DECLARE_FINAL_TYPE (TdVolumeWindow, td_volume_window, TD, VOLUME_WINDOW, AdwWindow)

/* Shows itself. @colour_map: by its name in the preferences. */
TdVolumeWindow *td_volume_window_open (GtkApplication *application, const char *path,
                                       const char *colour_map);
