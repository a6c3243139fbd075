/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * What the machine of a job does, measured by the ranks that a job would have, all at once: the
 * constants of model.h. Whole jobs of three sizes in three grids and modes are timed stage by
 * stage, so that c and m of c + m N are those of stages that run beside each other. Starts MPI and
 * ends it; the main thread. Files go to @folder and are removed. @device: as the recipe's; NULL:
 * "auto".
 *
 * Rank 0 prints a line "machine WORDS", words as td_model_machine_parse() takes them.
 * Returns: an exit status.
 */
int td_worker_benchmark (const char *folder, const char *device);
