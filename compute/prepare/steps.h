/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "bad-pixels.h"
#include "step.h"

/* Every step, of step-*.c and rings/step-*.c; steps.c lists them in the order they run. */
extern const TdStepKind td_step_bad_pixels;
extern const TdStepKind td_step_zingers;
extern const TdStepKind td_step_flat_field;
extern const TdStepKind td_step_dose;
extern const TdStepKind td_step_double_flat;
extern const TdStepKind td_step_paganin;
extern const TdStepKind td_step_minus_log;
extern const TdStepKind td_step_zingers_angle;
extern const TdStepKind td_step_beam_hardening;
extern const TdStepKind td_step_rings;
extern const TdStepKind td_step_rings_all;
extern const TdStepKind td_step_rings_large;
extern const TdStepKind td_step_rings_dead;
extern const TdStepKind td_step_rings_sorting;
extern const TdStepKind td_step_rings_filtering;
extern const TdStepKind td_step_rings_fitting;
extern const TdStepKind td_step_rings_wavelet;
extern const TdStepKind td_step_rings_normalise;

/* Parameters that more than the step itself asks for. */
enum { TD_FLAT_FIELD_WHITE, TD_FLAT_FIELD_AVERAGE, TD_FLAT_FIELD_DRIFT };
enum { TD_FLAT_FIELD_MEAN, TD_FLAT_FIELD_MEDIAN };
enum { TD_FLAT_FIELD_DRIFT_NONE, TD_FLAT_FIELD_DRIFT_VIEWS, TD_FLAT_FIELD_DRIFT_ANGLES };

/* What the step "bad-pixels" replaced in this slab, in slab pixels; NULL: it does not run. */
const GArray *td_bad_pixels_of_slab (TdSlab *slab);
