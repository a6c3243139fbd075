/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * TdIni: "[Section]" and "Key = value" lines as scanners write them. Case, spaces and encoding may
 * be any. Lines that are neither are left alone. For untrusted files.
 *
 * Readers take what they know of a file, and then ask td_ini_check(). It refuses a value that was
 * asked for and cannot be meant: no number where one was wanted, or two different lines of one key.
 */
typedef struct TdIni TdIni;

/* At most 4 MiB; a file with zero bytes is no text. */
TdIni *td_ini_load (const char *path, GError **error);
void td_ini_free (TdIni *ini);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdIni, td_ini_free)

const char *td_ini_string (TdIni *ini, const char *section, const char *key); /* NULL: none */
/* NAN: none, nothing behind the "=", or no finite number. A decimal comma is read as a point. */
double td_ini_number (TdIni *ini, const char *section, const char *key);
guint td_ini_count (TdIni *ini, const char *section, const char *key); /* whole, >= 0; else 0 */
/* FALSE: one of the values that were asked for cannot be meant. Says so in place of what @error has
   already, which follows from it. */
gboolean td_ini_check (const TdIni *ini, GError **error);
