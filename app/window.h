/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "session.h"
#include "ui/centre-group.h"
#include "ui/compare-view.h"
#include "ui/geometry-view.h"
#include "ui/job-queue.h"
#include "ui/scan-statement.h"
#include "ui/scan-view.h"
#include "ui/volume-view.h"

/**
 * TdWindow: the main window. Opening, undo, jobs and their messages; what is in it is the ui
 * room's.
 */
#define TD_TYPE_WINDOW (td_window_get_type ())
G_DECLARE_FINAL_TYPE (TdWindow, td_window, TD, WINDOW, AdwApplicationWindow)

TdWindow *td_window_new (AdwApplication *application, GSettings *settings, TdEngine *engine);
/* Opens off the main thread; a failure is shown in the window. */
void td_window_open_path (TdWindow *self, const char *path);
/* The same with what is stated about the scan. */
void td_window_open_statement (TdWindow *self, const TdScanStatement *statement);
/* A sentence that goes away on its own. */
void td_window_toast (TdWindow *self, const char *text);

TdSession *td_window_session (TdWindow *self);
TdScanView *td_window_scan_view (TdWindow *self);
TdCompareView *td_window_compare_view (TdWindow *self);
TdCentreGroup *td_window_centre_group (TdWindow *self);
TdGeometryView *td_window_geometry_view (TdWindow *self);
TdVolumeView *td_window_volume_view (TdWindow *self);
TdJobQueue *td_window_jobs (TdWindow *self);
/* "empty", "opening", "failed" or "scan". */
const char *td_window_state (TdWindow *self);
const char *td_window_failure (TdWindow *self); /* the sentence shown in "failed" */
/* Closes the window without a question; jobs that run are cancelled, and remove what they wrote. */
void td_window_leave (TdWindow *self);
/* "slices", "compare", "volume". */
void td_window_show_page (TdWindow *self, const char *page);
