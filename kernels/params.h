/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* Structures shared by host code and kernels, passed by value: only 4-byte int, unsigned and float
   members, so that every compiler lays them out alike. Included by C and, as text, by every dialect. */

/* kernels/backproject-standard.cl */
typedef struct {
  int n_columns, n_views, nx, ny;
  float x0, y0, step; /* the region: TdBackprojectTask */
  unsigned sinogram_low, sinogram_high, slice_low, slice_high; /* first elements, 64 bits in two */
} TdStandardParams;

/* check-host.cl */
#define TD_CHECK_LOCAL_X 5
#define TD_CHECK_LOCAL_Y 3

typedef struct {
  float a, b;
} TdCheckParams;

/* kernels/backproject-host.cl */
typedef struct {
  int n_columns, all_views;    /* of a sinogram */
  int first_view, n_views;     /* the views whose bins are there */
  int view_stride;             /* of the interleaved bins, floats */
  int nx, ny, n_slices;
  int tiles_x, first_tile;
  int add, wide_window;
  unsigned sinogram_low, sinogram_high, slice_low, slice_high; /* first elements, 64 bits in two */
} TdTileParams;
/* filter.cl */
typedef struct {
  int n_columns, padded;
  int n_rows;                    /* of this chunk */
  int extend_edges;
  unsigned first_low, first_high; /* the chunk's first element, 64 bits in two */
} TdFilterParams;
