/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Detector rows [first, first + count). */
typedef struct {
  guint first, count;
} TdRowRange;

/* The range with @halo more rows on either side, as far as a detector of @n_rows reaches. */
static inline TdRowRange
td_row_range_with_halo (TdRowRange range, guint halo, guint n_rows)
{
  const guint first = range.first - MIN (range.first, halo);
  const guint64 end = MIN ((guint64) range.first + range.count + halo, n_rows);

  return (TdRowRange) { first, (guint) (end - first) };
}
