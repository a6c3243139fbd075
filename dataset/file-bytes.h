/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Files as places for bytes: whole pieces of them, by any threads at once, and temporary ones. */

/* As pread() and pwrite(), whole, whatever interrupts them. 0, or errno; ENODATA: the file ends
 * before.
 */
int td_file_read (int file, void *to, gsize bytes, guint64 at);
int td_file_write (int file, const void *from, gsize bytes, guint64 at);
/* An unlinked file of @bytes in the temporary folder, which has room for all of them; -1: not.
   @what, in the plural, begins the sentence that says so. Close it. */
int td_file_temporary (const char *what, guint64 bytes, GError **error);
