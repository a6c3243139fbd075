/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/iterative/solver.h"
#include "compute/engine/cone-frames.h"
#include "compute/engine/plan-private.h"

/**
 * Iterative methods as jobs. They correct the whole volume by all of its projections. The wanted
 * part of the volume (rows, region) is cut out at the end. Volume and projections lie in the memory
 * of one device if that holds them. If it does not, or if there are several devices, the
 * projections stay with the host. Each device then has some rows of the volume
 * (compute/iterative/ray-group.h). A cone beam's volume is always computed as a whole. A parallel
 * beam's slices know nothing of each other, and go in slabs if they must.
 */

/* Where iterations begin (recipe.start). */
typedef enum { TD_ITERATIVE_ZERO, TD_ITERATIVE_FILTERED, TD_ITERATIVE_FILE } TdIterativeStart;

/* Who has which rows y of the volume. */
typedef struct {
  TdGroupMember *members; /* devices are not referenced */
  guint n;
  guint batch_views;     /* 0: everything is on the one device */
  gboolean in_file;      /* what was measured is in a file (compute/iterative/ray-store.h) */
  gboolean keep_weights; /* TdSolverSettings' */
} TdIterativeCut;

typedef struct {
  TdScan *scan;      /* the plan's; with frames turned, if a cone's detector lies on its side */
  gboolean turned;   /* the latter */
  TdConeSpool spool; /* where such frames wait */
  TdConeTask task;   /* of one slab; the last may be smaller: td_iterative_task() */
  TdSolverSettings settings;
  gboolean slabs;     /* parallel beam: task is of rows from row0 on, else of the whole detector */
  guint row0, n_rows; /* detector rows that are read; slabs: those asked for */
  guint slab_rows, n_slabs;
  guint halo;              /* rows around them that preparation wants */
  guint chunk_rows;        /* prepared at once, without halo */
  guint64 portion_bytes;   /* of slices put in or given out at once, unless one has more */
  guint first[3], size[3]; /* what is delivered, x, y, z of the volume; slabs: z of all */
  double *angles_rad;      /* parallel */
  double centre_px, tilt;  /* parallel: at the middle of the plan's rows; columns a row */
  TdIterativeStart start;
  gboolean start_in_file; /* the filtered volume waits there, not in memory */
  guint64 filtered_bytes; /* of the host's memory, that filtering takes */
  guint64 filtered_reads; /* bytes of the scan, for filtering */
  gboolean reads_once;    /* filtering and iterations read a copy in memory … */
  TdRowRange copied;      /* … of these rows of what was measured */
  TdIterativeCut cut;
  TdDevice *host; /* for the projections of groups, and where nobody else is left */
  gboolean keeps; /* there is host memory for what passes came to, lest it goes with a device */
} TdIterativePlan;

/* TdMethod's plan: fills the TdIterativePlan. */
gboolean td_iterative_plan (TdPlan *plan, GCancellable *cancellable, GError **error);
/* How @devices share the plan's slab, as their memory allows. FALSE: they have too little. @reason
   then says for what, and how much is wanted (transfer full). @in_file: what was measured is in a
   file, for plans that td_iterative_can_store(). */
gboolean td_iterative_cut (const TdPlan *plan, GPtrArray *devices, gboolean in_file,
                           TdIterativeCut *cut, TdMessage **reason);
/* Whether what was measured may be in a file (compute/iterative/ray-store.h). A plan in slabs has
   no need of that. */
gboolean td_iterative_can_store (const TdIterativePlan *self);
void td_iterative_cut_clear (TdIterativeCut *cut);
/* What the host takes for all members. */
guint64 td_iterative_host_bytes (const TdPlan *plan, const TdIterativeCut *cut);
/* Bytes of the whole slab, [slice][y][x]. */
guint64 td_iterative_slab_bytes (const TdIterativePlan *self);
/* The slab's task; clear it. Its first row and how many it has. */
void td_iterative_task (const TdPlan *plan, guint slab, TdConeTask *task, guint *row0,
                        guint *n_rows);
guint64 td_iterative_chunk_bytes (const TdPlan *plan);
char *td_iterative_rate_key (const TdPlan *plan); /* (transfer full) */
/* Updates of one pass over a slab. Rates are kept by this number, since more passes of the same are
   no faster. */
double td_iterative_pass_updates (const TdPlan *plan);
/* Slices of nx × ny voxels that are moved at once, of @most. */
guint td_iterative_portion (const TdIterativePlan *self, guint nx, guint ny, guint most);
/* Slices that are delivered at once. */
guint td_iterative_give_slices (const TdIterativePlan *self);

/* Each for parallel beams and for cones. */
extern const TdMethod td_method_sirt_parallel, td_method_sirt_cone;
extern const TdMethod td_method_fista_tv_parallel, td_method_fista_tv_cone;
extern const TdMethod td_method_cgls_parallel, td_method_cgls_cone;
