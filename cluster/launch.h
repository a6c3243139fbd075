/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "profile.h"

/**
 * What starts a job: the script "run.sh" of its folder, and the words that hand the script to the
 * host or the scheduler. The record "launch.json" says what was started. Any thread.
 */

/* The text of run.sh for a job whose folder is @folder on the cluster. It is the profile's template
   with its @NAMES@ filled in, or a script of ours. (transfer full) */
char *td_launch_script (const TdClusterProfile *profile, const char *id, const char *folder,
                        GError **error);

/* sbatch's words after its own name, the script's path at the end; NULL: no scheduler is asked.
   (transfer full) */
char **td_launch_words (const TdClusterProfile *profile, const char *id, const char *folder);

/* Where the volume goes: the desktop's path, the cluster's, and whether the desktop fetches it. */
typedef struct {
  const char *here, *there;
  gboolean fetch;
} TdLaunchOutput;

/* launch.json but for its last members, which the host adds: what runs, and where. */
char *td_launch_record (const TdClusterProfile *profile, char **words,
                        const TdLaunchOutput *output);

/* The worker as the profile's host has it: FALSE with @error if it is missing or of another
   version. A Slurm host without a worker passes, since only the nodes may have it. Blocks. */
gboolean td_launch_check_worker (const TdClusterProfile *profile, GCancellable *cancellable,
                                 GError **error);

#define TD_LAUNCH_BENCHMARK_S 1800
#define TD_LAUNCH_PROBE_S 300 /* Slurm may have to find nodes first */

/* Runs the worker's benchmark with all ranks of the profile, with files in the jobs' folder: its
   lines. (transfer full). Blocks. */
char *td_launch_benchmark (const TdClusterProfile *profile, GCancellable *cancellable,
                           GError **error);

/* The line of the launcher's output that says most. That is the worker's own, or one about a
   process that was killed, else the first paragraph. @only_killed: NULL, if none is about a process
   that was killed. (transfer full) */
char *td_launch_telling_line (const char *text, gboolean only_killed);

/* Runs the worker's probe on each node of the profile: whether each of @paths can be read, and the
   jobs' folder be written. A line of JSON a node. (transfer full). Blocks. */
char *td_launch_probe (const TdClusterProfile *profile, const char *const *paths,
                       GCancellable *cancellable, GError **error);
