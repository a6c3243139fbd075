/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/job.h"

/* Runs @job and shows its progress. Control-C cancels it, or with @keep ends its iterations. */
gboolean td_cli_run_job (TdJob *job, gboolean keep, GError **error);
