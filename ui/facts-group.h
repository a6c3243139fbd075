/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "dataset/scan.h"

/* TdFactsGroup: what is known about the open scan, with the reader's notes. */
#define TD_TYPE_FACTS_GROUP (td_facts_group_get_type ())
G_DECLARE_FINAL_TYPE (TdFactsGroup, td_facts_group, TD, FACTS_GROUP, AdwPreferencesGroup)

void td_facts_group_show (TdFactsGroup *self, const TdScanFacts *facts);
