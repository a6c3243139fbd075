/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/plan.h"

/**
 * TdLabRows: the prepared rows that a slice is made of, as a job prepares them. Their even and
 * their odd views are reconstructed apart. All recipes with the same preparation share them.
 * Functions block; one thread at a time.
 */
typedef struct TdLabRows TdLabRows;

/* @plan: any of the recipe's, of filtered back-projection, the Fourier method, FDK or, of a
   parallel beam, of an iterative method. NULL with @error: cancelled, or rows too long to keep. */
TdLabRows *td_lab_rows_new (const TdPlan *plan, TdEngine *engine, TdScan *scan,
                            GCancellable *cancellable, GError **error);
void td_lab_rows_free (TdLabRows *rows); /* NULL is allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdLabRows, td_lab_rows_free)
/* What @plan wants of rows: plans with equal ones share them. */
void td_lab_rows_wanted (const TdPlan *plan, TdRecipe *wanted);
/* As td_lab_truth() takes them. */
const float *td_lab_rows_data (const TdLabRows *rows);

/* The plan of what @whole's recipe makes of the even (@parity 0) or the odd views. Of a parallel
   beam that is a picture of half the views. Of a cone it is a share of the picture. Views have the
   weights that they have among all, and both shares add up to it. td_lab_rows_share() tells which.
   NULL with @error: it cannot be made, and why. */
TdPlan *td_lab_rows_half (TdLabRows *rows, TdEngine *engine, const TdPlan *whole, guint parity,
                          GCancellable *cancellable, GError **error);
/* What a half's picture must be multiplied with to be a picture of the object: 1 or 2. */
float td_lab_rows_share (const TdLabRows *rows);
