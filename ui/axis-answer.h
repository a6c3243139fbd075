/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

#include "compute/axis/axis.h"

/**
 * TdAxisAnswer: what the search for the axis found. It shows the consensus with its uncertainty,
 * and a warning where the methods disagree. A click takes the answer of one method in one row.
 * Signal "taken" (double centre_px, double tilt_deg): at the middle row; tilt NAN: as it is.
 */
#define TD_TYPE_AXIS_ANSWER (td_axis_answer_get_type ())
G_DECLARE_FINAL_TYPE (TdAxisAnswer, td_axis_answer, TD, AXIS_ANSWER, AdwBin)

/* @result: (nullable): copied. */
void td_axis_answer_set_result (TdAxisAnswer *self, const TdAxisResult *result, guint n_rows);
const TdAxisResult *td_axis_answer_get_result (TdAxisAnswer *self);
/* What is set now, shown in the plot. */
void td_axis_answer_set_centre (TdAxisAnswer *self, double centre_px, double tilt_deg);
/* The tilt to take with a consensus: 0 where it is no more than its uncertainty. Of a single row
   there is none: NAN, as in "taken". */
double td_axis_result_tilt (const TdAxisResult *result, guint n_rows);
