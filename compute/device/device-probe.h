/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * A driver may abort or hang while its devices are listed, and it would take the program with it.
 * So a child process lists an API's devices first, with a limit on its time. The verdict holds for
 * the driver's version until the machine starts anew: the child runs once, not at every start.
 */

/* As td_helper_begin(), and does the child's work: it returns FALSE or not at all. */
gboolean td_device_probe_helper (int argc, char **argv);
/* NULL: the API ("opencl", "cuda") may be used in this process. Else a sentence that names the
   driver; owned by the process. Any thread; blocks the first time. */
const char *td_device_probe (const char *api);
/* Ends the process with all that was written to its streams, without what libraries put away at
   the end. A driver may crash in that, after a job that was done. It may hang, too, as where
   another thread still loads it. */
void td_device_leave (int status) G_GNUC_NORETURN;
/* From now on verdicts of earlier processes do not count, for a person who asks by hand. Call it
   before the first td_device_probe(). */
void td_device_probe_anew (void);
