/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli-table.h"
#include "cluster/batch.h"

/* Prints what each of @scans would take, and what all of them together, without doing it. @outputs:
   a place for each, in @folder. Returns the exit status: it fails if one is refused or all do not
   fit on the disk. */
int td_cli_batch_plan (const TdBatchWork *work, const char *const *scans,
                       const char *const *outputs, const char *folder, TdCliTableForm form);
