/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <mpi.h>

#include "compute/row-range.h"

/**
 * TdGather: the ranks of a column give each other the views that each has filtered (iFDK, section
 * 4.1.2 and Figure 4). As in the paper, all views come to all ranks of the column. Of each view a
 * rank gets only the rows that its sub-volume sees. Views travel in chunks, through circular
 * buffers of host memory. Meanwhile the next chunks are filtered and earlier ones back-projected.
 *
 * td_gather_put() is called by one thread, td_gather_take() by another.
 */
typedef struct TdGather TdGather;

typedef struct {
  MPI_Comm column; /* rank i filters chunks i, i + size, … */
  guint n_views;   /* that the column adds */
  guint chunk;     /* views that go together */
  guint n_columns; /* of a filtered row */
  TdRowRange seen; /* by this rank */
} TdGatherSpec;

/* Ranks tell each other what they see; all of the column call. NULL: cancelled, or @error. */
TdGather *td_gather_new (const TdGatherSpec *spec, GCancellable *cancellable, GError **error);
/* After td_gather_finish(). */
void td_gather_free (TdGather *gather);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdGather, td_gather_free)
/* Rows that any rank of the column sees: views are put with these. */
TdRowRange td_gather_rows (const TdGather *gather);
/* Views of a chunk such that the buffers take @bytes about, and the pipeline has some chunks to
   work with. An even number. */
guint td_gather_chunk (guint64 bytes, guint64 view_bytes, guint n_views, guint ranks);

/* As TdJobGathered has them (compute/engine/job.h), with the gather as @user. */
gboolean td_gather_put (guint first, guint count, const float *views, GCancellable *cancellable,
                        GError **error, gpointer gather);
gboolean td_gather_take (guint first, guint count, float *views, GCancellable *cancellable,
                         GError **error, gpointer gather);
/* Waits until all views that this rank put have left it. */
gboolean td_gather_finish (TdGather *gather, GCancellable *cancellable, GError **error);
/* Seconds in which this rank itself moved views. */
double td_gather_seconds (const TdGather *gather);
guint64 td_gather_bytes (const TdGather *gather); /* of host memory */
