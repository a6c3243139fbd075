/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/axis/axis-line.h"
#include "compute/prepare/prepare.h"
#include "dataset/scan-view.h"
#include "method.h"
#include "plan.h"

/* A plan as the planner and the methods see it. */
struct TdPlan {
  gatomicrefcount references;
  TdPlanFacts facts;
  TdRecipe asked;    /* as it was given */
  TdRecipe recipe;   /* with what was "auto" made concrete as the plan is filled */
  TdScan *measured;  /* as opened, with the recipe's mask */
  TdScan *scan;      /* what the method reconstructs: `measured`, or what the recipe's crop and bins
                        show of it */
  TdScanFrame frame; /* from the one to the other */
  TdViewGroup views; /* of `scan`: those that are added; count and parts never 0 */
  guint gathered;    /* the part's; 0: rows are filtered as slabs want them */
  guint gathered_parts; /* the part's; at least 1 */
  guint least_slabs;    /* the part's */
  gboolean copied;      /* all is read before the first slab, which then waits in a copy */
  gboolean is_part;     /* td_plan_new_part(): slices come from the first to the last */
  gboolean logs_counts; /* the logarithm is taken of what no flat field was divided out of */
  guint part_slice;     /* the part's first one, of the recipe's, which are … */
  guint part_of;        /* … so many; 0: it has them all */
  double centre_px;     /* recipe.centre_px in columns of `scan` */
  TdEngine *engine;
  GPtrArray *devices; /* TdDevice */
  const TdMethod *method;
  double updates_per_s; /* that earlier jobs reached so; 0: none did */
  char *output;         /* NULL: preview */
  gpointer extra;       /* the method's own */
  GDestroyNotify free_extra;
};

/* Storage's rates are taken of work that lasted as long, where there is any. */
#define TD_RATE_LEAST_S 0.05

/* ── What plan.c offers to the methods while they fill a plan ── */

void td_plan_note (TdPlan *plan, const char *id, ...) G_GNUC_PRINTF (2, 3);
/* That nothing else than kernel @family does what was asked for, where @bound is above the
 * accuracy.
 */
TdMessage *td_plan_inexact (const TdPlan *plan, const char *family, double bound);
/* Notes it. */
void td_plan_note_inexact (TdPlan *plan, const char *family, double bound);
/* The recipe's region, first pixel and size, of slices of nx × ny pixels: all of them if it has
   none. FALSE: it does not lie within them. */
gboolean td_plan_region (const TdPlan *plan, guint nx, guint ny, guint region[4], GError **error);
/* Geometry that cannot be is the scan's fault (TD_ERROR_BAD_FILE). Where the recipe moves the axis
   or leaves views or pixels out, it is what was asked for. Returns FALSE. */
gboolean td_plan_blame_recipe (const TdPlan *plan, GError **error);
/* Bytes of the files read for @n_rows rows of plan->scan, all views. */
guint64 td_plan_read_bytes (const TdPlan *plan, guint n_rows);
/* Of the samples of the volume whose size the facts have. */
guint64 td_plan_volume_bytes (const TdPlan *plan);
/* The host with the plan's account, whether or not it is one of the plan's devices. (transfer full)
 */
TdDevice *td_plan_host (const TdPlan *plan, GError **error);
/* Host memory the job may take: the recipe's limit, else most of what is free. */
guint64 td_plan_host_budget (const TdPlan *plan);
/* What to do where not even one slice fits, by the limit that holds on @device (NULL: for all that
   the host keeps). Without a limit, none can be raised. Static, to be translated. */
const char *td_plan_remedy (const TdPlan *plan, TdDevice *device);
#define TD_PLAN_NO_LIMIT N_ ("take a smaller {region} or another {device}")
/* Memory of a process that no plan counts: threads' stacks, FFT plans, the readers' and writers'
   own buffers. Each CPU device that has a run-time compiler adds as much. */
guint64 td_plan_own_bytes (GPtrArray *devices);
/* Besides, what two overlapping reads of the scan hold to unpack its storage. */
guint64 td_plan_unpack_bytes (const TdPlan *plan);
/* Seconds, by the rate given and the storages' @times; 0: not known. After what is read first,
   reading, computing and writing overlap: the longest of them, and the others' for one slab. 0
   slabs: rates of storage that are not known are left out. */
double td_plan_estimate (const TdPlan *plan, const TdPlanTimes *times, double updates_per_s,
                         guint n_slabs);
/* The plan's rate that earlier jobs reached, by @key, with @work of about that size; and its
   estimate. Rates of storage that are not known are left out. */
void td_plan_take_rate (TdPlan *plan, const char *key, double work);
/* Remembers a storage's rate: @bytes took @seconds. A time too short to tell a rate is remembered
   only where there is no better one. */
void td_plan_keep_rate (const TdPlan *plan, const char *key, guint64 bytes, double seconds);
/* The storages' rates are kept by what is moved and the file system that it lies on. (transfer
   full) */
char *td_plan_read_key (const TdPlan *plan);
char *td_plan_write_key (const TdPlan *plan);
char *td_plan_copy_key (const TdPlan *plan); /* reading TdPlan.copied's copy */

/* The recipe's axis in columns and rows of plan->scan. */
TdAxisLine td_plan_axis (const TdPlan *plan);
