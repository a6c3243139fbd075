/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "cluster/remote-job.h"

/**
 * TdBatchDialog: which scans one recipe is for, and where their volumes go: scans that are chosen,
 * or those that come into a folder. Signal "accepted" (gpointer job): a TdRemoteJob *, not
 * submitted yet, valid during the call.
 */
#define TD_TYPE_BATCH_DIALOG (td_batch_dialog_get_type ())
G_DECLARE_FINAL_TYPE (TdBatchDialog, td_batch_dialog, TD, BATCH_DIALOG, AdwWindow)

/* Before anything starts, each scan's row says what it takes or why it is refused, and one row says
   what all take together. @settings: (nullable): what is stated of the scan that is open, as
   options and values in turns; it is stated of each scan. @folder: (nullable): where the last
   volume went. */
GtkWidget *td_batch_dialog_new (GtkWindow *parent, TdEngine *engine, const TdRecipe *recipe,
                                char *const *settings, const char *folder);
/* Adds a scan, unless it is in the list. */
void td_batch_dialog_add (TdBatchDialog *self, const char *path);
