/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <mpi.h>

#include "dataset/file-bytes.h"

/**
 * Memory of a rank that the other ranks of its node read where it lies, so that nothing is copied
 * for them. Ranks tell each other by messages what lies where.
 *
 * Each rank's lies in a file without a name, which ends with the rank. MPI has windows for this,
 * but their pages are small. The system makes those one after the other for all ranks of a node.
 */
typedef struct {
  MPI_Comm node;
  int file;            /* this rank's; -1: none */
  TdFileWindow *files; /* of each rank of the row, mapped; NULL: none is */
  int n_files;
  gsize floats;        /* of each buffer of the memory */
  guint n_prepared;    /* of this rank's, from the first on */
  float *own;          /* this rank's */
  const float **bases; /* each rank's of the row, NULL for those of other nodes. Without memory for
                          it NULL itself: then ranks send each other all, as to another node */
} TdNodeMemory;

#define TD_NODE_MEMORY_NONE ((TdNodeMemory) { .node = MPI_COMM_NULL, .file = -1 })

/* @n buffers of @floats of this rank, one after the other; all ranks of the row call, with the same
   @floats. @nodes: of each of them; equal numbers share a node. */
void td_node_memory_open (TdNodeMemory *memory, MPI_Comm row, const int *nodes, guint n,
                          gsize floats);
/* All ranks of the node call, and wait for each other in MPI: they have met before. */
void td_node_memory_close (TdNodeMemory *memory);
/* Blocks until all ranks of the node are here, which may be long. FALSE: cancelled, or MPI failed;
   no rank closes the memory then. */
gboolean td_node_memory_meet (const TdNodeMemory *memory, GCancellable *cancellable,
                              GError **error);
/* Of rank @other of the row; NULL: it cannot be read. */
const float *td_node_memory_of (const TdNodeMemory *memory, int other);
/* Before a buffer of this rank's is written; the first ones come first. All threads make large
   pages of it, where the system has such. */
void td_node_memory_prepare (TdNodeMemory *memory, const float *buffer);
/* Which of this rank's buffers it is: another rank that is told it sees what was
   written there. */
int td_node_memory_show (const TdNodeMemory *memory, const float *buffer);
/* The buffer that rank @other has told of. */
const float *td_node_memory_look (const TdNodeMemory *memory, int other, int place);
