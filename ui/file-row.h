/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <adwaita.h>

/**
 * TdFileRow: a file (or a folder) that is chosen, shown by its name, or none; files can be dropped
 * on it. What is wrong with it is said under its name in one sentence. Signal "chosen" (const char
 * *path): by the user; NULL: cleared. The owner shows it with td_file_row_set_path() if it takes
 * it.
 */
#define TD_TYPE_FILE_ROW (td_file_row_get_type ())
G_DECLARE_FINAL_TYPE (TdFileRow, td_file_row, TD, FILE_ROW, AdwActionRow)

/* @none: what stands there while there is no file; @patterns: of names offered first,
 * NULL-terminated. A row of a template has its title there. */
void td_file_row_offer (TdFileRow *self, const char *none, const char *const *patterns);
GtkWidget *td_file_row_new (const char *title, const char *none, const char *const *patterns);
void td_file_row_allow_folders (TdFileRow *self); /* a button more, that chooses a folder */
/* Clears what was wrong. @path: NULL or "": none. */
void td_file_row_set_path (TdFileRow *self, const char *path);
const char *td_file_row_get_path (TdFileRow *self); /* NULL: none */
void td_file_row_set_problem (TdFileRow *self, const char *problem);
