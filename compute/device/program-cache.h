/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "device.h"

/**
 * Built programs on disk, for all run-time compilers: $XDG_CACHE_HOME/tomodesk/programs. Entries
 * carry a checksum; one that is damaged or belongs to another key counts as absent and is built
 * again. Any thread, any process: entries appear by atomic rename.
 */

/* The key of a program: everything that can change the binary. @compiler: the compiler's version,
   target and options where info->driver does not say them; NULL: it does. (transfer full) */
char *td_program_cache_key (const TdDeviceInfo *info, const char *compiler, const char *source,
                            const char *const *defines);
/* NULL: absent or damaged. (transfer full) */
GBytes *td_program_cache_load (const char *key);
/* A cache that cannot be written only costs time, so failures are silent. */
void td_program_cache_store (const char *key, const void *data, gsize bytes);
