/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * What the host's back-projection kernels work on. The same source (host-backproject-isa.c) is
 * compiled once for each instruction set; family-host.c picks one and spreads the tiles over
 * threads.
 *
 * A pass is a run of views and up to `lanes` slices. Bins lie interleaved, [view][column][lane], so
 * that one vector load fetches the same bin of all slices. Columns are padded with zeros,
 * TD_HOST_PAD_LEFT before and TD_HOST_PAD_RIGHT after. So every index that a kernel can form is
 * inside the row. Pixel (ix, iy) of the region is seen at u = start[v] + ix du_x[v] + iy du_y[v].
 */
enum {
  TD_HOST_PAD_LEFT
  = 32, /* a 16 x 16 tile reaches at most 30 columns (the single-slice window is 32) */
  TD_HOST_PAD_RIGHT = 64,
  TD_HOST_TILE = 64,    /* pixels across of a thread's tile: its sums and its bins fit L2 */
  TD_HOST_SUBTILE = 16, /* of the part whose bins fit L1 */
  TD_HOST_WINDOW = 32,  /* columns of the single-slice path's tables */
};

typedef struct {
  const float *bins; /* the block's first view, first (padding) column; 64-byte aligned */
  gsize view_stride; /* floats */
  guint lanes;
  guint n_columns;
  guint n_views;
  const double *start, *du_x, *du_y; /* n_views each */
  guint nx, ny;
  gboolean nearest;
  gboolean wide_window; /* steps above TdHostKernels' single_step */
  gboolean add;         /* to what the slices hold: views come in several passes */
  float *slices;        /* [n_slices][ny][nx] */
  gsize slice_stride;
  guint n_slices;
} TdHostPass;

/* One tile (its first pixel) of a pass. @scratch: MAX (2, lanes) × TD_HOST_TILE² values of a
   thread, 64-byte aligned. */
typedef void (*TdHostTileBody) (const TdHostPass *pass, guint x, guint y, float *scratch);

/* Copies one view of n_slices sinograms, times @weight, into an interleaved padded row.
   sinogram: that view's row in the first slice; slice_stride in floats. */
typedef void (*TdHostInterleave) (const float *sinogram, gsize slice_stride, guint n_slices,
                                  guint n_columns, float weight, guint lanes, float *row);

/* The bench's baseline: one row of one slice, pixel by pixel (parallel-bench.c). */
typedef struct {
  const float *sinogram;                     /* [view][column] */
  const float *start, *du_x, *du_y, *weight; /* n_views each */
  guint n_columns, n_views, nx;
  gboolean nearest;
  float *slice;
} TdHostBaseline;
typedef void (*TdHostBaselineRow) (const TdHostBaseline *baseline, guint y);

typedef struct {
  guint lanes;           /* slices at once of the wide path */
  guint lanes_small;     /* of its narrow variant */
  guint single_cost;     /* up to so many slices the single-slice path is the faster one */
  double single_step;    /* columns a pixel, above which that path goes bin by bin */
  const char *names[3];  /* for people: single, narrow, wide */
  TdHostTileBody wide;   /* lanes or lanes_small */
  TdHostTileBody single; /* 1 lane */
  TdHostInterleave interleave;
  TdHostBaselineRow baseline;
} TdHostKernels;

/* For this CPU (td_host_isa). */
const TdHostKernels *td_host_kernels (void);

/* Interleaved bins, also where OpenCL runs on a CPU (tile-backproject.c). Floats from one view to
   the next; views of a block, a multiple of @step or all. More views: more blocks. */
guint64 td_host_view_stride (guint n_columns, guint lanes);
guint td_host_block_views (guint n_columns, guint n_views, guint lanes, guint step);
/* Floats that hold a block of any of these @lanes, up to @most of them. Fewer lanes may have the
   larger block. */
guint64 td_host_bins_floats (guint n_columns, guint n_views, const guint lanes[3], guint most,
                             guint step);

extern const TdHostKernels td_host_kernels_plain;
extern const TdHostKernels td_host_kernels_avx2;
extern const TdHostKernels td_host_kernels_avx512;
