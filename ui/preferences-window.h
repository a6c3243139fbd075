/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

/* TdPreferencesWindow: theme, colours, and what new recipes start with; bound to the settings. */
#define TD_TYPE_PREFERENCES_WINDOW (td_preferences_window_get_type ())
G_DECLARE_FINAL_TYPE (TdPreferencesWindow, td_preferences_window, TD, PREFERENCES_WINDOW,
                      AdwPreferencesWindow)

GtkWidget *td_preferences_window_new (GtkWindow *parent, GSettings *settings);
