/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* What can be known of where a volume is to go before a job tries to write there: FALSE with @error
   set if the path is not whole, is taken, or lies where nothing can be written. Any thread. */
gboolean td_target_check (const char *path, GError **error);
/* Bytes that are free where @path is to go; G_MAXUINT64: the file system does not tell. Any thread.
 */
guint64 td_target_free_bytes (const char *path);
/* FALSE with @error set if @bytes do not go there. Any thread. */
gboolean td_target_check_room (const char *path, guint64 bytes, GError **error);
