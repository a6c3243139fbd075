/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Zingers: samples that stand out from the median of their neighbourhood take its value. data is
   [row][view][column]. The samples of a part of it are copied aside first, so that each is
   compared with what was measured. An item takes `strip` columns of one view of one row: x
   counts strips, y views (of the part), z rows. */
#include "prepare-common.h"

TD_FN float
lower (float a, float b)
{
  return a < b ? a : b;
}

TD_FN float
higher (float a, float b)
{
  return a > b ? a : b;
}

/* Sorting networks that leave the median of p[] in its middle; N. Devillard, Fast median search
   (1998), after A. Paeth, Median finding on a 3 x 3 grid, Graphics Gems (1990). No branches:
   vectors on CPUs. */
#define SORT(a, b) { float low = lower (p[a], p[b]); p[b] = higher (p[a], p[b]); p[a] = low; }
#define MEDIAN_3 SORT (0, 1) SORT (1, 2) SORT (0, 1)
#define MEDIAN_5 \
  SORT (0, 1) SORT (3, 4) SORT (0, 3) SORT (1, 4) SORT (1, 2) SORT (2, 3) SORT (1, 2)
#define MEDIAN_7 \
  SORT (0, 5) SORT (0, 3) SORT (1, 6) SORT (2, 4) SORT (0, 1) SORT (3, 5) SORT (2, 6) \
  SORT (2, 3) SORT (3, 6) SORT (4, 5) SORT (1, 4) SORT (1, 3) SORT (3, 4)
#define MEDIAN_9 \
  SORT (1, 2) SORT (4, 5) SORT (7, 8) SORT (0, 1) SORT (3, 4) SORT (6, 7) SORT (1, 2) \
  SORT (4, 5) SORT (7, 8) SORT (0, 3) SORT (5, 8) SORT (4, 7) SORT (3, 6) SORT (1, 4) \
  SORT (2, 5) SORT (4, 7) SORT (4, 2) SORT (6, 4) SORT (4, 2)
#define MEDIAN_25 \
  SORT (0, 1) SORT (3, 4) SORT (2, 4) SORT (2, 3) SORT (6, 7) SORT (5, 7) SORT (5, 6) \
  SORT (9, 10) SORT (8, 10) SORT (8, 9) SORT (12, 13) SORT (11, 13) SORT (11, 12) SORT (15, 16) \
  SORT (14, 16) SORT (14, 15) SORT (18, 19) SORT (17, 19) SORT (17, 18) SORT (21, 22) \
  SORT (20, 22) SORT (20, 21) SORT (23, 24) SORT (2, 5) SORT (3, 6) SORT (0, 6) SORT (0, 3) \
  SORT (4, 7) SORT (1, 7) SORT (1, 4) SORT (11, 14) SORT (8, 14) SORT (8, 11) SORT (12, 15) \
  SORT (9, 15) SORT (9, 12) SORT (13, 16) SORT (10, 16) SORT (10, 13) SORT (20, 23) \
  SORT (17, 23) SORT (17, 20) SORT (21, 24) SORT (18, 24) SORT (18, 21) SORT (19, 22) \
  SORT (8, 17) SORT (9, 18) SORT (0, 18) SORT (0, 9) SORT (10, 19) SORT (1, 19) SORT (1, 10) \
  SORT (11, 20) SORT (2, 20) SORT (2, 11) SORT (12, 21) SORT (3, 21) SORT (3, 12) SORT (13, 22) \
  SORT (4, 22) SORT (4, 13) SORT (14, 23) SORT (5, 23) SORT (5, 14) SORT (15, 24) SORT (6, 24) \
  SORT (6, 15) SORT (7, 16) SORT (7, 19) SORT (13, 21) SORT (15, 23) SORT (7, 13) SORT (7, 15) \
  SORT (1, 9) SORT (3, 11) SORT (5, 17) SORT (11, 17) SORT (9, 17) SORT (4, 10) SORT (6, 12) \
  SORT (7, 14) SORT (4, 6) SORT (4, 7) SORT (12, 14) SORT (10, 14) SORT (6, 7) SORT (10, 12) \
  SORT (6, 10) SORT (6, 17) SORT (12, 17) SORT (7, 17) SORT (7, 10) SORT (12, 18) SORT (7, 12) \
  SORT (10, 18) SORT (12, 20) SORT (10, 20) SORT (10, 12)

/* What a sample becomes: m if it stands out from it by more than `limit`, upwards (side 1),
   downwards (-1) or either way (0). Counts it. */
#define REPLACE(to, value, m, limit) \
  { \
    float away = (value) - (m); \
    float out = side == 0.0f ? td_abs (away) : side * away; \
    int zinger = out > (limit) ? 1 : 0; \
    (to) = zinger ? (m) : (value); \
    hits += zinger; \
  }

/* Index i of 0 … n - 1 mirrored at the ends, which are not repeated. */
TD_FN int
mirrored (int i, int n)
{
  int period = 2 * n - 2;

  if (n == 1)
    return 0;
  i = i % period;
  i = i < 0 ? i + period : i;
  return i < n ? i : period - i;
}

/* Views view0 … of rows row0 … to aside[row][view][margin + column + margin], mirrored into the
   margins. */
TD_KERNEL void
prepare_set_aside (TD_ITEM TD_IN (float) data, TD_OUT (float) aside, int row0, int n_views,
                   int n_columns, int view0, int n_aside, int margin, int strip)
{
  int first = td_global_x () * strip, view = td_global_y (), row = td_global_z ();
  int end = td_min (first + strip, n_columns);
  TD_GLOBAL const float *from = data + row_of_view (row0 + row, view0 + view, n_views, n_columns);
  TD_GLOBAL float *to = aside + row_of_view (row, view, n_aside, n_columns + 2 * margin) + margin;

  for (int column = first; column < end; column++)
    to[column] = from[column];
  for (int i = 1; i <= margin; i++) {
    if (first == 0)
      to[-i] = from[mirrored (-i, n_columns)];
    if (first < n_columns && end == n_columns)
      to[n_columns - 1 + i] = from[mirrored (n_columns - 1 + i, n_columns)];
  }
}

/* In projections: the median of the 3 x 3 or (radius 2) 5 x 5 pixels, rows mirrored at the slab's
   ends. A zinger stands out by more than threshold times the median, and by more than `least`.
   Those of rows [count0, count_end) count. */
TD_KERNEL void
prepare_zingers (TD_ITEM TD_OUT (float) data, TD_IN (float) aside, TD_OUT (int) counters,
                 int n_rows, int n_views, int n_columns, int view0, int n_aside, int radius,
                 int strip, float threshold, float least, float side, int counter, int count0,
                 int count_end)
{
  int first = td_global_x () * strip, view = td_global_y (), row = td_global_z ();
  int end = td_min (first + strip, n_columns), pitch = n_columns + 2 * radius, hits = 0;
  TD_GLOBAL float *to = data + row_of_view (row, view0 + view, n_views, n_columns);
  size_t here = (size_t) view * pitch + radius, one_row = (size_t) n_aside * pitch;
  TD_GLOBAL const float *l1 = aside + mirrored (row - 1, n_rows) * one_row + here;
  TD_GLOBAL const float *l2 = aside + row * one_row + here;
  TD_GLOBAL const float *l3 = aside + mirrored (row + 1, n_rows) * one_row + here;

  if (radius == 1) {
    for (int x = first; x < end; x++) {
      float p[9] = { l1[x - 1], l1[x], l1[x + 1], l2[x - 1], l2[x], l2[x + 1], l3[x - 1], l3[x],
                     l3[x + 1] };
      MEDIAN_9
      REPLACE (to[x], l2[x], p[4], higher (threshold * td_abs (p[4]), least))
    }
  } else {
    TD_GLOBAL const float *l0 = aside + mirrored (row - 2, n_rows) * one_row + here;
    TD_GLOBAL const float *l4 = aside + mirrored (row + 2, n_rows) * one_row + here;
    for (int x = first; x < end; x++) {
      float p[25] = { l0[x - 2], l0[x - 1], l0[x], l0[x + 1], l0[x + 2],
                      l1[x - 2], l1[x - 1], l1[x], l1[x + 1], l1[x + 2],
                      l2[x - 2], l2[x - 1], l2[x], l2[x + 1], l2[x + 2],
                      l3[x - 2], l3[x - 1], l3[x], l3[x + 1], l3[x + 2],
                      l4[x - 2], l4[x - 1], l4[x], l4[x + 1], l4[x + 2] };
      MEDIAN_25
      REPLACE (to[x], l2[x], p[12], higher (threshold * td_abs (p[12]), least))
    }
  }
  if (hits > 0 && row >= count0 && row < count_end)
    td_atomic_add_int (&counters[counter], hits);
}

/* In sinograms: the median of the 3, 5, 7 or 9 views around, mirrored at the first and the last.
   aside is [row][view][column] of the rows from row0 on, which z counts. A zinger stands out by
   more than limit. Those of data's rows [count0, count_end) count. */
TD_KERNEL void
prepare_zingers_angle (TD_ITEM TD_OUT (float) data, TD_IN (float) aside, TD_OUT (int) counters,
                       int row0, int n_views, int n_columns, int size, int strip, float limit,
                       float side, int counter, int count0, int count_end)
{
  int first = td_global_x () * strip, view = td_global_y (), row = td_global_z ();
  int end = td_min (first + strip, n_columns), hits = 0;
  TD_GLOBAL float *to = data + row_of_view (row0 + row, view, n_views, n_columns);
  TD_GLOBAL const float *all = aside + row_of_view (row, 0, n_views, n_columns);
#define LINE(by) (all + (size_t) mirrored (view + (by), n_views) * n_columns)
  TD_GLOBAL const float *l0 = LINE (-4), *l1 = LINE (-3), *l2 = LINE (-2), *l3 = LINE (-1);
  TD_GLOBAL const float *l4 = LINE (0);
  TD_GLOBAL const float *l5 = LINE (1), *l6 = LINE (2), *l7 = LINE (3), *l8 = LINE (4);

  if (size == 3)
    for (int x = first; x < end; x++) {
      float p[3] = { l3[x], l4[x], l5[x] };
      MEDIAN_3
      REPLACE (to[x], l4[x], p[1], limit)
    }
  else if (size == 5)
    for (int x = first; x < end; x++) {
      float p[5] = { l2[x], l3[x], l4[x], l5[x], l6[x] };
      MEDIAN_5
      REPLACE (to[x], l4[x], p[2], limit)
    }
  else if (size == 7)
    for (int x = first; x < end; x++) {
      float p[7] = { l1[x], l2[x], l3[x], l4[x], l5[x], l6[x], l7[x] };
      MEDIAN_7
      REPLACE (to[x], l4[x], p[3], limit)
    }
  else
    for (int x = first; x < end; x++) {
      float p[9] = { l0[x], l1[x], l2[x], l3[x], l4[x], l5[x], l6[x], l7[x], l8[x] };
      MEDIAN_9
      REPLACE (to[x], l4[x], p[4], limit)
    }
  if (hits > 0 && row0 + row >= count0 && row0 + row < count_end)
    td_atomic_add_int (&counters[counter], hits);
}
