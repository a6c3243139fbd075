/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/device/host.h"
#include "cone-family.h"

/**
 * Between cone-host.c and the code compiled for each instruction set (cone-host-isa.c).
 */
/* Voxels along z computed together; the first one's slice is a multiple. */
#define TD_CONE_GROUP 16
/* Rows of zeros above and below: a group's rows (29), what a line has to spare (37), and a vector
   read ahead. */
#define TD_CONE_PAD 80
#define TD_CONE_BATCH 16 /* views back-projected while a voxel column is in registers */
/* Columns of voxels that a tile is wide and deep: its detector columns stay in the L2 cache. */
#define TD_CONE_TILE 16
#define TD_CONE_CHUNK 128    /* voxels along z worked on at once: eight vectors of sums */
#define TD_CONE_STEEPEST 1.9 /* rows a slice, above which 16 voxels see more than 32 rows */

/* Where the views of a batch see a column of voxels at x, y. The column is u = (u[0] x + u[1] y +
   u[2]) / w. w and the row v of the volume's first slice have the same form. dv / w: rows a slice.
   Places after the batch's last view see nothing. */
typedef struct {
  double u[3][TD_CONE_BATCH], v[3][TD_CONE_BATCH], w[3][TD_CONE_BATCH];
  double dv[TD_CONE_BATCH], weight[TD_CONE_BATCH];
} TdConeAims;

/* Some views for upright geometries, stored as [view][column][row]. A column of zeros lies on
   either side and TD_CONE_PAD rows of zeros above and below, so that the inner loop tests no index.
   The volume is summed as [y][x][z], from the band's first y on. */
typedef struct {
  const TdConeTask *task;
  guint slice0, n_slices;
  TdRowRange band;
  guint n_views;
  TdConeAims aims;
  TdRowRange rows;     /* the detector rows kept */
  gsize column_stride; /* floats: the rows and both pads */
  gsize view_stride;   /* floats: all columns and both zero columns */
  const float *views;  /* [view][column + 1][row + TD_CONE_PAD] */
  float *volume;       /* [y][x][slice], accumulated */
  guint tiles_x;
} TdConeUpright;

/* Some views for any geometry, stored as [view][row + 1][column + 1] between zeros: one row and
   column before, two after. The volume is as it is, [slice][y][x]. */
typedef struct {
  const TdConeTask *task;
  guint slice0;
  guint n_views;
  const guint *numbers;
  TdRowRange rows;
  guint pitch; /* floats from row to row */
  gsize view_stride;
  const float *views;
  float *volume;
} TdConeGeneral;

#define TD_CONE_AHEAD 64  /* floats behind the last view that vectors may read */
#define TD_CONE_STRIP 256 /* voxels of a row worked on at once: their places stay in L1 */

typedef struct {
  /* One tile of TD_CONE_TILE x TD_CONE_TILE voxel columns. */
  void (*tile) (const TdConeUpright *batch, guint tile);
  /* Row index of voxels, counted over slices and y. */
  void (*row) (const TdConeGeneral *general, guint index);
  /* The bench's baseline: one row of voxels by the plain loop of Algorithm 2, in single
     precision. It takes all views' unpadded projections. matrices is [view][13], the weight
     last. */
  void (*naive) (const TdConeTask *task, const float *matrices, const float *projections,
                 guint slice, guint j, float *out);
  /* Volumes of up to this many slices do not fill the columns' vectors: rows are quicker
     (measured). */
  guint rows_up_to;
} TdConeFuncs;
const TdConeFuncs *td_cone_funcs (void); /* for this CPU */
extern const TdConeFuncs td_cone_funcs_plain, td_cone_funcs_avx2, td_cone_funcs_avx512;
