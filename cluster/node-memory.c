/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "node-memory.h"

#include <sys/statvfs.h>

#include "mpi-util.h"

#define MEET_US 500

/* Whether all ranks of the node say so. */
static gboolean
node_memory_agree (const TdNodeMemory *memory, gboolean ok)
{
  int mine = ok, all = 0;

  return MPI_Allreduce (&mine, &all, 1, MPI_INT, MPI_MIN, memory->node) == MPI_SUCCESS && all;
}

/* Memory that is not there would be told by a signal, when it is touched. */
static gboolean
node_memory_has_room (guint64 bytes)
{
  struct statvfs fs;

  return statvfs ("/dev/shm", &fs) == 0 && (guint64) fs.f_bavail * fs.f_frsize / 2 >= bytes;
}

void
td_node_memory_open (TdNodeMemory *memory, MPI_Comm row, const int *nodes, guint64 bytes)
{
  int rank, size, members = 0, member = 0;

  MPI_Comm_rank (row, &rank);
  MPI_Comm_size (row, &size);
  MPI_Comm_split (row, nodes[rank], rank, &memory->node);
  MPI_Comm_set_errhandler (memory->node, MPI_ERRORS_RETURN);
  MPI_Comm_size (memory->node, &members);
  if (members == 1 || !node_memory_agree (memory, node_memory_has_room ((guint64) members * bytes)))
    return;
  const gboolean ok = MPI_Win_allocate_shared ((MPI_Aint) bytes, sizeof (float), MPI_INFO_NULL,
                                               memory->node, &memory->own, &memory->window)
                      == MPI_SUCCESS;
  if (!node_memory_agree (memory, ok))
    return;
  MPI_Win_lock_all (MPI_MODE_NOCHECK, memory->window);
  memory->bases = g_new0 (const float *, (gsize) size);
  for (int i = 0; i < size; i++)
    if (nodes[i] == nodes[rank]) {
      MPI_Aint its_bytes;
      int unit;
      MPI_Win_shared_query (memory->window, member++, &its_bytes, &unit, &memory->bases[i]);
    }
}

void
td_node_memory_close (TdNodeMemory *memory)
{
  if (memory->bases) {
    MPI_Win_unlock_all (memory->window);
    MPI_Win_free (&memory->window);
  }
  if (memory->node != MPI_COMM_NULL)
    MPI_Comm_free (&memory->node);
  g_clear_pointer (&memory->bases, g_free);
}

gboolean
td_node_memory_meet (const TdNodeMemory *memory, GCancellable *cancellable, GError **error)
{
  MPI_Request request;

  if (memory->node == MPI_COMM_NULL)
    return TRUE;
  MPI_Ibarrier (memory->node, &request);
  return td_mpi_await (&request, MEET_US, cancellable, error);
}

const float *
td_node_memory_of (const TdNodeMemory *memory, int other)
{
  return memory->bases ? memory->bases[other] : NULL;
}
