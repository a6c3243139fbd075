/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/prepare/step.h"

/* The headings under which a person finds the preparation steps, in the order the steps run. */
typedef enum {
  TD_SECTION_INTENSITY,
  TD_SECTION_FLAT,
  TD_SECTION_PHASE,
  TD_SECTION_RINGS,
  TD_SECTION_ABSORPTION,
  TD_N_SECTIONS
} TdStepSection;

TdStepSection td_step_section (const TdStepKind *kind);
const char *td_step_section_title (TdStepSection section); /* translated */
