/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/lab/lab-review.h"
#include "latest.h"
#include "render/image.h"

/**
 * A lab run off the main thread, picture by picture. Main thread.
 */

/* What is known so far. */
typedef struct {
  TdLab *lab; /* that the rest is about */
  TdLabResult *result;
  TdImage *images[TD_LAB_MOST + 1]; /* of the variants, then of the reference; NULL: none (yet) */
  double fraction;
  TdLabPlot *figures[TD_LAB_REVIEW_PLOTS]; /* the review's, once they are made; else NULL */
} TdLabNews;

/* @show gets TdLabNews, which it may keep by td_lab_news_ref(). */
TdLatest *td_lab_work_new (TdLatestShow show, gpointer user);
/* @lab is copied. @review: make the review's figures. */
void td_lab_work_request (TdLatest *work, TdEngine *engine, TdScan *scan, const TdLab *lab,
                          gboolean review);
TdLabNews *td_lab_news_ref (TdLabNews *news);
void td_lab_news_unref (TdLabNews *news);
