/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "model.h"
#include "pipeline-times.h"

/**
 * The worker: one rank of a job, started by mpirun or srun. The same ranks read the job's file,
 * agree on a grid, and carry out its sub-volumes with the Plan and Job of the desktop.
 */

/* From the job's folder on: the folder with an empty file of each rank that has begun, before MPI
   is asked for anything. Its name is "RANK-SIZE-NODE". */
#define TD_WORKER_RANKS "log/ranks"

/* Exit statuses. */
#define TD_WORKER_DONE 0
#define TD_WORKER_FAILED 1
#define TD_WORKER_CANCELLED 75

/* Carries out the job in @folder; the main thread. Starts MPI and ends it. */
int td_worker_run (const char *folder);
/* The same within MPI that runs already, on all its ranks. Returns once the job is done: if it
   fails, MPI ends. @slowest: seconds of each stage, of the rank that took the longest. @problem:
   what the model would be asked about it. Either may be NULL. */
void td_worker_do (const char *folder, TdPipelineTimes *slowest, TdModelProblem *problem);
