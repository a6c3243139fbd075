/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

#include "job-item.h"

/**
 * TdJobRow: a job in the list: name, progress, time left, cancel; at the end its folder.
 * Signal "requested" (TdJobItem *), with the detail "show", "again", "dismiss", "recipe" or
 * "table".
 */
#define TD_TYPE_JOB_ROW (td_job_row_get_type ())
G_DECLARE_FINAL_TYPE (TdJobRow, td_job_row, TD, JOB_ROW, GtkBox)

GtkWidget *td_job_row_new (TdJobItem *item);
/* Opens the file manager on what the job wrote. */
void td_job_show_folder (GtkWindow *window, TdJobItem *item);
