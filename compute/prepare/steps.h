/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "step.h"

/* Every step, one source file each (step-NAME.c); steps.c lists them in the order they run. */
extern const TdStepKind td_step_flat_field;
extern const TdStepKind td_step_minus_log;
extern const TdStepKind td_step_rings;
extern const TdStepKind td_step_rings_large;
extern const TdStepKind td_step_rings_dead;
extern const TdStepKind td_step_rings_sorting;
extern const TdStepKind td_step_rings_filtering;
extern const TdStepKind td_step_rings_fitting;
extern const TdStepKind td_step_rings_normalise;
