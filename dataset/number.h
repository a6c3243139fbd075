/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/**
 * Numbers as a person or a file writes them, with a decimal point in every locale. The whole text
 * is the number, and it lies from @low to @high; else the functions return FALSE and leave the
 * result alone. Nothing wraps around: what 64 bits cannot hold is out of every range.
 */
gboolean td_parse_number (const char *text, double low, double high, double *value);
gboolean td_parse_integer (const char *text, gint64 low, gint64 high, gint64 *value);
/* Exactly @n whole numbers with @separator between them, each from @low to @high. */
gboolean td_parse_integers (const char *text, char separator, gint64 low, gint64 high,
                            gint64 *values, guint n);
/* The finite number that @at points to, after white space; @at then points behind it. */
gboolean td_next_number (const char **at, double *value);
/* "512M", "1.5G", "2GiB", "1000000": bytes, in powers of 1024; at most 2^62. */
gboolean td_parse_size (const char *text, guint64 *bytes);
