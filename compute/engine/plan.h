/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "engine.h"
#include "compute/recipe/recipe.h"
#include "dataset/scan.h"
#include "dataset/volume.h"

/**
 * TdPlan: scan + recipe + devices -> slabs, passes, buffers, bytes, time. The plan is made before
 * anything runs, and it answers "will it fit, how long". It refuses what cannot work: every limit
 * (texture width, layers, 2^31 elements, memory) is checked here, in 64 bits.
 */
typedef struct TdPlan TdPlan;

/* One way to make the slices. */
typedef struct {
  const char *method, *family; /* family: on the first device */
  TdPrecision precision;
  double error_bound; /* relative L2, of the double-precision truth of the way's own formula */
  double cost;        /* of computing, by a model; the way that is taken: 1 */
  double estimate_s;  /* of the whole job; 0: not known yet on this machine */
} TdPlanWay;
#define TD_PLAN_MOST_WAYS 5

typedef struct {
  const char *method;          /* "fbp", "fdk", "fourier" */
  const char *family;          /* back-projection family chosen for the first device */
  TdPrecision precision;       /* that it computes in, which may be more exact than asked for */
  guint nx, ny;                /* of every slice */
  gboolean half_acquisition;   /* slices show the wide field, put together from both sides */
  guint first_slice, n_slices; /* rows reconstructed, counted as the crop and bins leave them */
  guint first_row, slice_rows; /* measured rows: the first slice's first, and how many make one;
                                  cone beam: slices of the volume, and 1 */
  guint n_columns, n_rows, n_views; /* as the recipe's crop, bins and views leave the scan */
  guint slab_slices;                /* slices a slab */
  gboolean sent_once; /* FDK: a device keeps the rows that it was sent for its next slabs */
  guint sent_bits;    /* of a sample on its way to the devices: as stored, or 32; 0: not
                         said by the method */
  guint n_slabs;
  gboolean bands;        /* FDK: rows of a slab's voxels may be computed one band after the other */
  guint symmetric_views; /* that kernels add together, so that views are not added in their order;
                            1: they are */
  double centre_px;      /* at the middle row; found or given */
  /* What a search for it says. */
  gboolean axis_searched, axis_agreed;
  double axis_sigma_px;
  double pixel_mm; /* 0: unknown */
  double scale;    /* 1/mm or 1/px, see units */
  const char *units;
  guint64 read_bytes;
  guint64 write_bytes;  /* of the whole volume, also where none is written */
  guint64 host_bytes;   /* peak of host memory the job itself takes */
  guint64 device_bytes; /* peak on each device */
  double updates;       /* n_slices * nx * ny * n_views */
  double estimate_s;    /* 0: not known yet on this machine */
  /* Filtered: the way that is taken, then the others that the recipe leaves open, exact enough or
     not; 0: the method iterates */
  TdPlanWay ways[TD_PLAN_MOST_WAYS];
  guint n_ways;
  char **devices;    /* ids, NULL-terminated */
  TdMessage **notes; /* what the scan's reader noted; what was chosen and why */
} TdPlanFacts;

/* Some of a scan's views: [first, first + count); count 0: all. With @parts > 1 equal numbers of
   views come from so many parts of the scan. So views a part of a turn apart come together. Those
   of the first part begin with @first. @parts divides the scan's views and @count. */
typedef struct {
  guint first, count, parts;
} TdViewGroup;

/* What one of several processes does of a volume. */
typedef struct {
  TdViewGroup views;           /* as the recipe's views, crop and bins leave them */
  guint first_slice, n_slices; /* of the recipe's; n_slices 0: all */
  /* Processes filter views for each other (TdJobGathered): so many at once, an even number, since
     two lines go through one transform. 0: each filters what its slices see. */
  guint gathered;
  /* They come in turn from so many parts of the views. So kernels that add views a part of a turn
     apart need not wait for all. It divides the views, and `gathered` a part. 0, 1: one after
     another. */
  guint gathered_parts;
  /* So many slabs at least, unless they would be too thin: processes take turns with each. */
  guint least_slabs;
} TdPlanPart;

/* The plan references @scan and copies @recipe. The call blocks: it opens devices, and finds the
   centre when the recipe says so. Any thread. */
TdPlan *td_plan_new (TdEngine *engine, TdScan *scan, const TdRecipe *recipe, const char *output,
                     GCancellable *cancellable, GError **error);
/* One part of a volume that several processes share: some of the recipe's slices, summed over some
   of its views. A voxel lies where it lies in the whole volume, and a view has the weight that it
   has in the whole scan. So the sums of all groups add up to the slices of td_plan_new(). The job
   hands them to its sink from the first slice to the last, float [slice][y][x]; it scales and
   writes nothing. Some of the views: FDK only. TD_ERROR_UNSUPPORTED: another method, or a
   preparation step that needs all views of a row. */
TdPlan *td_plan_new_part (TdEngine *engine, TdScan *scan, const TdRecipe *recipe,
                          const TdPlanPart *part, GCancellable *cancellable, GError **error);
const TdPlanFacts *td_plan_facts (const TdPlan *plan);

/* Seconds of each stage of a plan alone, by rates that jobs on this machine reached; the stages
   overlap. NAN: no job has shown it, "not known yet". */
typedef struct {
  double read, compute, write;
  double first; /* of the reading: before the first slab, so that nothing overlaps it */
} TdPlanTimes;

/* Any thread. */
void td_plan_times (const TdPlan *plan, TdPlanTimes *times);
/* The volume that comes out, without its path and the values of the samples' range. */
TdVolumeSpec td_plan_volume (const TdPlan *plan);
const TdRecipe *td_plan_recipe (const TdPlan *plan); /* with everything "auto" made concrete */
char *td_plan_to_json (const TdPlan *plan);
TdPlan *td_plan_ref (TdPlan *plan);
void td_plan_unref (TdPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdPlan, td_plan_unref)
