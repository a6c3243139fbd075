/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "axis.h"

/**
 * What many trials say together. The answer is a line, the centre against the row, through the
 * trials that agree. All functions here are pure.
 */

/* The line that has the most evidence within a few columns. It is robust, but not yet exact. */
TdAxisLine td_axis_line_mode (const TdAxisTrial *trials, guint n_trials, double middle_row);

/* Fills all of @result but the trials, of which it sets only `used`. @middle_row: where centre_px
   is. @slope and @slope_error: the tilt in columns a row and its standard error, if they are known
   from elsewhere (0: the axis is upright). NAN: the rows say the tilt. */
void td_axis_agree (TdAxisResult *result, double middle_row, double slope, double slope_error);
