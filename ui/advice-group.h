/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/advice.h"
#include "recipe-group.h"

/**
 * TdAdviceGroup: the advice that the scan's data give about its recipe, a row each. One click
 * follows an advice, another leaves it be. Advice that the recipe follows already is not shown.
 * Signal "changed": another advice is the first one now.
 */
#define TD_TYPE_ADVICE_GROUP (td_advice_group_get_type ())
G_DECLARE_FINAL_TYPE (TdAdviceGroup, td_advice_group, TD, ADVICE_GROUP, TdRecipeGroup)

/* @scan: (nullable). The data are looked at when the recipe comes. */
void td_advice_group_set_scan (TdAdviceGroup *self, TdEngine *engine, TdScan *scan);
gboolean td_advice_group_busy (TdAdviceGroup *self);
/* The first advice shown; NULL: none is. (transfer none) */
const TdAdvice *td_advice_group_first (TdAdviceGroup *self);
const char *td_advice_group_verb (const TdAdvice *advice); /* what following it does */
void td_advice_group_follow_first (TdAdviceGroup *self);
/* Marks the first advice as what to do next. */
void td_advice_group_mark (TdAdviceGroup *self, gboolean next);
