/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "compute/engine/job.h"
#include "iterative.h"

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
