/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/iterative/solver.h"
#include "compute/engine/method.h"

/**
 * Iterative methods as jobs. They correct the whole volume by all of its projections: what of the
 * volume is wanted (rows, region) is cut out at the end. Both lie in the memory of one device if
 * that holds them. If it does not, or if there are several, the projections stay with the host and
 * each device has some rows of the volume (compute/iterative/ray-group.h). A cone beam's volume is
 * otherwise in one piece; a parallel beam's slices know nothing of each other, and go in slabs if
 * they must.
 */
#define TD_ITERATIVE_GIVE_BYTES ((guint64) 64 << 20) /* slices put in or given out at once */

/* Where iterations begin (recipe.start). */
typedef enum { TD_ITERATIVE_ZERO, TD_ITERATIVE_FILTERED, TD_ITERATIVE_FILE } TdIterativeStart;

/* Who has which rows y of the volume. */
typedef struct {
  TdGroupMember *members; /* devices are not referenced */
  guint n;
  guint batch_views; /* 0: everything is on the one device */
  gboolean in_file;  /* but what was measured (compute/iterative/ray-store.h) */
} TdIterativeCut;

typedef struct {
  TdConeTask task; /* of one slab; the last may be smaller: td_iterative_task() */
  TdSolverSettings settings;
  gboolean slabs;     /* parallel beam: task is of rows from row0 on, else of the whole detector */
  guint row0, n_rows; /* detector rows that are read; slabs: those asked for */
  guint slab_rows, n_slabs;
  guint halo;              /* rows around them that preparation wants */
  guint chunk_rows;        /* prepared at once, without halo */
  guint first[3], size[3]; /* what is delivered, x, y, z of the volume; slabs: z of all */
  double *angles_rad;      /* parallel */
  double centre_px, tilt;  /* parallel: at the middle of the plan's rows; columns a row */
  TdIterativeStart start;
  TdIterativeCut cut;
  TdDevice *host; /* for the projections of groups, and where nobody else is left */
  gboolean keeps; /* there is host memory for what passes came to, lest it goes with a device */
} TdIterativePlan;

gboolean td_iterative_plan (TdPlan *plan, TdEngine *engine, GPtrArray *devices,
                            GCancellable *cancellable, GError **error);
/* The running half: TdMethod's run. */
gboolean td_iterative_run (TdJob *job, GCancellable *cancellable, GError **error);
/* iterative-cut.c: how @devices share the plan's slab, as their memory allows. FALSE: they have too
   little, with what for and how much. @reason: (transfer full). @in_file: what was measured is; for
   plans that can. */
gboolean td_iterative_cut (const TdPlan *plan, GPtrArray *devices, gboolean in_file,
                           TdIterativeCut *cut, TdMessage **reason);
/* A parallel beam's slices go in slabs instead. */
gboolean td_iterative_can_store (const TdIterativePlan *self);
void td_iterative_cut_clear (TdIterativeCut *cut);
/* What a member takes; what the host takes for all of them. */
guint64 td_iterative_member_bytes (const TdPlan *plan, const TdIterativeCut *cut, guint index);
guint64 td_iterative_host_bytes (const TdPlan *plan, const TdIterativeCut *cut);
/* Bytes of the whole slab, [slice][y][x]. */
guint64 td_iterative_slab_bytes (const TdIterativePlan *self);
/* What preparing and delivering take on the device that does it, beside the solver. */
guint64 td_iterative_aside_bytes (const TdPlan *plan);
/* The slab's task; clear it. Its first row and how many it has. */
void td_iterative_task (const TdPlan *plan, guint slab, TdConeTask *task, guint *row0,
                        guint *n_rows);
guint64 td_iterative_chunk_bytes (const TdPlan *plan);
char *td_iterative_rate_key (const TdPlan *plan); /* (transfer full) */
/* Slices that are delivered at once. */
guint td_iterative_give_slices (const TdIterativePlan *self);

/* iterative-start.c: sets self->start as the recipe says, zeros if it leaves that open. It
   refuses a file that is not the plan's volume, and a filtered start that cannot be made. */
gboolean td_iterative_plan_start (TdPlan *plan, TdIterativePlan *self, GCancellable *cancellable,
                                  GError **error);
/* If the recipe leaves it open: the filtered volume, if that can be made and @spare_bytes of host
   memory hold it. TRUE: chosen. */
gboolean td_iterative_prefer_start (TdPlan *plan, TdIterativePlan *self, guint64 spare_bytes,
                                    GCancellable *cancellable);
/* Host memory that the start takes. */
guint64 td_iterative_start_bytes (const TdIterativePlan *self);

/* A volume to begin with, [slice][y][x] of all the plan's slabs. */
typedef struct TdIterativeBeginning TdIterativeBeginning;
/* NULL without error: zeros. Blocks: runs the filtered method. */
TdIterativeBeginning *td_iterative_begin (TdJob *job, GCancellable *cancellable, GError **error);
/* Slices [first, first + n) as float [n][ny][nx]. */
gboolean td_iterative_beginning_read (TdIterativeBeginning *beginning, guint first, guint n,
                                      float *out, GError **error);
void td_iterative_beginning_free (TdIterativeBeginning *beginning);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdIterativeBeginning, td_iterative_beginning_free)
