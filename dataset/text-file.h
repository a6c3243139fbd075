/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* A whole regular file of at most @max_bytes, with a '\0' behind its @length bytes. */
char *td_file_load (const char *path, gsize max_bytes, gsize *length, GError **error);
/* A whole text file of a stranger, ending in '\0': at most @max_bytes, without zero bytes. UTF-16
   becomes UTF-8, and a byte order mark is left out. What else is not UTF-8 is replaced, so that it
   can be shown. */
char *td_text_load (const char *path, gsize max_bytes, GError **error);
/* What the first @n bytes at most say, but with what is not UTF-8; NULL if it is no regular file or
   cannot be read. For probes. */
char *td_text_head (const char *path, gsize n);
