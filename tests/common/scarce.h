/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Whichever piece of memory that may fail does: g_try_malloc() and its kin return NULL once. */

/* FALSE with @error: what the attempt says when it does not succeed. */
typedef gboolean (*TdTestAttempt) (gpointer user, GError **error);

/* Makes the attempt without piece @first, then without the one @step further on, and so on, until
   none is missing. An attempt that comes to nothing says so, and one that succeeds has nothing to
   say. Returns how many pieces there are, at the most. */
guint td_test_scarce (guint first, guint step, TdTestAttempt attempt, gpointer user);

/* Bytes of such pieces so far, given back or not, without devices' buffers. */
guint64 td_test_pieces_bytes (void);
