/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* These functions add one field to a line of comma-separated values (RFC 4180). A comma comes
   before each field that does not begin a line of @csv. The first field of a line must not be
   empty. */
/* NULL: empty. */
void td_csv_add_text (GString *csv, const char *text);
/* With a point whatever the language; empty where @value is not finite. */
void td_csv_add_number (GString *csv, double value);
