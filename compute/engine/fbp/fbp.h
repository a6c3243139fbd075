/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/parallel/backproject.h"
#include "compute/row-filter.h"
#include "compute/prepare/prepare.h"
#include "compute/engine/plan-private.h"

/**
 * Parallel-beam filtered back-projection:
 *   fbp-plan.c         the geometry, the field of view, the weights, slabs and buffers: fills TdFbp
 *   fbp-way.c          which method, kernels and precision: the fastest that are exact enough
 *   fbp-working-set.c  what one device needs to turn a slab of raw rows into slices
 *   fbp-run.c          the threads: the reader -> slabs -> a worker for each device -> the writer
 *
 * Rows are detector rows; slice i of the volume is row first_slice + i. A slab is read with `halo`
 * rows more on either side where the preparation needs them.
 */
/* The projectors want slabs of so many slices at least, since they take so many at once. */
enum { TD_FBP_GRAIN = 16 };

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
  guint n_readers;   /* threads */
  guint in_slots, out_slots;
  guint raw_bytes; /* of a sample that goes up as it is stored; 0: floats go up */
  gboolean stores; /* the devices can make the samples that the volume stores */
  gboolean direct; /* the slots are the only device's own buffers: nothing is copied */
  gboolean keep;   /* one slab, small: the working set stays with the engine for the next preview */
  const TdBackprojectFamily **families; /* one a device; of the way that was taken last */
  GPtrArray *ways;                      /* TdFbpWay, the ones to try first first (fbp-way.c) */
  TdScan *spool; /* a copy that rows are read from; NULL: they are read from the plan's scan */
} TdFbp;

/* The task of the slice made from detector row @row. Points into @plan. */
void td_fbp_task (const TdPlan *plan, double row, TdBackprojectTask *task);
/* Slabs in flight on a device: 2 where transfers can overlap kernels. */
guint td_fbp_lanes (const TdFbp *fbp, const TdDeviceInfo *info);
/* Raw rows that so many slices need at most. */
guint td_fbp_most_rows (const TdFbp *fbp, guint slices);
guint64 td_fbp_row_bytes (const TdFbp *fbp);      /* one raw row, all views */
guint64 td_fbp_sent_bytes (const TdFbp *fbp);     /* the same as it goes up */
guint64 td_fbp_filtered_bytes (const TdFbp *fbp); /* the same when filtered */
/* Where the axis is at detector row @row, in measured columns. */
double td_fbp_centre (const TdFbp *fbp, double row);
/* Whether filtered rows go to a buffer of their own. */
gboolean td_fbp_filters_apart (const TdFbp *fbp);
guint64 td_fbp_slice_bytes (const TdFbp *fbp);
guint64 td_fbp_slab_voxels (const TdFbp *fbp, guint slices);
/* What the family computes in for this plan. */
TdPrecision td_fbp_precision (const TdPlan *plan, const TdBackprojectFamily *family);
/* The key of a device's rate in the engine's store. (transfer full) */
char *td_fbp_rate_key (TdDevice *device, const TdBackprojectFamily *family,
                       TdInterpolation interpolation, TdPrecision precision);

/* One way to make the slices: method, kernels, precision. */
typedef struct {
  const TdMethod *method;
  TdPrecision precision;
  const TdBackprojectFamily **families; /* one a device */
  double error_bound;                   /* the largest of the devices' */
  double cost;                          /* of a slice, in updates of the first family of fbp */
  gboolean exact_enough;
} TdFbpWay;

/* Fills fbp->ways with what the recipe leaves open and the devices can do. */
gboolean td_fbp_list_ways (TdPlan *plan, GError **error);
/* The plan is for this one from now on. */
void td_fbp_take_way (TdPlan *plan, const TdFbpWay *way);
/* Tells of it and of the others; @taken is an index of fbp->ways. The plan's bytes are known. */
void td_fbp_describe_ways (TdPlan *plan, guint taken);

gboolean td_fbp_plan (TdPlan *plan, GCancellable *cancellable, GError **error);

extern const TdMethod td_method_fbp, td_method_fourier;
