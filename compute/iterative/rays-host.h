/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/device/host.h"
#include "rays-private.h"

/**
 * Between rays-host.c and the code compiled for each instruction set (rays-host-isa.c): the
 * sums of kernels/rays-project.cl and rays-back.cl for upright views, shaped for vectors along
 * z. The rays of one detector column lie in one upright plane. At every plane of voxels they
 * pass between the same two lines of voxels along z, evenly spaced.
 */
#define TD_RAY_HOST_TILE 8     /* lines of voxels a tile is wide and deep */
#define TD_RAY_HOST_VECTORS 4  /* of rows, or of voxels along z, worked on at once */
#define TD_RAY_HOST_COLUMNS 16 /* projected one after another: they see nearly the same lines */
#define TD_RAY_HOST_REACH 64.0 /* rows that a voxel may see at most; the kernels do the rest */

typedef struct {
  TdRays p;
  const double *views; /* TD_RAY_FLOATS of each place of the table */
  double reach;        /* rows a voxel, over all views */
  float *volume, *lines;
  float *weights;        /* TD_RAY_ADD_BOTH */
  const float *measured; /* [place of the table][column][row] */
  float *squares;
} TdRayHostWork;

typedef struct {
  guint rows; /* TD_RAY_HOST_VECTORS vectors */
  /* Rows [row, row + rows) of columns [column, end) of place @place, counted from p.first_view. */
  void (*project) (const TdRayHostWork *work, guint place, guint column, guint end, guint row);
  /* Voxels from (x, y, z) on: a tile of rows slices. */
  void (*back) (const TdRayHostWork *work, guint x, guint y, guint z);
} TdRayHostFuncs;

extern const TdRayHostFuncs td_ray_host_funcs_plain, td_ray_host_funcs_avx2,
    td_ray_host_funcs_avx512;

/* One detector column's plane: where its rays pass planes of voxels i along the axis a that they
   are steepest against. */
typedef struct {
  gboolean along_x; /* a is x, b is y; else the other way round */
  gint n_a, n_b;
  gssize stride_a, stride_b;
  double b, b_step; /* at b + i b_step */
  double z, z_step; /* the ray of row v_middle + v at z + i z_step + v (row + i row_step) */
  double row, row_step;
  double
      scale; /* a ray's length from plane to plane: scale sqrt (level + (slope + v slope_row)^2) */
  double level, slope, slope_row;
} TdRayPlane;

static inline void
td_ray_plane (const TdRayHostWork *work, guint place, guint column, TdRayPlane *plane)
{
  const TdRays *p = &work->p;
  const double *view = work->views + (gsize) (p->first_view + place) * TD_RAY_FLOATS;
  const double u = (double) column - p->u_middle, turn = view[24];
  const double dx = view[21] + turn * u * view[15], dy = view[22] + turn * u * view[16];
  const double x = view[12] + u * view[15], y = view[13] + u * view[16];
  const gboolean along_x = (dx < 0 ? -dx : dx) >= (dy < 0 ? -dy : dy);
  const double inverse = 1 / (along_x ? dx : dy), a = (along_x ? x : y) * inverse;

  plane->along_x = along_x;
  plane->n_a = along_x ? p->nx : p->ny;
  plane->n_b = along_x ? p->ny : p->nx;
  plane->stride_a = along_x ? p->stride_x : p->stride_y;
  plane->stride_b = along_x ? p->stride_y : p->stride_x;
  plane->b_step = (along_x ? dy : dx) * inverse;
  plane->b = (along_x ? y : x) - a * (along_x ? dy : dx);
  plane->slope = view[23] + turn * u * view[17];
  plane->slope_row = turn * view[20];
  plane->z_step = inverse * plane->slope;
  plane->z = view[14] + u * view[17] - a * plane->slope;
  plane->row_step = inverse * plane->slope_row;
  plane->row = view[20] - a * plane->slope_row;
  plane->scale = p->voxel_mm * (inverse < 0 ? -inverse : inverse);
  plane->level = dx * dx + dy * dy;
}

/* What a projector on a device whose memory is the host's does: projects, or back-projects. Blocks.
 */
gboolean td_rays_host_run (const TdRayHostWork *work, gboolean back, GCancellable *cancellable,
                           GError **error);
/* The most rows a voxel sees, over all columns of @n_places views. */
double td_rays_host_reach (const TdRayHostWork *work, guint n_places);
