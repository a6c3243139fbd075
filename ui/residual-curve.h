/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

/* Draws the relative residual of each pass of an iterative method in @area, on a logarithmic scale.
   There is room for the passes that are still to come. @residuals: double; copied; (nullable) or
   empty: the area is hidden. Main thread. */
void td_residual_curve_set (GtkDrawingArea *area, const GArray *residuals, guint n_passes);
