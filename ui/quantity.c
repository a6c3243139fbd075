/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "quantity.h"

#include <glib/gi18n.h>

#define GIB_BYTES 1073741824.0

guint64
td_bytes_from_gib (double gib)
{
  return (guint64) (gib * GIB_BYTES);
}

double
td_gib_from_bytes (guint64 bytes)
{
  return (double) bytes / GIB_BYTES;
}

char *
td_duration_text (double seconds)
{
  guint64 s = (guint64) (seconds + 0.5);

  if (seconds < 9.95)
    return g_strdup_printf (_ ("%.1f s"), seconds);
  if (s < 60)
    return g_strdup_printf (_ ("%u s"), (guint) s);
  if (s < 3600)
    return g_strdup_printf (_ ("%u min %u s"), (guint) (s / 60), (guint) (s % 60));
  return g_strdup_printf (_ ("%u h %u min"), (guint) (s / 3600), (guint) (s / 60 % 60));
}
