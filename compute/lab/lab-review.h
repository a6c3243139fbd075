/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "lab-plot.h"
#include "lab.h"

/**
 * Figures 7, 8, 18 and 19 of the review, on the scan at hand. 7 and 18 show the Shepp-Logan
 * phantom, here as a scan of the same columns, views and angles. 8 and 19 show the scan. Each has a
 * profile along one line above, and below it an absolute difference along the same line:
 *
 *     7, 8   single against half precision; the difference between the two
 *     18     nearest and linear interpolation and four-fold oversampling; from the phantom itself
 *     19     the same; from linear interpolation
 */
typedef struct {
  TdLab *lab;                /* its variants: linear, half, nearest, oversampling */
  TdLabResult *scan;         /* the scan at hand */
  TdLabResult *phantom;      /* the phantom */
  float *truth;              /* the phantom itself, of the phantom's picture's size */
  TdLabDifference errors[4]; /* of the variants, from the phantom itself */
} TdLabReview;

/* The variants that the figures show, added to @lab, which has none. */
gboolean td_lab_review_add (TdLab *lab, GError **error);
/* @lab: with those variants; copied. Parallel beams only. Blocks; any thread. @show sees the scan's
   results only. */
TdLabReview *td_lab_review_run (const TdLab *lab, TdEngine *engine, TdScan *scan, TdLabShow show,
                                gpointer user, GCancellable *cancellable, GError **error);
void td_lab_review_free (TdLabReview *review);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdLabReview, td_lab_review_free)
/* The four figures, two by two, in reading order: the profiles of a pair, then their differences.
   (transfer full) */
#define TD_LAB_REVIEW_PLOTS 8
void td_lab_review_plots (const TdLabReview *review, TdLabPlot *plots[TD_LAB_REVIEW_PLOTS]);
/* The same as one SVG document. */
char *td_lab_review_svg (TdLabPlot *const plots[TD_LAB_REVIEW_PLOTS]);
