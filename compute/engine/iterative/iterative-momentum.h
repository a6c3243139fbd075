/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "iterative.h"

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
