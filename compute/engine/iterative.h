/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/iterative/solver.h"
#include "method.h"

/**
 * Iterative methods as jobs. They correct the whole volume by all of its projections, both in the memory
 * of one device: what of the volume is wanted (rows, region) is cut out at the end. A cone beam's volume
 * is in one piece; a parallel beam's slices know nothing of each other, and go in slabs if they must.
 */
typedef struct {
  TdConeTask task;           /* of one slab; the last may be smaller: td_iterative_task() */
  TdSolverSettings settings;
  gboolean slabs;            /* parallel beam: task is of rows from row0 on, else of the whole detector */
  guint row0, n_rows;        /* detector rows that are read; slabs: those asked for */
  guint slab_rows, n_slabs;
  guint halo;                /* rows around them that preparation wants */
  guint chunk_rows;          /* prepared at once, without halo */
  guint first[3], size[3];   /* what is delivered, x, y, z of the volume; slabs: z of all */
  double *angles_rad;        /* parallel */
  double centre_px, tilt;    /* parallel: at the middle of the plan's rows; columns a row */
} TdIterativePlan;

gboolean td_iterative_plan (TdPlan *plan, TdEngine *engine, GPtrArray *devices,
                            GCancellable *cancellable, GError **error);
/* The slab's task; clear it. Its first row and how many it has. */
void td_iterative_task (const TdPlan *plan, guint slab, TdConeTask *task, guint *row0, guint *n_rows);
guint64 td_iterative_chunk_bytes (const TdPlan *plan);
char *td_iterative_rate_key (const TdPlan *plan); /* (transfer full) */
/* Slices that are delivered at once. */
guint td_iterative_give_slices (const TdIterativePlan *self);
