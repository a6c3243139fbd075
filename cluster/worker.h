/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "model.h"

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

/* Seconds of each stage, of one rank. They overlap. */
typedef struct {
  double read, filter, gather, back_project, transfer, reduce, store;
  double start; /* until the first kernel runs */
  double all;
} TdPipelineTimes;

/* Carries out the job in @folder; the main thread. Starts MPI and ends it. */
int td_worker_run (const char *folder);
/* The same within MPI that runs already, on all its ranks. Returns once the job is done: if it
   fails, MPI ends. @slowest: seconds of each stage, of the rank that took the longest. @problem:
   what the model would be asked about it. Either may be NULL. */
void td_worker_do (const char *folder, TdPipelineTimes *slowest, TdModelProblem *problem);

/* What runs has a folder of its own in the jobs' folder. */
#define TD_WORKER_BENCHMARK ".benchmark"

/**
 * Measures the constants of model.h on the machine of a job. All ranks that a job would have work
 * at once. They run whole jobs of three sizes in three grids and modes, and time every stage. So
 * the c and m of each cost c + m N are those of stages that run beside each other. The function
 * starts MPI and ends it; it belongs to the main thread. Files go to @folder and are removed.
 * @device: as the recipe's; NULL: "auto".
 *
 * Rank 0 prints a line "machine WORDS", words as td_model_machine_parse() takes them.
 * Returns: an exit status.
 */
int td_worker_benchmark (const char *folder, const char *device);
