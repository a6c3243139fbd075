/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mpi-error.h"

#include <mpi.h>

#include "dataset/error.h"

gboolean
td_mpi_check (int code, GError **error)
{
  char text[MPI_MAX_ERROR_STRING];
  int length;

  if (code == MPI_SUCCESS)
    return TRUE;
  MPI_Error_string (code, text, &length);
  td_set_error (error, TD_ERROR_IO,
                "Ranks can no longer exchange data (%s); another rank has probably ended", text);
  return FALSE;
}
