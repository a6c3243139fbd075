/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "axis.h"

/**
 * What many trials say together: a line, the centre against the row, through those that agree.
 * Everything here is pure.
 */

/* The line that has the most evidence within a few columns: robust, not yet exact. */
TdAxisLine td_axis_line_mode (const TdAxisTrial *trials, guint n_trials, double middle_row);

/* Fills everything of @result but the trials themselves, whose `used` it sets. @middle_row: where
   centre_px is. @slope, in columns a row, and its standard error where it is known from elsewhere
   (0: the axis is upright); NAN: the rows say it. */
void td_axis_agree (TdAxisResult *result, double middle_row, double slope, double slope_error);
