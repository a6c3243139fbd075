/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scarce.h"

#include <stdlib.h>

static gint left = -1; /* pieces that are still given; negative: all are */

static gsize asked_bytes;

static gboolean
scarce_is_short (gsize bytes)
{
  g_atomic_pointer_add (&asked_bytes, bytes);
  return g_atomic_int_get (&left) >= 0 && g_atomic_int_add (&left, -1) == 0;
}

/* These take the place of GLib's in a program that is linked with this file. */
gpointer
g_try_malloc (gsize bytes)
{
  return scarce_is_short (bytes) ? NULL : malloc (bytes);
}

gpointer
g_try_malloc0 (gsize bytes)
{
  return scarce_is_short (bytes) ? NULL : calloc (1, bytes);
}

gpointer
g_try_malloc_n (gsize n, gsize bytes)
{
  return scarce_is_short (n * bytes) ? NULL : reallocarray (NULL, n, bytes);
}

gpointer
g_try_malloc0_n (gsize n, gsize bytes)
{
  return scarce_is_short (n * bytes) ? NULL : calloc (n, bytes);
}

/* Devices' buffers on the host. */
void *
aligned_alloc (size_t alignment, size_t bytes)
{
  void *memory = NULL;

  return scarce_is_short (0) || posix_memalign (&memory, alignment, bytes) != 0 ? NULL : memory;
}

guint
td_test_scarce (guint first, guint step, TdTestAttempt attempt, gpointer user)
{
  for (guint n = first;; n += step) {
    g_autoptr (GError) error = NULL;

    g_atomic_int_set (&left, (gint) n);
    const gboolean done = attempt (user, &error);
    const gboolean all = g_atomic_int_get (&left) >= 0;
    g_atomic_int_set (&left, -1);
    if (done != !error)
      g_error ("without piece %u: %s", n, error ? error->message : "nothing is said");
    if (!all)
      continue;
    g_assert_no_error (error);
    return n;
  }
}

guint64
td_test_pieces_bytes (void)
{
  return (guint64) g_atomic_pointer_get (&asked_bytes);
}
