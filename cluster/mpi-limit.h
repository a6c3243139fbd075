/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * A limit for calls of MPI that wait for all ranks where no TdWatch is there yet, or none any more.
 * A thread counts. When the time is over, the process ends, and with it the launcher ends the
 * others. One limit a process; any thread.
 */
typedef enum {
  TD_MPI_LIMIT_START,   /* MPI begins, until there is a watch */
  TD_MPI_LIMIT_MEASURE, /* ranks that measure meet */
  TD_MPI_LIMIT_END,     /* all is done, and MPI ends */
} TdMpiLimitKind;

/* In place of the one that there was. @folder: of the job, whose events then say what happened if
   they tell no end yet; borrowed; NULL: no job's. */
void td_mpi_limit_begin (TdMpiLimitKind kind, const char *folder);
void td_mpi_limit_clear (void);
