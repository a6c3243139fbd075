/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gib.h"

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
