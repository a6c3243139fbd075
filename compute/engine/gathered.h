/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

#include "compute/row-range.h"

typedef struct TdJob TdJob;
typedef struct TdPlan TdPlan;

/**
 * Jobs that share the filtering (iFDK, section 4.1.2). Several jobs add the same views to different
 * slices. Each filters some of the views, and all views come to each. How they travel is the
 * caller's. For plans of a TdPlanPart with gathered > 0; FDK only.
 */

/* Filtered rows of the detector, and their width. */
typedef struct {
  TdRowRange rows;
  guint n_columns;
} TdFilteredRows;
/* The rows that the plan's slices see. */
TdFilteredRows td_plan_filtered_rows (const TdPlan *plan);

/* Views count in the order in which they are gathered. Chunk i is views [i, i + 1) × the part's
   gathered of that order, as many as there are. Both functions block, each on a thread of its own.
   They return FALSE with @error once the cancellable is cancelled; the same call may then come
   again. */
typedef struct {
  TdRowRange rows;   /* that this job filters: all that any of the jobs sees */
  guint jobs, index; /* chunks index, index + jobs, … are this job's */
  /* Takes a chunk that this job filtered: float [count][rows.count][n_columns]. */
  gboolean (*put) (guint first, guint count, const float *views, GCancellable *cancellable,
                   GError **error, gpointer user);
  /* Gives the next chunk, from the first on, whoever filtered it: float [count][rows that the
     plan's slices see][n_columns]. */
  gboolean (*take) (guint first, guint count, float *views, GCancellable *cancellable,
                    GError **error, gpointer user);
  gpointer user;
} TdJobGathered;

/* Before the job runs. */
void td_job_set_gathered (TdJob *job, const TdJobGathered *gathered);
