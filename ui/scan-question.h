/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/engine.h"
#include "latest.h"

/* What a thread is asked about a scan by a recipe (TdLatest). All is the question's own. */
typedef struct {
  TdEngine *engine;
  TdScan *scan;
  TdRecipe recipe;
  guint row;         /* where a row is asked about */
  double span_px[2]; /* where columns are asked about */
  char *output;      /* where a volume is to go; NULL: none is asked about */
} TdScanQuestion;

TdScanQuestion *td_scan_question_new (TdEngine *engine, TdScan *scan, const TdRecipe *recipe);
void td_scan_question_free (gpointer question);
