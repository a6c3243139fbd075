/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/lab/lab-plot.h"

/* The plot's curve of that name; NULL: it has none. */
static inline const TdLabSeries *
test_lab_series (const TdLabPlot *plot, const char *name)
{
  for (guint i = 0; i < plot->series->len; i++) {
    const TdLabSeries *series = plot->series->pdata[i];
    if (g_str_equal (series->name, name))
      return series;
  }
  return NULL;
}
