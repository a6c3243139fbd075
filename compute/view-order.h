/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Views of a scan in the order in which they are kept. They come from parts of the scan, @apart
   views from each other, @of_each of every part. Views of one part come one after another. */
typedef struct {
  guint first; /* of the scan: the first of the first part */
  guint of_each, apart;
  guint place; /* of the one that counts as number 0 here */
} TdViewOrder;

/* As they are in the scan, from @first on. */
static inline TdViewOrder
td_view_order_from (guint first)
{
  return (TdViewOrder) { first, G_MAXUINT, 0, 0 };
}

/* The scan's view that is number @index. */
static inline guint
td_view_order_at (const TdViewOrder *order, guint index)
{
  const guint place = order->place + index;

  return order->first + place % order->of_each + place / order->of_each * order->apart;
}

/* How many follow each other in the scan from number @index on, of at most @most. */
static inline guint
td_view_order_run (const TdViewOrder *order, guint index, guint most)
{
  return MIN (most, order->of_each - (order->place + index) % order->of_each);
}

static inline gboolean
td_view_order_equal (const TdViewOrder *a, const TdViewOrder *b)
{
  return a->first == b->first && a->of_each == b->of_each && a->apart == b->apart
         && a->place == b->place;
}
