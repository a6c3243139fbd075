/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/engine.h"

/**
 * TdChoiceCheck: which choices the scan, the devices and the other choices rule out, and why. The
 * planner itself is asked: for each choice, whether one slice of the scan could be planned. What
 * fails for all choices alike is no choice's fault. Main thread; planning is done in another.
 */
typedef struct TdChoiceCheck TdChoiceCheck;

/* @changed: the reasons may be others now. */
TdChoiceCheck *td_choice_check_new (TdEngine *engine, void (*changed) (gpointer user),
                                    gpointer user);
void td_choice_check_free (TdChoiceCheck *self);
/* Asks anew, if what matters has changed. @scan NULL: everything can be chosen. */
void td_choice_check_request (TdChoiceCheck *self, TdScan *scan, const TdRecipe *recipe);
gboolean td_choice_check_busy (TdChoiceCheck *self);
/* TdChoiceReason (recipe-group.h). (transfer none) */
const char *td_choice_check_reason (const char *option, guint index, gpointer self);
