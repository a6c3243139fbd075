/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/plan.h"
#include "job-file.h"

/**
 * How long a cluster takes, stage by stage: iFDK, section 4.2, Equations 7 to 19. The modes that
 * the paper does not have add terms of their own. A stage of N units takes c + m N seconds. Pure;
 * any thread.
 */
typedef struct {
  double c, m; /* seconds; seconds a unit */
} TdModelCost;

/* A machine of equal nodes, with a rank for each device. */
typedef struct {
  guint nodes, ranks;  /* ranks of a node: its devices */
  guint links;         /* of a node, between its devices and its memory (N_PCIe) */
  double memory_bytes; /* of a device */
  TdModelCost load;    /* a byte from storage, by all ranks together (BW_load) */
  TdModelCost filter;  /* a byte of projections, by one rank (TH_flt) */
  TdModelCost copy;    /* a byte between ranks of a node, by all of them together */
  TdModelCost network; /* a byte into a node */
  TdModelCost update;  /* a voxel of a view, by one device (TH_bp) */
  TdModelCost group; /* the same where groups of views follow each other, and the kernel is another;
                        m = 0: as update */
  double column;     /* voxels that a view's column of voxels costs besides its own */
  TdModelCost link;  /* a byte through a link (BW_PCIe) */
  TdModelCost reduce; /* a byte of a rank's sub-volume, exchanged and added (TH_reduce) */
  TdModelCost store;  /* a byte to one file, by all ranks together (BW_store) */
  TdModelCost stack;  /* c a file, m a byte, by all ranks together, of a file for each slice; m = 0:
                         as store */
  TdModelCost added;  /* the same of slices that several ranks add up; m = 0: as stack */
  double overlap;     /* of the stages before the longest one, the part that is not hidden */
  double start_s;     /* until the pipeline runs: threads, buffers, the first batch; */
  double widening_s;  /* and what each column of the detector adds to that */
  double queue_s;     /* the scheduler's wait */
  /* Not 0: devices are the processors that read, filter and exchange, too. Then threads wait for
     each other's turns, and of the stages only the back-projection can be predicted. */
  double shared;
  double apart; /* not 0: with TD_CLUSTER_IFDK a sub-volume is fetched, added and stored in turn */
} TdModelMachine;

/* A preset or a list of words, each "KEY:VALUE", which later words change: "nodes:4 gpu:8
   store:10G". Presets: "abci" (iFDK's, section 5.1), "h100". Costs are rates with k, M, G or T, or
   "SECONDS+RATE". A file's path is read as such words, one a line. */
gboolean td_model_machine_parse (TdModelMachine *machine, const char *text, GError **error);
/* What td_model_machine_parse() takes for it. (transfer full) */
char *td_model_machine_words (const TdModelMachine *machine);
/* One line a cost, as c + m N. (transfer full) */
char *td_model_machine_describe (const TdModelMachine *machine);

/* N_u, N_v, N_p and N_x, N_y, N_z. */
typedef struct {
  guint n_columns, n_rows, n_views;
  guint nx, ny, nz;
  guint sample_bytes, voxel_bytes; /* as they are stored */
  guint slab_slices;               /* that a rank back-projects at once; 0: all of its sub-volume */
  guint together;                  /* views that a kernel adds together, a part of a turn apart */
  gboolean sent_once;              /* a device keeps the rows that it was sent for its next slabs */
  gboolean stack;                  /* a file for each slice is written */
  double fan; /* half the volume's width over the source's distance; 0: parallel beams */
} TdModelProblem;

/* What the plan of a whole volume asks of a cluster. */
TdModelProblem td_model_problem (const TdScanFacts *scan, const TdPlanFacts *plan,
                                 const TdRecipe *recipe);

/* Seconds. Stages overlap; "fill" is what comes before the first slab and after the last. */
typedef struct {
  double load, filter, gather, back_project, upload, download, reduce, store, fill;
  double compute;    /* Equation 17 */
  double total;      /* Equation 19, and the queue's wait */
  const char *bound; /* the longest stage, static */
} TdModelTimes;

/* A grid of @rows x @columns ranks, which need not be all of the machine's. */
void td_model_predict (const TdModelMachine *machine, const TdModelProblem *problem,
                       TdClusterMode mode, guint rows, guint columns, TdModelTimes *times);
/* Whether groups of views of so many columns follow each other in the scan, each a part of the
   turn. Else each has views of all parts, which a kernel adds together (td_grid_views()). */
gboolean td_model_groups_follow (const TdModelProblem *problem, guint columns);
/* What each stage of a job has to do, in the units of the machine's costs, and no seconds. */
void td_model_units (const TdModelMachine *machine, const TdModelProblem *problem,
                     TdClusterMode mode, guint rows, guint columns, TdModelTimes *units);

typedef struct {
  guint rows, columns;
  TdModelTimes times;
} TdModelGrid;

/* Every grid of all ranks that can do the problem, the fastest first. With TD_CLUSTER_IFDK a
   sub-volume fits half of a device's memory, and all of it with a batch of 32 views. These are
   Equation 7 and the condition after it. (transfer full) */
GArray *td_model_grids (const TdModelMachine *machine, const TdModelProblem *problem,
                        TdClusterMode mode);

/* Lines c + m N through what was timed. Pure; any thread. */

/* Seconds, above 0, that something of @n units took. */
typedef struct {
  double n, seconds;
} TdLineSample;

/* The line of the least relative errors, without samples that something else disturbed; c is not
   negative. @n > 0. @samples lose their order. */
TdModelCost td_line_through (TdLineSample *samples, guint n);
/* Sorts @values; @n > 0. */
double td_line_median (double *values, guint n);
