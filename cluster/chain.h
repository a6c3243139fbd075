/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <mpi.h>

#include "compute/row-range.h"

/**
 * TdChain: the ranks of a row add their views to their sub-volume in the order of the views. Each
 * goes on from the sums of the one before it, and the last has the result, with the bits of a
 * single process.
 *
 * Sums go on in *pieces*: a band of rows of a few slices. So ranks compute different bands at the
 * same time. A rank waits for one band of each rank before it, not for a slab. Within a node a rank
 * reads what the rank before it has where it lies (node-memory.h).
 */
typedef struct TdChain TdChain;

typedef struct {
  MPI_Comm row;     /* the ranks, in the order of their views */
  const int *nodes; /* of each of them: equal numbers share a node */
  guint n_slices, ny, nx;
  guint slab_slices; /* the most slices that this rank computes at once */
  guint bands;    /* of a slice's rows, as this rank wants them; the most of any rank are taken */
  guint64 memory; /* bytes of what waits to be sent; a few pieces are taken in any case */
} TdChainSpec;

/* All ranks of the row make one, and free it, at the same time. NULL with @error: cancelled, since
   another rank may not come; or MPI failed. */
TdChain *td_chain_new (const TdChainSpec *spec, GCancellable *cancellable, GError **error);
void td_chain_free (TdChain *chain);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdChain, td_chain_free)
gboolean td_chain_is_first (const TdChain *chain);
gboolean td_chain_is_last (const TdChain *chain);
/* Band i has rows ny i / bands to ny (i + 1) / bands - 1. */
guint td_chain_bands (const TdChain *chain);
/* Host memory that it holds. */
guint64 td_chain_bytes (const TdChain *chain);

/* The computing side, as TdJobTurn has it, with the chain as @user: float [count][ny][nx], of which
   @rows are meant. Both block, and return FALSE once the cancellable is cancelled. */
/* What slices begin with. Those that were passed on already come as 0. Not the first rank's. */
gboolean td_chain_begin (guint first, guint count, TdRowRange rows, float *slices,
                         GCancellable *cancellable, GError **error, gpointer chain);
/* The slices have this rank's views, and go to the next rank. Each row of pixels comes in the order
   of the slices; what comes again is left out. The last rank only says that it has them.
   @slices stay as they are. */
gboolean td_chain_pass (guint first, guint count, TdRowRange rows, float *slices,
                        GCancellable *cancellable, GError **error, gpointer chain);

/* The communicating thread's: exchanges until this rank has passed on all. */
gboolean td_chain_run (TdChain *chain, GCancellable *cancellable, GError **error);
/* Before td_chain_free(), unless that failed: waits until the other ranks free it, too. */
gboolean td_chain_finish (const TdChain *chain, GCancellable *cancellable, GError **error);
/* Seconds in which this rank itself moved pieces. */
double td_chain_seconds (const TdChain *chain);
