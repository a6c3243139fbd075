/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/plan.h"

/**
 * The prepared row that a slice of a parallel beam is made of, as a job prepares it. Its even and
 * its odd views are scans of their own. All recipes with the same preparation share them.
 */
typedef struct {
  TdRecipe recipe; /* what decides about the rows, over the preset */
  guint n_views, n_columns;
  float *sinogram; /* [view][column] */
  TdScan *halves[2];
  TdRecipe half_recipe; /* the axis and the field of view of the halves */
} TdLabRows;

/* Whether @recipe, as a plan resolved it, wants the same rows. */
gboolean td_lab_rows_serve (const TdLabRows *rows, const TdRecipe *recipe);
/* @plan: any of the recipe's, of a parallel beam. Blocks. */
TdLabRows *td_lab_rows_new (const TdPlan *plan, TdEngine *engine, TdScan *scan,
                            GCancellable *cancellable, GError **error);
void td_lab_rows_free (TdLabRows *rows);
/* @recipe for one of the halves: prepared already, and all of the rest as it was. */
void td_lab_rows_half_recipe (const TdLabRows *rows, const TdRecipe *recipe, TdRecipe *half);
