/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/params.h"
#include "rays.h"

/* How rays-view.c tells a view to the kernels: TD_RAY_FLOATS numbers (kernels/rays-common.h). */
void td_rays_view (const TdConeTask *task, guint view, double out[TD_RAY_FLOATS]);
/* Bits of the axes that some ray is steepest along, over all views. */
int td_rays_axes (const TdConeTask *task);

/* Floats behind a volume that vectors may read, and do not use. */
#define TD_RAY_AHEAD 40

struct TdRayProjector {
  TdDevice *device;
  TdQueue *queue;
  GCancellable *cancellable; /* asked between launches; may be NULL */
  TdConeTask task;
  guint lanes;
  gboolean upright;
  gboolean on_host; /* the pair is rays-host.h's */
  gboolean tiled;   /* the pair is kernels/rays-upright.cl's … */
  gboolean shares;  /* … whose neighbours along z share columns' passes */
  TdRays params;    /* of any launch */
  TdBuffer *table;  /* [place][TD_RAY_FLOATS] */
  double *views;    /* the table in double precision */
  double reach;     /* on_host: rows that a voxel sees */
  TdBuffer *places; /* int [view] */
  TdKernel *project, *back, *take, *give, *put, *apply, *differ, *sums, *combine, *beyond, *move,
      *climb;
  TdKernel *weigh, *back_weighed; /* tiled */
  TdKernel *back_few;             /* … of few views; NULL: as back_weighed */
  TdBuffer *weighed;              /* lines times their rays' lengths, when first wanted … */
  guint scratch_views;            /* … of so many views */
  TdBuffer *sums_device;          /* two for each of n_sums lines */
  float *sums_host;
  guint64 n_sums;
  TdEvent *summed; /* when they have come down, summed_lines of them; NULL: none were asked for */
  guint summed_lines;
  /* How fast it goes: operations a second, those enqueued since the queue was last empty, and when.
   */
  double rate, pending;
  gint64 since_us;
};

/* On how many columns of a view two voxels beside two others may lie: as rays_columns() of
   kernels/rays-upright.cl, where the magnification is largest. Reads the task, views and middle. */
double td_rays_most_columns (const TdRayProjector *rays);

/* One launch of many: parts [first, end) of what the operation is cut along. */
typedef gboolean (*TdRayLaunch) (TdRayProjector *rays, guint first, guint end, gpointer user,
                                 GError **error);
/* An operation in parts. */
typedef struct {
  guint n;     /* parts */
  double each; /* operations of one */
  TdRayLaunch launch;
  gpointer user;
} TdRayPace;
/* Cuts it into launches (rays-pace.c). */
gboolean td_rays_pace (TdRayProjector *rays, const TdRayPace *pace, GError **error);

/* An operation whose launches differ by nothing but their bounds. */
typedef struct {
  TdKernel *kernel;
  const TdArg *args;
  guint n_args;
  int *first, *end; /* of the parameters, which are TD_RAY_PARAMS () of the arguments */
  guint n;          /* parts */
  guint cut;        /* the axis of the work-items along which the parts lie */
  guint items[3];   /* work-items of one part */
  double each;      /* operations of one */
} TdRayRun;
/* An argument whose value is read at each launch. */
#define TD_RAY_PARAMS(params)                                                                      \
  {                                                                                                \
    .kind = TD_ARG_VALUE, .size = sizeof (params), .value = &(params)                              \
  }
gboolean td_rays_run (TdRayProjector *rays, const TdRayRun *run, GError **error);
/* So many work-items; those along x are neighbours in memory. */
gboolean td_rays_launch (TdRayProjector *rays, TdKernel *kernel, const guint items[3],
                         const TdArg *args, guint n_args, GError **error);
