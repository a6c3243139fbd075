/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernels of ring removal share. data is [row][view][column]; lines are [row][line][n],
   a line being all views of one column. An item's number is x + y. GPUs count along x. CPUs
   count along y, since their threads take rows of items. z counts the rows of a chunk, which
   begins at first_row of data. An item takes TD_LANES neighbours beside each other: vectors on
   CPUs, one elsewhere. */
#pragma once

#ifdef TD_HOST
#define TD_LANES TD_CPU_LANES
#endif
#ifndef TD_LANES
#define TD_LANES 1
#endif

TD_FN int
rings_item (int x, int y)
{
  return x + y;
}

/* Numbers in the order of the floats, so that ties and zeros fall alike on all devices. */
TD_FN uint
rings_key (float value)
{
  int bits = td_float_as_int (value);
  return (uint) (bits ^ (bits >> 31 & 0x7fffffff)) ^ 0x80000000u;
}

/* Lines that an item takes, of all there are, and the values between two of them. */
typedef struct {
  int n, n_lines, first, end;
} RingsLines;

/* d c b a | a b c d | d c b a */
TD_FN int
rings_mirrored (int i, int n)
{
  if (i >= 0 && i < n)
    return i;
  i %= 2 * n;
  i = i < 0 ? i + 2 * n : i;
  return i < n ? i : 2 * n - 1 - i;
}

/* ── Keys of second differences (rings-sort.cl) ── */

#define SORT_LANES TD_SORT_LANES
#define RANKS 4 /* that are asked of each block of views */

TD_FN int
offset_key (float value)
{
  return (int) (rings_key (value) ^ 0x80000000u);
}

TD_FN float
offset_value (int key)
{
  return td_int_as_float (key ^ (key >> 31 & 0x7fffffff));
}

/* Where the keys of @column begin; views follow each other SORT_LANES apart. */
TD_FN size_t
offset_place (int row, int column, int n_columns, int n)
{
  size_t blocks = (n_columns + SORT_LANES - 1) / SORT_LANES;

  return ((row * blocks + column / SORT_LANES) * n) * SORT_LANES + column % SORT_LANES;
}
