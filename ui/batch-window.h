/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "job-queue.h"

/**
 * TdBatchWindow: the table of a batch while it runs and after. It shows each scan's state, axis,
 * time and volume, and sorts by any of them. It can be saved as comma-separated values. Scans that
 * failed can be tried again; the table then keeps its rows. Signals: "again-requested" (TdJobItem
 * *), "open-requested" (const char *path): a volume.
 */
#define TD_TYPE_BATCH_WINDOW (td_batch_window_get_type ())
G_DECLARE_FINAL_TYPE (TdBatchWindow, td_batch_window, TD, BATCH_WINDOW, AdwWindow)

GtkWidget *td_batch_window_new (GtkWindow *parent, TdJobQueue *jobs, TdJobItem *item);
/* The table as comma-separated values, in its order. (transfer full) */
char *td_batch_window_text (TdBatchWindow *self);
