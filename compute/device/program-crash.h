/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * A driver's compiler runs in our process and ends it where it crashes (PoCL 6 with LLVM 18 does so
 * on kernels that are in order). That cannot be prevented here, but it must not happen at every
 * start: the program that was being built is noted beside the program cache and refused from then
 * on, so that another family or device takes its place. As the note goes by the program's key, a
 * changed source or a newer driver is tried anew. Any thread; notes are shared by processes.
 */

/* Whether a process crashed while it built the program of that key (td_program_cache_key()). */
gboolean td_program_crashed (const char *key);
/* Around a build, on the thread that builds: a fatal signal on it makes the note, then does what it
   would have done. Not nested. */
void td_program_crash_watch (const char *key);
void td_program_crash_unwatch (void);
/* Where the note of @key is, for tests. (transfer full) */
char *td_program_crash_file (const char *key);
