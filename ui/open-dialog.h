/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "scan-statement.h"

/**
 * TdOpenDialog: opens a scan with what its files do not say. That may be flats, darks and angles
 * elsewhere, a geometry, the pixel's size, or the order of headerless samples. Signal "accepted"
 * (gpointer statement): a TdScanStatement, valid during the call.
 */
#define TD_TYPE_OPEN_DIALOG (td_open_dialog_get_type ())
G_DECLARE_FINAL_TYPE (TdOpenDialog, td_open_dialog, TD, OPEN_DIALOG, AdwWindow)

/* @statement: (nullable): to begin with; @problem: (nullable): why it did not open. */
GtkWidget *td_open_dialog_new (GtkWindow *parent, const TdScanStatement *statement,
                               const char *problem);
/* The keyboard begins with the flats. */
void td_open_dialog_ask_flats (TdOpenDialog *self);
