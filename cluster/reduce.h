/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <mpi.h>

/**
 * TdReduce: the ranks of a row add up their sub-volume, segment by segment (Chen et al., SC21, in
 * place of iFDK's MPI_Reduce, Figure 4b). A *segment* is a few successive slices. Ranks deliver
 * slices from the first to the last, and exchange segments while they compute the next.
 *
 * Segments belong to the ranks in turns. Ranks of one node add up first, so that one copy crosses
 * each link, and then their owner adds what the nodes send. The order of the sums is fixed. Where
 * it shall be that of the views, a TdChain adds up (chain.h), and one rank alone writes.
 *
 * Ranks of one node have their segments in memory that they share, and only tell each other where.
 * All else goes by MPI_Isend and MPI_Irecv of host memory. Open MPI has no
 * non-blocking reduction of device memory (ompi#12045), so that none is used.
 */
typedef struct TdReduce TdReduce;

typedef struct {
  MPI_Comm row;       /* the ranks that add up, in the order of their views */
  const int *nodes;   /* of each of them: equal numbers share a node */
  guint n_slices;     /* of the sub-volume; 0: this rank writes none */
  gsize slice_floats; /* of one slice */
  guint64 memory;     /* bytes for all segments in flight; a few segments are taken in any case */
} TdReduceSpec;

/* All ranks of the row make one, and free it, at the same time. */
TdReduce *td_reduce_new (const TdReduceSpec *spec);
void td_reduce_free (TdReduce *reduce);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdReduce, td_reduce_free)
/* Host memory that it holds. */
guint64 td_reduce_bytes (const TdReduce *reduce);

/* The computing side: slices that were computed, from the first to the last. Blocks; FALSE: the
   cancellable is cancelled. */
gboolean td_reduce_put (TdReduce *reduce, guint first, guint count, const float *slices,
                        GCancellable *cancellable, GError **error);

/* The writing side: a segment that this rank has the sum of. Blocks; FALSE: there are no more, or
   the cancellable is cancelled. td_reduce_written() gives its memory back. Any threads. */
typedef struct {
  guint first, count;
  const float *slices;
} TdReduceSum;
gboolean td_reduce_next (TdReduce *reduce, TdReduceSum *sum, GCancellable *cancellable);
void td_reduce_written (TdReduce *reduce, const TdReduceSum *sum);

/* Whether this rank will have the sum of @slice. */
gboolean td_reduce_has (const TdReduce *reduce, guint slice);

/* The communicating thread's: exchanges and adds until all segments of this rank have been sent or
   taken by td_reduce_next(). */
gboolean td_reduce_run (TdReduce *reduce, GCancellable *cancellable, GError **error);
/* Before td_reduce_free(), unless that failed: waits until the other ranks free it, too. */
gboolean td_reduce_finish (const TdReduce *reduce, GCancellable *cancellable, GError **error);
/* Seconds in which this rank itself moved and added segments. */
double td_reduce_seconds (const TdReduce *reduce);
