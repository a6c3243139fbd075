/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/plan.h"
#include "compute/row-range.h"

/**
 * A slice in double precision: what a plan's job makes of prepared rows. Filter, field of view,
 * weights of views and region are the same, but the kernels' shortcuts are left out. The sums are
 * td_backproject_reference()'s, for the Fourier method td_fourier_reference()'s, and for FDK
 * td_cone_reference()'s, in a time that a person can wait for.
 *
 * Each shortcut can be taken alone, so that its share of a kernel's error is known.
 */
typedef struct {
  gboolean half_storage;  /* filtered rows as binary16, scaled into its range */
  guint samples;          /* a bin that interpolation may take: 256 is a texture unit's weight of
                             8 bits, 4 the review's oversampling (section 7.2); 0: any */
  gboolean single_sums;   /* each view is added in single precision */
  guint half_run;         /* so many views are added in binary16, and the run's sum in single; 0:
                             none are */
  gboolean single_filter; /* rows go through the host's filter, in single precision */
} TdLabShortcuts;

/* What stands against a reference of this plan; NULL: nothing does (static, to be translated). */
const char *td_lab_truth_unsupported (const TdPlan *plan);
/* The plan's first slice of @rows, which are prepared. Of a parallel beam they are [view][column]
   of the plan's scan (td_job_set_sinogram_sink()). Of a cone they are [row][view][column], the rows
   of td_lab_cone_rows(). @shortcuts: NULL: none. All threads of the host; blocks.
   Returns: (transfer full): [ny][nx]. */
double *td_lab_truth (const TdPlan *plan, const float *rows, const TdLabShortcuts *shortcuts,
                      GCancellable *cancellable, GError **error);
/* How long td_lab_truth() takes here, by a few of the views; NAN: no memory. Blocks for some
   hundredths of a second. */
double td_lab_truth_seconds (const TdPlan *plan, const float *rows);

/* ── Cones (lab-truth-cone.c) ──

   FDK in double precision: the task that td_fdk_plan() made, summed as td_cone_reference() sums.
   Rows of a tilted detector are resampled as kernels/cone-rectify.cl does, weighted as
   td_cone_cosine() and td_cone_redundancy_weight() say, and filtered. */

/* The rows of the plan's scan, as frames are turned, that its slices are made of. */
TdRowRange td_lab_cone_rows (const TdPlan *plan);
/* td_lab_truth() of a plan of FDK, by its first @most_views views. */
double *td_lab_truth_cone (const TdPlan *plan, const float *rows, const TdLabShortcuts *shortcuts,
                           guint most_views, GCancellable *cancellable, GError **error);
