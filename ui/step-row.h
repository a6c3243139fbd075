/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "compute/prepare/step.h"

/**
 * TdStepRow: one preparation step: a switch, and under it a row for each parameter, all made from
 * the step's table entry. Signals: "changed" (gpointer step): a new const TdStep *, valid during
 * the call; "removed" (); "before-toggled" (gboolean on): the pictures without this step are
 * wanted.
 */
#define TD_TYPE_STEP_ROW (td_step_row_get_type ())
G_DECLARE_FINAL_TYPE (TdStepRow, td_step_row, TD, STEP_ROW, AdwExpanderRow)

/* @first: (nullable): a row of the owner's above the parameters. */
GtkWidget *td_step_row_new (const TdStepKind *kind, GtkWidget *first);
const TdStepKind *td_step_row_kind (TdStepRow *self);
/* @step: NULL: not in the recipe; @idle: why it does nothing to this scan; NULL: it works. No
 * signal. */
void td_step_row_show (TdStepRow *self, const TdStep *step, const char *idle);
/* Sets the before button. No signal. */
void td_step_row_show_before (TdStepRow *self, gboolean on);
/* The keyboard goes on in the first parameter, or in the row where there is none. */
void td_step_row_take_focus (TdStepRow *self);
