/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "remote-job.h"

/* The jobs whose folders lie where profiles put them. Nothing else keeps a list of jobs. So jobs of
   other computers and those started by hand are found, too. */

/* All jobs of this computer and of the profiles' hosts, the newest first (TdRemoteJob, transfer
   full). Each job was looked at once; of one that could not be the facts say why. @profile:
   (nullable): only jobs of this profile's place. @problems gets a sentence for each host that
   cannot be reached and for each file that is no valid profile (transfer full). Any thread; blocks.
 */
GPtrArray *td_jobs_find (const TdClusterProfile *profile, char ***problems,
                         GCancellable *cancellable);
/* The job of an id, or of the only id that begins so. Who starts a job by hand may name its folder
   otherwise. */
TdRemoteJob *td_jobs_find_one (const char *id, GCancellable *cancellable, GError **error);
