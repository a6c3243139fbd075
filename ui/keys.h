/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gtk/gtk.h>

/* The keys that pictures and spaces have in common. */

/* Which way an arrow points, x right, y down. FALSE: it is none. */
gboolean td_key_arrow (guint key, int *dx, int *dy);
/* 1: nearer, -1: farther, 0: neither. */
int td_key_zoom (guint key);
gboolean td_key_is_digit (guint key, guint digit); /* with the keypad's */
