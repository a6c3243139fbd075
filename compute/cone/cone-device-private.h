/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cone-family.h"

/* A projector of the families that run on devices: textures (kernels/backproject-cone.cl), columns
   of voxels (kernels/cone-columns.cl) or a voxel a thread. */
typedef enum {
  TD_CONE_WAY_GENERAL, /* one voxel a work-item, any geometry */
  TD_CONE_WAY_TEXTURE, /* upright, hardware filtering */
  TD_CONE_WAY_COLUMNS, /* upright, arithmetic, 32 work-items along z */
  TD_CONE_WAY_THIN,    /* upright, arithmetic, for few slices: work-items along x */
} TdConeWay;

/* How a group's work-items lie and what each holds. */
typedef struct {
  guint voxels;           /* along z in a work-item */
  guint x_lanes, z_lanes; /* neighbours along x and, fastest, along z */
  guint group;            /* work-items */
  guint resident;         /* groups that a multiprocessor should hold */
  guint layers; /* a launch: what they read should stay in the cache for the next groups */
} TdConeShape;

typedef struct {
  TdConeProjector base;
  TdConeTask task;
  TdConeLimits limits;
  TdConeWay way;
  TdConeShape shape;
  guint pack;        /* views a texel */
  gboolean textures; /* GENERAL by texture fetches; always with TEXTURE */
  gboolean half;
  guint line; /* COLUMNS: texels of a line in local memory, evens and odds alike */
  TdProgram *program, *pack_program;
  TdKernel *kernel, *pack_kernel;
  TdBuffer *matrices; /* float [max_views / pack][3][4] */
  TdBuffer *staging;  /* packed texels, or padded projections */
  TdTexture *texture;
  guint texture_rows;
  /* Pinned, what matrices is filled from, in turns; the event passes when the queue has read it. */
  struct {
    float *floats;
    TdEvent *read;
  } tables[2];
  guint next_table;
} TdConeDeviceProjector;

#define TD_CONE_MATRIX_FLOATS 12
#define TD_CONE_LANES 32           /* COLUMNS: work-items along z, … */
#define TD_CONE_COLUMNS 8          /* … columns a group … */
#define TD_CONE_COLUMNS_RESIDENT 4 /* … and groups at once; all as in kernels/cone-columns.cl */

TdTexel td_cone_texel (guint pack, gboolean half);

/* TdConeFamily.add */
gboolean td_cone_device_add (TdConeProjector *base, TdQueue *queue, TdBuffer *projections,
                             guint row0, guint n_rows, const guint *views, guint n_views,
                             TdBuffer *volume, guint slice0, guint n_slices,
                             GCancellable *cancellable, GError **error);
