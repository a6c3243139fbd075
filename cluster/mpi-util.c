/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mpi-util.h"

#include <sched.h>
#include <string.h>

#include "compute/device/host.h"
#include "dataset/error.h"

#define SOON_US 20000 /* a segment or a chunk of views takes less */

gboolean
td_mpi_check (int code, GError **error)
{
  char text[MPI_MAX_ERROR_STRING];
  int length;

  if (code == MPI_SUCCESS)
    return TRUE;
  MPI_Error_string (code, text, &length);
  return td_set_error (error, TD_ERROR_IO,
                       "Ranks can no longer exchange data (%s); another rank has probably ended",
                       text);
}

gboolean
td_mpi_await (MPI_Request *request, gulong idle_us, GCancellable *cancellable, GError **error)
{
  int done = 0;

  while (td_mpi_check (MPI_Test (request, &done, MPI_STATUS_IGNORE), error) && !done
         && !g_cancellable_set_error_if_cancelled (cancellable, error))
    g_usleep (idle_us);
  return done;
}

void
td_mpi_add_buffers (GQueue *queue, guint n, gsize floats, float *lie, GPtrArray *owned)
{
  for (guint i = 0; i < n; i++) {
    float *buffer = lie ? lie + i * floats : g_malloc (floats * sizeof (float));
    if (!lie)
      g_ptr_array_add (owned, buffer);
    g_queue_push_tail (queue, buffer);
  }
}

void
td_mpi_pause (gint64 moved_us, gulong idle_us)
{
  if (g_get_monotonic_time () - moved_us < SOON_US)
    g_thread_yield ();
  else
    g_usleep (idle_us);
}

guint
td_mpi_sharers (MPI_Comm node)
{
  cpu_set_t own;
  guint sharers = 0;
  int size;

  MPI_Comm_size (node, &size);
  CPU_ZERO (&own);
  if (sched_getaffinity (0, sizeof own, &own) != 0)
    CPU_ZERO (&own); /* more processors than it holds */
  g_autofree cpu_set_t *all = g_new0 (cpu_set_t, size);
  MPI_Allgather (&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, node);
  for (int i = 0; i < size; i++)
    sharers += memcmp (&all[i], &own, sizeof own) == 0;
  return MAX (sharers, 1);
}

void
td_mpi_share_node (MPI_Comm node)
{
  const guint sharers = td_mpi_sharers (node);
  int size;

  MPI_Comm_size (node, &size);
  td_host_share ((guint) size, sharers);
  g_autofree char *threads = g_strdup_printf ("%u", td_host_threads ());
  if (sharers > 1) /* for those that read and write, too */
    g_setenv ("TOMODESK_THREADS", threads, FALSE);
}
