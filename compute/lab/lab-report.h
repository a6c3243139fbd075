/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "lab-plot.h"
#include "lab.h"

/**
 * What a lab came to, as curves and as numbers.
 */

/* Values along the line, of every picture; (transfer full), as all below. */
TdLabPlot *td_lab_plot_profile (const TdLab *lab, const TdLabResult *result);
/* |picture - what all are compared with| along the line, logarithmic, with the data's noise. */
TdLabPlot *td_lab_plot_differences (const TdLab *lab, const TdLabResult *result);
/* Fourier ring correlation of even against odd views, with both thresholds. */
TdLabPlot *td_lab_plot_frc (const TdLab *lab, const TdLabResult *result);
/* Time of a warm run against RMS difference: a dot a variant, in the variants' order. */
TdLabPlot *td_lab_plot_scatter (const TdLab *lab, const TdLabResult *result);

/* All four as one SVG document. */
char *td_lab_svg (const TdLab *lab, const TdLabResult *result);
/* A line a variant, then the reference, then the budget; RFC 4180, numbers with a decimal point. */
char *td_lab_csv (const TdLab *lab, const TdLabResult *result);
