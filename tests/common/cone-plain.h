/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/cone/cone.h"
#include "compute/filter.h"

/**
 * FDK in plain double precision, of a detector as it stands or resampled to the level one
 * (compute/cone/cone-rectify.h). It shares with the product the matrices, the weights' formulas and
 * the ramp's response.
 */
typedef struct {
  const TdGeometry *geometry;
  const double *angles_rad;
  guint n_columns, n_rows, n_views;
  const float *views; /* line integrals, [view][row][column] */
} TdConePlain;

/* The whole volume, [slice][y][x]. @task: filled with that of the detector that was filtered; clear
   it. (transfer full) */
double *td_cone_plain_fdk (const TdConePlain *scan, const TdFilter *filter, gboolean level,
                           TdConeTask *task);

/* Where the ray of the rectified detector's pixel meets the scan's. */
void td_cone_plain_trace (const double level[12], const double own[12], double column, double row,
                          double *u, double *v);
