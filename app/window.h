/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "session.h"
#include "ui/centre-group.h"
#include "ui/geometry-view.h"
#include "ui/job-queue.h"
#include "ui/lab-view.h"
#include "ui/scan-statement.h"
#include "ui/scan-view.h"
#include "ui/volume-view.h"

/**
 * TdWindow: the main window. Opening, undo, jobs and their messages; what is in it is the ui
 * room's. Properties, to be read: "session" (TdSession), "jobs" (TdJobQueue).
 */
#define TD_TYPE_WINDOW (td_window_get_type ())
G_DECLARE_FINAL_TYPE (TdWindow, td_window, TD, WINDOW, AdwApplicationWindow)

TdWindow *td_window_new (AdwApplication *application, GSettings *settings, TdEngine *engine);
/* Opens off the main thread; a failure is shown in the window. */
void td_window_open_path (TdWindow *self, const char *path);
/* Closes the window without a question; jobs that run are cancelled, and remove what they wrote. */
void td_window_leave (TdWindow *self);
