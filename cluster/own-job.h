/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/**
 * A job of this computer alone. One process carries out the job in a folder, as the worker's ranks
 * do together, and tells the same events. The window's jobs are such processes, so that they
 * outlive it. The job waits for its turn, and has a lower priority than whatever else computes.
 *
 * A batch is such a job, too: one process for all its scans, in their order or as they come into a
 * folder. It takes a turn for each scan, so that others may go between, and tells an event "scan"
 * whenever a row of its table changes.
 *
 * Flags are files in the folder: "cancel", and "keep", which ends iterations with what they came
 * to.
 */

/* Carries out the job in @folder; the main thread. Returns TD_WORKER_DONE and so on (worker.h). */
int td_own_job_run (const char *folder);
