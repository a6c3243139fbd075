/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "job-queue.h"

/**
 * TdJobsWindow: all jobs that are known, the newest first, with what can be done to each and to
 * their queue. Signals: "requested" (TdJobItem *) as TdJobRow's, and "batch-requested" ().
 */
#define TD_TYPE_JOBS_WINDOW (td_jobs_window_get_type ())
G_DECLARE_FINAL_TYPE (TdJobsWindow, td_jobs_window, TD, JOBS_WINDOW, AdwWindow)

GtkWidget *td_jobs_window_new (GtkWindow *parent, TdJobQueue *jobs);
