/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/iterative/solver.h"
#include "compute/engine/cone-frames.h"
#include "compute/engine/job.h"
#include "compute/engine/plan-private.h"

/**
 * Iterative methods as jobs. They correct the whole volume by all of its projections. The wanted
 * part of the volume (rows, region) is cut out at the end. Volume and projections lie in the memory
 * of one device if that holds them. Several devices each have some rows of the volume
 * (compute/iterative/ray-group.h), and so has one that does not. The projections are then with the
 * first of several cards, or with the host. A cone beam's volume is always computed as a whole. A
 * parallel beam's slices know nothing of each other, and go in slabs if they must.
 */

/* Where iterations begin (recipe.start). */
typedef enum { TD_ITERATIVE_ZERO, TD_ITERATIVE_FILTERED, TD_ITERATIVE_FILE } TdIterativeStart;

/* Who has which rows y of the volume. */
typedef struct {
  TdGroupMember *members; /* devices are not referenced */
  guint n;
  guint batch_views;  /* 0: everything is on the one device */
  TdDevice *lead;     /* who has the projections */
  gboolean in_file;   /* what was measured is in a file (compute/iterative/ray-store.h) */
  guint kept_subsets; /* TdSolverSettings' */
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

/* ── The start (iterative-start.c) ── */

/* What iterations begin with: nothing, what filtering makes of the scan, or a volume of an earlier
   run. */

/* Sets self->start as the recipe says, and to the filtered volume if the recipe leaves it open. The
   function refuses a file that is not the plan's volume. */
gboolean td_iterative_plan_start (TdPlan *plan, TdIterativePlan *self, GError **error);
/* Decides where a filtered volume waits: in memory if @spare_bytes of the host's hold it, else in a
   temporary file. A recipe that leaves the start open gets zeros where views cannot be weighed.
   Memory has no say in that, since both come to other values. FALSE with @error set: filtering that
   is asked for cannot be made, or there is too little memory or room. */
gboolean td_iterative_place_start (TdPlan *plan, TdIterativePlan *self, guint64 spare_bytes,
                                   GCancellable *cancellable, GError **error);
/* Host memory that the start takes. */
guint64 td_iterative_start_bytes (const TdIterativePlan *self);
/* Decides where turned frames wait that would be read once for each chunk of rows: @spare_bytes are
   as below. */
void td_iterative_plan_spool (TdPlan *plan, TdIterativePlan *self, guint64 spare_bytes);
guint64 td_iterative_spool_bytes (const TdIterativePlan *self); /* of the host's memory */
/* What turning takes of the host's memory. */
guint64 td_iterative_turning_bytes (const TdIterativePlan *self);
/* Decides whether the scan is read once for filtering and iterations: @spare_bytes of host memory
   are left, the start's and the filtering's not yet taken. */
void td_iterative_plan_copy (const TdPlan *plan, TdIterativePlan *self, guint64 spare_bytes);
guint64 td_iterative_copy_bytes (const TdPlan *plan, const TdIterativePlan *self); /* 0: none */

/* A volume to begin with, [slice][y][x] of all the plan's slabs. */
typedef struct TdIterativeBeginning TdIterativeBeginning;
/* NULL without error: zeros. Blocks: runs the filtered method. */
TdIterativeBeginning *td_iterative_begin (TdJob *job, GCancellable *cancellable, GError **error);
/* What iterations read: the plan's frames, or the copy's seen in the same way. (transfer full) */
TdScan *td_iterative_beginning_scan (const TdPlan *plan, const TdIterativeBeginning *beginning,
                                     GError **error);
/* Slices [first, first + n) as float [n][ny][nx], until the next call; NULL with @error set. */
const float *td_iterative_beginning_read (TdIterativeBeginning *beginning, guint first, guint n,
                                          GError **error);
void td_iterative_beginning_free (TdIterativeBeginning *beginning);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdIterativeBeginning, td_iterative_beginning_free)

/* ── Momentum (iterative-momentum.c) ── */

/**
 * The momentum of "fista-tv" and the direction of "cgls", in a file beside the volume that they
 * made: "VOLUME.momentum" (docs/formats.md). With both a run goes on as if it had never stopped.
 * The file is written if the job was asked to (td_job_keep_momentum()) or was ended early. A sum
 * over the values ties it to its volume, and the solver recognises the projections. So a run never
 * goes on from another one's state.
 *
 * One thread at a time.
 */
typedef struct TdIterativeMomentum TdIterativeMomentum;

/* Tells a plan whose iterations go on from a file, in a note, whether there is momentum beside that
   file. */
void td_iterative_momentum_note (TdPlan *plan, const TdIterativePlan *self);

/* For every method; one that has no momentum recalls and saves none. NULL with @error: room for
   what is to be kept cannot be had. */
TdIterativeMomentum *td_iterative_momentum_new (TdJob *job, GError **error);
/* What was kept belongs to the job now and appears when its volume is complete. */
void td_iterative_momentum_free (TdIterativeMomentum *momentum, gboolean sound);

/* _took() is told the values that a slab begins with, _gave() the values that it came to, each in
   order. _begin() forgets these values, and that the slab was saved. */
void td_iterative_momentum_begin (TdIterativeMomentum *momentum);
void td_iterative_momentum_took (TdIterativeMomentum *momentum, const float *values, gsize n);
void td_iterative_momentum_gave (TdIterativeMomentum *momentum, const float *values, gsize n);

/* Finds the stored momentum of the slab's rows [first, first + n), if it belongs to the values that
   were taken. FALSE: none is known. */
gboolean td_iterative_momentum_recall (TdIterativeMomentum *momentum, guint first, guint n,
                                       TdSolverMomentum *numbers);
gboolean td_iterative_momentum_load (TdIterativeMomentum *momentum, TdRayGroup *group,
                                     const TdSolverMomentum *into, GError **error);
/* Notes that the stored momentum is of other projections, so that the run does without it. */
void td_iterative_momentum_refuse (TdIterativeMomentum *momentum);
/* Saves the slab's momentum, if it is to be kept. A fault of the file is a note; FALSE: a fault of
   a device. */
gboolean td_iterative_momentum_save (TdIterativeMomentum *momentum, TdRayGroup *group, guint first,
                                     const TdSolverMomentum *from, GError **error);
/* The slab's values, @n slices, have all been given. */
void td_iterative_momentum_end_slab (TdIterativeMomentum *momentum, guint n);

/* ── Methods ── */

/* Each for parallel beams and for cones. */
extern const TdMethod td_method_sirt_parallel, td_method_sirt_cone;
extern const TdMethod td_method_fista_tv_parallel, td_method_fista_tv_cone;
extern const TdMethod td_method_cgls_parallel, td_method_cgls_cone;
