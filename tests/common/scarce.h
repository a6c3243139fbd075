/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Whichever piece of memory that may fail does: g_try_malloc() and its kin return NULL once. */

/* FALSE with @error: what the attempt says when it does not succeed. */
typedef gboolean (*TdTestAttempt) (gpointer user, GError **error);

/* Makes the attempt again and again, each time with a later piece missing, until none is. An
   attempt that comes to nothing says so, and one that succeeds has nothing to say. Returns how many
   pieces were missed. */
guint td_test_scarce (TdTestAttempt attempt, gpointer user);
