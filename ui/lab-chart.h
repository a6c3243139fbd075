/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

#include "compute/lab/lab-plot.h"

/**
 * TdLabChart: a TdLabPlot with its axes and legend. Under the pointer stand the values of the
 * nearest point. Signals: "picked" (guint series): a dot was clicked.
 */
#define TD_TYPE_LAB_CHART (td_lab_chart_get_type ())
G_DECLARE_FINAL_TYPE (TdLabChart, td_lab_chart, TD, LAB_CHART, GtkWidget)

void td_lab_chart_take (TdLabChart *self, TdLabPlot *plot); /* takes @plot; NULL: none */
/* What assistive technology reads, and what is shown without a plot. */
void td_lab_chart_set_label (TdLabChart *self, const char *label);
