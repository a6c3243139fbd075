/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "compute/engine/engine.h"
#include "compute/recipe/recipe.h"
#include "dataset/scan.h"

/**
 * TdReconstructDialog: where the volume goes and in which format, and what the plan says: will it
 * fit, how long, how many bytes. Nothing starts before the plan is sound. Signal "accepted"
 * (gpointer recipe, const char *output): a const TdRecipe *, valid during the call.
 */
#define TD_TYPE_RECONSTRUCT_DIALOG (td_reconstruct_dialog_get_type ())
G_DECLARE_FINAL_TYPE (TdReconstructDialog, td_reconstruct_dialog, TD, RECONSTRUCT_DIALOG, AdwWindow)

/* @folder: (nullable): where the last volume went. */
GtkWidget *td_reconstruct_dialog_new (GtkWindow *parent, TdEngine *engine, TdScan *scan,
                                      const TdRecipe *recipe, const char *folder);
void td_reconstruct_dialog_set_output (TdReconstructDialog *self, const char *path);
/* FALSE while the plan is being made or is not sound. */
gboolean td_reconstruct_dialog_ready (TdReconstructDialog *self);
/* Why the plan is not sound; NULL: it is, or is being made. */
const char *td_reconstruct_dialog_problem (TdReconstructDialog *self);
void td_reconstruct_dialog_accept (TdReconstructDialog *self);
