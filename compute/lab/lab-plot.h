/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "lab-measure.h"

/**
 * TdLabPlot: curves or dots over one pair of axes, for the window to draw and for an SVG file.
 * Values that are not finite, or not above 0 on a logarithmic axis, break a curve. Titles and the
 * names of what is no variant are English; the window translates them.
 */
typedef struct {
  char *name;
  guint32 colour; /* 0xRRGGBB */
  gboolean dashed, dots;
  guint n;
  double *x, *y;
} TdLabSeries;

typedef struct {
  gatomicrefcount references;
  char *title, *x_title, *y_title;
  gboolean x_log, y_log;
  double x0, x1, y0, y1; /* the axes' ends; td_lab_plot_fit() */
  GPtrArray *series;     /* TdLabSeries */
} TdLabPlot;

#define TD_LAB_MOST_TICKS 12

TdLabPlot *td_lab_plot_new (const char *title, const char *x_title, const char *y_title);
TdLabPlot *td_lab_plot_ref (TdLabPlot *plot);
void td_lab_plot_unref (TdLabPlot *plot);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdLabPlot, td_lab_plot_unref)
/* The series' places for n points, to be filled. It belongs to the plot. */
TdLabSeries *td_lab_plot_add (TdLabPlot *plot, const char *name, guint32 colour, guint n);
/* A picture's values along the line, over pixels from its first end; @index: of the colour. */
TdLabSeries *td_lab_plot_add_profile (TdLabPlot *plot, const char *name, int index,
                                      const TdLabPicture *picture, const TdLabLine *line);
/* The profile becomes its absolute difference from @picture's along the same line. Without pixels
   there is none. */
void td_lab_series_differ (TdLabSeries *series, const TdLabPicture *picture, const TdLabLine *line);
/* Of variant @index; -1: of the reference. Told apart by colour-blind people too (Okabe and Ito,
   2008, and darker ones). */
guint32 td_lab_plot_colour (int index);
/* Ends of the axes that show all series. */
void td_lab_plot_fit (TdLabPlot *plot);
/* Where a value lies along an axis, 0 … 1. */
double td_lab_plot_place (double value, double low, double high, gboolean logarithmic);
/* Round values along an axis. Returns how many, TD_LAB_MOST_TICKS at the most. */
guint td_lab_plot_ticks (double low, double high, gboolean logarithmic,
                         double ticks[TD_LAB_MOST_TICKS]);

/* Plots in so many columns, each of width × height pixels, as an SVG document. (transfer full) */
char *td_lab_plots_svg (TdLabPlot *const *plots, guint n, guint columns, guint width, guint height);
