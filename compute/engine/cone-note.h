/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/cone/cone.h"
#include "compute/engine/plan.h"
#include "dataset/scan.h"

/* Notes how the volume of a cone differs from a slice for each row about the source's plane, for
   every method. @facts: of the scan as it is reconstructed. */
void td_cone_note_volume (TdPlan *plan, const TdConeTask *task, const TdScanFacts *facts);
