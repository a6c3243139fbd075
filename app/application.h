/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "window.h"

/* TdApplication: start-up, command line, windows, preferences and what belongs to all windows: the
   settings, the theme and the engine. */
#define TD_TYPE_APPLICATION (td_application_get_type ())
G_DECLARE_FINAL_TYPE (TdApplication, td_application, TD, APPLICATION, AdwApplication)

TdApplication *td_application_new (void);
