/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/parallel/backproject.h"
#include "compute/row-filter.h"
#include "compute/prepare/prepare.h"
#include "compute/engine/plan-private.h"

/**
 * Parallel-beam filtered back-projection:
 *   fbp-plan.c         the geometry, the field of view, the weights, slabs and buffers: fills TdFbp
 *   fbp-working-set.c  what one device needs to turn a slab of raw rows into slices
 *   fbp-run.c          the threads: the reader -> slabs -> a worker for each device -> the writer
 *
 * Rows are detector rows; slice i of the volume is row first_slice + i. A slab is read with `halo`
 * rows more on either side where the preparation needs them.
 */
typedef struct {
  guint n_columns, n_views, n_rows;
  double *angles_rad, *weights; /* as the projector wants them: offset and direction applied */
  gboolean blend;   /* half acquisition: rows are weighted and filtered into wider ones */
  guint n_filtered; /* columns of a filtered row: n_columns, or the wide field's */
  guint shift;      /* column of a filtered row that the measured one's first comes to */
  guint nx, ny;
  double x0, y0, scale, centre_px, tilt; /* tilt: columns a row */
  guint halo, slab_slices, n_slabs;
  guint batch;       /* slices a projector call */
  guint filter_rows; /* sinogram rows a filter call */
  guint in_slots, out_slots;
  gboolean direct; /* the slots are the only device's own buffers: nothing is copied */
  gboolean keep;   /* one slab, small: the working set stays with the engine for the next preview */
  const TdBackprojectFamily **families; /* one a device */
  TdScan *spool; /* a copy that rows are read from; NULL: they are read from the plan's scan */
} TdFbp;

/* The task of the slice made from detector row @row. Points into @plan. */
void td_fbp_task (const TdPlan *plan, double row, TdBackprojectTask *task);
/* Slabs in flight on a device: 2 where transfers can overlap kernels. */
guint td_fbp_lanes (const TdFbp *fbp, const TdDeviceInfo *info);
/* Raw rows that so many slices need at most. */
guint td_fbp_most_rows (const TdFbp *fbp, guint slices);
guint64 td_fbp_row_bytes (const TdFbp *fbp);      /* one raw row, all views */
guint64 td_fbp_filtered_bytes (const TdFbp *fbp); /* the same when filtered */
/* Where the axis is at detector row @row, in measured columns. */
double td_fbp_centre (const TdFbp *fbp, double row);
/* Whether filtered rows go to a buffer of their own. */
gboolean td_fbp_filters_apart (const TdFbp *fbp);
guint64 td_fbp_slice_bytes (const TdFbp *fbp);
/* What the family computes in for this plan. */
TdPrecision td_fbp_precision (const TdPlan *plan, const TdBackprojectFamily *family);
/* The key of a device's rate in the engine's store. (transfer full) */
char *td_fbp_rate_key (const TdPlan *plan, TdDevice *device, const TdBackprojectFamily *family);

const char *td_fbp_unsupported (const TdScanFacts *facts, const TdRecipe *recipe);
gboolean td_fbp_plan (TdPlan *plan, GCancellable *cancellable, GError **error);

extern const TdMethod td_method_fbp, td_method_fourier;
