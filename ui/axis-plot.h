/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

#include "compute/axis/axis.h"

/**
 * TdAxisPlot: where each method saw the axis in each row, the consensus with its uncertainty, and
 * the centre that is set. Answers outside the plot stand at its edge. Signal "trial-picked" (guint
 * index into the result's trials).
 */
#define TD_TYPE_AXIS_PLOT (td_axis_plot_get_type ())
G_DECLARE_FINAL_TYPE (TdAxisPlot, td_axis_plot, TD, AXIS_PLOT, GtkWidget)

/* The colour a method has in the plot and beside its name. */
void td_axis_method_colour (TdAxisMethod method, GdkRGBA *colour);

/* @result: (nullable): the caller's, until it is replaced. */
void td_axis_plot_set_result (TdAxisPlot *self, const TdAxisResult *result, guint n_rows);
/* The centre at the middle row; NAN: none. */
void td_axis_plot_set_centre (TdAxisPlot *self, double centre_px, double tilt_deg);
