/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/cone/cone-family.h"
#include "method.h"

/**
 * FDK as a job, in two stages that run beside each other (iFDK, section 3.1): one thread reads,
 * prepares, weights and filters detector rows from the top down into host memory (or a file, when that
 * is short); each device's workers take slabs of the volume, wait for the rows that the slab sees, and
 * add the views batch by batch (Okitsu et al. and iFDK: volumes and projection sets larger than a device).
 */

/* What the plan decided. */
typedef struct {
  TdConeTask task;           /* of the slices asked for: nz = n_slices */
  TdGeometry geometry;       /* with the recipe's centre */
  double *angles_rad;
  guint row0, n_rows;        /* detector rows that the slices see */
  guint64 projection_bytes;  /* filtered projections, all views */
  gboolean on_disk;          /* they do not fit the host's memory */
  guint filter_rows;         /* detector rows filtered at once */
  guint slab;                /* slices */
  guint batch;               /* views, a multiple of what the families want */
  guint workers;             /* for each device: while one transfers the other computes */
  const TdConeFamily **families; /* one for each device */
} TdFdkPlan;

void td_fdk_plan_free (TdFdkPlan *fdk);
/* The planning half of td_method_fdk; see TdMethod. */
const char *td_fdk_unsupported (const TdScanFacts *facts, const TdRecipe *recipe);
guint td_fdk_n_slices (const TdScanFacts *facts);
double td_fdk_stated_centre (const TdScanFacts *facts);
gboolean td_fdk_plan (TdPlan *plan, TdEngine *engine, GPtrArray *devices, GCancellable *cancellable,
                      GError **error);
/* What a measured rate holds for: these devices and families. (transfer full) */
char *td_fdk_rate_key (const TdPlan *plan, const TdFdkPlan *fdk);

/* The run's shared state. */
typedef struct {
  TdJob *job;
  const TdPlan *plan;
  const TdFdkPlan *fdk;
  GCancellable *cancellable; /* cancelled by the first failure too */
  float *projections;        /* [view][n_rows][column] */
  GMutex lock;
  GCond changed;
  guint rows_done;           /* of n_rows, from the top */
  guint next_slab;
  GQueue returned;           /* slabs that a failing device gave back, GUINT_TO_POINTER (slab + 1) */
  guint slabs_open;          /* taken and not finished */
  guint workers_left;
  GError *error;             /* the first */
} TdFdkRun;

void td_fdk_fail (TdFdkRun *run, GError *error); /* takes @error */
/* Blocks until detector rows up to @end (counted in n_rows) are filtered; FALSE: the run has failed. */
gboolean td_fdk_wait_rows (TdFdkRun *run, guint end);
void td_fdk_rows_done (TdFdkRun *run, guint end);

/* Stage 1, on a thread of its own. */
gboolean td_fdk_filter (TdFdkRun *run, TdDevice *device, GError **error);
/* Stage 2: slabs until none is left. */
gboolean td_fdk_project (TdFdkRun *run, TdDevice *device, const TdConeFamily *family, GError **error);
