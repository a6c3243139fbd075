/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* What can be known of where a volume is to go before a job tries to write there: FALSE with @error
   set if the path is not whole, is taken, or lies where nothing can be written. Any thread. */
gboolean td_target_check (const char *path, GError **error);
/* FALSE with @error set if the file system tells that @bytes do not go there. Any thread. */
gboolean td_target_check_room (const char *path, guint64 bytes, GError **error);
