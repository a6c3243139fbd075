/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

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
