/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Preloaded into a rank, this library stops it in a call of MPI, as a node does that hangs. The
 * process is there, and says nothing more. The environment says where:
 *
 *     STOP_RANK=1              of these ranks one stops
 *     STOP_AT=MPI_Ibarrier:2   in its second call of this function
 *     STOP_BY=9                it gets this signal instead, as one that is killed
 */
#include <mpi.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int calls;

static void
stop_at (const char *name)
{
  const char *where = getenv ("STOP_AT"), *by_mpirun = getenv ("OMPI_COMM_WORLD_RANK");
  const char *rank = by_mpirun ? by_mpirun : getenv ("SLURM_PROCID");
  const char *stops = getenv ("STOP_RANK"), *by = getenv ("STOP_BY");
  const size_t length = strlen (name);

  if (!where || !rank || !stops || strcmp (rank, stops) != 0 || strncmp (where, name, length) != 0)
    return;
  if (where[length] != ':' || atomic_fetch_add (&calls, 1) + 1 != atoi (where + length + 1))
    return;
  raise (by ? atoi (by) : SIGSTOP);
}

#define STOP(NAME, TAKES, GIVES)                                                                   \
  int MPI_##NAME TAKES                                                                             \
  {                                                                                                \
    stop_at ("MPI_" #NAME);                                                                        \
    return PMPI_##NAME GIVES;                                                                      \
  }

STOP (Init_thread, (int *argc, char ***argv, int wanted, int *given), (argc, argv, wanted, given))
STOP (Comm_dup, (MPI_Comm comm, MPI_Comm *to), (comm, to))
STOP (Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *to),
      (comm, type, key, info, to))
STOP (Bcast, (void *data, int n, MPI_Datatype type, int root, MPI_Comm comm),
      (data, n, type, root, comm))
STOP (Ibcast, (void *data, int n, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request),
      (data, n, type, root, comm, request))
STOP (Iallgather,
      (const void *from, int n, MPI_Datatype type, void *to, int n_to, MPI_Datatype type_to,
       MPI_Comm comm, MPI_Request *request),
      (from, n, type, to, n_to, type_to, comm, request))
STOP (Comm_split, (MPI_Comm comm, int colour, int key, MPI_Comm *to), (comm, colour, key, to))
STOP (Isend,
      (const void *data, int n, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
       MPI_Request *request),
      (data, n, type, rank, tag, comm, request))
STOP (Irecv,
      (void *data, int n, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
       MPI_Request *request),
      (data, n, type, rank, tag, comm, request))
STOP (Ibarrier, (MPI_Comm comm, MPI_Request *request), (comm, request))
STOP (Comm_free, (MPI_Comm * comm), (comm))
STOP (Finalize, (void), ())
