/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* Structures shared by host code and kernels, passed by value: only 4-byte int, unsigned and float
   members, so that every compiler lays them out alike. Included by C and, as text, by every
   dialect. */

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
  int add;
  float step; /* columns a pixel */
  unsigned sinogram_low, sinogram_high, slice_low, slice_high; /* first elements, 64 bits in two */
} TdTileParams;
/* filter.cl */
typedef struct {
  int n_columns, padded;
  int n_rows;                    /* of this chunk */
  int extend_edges;
  unsigned first_low, first_high; /* the chunk's first element, 64 bits in two */
  /* columns of a filtered row; where a row's first column comes to */
  int n_wide, shift;
  unsigned wide_low, wide_high;  /* the chunk's first filtered element */
  int n_views;                   /* rows of one sinogram; 0: no blending */
  /* the chunk's first row, counted from the first sinogram's first */
  int row0;
  float centre, centre_step;     /* of the first sinogram, in columns; from one to the next */
} TdFilterParams;

/* kernels/cone-weight.cl, backproject-cone.cl, cone-pack.cl */
typedef struct {
  int n_columns, n_views, n_rows; /* of the slab */
  int row0;                       /* detector row of its first */
  float u_middle, v_middle;       /* the pixel the forms are centred on */
  /* by row: Wang's strip in radians, and the longer side; 0: Parker's */
  float overlap, side;
  float overscan;                 /* by row: Parker's, radians */
} TdConeWeight;

/* kernels/cone-rectify.cl */
typedef struct {
  int n_columns, n_views, n_rows; /* made */
  int row0;                       /* the rectified detector's row of their first */
  int from_columns, from_rows;    /* read */
  int from_row0;                  /* the detector's row of their first */
  int form_stride;                /* floats from view to view; 0: one form for all */
  int columns;                    /* that a work-item makes */
  float u_middle, v_middle;       /* of the rectified detector */
  float from_u, from_v;           /* of the whole detector */
} TdConeRectifyRows;

typedef struct {
  int nx, ny, n_slices;       /* of the slab of the volume */
  int slice0;
  /* voxels computed by threads: all, or those whose turned copies cover all */
  int x_count, y_count;
  int n_layers;               /* views, or sets of turned views */
  int n_columns, n_rows, row0; /* of the projections given; the detector's row of their first */
  /* arithmetic: floats from row to row and view to view, with the pads */
  int pitch, view_stride;
  float x_first, y_first, z_first; /* first voxel, in voxels from the axis; y and z fall */
  float u_middle, v_middle;   /* the detector pixel matrices count from, as the kernel counts */
} TdConeProject;

typedef struct {
  int n_columns, n_rows, n_layers;
  int n_views_between;        /* texel channels are views that far apart */
  int texel_rows;             /* of the texture: those beyond n_rows become zeros */
  int pitch, view_stride;     /* of the padded target; 0: texels, packed */
  float scale;                /* half storage: values are kept times this power of two */
} TdConePack;

/* kernels/rows-gather.cl */
typedef struct {
  int n_columns, n_views; /* of the rows given */
  int from_row, n_rows;   /* those taken */
  int to_row, to_rows;    /* where the first goes, and how many rows each view has there */
  int n_places;           /* views taken: sets of in_turn consecutive ones, views_a_turn apart */
  int first_view, in_turn, views_a_turn;
} TdRowsGather;

/* kernels/backproject-alu.cl and its like. One view: the position on the detector of a region's
   pixel is at + x right + y down, in columns, y in rows down. The pairs are whole columns and the
   rest in units of 2^-32. */
typedef struct {
  int at_int;
  unsigned at_frac;
  int right_int;
  unsigned right_frac;
  int down_int;
  unsigned down_frac;
  float right, down; /* the same, rounded */
  float weight;
  int view;      /* row of the sinogram; -1: none, a row of zeros */
  int direction; /* 1; -1: mirrored, positions count columns from the last one back */
  int unused;
} TdBackprojectView;

typedef struct {
  int n_columns, n_views; /* of a sinogram */
  int n_first, n_table;   /* table entries: those with rising positions down the rows, all */
  int margin, pitch;      /* packed sinograms: zero bins before the first column; bins a row */
  int nx, ny, n_slices;
  int bias; /* TD_BACKPROJECT_BIAS */
  float scale;
} TdBackprojectParams;

/* 2^23 as a float's bits: what the kernels' bin indices count from. A parameter, because a compiler
   that knows it spends an instruction on it for every address. */
#define TD_BACKPROJECT_BIAS 0x4B000000

/* kernels/backproject-hybrid.cl: more than any device has multiprocessors */
#define TD_COUNTERS 1024

/* kernels/rings-*.cl: columns that an item on a CPU takes beside each other, those that it sorts
   beside each other, and the widest median. */
#define TD_CPU_LANES 32
#define TD_SORT_LANES 16
#define TD_RINGS_FOUND 5 /* profiles of what columns show */
#define TD_RINGS_MAX_MEDIAN 201

/* For kernels/rings-shade.cl: lines through the axis, and columns from one knot to the next. The
   number of knots is rounded up to TD_SHADE_TILE. An item on a GPU takes TD_SHADE_TAKEN knots, a
   divisor of that. */
#define TD_SHADE_DIRECTIONS 48
#define TD_SHADE_KNOTS 8
#define TD_SHADE_TILE 8
#define TD_SHADE_TAKEN 4

typedef struct {
  int n_columns, n_bins, bin_rows; /* rows that hold the bins: an even number */
  int per_half;                    /* bins of half a turn */
  int n_knots, padded;
  int spacing, lag;  /* columns from place to place; places from a slope's one end to its other */
  int max_places;    /* of any row: from one to the next in memory */
  float slope_scale; /* pi / n_bins */
} TdShadeParams;

/* A row that has shade. */
typedef struct {
  int reach, n_places, n_slopes; /* places to either side of the axis; all; slopes between them */
  int like;                      /* the first slot with the same places */
  float axis;
} TdShadeRow;

/* kernels/rays-*.cl, total-variation.cl: iterative reconstruction. Numbers of a view, and rays or
   voxels that an item on a CPU takes beside each other. */
#define TD_RAY_FLOATS 28
#define TD_RAY_LANES 16
#define TD_RAY_BACK_LANES 128
/* A group's items at most, and where items share something: along z, and pairs along x. */
#define TD_RAY_GROUP 128
#define TD_RAY_SHARED_X 32
#define TD_RAY_SHARED_Y 4

/* What becomes of a back-projection's sums: they are the volume, they move it by the weighted
   mean, or they are added to it. In the last case the weights may be added to another volume. */
#define TD_RAY_SUM 0
#define TD_RAY_CORRECT 1
#define TD_RAY_ADD 2
#define TD_RAY_ADD_BOTH 3

typedef struct {
  int nx, ny, nz;                  /* voxels of the volume */
  int base, stride_x, stride_y;    /* where the first is, borders before it; from one to the next */
  int n_columns, n_rows;           /* of a projection */
  int first_view, n_views;         /* of the table; places count from the first */
  int held_view;                   /* of the table: the first that @measured has */
  int axes;                        /* bit a: some ray is steepest along axis a */
  int first, end;                  /* columns, or y, of this launch */
  int compare, non_negative;       /* rays_project: differences; back: TD_RAY_SUM, … */
  int more_y;                      /* total variation: rows go on behind the last */
  int z_step, row_step;            /* rays-upright.cl: between an item's voxels, and its rows */
  int bands;                       /* of the rows that items of rays-upright.cl take together */
  float u_middle, v_middle, voxel_mm, relaxation;
} TdRays;

typedef struct {
  int n_columns, n_views;          /* of the rows given */
  int from_row, n_taken;
  int to_row, n_rows;              /* where the first goes, and how many each column has */
} TdRayRows;

typedef struct {
  int x0, y0, z0, nx, ny, nz;
} TdRayPart;

typedef struct {
  int first, end, length; /* lines of this launch; of each */
  int lines, groups;      /* rays_sums_across(): all lines, and how many groups they are in */
} TdRayLines;

/* kernels/fourier.cl: sizes of groups; of those that gather a point together. */
#define TD_FOURIER_SHARE 128
#define TD_FOURIER_GROUP_X 8
#define TD_FOURIER_GROUP_Y 16

typedef struct {
  int n_columns, n_views, padded, n_slices;
  int nx, ny, gx, gy, centre_x, centre_y; /* of the region and the grid */
  unsigned from_low, from_high, to_low, to_high; /* first elements, 64 bits in two */
  int n_bins;                   /* of half a turn */
  /* points to either side of the grid's, along x and y, that groups gather */
  int middle;
  float half_width, inverse_half; /* of the window, points */
  float per_x, per_y;           /* frequencies a point */
  float reach;                  /* of a window, frequencies */
  float window0, window1, window2, window3, window4, window5, window6, window7, window8, window9;
} TdFourierParams;

/* One view, in the order of directions. */
typedef struct {
  int view;       /* row of the sinogram */
  unsigned turns; /* that a frequency adds, in 2^-32 */
  float weight;
  int unused;
} TdFourierTurn;

/* kernels/stored-samples.cl */
typedef struct {
  unsigned from_low, from_high;   /* where the values begin, 64 bits in two */
  unsigned first_low, first_high; /* of these, and of the samples: this launch's first */
  int n;                          /* of this launch */
  int counter;                    /* the first of this launch's two */
  int items, a_group;             /* of a group; values that it takes */
} TdStoredParams;

/* kernels/raw-samples.cl */
typedef struct {
  unsigned first_low, first_high; /* of this launch, 64 bits in two */
  int n;                          /* of this launch */
  int items, a_group;             /* of a group; samples that it takes */
} TdRawParams;
