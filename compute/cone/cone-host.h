/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/device/host.h"
#include "cone.h"

/**
 * Between cone-host.c and the code compiled for each instruction set. A batch of views is stored as
 * [view][column][row] with one column of zeros on either side and TD_CONE_PAD rows of zeros above
 * and below, so that no index needs a test in the inner loop; the volume is accumulated as
 * [y][x][z].
 */
#define TD_CONE_GROUP                                                                              \
  16 /* voxels along z that are computed together; the first's slice is a multiple */
#define TD_CONE_PAD 80 /* a group's rows (29), what a line has to spare (37), a vector read ahead  \
                        */
#define TD_CONE_BATCH 16 /* views back-projected while a voxel column is in registers */
#define TD_CONE_TILE                                                                               \
  16 /* columns of voxels a tile is wide and deep: its detector columns stay in L2 */
#define TD_CONE_CHUNK 128    /* voxels along z worked on at once: eight vectors of sums */
#define TD_CONE_STEEPEST 1.9 /* rows a slice, above which 16 voxels see more than 32 rows */

typedef struct {
  const TdConeTask *task;
  guint slice0, n_slices;
  guint n_views;        /* of this batch */
  const guint *numbers; /* their numbers in the task */
  guint row0, n_rows;   /* the detector rows kept */
  gsize column_stride;  /* floats: n_rows and both pads */
  gsize view_stride;    /* floats: all columns and both zero columns */
  const float *views;   /* [view][column + 1][row + TD_CONE_PAD] */
  float *volume;        /* [y][x][slice], accumulated */
  guint tiles_x;
} TdConeBatch;

/* Any geometry: views as [view][row + 1][column + 1] with zeros around (one row and column before,
   two after), the volume as it is, [slice][y][x]. */
typedef struct {
  const TdConeTask *task;
  guint slice0;
  guint n_views;
  const guint *numbers;
  guint row0, n_rows;
  guint pitch; /* floats from row to row */
  gsize view_stride;
  const float *views;
  float *volume;
} TdConeGeneral;

#define TD_CONE_AHEAD 64  /* floats behind the last view that vectors may read */
#define TD_CONE_STRIP 256 /* voxels of a row worked on at once: their places stay in L1 */

typedef struct {
  /* One tile of TD_CONE_TILE x TD_CONE_TILE voxel columns. */
  void (*tile) (const TdConeBatch *batch, guint tile);
  /* Row index of voxels, counted over slices and y. */
  void (*row) (const TdConeGeneral *general, guint index);
  /* The bench's baseline: one row of voxels by the plain loop of Algorithm 2, single precision, all
     views from unpadded projections; what anybody would write first. matrices: [view][13], the
     weight last. */
  void (*naive) (const TdConeTask *task, const float *matrices, const float *projections,
                 guint slice, guint j, float *out);
  /* For volumes of up to this many slices rows are quicker than columns, whose vectors they do not
     fill: measured. */
  guint rows_up_to;
} TdConeFuncs;
const TdConeFuncs *td_cone_funcs (void); /* for this CPU */
extern const TdConeFuncs td_cone_funcs_plain, td_cone_funcs_avx2, td_cone_funcs_avx512;
