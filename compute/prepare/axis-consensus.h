/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "axis.h"

/**
 * What many trials say together: a line, the centre against the row, through those that agree.
 * Everything here is pure.
 */
typedef struct {
  double centre_px; /* at the row @middle; NAN: there is none */
  double slope;     /* columns a row */
  double middle;
} TdAxisLine;

double td_axis_line_at (const TdAxisLine *line, double row);

/* The line that has the most evidence within a few columns: robust, not yet exact. @spreads: each
   trial's own standard error, NAN where it knows none. */
TdAxisLine td_axis_line_mode (const TdAxisTrial *trials, const double *spreads, guint n_trials,
                              double middle_row);

/* Fills everything of @result but the trials themselves, whose `used` it sets. @middle_row: where
   centre_px is. */
void td_axis_agree (TdAxisResult *result, const double *spreads, double middle_row);
