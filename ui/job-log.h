/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "cluster/remote-job.h"

/* A window with what a job of a cluster printed, as it is now. Main thread. */
void td_job_log_show (GtkWindow *parent, TdRemoteJob *job);
