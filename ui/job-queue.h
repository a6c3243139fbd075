/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "job-item.h"

/**
 * TdJobQueue: the reconstructions asked for, as a list model of TdJobItem. Their processes decide
 * whose turn it is, so that they go on without the window. Main thread.
 * Signal "ended" (TdJobItem *item).
 */
#define TD_TYPE_JOB_QUEUE (td_job_queue_get_type ())
G_DECLARE_FINAL_TYPE (TdJobQueue, td_job_queue, TD, JOB_QUEUE, GObject)

void td_job_queue_add (TdJobQueue *self, TdJobItem *item);
/* Takes an ended job off the list. */
void td_job_queue_dismiss (TdJobQueue *self, TdJobItem *item);
GListModel *td_job_queue_model (TdJobQueue *self);
