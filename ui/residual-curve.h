/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

/* TdResidualCurve: the relative residual of each pass of an iterative method, on a logarithmic
   scale, with room for the passes that are still to come. Main thread. */
#define TD_TYPE_RESIDUAL_CURVE (td_residual_curve_get_type ())
G_DECLARE_FINAL_TYPE (TdResidualCurve, td_residual_curve, TD, RESIDUAL_CURVE, GtkWidget)

/* @residuals: double; copied; empty: nothing is drawn. */
void td_residual_curve_set (TdResidualCurve *self, const GArray *residuals, guint n_passes);
