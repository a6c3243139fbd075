/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/cone/cone-family.h"
#include "times.h"

/**
 * This bench measures cone-beam back-projection on one device. It adds n_columns^2 x n_views random
 * projections to size^2 x slices voxels, all of which the detector sees. Rates are GUPS as the iFDK
 * paper defines them: 2^30 voxel updates a second. The time is that of adding all views to the
 * volume in device memory, packing included.
 */
typedef struct {
  guint size;                /* voxels along x and y */
  guint slices;              /* along z */
  guint n_columns;           /* and rows of the detector */
  guint n_views;             /* over a full turn */
  guint runs;                /* timed, after one to warm up */
  GCancellable *cancellable; /* may be NULL */
} TdConeBenchSpec;

typedef struct {
  const char *family, *title; /* static */
  TdPrecision precision;
  TdBenchTimes times;
  double gups;
  double error; /* relative L2 against the double-precision reference on blocks of voxels */
} TdConeBenchRow;

typedef struct TdConeBench TdConeBench;

/* A laboratory scanner: magnification 1.5, a fan of about 20 degrees, a detector of n_columns^2
   that sees size^3 voxels. */
void td_cone_bench_geometry (guint n_columns, guint size, TdGeometry *geometry);

/* Uploads the projections; blocks. */
TdConeBench *td_cone_bench_new (TdDevice *device, const TdConeBenchSpec *spec, GError **error);
/* One family. FALSE with @error, for what it cannot do too. */
gboolean td_cone_bench_run (TdConeBench *bench, const TdConeFamily *family, TdPrecision precision,
                            TdConeBenchRow *row, GError **error);
/* The baseline: on CPUs a plain loop over voxels and views in C with all threads, on a part of the
   volume; GUPS. Elsewhere 0: take the standard family's row. */
double td_cone_bench_naive (TdConeBench *bench);
void td_cone_bench_free (TdConeBench *bench);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdConeBench, td_cone_bench_free)
