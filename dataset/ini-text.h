/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * TdIni: "[Section]" and "Key = value" lines as scanners write them. Case, spaces and encoding may
 * be any. Lines that are neither are left alone, and the last of equal keys wins. For untrusted
 * files.
 */
typedef struct TdIni TdIni;

/* At most 4 MiB; a file with zero bytes is no text. */
TdIni *td_ini_load (const char *path, GError **error);
void td_ini_free (TdIni *ini);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TdIni, td_ini_free)

const char *td_ini_string (const TdIni *ini, const char *section, const char *key); /* NULL: none */
/* NAN: none, or no finite number. A decimal comma is read as a point. */
double td_ini_number (const TdIni *ini, const char *section, const char *key);
guint td_ini_count (const TdIni *ini, const char *section,
                    const char *key); /* whole, >= 0; else 0 */
