/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "cluster/profile.h"
#include "compute/engine/engine.h"
#include "compute/recipe/recipe.h"
#include "dataset/scan.h"

/* A volume's format as people call it. */
const char *td_volume_format_label (TdVolumeFormat format);

/**
 * TdReconstructDialog: where the volume goes and in which format, and what the plan says: will it
 * fit, how long, how many bytes. Nothing starts before the plan is sound. Signal "accepted"
 * (gpointer recipe, const char *output): a const TdRecipe *, valid during the call.
 */
#define TD_TYPE_RECONSTRUCT_DIALOG (td_reconstruct_dialog_get_type ())
G_DECLARE_FINAL_TYPE (TdReconstructDialog, td_reconstruct_dialog, TD, RECONSTRUCT_DIALOG, AdwWindow)

/* @jobs: (nullable): of TdJobItem; what those write that go on is not proposed. @folder:
   (nullable): where the last volume went. */
GtkWidget *td_reconstruct_dialog_new (GtkWindow *parent, TdEngine *engine, TdScan *scan,
                                      const TdRecipe *recipe, GListModel *jobs, const char *folder);
/* What jobs on a cluster have reached, updates a second, for the time beside its name; before the
   dialog is presented. */
void td_reconstruct_dialog_set_rate (TdReconstructDialog *self, const char *profile,
                                     double updates_per_s);
/* The cluster that was chosen; NULL: this computer. */
TdClusterProfile *td_reconstruct_dialog_profile (TdReconstructDialog *self);
