/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Fields of a line of comma-separated values (RFC 4180), one after another: each that does not
   begin a line of @csv is preceded by a comma. The first field of a line must not be empty. */
/* NULL: empty. */
void td_csv_add_text (GString *csv, const char *text);
/* With a point whatever the language; empty where @value is not finite. */
void td_csv_add_number (GString *csv, double value);
