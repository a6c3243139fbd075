/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mpi-util.h"

#include <mpi.h>

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

void
td_mpi_pause (gint64 moved_us, gulong idle_us)
{
  if (g_get_monotonic_time () - moved_us < SOON_US)
    g_thread_yield ();
  else
    g_usleep (idle_us);
}
