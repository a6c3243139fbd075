/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * Numbered files. The number of "name_0010.tif" is the last run of digits before the extension.
 * What stands before and behind it tells one series in a folder from another.
 */

/* Natural order: runs of digits compare as numbers, so that img_9 comes before img_10. */
int td_natural_compare (const char *a, const char *b);
/* The file's number; -1: none. */
gint64 td_series_number (const char *name);
/* "name_0010.tif" -> "name_#.tif"; a name without a number is its own pattern. Case is folded. */
char *td_series_pattern (const char *name);
/* The names in @folder, of folders too, for which @accept (NULL: all) holds, in natural order,
   NULL-terminated; hidden ones are left out. */
char **td_series_list (const char *folder, gboolean (*accept) (const char *name), GError **error);
/* The same as paths. */
char **td_series_paths (const char *folder, gboolean (*accept) (const char *name), GError **error);
/* The paths of files only, which must be one series: all named alike. Of a file: itself. */
char **td_series_only (const char *path, gboolean (*accept) (const char *name), GError **error);
gboolean td_series_is_tiff (const char *name); /* by its extension */
/* The last part of a path that this computer or one with Windows wrote: of "D:\\scan\\a.tif"
 * "a.tif". */
char *td_series_base (const char *path);
/* Whether @name ends in @ending, in letters of any case: scanners' programs run on Windows, where a
   name is the same in either. */
gboolean td_series_ends (const char *name, const char *ending);
/* The file in @folder that is called @name, else one that is called so in other letters. NULL:
   there is none. (transfer full) */
char *td_series_find (const char *folder, const char *name);
