/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/iterative/rays.h"
#include "times.h"

/**
 * This bench measures what iterative methods spend their time on, on one device. It has size^3
 * random voxels, a detector of size^2 and views over a full turn. Rates are GUPS: 2^30 voxels times
 * views a second.
 */
typedef struct {
  guint size, n_views, runs;
  GCancellable *cancellable; /* may be NULL */
} TdRaysBenchSpec;

typedef struct {
  const char *name; /* "project", "back-project", "sirt": both, compared and corrected; "denoise" */
  TdBenchTimes times; /* denoise: of a step, on all voxels once */
  double gups;
  double error; /* relative RMS against double precision, on 48^3 voxels; 0: not judged */
} TdRaysBenchRow;

#define TD_RAYS_BENCH_ROWS 4

/* Blocks. */
gboolean td_rays_bench (TdDevice *device, const TdRaysBenchSpec *spec,
                        TdRaysBenchRow rows[TD_RAYS_BENCH_ROWS], GError **error);
/* Projection by the plain loop in C (the reference's, a view for each of the host's threads): GUPS.
 */
double td_rays_bench_naive (void);
