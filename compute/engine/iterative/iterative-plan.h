/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "iterative.h"

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
/* Slices that are delivered at once. */
guint td_iterative_give_slices (const TdIterativePlan *self);
